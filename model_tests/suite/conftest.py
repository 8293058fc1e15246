"""What every test of the suite stands on: Ctrl-C is Ctrl-C, and a PostgreSQL server is there for whoever asks.

A shell that starts something in the background lets it ignore SIGINT, and every child inherits that. Tests send the signal to
systems and to the command, so it is given back its meaning here, for this process and for what it starts.
"""

import signal
from collections.abc import Iterator

import pytest

from keyturn_testing.postgres_server import server

signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The DSN of a PostgreSQL server of this process, which is started when it is first asked for, and stopped at the end."""
    with server() as dsn:
        yield f"{dsn}&dbname=postgres"
