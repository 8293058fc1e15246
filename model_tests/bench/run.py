"""Measures how fast Keyturn is, as ratios of things that are measured side by side in one run.

A number of one machine says little about another, so each figure stands beside what it is compared with, and both are the
medians of repetitions that take turns. `--write` puts the tables into `docs/benchmarks.md`, each with what the machine is and
the command that makes it; `--only` measures some of them and leaves the others as they are. A number never fails anything;
two explorers that disagree about what there is do. Exit code 2: a tool is missing.
"""

import argparse
import os
import platform
from collections.abc import Callable, Mapping

from clicks import of_clicks
from costs import of_the_systems
from explorers import of_the_card_world, of_two_phase
from generating import of_the_engine
from kills import of_the_mutants
from launching import require_tools
from measuring import Table
from orders import of_the_orders
from page import PAGE, with_sections
from transitions import of_the_table
from transports import of_the_transports

COMMAND = "python3 noxfile.py -s bench --"

TABLES: Mapping[str, Callable[[], Table]] = {
    "table": of_the_table,
    "engine": of_the_engine,
    "systems": of_the_systems,
    "transports": of_the_transports,
    "clicks": of_clicks,
    "mutants": of_the_mutants,
    "orders": of_the_orders,
    "two-phase": of_two_phase,
    "card-world": of_the_card_world,
}
"""What is measured, by the name that `--only` and the page know it by."""

WITH_SPIN = frozenset({"two-phase", "card-world"})


def facts(command: str) -> str:
    """Say what machine this is, and how the table is made."""
    return (
        f"Measured with `{command}` on {os.cpu_count()} cores ({os.getloadavg()[0]:.1f} busy before), {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}."
    )


def main() -> None:
    """Measure what was asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write the tables into docs/{PAGE.name}")
    parser.add_argument("--only", nargs="+", choices=TABLES, metavar="TABLE", help=f"some of: {', '.join(TABLES)}")
    asked = parser.parse_args()
    chosen = asked.only or list(TABLES)
    if WITH_SPIN.intersection(chosen):
        require_tools()
    if asked.write:
        with_sections(PAGE.read_text("utf-8"), dict.fromkeys(chosen, ""))  # before the work, where the page is wrong
    command = " ".join([COMMAND, *(["--only", *chosen] if asked.only else []), "--write"])
    sections = {}
    for name in chosen:
        said = facts(command)
        sections[name] = f"{TABLES[name]()}\n{said}\n"
        print(f"{sections[name]}", flush=True)
    if asked.write:
        PAGE.write_text(with_sections(PAGE.read_text("utf-8"), sections), "utf-8")


if __name__ == "__main__":
    main()
