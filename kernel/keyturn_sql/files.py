"""SQLite files: made whole or not at all, and only opened when they were made here.

A new file is built under another name in the same folder and then linked to its own, so that no other process, and no
process after a crash, ever finds half a file. A file that exists is first judged by its header alone, read in a way
that locks, repairs and writes nothing: whatever is not a Keyturn store is left exactly as it is.
"""

import os
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine, select
from sqlalchemy.exc import DBAPIError

from keyturn.world import World
from keyturn_sql import rows, schema
from keyturn_sql.database import MARKS, Environment, NotOurs, Synchronous
from keyturn_sql.dialects import (
    APPLICATION_ID,
    application_id_of,
    begin,
    keep_log_apart,
    sqlite_engine,
    write_header,
)

_SIDE_FILES = ("-wal", "-shm", "-journal")
_ANOTHER_PATH = "Name a path where nothing is yet, and a new store is made there."


class SqliteFile:
    """One SQLite file and the pool of its connections."""

    name = "sqlite"
    engine: Engine

    def __init__(self, path: Path, environment: Environment, *, synchronous: Synchronous, patience: float) -> None:
        """Open the file, or make it; raise `NotOurs` and leave everything as it is when it is something else."""
        # A relative path must not mean another file after a change of the working directory and a restart.
        self.path = path.absolute()
        self.environment: Environment = environment
        self.synchronous: Synchronous = synchronous
        self.patience = patience
        if not os.path.lexists(self.path):
            self._make()
        self.open()

    @property
    def place(self) -> Path:
        """Where the file is."""
        return self.path

    def open(self) -> None:
        """Open the file that is there; raise `NotOurs` when it is gone, or is another one now."""
        why = _stranger(self.path)
        if why is not None:
            raise NotOurs(self.path, why, _ANOTHER_PATH)
        self.engine = self._engine(self.path)
        problem = self._mismatch()
        if problem is not None:
            self.close()
            raise NotOurs(self.path, *problem)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def restart(self) -> None:
        """Close every connection and open the file again, never a new one, which would issue old ids again (I6.7)."""
        self.close()
        self.open()

    def _engine(self, path: Path) -> Engine:
        return sqlite_engine(path, synchronous=self.synchronous, patience=self.patience)

    def _make(self) -> None:
        left = [each for each in _SIDE_FILES if os.path.lexists(f"{self.path}{each}")]
        # Looked for again: another process that has just made the file has side files too.
        if left and not os.path.lexists(self.path):
            names = ", ".join(f"{self.path.name}{each}" for each in left)
            why = f"there is no such file, but {names} of a file that was here before; SQLite would mix the two"
            raise NotOurs(self.path, why, "Delete the left-overs, or put the file back.")
        try:
            with TemporaryDirectory(dir=self.path.parent, prefix=".keyturn-") as folder:
                whole = Path(folder, "new.db")
                self._fill(whole)
                os.link(whole, self.path)
        except FileExistsError:
            # Another process was faster; what it made is judged like any file.
            pass
        except (OSError, DBAPIError) as error:
            raise NotOurs(
                self.path, f"no file can be made there ({error})", "Name a folder that exists and can be written to."
            ) from error

    def _fill(self, path: Path) -> None:
        mark = {"id": 1, "mark": MARKS[self.environment], "schema_version": schema.SCHEMA_VERSION}
        engine = self._engine(path)
        try:
            with engine.connect() as connection, begin(connection, changes=True):
                write_header(connection)
                schema.metadata.create_all(connection)
                connection.execute(schema.meta.insert(), {**mark, **rows.WORLD.row(World())})
            with engine.connect() as connection:
                keep_log_apart(connection)
        finally:
            engine.dispose()

    def _mismatch(self) -> tuple[str, str] | None:
        try:
            with self.engine.connect() as connection:
                mark, version = connection.execute(select(schema.meta.c.mark, schema.meta.c.schema_version)).one()
        except DBAPIError as error:
            return (
                f"it was begun here, but cannot be read ({error.orig})",
                "Restore it from a copy, or name another path.",
            )
        if version != schema.SCHEMA_VERSION:
            why = f"its tables are of version {version}, and this is version {schema.SCHEMA_VERSION}"
            return why, "Use the release of Keyturn that made it, or name another path."
        wanted = MARKS[self.environment]
        return None if mark == wanted else (f"it is {mark}, and this would have to be {wanted}", _ANOTHER_PATH)


def _stranger(path: Path) -> str | None:
    """Return why a path is no file that was made here, or nothing when it is one; only its header is read."""
    if not path.is_file():
        return "there is no regular file"
    if not path.stat().st_size:
        return "it is an empty file"
    try:
        known = application_id_of(path) == APPLICATION_ID
    except sqlite3.Error as error:
        return f"it is not an SQLite database that can be read ({error})"
    return None if known else "it is an SQLite database of another application"
