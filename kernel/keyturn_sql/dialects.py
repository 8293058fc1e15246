"""What differs from one database to another, in one place: types, partial indexes, connections, and what errors mean.

Everything else of the stores is written once, in SQLAlchemy Core, and does not know what it runs on. Both drivers are
told to leave transactions alone, and both databases do the same: a change owns the store before it looks at anything,
and all that a read looks at is of one moment.

On SQLite a change begins with `BEGIN IMMEDIATE`, which takes the file. On PostgreSQL it begins by locking the one row of
`meta` (`SELECT ... FOR UPDATE`), at READ COMMITTED, so that every statement after the lock sees what was committed
before it. A change moves the counter of the ids in that row, or the clock, or may meet a fault that is armed there, so
changes would wait for each other there in any case; waiting first means that no decision rests on what another change
is about to move, that no change of ours can deadlock with another, and that none is decided in vain, as they would be
under SERIALIZABLE. What takes locks in another order is not of ours; a transaction that PostgreSQL takes back because of
it is begun again. A read is REPEATABLE READ: one snapshot, and it waits for nobody.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen
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
    TextClause,
    Transaction,
    UniqueConstraint,
    create_engine,
    event,
    text,
)
from sqlalchemy.exc import DBAPIError

from keyturn_sql.database import Synchronous

EXACT_TEXT = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that is equal only when it is the same, byte for byte (I7.7); SQLite compares so (BINARY) unless told otherwise."""

WHOLE_NUMBER = BigInteger().with_variant(Integer(), "sqlite")
"""An integer of 64 bits; on SQLite `INTEGER`, which alone can number the rows of a table."""

APPLICATION_ID = int.from_bytes(b"Keyt")
"""The application id in the header of a SQLite file that was made here."""


def partial_index(name: str, *columns: Column[object], where: str, unique: bool = False) -> None:
    """Declare an index of the rows for which a condition holds; a query uses it when it says the same words."""
    Index(name, *columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where))


def next_number(table: str, column: str) -> TextClause:
    """Return the number of a new row, one more than the last: as SQLite counts, so that none is left out.

    A sequence would go on when a transaction is taken back. Changes wait for each other, so that no two count at once.
    """
    return text(f"(SELECT coalesce(max({column}), 0) + 1 FROM {table})")  # noqa: S608  # names of this package only


@frozen(kw_only=True)
class Speech:
    """What is said to a database in its own words."""

    begin_change: str
    begin_read: str
    refuse_writing: str
    write_again: str | None
    """None where it goes without saying, when the transaction ends."""


SPEECHES: Mapping[str, Speech] = {
    "sqlite": Speech(
        begin_change="BEGIN IMMEDIATE",
        begin_read="BEGIN",
        refuse_writing="PRAGMA query_only = ON",
        write_again="PRAGMA query_only = OFF",
    ),
    "postgresql": Speech(
        begin_change="BEGIN ISOLATION LEVEL READ COMMITTED; SELECT id FROM meta FOR UPDATE",
        begin_read="BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
        refuse_writing="SET LOCAL transaction_read_only = on",
        write_again=None,
    ),
}
"""The databases by their names in SQLAlchemy."""


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
    speech = SPEECHES[connection.dialect.name]
    connection.exec_driver_sql(speech.begin_change if changes else speech.begin_read)
    return transaction


@contextmanager
def refusing_to_write(connection: Connection) -> Iterator[None]:
    """Let the database refuse every change on this connection, as it does when its disk is full or read-only."""
    speech = SPEECHES[connection.dialect.name]
    connection.exec_driver_sql(speech.refuse_writing)
    try:
        yield
    finally:
        if speech.write_again is not None:
            connection.exec_driver_sql(speech.write_again)


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


# ---- What errors mean ------------------------------------------------------------------------------------------------

_LOCK_NOT_AVAILABLE = "55P03"
_TAKEN_BACK = frozenset({"40001", "40P01"})


def _sqlstate(error: DBAPIError) -> str | None:
    """Return the code of the SQL standard, which PostgreSQL gives and SQLite does not."""
    code: str | None = getattr(error.orig, "sqlstate", None)
    return code


def is_busy(error: DBAPIError) -> bool:
    """Whether another process held the database for longer than this one waits."""
    # The low byte is the primary code; the rest only says how it came about.
    busy = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return busy or _sqlstate(error) == _LOCK_NOT_AVAILABLE


def is_taken_back(error: DBAPIError) -> bool:
    """Whether the database took the transaction back for the sake of another: a serialization failure, or a deadlock.

    It says so for certain, also of a commit.
    """
    return _sqlstate(error) in _TAKEN_BACK


def constraint_of(error: DBAPIError, metadata: MetaData) -> str:
    """Return the name of the constraint that refused a change, or what the database says where it names none."""
    named: str | None = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    if named is not None:
        return named
    _, _, failed = said_by(error).rpartition(" constraint failed: ")
    return _unique_by_columns(metadata).get(failed, failed)


def said_by(error: DBAPIError) -> str:
    """Return what the database says of an error, without the row that it was about (I7.5)."""
    # PostgreSQL shows the row in the details, and only there.
    primary: str | None = getattr(getattr(error.orig, "diag", None), "message_primary", None)
    return str(error.orig) if primary is None else primary


def _unique_by_columns(metadata: MetaData) -> dict[str, str]:
    """SQLite names the columns of a unique constraint that failed, and not the constraint."""
    every = (each for table in metadata.sorted_tables for each in (*table.constraints, *table.indexes))
    unique = (each for each in every if isinstance(each, UniqueConstraint) or (isinstance(each, Index) and each.unique))
    return {", ".join(map(str, each.columns)): str(each.name) for each in unique}
