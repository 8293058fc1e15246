"""`keyturn replay` and `keyturn smoke`: one trace judged afresh, and one adapter asked whether it is fit.

What a trace recorded is blanked before it is replayed: it decides nothing, and is only named to say whether the same
requirement broke again.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import evolve, frozen

from keyturn_testing.commands.options import (
    REPORT_FORMATS,
    examples,
    format_option,
    reference_argument,
    system_argument,
    time_limit_option,
)

if TYPE_CHECKING:
    from keyturn.capabilities import Claims
    from keyturn_testing.judging import Finding
    from keyturn_testing.reports.page import Page
    from keyturn_testing.smoke import Smoke
    from keyturn_testing.systems.base import Breakdown
    from keyturn_testing.traces import Step, Trace


@frozen(kw_only=True)
class Shown:
    """What a replay showed: a finding, a breakdown, or neither; and whether it was judged to its end."""

    trace: "Trace"
    description: "Smoke"
    finding: "Finding | None" = None
    breakdown: "Breakdown | None" = None
    steps: "tuple[Step, ...]" = ()
    tries: int = 1
    recorded: tuple[object, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether every step was taken, or one of them broke something."""
        return self.broken or len(self.steps) == len(self.trace.steps)

    @property
    def broken(self) -> bool:
        """Whether the system broke something, or broke down."""
        return self.finding is not None or self.breakdown is not None

    @property
    def verdict(self) -> str:
        """The verdict, as in a report."""
        return "broken" if self.broken else "holds" if self.judged else "unjudged"

    @property
    def same(self) -> bool | None:
        """Whether the requirement that was recorded broke again; nothing where none was recorded, or none broke."""
        recorded = self.trace.requirement
        if recorded is None or self.finding is None:
            return None
        return recorded in {each.requirement for each in self.finding.broken}


