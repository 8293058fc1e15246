"""What the commands share: the ways to say a system, a seed, a time limit and a format, and how examples stand in the help.

Nothing here imports the harness before it is needed, so that help and completion are quick.
"""

import random
from collections.abc import Callable
from math import isfinite
from pathlib import Path
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

DEFAULT_SEED = 0
"""The seed of a run that names none, so that two runs are the same run."""

DEFAULT_SECONDS = 10.0
"""How long a call may take, unless it is said."""

MOST_SECONDS = 86_400.0
"""How long a call may be allowed to take."""

PROFILE_NAMES = ("quick", "standard", "deep")
"""The names of `keyturn_testing.running.PROFILES`; a test holds that they are the same."""

FORMATS = ("text", "json")
"""What is written for people and for programs."""

REPORT_FORMATS = (*FORMATS, "junit")
"""What is written of a judgement: also for what shows tests."""

Decorated = TypeVar("Decorated", bound=Callable[..., object])


def examples(*lines: str) -> str:
    """Return the end of a command's help: examples, each on a line of its own."""
    return "\b\n" + ("Example:" if len(lines) == 1 else "Examples:") + "".join(f"\n  {line}" for line in lines)


def seed_of(ctx: click.Context | None, param: click.Parameter | None, value: str) -> int:
    """Return the seed that was given: a whole number from 0, or `random`, which draws one."""
    if value == "random":
        return random.SystemRandom().randrange(2**32)
    if not (value.isascii() and value.isdigit() and len(value) <= 18):
        raise click.BadParameter(f"{value!r} is no seed: give a whole number from 0, or `random`", ctx, param)
    return int(value)


def seconds_of(ctx: click.Context | None, param: click.Parameter | None, value: str) -> float:
    """Return the seconds that were given: more than 0."""
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not (isfinite(seconds) and 0 < seconds <= MOST_SECONDS):
        message = f"{value!r} is no time limit: give seconds, more than 0 and at most a day"
        raise click.BadParameter(message, ctx, param)
    return seconds


def _complete_system(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from keyturn_testing.systems.adapters import ADAPTERS

    if incomplete.startswith("mutant:"):
        from keyturn_testing.mutants.durable import ALL_MUTANTS

        names = [f"mutant:{each}" for each in ALL_MUTANTS]
    else:
        names = [each.name if each.name == each.form.split(" ")[0] else f"{each.name}:" for each in ADAPTERS.values()]
    return [CompletionItem(each) for each in names if each.startswith(incomplete)]


def system_argument(command: Decorated) -> Decorated:
    """Add the argument that names a system."""
    return click.argument("adapter", metavar="SYSTEM", shell_complete=_complete_system)(command)


def reference_argument(command: Decorated) -> Decorated:
    """Add the argument that names a system, or the reference when it is left out."""
    return click.argument("adapter", metavar="[SYSTEM]", default="reference", shell_complete=_complete_system)(command)


def time_limit_option(command: Decorated) -> Decorated:
    """Add the option for how long a call may take."""
    return click.option(
        "--time-limit",
        callback=seconds_of,
        default=f"{DEFAULT_SECONDS:g}",
        show_default=True,
        metavar="SECONDS",
        help="How long the system may take for one call.",
    )(command)


def format_option(*formats: str) -> Callable[[Decorated], Decorated]:
    """Return the option for the format of what is written, one of these; the first is the default."""
    return click.option(
        "--format", "style", type=click.Choice(formats), default=formats[0], show_default=True, help="For whom."
    )


def list_option(name: str, says: str) -> Callable[[Decorated], Decorated]:
    """Return an option that names a list in a file: a regular one, or a pipe of the shell's own."""
    path = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
    return click.option(name, metavar="FILE", type=path, help=says)


def output_path(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
    """Check, before a long run, that a file can be written where the report shall go."""
    if value is None:
        return None
    path = Path(value)
    if path.is_dir():
        raise click.BadParameter(f"{value!r} is a folder: name a file in it", ctx, param)
    if not path.resolve().parent.is_dir():
        raise click.BadParameter(f"the folder {str(path.parent)!r} is not there: make it first", ctx, param)
    return path


def traces_folder(ctx: click.Context, param: click.Parameter, value: str) -> Path:
    """Check, before a long run, that traces can be written into a folder."""
    path = Path(value)
    there = next(each for each in (path, *path.absolute().parents) if each.exists())
    if not there.is_dir():
        raise click.BadParameter(f"{str(there)!r} is a file: name a folder", ctx, param)
    return path
