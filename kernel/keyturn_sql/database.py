"""What a store stands on, whichever database it is: where it is, what it is for, and how it is opened and closed.

A place is a path or a schema on a server, and a value. What is opened there is a `Database`, of which there is one
implementation for each kind of place; both refuse what was not made here with `NotOurs`, and leave it as it is.
"""

from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from attrs import field, frozen
from sqlalchemy import Engine

from keyturn_sql.passwords import without_passwords

Environment: TypeAlias = Literal["test", "service"]
"""What a store is for: a `test` store says so of itself and may be wiped by `reset`, one of a `service` never is."""

Synchronous: TypeAlias = Literal["full", "normal"]
"""When a commit is on the disk: before it is reported (`full`), or soon after (`normal`), so that a power cut can take
the last commits back, but never half of one. The end of a process, even by SIGKILL, loses nothing either way."""

MARKS: dict[Environment, str] = {"test": "a Keyturn test store", "service": "a Keyturn store"}
"""What a store says of itself in `meta.mark`, and a schema of PostgreSQL in its comment too."""


@frozen
class Postgres:
    """A place on a PostgreSQL server: a DSN as libpq reads it, and the schema that is the store's own.

    Without a schema a service uses `keyturn`, and a test store one that is made for it and dropped when it is closed; one
    that is named stays, unless it is said that it is `passing`. The schema of a service always stays.
    """

    dsn: str = field(repr=without_passwords)
    schema: str | None = None
    passing: bool = False

    def __str__(self) -> str:
        """Where it is, without a password."""
        return f"{without_passwords(self.dsn)}, schema {self.schema or '(its own)'}"


Place: TypeAlias = Path | Postgres
"""Where a store is: the path of a SQLite file, or a schema on a PostgreSQL server."""


class NotOurs(Exception):
    """The place cannot be used as a store; the message says what is wrong, where, why, and what to do."""

    def __init__(self, place: Place, why: str, advice: str) -> None:
        super().__init__(f"{place} cannot be used as a Keyturn store: {why}. It was left as it is. {advice}")


class Database(Protocol):
    """One place where a store is, and the pool of connections to it."""

    engine: Engine
    environment: Environment
    patience: float

    @property
    def name(self) -> str:
        """The name of the kind of database, which is that of the store."""

    @property
    def place(self) -> Place:
        """Where it is."""

    def restart(self) -> None:
        """Close every connection and open the same rows again."""

    def close(self) -> None:
        """Close every connection."""
