"""`keyturn explore`: what it writes for people and for programs, its exit codes, and how it ends early."""

import json

import pytest

from .conftest import Keyturn


class TestVerdicts:
    """0 where everything holds, 2 where it ended before it could tell."""

    def test_it_holds(self, keyturn: Keyturn) -> None:
        """Every property is named, with the counts of what was visited."""
        done = keyturn("explore", "--cards", "1")
        assert (done.returncode, done.stderr) == (0, "")
        assert "28 states, 1910 transitions, 6 deep" in done.stdout
        assert "holds    I5.1: one open question a case" in done.stdout
        assert done.stdout.endswith("holds: every state was visited (exit 0)\n")

    @pytest.mark.parametrize(
        ("option", "value", "said"),
        [
            ("--states", "20", "the bound of 20 states"),
            ("--depth", "2", "the bound of 2 steps"),
            ("--time-limit", "0.000001", "the time limit of 1e-06 s"),
            ("--memory", "16", "the memory limit of 16 MiB"),
        ],
    )
    def test_it_ends_early(self, keyturn: Keyturn, option: str, value: str, said: str) -> None:
        """The bound is named, and nothing that was not seen is said to hold."""
        done = keyturn("explore", option, value)
        assert done.returncode == 2
        assert f"unjudged: it ended at {said}" in done.stdout.replace("\n", " ")
        assert "unknown  I5.1" in done.stdout

    def test_json(self, keyturn: Keyturn) -> None:
        """The same for programs; without symmetry also what must happen at last."""
        done = keyturn("explore", "--cards", "1", "--no-symmetry", "--no-faults", "--format", "json")
        assert done.returncode == 0
        told = json.loads(done.stdout)
        assert (told["states"], told["complete"], told["stopped"], told["symmetry"]) == (28, True, None, False)
        assert told["bounds"]["cards"] == 1
        assert {each["status"] for each in told["properties"]} == {"holds"}
        assert [each["name"] for each in told["properties"]][-1].startswith("L3: ")
        [reached] = [each for each in told["properties"] if each["name"] == "possible: a card is declined"]
        assert reached["witness"] == ["open a case → done", "present → presented", "answer: keep it → declined"]
        assert told["actions"]["sweep"] > 0


class TestWrongArguments:
    """What cannot be explored is said, with what can."""

    @pytest.mark.parametrize("wrong", [("--cards", "0"), ("--cases", "many"), ("--time-limit", "-1"), ("reference",)])
    def test_exit_2(self, keyturn: Keyturn, wrong: tuple[str, ...]) -> None:
        """Without a traceback."""
        done = keyturn("explore", *wrong)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "Usage: keyturn explore" in done.stderr
