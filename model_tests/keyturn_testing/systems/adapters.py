"""Adapter strings: how a user names the system that is asked, and how it is opened.

An adapter string is a kind and what the kind needs, with a colon between them. The kinds are one table, which opening,
help and documentation share. Everything about an adapter that cannot be used is found before the first question and
said at once, because it is nobody's failure but the caller's: what is wrong, why, and what to write instead.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from attrs import frozen

from keyturn_testing.systems.base import Breakdown, System, Unusable
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.systems.saying import described, escaped, quoted

if TYPE_CHECKING:
    from keyturn_sql.store import Crash, SqlStore, Watch

Opener = Callable[[str | None, Path, float], System]
"""Opens a system, given what stands after the kind (None without a colon), a folder, and seconds for each call."""

DATABASE_NAME = "keyturn.sqlite3"
"""The file of the SQLite store in the data folder of a run."""

_LISTED_NAMES = 12


@frozen(kw_only=True)
class AdapterKind:
    """One way to name a system; `form` is how it is written, with the parts that vary in capitals."""

    name: str
    form: str
    says: str
    example: str
    open: Opener


# ---- The kinds ------------------------------------------------------------------------------------------------------


def _open_reference(rest: str | None, _data: Path, time_limit: float) -> System:
    from keyturn.store import ReferenceStore

    if rest is not None:
        raise Unusable(f"reference takes nothing after it, and here is {quoted(rest)}: write `reference`")
    return InProcessSystem(ReferenceStore, time_limit=time_limit)


def _open_sqlite(rest: str | None, data: Path, time_limit: float) -> System:
    path = data / DATABASE_NAME if rest is None else Path(rest)
    if rest is None:
        data.mkdir(parents=True, exist_ok=True)
    elif not rest:
        raise Unusable("sqlite: has no path after the colon: write one, or `sqlite` for a file in the run's own folder")
    elif not path.parent.is_dir():
        raise Unusable(f"sqlite: the folder {quoted(str(path.parent))} is not there: make it first")
    store = _sqlite_store("sqlite", path)
    return InProcessSystem(lambda: store, time_limit=time_limit)


def _sqlite_store(kind: str, path: Path) -> "SqlStore":
    """Open a test store on a file for a kind of system; raise `Unusable`."""
    try:
        from keyturn_sql.database import NotOurs
        from keyturn_sql.store import SqlStore
    except ImportError as error:
        raise Unusable(
            f"{kind}: the durable stores cannot be imported ({described(error)}): "
            "install them with `pip install 'keyturn[sql]'`"
        ) from None
    try:
        return SqlStore.open_test(path)
    except NotOurs as error:
        raise Unusable(f"{kind}: {escaped(str(error), 1000)}") from None
    except Exception as error:  # noqa: BLE001  # whatever the database says of a path that it cannot use
        raise Unusable(f"{kind}: {quoted(str(path))} cannot be opened: {described(error)}") from None


def _open_postgres(rest: str | None, _data: Path, time_limit: float) -> System:
    store = postgres_store(rest)
    return InProcessSystem(lambda: store, time_limit=time_limit)


def postgres_store(
    rest: str | None, *, schema: str | None = None, crash: "Crash | None" = None, watch: "Watch | None" = None
) -> "SqlStore":
    """Open a test store on a PostgreSQL server, in a schema of its own unless one is named; raise `Unusable`."""
    if not rest:
        raise Unusable("postgres needs a DSN: write `postgres:postgresql://USER@HOST/DATABASE`, as libpq reads it")
    try:
        from keyturn_sql.database import NotOurs, Postgres
        from keyturn_sql.postgres import PostgresSchema
        from keyturn_sql.store import PATIENCE, SqlStore, end_in_process, unwatched
    except ImportError as error:
        raise Unusable(
            f"postgres: the stores on PostgreSQL cannot be imported ({described(error)}): "
            "install them with `pip install 'keyturn[postgres]'`"
        ) from None
    place = Postgres(rest, schema, passing=True)
    try:
        database = PostgresSchema(place, "test", synchronous="full", patience=PATIENCE)
    except NotOurs as error:
        raise Unusable(f"postgres: {escaped(str(error), 1000)}") from None
    return SqlStore(database, crash=crash or end_in_process, watch=watch or unwatched)


def _open_python(rest: str | None, _data: Path, time_limit: float) -> System:
    module_name, _, path = (rest or "").partition(":")
    if not (all(map(str.isidentifier, module_name.split("."))) and all(map(str.isidentifier, path.split(".")))):
        raise Unusable(f"python:{escaped(rest or '')} does not name a factory: write `python:package.module:factory`")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does
    factory = _attribute(_import(module_name), path)
    return _made(factory, f"python:{module_name}:{path}", time_limit)


def _made(factory: Callable[[], object], adapter: str, time_limit: float) -> System:
    made: list[object] = []

    def make() -> object:
        made.append(factory())
        return made[0]

    try:
        system = InProcessSystem(make, time_limit=time_limit)
    except Breakdown as breakdown:
        raise Unusable(f"{adapter}: {breakdown.message}") from None
    if made[0] is None:
        system.close()
        raise Unusable(f"{adapter}: the factory returned None: it must return the object with the operations")
    return system


def _open_stdio(rest: str | None, data: Path, time_limit: float) -> System:
    from keyturn_testing.systems.stdio import StdioSystem

    try:
        return StdioSystem(rest or "", data, time_limit=time_limit)
    except Breakdown as breakdown:
        raise Unusable(f"stdio: {breakdown.message}") from None


def _open_served(rest: str | None, data: Path, time_limit: float) -> System:
    from keyturn_testing.systems.served import ServedSystem

    try:
        return ServedSystem(rest or "", data, time_limit=time_limit)
    except Breakdown as breakdown:
        log = f"; the end of its log: {escaped(breakdown.log[-500:], 500)}" if breakdown.log else ""
        raise Unusable(f"served: {breakdown.message}{log}") from None


def _open_http(rest: str | None, _data: Path, time_limit: float) -> System:
    return _open_url("http", rest, time_limit)


def _open_https(rest: str | None, _data: Path, time_limit: float) -> System:
    return _open_url("https", rest, time_limit)


def _open_url(scheme: str, rest: str | None, time_limit: float) -> System:
    from keyturn_testing.systems.http import HttpSystem

    try:
        return HttpSystem(f"{scheme}:{rest or ''}", time_limit=time_limit)
    except Breakdown as breakdown:
        raise Unusable(f"{scheme}: {breakdown.message}") from None


def _open_mutant(rest: str | None, data: Path, time_limit: float) -> System:
    from keyturn_testing.mutants import mutant_factory
    from keyturn_testing.mutants.durable import ALL_MUTANTS, DURABLE_MUTANTS, durable_store

    name, colon, how = (rest or "").partition(":")
    problems = []
    if name not in ALL_MUTANTS:
        problems.append(f"there is no mutant called {quoted(name)}: {_instead(name, ALL_MUTANTS)}")
    if colon and how != "disarmed":
        problems.append(f"a mutant is armed, or `disarmed`, and not {quoted(how)}: write `mutant:NAME:disarmed`")
    if problems:
        raise Unusable(*problems)
    if name not in DURABLE_MUTANTS:
        return InProcessSystem(mutant_factory(name, armed=not colon), time_limit=time_limit)
    data.mkdir(parents=True, exist_ok=True)
    database = _sqlite_store("mutant", data / DATABASE_NAME).database
    return InProcessSystem(lambda: durable_store(name, database, armed=not colon), time_limit=time_limit)


_KINDS = (
    AdapterKind(
        name="reference",
        form="reference",
        says="the contract itself, as a store in memory that always does what the text says first",
        example="reference",
        open=_open_reference,
    ),
    AdapterKind(
        name="sqlite",
        form="sqlite or sqlite:PATH",
        says="the SQLite store that ships, in a file of this run or in one that a run made before",
        example="sqlite:/tmp/decisions.sqlite3",
        open=_open_sqlite,
    ),
    AdapterKind(
        name="postgres",
        form="postgres:DSN",
        says="the store on PostgreSQL that ships, in a schema of its own, which the run makes and drops",
        example="postgres:postgresql://tester@localhost/decisions",
        open=_open_postgres,
    ),
    AdapterKind(
        name="python",
        form="python:MODULE:FACTORY",
        says="a Python object with one method an operation, as the factory makes it; the current folder is importable",
        example="python:my_package.testing:make_store",
        open=_open_python,
    ),
    AdapterKind(
        name="stdio",
        form="stdio:COMMAND LINE",
        says="a command in any language that speaks JSON-RPC 2.0, one object a line, on its standard input and output",
        example="stdio:node server.mjs --test",
        open=_open_stdio,
    ),
    AdapterKind(
        name="served",
        form="served:COMMAND LINE",
        says="a command that serves over HTTP and writes its URL to standard output; the suite starts it, and can kill it",
        example="served:./my-server --port 0",
        open=_open_served,
    ),
    AdapterKind(
        name="http",
        form="http://HOST:PORT/PATH",
        says="a server that takes JSON-RPC 2.0 by `POST`, one object a body; the bearer token is in KEYTURN_TOKEN",
        example="http://127.0.0.1:8000/rpc",
        open=_open_http,
    ),
    AdapterKind(
        name="https",
        form="https://HOST:PORT/PATH",
        says="the same over TLS; SSL_CERT_FILE names a file with other authorities to trust than those of the machine",
        example="https://decisions.example/rpc",
        open=_open_https,
    ),
    AdapterKind(
        name="mutant",
        form="mutant:NAME or mutant:NAME:disarmed",
        says="a store that is wrong in exactly one way, to see that the suite finds it, or the same one set right; it lives "
        "in memory, or, where it is wrong in how it uses a database, in a file of this run",
        example="mutant:double-click-pays-twice",
        open=_open_mutant,
    ),
)

ADAPTERS: Mapping[str, AdapterKind] = {kind.name: kind for kind in _KINDS}
"""The kinds by their name, in the order of the help."""


def open_system(adapter: str, *, data: Path, time_limit: float) -> System:
    """Open the system that an adapter string names.

    `data` is the folder of this run for what must survive a restart; `time_limit` is in seconds, for each call. Raises
    `Unusable` with every problem. A command that starts and ends at once is only found out by the first call.
    """
    name, colon, rest = adapter.partition(":")
    problems: list[str] = []
    if not (isfinite(time_limit) and time_limit > 0):
        problems.append(f"the time limit of {time_limit:g} s is not one: give seconds, more than 0")
    kind = ADAPTERS.get(name)
    if kind is None:
        forms = ", ".join(f"`{each.form}`" for each in _KINDS)
        near = get_close_matches(name.lower(), ADAPTERS, n=1)
        meant = f"did you mean `{near[0]}`? " if near else ""
        problems.append(f"{quoted(name)} is no kind of system: {meant}The kinds are {forms}")
    if problems or kind is None:
        raise Unusable(*problems)
    return kind.open(rest if colon else None, data, time_limit)


# ---- Finding a factory ----------------------------------------------------------------------------------------------


def _import(name: str) -> ModuleType:
    """Import a module of the user; raise `Unusable` that says which part of the name is missing, or what it raised."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if missing and f"{name}.".startswith(f"{missing}."):
            raise Unusable(f"python: {_what_is_missing(missing)}") from None
        raise _failed_import(name, error) from None
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a module may do anything when it is imported
        raise _failed_import(name, error) from None


