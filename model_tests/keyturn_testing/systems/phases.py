"""Where a process was when it was killed: a word in a file that it maps into its memory, and that outlives it.

The suite names the file in `KEYTURN_PHASE`. Whoever serves a system may write there, again and again, how far the operation is
that it carries out; a write to mapped memory costs almost nothing, and SIGKILL does not take it back. A system that writes
nothing there is killed all the same, and only what can be observed tells where it was.
"""

import mmap
import shutil
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import mkdtemp

PHASE_VARIABLE = "KEYTURN_PHASE"
"""The environment variable with the path of the file."""

PHASE_BYTES = 32
"""How long the file is: one word in ASCII, filled up with spaces."""

IDLE = "idle"
"""The word for a process that waits for a request."""

_BLANK = b" " * PHASE_BYTES


class PhaseFile:
    """The suite's side: makes the file, in a folder of its own, and reads the word that was last written."""

    def __init__(self) -> None:
        folder = mkdtemp(prefix="keyturn-phase-")
        self.path = Path(folder) / "phase"
        # Also where nobody closes it.
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.clear()

    def close(self) -> None:
        """Remove the file and its folder."""
        self._remove()

    def clear(self) -> None:
        """Take the word back that a process has left."""
        self.path.write_bytes(_BLANK)

    def read(self) -> str | None:
        """Return the word; nothing where none was written, or something else."""
        try:
            word = self.path.read_bytes()[:PHASE_BYTES].strip().decode("ascii")
        except (OSError, UnicodeDecodeError):
            return None
        return word if word.replace("_", "").isalpha() else None


def marker_of(variables: Mapping[str, str]) -> Callable[[str], None]:
    """Return what writes a word into the file that an environment names; nothing does, where that is none that can be mapped."""
    named = variables.get(PHASE_VARIABLE)
    if not named:
        return lambda word: None
    try:
        with Path(named).open("r+b") as file:
            mapped = mmap.mmap(file.fileno(), PHASE_BYTES)
    except (OSError, ValueError):
        return lambda word: None

    def mark(word: str) -> None:
        mapped[:] = word.encode()[:PHASE_BYTES].ljust(PHASE_BYTES)

    mark(IDLE)
    return mark
