"""What the tests do to a store from outside: plain SQL, in the words of its database, on a connection of their own."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import psycopg
from psycopg import sql

from keyturn_sql.database import Place, Postgres
from keyturn_sql.dialects import SPEECHES

VIOLATIONS = (sqlite3.IntegrityError, psycopg.IntegrityError, psycopg.errors.DatatypeMismatch)
"""What a database raises when its own rules refuse a change; that a truth is no number is a rule of PostgreSQL."""

NEVER_MIND = {
    "sqlite": "CREATE TRIGGER holds BEFORE UPDATE ON {table} BEGIN SELECT RAISE(IGNORE); END",
    "postgresql": "CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
    "CREATE TRIGGER holds BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION ignored()",
}
"""Updates of a table touch no row."""

FAIL = {
    "sqlite": "CREATE TRIGGER fails BEFORE INSERT ON {table} BEGIN SELECT RAISE(FAIL, 'no room'); END",
    "postgresql": "CREATE FUNCTION failed() RETURNS trigger LANGUAGE plpgsql AS"
    " 'BEGIN RAISE EXCEPTION USING MESSAGE = ''no room'', ERRCODE = ''check_violation''; END';"
    "CREATE TRIGGER fails BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION failed()",
}
"""Inserts into a table fail with a message."""

READ_ONLY = {"sqlite": "PRAGMA query_only = ON", "postgresql": "SET default_transaction_read_only = on"}
"""A connection may only read."""

DECLARED = {
    "sqlite": "SELECT type, name, sql FROM sqlite_master ORDER BY name",
    "postgresql": "SELECT table_name, column_name, data_type FROM information_schema.columns"
    " WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position",
}
"""The tables as they were declared."""


class Shell(Protocol):
    """A connection on which every statement is done at once."""

    def execute(self, statement: Any) -> Any:
        """Run a statement."""


def dialect_of(place: Place) -> str:
    """The name of the database of a place."""
    return "postgresql" if isinstance(place, Postgres) else "sqlite"


@contextmanager
def shell(place: Place) -> Iterator[Shell]:
    """Open a connection of a test."""
    if isinstance(place, Path):
        with closing(sqlite3.connect(place, isolation_level=None)) as file:
            yield file
    else:
        with psycopg.connect(place.dsn, autocommit=True) as connection:
            assert place.schema is not None
            connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(place.schema)))
            yield connection


def run(place: Place, statements: dict[str, str], **names: str) -> list[tuple[object, ...]]:
    """Run what is said in the words of each database, and return the rows that it gives."""
    with shell(place) as opened:
        done = opened.execute(statements[dialect_of(place)].format(**names))
        return [tuple(each) for each in done.fetchall()] if done.description else []


@contextmanager
def held(place: Place) -> Iterator[None]:
    """Hold a store as a change does, from its first look on."""
    with shell(place) as opened:
        opened.execute(SPEECHES[dialect_of(place)].begin_change)
        yield
        opened.execute("ROLLBACK")
