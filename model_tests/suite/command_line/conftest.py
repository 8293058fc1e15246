"""The command line as its users meet it: a process of its own, in a folder of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import copy

import pytest

from keyturn_testing.engines import ENGINES

Finished = subprocess.CompletedProcess[str]
Keyturn = Callable[..., Finished]

COMMAND = (sys.executable, "-m", "keyturn_testing.main")
SMALL = ("--examples", "2", "--steps", "12", "--quiet")
"""A small budget for everything that a check asks."""

ALONE = (*SMALL, *(part for each in ENGINES if each != "races" for part in ("--engine", each)))
"""The same for all but races: how their calls overlap depends on the machine, and all else is the same each time."""

ONCE = ("--engine", "scenarios", "--quiet")
"""Each requirement once, by its scenario: for a test of what becomes of verdicts, and not of how they are found."""


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """What the command sees of the environment: nothing that changes its looks, and its own folder for what is temporary."""
    hidden = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "PYTHONHASHSEED", "PYTHONIOENCODING", "TERM"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PYTHONUTF8": "1", "TMPDIR": str(folder / "temporary"), **variables}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder in which the command runs, with the faulty stores in it."""
    copy(Path(__file__).parent / "faulty_stores.py", tmp_path)
    (tmp_path / "temporary").mkdir()
    return tmp_path


@pytest.fixture
def keyturn(place: Path) -> Keyturn:
    """Runs the command and gives how it ended."""

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> Finished:
        return subprocess.run(
            [*COMMAND, *arguments],
            cwd=place,
            env=environment(place, **(env or {})),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )

    return run
