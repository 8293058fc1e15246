"""Servers that cannot be reached or say no: what is said of them, how soon, and that no password is in it."""

import socket
from contextlib import closing
from time import monotonic

import psycopg
import pytest

from keyturn_sql.database import NotOurs, Postgres
from keyturn_sql.passwords import without_passwords
from keyturn_sql.postgres import PostgresSchema
from keyturn_sql.store import SqlStore

SECRET = "s3cret"


class TestReaching:
    """A server that cannot be reached or says no is told apart, soon, and without the password."""

    def said(self, dsn: str) -> str:
        """What is said of a DSN."""
        with pytest.raises(NotOurs) as refusal:
            SqlStore.open_test(Postgres(dsn))
        assert SECRET not in f"{refusal.value}{refusal.value.__cause__!r}{refusal.value.__context__!r}"
        return str(refusal.value)

    def test_a_wrong_password(self, postgres: str) -> None:
        """The server says who was refused."""
        with psycopg.connect(postgres, autocommit=True) as outside:
            outside.execute(f"CREATE ROLE stranger LOGIN PASSWORD '{SECRET}'")
        assert "password authentication failed" in self.said(postgres.replace("postgres@", f"stranger:{SECRET}x@"))
        # Who may come in may not make a schema.
        assert "permission denied" in self.said(postgres.replace("postgres@", f"stranger:{SECRET}@"))

    def test_a_wrong_database(self, postgres: str) -> None:
        """The server says which one is not there."""
        assert "does not exist" in self.said(postgres.replace("dbname=postgres", f"dbname=none&password={SECRET}"))

    def test_nobody_there(self) -> None:
        """The connection is refused."""
        assert "refused" in self.said(f"postgresql://tester:{SECRET}@127.0.0.1:1/postgres")

    def test_a_server_that_says_nothing(self) -> None:
        """Whoever takes the connection and does not answer is not waited for long."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            begun = monotonic()
            port = silent.getsockname()[1]
            said = self.said(f"host=127.0.0.1 port={port} password={SECRET} connect_timeout=2")
            assert "timeout" in said
            assert monotonic() - begun < 8

    @pytest.mark.parametrize(
        "dsn",
        [
            f"postgresql://tester:{SECRET}@{SECRET}@host/name",
            f"postgresql://tester:{SECRET}/{SECRET}@host/name",
            f"postgresql://tester:a#{SECRET}@host:port/name",
            f"password {SECRET}",
            f"host=here port={SECRET}",
        ],
    )
    def test_a_dsn_that_cannot_be_read(self, dsn: str) -> None:
        """A password with a mark of URLs in it is read as other parts: none of them is shown."""
        assert "libpq cannot read the DSN" in self.said(dsn)

    def test_a_time_limit_of_its_own_is_kept(self, postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """What the environment says of it is not said again."""
        monkeypatch.setenv("PGCONNECT_TIMEOUT", "7")
        with closing(SqlStore.open_test(Postgres(postgres))) as store:
            assert isinstance(store.database, PostgresSchema)
            assert "connect_timeout" not in store.database.parameters


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://anna:pw@host/db", "postgresql://anna@host/db"),
        ("postgres://anna:p@w/@host/db?sslpassword=x&y=1", "postgres://anna@host/db?sslpassword=***&y=1"),
        ("postgresql:///db?host=h&password=x", "postgresql:///db?host=h&password=***"),
        ("postgresql://anna@host:5432/db", "postgresql://anna@host:5432/db"),
        ("host=h password=a\\ b dbname=d", "host=h password=*** dbname=d"),
        ("password = 'a \\' b' host=h", "password = *** host=h"),
        ("stdio:serve --url postgresql://a:b@h/d --x", "stdio:serve --url postgresql://a@h/d --x"),
        ("sqlite:/tmp/a@b", "sqlite:/tmp/a@b"),
    ],
)
def test_a_password_is_not_shown(text: str, shown: str) -> None:
    """Wherever a DSN is shown, be it a URL or words."""
    assert without_passwords(text) == shown
    assert text == shown or text not in repr(Postgres(text))
