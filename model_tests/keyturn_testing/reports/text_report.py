"""The report as text, for people: a line for each requirement, and a story for each failure.

A failure says which sentence broke and why it matters, tells the steps that lead there, and ends with the one line that
replays it. What comes from a system is escaped and bounded. The four kinds of blame have a heading each (D7).
"""

import shlex
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from keyturn.values import Json
from keyturn_specs.catalogue import BY_ID
from keyturn_sql.passwords import without_passwords
from keyturn_testing.judging import UNATTRIBUTED, Broken, Finding
from keyturn_testing.record import Failure, Record
from keyturn_testing.reports.answers import answer_in_words
from keyturn_testing.reports.covering import coverage_of
from keyturn_testing.reports.page import Page
from keyturn_testing.reports.story import story
from keyturn_testing.reports.verdict import (
    EXIT_CODES,
    LONGEST_REASON,
    Judgement,
    Status,
    Verdict,
    judgements,
    listed_in_vain,
    stale,
    trace_name,
    verdict,
)
from keyturn_testing.systems.base import Breakdown
from keyturn_testing.traces import Step, Trace
from keyturn_testing.wording import bounded, counted, escaped, listed

LONGEST_SEEN = 600
"""How many characters of what was seen are shown."""

LAST_LOG_LINES = 12
"""How many lines of a system's log are shown."""

LONGEST_FOUND_BY = 240
"""How many characters are shown of what found a failure: a few cells."""

MOST_MISSING = 3
"""How many goals that were not covered are shown."""

_STYLES: Mapping[Status, str] = {
    Status.PASSED: "green",
    Status.FAILED: "bold red",
    Status.KNOWN_FAILING: "yellow",
    Status.MASKED: "yellow",
    Status.NOT_EXERCISED: "yellow",
    Status.NOT_CLAIMED: "dim",
}

_VERDICTS: Mapping[Verdict, tuple[str, str]] = {
    Verdict.HOLDS: ("bold green", "every requirement that the system claims holds"),
    Verdict.BROKEN: ("bold red", "the system does not hold to what it claims"),
    Verdict.UNJUDGED: ("bold yellow", "not everything that the system claims could be judged"),
}

HAPPENED: Mapping[str, str] = {
    "not_started": "did not start",
    "crashed": "crashed",
    "hung": "hung",
    "garbage": "talked garbage",
    "too_much": "sent too much",
    "protocol": "broke the protocol",
}
"""What each kind of breakdown is called."""


@frozen(kw_only=True)
class Origin:
    """What a report needs besides the record: the adapter as it was written, and what was done with the traces.

    `traces` is the folder that the traces were written to. `last` is the example that a breakdown ended; `options` stands
    at the end of every line that replays something.
    """

    adapter: str
    traces: Path | None = None
    last: Trace | None = None
    options: str = ""


BREAKDOWN_TRACE = "breakdown.json"
"""The name of the trace of an example that a breakdown ended."""


def text_report(page: Page, record: Record, origin: Origin, selected: Container[str] = BY_ID) -> str:
    """Return the report of a run as text for the page's console."""
    _head(page, record, origin)
    judged = judgements(record, selected)
    _table(page, judged)
    for failure in record.failures:
        _failure(page, failure, origin, {each.requirement.id: each for each in judged if each.reason is not None})
    _out_of_date(page, record, selected)
    if record.breakdown is not None:
        _breakdown(page, record.breakdown, origin)
    _totals(page, record, judged, verdict(record, selected))
    return page.text()


def _head(page: Page, record: Record, origin: Origin) -> None:
    system, profile = record.description.system, record.profile
    language = "" if system.language is None else f" ({escaped(system.language, 40)})"
    name = f"{escaped(system.name, 60)} {escaped(system.version, 40)}{language}"
    page.line("system   ", (name, "bold"), f"  as {escaped(without_passwords(origin.adapter), 200)}")
    budget = f"{counted(profile.examples, 'example')} of up to {counted(profile.steps, 'step')}"
    page.line(f"profile  {profile.name}: {budget}, seed {record.seed}")
    page.blank()


def _out_of_date(page: Page, record: Record, selected: Container[str]) -> None:
    for each in stale(record, selected):
        page.heading(f"{each} is a known failure, and it passed", "bold red")
        page.paragraph(f"Known because: {escaped(record.known[each], LONGEST_REASON)}", indent=2)
        page.paragraph(
            "Take it off the list of known failures: a list that is out of date hides the next failure.", indent=2
        )
    for each in listed_in_vain(record, selected):
        which = "known failures" if each in record.known else "the flaky"
        page.heading(f"{each} is on the list of {which}, and the system does not claim it", "bold red")
        page.paragraph(
            "It can neither fail nor pass. Take it off the list, name the system that it is meant for, or claim it.",
            indent=2,
        )


