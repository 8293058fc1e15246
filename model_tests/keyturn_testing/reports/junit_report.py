"""The report as JUnit XML, for what shows tests: a test case for each requirement.

It keeps to the schema of Jenkins' xUnit plugin, the strictest of the readers: only a suite has properties, and a case says by
the type of its `skipped`, `failure` or `error` what it is. There is a failure or an error in it exactly when the run does not
hold. Nothing in it depends on the clock, so times are 0 (D10), and what XML cannot hold is escaped (D12).
"""

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from typing import Literal, TypeAlias
from xml.etree import ElementTree as ET

from attrs import frozen

from keyturn.handshake import Description
from keyturn.version import VERSION
from keyturn_specs.catalogue import BY_ID
from keyturn_testing.judging import UNATTRIBUTED
from keyturn_testing.record import Profile, Record
from keyturn_testing.reports.covering import coverage_of
from keyturn_testing.reports.json_report import LONGEST_NAME
from keyturn_testing.reports.told import IN_VAIN, STALE, Trouble, in_full, in_short, troubles
from keyturn_testing.reports.verdict import Judgement, Status, judgements, listed_in_vain, stale, verdict
from keyturn_testing.smoke import Smoke
from keyturn_testing.systems.base import Breakdown
from keyturn_testing.wording import bounded

Outcome: TypeAlias = Literal["passed", "skipped", "failure", "error"]

_OUTCOMES: Mapping[Status, Outcome] = {
    Status.PASSED: "passed",
    Status.FAILED: "failure",
    Status.KNOWN_FAILING: "skipped",
    Status.NOT_CLAIMED: "skipped",
    Status.NOT_EXERCISED: "error",
    Status.MASKED: "error",
}
"""What each status is to a reader of tests; a claimed requirement that could not be judged must not look green."""

_NOT_IN_XML = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")


@frozen(kw_only=True)
class Case:
    """One test case: its name, the group that it is shown in, and what became of it.

    `kind` and `message` say it in a word and in a line, `text` in full.
    """

    name: str
    group: str
    outcome: Outcome
    kind: str = ""
    message: str = ""
    text: str = ""


def junit_report(record: Record, selected: Container[str] = BY_ID) -> str:
    """Return the report of a run."""
    every = judgements(record, selected)
    out_of_date = {
        **dict.fromkeys(stale(record, selected), ("stale_known_failure", STALE)),
        **dict.fromkeys(listed_in_vain(record, selected), ("listed_not_claimed", IN_VAIN)),
    }
    cases = [_case(record, each, out_of_date.get(each.requirement.id)) for each in every]
    cases += [_of_trouble(each) for each in troubles(record, selected)]
    facts = {
        **_facts(record.description, record.seed, record.profile),
        "verdict": verdict(record, selected).value,
        "flaky": " ".join(each.requirement.id for each in every if each.flaky),
        "known_failing": " ".join(each.requirement.id for each in every if each.status is Status.KNOWN_FAILING),
        "covered": ", ".join(map(str, coverage_of(record))),
        "examples": str(record.examples),
        "steps": str(record.counts.steps),
        "digest": record.digest,
    }
    return junit(cases, facts)


def unfit_junit(found: Smoke, breakdown: Breakdown | None, seed: int, profile: Profile) -> str:
    """Return the report on an adapter that was unfit before anything was judged."""
    problems = [*found.problems, *([] if breakdown is None else [breakdown.message])]
    case = Case(
        name="fit",
        group="run",
        outcome="error",
        kind="unfit",
        message="the adapter is unfit, and nothing was judged",
        text="\n".join(bounded(each, 1000) for each in problems),
    )
    return junit((case,), {**_facts(found.description, seed, profile), "verdict": "unjudged"})


def _case(record: Record, judged: Judgement, out_of_date: tuple[str, str] | None) -> Case:
    outcome, kind = _OUTCOMES[judged.status], judged.status.value
    message = "" if outcome == "passed" else in_short(record, judged)
    if judged.status is Status.KNOWN_FAILING:
        message = f"known to fail: {judged.reason}"
    if judged.flaky and outcome == "failure":
        outcome, kind, message = "skipped", "flaky", f"flaky, and it failed: {judged.reason}"
    if out_of_date is not None:
        outcome, (kind, message) = "failure", out_of_date
    return Case(
        name=judged.requirement.id,
        group=judged.requirement.family,
        outcome=outcome,
        kind=kind,
        message=message,
        text=in_full(record, judged),
    )


def _of_trouble(trouble: Trouble) -> Case:
    outcome: Outcome = "failure" if trouble.kind == UNATTRIBUTED else "error"
    return Case(
        name=trouble.kind, group="run", outcome=outcome, kind=trouble.kind, message=trouble.short, text=trouble.full
    )


def _facts(description: Description | None, seed: int, profile: Profile) -> dict[str, str]:
    system = None if description is None else description.system
    named = {} if system is None else {"system": system.name[:LONGEST_NAME], "version": system.version[:LONGEST_NAME]}
    budget = f"{profile.name}: {profile.examples} examples of up to {profile.steps} steps"
    return {**named, "suite": f"keyturn {VERSION}", "seed": str(seed), "profile": budget}


# ---- Writing --------------------------------------------------------------------------------------------------------


def xml_safe(text: str) -> str:
    """Return a text in which everything is escaped that no XML document can hold, such as half a surrogate pair."""
    return _NOT_IN_XML.sub(lambda found: ascii(found[0])[1:-1], text)


def junit(cases: Sequence[Case], facts: Mapping[str, str]) -> str:
    """Return cases, and facts about the whole, as a JUnit document in ASCII."""
    counts = Counter(each.outcome for each in cases)
    totals = {"tests": str(len(cases)), "failures": str(counts["failure"]), "errors": str(counts["error"])}
    root = ET.Element("testsuites", {"name": "keyturn", **totals, "time": "0"})
    head = {"name": "keyturn", **totals, "skipped": str(counts["skipped"]), "time": "0"}
    suite = ET.SubElement(root, "testsuite", head)
    properties = ET.SubElement(suite, "properties")
    for name, value in facts.items():
        ET.SubElement(properties, "property", {"name": name, "value": xml_safe(value)})
    for each in cases:
        where = {"name": xml_safe(each.name), "classname": f"keyturn.{each.group}", "time": "0"}
        case = ET.SubElement(suite, "testcase", where)
        if each.outcome != "passed":
            said = {"type": xml_safe(each.kind), "message": xml_safe(each.message)}
            ET.SubElement(case, each.outcome, said).text = xml_safe(each.text) or None
        elif each.text:
            ET.SubElement(case, "system-out").text = xml_safe(each.text)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="us-ascii").decode()}\n'
