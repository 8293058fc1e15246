"""A run: one system, held to everything that it claims, within a budget of examples and steps.

First the tour, then the scenarios, then races where calls may overlap, then the stateful engine in batches. A failure is shrunk
and recorded, its requirement is masked, and the run goes on (D5). Nothing depends on the clock: the same seed against the same
system gives the same report (D10), but for how calls overlapped.
"""

import json
from collections.abc import Callable, Container, Mapping, Sequence
from hashlib import sha256
from math import ceil
from random import Random

from attrs import evolve

from keyturn.capabilities import Capability, Claims
from keyturn.errors import Unreadable
from keyturn.handshake import Description
from keyturn.wire import write
from keyturn_specs.catalogue import BY_ID
from keyturn_specs.observations import Moment, Race
from keyturn_specs.requirement import ByRace
from keyturn_testing.dealing import Left
from keyturn_testing.driver import Driver
from keyturn_testing.engines import ENGINES
from keyturn_testing.engines.cover import around, take_tour
from keyturn_testing.engines.crashes import crash_once
from keyturn_testing.engines.races import Tally, generated, repeat
from keyturn_testing.engines.scenarios import claimed_scenarios, run_scenario, steps_of
from keyturn_testing.engines.stateful import Plan, run_batch
from keyturn_testing.intents import INTENTS
from keyturn_testing.judging import Finding, NotJudged, Violation, judged_requirements
from keyturn_testing.moments import Moments
from keyturn_testing.racing import RACE
from keyturn_testing.record import Failure, Profile, Progress, Record
from keyturn_testing.replaying import replay, reproduces
from keyturn_testing.shrinking import MOST_ATTEMPTS, shrink
from keyturn_testing.systems.base import Breakdown, BrokenRequest, System
from keyturn_testing.touring import TourStep, cells_among, tour_of
from keyturn_testing.traces import Step, Trace

BATCHES = 8
"""How many batches a budget is cut into; between them the counts steer the weights."""

FEWEST = 4
"""How many examples a batch has at least, while the budget lasts."""

MOST_TAKEN = 3
"""How often a trace of the tour is taken at most: a reply that was lost can hide what it is for."""

MOST_FAILURES = 20
"""How many failures a run records before it stops: past it nothing new is learnt."""

GENERATED = "generated"
"""The name of all races that are generated, where they are counted."""

MOST_KILLS = 50
"""How many kills the shrinking of one trace may take: after each the system is started again."""

TRIES_OF_A_KILL = 5
"""How often a shorter trace with a kill is taken, each time with another moment, to see whether it still shows something."""

MOST_TRIES_OF_A_RACE = 40
"""How often a shorter trace of a race is taken at most, to see whether it is still lost."""

