"""The crashes engine: the process ends in the middle of a call, and what it forgets, repeats or tears is found."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.store import ReferenceStore
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_testing.moments import ANSWERED, Moments
from keyturn_testing.mutants import mutant_factory
from keyturn_testing.record import Profile, Record
from keyturn_testing.replaying import replay
from keyturn_testing.reports.json_report import json_report
from keyturn_testing.reports.page import page_for_files
from keyturn_testing.reports.story import story
from keyturn_testing.reports.text_report import Origin, text_report
from keyturn_testing.running import Run
from keyturn_testing.smoke import smoke
from keyturn_testing.systems.adapters import open_system
from keyturn_testing.systems.base import Answered, Killed
from keyturn_testing.traces import Call, Step, read_trace, write_trace

from .systems import held

KEYTURN = shlex.quote(str(Path(sys.executable).parent / "keyturn"))
FEW = Profile(name="few", examples=1, steps=1, crashes=24)


def crashed(adapter: str, folder: Path, crashes: int, until: tuple[str, ...] = ()) -> Record:
    """Hold a system that is reached by its adapter to what it claims, where its process ends."""
    system = open_system(adapter, data=folder, time_limit=30)
    try:
        found = smoke(system)
        assert found.description is not None, found.problems
        profile = evolve(FEW, crashes=crashes)
        run = Run(
            system,
            found.description,
            found.claims,
            profile=profile,
            seed=1,
            engines=("crashes",),
            until=frozenset(until),
        )
        return run.run()
    finally:
        system.close()


def told(record: Record) -> str:
    """The report of a run as text, without its line breaks."""
    page = page_for_files()
    return " ".join(text_report(page, record, Origin(adapter="python:made:here")).split())


class TestInProcess:
    """An object cannot be killed; where it claims `faults` it is asked to end."""

    def test_a_sound_system(self) -> None:
        """Both crash points, in several operations; nobody heard a reply, and nothing failed."""
        record = held(ReferenceStore, engines=("crashes",), profile=FEW)
        assert record.failures == []
        assert set(record.kills.phases) == {"crash_before_commit", "crash_after_commit"}
        assert record.kills.count == record.kills.unheard > 12
        assert {"card.present", "card.respond", "command.settle"} <= set(record.kills.operations)
        assert {"I14.6", "I6.7", "A1"} <= set(record.counts.exercised)
        assert "with a reply that nobody heard: " in told(record)
        report = json_report(record)
        assert isinstance(report["kills"], dict)
        assert report["kills"]["count"] == record.kills.count

    def test_the_same_seed_the_same_crashes(self) -> None:
        """What is drawn follows from the seed."""
        one, other = (held(ReferenceStore, engines=("crashes",), profile=FEW) for _ in range(2))
        assert json_report(one) == json_report(other)

    @pytest.mark.parametrize("missing", [Capability.FAULTS, Capability.RESTART])
    def test_what_cannot_be_made_to_end(self, missing: Capability) -> None:
        """Without the claims nothing is tried."""

        class Less(ReferenceStore):
            def __init__(self) -> None:
                super().__init__(ALL_CLAIMS - {missing})

        record = held(Less, engines=("crashes",), profile=FEW)
        assert (record.kills.count, record.counts.steps) == (0, 0)

    def test_a_fault(self) -> None:
        """Whoever takes a retry anew, because the reply of the first answer was lost, is found."""
        record = held(
            mutant_factory("retry-counts-anew", armed=True), engines=("crashes",), profile=evolve(FEW, crashes=60)
        )
        assert "I14.6" in record.failed


class TestKilled:
    """A process is killed while it carries out a call, and started again on its data."""

    @pytest.mark.parametrize("way", ["stdio:{} serve sqlite --stdio", "served:{} serve sqlite --http --port 0"])
    def test_the_store_that_ships(self, way: str, tmp_path: Path) -> None:
        """It forgets nothing and does nothing twice, and says where it was."""
        record = crashed(way.format(KEYTURN), tmp_path, 5)
        assert record.breakdown is None
        assert record.failures == []
        assert record.kills.count >= 5
        assert set(record.kills.phases) <= {"idle", "reading", "writing", "committing", "committed"}
        assert len(record.kills.phases) > 1

    def test_what_the_host_keeps_is_lost(self, tmp_path: Path) -> None:
        """A card that only the process knew is gone (I6.3), and the trace shows it again, from its file."""
        adapter = f"stdio:{KEYTURN} serve mutant:pending-with-the-host --stdio"
        record = crashed(adapter, tmp_path / "data", 12, until=("I6.3",))
        assert "I6.3" in record.failed
        failure = record.failed["I6.3"][0]
        path = tmp_path / "crash.json"
        path.write_text(write_trace(failure.trace), "utf-8")
        system = open_system(adapter, data=tmp_path / "again", time_limit=30)
        again = replay(system, record.claims, record.requirements, read_trace(path).blanked().steps, tries=5)
        system.close()
        assert again.finding is not None
        assert again.finding.primary == "I6.3"

    def test_a_trace_with_a_kill(self, tmp_path: Path) -> None:
        """On a sound system it holds at every moment that is tried; the story says that the system was killed."""
        case = {"account": "acme", "workflow": "trip", "case": "case-1"}
        edit = Step(calls=(Call(operation="case.edit", params=case),), kill=True)
        steps = (Step(calls=(Call(operation="case.open", params=case),)), edit)
        system = open_system(f"stdio:{KEYTURN} serve sqlite --stdio", data=tmp_path, time_limit=30)
        claims: Claims = ALL_CLAIMS
        seen = replay(system, claims, REQUIREMENTS, steps, tries=4)
        system.close()
        assert (seen.finding, seen.tries) == (None, 4)
        assert "and the system is killed meanwhile" in story(steps)[1].done


def moments(answers_after: float, begins: float = 0.001) -> tuple[Moments, Callable[[], str]]:
    """Moments, and a call that begins and ends at certain times; each kill says what it hit."""
    known = Moments()

    def kill() -> str:
        after = known.next("card.respond")
        assert after >= 0
        if after < begins:
            phase, reply = "idle", None
        elif after < answers_after:
            place = (after - begins) / (answers_after - begins)
            phase, reply = ("reading" if place < 0.6 else "writing" if place < 0.8 else "committing"), None
        else:
            phase, reply = "idle", Answered({})
        known.learn("card.respond", Killed(reply, min(after, answers_after), phase), phase)
        return ANSWERED if reply is not None else phase

    return known, kill


class TestMoments:
    """The moments of the kills go where something is done, however long a call takes."""

    @pytest.mark.parametrize("seconds", [0.003, 0.01, 0.05, 0.4])
    def test_every_phase_is_hit(self, seconds: float) -> None:
        """Also where the first guess was far off."""
        _, kill = moments(seconds)
        hit = [kill() for _ in range(120)]
        for phase in ("reading", "writing", "committing"):
            assert hit.count(phase) >= 8, (phase, hit.count(phase))

    def test_the_same_every_time(self) -> None:
        """They follow from what was hit, and from nothing else."""
        one, other = (moments(0.02)[1] for _ in range(2))
        assert [one() for _ in range(30)] == [other() for _ in range(30)]
