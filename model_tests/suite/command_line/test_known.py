"""Known failures (D9): they run and do not break the verdict, and a list that is out of date does."""

import json
from pathlib import Path

import pytest

from .conftest import SMALL, Keyturn

TWICE = "python:faulty_stores:PaysTwice"
KNOWN = '[[known]]\nrequirement = "I14.1"\nreason = "paid twice since May"\nlink = "https://example.org/7"\n'


def written(place: Path, text: str) -> str:
    """Write a file of known failures and return its path."""
    path = place / "known.toml"
    path.write_text(text, "utf-8")
    return str(path)


def test_a_known_failure_does_not_break_the_verdict(keyturn: Keyturn, place: Path) -> None:
    """It is asked, reported with its reason, and the run holds all the same."""
    known = written(place, KNOWN)
    ended = keyturn("check", TWICE, "--requirement", "I14.1", "--known-failing", known, *SMALL, "--format", "json")
    report = json.loads(ended.stdout)
    (judged,) = report["requirements"]
    assert (ended.returncode, report["verdict"]) == (0, "holds")
    assert judged["status"] == "known_failing"
    assert judged["reason"] == "paid twice since May (https://example.org/7)"
    assert judged["failures"]
    told = keyturn("check", TWICE, "--requirement", "I14.1", "--known-failing", known, *SMALL)
    assert "save the known failures" in told.stdout


def test_another_failure_still_breaks_it(keyturn: Keyturn, place: Path) -> None:
    """Only what is on the list is known."""
    known = written(place, KNOWN.replace("I14.1", "I5.1"))
    ended = keyturn("check", TWICE, "--requirement", "I14.1", "--known-failing", known, *SMALL)
    assert ended.returncode == 1


def test_a_known_failure_that_passes_breaks_it(keyturn: Keyturn, place: Path) -> None:
    """A list that is out of date hides the next failure."""
    known = written(place, KNOWN)
    ended = keyturn("check", "reference", "--known-failing", known, *SMALL)
    assert ended.returncode == 1
    assert "I14.1 is a known failure, and it passed" in ended.stdout
    as_json = keyturn("check", "reference", "--known-failing", known, *SMALL, "--format", "json")
    assert json.loads(as_json.stdout)["stale_known_failures"] == ["I14.1"]


def test_a_known_failure_of_another_system_is_not_meant(keyturn: Keyturn, place: Path) -> None:
    """A failure may be known of one system only."""
    known = written(place, KNOWN + 'system = "another"\n')
    assert keyturn("check", "reference", "--known-failing", known, *SMALL).returncode == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (KNOWN.replace("I14.1", "I14.11"), "is no requirement of this version"),
        (KNOWN + KNOWN, "2 times"),
        (KNOWN.replace("paid twice since May", " "), "has no reason"),
        ("[[known]]\nrequirement = 7\n", "expected a string"),
        ("[[known", "is not TOML"),
    ],
    ids=["unknown", "twice", "no reason", "wrong types", "not TOML"],
)
def test_a_list_that_cannot_be_used_is_refused(keyturn: Keyturn, place: Path, text: str, says: str) -> None:
    """Before anything is asked, with what is wrong and where: exit 2."""
    ended = keyturn("check", "reference", "--known-failing", written(place, text), *SMALL)
    assert ended.returncode == 2
    assert says in " ".join(ended.stderr.split())
