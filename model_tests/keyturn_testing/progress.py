"""What a run is doing, for the person who waits: on standard error, and never part of the report.

On a terminal it is one line that changes; elsewhere a handful of lines, at the quarters of the budget. It looks at the record
and writes nothing into it.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from keyturn_testing.files import complain
from keyturn_testing.record import Record
from keyturn_testing.reports.page import console_for
from keyturn_testing.wording import counted, escaped

QUARTERS = 4
"""How many times a run that is not on a terminal says how far it is."""

Watch = Callable[[Record, str], None]


def in_numbers(record: Record) -> str:
    """Return how far a run is."""
    exercised = sum(record.counts.exercised.get(each.id, 0) > 0 for each in record.requirements)
    return (
        f"{record.examples}/{record.profile.examples} examples, {counted(len(record.failures), 'failure')}, "
        f"{exercised}/{len(record.requirements)} requirements exercised, {counted(record.counts.steps, 'step')}"
    )


@contextmanager
def watching(*, quiet: bool, file: TextIO | None = None) -> Iterator[Watch]:
    """Give what a run calls as it goes on: a moving line, some lines, or nothing."""
    stream = sys.stderr if file is None else file
    if quiet or stream is None:
        yield lambda record, doing: None
    elif stream.isatty():
        with _bar(stream) as watch:
            yield watch
    else:
        yield _Lines()


@contextmanager
def _bar(stream: TextIO) -> Iterator[Watch]:
    console = console_for(stream)
    columns = (BarColumn(bar_width=16), TextColumn("{task.description}", markup=False))
    shown = Progress(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    task: list[TaskID] = []

    def watch(record: Record, doing: str) -> None:
        if not task:
            task.append(shown.add_task("", total=max(record.profile.examples, 1)))
        description = f"{in_numbers(record)}: {escaped(doing, 60)}"
        shown.update(task[0], completed=record.examples, description=description)

    with shown:
        yield watch


class _Lines:
    """Says the quarters of the budget, and the first failure."""

    def __init__(self) -> None:
        self._quarter = 0
        self._failed = False

    def __call__(self, record: Record, doing: str) -> None:
        """Say how far the run is, when that is news."""
        if doing.startswith("shrinking") and not self._failed:
            self._failed = True
            complain(f"keyturn: {in_numbers(record)}: {escaped(doing, 60)}")
        quarter = QUARTERS * record.examples // max(record.profile.examples, 1)
        if quarter > self._quarter:
            self._quarter = quarter
            complain(f"keyturn: {in_numbers(record)}")
