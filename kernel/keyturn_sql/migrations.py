"""Migrations: how the tables of a store in use become those of a newer release, one version after the other.

A step takes the tables of one version to the next. Every step runs in the transaction that also writes the version that
it leads to, so that one that fails, or that is run a second time, changes nothing. There is none yet: version 4 is the
first that is on a server.
"""

from collections.abc import Callable

from sqlalchemy import Connection, bindparam

from keyturn_sql import schema

STEPS: dict[int, Callable[[Connection], None]] = {}
"""What leads from a version to the next one."""

_ARRIVED = schema.meta.update().values(schema_version=bindparam("version"))


def migrate(connection: Connection, version: int) -> int:
    """Take the tables as far as the steps lead, inside the caller's transaction; return the version that they have then."""
    while version in STEPS:
        STEPS[version](connection)
        version += 1
        connection.execute(_ARRIVED, {"version": version})
    return version
