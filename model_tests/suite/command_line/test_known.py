"""Known failures and the flaky (D9): they run and do not break the verdict, and a list that is out of date does."""

import json
from pathlib import Path

import pytest

from .conftest import ONCE, Keyturn

TWICE = "python:faulty_stores:PaysTwice"
CLAIMS_LITTLE = "python:faulty_stores:ClaimsLittle"
KNOWN = '[[known]]\nrequirement = "I14.1"\nreason = "paid twice since May"\nlink = "https://example.org/7"\n'
FLAKY = KNOWN.replace("[[known]]", "[[flaky]]").replace("paid twice since May", "a race in the driver")


def written(place: Path, text: str, name: str = "known.toml") -> str:
    """Write a list and return its path."""
    path = place / name
    path.write_text(text, "utf-8")
    return str(path)


def test_a_known_failure_does_not_break_the_verdict(keyturn: Keyturn, place: Path) -> None:
    """It is asked, reported with its reason, and the run holds all the same."""
    known = written(place, KNOWN)
    ended = keyturn("check", TWICE, "--requirement", "I14.1", "--known-failing", known, *ONCE, "--format", "json")
    report = json.loads(ended.stdout)
    (judged,) = report["requirements"]
    assert (ended.returncode, report["verdict"]) == (0, "holds")
    assert judged["status"] == "known_failing"
    assert judged["reason"] == "paid twice since May (https://example.org/7)"
    assert judged["failures"]
    told = keyturn("check", TWICE, "--requirement", "I14.1", "--known-failing", known, *ONCE)
    assert "save the known failures" in told.stdout


def test_another_failure_still_breaks_it(keyturn: Keyturn, place: Path) -> None:
    """Only what is on the list is known."""
    known = written(place, KNOWN.replace("I14.1", "I5.1"))
    ended = keyturn("check", TWICE, "--requirement", "I14.1", "--known-failing", known, *ONCE)
    assert ended.returncode == 1


def test_a_known_failure_that_passes_breaks_it(keyturn: Keyturn, place: Path) -> None:
    """A list that is out of date hides the next failure."""
    known = written(place, KNOWN)
    ended = keyturn("check", "reference", "--known-failing", known, *ONCE)
    assert ended.returncode == 1
    assert "I14.1 is a known failure, and it passed" in ended.stdout
    as_json = keyturn("check", "reference", "--known-failing", known, *ONCE, "--format", "json")
    assert json.loads(as_json.stdout)["stale_known_failures"] == ["I14.1"]


def test_a_known_failure_of_another_system_is_not_meant(keyturn: Keyturn, place: Path) -> None:
    """A failure may be known of one system only."""
    known = written(place, KNOWN + 'system = "another"\n')
    assert keyturn("check", "reference", "--known-failing", known, *ONCE).returncode == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (KNOWN.replace("I14.1", "I14.11"), "is no requirement of this version"),
        (KNOWN + KNOWN, "2 times"),
        (KNOWN.replace("paid twice since May", " "), "has no reason"),
        ("[[known]]\nrequirement = 7\n", "expected a string"),
        ("[[known", "is not TOML"),
        (KNOWN + 'sytem = "another"\n', "the entry 1 has 'sytem', which nothing reads. Did you mean 'system'?"),
        (KNOWN.replace("known", "knwon"), "write each entry as a table [[known]]"),
    ],
    ids=["unknown", "twice", "no reason", "wrong types", "not TOML", "a slip in a key", "a slip in a table"],
)
def test_a_list_that_cannot_be_used_is_refused(keyturn: Keyturn, place: Path, text: str, says: str) -> None:
    """Before anything is asked, with what is wrong and where: exit 2."""
    ended = keyturn("check", "reference", "--known-failing", written(place, text), *ONCE)
    assert ended.returncode == 2
    assert says in " ".join(ended.stderr.split())


def test_what_is_known_and_not_claimed_breaks_it(keyturn: Keyturn, place: Path) -> None:
    """It can neither fail nor pass, so it would stand on the list for ever."""
    known = written(place, KNOWN.replace("I14.1", "I5.1"))
    ended = keyturn("check", CLAIMS_LITTLE, "--known-failing", known, *ONCE)
    assert ended.returncode == 1
    assert "I5.1 is on the list of known failures, and the system does not claim it" in " ".join(ended.stdout.split())
    as_json = keyturn("check", CLAIMS_LITTLE, "--known-failing", known, *ONCE, "--format", "json")
    assert json.loads(as_json.stdout)["listed_not_claimed"] == ["I5.1"]
    flaky = written(place, FLAKY.replace("I14.1", "I5.1"), "flaky.toml")
    ended = keyturn("check", CLAIMS_LITTLE, "--flaky", flaky, *ONCE)
    assert ended.returncode == 1
    assert "I5.1 is on the list of the flaky, and the system does not claim it" in " ".join(ended.stdout.split())


