"""`keyturn serve` and `keyturn completion`: what ships, as a system for others to ask, and help for the shell.

What is served is the same object that an adapter string would open in process. Over standard input and output the suite kills the
process, so what only memory keeps is not claimed; over HTTP `restart` is a call to the object. Standard output belongs to the
protocol, to the URL of a server, and to the completion script.
"""

import os
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import get_completion_class

from keyturn_sql.passwords import without_passwords
from keyturn_testing.commands.options import examples

if TYPE_CHECKING:
    from keyturn.store import ReferenceStore
    from keyturn_sql.store import Crash, SqlStore, Watch

Maker: TypeAlias = "Callable[[str | None, bool, Watch], object]"
"""Makes the object that is served, given what stands after the kind (None without a colon), whether the suite kills the process
to restart it, and what is told how far an operation is; raises `Unserved`."""

AT_ONCE: Mapping[str, int] = {"sqlite": 8, "postgres": 8}
"""How many operations may run at once over HTTP, one where nothing is said: a store in memory is one object without locks, and a
database puts transactions in order by itself. A mutant is served as what it is made from."""

DEFAULT_PORT = 8000
"""Where `keyturn serve --http` listens, unless it is said."""

SHELLS = ("bash", "zsh", "fish")


class Unserved(Exception):
    """What was named cannot be served; the message says why, and what to do."""


def _reference(rest: str | None, is_killed: bool, watch: "Watch") -> object:
    from keyturn.store import ReferenceStore

    if rest is not None:
        raise Unserved("reference takes nothing after it: write `reference`")
    return _in_memory(ReferenceStore(), is_killed)


def _sqlite(rest: str | None, is_killed: bool, watch: "Watch") -> object:
    if not rest and not os.environ.get("KEYTURN_DATA"):
        raise Unserved("sqlite needs a place: write `sqlite:PATH`, or set KEYTURN_DATA to a folder, as the suite does")
    return _sqlite_store(Path(rest) if rest else None, is_killed, watch)


def _sqlite_store(path: Path | None, is_killed: bool, watch: "Watch") -> "SqlStore":
    """Open a test store on a file, the run's own where none is named."""
    from keyturn_testing.systems.adapters import DATABASE_NAME

    try:
        from keyturn_sql.database import NotOurs
        from keyturn_sql.store import SqlStore
    except ImportError as error:
        raise Unserved(f"the durable stores cannot be imported ({error}): pip install 'keyturn[sql]'") from None
    path = path or Path(os.environ["KEYTURN_DATA"]) / DATABASE_NAME
    try:
        return SqlStore.open_test(path, crash=_ending(is_killed), watch=watch)
    except (NotOurs, OSError) as error:
        raise Unserved(str(error)) from None


def _ending(is_killed: bool) -> "Crash":
    """Return what ends the process where a fault is armed that does: for real, where the suite starts it again."""
    from keyturn_sql.store import end_in_process
    from keyturn_testing.serve import end_process

    if is_killed:
        return end_process
    return end_in_process


def _postgres(rest: str | None, is_killed: bool, watch: "Watch") -> object:
    from keyturn_testing.systems.adapters import postgres_store
    from keyturn_testing.systems.base import Unusable

    data = os.environ.get("KEYTURN_DATA")
    try:
        schema = schema_of(Path(data)) if data else None
        return postgres_store(rest, schema=schema, crash=_ending(is_killed), watch=watch)
    except Unusable as unusable:
        raise Unserved(str(unusable).removeprefix("postgres: ")) from None


def schema_of(data: Path) -> str:
    """Return the schema of a folder: a process that is killed and started again, as the suite does, finds it again."""
    return f"keyturn_test_{sha256(str(data.absolute()).encode()).hexdigest()[:16]}"


def _mutant(rest: str | None, is_killed: bool, watch: "Watch") -> object:
    from keyturn_testing.mutants import mutant_factory
    from keyturn_testing.mutants.durable import ALL_MUTANTS, DURABLE_MUTANTS
    from keyturn_testing.wording import nearest

    name, colon, how = (rest or "").partition(":")
    if name not in ALL_MUTANTS or (colon and how != "disarmed"):
        raise Unserved(f"there is no such mutant. {nearest(name, ALL_MUTANTS)}`keyturn list mutants` shows them all")
    if name in DURABLE_MUTANTS:
        return _durable_mutant(name, is_killed, watch, armed=not colon)
    return _in_memory(mutant_factory(name, armed=not colon)(), is_killed)


def _durable_mutant(name: str, is_killed: bool, watch: "Watch", *, armed: bool) -> object:
    from keyturn_testing.mutants.durable import durable_store

    if not os.environ.get("KEYTURN_DATA"):
        raise Unserved(f"{name} needs a place for its file: set KEYTURN_DATA to a folder, as the suite does")
    database = _sqlite_store(None, is_killed, watch).database
    return durable_store(name, database, armed=armed, crash=_ending(is_killed), watch=watch)


