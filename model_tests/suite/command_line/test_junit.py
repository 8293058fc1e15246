"""The report as JUnit XML: what CI systems show is what the run came to, whatever a system says of itself."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from junitparser import JUnitXml, TestCase

from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_testing.judging import UNATTRIBUTED
from keyturn_testing.record import PROFILES, Record
from keyturn_testing.reports.junit_report import Case, junit, junit_report, unfit_junit, xml_safe
from keyturn_testing.reports.verdict import Verdict, verdict
from keyturn_testing.smoke import Smoke
from keyturn_testing.systems.base import Breakdown

from .conftest import ONCE, Keyturn
from .junit import problems
from .test_verdict import failure, record

HOSTILE = "\x00\x1b[31m\u202e\ud800 ]]> <b>&amp;&\r\n\ufffe\U0001f511\x9f" + '"' + "'"
TWICE = "python:faulty_stores:PaysTwice"


def cases(document: str) -> dict[str, TestCase]:
    """The cases of a document by their names, as another library reads them."""
    assert problems(document) == []
    return {each.name: each for suite in JUnitXml.fromstring(document.encode()) for each in suite}


def outcome(case: TestCase) -> tuple[str, str, str]:
    """What became of a case: its element, its type and its message."""
    if not case.result:
        return ("passed", "", "")
    (result,) = case.result
    return (type(result).__name__, str(result.type), str(result.message))


def with_known(made: Record, **lists: dict[str, str]) -> Record:
    """A record with lists."""
    for name, reasons in lists.items():
        setattr(made, name, reasons)
    return made


class TestCases:
    """Each status is a case that CI systems show as what it is."""

    def test_one_case_a_requirement(self) -> None:
        """All are there, in the order of the catalogue, each in its family."""
        document = junit_report(record())
        assert [*cases(document)] == [each.id for each in REQUIREMENTS]
        assert {each.classname for each in cases(document).values()} == {
            f"keyturn.{each.family}" for each in REQUIREMENTS
        }
        assert all(outcome(each)[0] == "passed" for each in cases(document).values())
        assert BY_ID["L8"].says.split()[0] in str(cases(document)["L8"].system_out)

    def test_a_failure_has_its_story(self) -> None:
        """The line says what was seen, and the text tells the sentence and the steps."""
        made = record()
        made.failures.append(failure("I14.1", seen="it has 2 effects"))
        case = cases(junit_report(made))["I14.1"]
        assert outcome(case) == ("Failure", "failed", "it has 2 effects")
        text = " ".join(str(case.result[0].text).split())
        assert BY_ID["I14.1"].says in text
        assert "admissible rejected: not_found" in text

    def test_what_was_not_judged_is_not_green(self) -> None:
        """Masked and not exercised are errors; not claimed is skipped, with its reason."""
        made = record(ALL_CLAIMS - {Capability.LEDGER}, unexercised=("I7.2",))
        every = cases(junit_report(made))
        assert outcome(every["I7.2"])[:2] == ("Error", "not_exercised")
        assert outcome(every["E1"]) == ("Skipped", "not_claimed", "the system does not claim `ledger`")
        made.failures.append(failure("L2"))
        every = cases(junit_report(made))
        assert outcome(every["I7.2"]) == ("Error", "masked", "a failure of L2 stood in the way")

    def test_known_and_flaky_are_skipped_with_their_reasons(self) -> None:
        """Neither makes a build red; what is flaky and passed has passed."""
        made = with_known(record(), known={"I14.1": "since May"}, flaky={"L2": "a race", "L8": "a race too"})
        made.failures += [failure("I14.1"), failure("L2")]
        document = junit_report(made)
        every = cases(document)
        assert outcome(every["I14.1"]) == ("Skipped", "known_failing", "known to fail: since May")
        assert outcome(every["L2"]) == ("Skipped", "flaky", "flaky, and it failed: a race")
        assert outcome(every["L8"])[0] == "passed"
        assert "a race too" in str(every["L8"].system_out)
        root = ET.fromstring(document)  # noqa: S314  # our own report
        facts = {each.get("name"): each.get("value") for each in root.iter("property")}
        assert (facts["verdict"], facts["flaky"], facts["known_failing"]) == ("holds", "L2 L8", "I14.1")

    def test_a_list_that_is_out_of_date_fails(self) -> None:
        """The entry is the failure: what passed, and what is not claimed."""
        made = with_known(
            record(ALL_CLAIMS - {Capability.LEDGER}), known={"I14.1": "since May"}, flaky={"E1": "a race"}
        )
        every = cases(junit_report(made))
        assert outcome(every["I14.1"])[:2] == ("Failure", "stale_known_failure")
        assert outcome(every["E1"])[:2] == ("Failure", "listed_not_claimed")


def runs() -> dict[str, Record]:
    """Runs that ended in every way that there is."""
    made = {name: record() for name in ("holds", "failed", "known", "stale", "flaky", "broke down", "interrupted")}
    made |= {"not exercised": record(unexercised=("I7.2",)), "unattributed": record()}
    for name in ("failed", "known", "flaky"):
        made[name].failures.append(failure("I14.1"))
    made["known"].known = made["stale"].known = {"I14.1": "since May"}
    made["flaky"].flaky = {"I14.1": "a race"}
    made["in vain"] = with_known(record(ALL_CLAIMS - {Capability.LEDGER}), flaky={"E1": "a race"})
    made["broke down"].breakdown = Breakdown("hung", HOSTILE, log=HOSTILE)
    made["interrupted"].interrupted = True
    made["unattributed"].failures.append(failure(UNATTRIBUTED, seen=HOSTILE))
    return made


@pytest.mark.parametrize("name", runs())
def test_it_is_green_exactly_when_the_run_holds(name: str) -> None:
    """A gate that reads the document decides as the exit code does."""
    made = runs()[name]
    red = [each for each in cases(junit_report(made)).values() if outcome(each)[0] in ("Failure", "Error")]
    assert bool(red) == (verdict(made) is not Verdict.HOLDS)


def test_nothing_claimed_is_not_green() -> None:
    """A selection of which nothing is claimed was not judged."""
    every = cases(junit_report(record(ALL_CLAIMS - {Capability.LEDGER}), {"E1"}))
    assert outcome(every["nothing_claimed"])[0] == "Error"


class TestHostile:
    """Whatever a system says, the document is one that every parser reads."""

    def test_texts_that_xml_cannot_hold(self) -> None:
        """Control characters and half surrogates are escaped; markup is text."""
        case = Case(name=HOSTILE, group="run", outcome="failure", kind=HOSTILE, message=HOSTILE, text=HOSTILE)
        document = junit((case,), {"system": HOSTILE})
        assert document.isascii()
        (read,) = cases(document).values()
        assert str(read.result[0].text).replace("\n", "") == xml_safe(HOSTILE).replace("\n", "")
        for shown in ("\\x00\\x1b[31m", "\\ud800 ]]> <b>&amp;&\\r", "\\ufffe\U0001f511\\x9f"):
            assert shown in str(read.result[0].text)

    def test_a_hostile_system(self) -> None:
        """Its name, what it did and what it said of itself are bounded, and escaped."""
        made = record(name=HOSTILE * 500)
        made.failures += [failure("I14.1", seen=HOSTILE * 500), failure(UNATTRIBUTED, seen=HOSTILE * 500)]
        made.breakdown = Breakdown("garbage", HOSTILE * 500, log=f"{HOSTILE}\n" * 5000)
        document = junit_report(made)
        assert {"I14.1", UNATTRIBUTED, "garbage"} <= set(cases(document))
        assert len(document) < 60_000
        unfit = unfit_junit(Smoke(problems=(HOSTILE,)), Breakdown("hung", HOSTILE), 0, PROFILES["quick"])
        assert outcome(cases(unfit)["fit"])[:2] == ("Error", "unfit")


class TestSchema:
    """The constraints that documents are held to refuse what the schema refuses."""

    @pytest.mark.parametrize(
        ("document", "problem"),
        [
            ("<report/>", "the root is report"),
            ('<testsuites skipped="1"/>', "testsuites has skipped"),
            (
                '<testsuite name="a" tests="0" failures="0" errors="0" skipped="0"><testcase/></testsuite>',
                "has no name",
            ),
            ('<testcase name="a"><properties/></testcase>', "testcase holds properties"),
            ('<testsuite name="a" tests="1" failures="0" errors="0" skipped="0"/>', "tests is 1, not 0"),
            ('<testsuites time="1e-3"/>', "the time 1e-3 is none"),
        ],
    )
    def test_a_wrong_document_is_found(self, document: str, problem: str) -> None:
        """One fault is named."""
        assert any(problem in each for each in problems(document))


class TestCommand:
    """`--format junit`, on standard output and into a file."""

    def test_check(self, keyturn: Keyturn, place: Path) -> None:
        """The same seed gives the same bytes, and they say what the JSON says."""
        written = []
        for seed in ("1", "2"):
            output = ("--format", "junit", "--output", f"{seed}.xml")
            ended = keyturn("check", TWICE, *ONCE, *output, env={"PYTHONHASHSEED": seed})
            assert (ended.returncode, ended.stdout) == (1, "")
            written.append((place / f"{seed}.xml").read_text("utf-8"))
        assert written[0] == written[1]
        assert str(place) not in written[0]
        red = {name: outcome(each)[1] for name, each in cases(written[0]).items() if outcome(each)[0] != "passed"}
        as_json = json.loads(keyturn("check", TWICE, *ONCE, "--format", "json").stdout)
        assert red == {each["id"]: each["status"] for each in as_json["requirements"] if each["status"] != "passed"}
        assert (red["I14.1"], "acme answers card A again" in written[0]) == ("failed", True)

    def test_an_unfit_adapter(self, keyturn: Keyturn) -> None:
        """What could not be judged is an error, with every problem."""
        ended = keyturn("check", "python:faulty_stores:IsNoTest", "--format", "junit")
        assert ended.returncode == 2
        assert "'ledgr' is no capability" in str(cases(ended.stdout)["fit"].result[0].text)

    def test_replay(self, keyturn: Keyturn) -> None:
        """A replayed trace is one case: failed where it breaks something, passed where it does not."""
        keyturn("check", TWICE, *ONCE)
        trace = "I14.1-card.respond.json"
        again = keyturn("replay", f"keyturn-traces/{trace}", TWICE, "--format", "junit")
        assert again.returncode == 1
        assert outcome(cases(again.stdout)[trace])[:2] == ("Failure", "I14.1")
        right = keyturn("replay", f"keyturn-traces/{trace}", "--format", "junit")
        assert right.returncode == 0
        assert outcome(cases(right.stdout)[trace])[0] == "passed"