class TestFlaky:
    """What is flaky runs, is reported with its mark and reason, and decides nothing."""

    def test_its_failing_decides_nothing(self, keyturn: Keyturn, place: Path) -> None:
        """The status is what happened, the mark stands beside it, and the run holds."""
        flaky = written(place, FLAKY, "flaky.toml")
        ended = keyturn("check", TWICE, "--requirement", "I14.1", "--flaky", flaky, *ONCE, "--format", "json")
        report = json.loads(ended.stdout)
        (judged,) = report["requirements"]
        assert (ended.returncode, report["verdict"]) == (0, "holds")
        assert (judged["status"], judged["flaky"]) == ("failed", True)
        assert judged["reason"] == "a race in the driver (https://example.org/7)"
        assert judged["failures"]
        told = keyturn("check", TWICE, "--requirement", "I14.1", "--flaky", flaky, *ONCE).stdout
        assert "failed (flaky)" in told
        assert "I14.1 is flaky: a race in the driver" in told
        assert "1 requirement: 1 failed (flaky)" in told
        assert "save what is flaky (exit 0)" in " ".join(told.split())

    def test_its_passing_decides_nothing(self, keyturn: Keyturn, place: Path) -> None:
        """It never goes stale."""
        flaky = written(place, FLAKY, "flaky.toml")
        ended = keyturn("check", "reference", "--flaky", flaky, *ONCE)
        assert ended.returncode == 0
        assert "passed (flaky)" in ended.stdout
        assert "a race in the driver" in ended.stdout
        report = json.loads(keyturn("check", "reference", "--flaky", flaky, *ONCE, "--format", "json").stdout)
        marked = [each for each in report["requirements"] if "flaky" in each]
        assert [(each["id"], each["status"]) for each in marked] == [("I14.1", "passed")]

    def test_another_failure_still_breaks_it(self, keyturn: Keyturn, place: Path) -> None:
        """Only what is on the list is excused, and only for the system that it names."""
        for text in (FLAKY.replace("I14.1", "I5.1"), FLAKY + 'system = "another"\n'):
            flaky = written(place, text, "flaky.toml")
            ended = keyturn("check", TWICE, "--requirement", "I14.1", "--flaky", flaky, *ONCE)
            assert ended.returncode == 1

    def test_both_lists(self, keyturn: Keyturn, place: Path) -> None:
        """A requirement may be known to fail of one system, and flaky of another."""
        known = written(place, KNOWN + 'system = "reference"\n')
        flaky = written(place, FLAKY + 'system = "another"\n', "flaky.toml")
        lists = ("--known-failing", known, "--flaky", flaky)
        assert keyturn("check", TWICE, "--requirement", "I14.1", *lists, *ONCE).returncode == 0

    @pytest.mark.parametrize("systems", [("", ""), ('system = "reference"\n', ""), ("", 'system = "reference"\n')])
    def test_a_requirement_in_both_lists_is_refused(
        self, keyturn: Keyturn, place: Path, systems: tuple[str, str]
    ) -> None:
        """A known failure always fails, and what is flaky does not; no system means any."""
        known = written(place, KNOWN + systems[0])
        flaky = written(place, FLAKY + systems[1], "flaky.toml")
        ended = keyturn("check", "reference", "--known-failing", known, "--flaky", flaky, *ONCE)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "I14.1 is in" in ended.stderr
        assert "known.toml too" in ended.stderr

    def test_all_problems_of_both_files_at_once(self, keyturn: Keyturn, place: Path) -> None:
        """Nobody has to run it again to see the next one; each stands on a line of its own."""
        known = written(
            place, KNOWN + KNOWN + KNOWN.replace("I14.1", "I14.11") + KNOWN.replace("paid twice since May", "")
        )
        flaky = written(place, FLAKY + FLAKY.replace("I14.1", "E99").replace("a race in the driver", ""), "flaky.toml")
        ended = keyturn("check", "reference", "--known-failing", known, "--flaky", flaky, *ONCE)
        assert ended.returncode == 2
        lines = [each.strip() for each in ended.stderr.splitlines() if each.startswith("  * ")]
        says = (
            "3 times",
            "'I14.11' is no requirement",
            "has no reason",
            "'E99' is no requirement",
            "too, for the same system",
        )
        assert len(lines) == len(says)
        assert all(any(each in line for line in lines) for each in says), lines


class TestFiles:
    """Whatever stands where a list should be is answered with what it is: exit 2, and no traceback."""

    @pytest.mark.parametrize("option", ["--known-failing", "--flaky"])
    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"\xff\xfe\x00", "no UTF-8 text"),
            (b"\x00" * 10, "is not TOML"),
            (b"#" * (1024 * 1024 + 1), "is larger than"),
            (b"a = " + b"[" * 5000, "is not TOML"),
            (b"requirement = 1\n", "'requirement' is nothing that is read here"),
            (b'[["\\u001b[31m"]]\n', "is nothing that is read here"),
        ],
        ids=["binary", "zeros", "large", "deep", "another table", "hostile"],
    )
    def test_a_file_of_something_else(
        self, keyturn: Keyturn, place: Path, option: str, content: bytes, says: str
    ) -> None:
        """Binary, endless, deep and foreign files are refused with their name."""
        (place / "list.toml").write_bytes(content)
        ended = keyturn("check", "reference", option, "list.toml", *ONCE)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "list.toml" in ended.stderr
        assert says in ended.stderr
        assert "Traceback" not in ended.stderr
        assert "\x1b" not in ended.stderr

    def test_no_file(self, keyturn: Keyturn, place: Path) -> None:
        """A name that is not there, and a folder."""
        for name, says in (("nowhere.toml", "does not exist"), (".", "is a directory")):
            ended = keyturn("check", "reference", "--flaky", name, *ONCE)
            assert ended.returncode == 2
            assert says in ended.stderr
            assert "Traceback" not in ended.stderr

    def test_a_file_without_end(self, keyturn: Keyturn) -> None:
        """A device that never ends is read up to the limit."""
        ended = keyturn("check", "reference", "--flaky", "/dev/zero", *ONCE)
        assert ended.returncode == 2
        assert "is larger than" in ended.stderr

    def test_an_empty_file(self, keyturn: Keyturn, place: Path) -> None:
        """Nothing is known, and nothing is flaky: the day on which the last failure was mended."""
        (place / "empty.toml").touch()
        lists = ("--known-failing", "empty.toml", "--flaky", "empty.toml")
        assert keyturn("check", "reference", *lists, *ONCE).returncode == 0