@click.command(
    epilog=examples(
        "keyturn replay keyturn-traces/I14.1-card.respond.json stdio:./my-server",
        "keyturn replay keyturn-traces/I14.1-card.respond.json",
    )
)
@click.argument("path", metavar="TRACE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@reference_argument
@format_option(*REPORT_FORMATS)
@time_limit_option
def replay(path: Path, adapter: str, style: str, time_limit: float) -> int:
    """Replay TRACE against SYSTEM (the reference, unless it is said), and judge it afresh.

    Exit code: 0 the system holds on it, 1 it does not, 2 the trace or the system cannot be used.
    """
    from keyturn_testing.files import say

    shown = replayed(path, adapter, time_limit)
    if style == "text":
        say(_as_text(shown, path, adapter))
    else:
        say(_as_json(shown, path) if style == "json" else _as_junit(shown, path))
    return {"holds": 0, "broken": 1, "unjudged": 2}[shown.verdict]


def replayed(path: Path, adapter: str, time_limit: float) -> Shown:
    """Replay a trace file; raise `UsageError` for a trace that cannot be replayed, and `Unfit` for such a system."""
    from keyturn.errors import Unreadable
    from keyturn_testing.commands.asking import fit, opened, portable
    from keyturn_testing.judging import judged_requirements
    from keyturn_testing.replaying import replay as take
    from keyturn_testing.systems.base import Breakdown
    from keyturn_testing.traces import read_trace
    from keyturn_testing.wording import bounded

    try:
        trace = read_trace(path)
    except Unreadable as error:
        raise click.UsageError(bounded(str(error), 2000)) from None
    _check_shape(trace)
    with opened(adapter, time_limit) as at:
        found = fit(at)
        assert found.description is not None
        _check_claims(trace, found.claims, can_be_killed=at.system.can_be_killed)
        requirements = judged_requirements(found.description, found.claims)
        try:
            result = take(at.system, found.claims, requirements, trace.blanked().steps)
        except Breakdown as breakdown:
            return Shown(trace=trace, description=found, breakdown=portable(breakdown, at.folder), steps=trace.steps)
        except Unreadable as error:
            raise click.UsageError(f"the trace {path} cannot be replayed: {bounded(str(error), 2000)}") from None
    return Shown(
        trace=trace,
        description=found,
        finding=result.finding,
        steps=result.steps,
        recorded=result.recorded,
        tries=result.tries,
    )


def _check_shape(trace: "Trace") -> None:
    from keyturn.operations import BY_METHOD
    from keyturn_testing.racing import MOST_CALLS
    from keyturn_testing.systems.together import MOST_LANES
    from keyturn_testing.wording import quoted

    problems = ["it has no steps"] if not trace.steps else []
    for number, step in enumerate(trace.steps, start=1):
        if not step.calls or (step.kill and len(step.calls) > 1):
            problems.append(f"step {number}: a step has calls, and one call alone where the system is killed")
        if step.kill and any(each.operation == "restart" for each in step.calls):
            problems.append(f"step {number}: a restart is a kill by itself, so nothing is killed in it")
        lanes = {each.lane for each in step.calls}
        if len(lanes) > MOST_LANES or len(step.calls) > MOST_CALLS:
            problems.append(f"step {number}: at most {MOST_LANES} lanes and {MOST_CALLS} calls can overlap")
        problems += [
            f"step {number}: there is no operation {quoted(each.operation, 60)}"
            for each in step.calls
            if each.operation not in BY_METHOD
        ]
    if problems:
        raise click.UsageError("the trace cannot be replayed: " + "; ".join(problems[:20]))


def _check_claims(trace: "Trace", claims: "Claims", *, can_be_killed: bool) -> None:
    from keyturn.capabilities import Capability
    from keyturn.operations import BY_METHOD
    from keyturn_testing.racing import is_race

    used = dict.fromkeys(BY_METHOD[call.operation] for step in trace.steps for call in step.calls)
    missing = [f"{each.method} needs `{each.needs}`" for each in used if each.needs not in claims]
    if any(map(is_race, trace.steps)) and Capability.PARALLEL not in claims:
        missing.append(f"calls that overlap need `{Capability.PARALLEL}`")
    if any(each.kill for each in trace.steps) and not can_be_killed:
        raise click.UsageError(
            "the trace cannot be replayed on this system: it kills a process, and only `stdio:` and `served:` have one to kill"
        )
    if missing:
        said = f"the trace cannot be replayed on this system, which does not claim enough: {', '.join(missing)}"
        raise click.UsageError(said)


def _as_json(shown: Shown, path: Path) -> str:
    from keyturn_testing.reports.json_report import SCHEMA, SUITE, system_of, written

    assert shown.description.description is not None
    finding, breakdown = shown.finding, shown.breakdown
    broken = () if finding is None else finding.broken
    return written(
        {
            "schema": SCHEMA,
            "system": system_of(shown.description.description),
            "suite": SUITE,
            "trace": path.name,
            "verdict": shown.verdict,
            "broken": [{"id": each.requirement, "seen": each.seen} for each in broken],
            "recorded": shown.trace.requirement,
            "same": shown.same,
            "steps": len(shown.steps),
            **({} if shown.tries == 1 else {"tries": shown.tries}),
            **({} if breakdown is None else {"breakdown": {"kind": breakdown.kind, "message": breakdown.message}}),
        }
    )


def _as_junit(shown: Shown, path: Path) -> str:
    from keyturn_testing.reports.junit_report import Case, junit
    from keyturn_testing.reports.page import page_for_files
    from keyturn_testing.reports.text_report import HAPPENED, show_breakdown, show_story

    page = page_for_files()
    finding, breakdown = shown.finding, shown.breakdown
    broken = () if finding is None else finding.broken
    show_story(page, shown.steps, shown.recorded, finding)
    case = Case(name=path.name, group="replay", outcome="passed")
    if finding is not None:
        case = Case(name=path.name, group="replay", outcome="failure", kind=finding.primary, message=broken[0].seen)
    elif breakdown is not None:
        show_breakdown(page, breakdown)
        told = f"the system {HAPPENED[breakdown.kind]}"
        case = Case(name=path.name, group="replay", outcome="error", kind=breakdown.kind, message=told)
    elif not shown.judged:
        told = f"only {len(shown.steps)} of {len(shown.trace.steps)} steps could be judged"
        case = Case(name=path.name, group="replay", outcome="error", kind="unjudged", message=told)
    return junit((evolve(case, text=page.text()),), {"trace": path.name, "verdict": shown.verdict})


def _as_text(shown: Shown, path: Path, adapter: str) -> str:
    from keyturn_specs.catalogue import BY_ID
    from keyturn_sql.passwords import without_passwords
    from keyturn_testing.reports.page import page_for_stdout
    from keyturn_testing.reports.text_report import HAPPENED, show_breakdown, show_story
    from keyturn_testing.wording import escaped

    page = page_for_stdout()
    finding = shown.finding
    show_story(page, shown.steps, shown.recorded, finding)
    page.blank()
    if finding is not None and finding.primary in BY_ID:
        page.paragraph(f"{finding.primary}: {BY_ID[finding.primary].says}", style="bold")
        page.paragraph(BY_ID[finding.primary].why)
    if shown.breakdown is not None:
        page.paragraph(f"The system {HAPPENED[shown.breakdown.kind]}.", style="bold red")
        show_breakdown(page, shown.breakdown)
    _compared(page, shown)
    style = {"holds": "bold green", "broken": "bold red", "unjudged": "bold yellow"}[shown.verdict]
    code = {"holds": 0, "broken": 1, "unjudged": 2}[shown.verdict]
    page.paragraph(
        f"{shown.verdict}: {escaped(without_passwords(adapter))} on {escaped(str(path))} (exit {code})", style=style
    )
    return page.text()


def _compared(page: "Page", shown: Shown) -> None:
    from keyturn_testing.wording import escaped

    recorded = shown.trace.requirement
    if shown.tries > 1:
        how = "and was lost in the last of them" if shown.broken else "and was never lost"
        page.paragraph(f"The race was taken {shown.tries} times, {how}.")
    if not shown.judged:
        page.paragraph(
            f"Only {len(shown.steps)} of {len(shown.trace.steps)} steps could be judged: what differs there is refused by a "
            "requirement that the system does not claim."
        )
    elif recorded is not None and shown.same is not None:
        same = "the same requirement as" if shown.same else "another requirement than"
        page.paragraph(f"This is {same} when the trace was recorded ({escaped(recorded, 40)}).")
    elif recorded is not None and not shown.broken:
        page.paragraph(f"When the trace was recorded, {escaped(recorded, 40)} was broken; here nothing is.")


@click.command(epilog=examples("keyturn smoke stdio:./my-server"))
@system_argument
@time_limit_option
def smoke(adapter: str, time_limit: float) -> int:
    """Ask whether SYSTEM is fit to be judged: its handshake, and one simple question answered.

    Exit code: 0 it is fit, 2 it is not.
    """
    from keyturn_testing.commands.asking import fit, opened
    from keyturn_testing.files import say
    from keyturn_testing.judging import judged_requirements
    from keyturn_testing.reports.page import page_for_stdout
    from keyturn_testing.wording import counted, escaped

    with opened(adapter, time_limit) as at:
        found = fit(at)
    assert found.description is not None
    system = found.description.system
    judged = len(judged_requirements(found.description, found.claims))
    page = page_for_stdout()
    page.paragraph(f"fit: {escaped(system.name, 60)} {escaped(system.version, 40)}", style="bold green")
    page.paragraph(f"It claims {', '.join(sorted(found.claims))}.")
    page.paragraph(f"It would be held to {counted(judged, 'requirement')}: `keyturn check` does that.")
    say(page.text())
    return 0
