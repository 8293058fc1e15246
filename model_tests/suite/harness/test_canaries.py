"""What if the suite itself went blind? Each single point of failure is broken on purpose, and a test of ours must notice.

A conformance suite that finds nothing looks exactly like a sound system. So each way of finding nothing is tried here, on the
very tests that make the suite believed: whole and sound they pass, and with the harness broken they fail.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attrs import evolve, frozen

import keyturn_specs.scenario
from keyturn.store import ReferenceStore
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_specs.observations import Moment, Snapshot
from keyturn_specs.requirement import ByInvariant, Requirement
from keyturn_specs.scenario import Scenario, scenarios
from keyturn_testing import driver, intents, judging, scenario_source
from keyturn_testing.driver import Driver
from keyturn_testing.matching import Matching
from keyturn_testing.mutants import MUTANTS, MutantStore
from keyturn_testing.observing import Observer
from keyturn_testing.oracle import Explanation, Oracle
from keyturn_testing.record import Profile, Record
from keyturn_testing.reports import verdict as verdicts
from keyturn_testing.reports.verdict import Judgement, Status, Verdict, verdict
from keyturn_testing.running import Run

from ..command_line.test_verdict import TestVerdict as Verdicts
from . import test_believed as believed
from .systems import QUICK, exercised, held

Break = Callable[[pytest.MonkeyPatch, Path], None]
Notice = Callable[[], None]

# Two faults that different judges find: an invariant sees the double payment, and only the model knows the stranger.
SEEN, KNOWN = MUTANTS["double-click-pays-twice"], MUTANTS["stranger-answers"]


# ---- What notices: the tests that make the suite believed, and two of their kind that are quick -----------------------


def a_seen_fault_is_found() -> None:
    """The test that the scenarios find a fault which can be seen."""
    believed.TestMutants().test_the_scenarios_find_it_too(SEEN)


def a_known_fault_is_found() -> None:
    """The test that the scenarios find a fault which only the model knows."""
    believed.TestMutants().test_the_scenarios_find_it_too(KNOWN)


def a_scenario_exercises_what_it_says() -> None:
    """The test that a witness is one."""
    believed.TestWitnesses().test_a_scenario_exercises_what_it_says(_scenario("a-double-click"))


def every_requirement_has_a_witness() -> None:
    """The test that nothing is without a scenario."""
    believed.TestWitnesses().test_every_requirement_has_a_witness()


def the_stateful_engine_exercises_what_is_common() -> None:
    """The test that the reference holds and nothing passes vacuously, for what a quick run always meets."""
    record = held(ReferenceStore, profile=QUICK, engines=("stateful",))
    assert [each for each in ("A1", "E1", "I5.1", "I14.1", "I19.8", "L3") if not exercised(record).get(each)] == []


def a_budget_of_one_step_is_too_small() -> None:
    """The test that a run which exercised nearly nothing is not called sound."""
    record = held(ReferenceStore, profile=Profile(name="none", examples=1, steps=1), engines=("stateful",))
    assert record.failures == []
    assert verdict(record) is Verdict.UNJUDGED


def a_failure_is_told() -> None:
    """The test that a failure, a breakdown and an unattributed difference end with exit code 1."""
    Verdicts().test_broken()


def _scenario(name: str) -> Scenario:
    return next(each for each in scenarios() if each.name == name)


# ---- What breaks ------------------------------------------------------------------------------------------------------


def _judge_nothing(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(driver, "broken_by", lambda *seen: ())


def _never_apply(patch: pytest.MonkeyPatch, folder: Path) -> None:
    _with_requirements(patch, lambda each: evolve(each, applies=lambda moment: False))


def _see_nothing_wrong(patch: pytest.MonkeyPatch, folder: Path) -> None:
    def blind(each: Requirement) -> Requirement:
        blinded = ByInvariant(lambda seen: None)
        return evolve(each, judged_by=blinded) if isinstance(each.judged_by, ByInvariant) else each

    _with_requirements(patch, blind)
    # The model would see most of it too: it is told to believe what it reads.
    _differ_never(patch, folder)


def _with_requirements(patch: pytest.MonkeyPatch, change: Callable[[Requirement], Requirement]) -> None:
    changed = tuple(map(change, REQUIREMENTS))
    patch.setattr(judging, "REQUIREMENTS", changed)
    patch.setattr(scenario_source, "REQUIREMENTS", changed)


def _ship_no_scenarios(patch: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "scenarios").mkdir()
    patch.setattr(keyturn_specs.scenario, "files", lambda package: folder)
    scenarios.cache_clear()


def _arm_no_mutant(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(MutantStore, "pick", ReferenceStore.pick)


def _fake_counts(patch: pytest.MonkeyPatch, folder: Path) -> None:
    def count(self: Driver, moment: Moment) -> None:
        for each in self.requirements:
            self.counts.add(each.id)

    patch.setattr(Driver, "_count", count)


def _count_nothing(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(Driver, "_count", lambda self, moment: None)


def _differ_never(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(Matching, "differ", lambda self, path, expected, seen: None)


def _keep_every_hypothesis(patch: pytest.MonkeyPatch, folder: Path) -> None:
    explain = Oracle.explain

    def believe(self: Oracle, *seen: object, restarted: bool = False) -> Explanation:
        explanation = explain(self, *seen, restarted=restarted)  # type: ignore[arg-type]  # it is handed on as it came
        return evolve(explanation, hypotheses=explanation.hypotheses or self.hypotheses)

    patch.setattr(Oracle, "explain", believe)


def _read_nothing(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(Observer, "snapshot", lambda self, operation, now: Snapshot())


def _mask_everything(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(Run, "_masked", lambda self: lambda moment: True)


def _only_open_cases(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(intents, "possible_intents", lambda now: [intents.INTENTS[0]])


def _always_end_with_success(patch: pytest.MonkeyPatch, folder: Path) -> None:
    patch.setattr(verdicts, "EXIT_CODES", dict.fromkeys(Verdict, 0))


def _call_everything_sound(patch: pytest.MonkeyPatch, folder: Path) -> None:
    def passed(record: Record, requirement: Requirement, judged: bool) -> Judgement:
        return Judgement(requirement=requirement, status=Status.PASSED, exercised=1)

    patch.setattr(verdicts, "_judgement", passed)


@frozen
class Canary:
    """One way of finding nothing, and the tests that must notice."""

    breaks: Break
    noticed_by: tuple[Notice, ...]


CANARIES: Mapping[str, Canary] = {
    "the judge finds nothing": Canary(_judge_nothing, (a_seen_fault_is_found, a_known_fault_is_found)),
    "no requirement ever applies": Canary(_never_apply, (a_scenario_exercises_what_it_says,)),
    "no invariant is ever broken": Canary(_see_nothing_wrong, (a_seen_fault_is_found,)),
    "the wheel has no scenarios": Canary(_ship_no_scenarios, (every_requirement_has_a_witness, a_known_fault_is_found)),
    "no mutant is armed": Canary(_arm_no_mutant, (a_seen_fault_is_found, a_known_fault_is_found)),
    "counts are faked": Canary(_fake_counts, (a_budget_of_one_step_is_too_small,)),
    "nothing is counted": Canary(_count_nothing, (a_scenario_exercises_what_it_says,)),
    "nothing ever differs": Canary(_differ_never, (a_known_fault_is_found,)),
    "the oracle keeps every hypothesis": Canary(_keep_every_hypothesis, (a_known_fault_is_found,)),
    "nothing is read": Canary(_read_nothing, (a_seen_fault_is_found,)),
    "everything is masked": Canary(
        _mask_everything, (a_seen_fault_is_found, the_stateful_engine_exercises_what_is_common)
    ),
    "the generator only opens cases": Canary(_only_open_cases, (the_stateful_engine_exercises_what_is_common,)),
    "every run ends with success": Canary(_always_end_with_success, (a_failure_is_told,)),
    "every requirement has passed": Canary(
        _call_everything_sound, (a_failure_is_told, a_budget_of_one_step_is_too_small)
    ),
}

NOTICES = tuple(dict.fromkeys(each for canary in CANARIES.values() for each in canary.noticed_by))


@pytest.mark.parametrize("notice", NOTICES, ids=lambda notice: notice.__name__)
def test_with_a_whole_harness_the_test_passes(notice: Notice) -> None:
    """What is to notice a broken harness is content with a whole one."""
    notice()


@pytest.mark.parametrize("name", CANARIES)
def test_a_broken_harness_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test that is named for a way of finding nothing fails when the harness finds nothing in that way."""
    canary = CANARIES[name]
    try:
        canary.breaks(monkeypatch, tmp_path)
        for notice in canary.noticed_by:
            with pytest.raises(AssertionError) as noticed:
                notice()
            # A harness that trips over itself has not noticed anything: the test's own assertion fails.
            assert Path(noticed.traceback[-1].path).name.startswith("test_")
    finally:
        monkeypatch.undo()
        scenarios.cache_clear()


def test_without_scenarios_nothing_is_called_sound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run of the scenarios alone, of which there are none, is unjudged: an empty folder is no success."""
    try:
        _ship_no_scenarios(monkeypatch, tmp_path)
        assert verdict(held(ReferenceStore, engines=("scenarios",))) is Verdict.UNJUDGED
    finally:
        monkeypatch.undo()
        scenarios.cache_clear()