def _failed_import(name: str, error: BaseException) -> Unusable:
    return Unusable(f"python: importing {name} raised {described(error)}")


def _what_is_missing(missing: str) -> str:
    """How far a name leads, and what is there instead of its next part."""
    parent, _, last = missing.rpartition(".")
    if not parent:
        there = [each.name for each in pkgutil.iter_modules([str(Path.cwd())])]
        where = f"neither in the current folder ({Path.cwd()}) nor installed for {sys.executable}"
        return f"there is no module {missing!r}, {where}: {_instead(missing, there)}"
    package = sys.modules.get(parent)
    folders = getattr(package, "__path__", None)
    if folders is None:
        return f"there is no module {missing!r}: {parent!r} ({_file_of(package)}) is no package"
    there = [each.name for each in pkgutil.iter_modules(folders)]
    return f"the package {parent!r} ({_file_of(package)}) has no module {last!r}: {_instead(last, there)}"


def _attribute(module: ModuleType, path: str) -> Callable[[], object]:
    found: object = module
    holder = f"the module {module.__name__!r} ({_file_of(module)})"
    for name in path.split("."):
        if not hasattr(found, name):
            there = [each for each in dir(found) if not each.startswith("_") and callable(getattr(found, each, None))]
            raise Unusable(f"python: {holder} has no attribute {name!r}: {_instead(name, there)}")
        found, holder = getattr(found, name), repr(name)
    if not callable(found):
        raise Unusable(
            f"python: {path!r} of {module.__name__!r} is of type {type(found).__name__}, and cannot be called: "
            "name a function or a class that makes the object with the operations"
        )
    return found


def _file_of(module: ModuleType | None) -> str:
    return getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "without a file")


def _instead(name: str, there: Iterable[str]) -> str:
    """What the caller may have meant, and what there is."""
    known = sorted(there)
    near = get_close_matches(name, known, n=1)
    meant = f"did you mean {near[0]!r}? " if near else ""
    more = f" and {len(known) - _LISTED_NAMES} more" if len(known) > _LISTED_NAMES else ""
    listed = f"There is {', '.join(map(repr, known[:_LISTED_NAMES]))}{more}" if known else "There is none"
    return f"{meant}{listed}"
