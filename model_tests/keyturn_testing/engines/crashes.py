"""The crashes engine: the process ends while a step runs, and is started again on the same data.

A process that the suite can kill gets SIGKILL at a moment that goes through the whole of the call, and comes back more often to
where fewer kills have been. Other systems are asked to end at the crash points that they claim (`faults`). Afterwards the client,
which has heard nothing, asks again, and goes on. What was kept, what was done, and how often is judged by the driver as ever.
"""

from collections import Counter
from random import Random

from attrs import evolve, field, mutable

from keyturn.faults import CRASHES
from keyturn.operations import BY_METHOD, CaseOpen, ClockAdvance, CommandNext, FaultArm, Reset, Restart, StateImport
from keyturn_testing.driver import Driver
from keyturn_testing.engines.stateful import Plan, draw_step
from keyturn_testing.moments import Moments
from keyturn_testing.systems.base import Killed
from keyturn_testing.systems.phases import IDLE
from keyturn_testing.traces import Call, Step

IDLE_KILLS = 10
"""One of so many kills hits a process that waits for a request."""

_SHORTEST_PREFIX = 5
_LONGEST_PREFIX = 12
_LONGEST_AFTERWARDS = 3
_MOST_DRAWN = 25
_NEVER_KILLED = (Reset, Restart, FaultArm, CaseOpen, ClockAdvance, CommandNext, StateImport)
_ENDING = frozenset(
    method for method, operation in BY_METHOD.items() if operation.changes and operation not in _NEVER_KILLED
)
_LEFT_OUT = frozenset({FaultArm.method, Restart.method})


@mutable
class Kills:
    """How often the process ended, by where it was and by what it did; and how often nobody heard the reply."""

    phases: Counter[str] = field(factory=Counter)
    operations: Counter[str] = field(factory=Counter)
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
    _go_on(driver, plan, chance, chance.randint(_SHORTEST_PREFIX, _LONGEST_PREFIX))
    if driver.system.can_be_killed and kills.count % IDLE_KILLS == 0:
        driver.call(Call(operation=Restart.method))
        kills.add(Restart.method, IDLE)
    call = _drawn(driver, plan, chance, kills)
    if call is None:
        return
    if driver.system.can_be_killed:
        _kill(driver, call, moments, kills)
    else:
        _crash(driver, call, kills)
    again = evolve(call, label=f"{call.label}-again")
    if not plan.masked(driver.foresee(again)):
        driver.call(again)
    _go_on(driver, plan, chance, chance.randint(0, _LONGEST_AFTERWARDS))


def _go_on(driver: Driver, plan: Plan, chance: Random, steps: int) -> None:
    for _ in range(steps):
        call = draw_step(driver, plan, chance)
        if call is not None and call.operation not in _LEFT_OUT:
            driver.call(call)


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


def _drawn(driver: Driver, plan: Plan, chance: Random, kills: Kills) -> Call | None:
    """Draw the call in which the process ends: one that may change something, of an operation that was rarely hit."""
    found: dict[str, Call] = {}
    for _ in range(_MOST_DRAWN):
        call = draw_step(driver, plan, chance)
        if call is not None and call.operation in _ENDING:
            found.setdefault(call.operation, call)
    if not found:
        return None
    return found[min(sorted(found), key=lambda method: kills.operations[method])]


def _phase(killed: Killed, *, changed: bool) -> str:
    """Where the process was: in its own word, or else in ours, by what could be seen."""
    if killed.phase is not None:
        return killed.phase
    if killed.reply is not None:
        return "answered"
    return "committed" if changed else "before_commit"
