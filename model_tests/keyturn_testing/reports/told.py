"""One requirement told on its own: what became of it, and the story of each of its failures.

Reports that show a test for each requirement show this as what a test says.
"""

from collections.abc import Container

from attrs import frozen

from keyturn_specs.catalogue import BY_ID
from keyturn_testing.judging import UNATTRIBUTED
from keyturn_testing.record import Failure, Record
from keyturn_testing.reports.page import page_for_files
from keyturn_testing.reports.text_report import HAPPENED, show_breakdown, show_story
from keyturn_testing.reports.verdict import Judgement, Status, judgements, trace_name
from keyturn_testing.systems.base import Breakdown
from keyturn_testing.wording import bounded, counted

LONGEST_MESSAGE = 300
"""How many characters of what was seen are kept in one line."""

IN_VAIN = "it is on a list, and the system does not claim it: take it off, name the system that is meant, or claim it"
STALE = (
    "it is a known failure, and it passed: take it off the list, which hides the next failure when it is out of date"
)


def in_short(record: Record, judged: Judgement) -> str:
    """Return in one line what the first failure of a requirement showed, or why it is not passed."""
    seen = [
        each.seen
        for failure in record.failed.get(judged.requirement.id, ())
        for each in failure.finding.broken
        if each.requirement == judged.requirement.id
    ]
    return bounded(seen[0], LONGEST_MESSAGE) if seen else (judged.reason or judged.words)


def in_full(record: Record, judged: Judgement) -> str:
    """Return what became of a requirement: its sentence, why it matters, the reason, and the story of each failure."""
    page = page_for_files()
    page.line(f"{judged.requirement.id} {judged.words}, exercised {counted(judged.exercised, 'time')}")
    page.paragraph(judged.requirement.says, indent=2)
    if judged.failures:
        page.paragraph(judged.requirement.why, indent=2)
    if judged.reason is not None:
        page.paragraph(judged.reason, indent=2)
    told = page.text()
    return told + "".join(f"\n{story_of(failure)}" for failure in record.failed.get(judged.requirement.id, ()))


def story_of(failure: Failure) -> str:
    """Return the story of one failure."""
    page = page_for_files()
    show_story(page, failure.trace.steps, failure.trace.recorded, failure.finding)
    return page.text()


def breakdown_told(record: Record, breakdown: Breakdown) -> str:
    """Return what a breakdown says, and the example that it ended."""
    page = page_for_files()
    page.line(f"the system {HAPPENED[breakdown.kind]}")
    show_breakdown(page, breakdown)
    if record.last is not None:
        page.blank()
        show_story(page, record.last.steps, record.last.recorded)
    return page.text()


@frozen(kw_only=True)
class Trouble:
    """What stands against a run and belongs to no requirement: its kind, in one line, and in full."""

    kind: str
    short: str
    full: str = ""


def troubles(record: Record, selected: Container[str] = BY_ID) -> tuple[Trouble, ...]:
    """Return what stands against a whole run; nothing when its requirements tell everything."""
    found = [
        Trouble(
            kind=UNATTRIBUTED,
            short=f"a difference that no requirement demands ({trace_name(each)})",
            full=story_of(each),
        )
        for each in record.failed.get(UNATTRIBUTED, ())
    ]
    if record.breakdown is not None:
        happened = f"the system {HAPPENED[record.breakdown.kind]}"
        found.append(Trouble(kind=record.breakdown.kind, short=happened, full=breakdown_told(record, record.breakdown)))
    if record.interrupted:
        found.append(Trouble(kind="interrupted", short="the run was interrupted: this is a part of the report"))
    if all(each.status is Status.NOT_CLAIMED for each in judgements(record, selected)):
        found.append(Trouble(kind="nothing_claimed", short="the system claims nothing of what it was asked for"))
    return tuple(found)
