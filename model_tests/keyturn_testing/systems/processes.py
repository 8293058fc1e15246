"""What every command of a user shares that the suite starts: its words, its environment, why it did not start, and its end."""

import errno
import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from keyturn_testing.systems.base import Breakdown
from keyturn_testing.systems.phases import PHASE_VARIABLE, PhaseFile
from keyturn_testing.systems.saying import escaped, quoted


def words_of(command: Sequence[str] | str, what: str) -> list[str]:
    """Split a command as a shell would; raise `Breakdown`, which says to write `what`, where there is none."""
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise Breakdown("not_started", f"the command line cannot be split into words: {error}") from None
    if not words:
        raise Breakdown("not_started", f"there is no command: write what starts {what}")
    return words


def environment_of(data: Path, phase: PhaseFile, more: Mapping[str, str] = {}) -> dict[str, str]:
    """Return our environment with `more`, and with where the folder of the run and the file of phases are."""
    places = {"KEYTURN_DATA": str(data.resolve()), PHASE_VARIABLE: str(phase.path)}
    return {**os.environ, **more, **places}


def why_not_started(program: str, error: OSError | ValueError) -> str:
    """Return in words why a program could not be started, and what to do."""
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.ENOENT and Path(program).is_file():
        return f"{quoted(program)} is there, but the interpreter that its first line names is not"
    remedy = {
        errno.ENOENT: "was not found: write its path with a slash, as in ./my-server, or put it on PATH",
        errno.EACCES: "may not be executed: make it executable with `chmod +x`, and see that it is a file",
        errno.ENOEXEC: "is not a program: a script opens with a line such as #!/usr/bin/env python3",
    }.get(number or 0, f"could not be started: {escaped(str(error))}")
    return f"the command {quoted(program)} {remedy}"


def kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill the group that a process leads, and wait for nothing; the group keeps its number while anybody is in it."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def end_group(process: "subprocess.Popen[bytes]", owner: int) -> None:
    """Kill the group that a process leads, and reap it, in the process that started it."""
    if os.getpid() != owner:
        return  # a fork of the suite is ending, and the system is not its own
    kill_group(process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(5)
