"""What the tests of the durable stores share: where the file of a test is, and a store with open cases."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from keyturn_sql.store import SqlStore

from .programs import start


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file of a test is."""
    return tmp_path / "cards.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqlStore]:
    """A store with three open cases."""
    with closing(SqlStore.open_test(path, synchronous="normal")) as opened:
        start(opened.perform)
        yield opened
