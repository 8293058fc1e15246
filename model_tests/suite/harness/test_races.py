"""The races engine: it finds what only calls that overlap show, says how often, and leaves sound systems alone."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import pytest
from attrs import evolve

from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.cards import InteractionKind
from keyturn.store import ReferenceStore
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_specs.scenario import scenarios
from keyturn_testing import driver as drivers
from keyturn_testing.driver import Driver
from keyturn_testing.engines.races import RACING, Tally, generated, repeat
from keyturn_testing.engines.scenarios import steps_of
from keyturn_testing.engines.stateful import Plan
from keyturn_testing.judging import NotJudged, Undecided
from keyturn_testing.linearising import Orders
from keyturn_testing.racing import is_race, race_of
from keyturn_testing.record import Profile, Record
from keyturn_testing.replaying import replay
from keyturn_testing.reports.json_report import json_report
from keyturn_testing.reports.page import page_for_files
from keyturn_testing.reports.text_report import Origin, text_report
from keyturn_testing.reports.verdict import Status, judgements
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.traces import Call, Step, read_trace, write_trace

from .racing_systems import AnswersTorn, Awaiting, Locked, QuestionsTorn, TornOnThreads
from .systems import held

PLACE = {"account": "acme", "workflow": "trip", "case": "case-1"}
TWO_CLICKS = next(each for each in scenarios() if each.name == "race-two-clicks")

FEW = Profile(name="few", examples=1, steps=1, repetitions=2, races=6)


def raced(make: Callable[[], object], profile: Profile = FEW) -> Record:
    """Hold a system to what it claims, where calls overlap."""
    return held(make, engines=("races",), profile=profile)


def told(record: Record) -> str:
    """The report of a run as text."""
    page = page_for_files()
    return " ".join(text_report(page, record, Origin(adapter="python:racing:make")).split())


class TestSoundSystems:
    """A system whose operations are whole holds, however they overlap."""

    @pytest.mark.parametrize("make", [Awaiting, Locked, ReferenceStore])
    def test_it_holds(self, make: Callable[[], object]) -> None:
        """Behind awaits, behind a lock, and on threads; every kind of race was taken, and calls overlapped in them."""
        record = raced(make)
        assert record.failures == []
        assert record.breakdown is None
        assert len(record.races) == 20
        assert all(each.taken and not each.lost and not each.unknown for each in record.races)
        assert record.counts.exercised["I14.5"] > 0
        assert record.counts.exercised["I13.8"] > 0
        assert sum(each.overlapped for each in record.races) > 20

    def test_every_way_of_taking_turns(self) -> None:
        """Behind awaits two calls are taken in every way, and the report says so; on threads nobody can say it."""
        profile = evolve(FEW, repetitions=9, races=0)
        record = raced(Awaiting, profile)
        two_calls = [each for each in record.races if each.name in {"race-two-clicks", "race-click-and-edit"}]
        assert [(each.taken, each.every_way) for each in two_calls] == [(6, True), (6, True)]
        assert "kinds in every way of taking turns" in told(record)
        assert {each.every_way for each in raced(ReferenceStore).races} == {None}

    def test_the_same_seed_the_same_races(self) -> None:
        """Where the suite decides how calls overlap, nothing of a run is left to chance."""
        assert json_report(raced(Awaiting)) == json_report(raced(Awaiting))


class TestUnsoundSystems:
    """A system that looks, and acts later on what it saw."""

    def test_a_double_click(self) -> None:
        """Two answers are taken: I14.5, in a trace of two calls at once, with a picture of it."""
        record = raced(AnswersTorn)
        assert "I14.5" in record.failed
        failure = record.failed["I14.5"][0]
        assert [each.operation for each in failure.trace.steps[-1].calls] == ["card.respond", "card.respond"]
        assert len(failure.trace.steps) == 3
        assert "lost" in failure.found_by
        text = told(record)
        assert "lane 1 [a=" in text
        assert "lane 2" in text
        assert "(a) can be explained, and after that not (b)" in text
        tally = next(each for each in record.races if each.lost)
        assert f"{tally.name}: lost {tally.lost} of {tally.taken} times" in text

    def test_a_click_and_an_edit(self) -> None:
        """Taken after the edit on what was seen before it."""
        assert "I13.8" in raced(AnswersTorn).failed

    def test_two_questions(self) -> None:
        """What is about no race by name is blamed on what the model demanded of one of the calls."""
        record = raced(QuestionsTorn)
        assert {"I5.2", "I5.1"} & set(record.failed)
        assert "I14.5" not in record.failed

    def test_on_threads(self) -> None:
        """The machine decides how calls overlap, and the fault is found all the same."""
        assert "I14.5" in raced(TornOnThreads).failed

    def test_the_trace_shows_it_again(self, tmp_path: Path) -> None:
        """From its file, on a fresh system, in some number of tries; and a sound system holds in all of them."""
        failure = raced(AnswersTorn).failed["I14.5"][0]
        path = tmp_path / "race.json"
        path.write_text(write_trace(failure.trace), "utf-8")
        steps = read_trace(path).blanked().steps
        for make, lost in ((AnswersTorn, True), (Locked, False), (ReferenceStore, False)):
            system = InProcessSystem(make)
            again = replay(system, ALL_CLAIMS, REQUIREMENTS, steps, tries=10)
            system.close()
            assert (again.finding is not None) is lost, make
            if again.finding is not None:
                assert again.finding.primary == "I14.5"
            assert again.tries >= 2


class TestTheBudget:
    """What is unknown, and what is not asked for."""

    def test_too_many_orders(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The race is unknown: nothing failed, nothing was exercised, and the report says how many there were."""
        monkeypatch.setattr(drivers, "orders_of", lambda *args, **named: Orders(unknown=True))
        record = raced(Awaiting, evolve(FEW, races=0))
        assert record.failures == []
        assert sum(each.unknown for each in record.races) == sum(each.taken for each in record.races) > 0
        assert "I14.5" not in record.counts.exercised
        assert "unknown, with more orders than are looked at" in told(record)

    def test_unknown_is_not_judged(self) -> None:
        """It names no requirement."""
        assert isinstance(Undecided(), NotJudged)
        assert Undecided().requirements == ()

    def test_without_the_claim(self) -> None:
        """No calls overlap, and what is about races is not claimed."""

        class OneAtATime(ReferenceStore):
            def __init__(self) -> None:
                super().__init__(ALL_CLAIMS - {Capability.PARALLEL})

        record = raced(OneAtATime)
        assert record.races == []
        statuses = {each.requirement.id: each for each in judgements(record)}
        assert statuses["I14.5"].status is Status.NOT_CLAIMED
        assert statuses["I14.5"].reason == "the system does not claim `parallel`"

    def test_without_the_engine(self) -> None:
        """What only races exercise is left out, and not a gap."""
        statuses = {each.requirement.id: each for each in judgements(held(ReferenceStore, engines=("scenarios",)))}
        assert statuses["I13.8"].status is Status.NOT_CLAIMED
        assert statuses["I13.8"].reason == "it was left out of this run"


