"""What differs from one database to another, in one place: types, partial indexes, connections, and what errors mean.

Everything else of the stores is written once, in SQLAlchemy Core, and does not know what it runs on. SQLite is spoken
here; PostgreSQL will be spoken beside it. On SQLite the driver is told to leave transactions alone: a change begins
with `BEGIN IMMEDIATE`, so that it owns the file before it looks at anything, and a read with `BEGIN`, so that all that
it looks at is of one moment.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    Text,
    Transaction,
    UniqueConstraint,
    create_engine,
    event,
    text,
)
from sqlalchemy.exc import DBAPIError

Synchronous: TypeAlias = Literal["full", "normal"]
"""When a commit is on the disk: before it is reported (`full`), or soon after (`normal`), so that a power cut can take
the last commits back, but never half of one. The end of a process, even by SIGKILL, loses nothing either way."""

EXACT_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is equal only when it is the same, byte for byte (I7.7); SQLite compares so (BINARY) unless told otherwise."""

WHOLE_NUMBER = BigInteger().with_variant(Integer(), "sqlite")
"""An integer of 64 bits; on SQLite `INTEGER`, which alone can number the rows of a table."""

APPLICATION_ID = int.from_bytes(b"Keyt")
"""The application id in the header of a SQLite file that was made here."""


def partial_index(name: str, *columns: Column[object], where: str, unique: bool = False) -> None:
    """Declare an index of the rows for which a condition holds; a query uses it when it says the same words."""
    Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


def sqlite_engine(path: Path, *, synchronous: Synchronous, patience: float) -> Engine:
    """Return the engine of a SQLite file; a connection waits up to `patience` seconds for another process's change."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": patience},
        # An error must not show what a card stores (I7.5).
        hide_parameters=True,
    )

    def connected(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA synchronous = {synchronous}")

    event.listen(engine, "connect", connected)
    return engine


def begin(connection: Connection, *, changes: bool) -> Transaction:
    """Begin a transaction; one for changes owns the database from its beginning."""
    transaction = connection.begin()
    # Not in an event of the engine, as the manual has it: those are looked for at every statement (a quarter of the time).
    connection.exec_driver_sql("BEGIN IMMEDIATE" if changes else "BEGIN")
    return transaction


@contextmanager
def refusing_to_write(connection: Connection) -> Iterator[None]:
    """Let the database refuse every change on this connection, as it does when its disk is full or read-only."""
    connection.exec_driver_sql("PRAGMA query_only = ON")
    try:
        yield
    finally:
        connection.exec_driver_sql("PRAGMA query_only = OFF")


def application_id_of(path: Path) -> int:
    """Return the application id of a SQLite file, 0 for none; raise `sqlite3.Error` when it is no such file.

    Nothing is locked, repaired or written. SQLite itself does the reading: if this process opened and closed the file by
    itself, it would lose the locks that its other connections hold on it (a trap of POSIX).
    """
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        return int(connection.execute("PRAGMA application_id").fetchone()[0])
    finally:
        connection.close()


def write_header(connection: Connection) -> None:
    """Write into the header of a SQLite file that it was made here."""
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")


def keep_log_apart(connection: Connection) -> None:
    """Let a SQLite file keep its log in a second file, so that readers and the one writer do not wait for each other.

    The file remembers it. It cannot be done in a transaction, so the driver is asked directly.
    """
    cursor = connection.connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.close()


def is_busy(error: DBAPIError) -> bool:
    """Whether another process held the database for longer than this one waits."""
    # The low byte is the primary code; the rest only says how it came about.
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def constraint_of(error: DBAPIError, metadata: MetaData) -> str:
    """Return the name of the constraint that refused a change, or what the database says where it names none."""
    _, _, failed = str(error.orig).rpartition(" constraint failed: ")
    return _unique_by_columns(metadata).get(failed, failed)


def _unique_by_columns(metadata: MetaData) -> dict[str, str]:
    """SQLite names the columns of a unique constraint that failed, and not the constraint."""
    every = (each for table in metadata.sorted_tables for each in (*table.constraints, *table.indexes))
    unique = (each for each in every if isinstance(each, UniqueConstraint) or (isinstance(each, Index) and each.unique))
    return {", ".join(map(str, each.columns)): str(each.name) for each in unique}
