"""Commands that are run alone: how long each took, what it said, and how much memory it needed at most.

A small program in C starts them, because Linux counts to the peak memory of a process what its parent had when it was started:
beside an interpreter everything small would seem as large as that.
"""

import shutil
import subprocess
from pathlib import Path
from typing import NoReturn

from attrs import frozen

SOURCES = Path(__file__).resolve().parent / "spin"
TOOLS = ("spin", "gcc")
INSTALL = "apt-get install spin gcc libc6-dev"


@frozen
class Launched:
    """What one command said, its seconds from start to end, and its peak memory."""

    output: str
    seconds: float
    peak_bytes: int


def require_tools() -> None:
    """End this process with exit code 2 where SPIN or a C compiler is missing: nothing is left out in silence."""
    missing = [each for each in TOOLS if shutil.which(each) is None]
    if missing:
        give_up(
            f"the comparison with SPIN needs {' and '.join(missing)}, not found on the PATH. Install with: {INSTALL}", 2
        )


def give_up(message: str, code: int = 1) -> NoReturn:
    """End this process with a message."""
    print(f"bench: {message}", flush=True)
    raise SystemExit(code)


class Launcher:
    """Runs commands in a folder of its own, one at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program, self._report = folder / "measured", folder / "measured.txt"
        command = ["gcc", "-O2", "-o", str(self._program), str(SOURCES / "measured.c")]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            give_up(f"the C compiler does not work. Install what it needs: {INSTALL}\n{built.stderr}", 2)

    def run(self, *command: str) -> Launched:
        """Run one command to its end; one that fails ends the bench with what it said."""
        launched = [str(self._program), str(self._report), *command]
        said = subprocess.run(launched, cwd=self._folder, capture_output=True, text=True, check=False)
        seconds, peak_bytes, code = self._report.read_text("utf-8").split()
        if code != "0":
            give_up(f"{' '.join(command)} ended with {code}:\n{said.stdout}{said.stderr}")
        return Launched(said.stdout, float(seconds), int(peak_bytes))