class TestWhatIsKnown:
    """A failure that one call shows is not found again in races."""

    def test_in_any_order(self) -> None:
        """A race is left out where the failure shows in one of its orders, however rarely the machine takes that order."""
        opened, presented, edited = (
            Call(operation="case.open", params=PLACE, label="open"),
            next(call for step in steps_of(TWO_CLICKS) for call in step.calls if call.operation == "card.present"),
            Call(operation="case.edit", params=PLACE, label="edit"),
        )
        steps = (Step(calls=(opened,)), race_of([[presented], [edited]]))
        system = InProcessSystem(ReferenceStore)
        for broken, taken in (("I13.3", 0), ("I14.4", 2)):
            tally = Tally("race")
            masked = BY_ID[broken].applies
            driver = partial(Driver, system, ALL_CLAIMS, REQUIREMENTS)
            taking = repeat(driver, steps, tally, repetitions=2, masked=masked, masked_race=lambda race: False)
            assert list(taking) == []
            assert tally.taken == taken
        system.close()


class TestGeneratedRaces:
    """A prefix, and then two to four lanes of calls about one case."""

    def test_what_is_drawn(self) -> None:
        """Many kinds of races: double clicks, contradictions, and what changes a case meanwhile."""
        system = InProcessSystem(ReferenceStore)
        drawn: list[tuple[str, ...]] = []
        plan = Plan(examples=1, steps=1, seed=1, kinds=tuple(InteractionKind))
        for number in range(80):
            driver = Driver(system, ALL_CLAIMS, REQUIREMENTS)
            try:
                steps = generated(driver, plan, Random(number))
            except NotJudged:
                continue
            if steps is None:
                continue
            assert all(not is_race(each) for each in steps[:-1])
            calls = steps[-1].calls
            assert is_race(steps[-1])
            assert {each.operation for each in calls} <= RACING
            assert 2 <= len({each.lane for each in calls}) <= 4
            assert len({driver.case_of(driver.operation(each)) for each in calls}) == 1
            labels = [each.label for each in calls]
            assert len(set(labels)) == len(labels)
            drawn.append(tuple(sorted(each.operation for each in calls)))
        system.close()
        assert len(drawn) > 50
        assert len(set(drawn)) > 15
        assert ("card.respond", "card.respond") in drawn
