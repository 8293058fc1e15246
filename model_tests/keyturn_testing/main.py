"""The command `keyturn`: where every command comes together, and every way to end gets its exit code.

0 it holds, 1 it does not, 2 it could not be judged (D8). What goes wrong is never shown as a traceback: what the user wrote is
answered by click, an unfit adapter by its problems, and an exception of our own by a file that holds the traceback and a request
to report it. Only then is the suite to blame (D7): for a bug, or for a request that breaks its own schema.
"""

import platform
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from keyturn.version import VERSION
from keyturn_testing.commands.check import check
from keyturn_testing.commands.explore import explore
from keyturn_testing.commands.knowledge import explain, list_things
from keyturn_testing.commands.options import examples
from keyturn_testing.commands.replay import replay, smoke
from keyturn_testing.commands.schemas import schema
from keyturn_testing.commands.serving import completion, serve

UNJUDGED = 2
"""The exit code of everything that could not be judged."""


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples("keyturn check reference --profile quick", "keyturn explain I14.1"),
)
@click.version_option(VERSION, prog_name="keyturn", message="%(prog)s %(version)s")
def keyturn() -> None:
    """Ask a system that stores human decisions whether it holds to what it claims."""


for _command in (check, replay, smoke, explore, list_things, explain, schema, serve, completion):
    keyturn.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; nothing but `SystemExit` of the caller's own ever comes out."""
    try:
        return _run(None if arguments is None else list(arguments))
    except KeyboardInterrupt:
        return _interrupted()
    finally:
        _flush()


def _run(arguments: list[str] | None) -> int:
    try:
        code = keyturn.main(arguments, prog_name="keyturn", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return UNJUDGED
    except click.Abort:
        return _interrupted()
    except SystemExit:
        return 0  # click ends so when nobody reads what it writes
    except OSError as error:
        return _refused(error)
    except Exception as error:  # noqa: BLE001  # whatever comes here is a bug of ours, and is said to be one
        return _bug(error)
    return code if isinstance(code, int) else 0


def _interrupted() -> int:
    from keyturn_testing.files import complain

    complain("keyturn: interrupted, and nothing was judged (exit 2)")
    return UNJUDGED


def _refused(error: OSError) -> int:
    """Say what the machine refused: a full disk and a folder that may not be written are nobody's bug."""
    from keyturn_testing.files import complain
    from keyturn_testing.wording import escaped

    where = f" ({escaped(str(error.filename))})" if error.filename is not None else ""
    complain(f"keyturn: {error.strerror or escaped(str(error))}{where} (exit 2)")
    return UNJUDGED


def _bug(error: Exception) -> int:
    """Say that the suite is wrong, and where its traceback is."""
    from keyturn_sql.passwords import without_passwords
    from keyturn_testing.files import complain
    from keyturn_testing.systems.base import BrokenRequest
    from keyturn_testing.wording import bounded, escaped

    if isinstance(error, BrokenRequest):
        what, said = "the suite is wrong, and this", bounded(str(error), 2000)
    else:
        what, said = "this is a bug of keyturn, and", f"{type(error).__name__}: {escaped(str(error), 300)}"
    asked = without_passwords(str(sys.argv[1:]))
    about = f"keyturn {VERSION}, Python {platform.python_version()}, {platform.platform()}\n{asked}\n\n"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="keyturn-bug-", suffix=".txt", encoding="utf-8", errors="backslashreplace", delete=False
        ) as file:
            file.write(about + "".join(traceback.format_exception(error)))
        where = f"The traceback is in {Path(file.name)}: please report it with that file."
    except OSError:
        where = "".join(traceback.format_exception(error, limit=-3))
    complain(f"keyturn: {what} says nothing about the system (exit 2)\n  {said}\n  {where}")
    return UNJUDGED


def _flush() -> None:
    from keyturn_testing.files import abandon

    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError:
            abandon(stream)


if __name__ == "__main__":
    sys.exit(main())
