"""Files and streams of the command line: written whole or not at all, and no reader who goes away is an error.

Reports and traces are written beside their place and then moved there. While a system is asked, whatever is printed to
standard output by anybody goes to standard error, so that a report on standard output is a report and nothing else.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO


def write_whole(path: Path, text: str) -> None:
    """Write a file as UTF-8, whole or not at all; raise `OSError` when it cannot be written.

    What is no regular file, such as a terminal or a pipe, is written to as it is.
    """
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    target = path.resolve()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        permissions = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(permissions)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def say(text: str, file: TextIO | None = None) -> None:
    """Write a text to standard output, or to another stream; a reader who has gone away is no error.

    Raises `OSError` when it cannot be written for another reason.
    """
    stream: TextIO | None = sys.stdout if file is None else file
    if stream is None:
        return  # the caller closed it
    encoding = stream.encoding or "ascii"
    try:
        stream.write(text.encode(encoding, errors="backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        abandon(stream)
    except OSError:
        abandon(stream)
        raise


def complain(text: str) -> None:
    """Write a message of ours to standard error, where there is one."""
    with suppress(OSError):
        say(text if text.endswith("\n") else f"{text}\n", sys.stderr)


def abandon(stream: TextIO) -> None:
    """Send what is still buffered nowhere: the interpreter would complain about it when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def output_kept() -> Iterator[None]:
    """Lend standard output to nobody: within, what any part of this process prints goes to standard error."""
    try:
        out, err = sys.stdout.fileno(), sys.stderr.fileno()
        kept = os.dup(out)
    except (AttributeError, OSError, ValueError):
        yield  # there is none that could be kept
        return
    sys.stdout.flush()
    os.dup2(err, out)
    try:
        yield
    finally:
        with suppress(OSError):
            sys.stdout.flush()
        os.dup2(kept, out)
        os.close(kept)
