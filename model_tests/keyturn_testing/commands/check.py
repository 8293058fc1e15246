"""`keyturn check`: ask one system whether it holds to what it claims, and answer with one report and one exit code.

The order is fixed: open, smoke test, run, end the system, traces, report. Ctrl-C ends the run where it is, and the report says
so; what was found until then counts.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import evolve, frozen

from keyturn_testing.commands.options import (
    DEFAULT_SECONDS,
    DEFAULT_SEED,
    PROFILE_NAMES,
    REPORT_FORMATS,
    examples,
    format_option,
    list_option,
    output_path,
    seed_of,
    system_argument,
    time_limit_option,
    traces_folder,
)
from keyturn_testing.engines import ENGINES

if TYPE_CHECKING:
    from keyturn_testing.commands.asking import Unfit
    from keyturn_testing.known import Lists
    from keyturn_testing.record import Profile, Record


MOST_PROBLEMS = 50
"""How many problems of the lists are shown."""


@frozen(kw_only=True)
class Wanted:
    """What a check was asked to do."""

    adapter: str
    profile: str
    seed: int
    engines: tuple[str, ...]
    requirements: tuple[str, ...]
    style: str
    output: Path | None
    traces: Path
    time_limit: float
    known_failing: Path | None
    flaky: Path | None
    quiet: bool
    examples: int | None
    steps: int | None


@click.command(
    epilog=examples(
        "keyturn check stdio:./my-server",
        "keyturn check python:my_package.testing:make_store --profile deep",
        "keyturn check sqlite --requirement I14 --seed random",
        "keyturn check reference --format json --output report.json",
        "keyturn check stdio:./my-server --format junit --output report.xml --known-failing known.toml",
    )
)
@system_argument
@click.option(
    "--profile", type=click.Choice(PROFILE_NAMES), default="quick", show_default=True, help="How much is asked."
)
@click.option(
    "--seed",
    callback=seed_of,
    metavar="NUMBER|random",
    default=str(DEFAULT_SEED),
    show_default=True,
    help="The same seed asks the same system the same; `random` draws one and says which.",
)
@click.option(
    "--engine", "engines", type=click.Choice(ENGINES), multiple=True, help="Only this engine (repeatable; all of them)."
)
@click.option(
    "--requirement",
    "requirements",
    multiple=True,
    metavar="ID",
    help="Judge only this requirement, or family such as I14 (repeatable; all of them).",
)
@format_option(*REPORT_FORMATS)
@click.option("--output", metavar="FILE", callback=output_path, help="Write the report here, not to standard output.")
@click.option(
    "--traces",
    metavar="DIR",
    default="keyturn-traces",
    show_default=True,
    callback=traces_folder,
    help="Where the traces of failures go.",
)
@list_option(
    "--known-failing",
    "A TOML file of [[known]] failures (requirement, reason, system?, link?): they run, and do not break the verdict.",
)
@list_option(
    "--flaky", "A TOML file of what is [[flaky]] (requirement, reason, system?, link?): it runs, and decides nothing."
)
@time_limit_option
@click.option("--quiet", is_flag=True, help="No progress on standard error.")
@click.option("--examples", type=click.IntRange(1), hidden=True)
@click.option("--steps", type=click.IntRange(1), hidden=True)
def check(**wanted: object) -> int:
    """Ask SYSTEM whether it holds to everything that it claims.

    SYSTEM is `reference`, `sqlite`, `python:MODULE:FACTORY`, `stdio:COMMAND LINE` and so on; `keyturn list systems` shows
    them all. Exit code: 0 it holds, 1 it does not, 2 it could not be judged.
    """
    return run_check(Wanted(**wanted))  # type: ignore[arg-type]  # the options above are these fields, by name


def run_check(wanted: Wanted) -> int:
    """Check a system as wanted and return the exit code; raise `Unfit` when nothing can be judged.

    What was written is read first, so that a slip in it is answered before the engines are imported.
    """
    selected = selection(wanted.requirements)
    return _checked(wanted, selected, read_or_refuse(wanted.known_failing, wanted.flaky))


def _checked(wanted: Wanted, selected: frozenset[str], lists: "Lists") -> int:
    from keyturn_testing.commands.asking import Unfit, fit, opened, portable
    from keyturn_testing.files import complain
    from keyturn_testing.known import reasons_for
    from keyturn_testing.progress import watching
    from keyturn_testing.record import PROFILES, smaller
    from keyturn_testing.running import Run

    profile = smaller(PROFILES[wanted.profile], wanted.examples, wanted.steps)
    try:
        with opened(wanted.adapter, wanted.time_limit) as at:
            found = fit(at)
            assert found.description is not None
            with watching(quiet=wanted.quiet) as watch:
                record = Run(
                    at.system,
                    found.description,
                    found.claims,
                    profile=profile,
                    seed=wanted.seed,
                    engines=wanted.engines or ENGINES,
                    selected=selected,
                    progress=watch,
                ).run()
                name = found.description.system.name
                record.known, record.flaky = reasons_for(lists.known, name), reasons_for(lists.flaky, name)
            if record.interrupted:
                complain("keyturn: interrupted; ending the system, and reporting what was found so far")
            if record.breakdown is not None:
                record.breakdown = portable(record.breakdown, at.folder)
                if record.last is not None:
                    record.last = evolve(record.last, says=record.breakdown.message)
    except Unfit as unfit:
        if wanted.style != "text":
            _deliver(wanted, _unfit(wanted, unfit, profile))
        raise
    return _report(wanted, record, selected)


def read_or_refuse(known_failing: Path | None, flaky: Path | None) -> "Lists":
    """Return what both lists hold; raise `UsageError` with every problem of both, each on a line of its own."""
    from keyturn_testing.known import read_lists
    from keyturn_testing.systems.base import Unusable

    try:
        return read_lists(known_failing, flaky)
    except Unusable as unusable:
        options = [name for name, path in (("--known-failing", known_failing), ("--flaky", flaky)) if path is not None]
        problems = "".join(f"\n  * {each}" for each in unusable.problems[:MOST_PROBLEMS])
        more = len(unusable.problems) - MOST_PROBLEMS
        told = f"{problems}\n  and {more} more" if more > 0 else problems
        raise click.UsageError(f"what {' and '.join(options)} name cannot be used:{told}") from None


def _unfit(wanted: Wanted, unfit: "Unfit", profile: "Profile") -> str:
    """The report on an adapter that was unfit, for programs."""
    from keyturn_testing.reports.json_report import unfit_report, written
    from keyturn_testing.reports.junit_report import unfit_junit

    if wanted.style == "junit":
        return unfit_junit(unfit.found, unfit.breakdown, wanted.seed, profile)
    return written(unfit_report(unfit.found, unfit.breakdown, wanted.seed, profile))


def selection(wanted: tuple[str, ...]) -> frozenset[str]:
    """Return the ids that were asked for by id or by family; all of them when none was; raise `BadParameter`."""
    from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
    from keyturn_specs.requirement import Family
    from keyturn_testing.wording import nearest

    chosen: set[str] = set()
    for name in wanted:
        ids = [each.id for each in REQUIREMENTS if name.casefold() in {each.id.casefold(), each.family.casefold()}]
        if not ids:
            meant = nearest(name, (*BY_ID, *Family))
            message = (
                f"{name!r} is no requirement and no family of this version. {meant}See `keyturn list requirements`."
            )
            raise click.BadParameter(message, param_hint="--requirement")
        chosen.update(ids)
    return frozenset(chosen or BY_ID)


def _report(wanted: Wanted, record: "Record", selected: frozenset[str]) -> int:
    from keyturn_testing.commands.traces import write_traces
    from keyturn_testing.files import complain
    from keyturn_testing.reports.json_report import json_report, written
    from keyturn_testing.reports.junit_report import junit_report
    from keyturn_testing.reports.page import page_for_files, page_for_stdout
    from keyturn_testing.reports.text_report import Origin, text_report
    from keyturn_testing.reports.verdict import exit_code

    traces: Path | None = wanted.traces
    try:
        write_traces(wanted.traces, record)
    except OSError as error:
        complain(f"keyturn: the traces could not be written to {wanted.traces}: {error.strerror or error}")
        traces = None
    if wanted.style == "json":
        text = written(json_report(record, selected))
    elif wanted.style == "junit":
        text = junit_report(record, selected)
    else:
        options = "" if wanted.time_limit == DEFAULT_SECONDS else f" --time-limit {wanted.time_limit:g}"
        origin = Origin(adapter=wanted.adapter, traces=traces, last=record.last, options=options)
        page = page_for_stdout() if wanted.output is None else page_for_files()
        text = text_report(page, record, origin, selected)
    _deliver(wanted, text)
    return exit_code(record, selected)


def _deliver(wanted: Wanted, text: str) -> None:
    from keyturn_testing.files import say, write_whole

    try:
        if wanted.output is None:
            say(text)
        else:
            write_whole(wanted.output, text)
    except OSError as error:
        where = "standard output" if wanted.output is None else str(wanted.output)
        message = f"the report could not be written to {where}: {error.strerror or error}"
        raise click.ClickException(message) from None
