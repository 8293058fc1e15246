"""`keyturn check` answers with one report, one exit code, and the right blame."""

import json
from pathlib import Path

from keyturn_specs.catalogue import REQUIREMENTS

from .conftest import ALONE, ONCE, SMALL, Keyturn

TWICE = "python:faulty_stores:PaysTwice"
TRACE = "I14.1-card.respond.json"


class TestVerdicts:
    """Exit codes: 0 it holds, 1 it does not, 2 it could not be judged."""

    def test_a_system_that_holds(self, keyturn: Keyturn, place: Path) -> None:
        """The reference holds: exit 0, a line for each requirement, and no traces."""
        ended = keyturn("check", "reference", *SMALL)
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "holds: every requirement that the system claims holds (exit 0)" in ended.stdout
        assert not (place / "keyturn-traces").exists()
        assert not list((place / "temporary").iterdir())

    def test_a_system_that_does_not(self, keyturn: Keyturn, place: Path) -> None:
        """A broken requirement is told as a story that ends with the line that replays it: 1 there, and 0 on the reference."""
        ended = keyturn("check", TWICE, *SMALL)
        assert ended.returncode == 1
        story = ended.stdout[ended.stdout.index("I14.1 is broken") :]
        assert "acme answers card A again with option" in story
        assert "This is the double click that pays twice." in story
        line = next(each for each in story.splitlines() if "keyturn replay" in each)
        command = line.split()[1:]
        assert command == ["replay", f"keyturn-traces/{TRACE}", TWICE]
        again = keyturn(*command)
        assert again.returncode == 1
        assert "This is the same requirement as when the trace was recorded (I14.1)." in again.stdout
        right = keyturn(*command[:2])
        assert right.returncode == 0
        assert "When the trace was recorded, I14.1 was broken; here nothing is." in right.stdout
        as_json = json.loads(keyturn(*command, "--format", "json").stdout)
        assert (as_json["verdict"], as_json["same"]) == ("broken", True)

    def test_a_budget_that_is_too_small(self, keyturn: Keyturn) -> None:
        """A claimed requirement that nothing exercised leaves the run unjudged."""
        ended = keyturn("check", "reference", "--engine", "stateful", "--examples", "1", "--steps", "1", "--quiet")
        assert ended.returncode == 2
        assert "not exercised" in ended.stdout
        assert "unjudged:" in ended.stdout

    def test_only_what_was_asked_for(self, keyturn: Keyturn) -> None:
        """A family can be judged alone, and what was left out is not in the report."""
        ended = keyturn("check", TWICE, "--requirement", "i13", *ONCE, "--format", "json")
        assert ended.returncode == 0
        family = [each.id for each in REQUIREMENTS if each.family == "I13"]
        assert [each["id"] for each in json.loads(ended.stdout)["requirements"]] == family


class TestReports:
    """The same seed against the same system gives the same report, byte for byte."""

    def test_two_runs(self, keyturn: Keyturn, place: Path) -> None:
        """Report and traces are the same, whatever the order of hashes is."""
        written = []
        for seed in ("1", "2"):
            output = ("--format", "json", "--output", f"{seed}.json", "--traces", seed)
            ended = keyturn("check", TWICE, *ALONE, *output, env={"PYTHONHASHSEED": seed})
            assert (ended.returncode, ended.stdout) == (1, "")
            written.append(((place / f"{seed}.json").read_bytes(), (place / seed / TRACE).read_bytes()))
        assert written[0] == written[1]
        assert str(place).encode() not in written[0][0]
        failed = [each for each in json.loads(written[0][0])["requirements"] if each["status"] == "failed"]
        assert [(each["id"], each["failures"]) for each in failed] == [("I14.1", [TRACE])]
        assert not list(place.glob(".hypothesis"))
        assert not list(place.glob(".*.json*"))

    def test_json_on_standard_output_is_pure(self, keyturn: Keyturn) -> None:
        """What a system prints goes elsewhere, also what it writes to the descriptor."""
        ended = keyturn("check", "python:faulty_stores:Prints", *SMALL, "--format", "json")
        assert ended.returncode == 0
        report = json.loads(ended.stdout)
        assert report["schema"] == 1
        assert report["verdict"] == "holds"
        assert report["seed"] == 0
        assert report["suite"]["name"] == "keyturn"
        assert report["system"]["name"] == "reference"
        assert report["profile"] == {"name": "quick", "examples": 2, "steps": 12}
        assert set(report["generated"]) == {"examples", "steps", "digest"}
        assert "more noise" in ended.stderr

    def test_a_random_seed_is_said(self, keyturn: Keyturn) -> None:
        """`--seed random` draws a seed, and the report names it."""
        arguments = ("check", "reference", *ONCE, "--seed", "random", "--format", "json")
        assert json.loads(keyturn(*arguments).stdout)["seed"] > 0


