"""Schemas on a PostgreSQL server: made whole or not at all, and only opened when they were made here.

A store has a schema of its own, which says in its comment that it is one; whatever else is in the database is never
looked at. The tables are made and brought up to date in one transaction, under a lock that every process takes for it,
and only where that is still to be done, so that it can be asked for any number of times.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, Engine, bindparam, create_engine, select, text
from sqlalchemy.exc import DBAPIError

from keyturn.world import World
from keyturn_sql import migrations, rows, schema
from keyturn_sql.database import MARKS, Environment, NotOurs, Postgres, Synchronous
from keyturn_sql.dialects import said_by

SERVICE_SCHEMA = "keyturn"
"""The schema of a service that names none."""

TEST_SCHEMA_PREFIX = "keyturn_test_"
"""How the schema begins that is made for one test store."""

CONNECTING_SECONDS = 5
"""How long each address of a server may take to answer, where neither the DSN nor the environment says it."""

_UNANSWERED_MILLISECONDS = 10_000
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('keyturn'), hashtext(current_setting('search_path')))")
_COMMENT = text("SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = :schema").bindparams(
    bindparam("schema")
)
_ANOTHER_SCHEMA = "Name a schema that is not there yet, and a new store is made there."


class PostgresSchema:
    """One schema on a server, and the pool of connections to it."""

    name = "postgresql"
    engine: Engine

    def __init__(self, place: Postgres, environment: Environment, *, synchronous: Synchronous, patience: float) -> None:
        """Open the schema, or make it; raise `NotOurs` and leave everything as it is when it is something else."""
        self._is_dropped_at_close = environment == "test" and (place.passing or place.schema is None)
        own = SERVICE_SCHEMA if environment == "service" else f"{TEST_SCHEMA_PREFIX}{token_hex(8)}"
        self.schema = place.schema or own
        self.place = Postgres(place.dsn, self.schema)
        self.environment: Environment = environment
        self.synchronous: Synchronous = synchronous
        self.patience = patience
        if not _NAME.fullmatch(self.schema):
            why = "the name of the schema is not made of a to z, digits and underscores, at most 63"
            raise NotOurs(self.place, why, "Name another schema.")
        self.parameters = self._read_dsn()
        self.open()

    def open(self) -> None:
        """Open the schema, with its tables as they are now; raise `NotOurs` when it cannot be, or is another's."""
        self.engine = create_engine(
            "postgresql+psycopg://",
            creator=self._connect,
            # An error must not show what a card stores (I7.5).
            hide_parameters=True,
            use_native_hstore=False,
        )
        try:
            problem = self._problem()
        except DBAPIError as error:
            problem = f"the server could not do it ({self._without_password(error)})", "Set that right, and try again."
        if problem is not None:
            self.engine.dispose()
            raise NotOurs(self.place, *problem)

    def restart(self) -> None:
        """Close every connection and open the schema again, never a new one, which would issue old ids again (I6.7)."""
        self.engine.dispose()
        self.open()

    def close(self) -> None:
        """Close every connection; a schema that was made for this store alone is dropped with it."""
        try:
            if self._is_dropped_at_close:
                self._is_dropped_at_close = False
                with self.engine.connect() as connection:
                    connection.exec_driver_sql(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")
        except DBAPIError:
            # The server is gone, or in use: what is left says of itself what it is.
            pass
        finally:
            self.engine.dispose()

    def _read_dsn(self) -> dict[str, str | int | None]:
        """Return the parts of the DSN, and what is added to them; what libpq says of a wrong one may be its password."""
        try:
            parts: dict[str, str | int | None] = conninfo_to_dict(self.place.dsn)
        except psycopg.Error:
            parts = {"port": "?"}
        # A password with a mark of URLs in it is read as other parts, and those would be shown.
        stray = "@" in f"{parts.get('host', '')}{parts.get('dbname', '')}{parts.get('user', '')}"
        if stray or not re.fullmatch(r"[\d,]*", str(parts.get("port", ""))):
            advice = "Write `postgresql://user@host:port/name`, with %40 for @, %3A for : and %2F for / in a part."
            unshown = Postgres("a DSN that is not shown here", self.schema)
            raise NotOurs(unshown, "libpq cannot read the DSN", advice)
        if "connect_timeout" not in parts and "PGCONNECT_TIMEOUT" not in os.environ:
            parts["connect_timeout"] = CONNECTING_SECONDS
        return {
            "application_name": "keyturn",
            "tcp_user_timeout": _UNANSWERED_MILLISECONDS,
            **parts,
            "client_encoding": "UTF8",
        }

    def _connect(self) -> "psycopg.Connection[tuple[object, ...]]":
        connection = psycopg.connect(autocommit=True, **self.parameters)  # type: ignore[arg-type]
        connection.execute(
            sql.SQL("SET search_path TO {}; SET lock_timeout TO {}; SET synchronous_commit TO {}").format(
                sql.Identifier(self.schema),
                sql.Literal(max(1, round(self.patience * 1000))),
                sql.Literal("on" if self.synchronous == "full" else "off"),
            )
        )
        return connection

    def _without_password(self, error: DBAPIError) -> str:
        password = str(self.parameters.get("password") or "")
        said = " ".join(said_by(error).split())
        return said.replace(password, "***") if password else said

    def _problem(self) -> tuple[str, str] | None:
        """Make what is to be made, and return why the schema cannot be used, if it cannot."""
        with self.engine.connect() as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
            if encoding != "UTF8":
                return f"the database keeps text as {encoding}, which cannot hold all", "Make a database in UTF8."
            is_there = self._mark(connection) is not None
        if not is_there:
            self._make()
        with self.engine.connect() as connection:
            if self._mark(connection) not in MARKS.values():
                return "there is such a schema, and it was not made here", _ANOTHER_SCHEMA
            version, mark = self._version(connection)
        if version in migrations.STEPS and mark == MARKS[self.environment]:
            version = self._migrate()
        if version != schema.SCHEMA_VERSION:
            why = f"its tables are of version {version}, and this is version {schema.SCHEMA_VERSION}"
            return why, "Use the release of Keyturn that made it, or name another schema."
        wanted = MARKS[self.environment]
        return None if mark == wanted else (f"it is {mark}, and this would have to be {wanted}", _ANOTHER_SCHEMA)

    def _mark(self, connection: Connection) -> str | None:
        """Return what the schema says of itself, nothing when there is none."""
        found = connection.execute(_COMMENT, {"schema": self.schema}).all()
        return None if not found else str(found[0][0])

    def _version(self, connection: Connection) -> tuple[int, str]:
        version, mark = connection.execute(select(schema.meta.c.schema_version, schema.meta.c.mark)).one()
        return int(version), str(mark)

    @contextmanager
    def _alone(self) -> Iterator[Connection]:
        """Give a transaction for changes of the tables, which no other process makes at the same time."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql("BEGIN")
            connection.execute(_LOCK)
            yield connection

    def _make(self) -> None:
        mark = MARKS[self.environment]
        with self._alone() as connection:
            # Looked for again: another process may have been faster.
            if self._mark(connection) is None:
                connection.exec_driver_sql(f"CREATE SCHEMA {self.schema}")
                connection.exec_driver_sql(f"COMMENT ON SCHEMA {self.schema} IS '{mark}'")
                schema.metadata.create_all(connection, checkfirst=False)
                row = {"id": 1, "mark": mark, "schema_version": schema.SCHEMA_VERSION}
                connection.execute(schema.meta.insert(), {**row, **rows.WORLD.row(World())})

    def _migrate(self) -> int:
        with self._alone() as connection:
            version, _ = self._version(connection)
            return migrations.migrate(connection, version)
