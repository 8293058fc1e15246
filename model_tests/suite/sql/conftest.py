"""What the tests of the durable stores share: where the store of a test is, on each database, and one with open cases."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from secrets import token_hex

import pytest

from keyturn_sql.database import Place, Postgres
from keyturn_sql.store import SqlStore

from .programs import start

DATABASES = ("sqlite", "postgresql")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file of a test is."""
    return tmp_path / "cards.db"


@pytest.fixture
def schema(postgres: str) -> Postgres:
    """The schema of a test on the server."""
    return Postgres(postgres, f"test_{token_hex(8)}")


@pytest.fixture(params=DATABASES)
def place(request: pytest.FixtureRequest) -> Place:
    """Where the store of a test is, on each database."""
    found: Place = request.getfixturevalue({"sqlite": "path", "postgresql": "schema"}[request.param])
    return found


@pytest.fixture
def store(place: Place) -> Iterator[SqlStore]:
    """A store with three open cases, on each database."""
    with closing(SqlStore.open_test(place, synchronous="normal")) as opened:
        start(opened.perform)
        yield opened


@pytest.fixture
def file_store(path: Path) -> Iterator[SqlStore]:
    """The same, in a file."""
    with closing(SqlStore.open_test(path, synchronous="normal")) as opened:
        start(opened.perform)
        yield opened
