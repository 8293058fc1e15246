"""Where the stores of a campaign stand, on each database, and how they are opened there: to lose nothing.

A SQLite file is in a folder of its own on the disk of this machine. PostgreSQL is a server of the campaign's own, with fsync, or
one that a DSN names; there the store is a schema of its own, which is dropped at the end.
"""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from secrets import token_hex

from check_then_act import CheckThenActStore
from keyturn.capabilities import Claims
from keyturn_sql.database import Place, Postgres, Synchronous
from keyturn_sql.store import SqlStore
from keyturn_testing.postgres_server import DURABLE, server

DATABASES = ("sqlite", "postgresql")

RIGHT, WRONG = "keyturn", "check-then-act"
STORES: Mapping[str, type[SqlStore]] = {RIGHT: SqlStore, WRONG: CheckThenActStore}
"""The stores that can be put under load: the one that ships, and one that must be caught."""

SYNCHRONOUS: Synchronous = "full"
"""A commit is on the disk before it is reported, wherever time is measured."""


@contextmanager
def place_on(database: str, dsn: str | None = None) -> Iterator[Place]:
    """Give a place on a database where nothing is yet, for several processes, and clear it away at the end."""
    with ExitStack() as opened:
        if database == "sqlite":
            yield Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="keyturn-campaign-")), "cards.sqlite3")
            return
        if dsn is None:
            # Apart: a Ctrl-C of the terminal is for the campaign, which ends its workers first.
            dsn = f"{opened.enter_context(server(DURABLE, apart=True))}&dbname=postgres"
        schema = f"campaign_{token_hex(8)}"
        opened.enter_context(closing(SqlStore.open_test(Postgres(dsn, schema, passing=True))))
        yield Postgres(dsn, schema)


def open_store(place: Place, kind: str, claims: Claims, synchronous: Synchronous = SYNCHRONOUS) -> SqlStore:
    """Open a store at a place that every other process opens too."""
    return STORES[kind].open_test(place, claims, synchronous=synchronous)


def words_of(place: Place) -> Sequence[str]:
    """Return a place as words for another process."""
    return [str(place)] if isinstance(place, Path) else [place.dsn, str(place.schema)]


def place_of(words: Sequence[str]) -> Place:
    """Return the place that these words are."""
    return Path(words[0]) if len(words) == 1 else Postgres(words[0], words[1])


def name_of(place: Place) -> str:
    """Return which database a place is on."""
    return "sqlite" if isinstance(place, Path) else "postgresql"


def durability(place: Place) -> str:
    """Say what a commit waits for, as the database itself has it."""
    if isinstance(place, Path):
        return f"SQLite {sqlite3.sqlite_version}, WAL, synchronous={SYNCHRONOUS}"
    with closing(SqlStore.open_test(place)) as store, store.database.engine.connect() as connection:
        said = [connection.exec_driver_sql(f"SHOW {each}").scalar() for each in ("server_version", "fsync")]
        commit = connection.exec_driver_sql("SHOW synchronous_commit").scalar()
    return f"PostgreSQL {said[0]}, fsync={said[1]}, synchronous_commit={commit}"
