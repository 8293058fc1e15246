"""Asking a system: opened in a folder of its own, ended whatever happens, and never blamed for what it was not asked.

Whatever is wrong before the smoke test has passed is the adapter's (exit 2): a string that names nothing, a handshake that
cannot be, a conversation that breaks down before it began.
"""

import shutil
import signal
import site
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import click
from attrs import frozen
from hypothesis.configuration import set_hypothesis_home_dir

import keyturn
import keyturn_specs
import keyturn_testing
from keyturn_testing.files import complain, output_kept
from keyturn_testing.reports.page import page_for_messages
from keyturn_testing.reports.text_report import HAPPENED, show_breakdown
from keyturn_testing.shapes import Checked
from keyturn_testing.smoke import Smoke, smoke
from keyturn_testing.systems.adapters import open_system
from keyturn_testing.systems.base import Breakdown, System, Unusable
from keyturn_testing.wording import bounded

LONGEST_PROBLEM = 1000
"""How many characters of one problem are shown."""


class Unfit(click.ClickException):
    """The adapter cannot be judged: nothing is the system's failure yet (exit 2)."""

    exit_code = 2

    def __init__(self, found: Smoke, breakdown: Breakdown | None = None) -> None:
        super().__init__("the adapter is unfit")
        self.found, self.breakdown = found, breakdown

    def show(self, file: object = None) -> None:
        """Say every problem on standard error."""
        page = page_for_messages()
        page.paragraph("keyturn: the adapter is unfit, and nothing was judged (exit 2)", style="bold red")
        for problem in self.found.problems:
            page.paragraph(bounded(problem, LONGEST_PROBLEM), first="* ", indent=2)
        if self.breakdown is not None:
            page.paragraph(f"the system {HAPPENED[self.breakdown.kind]}:", first="* ", indent=2)
            show_breakdown(page, self.breakdown, indent=4)
        complain(page.text())


@frozen
class Opened:
    """An open system, and the folder of this run; both are gone afterwards."""

    system: System
    folder: Path


@contextmanager
def opened(adapter: str, time_limit: float) -> Iterator[Opened]:
    """Open the system that an adapter string names; raise `Unfit` when it cannot be used.

    Within, standard output belongs to nobody, and an end that somebody asks for (Ctrl-C, SIGTERM, SIGHUP) is a
    `KeyboardInterrupt`, so that no child and no folder is left behind.
    """
    with _stopping_on_signals(), output_kept():
        folder = Path(tempfile.mkdtemp(prefix="keyturn-"))
        system: System | None = None
        try:
            try:
                system = Checked(open_system(adapter, data=folder / "data", time_limit=time_limit))
            except Unusable as unusable:
                raise Unfit(Smoke(problems=unusable.problems)) from None
            set_hypothesis_home_dir(folder / "hypothesis")  # its own files belong to the run, not where the user stands
            yield Opened(system, folder)
        finally:
            with _uninterrupted():
                if system is not None:
                    system.close()
                shutil.rmtree(folder, ignore_errors=True)


def fit(opened_system: Opened) -> Smoke:
    """Take the smoke test; raise `Unfit` unless everything is well."""
    try:
        found = smoke(opened_system.system)
    except Breakdown as breakdown:
        raise Unfit(Smoke(), portable(breakdown, opened_system.folder)) from None
    if found.problems or found.description is None:
        raise Unfit(found)
    return found


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


_ENDINGS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def _stopping_on_signals() -> Iterator[None]:
    """Treat being asked to end as Ctrl-C, where nobody has decided otherwise."""
    ours = [each for each in _ENDINGS if signal.getsignal(each) is signal.SIG_DFL]
    for each in ours:
        signal.signal(each, _stop)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Finish what takes two seconds at most: a second Ctrl-C must not leave the system running."""
    kept = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, *_ENDINGS)}
    try:
        yield
    finally:
        for each, handler in kept.items():
            signal.signal(each, signal.SIG_DFL if handler is None else handler)


def portable(breakdown: Breakdown, folder: Path) -> Breakdown:
    """Return a breakdown in which no path of this machine or of this run is left, so that reports can be compared."""
    message, log = (_without_paths(each, folder) for each in (breakdown.message, breakdown.log))
    return Breakdown(breakdown.kind, message, log=log)


def _without_paths(text: str, folder: Path) -> str:
    places: list[tuple[Path, str]] = [(folder / "data", "$KEYTURN_DATA"), (folder, "$KEYTURN_RUN")]
    with suppress(OSError):
        places.append((Path.cwd(), "."))
    places += [(Path(each), "$PYTHON") for each in _homes_of_python()]
    for place, name in places:
        for written in dict.fromkeys((str(place.resolve()), str(place))):
            if len(written) > 1:
                text = text.replace(f"{written}/", f"{name}/").replace(written, name)
    return text


_OURS = (keyturn, keyturn_specs, keyturn_testing)


def _homes_of_python() -> Sequence[str]:
    ours = [str(Path(module.__file__).resolve().parents[1]) for module in _OURS if module.__file__ is not None]
    return sorted({*ours, *site.getsitepackages(), sys.prefix, sys.base_prefix}, key=len, reverse=True)