# ---- The table ------------------------------------------------------------------------------------------------------


def _table(page: Page, judged: Sequence[Judgement]) -> None:
    widths = (
        max((len(each.requirement.id) for each in judged), default=0),
        max((len(each.words) for each in judged), default=0),
        max((len(str(each.exercised)) for each in judged), default=0),
    )
    for each in judged:
        style = "yellow" if each.flaky else _STYLES[each.status]
        head = f"{each.requirement.id:<{widths[0]}}  "
        count = f"  {each.exercised:>{widths[2]}}  "
        room = page.width - len(head) - widths[1] - len(count)
        sentence = page.symbols.cut(page.symbols.text(each.requirement.says), room)
        page.line(head, (f"{each.words:<{widths[1]}}", style), count, sentence)
        if each.reason is not None:
            page.paragraph(each.reason, indent=len(head), style="dim")


# ---- Failures -------------------------------------------------------------------------------------------------------


def _failure(page: Page, failure: Failure, origin: Origin, excused: Mapping[str, Judgement]) -> None:
    broken = failure.finding.broken
    primary = broken[0].requirement
    if primary == UNATTRIBUTED:
        page.heading("A difference that no requirement demands", "bold red")
        page.paragraph(
            "The system does not do what the model says, and no requirement of this version stands behind it. It counts as "
            "broken; the gap in the requirements is keyturn's, and worth a report.",
            indent=2,
        )
    else:
        requirement = BY_ID[primary]
        page.heading(f"{primary} is broken", "bold red")
        page.paragraph(requirement.says, indent=2, style="bold")
        page.paragraph(requirement.why, indent=2)
    if len(broken) > 1:
        also = listed([each.requirement for each in broken[1:]])
        page.paragraph(f"The same step breaks {also}.", indent=2)
    for each in broken:
        if each.requirement in excused:
            listed_as = "flaky" if excused[each.requirement].flaky else "a known failure"
            page.paragraph(
                f"{each.requirement} is {listed_as}: {excused[each.requirement].reason}", indent=2, style="yellow"
            )
    page.blank()
    page.paragraph(f"found by {escaped(failure.found_by, LONGEST_FOUND_BY)}", indent=2, style="dim")
    show_story(page, failure.trace.steps, failure.trace.recorded, failure.finding)
    if not failure.trace.recorded:
        page.paragraph(
            "This did not come back when the same steps were taken again: the system answers differently from time to time. "
            "What was seen is from the first time.",
            indent=2,
            style="yellow",
        )
    _replay_line(page, origin, trace_name(failure))


def show_story(
    page: Page,
    steps: Sequence[Step],
    recorded: Sequence[object],
    finding: Finding | None = None,
) -> None:
    """Add the steps of a trace as a story; where the last one broke something, what was seen and what was admissible."""
    broken: Sequence[Broken] = () if finding is None else finding.broken
    admissible: Sequence[Json] = () if finding is None else finding.admissible
    arrow = page.symbols.arrow
    for told in story(steps, recorded):
        page.paragraph(told.done, first=f"{told.number}. ", indent=2)
        if told.came_back is not None:
            page.paragraph(told.came_back, first=f"{arrow} ", indent=5, style="dim")
    for line in () if finding is None else finding.picture:
        page.line(" " * 5 + line)
    for seen, ids in _by_seen(broken).items():
        name = f"{', '.join(ids)}: " if ids else ""
        page.paragraph(f"{name}{bounded(seen, LONGEST_SEEN)}", first="seen        ", indent=5, style="red")
    if broken and admissible:
        words = dict.fromkeys(answer_in_words(None, each) for each in admissible)
        page.paragraph(f" {page.symbols.dot} ".join(words), first="admissible  ", indent=5, style="green")


def _by_seen(broken: Sequence[Broken]) -> Mapping[str, list[str]]:
    """What was seen, each thing once, with the requirements that it breaks."""
    seen: dict[str, list[str]] = {}
    for each in broken:
        seen.setdefault(each.seen, []).extend([] if each.requirement == UNATTRIBUTED else [each.requirement])
    return seen


def _replay_line(page: Page, origin: Origin, name: str) -> None:
    page.blank()
    if origin.traces is not None:
        page.copied(replay_line(origin.traces / name, origin))


def replay_line(path: Path, origin: Origin) -> str:
    """Return the line that replays a trace on the system that was asked."""
    words = ["keyturn", "replay", str(path), without_passwords(origin.adapter)]
    return " ".join(map(shlex.quote, words)) + origin.options


# ---- Breakdowns -----------------------------------------------------------------------------------------------------