RARE = 6
"""A requirement that was exercised less often than this is aimed at."""


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
        left_out = set() if "races" in engines else {each.id for each in judged if isinstance(each.judged_by, ByRace)}
        self.requirements = tuple(each for each in judged if each.id in selected and each.id not in left_out)
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
            if "races" in self.engines and Capability.PARALLEL in self.claims:
                self._races()
            if "crashes" in self.engines and self._crashable():
                self._crashes()
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
        # What only a race broke holds where calls do not overlap, and is asked for there.
        alone = (each.finding for each in self.record.failures if each.finding.method != RACE)
        primary = {each.primary for each in alone}
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

    def _races(self) -> None:
        repetitions = self.record.profile.repetitions
        for scenario in claimed_scenarios(self.claims, self.record.description.offers, races=True):
            self.progress(self.record, f"race {scenario.name}")
            self._race(scenario.name, steps_of(scenario), repetitions, f"scenario {scenario.name}")
        for number in range(self.record.profile.races):
            self.progress(self.record, f"generated race {number + 1}")
            plan = self._plan(examples=1, seed=self.record.seed)
            chance = Random(f"{self.record.seed} race {number}")
            try:
                steps = generated(self._driver(), plan, chance)
            except NotJudged:
                continue
            if steps is not None:
                self._race(GENERATED, steps, 1, "races")

    def _race(self, name: str, steps: Sequence[Step], repetitions: int, found_by: str) -> None:
        """Take one race many times, and record how often it was lost, and what it showed first."""
        if len(self.record.failures) >= MOST_FAILURES:
            return
        tally = next((each for each in self.record.races if each.name == name), None)
        if tally is None:
            tally = Tally(name)
            self.record.races.append(tally)
        known = tally.taken, tally.lost
        masked, masked_race = self._masked(), self._masked_race()
        taking = repeat(self._driver, steps, tally, repetitions=repetitions, masked=masked, masked_race=masked_race)
        lost = list(taking)
        if lost:
            taken, times = tally.taken - known[0], tally.lost - known[1]
            tries = min(MOST_TRIES_OF_A_RACE, ceil(4 * taken / times))
            told = f"{found_by}, which was lost {times} of {taken} times"
            self._fail(lost[0].finding, lost[0].steps, told, tries)

    def _crashable(self) -> bool:
        """Whether the system can be made to end in the middle of a call, and be started again."""
        wanted = set() if self.system.can_be_killed else {Capability.FAULTS}
        return self.claims >= wanted | {Capability.RESTART}

    def _crashes(self) -> None:
        moments = Moments()
        for number in range(self.record.profile.crashes):
            if len(self.record.failures) >= MOST_FAILURES:
                return
            self.progress(self.record, f"crash {number + 1} of {self.record.profile.crashes}")
            plan = self._plan(examples=1, seed=self.record.seed)
            driver = self._driver()
            try:
                crash_once(driver, plan, Random(f"{self.record.seed} crash {number}"), moments, self.record.kills)
            except NotJudged:
                continue
            except Violation as found:
                self._fail(found.finding, tuple(driver.steps), "crashes", TRIES_OF_A_KILL)

    def _masked_race(self) -> Callable[[Race], bool]:
        primary = {each.finding.primary for each in self.record.failures}
        judges = [BY_ID[each].judged_by for each in sorted(primary) if each in BY_ID]
        about = tuple(each.about for each in judges if isinstance(each, ByRace))
        return lambda race: any(each(race) for each in about)

    def _plan(self, *, examples: int, seed: int) -> Plan:
        terms = self.record.terms
        return Plan(
            examples=examples,
            steps=self.record.profile.steps,
            seed=seed,
            kinds=terms.kinds,
            actions=terms.actions,
            masked=self._masked(),
            left=self._left,
        )

    def _stateful(self) -> None:
        budget, number = self.record.profile.examples, 0
        while budget > 0 and len(self.record.failures) < MOST_FAILURES:
            examples = min(budget, max(FEWEST, self.record.profile.examples // BATCHES))
            plan = self._plan(examples=examples, seed=self.record.seed * 1000 + number)
            plan = evolve(plan, boosts=self._boosts())
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

    def _fail(self, finding: Finding, steps: tuple[Step, ...], found_by: str, tries: int = 1) -> None:
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
            return reproduces(self.system, self.claims, self.requirements, candidate, tries)

        most = MOST_KILLS if any(each.kill for each in steps) else MOST_ATTEMPTS
        shrunk = shrink(steps, shown, finding, most // tries)
        again = replay(self.system, self.claims, self.requirements, shrunk, tries=4 * tries)
        if again.finding is not None and again.finding.covers(finding):
            self.record.failures[-1] = self._failure(again.finding, again.steps, again.recorded, found_by)

    def _failure(
        self, finding: Finding, steps: tuple[Step, ...], recorded: tuple[object, ...], found_by: str
    ) -> Failure:
        broken = tuple(each.requirement for each in finding.broken)
        trace = self._trace(steps, recorded, says=finding.broken[0].seen, broken=broken)
        return Failure(finding=finding, trace=trace, found_by=found_by)