class TestBlame:
    """Four different messages: the system is wrong, it broke down, the adapter is unfit, the suite is wrong."""

    def test_a_crash(self, keyturn: Keyturn, place: Path) -> None:
        """After the smoke test a crash is the system's failure; the call is named, and the example can be replayed."""
        ended = keyturn("check", "python:faulty_stores:Crashes", *ONCE)
        assert ended.returncode == 1
        assert "The system crashed" in ended.stdout
        assert r"card.respond raised RuntimeError: \x1b[31mred\u202e (faulty_stores.py:" in ended.stdout
        assert "keyturn replay keyturn-traces/breakdown.json python:faulty_stores:Crashes" in ended.stdout
        assert not {"\x1b", "\u202e"} & set(ended.stdout)
        assert (place / "keyturn-traces" / "breakdown.json").exists()

    def test_an_unfit_adapter(self, keyturn: Keyturn, place: Path) -> None:
        """Every problem of a handshake is said at once, and nothing is wiped."""
        ended = keyturn("check", "python:faulty_stores:IsNoTest", "--format", "json")
        assert ended.returncode == 2
        said = " ".join(ended.stderr.split())
        for part in ("'ledgr' is no capability", "Did you mean 'ledger'?", "I7.9 cannot be un-claimed", "environment:"):
            assert part in said
        report = json.loads(ended.stdout)
        assert report["verdict"] == "unjudged"
        assert len(report["unfit"]) == 3
        assert not (place / "wiped").exists()

    def test_an_unknown_adapter(self, keyturn: Keyturn) -> None:
        """A string that names no system is answered with what it may have meant."""
        ended = keyturn("check", "refrence")
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "did you mean `reference`?" in ended.stderr

    def test_a_request_that_breaks_its_schema(self, keyturn: Keyturn, place: Path) -> None:
        """The suite is wrong, and says what it was about to send, where it is wrong, and that this is to be reported."""
        ended = keyturn("check", "python:faulty_stores:BreaksARequest", *SMALL)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "the suite is wrong, and this says nothing about the system (exit 2)" in ended.stderr
        assert "about to send card.respond with params that break their schema: expected a string" in ended.stderr
        assert "card.respond.account" in ended.stderr
        assert "please report it" in ended.stderr
        assert "Traceback" not in ended.stderr

    def test_an_answer_that_breaks_its_schema(self, keyturn: Keyturn) -> None:
        """It is the system's failure: the report says where, what stands there and what was expected."""
        ended = keyturn("check", "python:faulty_stores:AnswersAnotherShape", *ONCE)
        assert ended.returncode == 1
        said = " ".join(ended.stdout.split())
        assert "The system broke the protocol" in said
        assert (
            "answer to case.open breaks its schema (`keyturn schema case.open` shows it): $.revision: expected an"
            in said
        )
        assert r"'\x1b[31mred'" in said
        assert "\x1b" not in ended.stdout

    def test_a_bug_of_the_suite(self, keyturn: Keyturn, place: Path) -> None:
        """An exception of ours is no traceback but a file, and the system is not blamed."""
        ended = keyturn("check", "python:faulty_stores:BreaksTheSuite", *SMALL)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "this is a bug of keyturn, and says nothing about the system" in ended.stderr
        assert "Traceback" not in ended.stderr
        (file,) = (place / "temporary").iterdir()
        assert str(file) in ended.stderr
        assert "AssertionError: the suite is wrong" in file.read_text(encoding="utf-8")