def _breakdown(page: Page, breakdown: Breakdown, origin: Origin) -> None:
    page.heading(f"The system {HAPPENED[breakdown.kind]}", "bold red")
    page.paragraph("It was fit before, and the suite asked nothing that the protocol does not allow.", indent=2)
    show_breakdown(page, breakdown)
    if origin.last is not None:
        page.blank()
        page.paragraph("the example that it ended:", indent=2, style="dim")
        show_story(page, origin.last.steps, origin.last.recorded)
        page.paragraph(HAPPENED[breakdown.kind], first=f"{page.symbols.arrow} ", indent=5, style="red")
        _replay_line(page, origin, BREAKDOWN_TRACE)


def show_breakdown(page: Page, breakdown: Breakdown, indent: int = 2) -> None:
    """Add what a breakdown says, and the end of the system's own log."""
    page.paragraph(bounded(breakdown.message, LONGEST_SEEN), indent=indent)
    lines = breakdown.log.splitlines()
    if lines:
        page.paragraph("the end of its log:", indent=indent, style="dim")
        for line in lines[-LAST_LOG_LINES:]:
            page.line(" " * (indent + 2) + bounded(line, page.width))


# ---- The end --------------------------------------------------------------------------------------------------------


def _covered(page: Page, record: Record) -> None:
    """Say how much was covered of what the system can be asked for, what is beyond it, and the first of what was missed."""
    coverage = coverage_of(record)
    if not any(each.times for each in coverage):
        return
    left_out = "" if record.toured else "; without the tour, which --engine cover takes"
    page.paragraph(f"covered {', '.join(map(str, coverage))}{left_out}")
    beyond = [goal for each in coverage for goal in each.beyond]
    if beyond:
        page.paragraph(
            f"{counted(len(beyond), 'more cell')} could not be met as planned, because the system used a freedom that it has, "
            f"such as {beyond[0]}",
            indent=2,
        )
    missing = [goal for each in coverage for goal in each.missing] if record.toured else []
    for goal in missing[:MOST_MISSING]:
        page.paragraph(goal, first="not covered: ", indent=2, style="yellow")
    if len(missing) > MOST_MISSING:
        page.paragraph(f"and {len(missing) - MOST_MISSING} more, which --format json lists", indent=2, style="yellow")
    if missing and record.failures:
        page.paragraph("What failed stood in the way.", indent=2, style="yellow")


def _raced(page: Page, record: Record) -> None:
    """Say how many races were taken, how much of them really overlapped, and how many were lost."""
    taken = sum(each.taken for each in record.races)
    if not taken:
        return
    calls, overlapping = (sum(each.calls for each in record.races), sum(each.overlapped for each in record.races))
    said = f"{counted(taken, 'race')}, {100 * overlapping // max(calls, 1)} % of their calls overlapped"
    ways = [each for each in record.races if each.every_way is not None]
    if ways:
        said += f"; {sum(each.every_way is True for each in ways)} of {len(ways)} kinds in every way of taking turns"
    unknown = sum(each.unknown for each in record.races)
    page.paragraph(said + (f"; {unknown} unknown, with more orders than are looked at" if unknown else ""))
    for each in record.races:
        if each.lost:
            page.paragraph(f"{each.name}: lost {each.lost} of {each.taken} times", indent=2, style="red")


def _killed(page: Page, record: Record) -> None:
    """Say how often the process ended, and where it was."""
    kills = record.kills
    if kills.count:
        phases = ", ".join(f"{count} {str(phase).replace('_', ' ')}" for phase, count in sorted(kills.phases.items()))
        page.paragraph(
            f"{counted(kills.count, 'crash', 'crashes')}, {kills.unheard} with a reply that nobody heard: {phases}"
        )


def _totals(page: Page, record: Record, judged: Sequence[Judgement], verdict_of_run: Verdict) -> None:
    counts = Counter((each.status, each.flaky, each.words) for each in judged)
    order = {each: number for number, each in enumerate(Status)}
    statuses = [
        f"{count} {key[2]}" for key, count in sorted(counts.items(), key=lambda item: (order[item[0][0]], item[0][1]))
    ]
    style, means = _VERDICTS[verdict_of_run]
    excused = [
        *(["the known failures"] if any(each.status is Status.KNOWN_FAILING for each in judged) else []),
        *(["what is flaky"] if any(each.flaky for each in judged) else []),
    ]
    if verdict_of_run is Verdict.HOLDS and excused:
        means += f", save {listed(excused)}"
    page.blank()
    page.paragraph(f"{counted(len(judged), 'requirement')}: {', '.join(statuses) or 'none'}")
    _covered(page, record)
    _raced(page, record)
    _killed(page, record)
    done = f"{counted(record.examples, 'example')}, {counted(record.counts.steps, 'step')}, seed {record.seed}"
    page.paragraph(done + (", interrupted: this is a part of the report" if record.interrupted else ""))
    page.paragraph(f"{verdict_of_run.value}: {means} (exit {EXIT_CODES[verdict_of_run]})", style=style)
