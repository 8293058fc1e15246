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
    examples,
    format_option,
    output_path,
    seed_of,
    system_argument,
    time_limit_option,
    traces_folder,
)

if TYPE_CHECKING:
    from keyturn_testing.known import KnownFailure
    from keyturn_testing.running import Record

ENGINES = ("scenarios", "stateful")


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
    quiet: bool
    examples: int | None
    steps: int | None


@click.command(
    epilog=examples(
        "keyturn check stdio:./my-server",
        "keyturn check python:my_package.testing:make_store --profile deep",
        "keyturn check sqlite --requirement I14 --seed random",
        "keyturn check reference --format json --output report.json",
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
@format_option
@click.option("--output", metavar="FILE", callback=output_path, help="Write the report here, not to standard output.")
@click.option(
    "--traces",
    metavar="DIR",
    default="keyturn-traces",
    show_default=True,
    callback=traces_folder,
    help="Where the traces of failures go.",
)
@click.option(
    "--known-failing",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file of [[known]] failures (requirement, reason, system?, link?): they run, and do not break the verdict.",
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
    """Check a system as wanted and return the exit code; raise `Unfit` when nothing can be judged."""
    from keyturn_testing.commands.asking import Unfit, fit, opened, portable
    from keyturn_testing.files import complain
    from keyturn_testing.known import reasons_for
    from keyturn_testing.progress import watching
    from keyturn_testing.reports.json_report import unfit_report, written
    from keyturn_testing.running import PROFILES, Run

    profile = PROFILES[wanted.profile]
    profile = evolve(profile, examples=wanted.examples or profile.examples, steps=wanted.steps or profile.steps)
    selected = selection(wanted.requirements)
    known = _known(wanted)
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
                record.known = reasons_for(known, found.description.system.name)
            if record.interrupted:
                complain("keyturn: interrupted; ending the system, and reporting what was found so far")
            if record.breakdown is not None:
                record.breakdown = portable(record.breakdown, at.folder)
                if record.last is not None:
                    record.last = evolve(record.last, says=record.breakdown.message)
    except Unfit as unfit:
        if wanted.style == "json":
            _deliver(wanted, written(unfit_report(unfit.found, unfit.breakdown, wanted.seed, profile)))
        raise
    return _report(wanted, record, selected)


def _known(wanted: Wanted) -> "tuple[KnownFailure, ...]":
    from keyturn_testing.known import read_known
    from keyturn_testing.systems.base import Unusable

    try:
        return () if wanted.known_failing is None else read_known(wanted.known_failing)
    except Unusable as unusable:
        raise click.BadParameter("; ".join(unusable.problems), param_hint="--known-failing") from None


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
