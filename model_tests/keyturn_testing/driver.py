"""The one driver: it takes one step against one system, and judges it.

Engines differ only in where steps come from. For each step the driver resolves its references, calls the system, reads
everything that an observer can read, and asks the oracle and the invariants. A step that the contract does not admit is
raised as a violation; a conversation that breaks down is raised as a breakdown. A step of several calls is one race: they
overlap, and what is read afterwards is read when all of them have ended.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

from attrs import field, mutable

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import Claims
from keyturn.responses import RefusalCode, Rejected, need_not_be_read
from keyturn.store import possibilities
from keyturn.values import CaseKey, Instant, Json, rfc3339
from keyturn.wire import write, write_outcome
from keyturn_specs.goals import Goal, goals_of
from keyturn_specs.observations import Moment, Observation, Race, Snapshot
from keyturn_specs.reading import addressed
from keyturn_specs.requirement import ByBranch, ByRace, Requirement
from keyturn_testing.judging import Finding, Undecided, broken_by, broken_by_race, violation
from keyturn_testing.linearising import Heard, moments_of, orders_of
from keyturn_testing.observing import Observer, decoded, not_offered
from keyturn_testing.oracle import Explanation, Failure, Oracle, translate
from keyturn_testing.racing import Raced, finding_of, is_race, lanes_of, overlapped
from keyturn_testing.shapes import requested
from keyturn_testing.systems.base import (
    Answered,
    Breakdown,
    Killed,
    NotOffered,
    NotRead,
    Reply,
    Schedule,
    System,
    Timed,
    WentWrong,
)
from keyturn_testing.traces import Call, Context, Step

START = Instant(1_767_225_600_000)
"""When every example begins: 2026-01-01T00:00:00Z."""


@mutable
class Counts:
    """What a run has done: the steps that it took, and how often each requirement and each goal was really met."""

    steps: int = 0
    exercised: dict[str, int] = field(factory=dict)
    covered: Counter[Goal] = field(factory=Counter)

    def add(self, requirement: str) -> None:
        """Count one step that exercised a requirement."""
        self.exercised[requirement] = self.exercised.get(requirement, 0) + 1


class Driver:
    """One example against one system: a fresh start, then steps."""

    def __init__(
        self, system: System, claims: Claims, requirements: tuple[Requirement, ...], counts: Counts | None = None
    ) -> None:
        self.system, self.claims, self.requirements = system, claims, requirements
        self.counts = Counts() if counts is None else counts
        self.oracle = Oracle(claims)
        self.observer = Observer(system, claims)
        self.answers: dict[str, object] = {}
        self.steps: list[Step] = []
        self.recorded: list[object] = []
        self.on_step: Callable[[Step], None] = lambda step: None
        self.snapshot = Snapshot()
        self.revisions: dict[CaseKey, int] = {}
        self.restarted = False
        self.raced: Raced | None = None
        self.moment: Callable[[str], float] = lambda method: 0.0
        self.killed: Killed | None = None
        self._as_read: tuple[Call, Mapping[str, object], ops.Operation] | None = None
        reset = ops.Reset(now=START)
        self._ask(reset, {"now": rfc3339(START)})
        self.oracle.explain(reset, ops.Done(), self.snapshot)

    def operation(self, call: Call) -> ops.Operation:
        """Return the operation of a call with its references resolved; raise `Unreadable` for params that do not fit."""
        return self._read(call)[1]

    def foresee(self, call: Call) -> Moment:
        """Return the moment that a call would be, as the reference would take it, without making it."""
        return self.oracle.foresee(self.operation(call))

    def moments(self, step: Step) -> Iterator[Moment]:
        """Yield each moment that a call of a step may be, as the reference would take it, without making it.

        Calls that overlap may come in any order: each is foreseen after all of the others that may have come before it.
        """
        if not is_race(step):
            return map(self.foresee, step.calls)
        operations = tuple(map(self.operation, step.calls))
        return moments_of(operations, self.oracle.hypotheses[0], claims=self.claims, memory=self.oracle.memory)

    def step(self, step: Step, schedule: Schedule = ()) -> Explanation:
        """Take one step and judge it; raise `Violation` when nothing admissible explains it.

        Calls that overlap take turns by the schedule, where the suite can decide that.
        """
        return self._together(step, schedule) if is_race(step) else self._alone(step)

    def race(self, calls: Iterable[Call]) -> Race:
        """Return the race that some calls would be, as the first hypothesis knows the state before it."""
        return self._race_of(map(self.operation, calls))

    def _race_of(self, operations: Iterable[ops.Operation]) -> Race:
        hypothesis = self.oracle.hypotheses[0]
        translated = tuple(translate(each, hypothesis, self.oracle.memory) for each in operations)
        return Race(state=hypothesis.state, operations=translated)

    def case_of(self, operation: ops.Operation) -> CaseKey | None:
        """Return the one case that an operation is about, as far as that is known; nothing where it may be about several."""
        if isinstance(operation, ops.CaseOperation):
            return operation.key
        card = addressed(self.oracle.foresee(operation))
        return None if card is None else card.key

    def _alone(self, step: Step) -> Explanation:
        (call,) = step.calls
        params, operation = self._read(call)
        self._as_read = None
        self.steps.append(step)
        self.on_step(step)
        self.restarted = isinstance(operation, ops.Restart)
        outcome = self._ask_and_kill(operation, params) if step.kill else self._ask(operation, params)
        self._keep(call)
        before, believed = self.snapshot, self.oracle.hypotheses[0]
        self.observer.learn(call.label, operation, outcome)
        now = outcome.now if isinstance(outcome, ops.ClockAdvanced) else believed.state.world.now
        after = self.snapshot = self.observer.snapshot((operation,), now)
        if outcome is None and call.label is not None:
            self.answers[call.label] = self._found(call.label)
        self.revisions |= after.revisions
        memory = self.oracle.memory
        explanation = self.oracle.explain(operation, outcome, after, restarted=self.restarted)
        self._count(explanation)
        observation = Observation(
            operation=operation,
            outcome=outcome if not isinstance(outcome, Failure) else None,
            before=before,
            after=after,
            asked=self.observer.asked,
            claims=self.claims,
            failed=isinstance(outcome, Failure),
            restarted=self.restarted,
            shown=self._shown(operation),
            memory=memory,
        )
        broken = broken_by(observation, explanation, self.requirements)
        if broken:
            choices = possibilities(believed.state, explanation.moment.operation, self.claims)
            raise violation(
                Finding(
                    broken=broken,
                    method=operation.method,
                    differences=explanation.differences,
                    moment=explanation.moment,
                    answered=self.recorded[-1],
                    admissible=_distinct(tuple(write_outcome(each.branch.outcome) for each in choices)),
                )
            )
        return explanation

    def _together(self, step: Step, schedule: Schedule) -> Explanation:
        params, operations = zip(*map(self._read, step.calls), strict=True)
        self._as_read = None
        race = self._race_of(operations)
        lanes, places = lanes_of(step, params)
        self.steps.append(step)
        self.on_step(step)
        self.restarted = False
        done = self.system.together(lanes, schedule)
        timed = tuple(done.lanes[lane][place] for lane, place in places)
        history = tuple(self._timed(*each) for each in zip(step.calls, operations, timed, strict=True))
        for call, heard in sorted(zip(step.calls, history, strict=True), key=lambda pair: pair[1].ended):
            self.observer.learn(call.label, heard.operation, heard.outcome)
        before, now = self.snapshot, self.oracle.hypotheses[0].state.world.now
        after = self.snapshot = self.observer.snapshot(operations, now)
        self.revisions |= after.revisions
        orders = orders_of(
            history,
            after,
            self.oracle.hypotheses,
            claims=self.claims,
            memory=self.oracle.memory,
            case_of=self.case_of,
        )
        self.raced = Raced(history=history, overlapped=overlapped(done), orders=orders, choices=done.choices)
        if orders.unknown:
            raise Undecided
        self.oracle.adopt(orders.hypotheses, tuple((each.operation, each.outcome) for each in history))
        self._count_race(race, self.raced)
        observation = Observation(
            operation=ops.ReadMetrics(),
            outcome=None,
            before=before,
            after=after,
            asked=self.observer.asked,
            claims=self.claims,
        )
        broken = broken_by_race(observation, race, orders, self.requirements)
        if broken:
            raise violation(finding_of(broken, step, self.raced, self.recorded[-len(history) :]))
        return Explanation(orders.hypotheses, orders.taken[-1][1] if orders.taken else self.foresee(step.calls[-1]))

    def call(self, call: Call) -> Explanation:
        """Take the step of a single call."""
        return self.step(Step(calls=(call,)))

    def _keep(self, call: Call) -> None:
        """Keep what was answered last under the label of its call."""
        if call.label is not None:
            self.answers[call.label] = self.recorded[-1]

    def _found(self, label: str) -> object:
        """What a client finds out that never heard the answer of this label: the card that it presented, if it did."""
        found = next((each.id for each in self.observer.offered.values() if each.label == label), "")
        view = self.snapshot.cards.get(found)
        return {} if view is None else {"card": write(view)}

    def _count(self, explanation: Explanation) -> None:
        moment = explanation.moment
        self.counts.steps += 1
        self.counts.covered.update(goals_of(moment, explanation.entries))
        for each in self.requirements:
            if each.applies(moment):
                self.counts.add(each.id)

    def _count_race(self, race: Race, raced: Raced) -> None:
        """Count what a race exercised: as a race only where calls really overlapped."""
        self.counts.steps += len(raced.history)
        moments = [moment for _, moment in raced.orders.taken]
        for each in self.requirements:
            judge = each.judged_by
            if isinstance(judge, ByRace):
                exercised = raced.overlapped > 0 and judge.about(race)
            else:
                judged = isinstance(judge, ByBranch) or judge.of_many
                exercised = judged and any(map(each.applies, moments))
            if exercised:
                self.counts.add(each.id)

    def _read(self, call: Call) -> tuple[Mapping[str, object], ops.Operation]:
        """Return the params and the operation of a call; of the one that was read last they are known until the next step."""
        if self._as_read is None or self._as_read[0] is not call:
            params = self._resolved(call)
            self._as_read = call, params, requested(call.operation, cast(Json, params))
        return self._as_read[1:]

    def _resolved(self, call: Call) -> Mapping[str, object]:
        return cast(Mapping[str, object], Context(self.answers, self.revisions).resolve(call.params))

    def _shown(self, operation: ops.Operation) -> tuple[Json, ...]:
        """What a client has newly seen in this step: the answer to it, and the cards that it can read."""
        answered = cast(Json, self.recorded[-1])
        return (answered, *self.observer.shown) if isinstance(operation, _OF_A_CLIENT) else self.observer.shown

    def _ask(self, operation: ops.Operation, params: Mapping[str, object]) -> Outcome | Failure | None:
        """Call the system; nothing stands for an indefinite error."""
        return self._heard(operation, self._reply(operation, params))

    def _ask_and_kill(self, operation: ops.Operation, params: Mapping[str, object]) -> Outcome | Failure | None:
        """Call the system, kill its process meanwhile, and start it again; the reply may have come all the same."""
        after = self.moment(operation.method)
        self.killed = self.system.killed(operation.method, cast(Mapping[str, Json], params), after)
        self._start_again()
        unheard = WentWrong(definite=False, message="the process was killed")
        return self._heard(operation, self.killed.reply or unheard)

    def _timed(self, call: Call, operation: ops.Operation, timed: Timed) -> Heard:
        """Return one call of a history, and keep what was answered."""
        outcome = self._heard(operation, timed.reply)
        self._keep(call)
        return Heard(operation=operation, outcome=outcome, began=timed.began, ended=timed.ended)

    def _heard(self, operation: ops.Operation, reply: Reply) -> Outcome | Failure | None:
        """Decode what was answered; nothing stands for an indefinite error."""
        if isinstance(reply, Answered):
            self.recorded.append(reply.result)
            return decoded(type(operation), reply.result)
        if isinstance(reply, NotOffered):
            raise not_offered(type(operation), self.claims)
        refused = isinstance(reply, NotRead) or reply.definite
        if refused and isinstance(operation, ops.CardRespond) and need_not_be_read(operation.response):
            self.recorded.append({"error": reply.message, "definite": True})
            return Rejected(code=RefusalCode.MALFORMED)
        if isinstance(reply, NotRead):
            raise Breakdown("protocol", reply.message)
        self.recorded.append({"error": reply.message, "definite": reply.definite})
        return Failure(reply.message) if reply.definite else None

    def _reply(self, operation: ops.Operation, params: Mapping[str, object]) -> Reply:
        """Call the system; one that was asked to crash and did is started again, and nobody has heard its reply."""
        if isinstance(operation, ops.Restart):
            return self.system.restart()
        try:
            return self.system.call(operation.method, cast(Mapping[str, Json], params))
        except Breakdown as breakdown:
            if breakdown.kind != "crashed" or not self.oracle.may_crash():
                raise
        self._start_again()
        return WentWrong(definite=False, message="the process ended, as it was asked to")

    def _start_again(self) -> None:
        if isinstance(self.system.restart(), NotOffered):
            raise not_offered(ops.Restart, self.claims)
        self.restarted = True


_OF_A_CLIENT = (ops.CardPresent, ops.CardGet, ops.CardList, ops.CardRespond, ops.CardDismiss)
"""The operations whose answers reach a client."""


def _distinct(outcomes: tuple[Mapping[str, Json], ...]) -> tuple[Json, ...]:
    return tuple({json.dumps(each, sort_keys=True): each for each in outcomes}.values())
