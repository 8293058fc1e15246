"""A run: one system, held to everything that it claims, within a budget of examples and steps.

First the tour, then the scenarios, then the stateful engine in batches. A failure is shrunk and recorded, its requirement is
masked, and the run goes on (D5). Nothing depends on the clock: the same seed against the same system gives the same report (D10).
"""

import json
from collections.abc import Callable, Container, Mapping, Sequence
from hashlib import sha256

from attrs import field, frozen, mutable

from keyturn.capabilities import Claims
from keyturn.errors import Unreadable
from keyturn.handshake import Description
from keyturn.wire import write
from keyturn_specs.catalogue import BY_ID, missing_claims
from keyturn_specs.goals import Goal
from keyturn_specs.observations import Moment
from keyturn_specs.requirement import Requirement
from keyturn_testing.dealing import Left
from keyturn_testing.drawing import presentable_kinds
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.engines import ENGINES
from keyturn_testing.engines.cover import around, take_tour
from keyturn_testing.engines.scenarios import claimed_scenarios, run_scenario
from keyturn_testing.engines.stateful import Plan, run_batch
from keyturn_testing.intents import INTENTS
from keyturn_testing.judging import Finding, NotJudged, Violation, judged_requirements
from keyturn_testing.replaying import replay, reproduces
from keyturn_testing.shrinking import shrink
from keyturn_testing.systems.base import Breakdown, BrokenRequest, System
from keyturn_testing.touring import TourStep, cells_among, tour_of
from keyturn_testing.traces import Step, Trace
from keyturn_testing.tries import Terms


@frozen(kw_only=True)
class Profile:
    """A budget: how many examples the stateful engine makes, and how many steps each has."""

    name: str
    examples: int
    steps: int


PROFILES: Mapping[str, Profile] = {
    each.name: each
    for each in (
        Profile(name="quick", examples=80, steps=30),
        Profile(name="standard", examples=300, steps=40),
        Profile(name="deep", examples=3000, steps=60),
    )
}
"""The budgets that a run can have."""

BATCHES = 8
"""How many batches a budget is cut into; between them the counts steer the weights."""

FEWEST = 4
"""How many examples a batch has at least, while the budget lasts."""

MOST_TAKEN = 3
"""How often a trace of the tour is taken at most: a reply that was lost can hide what it is for."""

MOST_FAILURES = 20
"""How many failures a run records before it stops: past it nothing new is learnt."""

RARE = 6
"""A requirement that was exercised less often than this is aimed at."""


@frozen(kw_only=True)
class Failure:
    """One failure: what broke, the shrunk trace that shows it, and where it came from."""

    finding: Finding
    trace: Trace
    found_by: str


@mutable
class Record:
    """What a run has found so far; a report is made from it, also when the run was cut short.

    `last` is the example that a breakdown ended; `known` and `flaky` are the reasons of the known failures and of what is
    flaky, by requirement. `toured` says that the cover engine was asked; `elsewhere` are the cells of which a step of the tour
    met another one, because the system had used a freedom that the text leaves it.
    """

    description: Description
    claims: Claims
    requirements: tuple[Requirement, ...]
    seed: int
    profile: Profile
    counts: Counts = field(factory=Counts)
    failures: list[Failure] = field(factory=list)
    breakdown: Breakdown | None = None
    last: Trace | None = None
    known: Mapping[str, str] = field(factory=dict)
    flaky: Mapping[str, str] = field(factory=dict)
    interrupted: bool = False
    examples: int = 0
    digest: str = ""
    toured: bool = False
    elsewhere: set[Goal] = field(factory=set)

    @property
    def terms(self) -> Terms:
        """What the system can be asked: what it claims, and what its cards can have."""
        offered = self.description.offers.actions
        actions = None if offered is None else frozenset(offered)
        kinds = presentable_kinds(self.description.offered_kinds(), self.claims, actions)
        return Terms(claims=self.claims, kinds=kinds, actions=actions)

    @property
    def failed(self) -> dict[str, list[Failure]]:
        """The failures by the ids that they broke."""
        found: dict[str, list[Failure]] = {}
        for failure in self.failures:
            for each in failure.finding.broken:
                found.setdefault(each.requirement, []).append(failure)
        return found


