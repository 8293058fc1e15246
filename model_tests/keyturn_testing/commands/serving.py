"""`keyturn serve` and `keyturn completion`: what ships, as a system for others to ask, and help for the shell.

What is served is the same object that an adapter string would open in process; only what a process of its own cannot keep is
not claimed. Standard output belongs to the protocol, and to the completion script.
"""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from keyturn_testing.commands.options import examples

if TYPE_CHECKING:
    from keyturn.store import ReferenceStore

Maker = Callable[[str | None], object]
"""Makes the object that is served, given what stands after the kind (None without a colon); raises `Unserved`."""

SHELLS = ("bash", "zsh", "fish")


class Unserved(Exception):
    """What was named cannot be served; the message says why, and what to do."""


def _reference(rest: str | None) -> object:
    from keyturn.store import ReferenceStore

    if rest is not None:
        raise Unserved("reference takes nothing after it: write `reference`")
    return _in_memory(ReferenceStore())


def _sqlite(rest: str | None) -> object:
    from keyturn_testing.serve import end_process
    from keyturn_testing.systems.adapters import DATABASE_NAME

    try:
        from keyturn_sql.files import NotOurs
        from keyturn_sql.store import SqlStore
    except ImportError as error:
        raise Unserved(f"the durable stores cannot be imported ({error}): pip install 'keyturn[sql]'") from None
    data = os.environ.get("KEYTURN_DATA")
    if not rest and not data:
        raise Unserved("sqlite needs a place: write `sqlite:PATH`, or set KEYTURN_DATA to a folder, as the suite does")
    path = Path(rest) if rest else Path(data or "") / DATABASE_NAME
    try:
        return SqlStore.open_test(path, crash=end_process)
    except (NotOurs, OSError) as error:
        raise Unserved(str(error)) from None


def _mutant(rest: str | None) -> object:
    from keyturn_testing.mutants import MUTANTS, mutant_factory
    from keyturn_testing.wording import nearest

    name, colon, how = (rest or "").partition(":")
    if name not in MUTANTS or (colon and how != "disarmed"):
        raise Unserved(f"there is no such mutant. {nearest(name, MUTANTS)}`keyturn list mutants` shows them all")
    return _in_memory(mutant_factory(name, armed=not colon)())


def _in_memory(store: "ReferenceStore") -> object:
    """Take back the claim that a store in memory cannot keep when its process is killed."""
    from keyturn.capabilities import Capability

    store.claims -= {Capability.RESTART}
    return store


MAKERS: Mapping[str, Maker] = {"reference": _reference, "sqlite": _sqlite, "mutant": _mutant}
"""What can be served."""


def target_of(adapter: str) -> object:
    """Return the object that an adapter string names, to be served; raise `UsageError`."""
    kind, colon, rest = adapter.partition(":")
    if kind not in MAKERS:
        raise click.UsageError(f"{adapter!r} cannot be served: write reference, sqlite[:PATH] or mutant:NAME")
    try:
        return MAKERS[kind](rest if colon else None)
    except Unserved as error:
        raise click.UsageError(f"{adapter}: {error}") from None


@click.command(
    epilog=examples(
        "keyturn serve reference --stdio",
        "keyturn check 'stdio:keyturn serve sqlite --stdio' --profile quick",
    )
)
@click.argument("adapter", metavar="reference|sqlite[:PATH]|mutant:NAME")
@click.option("--stdio", is_flag=True, help="JSON-RPC 2.0, one object a line, on standard input and output.")
def serve(adapter: str, stdio: bool) -> int:
    """Serve a store that ships as a system of its own, until its input ends.

    The reference and the mutants live in memory, and served so they do not claim `restart`.
    """
    from keyturn_testing.files import complain
    from keyturn_testing.serve import serve_stdio

    if not stdio:
        raise click.UsageError("say how to serve it: --stdio")
    if sys.stdin is None or sys.stdout is None:
        raise click.UsageError("standard input and standard output are both needed, and one is closed")
    target = target_of(adapter)
    if sys.stdin.isatty():
        complain('keyturn: one JSON object a line, such as {"jsonrpc": "2.0", "id": 1, "method": "describe"}')
    try:
        serve_stdio(target, sys.stdin.buffer, sys.stdout.buffer)
    except KeyboardInterrupt:
        complain("")  # the shell's prompt starts on a line of its own
    return 0


@click.command(epilog=examples('eval "$(keyturn completion bash)"', "keyturn completion fish | source"))
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """Write the completion script of a shell; the shell's own start-up file evaluates it."""
    from keyturn_testing.files import say

    kind = get_completion_class(shell)
    assert kind is not None
    say(kind(ctx.find_root().command, {}, "keyturn", "_KEYTURN_COMPLETE").source() + "\n")
    return 0
