"""No dishonest system is called sound: each is told by its exit code and its ids, through the command that users run."""

import json
import subprocess
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from attrs import frozen

from keyturn.capabilities import Capability
from keyturn_specs.catalogue import REQUIREMENTS

from ..command_line.conftest import COMMAND, environment
from . import dishonest_systems as dishonest
from .systems import held

BUDGET = ("--examples", "12", "--steps", "25", "--time-limit", "2", "--quiet", "--format", "json")


@frozen
class Checked:
    """How the command ended, and what its report says."""

    code: int
    report: dict[str, Any]

    def ids(self, status: str) -> set[str]:
        """The requirements with a status."""
        return {each["id"] for each in self.report["requirements"] if each["status"] == status}

    @property
    def traces(self) -> set[str]:
        """The traces of everything that failed, each named for what it breaks first."""
        return {trace for each in self.report["requirements"] for trace in each.get("failures", ())}


def check(place: Path, system: str) -> Checked:
    """Check one of the dishonest systems as its author would."""
    copy(Path(dishonest.__file__), place)
    (place / "temporary").mkdir()
    ended = subprocess.run(
        [*COMMAND, "check", f"python:dishonest_systems:{system}", *BUDGET],
        cwd=place,
        env=environment(place),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert "Traceback" not in ended.stderr
    return Checked(ended.returncode, json.loads(ended.stdout))


class TestRefusing:
    """Refusing everything is not safety."""

    def test_from_the_start(self, tmp_path: Path) -> None:
        """A system that refuses the simplest right call is unfit: exit 2, and it says which call."""
        checked = check(tmp_path, "RefusesFromTheStart")
        assert (checked.code, checked.report["verdict"]) == (2, "unjudged")
        assert checked.report["unfit"][0].startswith("case.open ")

    def test_every_answer(self, tmp_path: Path) -> None:
        """A system that refuses every answer breaks A1, its codes break A2, and a stranger can tell its cards from none."""
        checked = check(tmp_path, "RefusesEveryAnswer")
        assert (checked.code, checked.report["verdict"]) == (1, "broken")
        assert checked.ids("failed") == {"A1", "A2", "I19.1"}
        assert not checked.ids("passed") & {"I7.1", "I14.1", "E2"}


class TestClaiming:
    """What is claimed is judged, and what is not is never passed."""

    def test_only_cards(self, tmp_path: Path) -> None:
        """A sound system that claims only cards passes what needs only cards, and the rest is not claimed."""
        checked = check(tmp_path, "OnlyCards")
        assert (checked.code, checked.report["verdict"]) == (0, "holds")
        mine = {each.id for each in REQUIREMENTS if each.needs == {Capability.CARDS}}
        assert checked.ids("passed") == mine
        assert checked.ids("not_claimed") == {each.id for each in REQUIREMENTS} - mine

    def test_everything_and_doing_nothing(self, tmp_path: Path) -> None:
        """A system that answers everything with nothing is unfit."""
        checked = check(tmp_path, "SaysNothing")
        assert (checked.code, checked.report["verdict"]) == (2, "unjudged")
        assert "'revision' is missing" in checked.report["unfit"][0]

    def test_everything_and_doing_nothing_later(self, tmp_path: Path) -> None:
        """One that answers with nothing as soon as it is really asked is broken, and has passed nothing."""
        checked = check(tmp_path, "SaysNothingLater")
        assert (checked.code, checked.report["verdict"]) == (1, "broken")
        assert checked.report["breakdown"]["kind"] == "protocol"
        assert checked.ids("passed") == set()

    def test_what_is_gone_when_it_is_asked_for(self, tmp_path: Path) -> None:
        """One that does not offer what it claims is broken, and is told what it claims; only refusals were judged before."""
        checked = check(tmp_path, "WithdrawsItsOffer")
        assert (checked.code, checked.ids("passed")) == (1, {"A2", "I19.8"})
        assert checked.report["breakdown"]["message"].startswith("the system claims `ledger` and does not offer ledger")


class TestPretending:
    """Success in words is not success."""

    def test_storing_nothing(self, tmp_path: Path) -> None:
        """A system that answers every change with success and stores nothing breaks I6.1 with the first card."""
        checked = check(tmp_path, "StoresNothing")
        assert (checked.code, checked.report["verdict"]) == (1, "broken")
        assert "I6.1" in checked.ids("failed")
        assert {trace.partition("-")[2] for trace in checked.traces} == {"card.present.json"}
        assert not checked.ids("passed") & {"A1", "L3", "I7.1", "I14.1", "E2"}

    def test_reading_the_first_snapshot(self, tmp_path: Path) -> None:
        """A system that always reads what it read at first is caught by its ledger and its counters, among others."""
        checked = check(tmp_path, "ReadsTheFirst")
        assert checked.code == 1
        assert {"E1", "E3"} <= checked.ids("failed")

    def test_reading_the_first_snapshot_without_evidence(self, tmp_path: Path) -> None:
        """Without ledger and counters the answers and the cards give it away."""
        checked = check(tmp_path, "ReadsTheFirstCards")
        assert checked.code == 1
        assert {"L3", "L4"} & checked.ids("failed")

    def test_falling_silent(self, tmp_path: Path) -> None:
        """A system that passes the smoke test and then answers no more is broken, and what it never answered is masked."""
        checked = check(tmp_path, "FallsSilent")
        assert (checked.code, checked.report["verdict"]) == (1, "broken")
        assert checked.report["breakdown"]["kind"] == "hung"
        assert {"A1", "L3", "I14.1", "I7.1"} <= checked.ids("masked")


@pytest.mark.parametrize("engine", ["scenarios", "stateful"])
def test_either_engine_tells_who_refuses_everything(engine: str) -> None:
    """A1 fails with each engine alone, so that neither is the only thing between a refusing system and success."""
    record = held(dishonest.RefusesEveryAnswerAtOnce, engines=(engine,))
    assert "A1" in record.failed