Progress = Callable[[Record, str], None]
"""Is told what a run is doing."""


class _Enough(Exception):
    """Everything that was looked for has failed."""


class Run:
    """Holds one system to what it claims; `record` is filled as it goes on.

    With `until` the run ends as soon as all of these requirements have failed, and shrinks nothing.
    """

    def __init__(
        self,
        system: System,
        description: Description,
        claims: Claims,
        *,
        profile: Profile,
        seed: int,
        engines: tuple[str, ...] = ENGINES,
        selected: Container[str] = BY_ID,
        until: frozenset[str] = frozenset(),
        progress: Progress = lambda record, doing: None,
    ) -> None:
        self.system, self.claims, self.engines, self.progress = system, claims, engines, progress
        judged = judged_requirements(description, claims)
        self.requirements = tuple(each for each in judged if each.id in selected)
        self.record = Record(
            description=description, claims=claims, requirements=self.requirements, seed=seed, profile=profile
        )
        self._until = until
        self._avoided: set[str] = set()
        self._left: Left = {}
        self._at: Driver | None = None
        self._generated = sha256()

    def run(self) -> Record:
        """Run every engine; a breakdown or Ctrl-C ends the run, and the record says so.

        Raises `BrokenRequest` for a step that breaks its schema: whatever step is taken here, the suite wrote it.
        """
        try:
            if "cover" in self.engines:
                self._cover()
            if "scenarios" in self.engines:
                self._scenarios()
            if "stateful" in self.engines:
                self._stateful()
        except _Enough:
            pass
        except Breakdown as breakdown:
            self.record.breakdown = breakdown
            self.record.last = self._last_example(breakdown)
        except Unreadable as error:
            raise BrokenRequest(error.what, error.problems) from error
        except KeyboardInterrupt:
            self.record.interrupted = True
        self.record.digest = self._generated.hexdigest()
        return self.record

    def _driver(self) -> Driver:
        self._at = None
        self._at = Driver(self.system, self.claims, self.requirements, self.record.counts)
        return self._at

    def _last_example(self, breakdown: Breakdown) -> Trace | None:
        if self._at is None or not self._at.steps:
            return None
        return self._trace(tuple(self._at.steps), tuple(self._at.recorded[1:]), says=breakdown.message)

    def _trace(
        self, steps: tuple[Step, ...], recorded: tuple[object, ...], *, says: str, broken: tuple[str, ...] = ()
    ) -> Trace:
        return Trace(
            requirement=next(iter(broken), None),
            broken=broken,
            says=says,
            system=self.record.description.system.name,
            seed=self.record.seed,
            steps=steps,
            recorded=recorded,
        )

    def _masked(self) -> Callable[[Moment], bool]:
        primary = {each.finding.primary for each in self.record.failures}
        masked = tuple(BY_ID[each] for each in sorted(primary) if each in BY_ID)
        avoided = frozenset(self._avoided)

        def is_masked(moment: Moment) -> bool:
            return moment.operation.method in avoided or any(each.applies(moment) for each in masked)

        return is_masked

    def _cover(self) -> None:
        """Take the tour; a trace is taken again, a few times, where something that it is for was missed without a failure."""
        self.record.toured = True
        traces = tour_of(self.record.terms).traces
        for number, trace in enumerate(traces, 1):
            self.progress(self.record, f"part {number} of {len(traces)} of the tour")
            goals = {goal for step in trace for goal in step.goals}
            for _ in range(MOST_TAKEN):
                whole = self._took(trace)
                if not whole or goals - self.record.elsewhere <= self.record.counts.covered.keys():
                    break

    def _took(self, trace: Sequence[TourStep]) -> bool:
        """Take one trace of the tour, and what is left of it behind each step that failed; return whether none did."""
        left, whole = trace, True
        while left and len(self.record.failures) < MOST_FAILURES:
            driver, at = self._driver(), 0
            try:
                for number in take_tour(driver, left, self._masked(), self.record.elsewhere.add):
                    at = number
                return whole
            except NotJudged:
                pass
            except Violation as found:
                tried = [str(each) for each in cells_among(left[at].goals)]
                self._fail(found.finding, tuple(driver.steps), f"tour: {'; '.join(tried) or left[at].call.operation}")
            left, whole = around(left, at), False
        return whole

    def _scenarios(self) -> None:
        for scenario in claimed_scenarios(self.claims, self.record.description.offers):
            if len(self.record.failures) >= MOST_FAILURES:
                return
            self.progress(self.record, f"scenario {scenario.name}")
            driver = self._driver()
            try:
                run_scenario(driver, scenario, self._masked())
            except Violation as found:
                self._fail(found.finding, tuple(driver.steps), f"scenario {scenario.name}")

    def _stateful(self) -> None:
        terms = self.record.terms
        budget, number = self.record.profile.examples, 0
        while budget > 0 and len(self.record.failures) < MOST_FAILURES:
            plan = Plan(
                examples=min(budget, max(FEWEST, self.record.profile.examples // BATCHES)),
                steps=self.record.profile.steps,
                seed=self.record.seed * 1000 + number,
                kinds=terms.kinds,
                actions=terms.actions,
                boosts=self._boosts(),
                masked=self._masked(),
                left=self._left,
            )
            batch = run_batch(self._started, plan)
            budget -= max(batch.begun, 1)
            number += 1
            if isinstance(batch.ended, Violation) and batch.driver is not None:
                self._fail(batch.ended.finding, tuple(batch.driver.steps), "stateful")
            elif isinstance(batch.ended, Breakdown | Unreadable):
                raise batch.ended

    def _started(self) -> Driver:
        self.record.examples += 1
        self.progress(self.record, f"example {self.record.examples}")
        driver = self._driver()
        driver.on_step = self._note
        return driver

    def _note(self, step: Step) -> None:
        self._generated.update(json.dumps(write(step), sort_keys=True).encode())

    def _boosts(self) -> Mapping[str, int]:
        """How much more often each intent is drawn: the less its rarest aim was exercised, the more."""
        missing = {each.id: RARE - self.record.counts.exercised.get(each.id, 0) for each in self.requirements}
        wanted = {each.name: max((missing.get(aim, 0) for aim in each.aims), default=0) for each in INTENTS}
        return {name: 2 + 2 * much for name, much in wanted.items() if much > 0}

    def _fail(self, finding: Finding, steps: tuple[Step, ...], found_by: str) -> None:
        """Record a failure, and then shrink it; a signature that comes back although it is masked costs its operation."""
        known = {each.finding.signature for each in self.record.failures}
        if finding.signature in known or finding.primary not in BY_ID:
            self._avoided.add(finding.method)
        if finding.signature in known:
            return
        self.record.failures.append(self._failure(finding, steps, (), found_by))
        if self._until:
            if self._until <= self.record.failed.keys():
                raise _Enough
            return
        self.progress(self.record, f"shrinking a failure of {finding.primary}")

        def shown(candidate: tuple[Step, ...]) -> Finding | None:
            return reproduces(self.system, self.claims, self.requirements, candidate)

        again = replay(self.system, self.claims, self.requirements, shrink(steps, shown, finding))
        if again.finding is not None and again.finding.covers(finding):
            self.record.failures[-1] = self._failure(again.finding, again.steps, again.recorded, found_by)

    def _failure(
        self, finding: Finding, steps: tuple[Step, ...], recorded: tuple[object, ...], found_by: str
    ) -> Failure:
        broken = tuple(each.requirement for each in finding.broken)
        trace = self._trace(steps, recorded, says=finding.broken[0].seen, broken=broken)
        return Failure(finding=finding, trace=trace, found_by=found_by)


def claimable(requirement: Requirement, description: Description, claims: Claims) -> str | None:
    """Return why a requirement is not judged, in words, or nothing when it is."""
    missing = missing_claims(requirement, claims)
    if missing:
        return "the system does not claim " + ", ".join(f"`{each}`" for each in sorted(missing))
    return description.not_claimed.get(requirement.id)
