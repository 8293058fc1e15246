"""The files of the repository that are written and never edited, in one table.

`python -m keyturn_testing.pages` writes them all. With `--check` it writes nothing, names each stale file with the command
that renews it, and ends with 1. It works in a checkout: the current folder, or else the one that this module stands in; where
neither is one it says so and ends with 2.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import click

from keyturn.errors import KeyturnError
from keyturn_specs.scenario import read_scenario, write_scenario
from keyturn_specs.schemas import FILE, protocol_schema, written
from keyturn_testing.judging import Violation
from keyturn_testing.port_source import port_source
from keyturn_testing.reference_pages.catalogue import mutants_page, requirements_page, scenarios_page
from keyturn_testing.reference_pages.cells import cells_page
from keyturn_testing.reference_pages.machine import status_diagram, status_machine_page
from keyturn_testing.reference_pages.protocol import protocol_page
from keyturn_testing.scenario_source import with_admissible

Source = Callable[[], str]
"""Makes the whole text of one file; the same text each time."""

RENEW = "python -m keyturn_testing.pages"
"""The command that writes every generated file."""

PAGES: Mapping[str, Source] = {
    "kernel/keyturn/port.py": port_source,
    f"specs/keyturn_specs/{FILE}": lambda: written(protocol_schema()),
    "docs/reference/protocol.md": protocol_page,
    "docs/reference/requirements.md": requirements_page,
    "docs/reference/scenarios.md": scenarios_page,
    "docs/reference/mutants.md": mutants_page,
    "docs/reference/status-machine.md": status_machine_page,
    "docs/reference/cells.md": cells_page,
    "docs/reference/status-machine.svg": status_diagram,
}
"""The generated files by their path in the repository; each scenario file is one more."""

SCENARIOS = "specs/keyturn_specs/scenarios"
"""The folder of the scenario files: their authors write the steps, and the model writes what is admissible."""

_MARKS = ("kernel/keyturn", SCENARIOS, "docs/conf.py")


def repository_root(module: Path, current: Path) -> Path | None:
    """Return the current folder if it is a checkout, or else the checkout that a module's file stands in, or else nothing."""
    candidates = (current, *module.resolve().parents[2:3])
    return next((each for each in candidates if all((each / mark).exists() for mark in _MARKS)), None)


def sources(root: Path) -> Mapping[str, Source]:
    """Return every generated file of a checkout, with what makes its text."""
    written = {
        f"{SCENARIOS}/{path.name}": partial(_scenario, path) for path in sorted((root / SCENARIOS).glob("*.json"))
    }
    return {**PAGES, **written}


def _scenario(path: Path) -> str:
    return write_scenario(with_admissible(read_scenario(path.read_text("utf-8"), path.name)))


def stale(root: Path, table: Mapping[str, Source]) -> Iterator[tuple[str, str]]:
    """Yield each file that is not as it would be written, with its text.

    Raises `ClickException` for a file that cannot be made, which is its source's fault.
    """
    for path, source in table.items():
        try:
            text = source()
        except (KeyturnError, Violation, ValueError) as error:
            raise click.ClickException(f"{path} cannot be made: {error}") from error
        if not (root / path).is_file() or (root / path).read_text("utf-8") != text:
            yield path, text


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; name the stale files, and end with 1 if there are any.")
@click.pass_context
def main(context: click.Context, check: bool) -> None:
    """Write every generated file of the repository that is not as it should be."""
    root = repository_root(Path(__file__), Path.cwd())
    if root is None:
        click.echo(
            f"The generated files stand in a checkout of Keyturn, and {Path.cwd()} is none: go to its root.", err=True
        )
        context.exit(2)
    found = list(stale(root, sources(root)))
    for path, text in found:
        if check:
            click.echo(f"{path} is stale: write it with `{RENEW}`")
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, "utf-8")
            click.echo(f"wrote {path}")
    if check and found:
        context.exit(1)


if __name__ == "__main__":
    main()