def _in_memory(store: "ReferenceStore", is_killed: bool) -> object:
    """Take back what a store in memory cannot keep where each process has one of its own."""
    from keyturn.capabilities import Capability

    if is_killed:
        store.claims -= {Capability.RESTART, Capability.PARALLEL}
    return store


MAKERS: Mapping[str, Maker] = {
    "reference": _reference,
    "sqlite": _sqlite,
    "postgres": _postgres,
    "mutant": _mutant,
}
"""What can be served."""


def target_of(adapter: str, *, is_killed: bool, watch: "Watch") -> object:
    """Return the object that an adapter string names, to be served; raise `UsageError`."""
    kind, colon, rest = adapter.partition(":")
    if kind not in MAKERS:
        forms = "reference, sqlite[:PATH], postgres:DSN or mutant:NAME"
        raise click.UsageError(f"{without_passwords(adapter)!r} cannot be served: write {forms}")
    try:
        return MAKERS[kind](rest if colon else None, is_killed, watch)
    except Unserved as error:
        raise click.UsageError(f"{without_passwords(adapter)}: {error}") from None


def _at_once(adapter: str) -> int:
    from keyturn_testing.mutants.durable import DURABLE_MUTANTS

    kind, _, rest = adapter.partition(":")
    is_durable = kind == "mutant" and rest.partition(":")[0] in DURABLE_MUTANTS
    return AT_ONCE.get("sqlite" if is_durable else kind, 1)


@click.command(
    epilog=examples(
        "keyturn serve reference --stdio",
        "keyturn check 'stdio:keyturn serve sqlite --stdio' --profile quick",
        "keyturn serve sqlite:decisions.sqlite3 --http --port 8000",
    )
)
@click.argument("adapter", metavar="reference|sqlite[:PATH]|postgres:DSN|mutant:NAME")
@click.option(
    "--stdio", "way", flag_value="stdio", help="JSON-RPC 2.0, one object a line, on standard input and output."
)
@click.option("--http", "way", flag_value="http", help="JSON-RPC 2.0, one object in the body of each POST to /rpc.")
@click.option("--host", metavar="NAME", help="Where to listen with --http: 127.0.0.1 unless it is said.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help=f"The port with --http: {DEFAULT_PORT} unless it is said; 0 is any free one.",
)
def serve(adapter: str, way: str | None, host: str | None, port: int | None) -> int:
    """Serve a store that ships as a system of its own: until its input ends, or over HTTP until Ctrl-C or SIGTERM.

    The reference and most mutants live in memory, and with --stdio they claim neither `restart` nor `parallel`. A mutant that is
    wrong in how it uses a database has its file in the folder KEYTURN_DATA, and so has `sqlite` without a path. With --http, a
    bearer token is asked for when KEYTURN_TOKEN holds one, and the URL is written to standard output once the server listens.
    """
    if way is None:
        raise click.UsageError("say how to serve it: --stdio or --http")
    if way == "http":
        return _serve_http(adapter, host or "127.0.0.1", DEFAULT_PORT if port is None else port)
    if host is not None or port is not None:
        raise click.UsageError("--host and --port are for --http, and standard input has neither")
    return _serve_stdio(adapter)


def _serve_stdio(adapter: str) -> int:
    from keyturn_testing.files import complain
    from keyturn_testing.serve import serve_stdio
    from keyturn_testing.systems.phases import IDLE, marker_of

    if sys.stdin is None or sys.stdout is None:
        raise click.UsageError("standard input and standard output are both needed, and one is closed")
    mark = marker_of(os.environ)
    target = target_of(adapter, is_killed=True, watch=mark)
    if sys.stdin.isatty():
        complain('keyturn: one JSON object a line, such as {"jsonrpc": "2.0", "id": 1, "method": "describe"}')
    try:
        serve_stdio(target, sys.stdin.buffer, sys.stdout.buffer, answered=lambda: mark(IDLE))
    except KeyboardInterrupt:
        complain("")  # the shell's prompt starts on a line of its own
    return 0


def _serve_http(adapter: str, host: str, port: int) -> int:
    from keyturn_testing.files import complain, say
    from keyturn_testing.systems.http import token_of
    from keyturn_testing.systems.phases import IDLE, marker_of

    try:
        from keyturn_testing.serve_http import HEALTH, OPENRPC, RPC, NotBound, listen, serve_http
    except ImportError as error:
        raise click.UsageError(f"--http needs more than is installed ({error}): pip install 'keyturn[http]'") from None
    try:
        token = token_of(os.environ)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    mark = marker_of(os.environ)
    target = target_of(adapter, is_killed=False, watch=mark)
    try:
        listening = listen(host, port, token)
    except NotBound as error:
        raise click.UsageError(str(error)) from None
    out = sys.stdout

    def announce(origin: str) -> None:
        say(f"{origin}{RPC}\n", out)
        asks = "" if token is None else ", a bearer token is asked for"
        complain(
            f"keyturn: serving {without_passwords(adapter)} until Ctrl-C; see also {origin}{HEALTH} and {OPENRPC}{asks}"
        )

    parallel = _at_once(adapter)
    serve_http(target, listening, token=token, parallel=parallel, announce=announce, answered=lambda: mark(IDLE))
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
