"""The crashes engine: the process ends while a step runs, and is started again on the same data.

A process that the suite can kill gets SIGKILL at a moment that goes through the whole of the call, and comes back more often to
where fewer kills have been. Other systems are asked to end at the crash points that they claim (`faults`). Afterwards the client,
which has heard nothing, asks again, and goes on. What was kept, what was done, and how often is judged by the driver as ever.
"""

from collections import Counter
from collections.abc import Mapping
from random import Random

from attrs import evolve, field, mutable

from keyturn.faults import CRASHES
from keyturn.operations import BY_METHOD, CaseOpen, ClockAdvance, CommandNext, FaultArm, Reset, Restart, StateImport
from keyturn_testing.driver import Driver
from keyturn_testing.engines.stateful import Plan, draw_step, go_on
from keyturn_testing.moments import ANSWERED, BEFORE_COMMIT, Moments
from keyturn_testing.systems.base import Killed
from keyturn_testing.systems.phases import IDLE
from keyturn_testing.traces import Call, Step

IDLE_KILLS = 10
"""One of so many kills hits a process that waits for a request."""

_LONGEST_PREFIX = 12
_LONGEST_AFTERWARDS = 3
_ASIDE = 0.3
_MOST_DRAWN = 12
_NEVER_KILLED = (Reset, Restart, FaultArm, CaseOpen, ClockAdvance, CommandNext, StateImport)
_ENDING = frozenset(
    method for method, operation in BY_METHOD.items() if operation.changes and operation not in _NEVER_KILLED
)
# What decides something is lost with it, or done twice.
_WEIGHTS = {"command.settle": 6, "card.respond": 4, "card.present": 2}
# What has to happen before an operation can change anything.
_COMES_AFTER: Mapping[str, str] = {
    "command.settle": "card.respond",
    **dict.fromkeys(("card.respond", "card.dismiss", "card.withdraw", "card.expire_due", "case.close"), "card.present"),
    **dict.fromkeys(("card.present", "case.edit"), "case.open"),
}


@mutable
class Kills:
    """How often the process ended, by where it was and by what it did; and how often nobody heard the reply.

    `tried` counts the operations that it was to end in.
    """

    phases: Counter[str] = field(factory=Counter)
    operations: Counter[str] = field(factory=Counter)
    tried: Counter[str] = field(factory=Counter)
    unheard: int = 0

    def add(self, method: str, phase: str, *, unheard: bool = False) -> None:
        """Count one."""
        self.phases[phase] += 1
        self.operations[method] += 1
        self.unheard += unheard

    @property
    def count(self) -> int:
        """How often the process ended."""
        return sum(self.phases.values())


def crash_once(driver: Driver, plan: Plan, chance: Random, moments: Moments, kills: Kills) -> None:
    """Take one example: a prefix, a call in which the process ends, it again, and some more. Raise what the driver raises."""
    call = _reached(driver, plan, chance, kills)
    if driver.system.can_be_killed and kills.count % IDLE_KILLS == 0:
        driver.call(Call(operation=Restart.method))
        kills.add(Restart.method, IDLE)
    if call is None:
        return
    if driver.system.can_be_killed:
        _kill(driver, call, moments, kills)
    else:
        _crash(driver, call, kills)
    again = evolve(call, label=f"{call.label}-again")
    if not plan.masked(driver.foresee(again)):
        driver.call(again)
    go_on(driver, plan, chance, chance.randint(0, _LONGEST_AFTERWARDS))


def _reached(driver: Driver, plan: Plan, chance: Random, kills: Kills) -> Call | None:
    """Go on until the operation can be drawn in which the process ended most rarely, for what may be lost with it."""
    methods = sorted(each for each in _ENDING if BY_METHOD[each].needs in driver.claims)
    wanted = min(methods, key=lambda method: (kills.tried[method] + 1) / _WEIGHTS.get(method, 1))
    kills.tried[wanted] += 1
    chain = [wanted]
    while chain[-1] in _COMES_AFTER:
        chain.append(_COMES_AFTER[chain[-1]])
    for _ in range(_LONGEST_PREFIX):
        drawn: dict[str, Call] = {}
        for _ in range(_MOST_DRAWN):
            call = draw_step(driver, plan, chance)
            if call is not None and (call.operation == CaseOpen.method or driver.foresee(call).branch.happened):
                drawn.setdefault(call.operation, call)
        nearest = next((drawn[each] for each in chain if each in drawn), None)
        if nearest is not None and nearest.operation == wanted:
            return nearest
        if nearest is not None:
            driver.call(nearest)
        if chance.random() < _ASIDE:
            go_on(driver, plan, chance, 1)
    return None


def _kill(driver: Driver, call: Call, moments: Moments, kills: Kills) -> None:
    before = driver.snapshot
    driver.moment = moments.next
    driver.step(Step(calls=(call,), kill=True))
    assert driver.killed is not None
    phase = _phase(driver.killed, changed=driver.snapshot != before)
    moments.learn(call.operation, driver.killed, phase)
    kills.add(call.operation, phase, unheard=driver.killed.reply is None)


def _crash(driver: Driver, call: Call, kills: Kills) -> None:
    fault = sorted(CRASHES)[kills.count % len(CRASHES)]
    driver.call(Call(operation=FaultArm.method, params={"fault": fault}))
    driver.call(call)
    if driver.restarted:
        kills.add(call.operation, fault, unheard=True)


def _phase(killed: Killed, *, changed: bool) -> str:
    """Where the process was: in its own word, or else in ours, by what could be seen."""
    if killed.phase is not None:
        return killed.phase
    if killed.reply is not None:
        return ANSWERED
    return "committed" if changed else BEFORE_COMMIT
