"""How what comes from a system is said: bounded, on one line or with its lines kept, and escaped (D12)."""

import traceback
from pathlib import Path

LOG_BYTES = 65_536
"""How much of a system's own log is kept."""

_HERE = Path(__file__).parent


def escaped(text: str | bytes, limit: int = 200) -> str:
    """Return at most `limit` characters of a hostile text on one line, in printable ASCII only."""
    if isinstance(text, bytes):
        text = text[: 4 * limit].decode(errors="backslashreplace")
    written = ascii(text[:limit])[1:-1]
    return written if max(len(written), len(text)) <= limit else f"{written[:limit]}..."


def quoted(text: str | bytes, limit: int = 200) -> str:
    """Return the same in quotes."""
    return f"'{escaped(text, limit)}'"


def legible(log: bytes | str) -> str:
    """Return the end of a hostile log with its lines kept, and everything else that does not print escaped."""
    text = log.decode(errors="backslashreplace") if isinstance(log, bytes) else log
    return "".join(each if each.isprintable() or each in "\n\t" else ascii(each)[1:-1] for each in text[-LOG_BYTES:])


def described(error: BaseException) -> str:
    """Return an exception in one line: its type, its message, and the place that raised it."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  # the message is made by the system, which may fail at that too
        message = "(its message cannot be shown)"
    place = place_of(error)
    said = f"{type(error).__name__[:80]}: {escaped(message)}" if message else type(error).__name__[:80]
    return f"{said} ({place})" if place else said


def place_of(error: BaseException) -> str:
    """Return the file and line of the innermost frame that is not ours, nor the machinery of imports."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    frames = [(file, line) for file, line in frames if Path(file).parent != _HERE and not file.startswith("<frozen ")]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno or 0))
    if not frames:
        return ""
    path, line, here = Path(frames[-1][0]), frames[-1][1], Path.cwd()
    return f"{escaped(str(path.relative_to(here) if path.is_relative_to(here) else path))}:{line}"


def traceback_of(error: BaseException) -> str:
    """Return the end of what Python prints of an exception."""
    return legible("".join(traceback.format_exception(error, limit=-20)))
