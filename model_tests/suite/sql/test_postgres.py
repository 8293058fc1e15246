"""What only a server can do to a store: refuse it, leave it, take its transactions back, and hold what is not ours."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from secrets import token_hex
from typing import Any

import psycopg
import pytest
from attrs import evolve
from sqlalchemy import Connection
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from keyturn import operations as ops
from keyturn.admissible import admissible
from keyturn.branches import Branch
from keyturn.capabilities import Claims
from keyturn.errors import OperationFailed
from keyturn.faults import FaultKind
from keyturn.responses import RefusalCode, Rejected
from keyturn.values import Revision
from keyturn.world import World
from keyturn_sql import migrations
from keyturn_sql import schema as tables
from keyturn_sql import store as stores
from keyturn_sql.database import NotOurs, Postgres
from keyturn_sql.dialects import begin
from keyturn_sql.postgres import SERVICE_SCHEMA, TEST_SCHEMA_PREFIX, PostgresSchema
from keyturn_sql.store import TRIES, SqlStore

from .programs import KEYS, start
from .shells import shell
from .tables import rows_of

ACCOUNT, WORKFLOW, CASE = KEYS[0]
EDIT = ops.CaseEdit(account=ACCOUNT, workflow=WORKFLOW, case=CASE)
LIST = ops.CardList(account=ACCOUNT, conversation="phone")
EDITED = ops.CaseEdited(revision=Revision(2), invalidated=())
UNAVAILABLE = Rejected(code=RefusalCode.UNAVAILABLE)
SECRET = "s3cret"  # made up


@pytest.fixture
def opened(schema: Postgres) -> Iterator[SqlStore]:
    """A store on the server, with three open cases."""
    with closing(SqlStore.open_test(schema, synchronous="normal")) as store:
        start(store.perform)
        yield store


def trouble(place: Postgres, moment: str, body: str) -> None:
    """Let a change of a case do something before it is written, or at its commit."""
    when = "AFTER UPDATE" if moment == "commit" else "BEFORE UPDATE"
    kind, late = ("CONSTRAINT", "DEFERRABLE INITIALLY DEFERRED") if moment == "commit" else ("", "")
    with shell(place) as outside:
        outside.execute("CREATE SEQUENCE met")
        outside.execute(
            f"CREATE FUNCTION troubled() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN {body}; RETURN NEW; END$$"
        )
        outside.execute(
            f"CREATE {kind} TRIGGER trouble {when} ON cases {late} FOR EACH ROW EXECUTE FUNCTION troubled()"
        )


def met(place: Postgres) -> int:
    """How often there was trouble: a sequence counts on when a transaction is taken back."""
    with shell(place) as outside:
        [(count, called)] = outside.execute("SELECT last_value, is_called FROM met").fetchall()
    return int(count) if called else 0


def taken_back(state: str, times: int) -> str:
    """The body of trouble that takes a transaction back, a number of times."""
    raised = f"RAISE EXCEPTION USING MESSAGE = 'for another', ERRCODE = '{state}'"
    return f"IF nextval('met') <= {times} THEN {raised}; END IF"


LOSE = "PERFORM nextval('met'); PERFORM pg_terminate_backend(pg_backend_pid())"


class TestTakenBack:
    """A transaction that the server takes back for the sake of another one has not happened, and is begun again."""

    @pytest.mark.parametrize("state", ["40001", "40P01"])
    @pytest.mark.parametrize("moment", ["write", "commit"])
    def test_it_is_begun_again(self, opened: SqlStore, schema: Postgres, moment: str, state: str) -> None:
        """A serialization failure or a deadlock, also one of the commit, is not seen where the next try is well."""
        trouble(schema, moment, taken_back(state, TRIES - 1))
        assert opened.perform(EDIT) == EDITED
        assert met(schema) == TRIES

    def test_it_is_given_up(self, opened: SqlStore, schema: Postgres) -> None:
        """After some tries what can be refused is `unavailable`, and what cannot has failed for certain."""
        trouble(schema, "write", taken_back("40001", 2 * TRIES))
        rows = rows_of(opened)
        assert opened.perform(EDIT) == UNAVAILABLE
        assert met(schema) == TRIES
        with shell(schema) as outside:
            outside.execute("CREATE TRIGGER trouble BEFORE UPDATE ON meta FOR EACH ROW EXECUTE FUNCTION troubled()")
        with pytest.raises(OperationFailed, match="for another; nothing happened") as failure:
            opened.perform(ops.CommandNext(result="failed"))
        assert failure.value.definite
        assert rows_of(opened) == rows

    def test_an_armed_fault_still_hits(self, opened: SqlStore, schema: Postgres) -> None:
        """A fault is spent before the step that it hits; the tries of that step remember it."""
        opened.perform(ops.FaultArm(fault=FaultKind.REPLY_LOST))
        trouble(schema, "write", taken_back("40001", 1))
        with pytest.raises(OperationFailed, match="the reply was lost"):
            opened.perform(EDIT)
        assert [row[3] for row in rows_of(opened)["cases"] if row[:3] == (ACCOUNT, WORKFLOW, CASE)] == [2]

    def test_a_real_deadlock_is_outlived(self, opened: SqlStore, schema: Postgres) -> None:
        """Somebody who is not of ours locks a case and then the store, and the store the other way round."""
        with shell(schema) as outside, ThreadPoolExecutor(1) as other:
            outside.execute("SET deadlock_timeout = '10s'")
            outside.execute("BEGIN; SELECT * FROM cases FOR UPDATE")
            edited = other.submit(opened.perform, EDIT)
            while not outside.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall():
                pass
            outside.execute("SELECT * FROM meta FOR UPDATE")
            outside.execute("COMMIT")
            assert edited.result() == EDITED


class TestLost:
    """A connection that is lost before the commit has done nothing; during the commit nobody knows."""

    def test_before_the_commit_it_is_begun_again(self, opened: SqlStore, schema: Postgres) -> None:
        """Also on a connection of the pool that was lost while nobody used it, as when a server is started again."""
        with shell(schema) as outside:
            outside.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'keyturn'")
        assert opened.perform(LIST) == ops.Cards(cards=())
        trouble(schema, "write", f"IF nextval('met') = 1 THEN {LOSE}; END IF")
        assert opened.perform(EDIT) == EDITED

    def test_again_and_again_it_is_unavailable(self, opened: SqlStore, schema: Postgres) -> None:
        """It is not tried for ever."""
        trouble(schema, "write", LOSE)
        rows = rows_of(opened)
        assert opened.perform(EDIT) == UNAVAILABLE
        assert met(schema) == TRIES
        assert rows_of(opened) == rows

    def test_during_the_commit_it_is_not_definite(self, opened: SqlStore, schema: Postgres) -> None:
        """It is not begun again: it may have happened."""
        trouble(schema, "commit", LOSE)
        with pytest.raises(OperationFailed, match="terminating connection") as failure:
            opened.perform(EDIT)
        assert not failure.value.definite
        assert met(schema) == 1

    def test_while_a_fault_is_disarmed(
        self, opened: SqlStore, schema: Postgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The connection is lost between the look that finds an armed fault and the writing that it has hit."""
        opened.perform(ops.FaultArm(fault=FaultKind.WRITE_FAILS))
        begun = list[bool]()

        def begin_and_lose(connection: Any, *, changes: bool) -> Any:
            begun.append(changes)
            if len(begun) == 2:
                pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
                connection.rollback()
                with shell(schema) as outside:
                    outside.execute(f"SELECT pg_terminate_backend({pid}, 5000)")
            return begin(connection, changes=changes)

        monkeypatch.setattr(stores, "begin", begin_and_lose)
        assert opened.perform(EDIT) == UNAVAILABLE
        assert len(begun) == 4
        assert opened.perform(EDIT) == EDITED

    def test_a_server_that_is_gone_is_said(self, opened: SqlStore) -> None:
        """What can be refused is `unavailable`, a read fails for certain, and closing is quiet."""
        database = opened.database
        assert isinstance(database, PostgresSchema)
        parameters = database.parameters
        database.parameters = {**parameters, "host": "/nowhere"}
        database.engine.dispose()
        assert opened.perform(EDIT) == UNAVAILABLE
        with pytest.raises(OperationFailed, match="nowhere") as failure:
            opened.perform(LIST)
        assert failure.value.definite
        with pytest.raises(NotOurs, match="nowhere"):
            opened.perform(ops.Restart())
        database.parameters = parameters
        opened.perform(ops.Restart())
        assert opened.perform(LIST) == ops.Cards(cards=())

    def test_a_pool_that_is_empty_for_too_long(self, opened: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """What is no error of the database fails for certain too."""

        def refuse() -> None:
            raise PoolTimeoutError("none is free")

        monkeypatch.setattr(opened.database.engine, "connect", refuse)
        with pytest.raises(OperationFailed, match="none is free") as failure:
            opened.perform(LIST)
        assert failure.value.definite


def test_changes_wait_for_each_other(opened: SqlStore, schema: Postgres) -> None:
    """The lock comes before the first look: what was decided rests on what the one before has committed."""
    met_worlds: list[int] = []

    def watched(world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
        met_worlds.append(world.cases[0].revision)
        return admissible(world, operation, claims)

    others = [SqlStore.open_test(schema, decide=watched, synchronous="normal") for _ in range(3)]
    with ThreadPoolExecutor(3) as threads, ExitStack() as stack:
        for each in others:
            stack.callback(each.close)
        list(threads.map(lambda number: others[number % 3].perform(EDIT), range(30)))
    assert sorted(met_worlds) == list(range(1, 31))


class TestSchemas:
    """A schema is made for a store, and only opened when it was."""

    def names(self, dsn: str) -> set[str]:
        """The schemas of the database."""
        with psycopg.connect(dsn) as outside:
            return {str(name) for (name,) in outside.execute("SELECT nspname FROM pg_namespace")}

    def test_its_own_is_dropped_at_the_end(self, postgres: str) -> None:
        """A run has a schema of its own, which a restart keeps, and nothing of it stays."""
        before = self.names(postgres)
        store = SqlStore.open_test(Postgres(postgres))
        [new] = self.names(postgres) - before
        assert new.startswith(TEST_SCHEMA_PREFIX)
        store.perform(ops.CaseOpen(account="a", workflow="w", case="c"))
        store.restart()
        assert len(rows_of(store)["cases"]) == 1
        store.close()
        store.close()
        assert self.names(postgres) == before

    def test_it_may_be_gone_already(self, postgres: str) -> None:
        """Closing is quiet, also when the server refuses to drop the schema."""
        store = SqlStore.open_test(Postgres(postgres, f"test_{token_hex(8)}", passing=True))
        assert isinstance(store.database, PostgresSchema)
        store.database.parameters = {**store.database.parameters, "host": "/nowhere"}
        store.database.engine.dispose()
        store.close()

    def test_a_service_stays(self, postgres: str) -> None:
        """The schema of a service is `keyturn`, and is never dropped."""
        for _ in range(2):
            with closing(SqlStore.open(Postgres(postgres, passing=True))) as service:
                service.perform(ops.CaseOpen(account="a", workflow="w", case="c"))
                assert len(rows_of(service)["cases"]) == 1
        assert SERVICE_SCHEMA in self.names(postgres)
        with pytest.raises(NotOurs, match="it is a Keyturn store, and this would have to be"):
            SqlStore.open_test(Postgres(postgres, SERVICE_SCHEMA))

    @pytest.mark.parametrize(
        ("statement", "says"),
        [
            ("CREATE SCHEMA {0}", "it was not made here"),
            ("CREATE SCHEMA {0}; COMMENT ON SCHEMA {0} IS 'a Keyturn test store'", "meta"),
        ],
    )
    def test_what_was_not_made_here_is_left_alone(self, schema: Postgres, statement: str, says: str) -> None:
        """The message says what, where, why and what to do."""
        with psycopg.connect(schema.dsn, autocommit=True) as outside:
            outside.execute(statement.format(schema.schema))
            with pytest.raises(NotOurs, match=says) as refusal:
                SqlStore.open_test(evolve(schema, passing=True))
            assert str(schema.schema) in str(refusal.value)
            found = outside.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", (schema.schema,))
            assert found.fetchall() == [(0,)]

    def test_a_name_must_be_plain(self, postgres: str) -> None:
        """It stands in SQL as it is."""
        with pytest.raises(NotOurs, match="the name of the schema"):
            SqlStore.open_test(Postgres(postgres, 'x"; DROP SCHEMA public'))

    def test_another_encoding_is_refused(self, postgres: str) -> None:
        """A database that cannot hold all text would lose answers."""
        with psycopg.connect(postgres, autocommit=True) as outside:
            outside.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
        with pytest.raises(NotOurs, match="keeps text as LATIN1"):
            SqlStore.open_test(Postgres(postgres.replace("dbname=postgres", "dbname=latin")))

    def test_a_race_for_a_new_schema_has_one_winner(self, schema: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        """When another process makes the schema in the meantime, that one is opened."""
        make = PostgresSchema._make

        def late(database: PostgresSchema) -> None:
            monkeypatch.setattr(PostgresSchema, "_make", make)
            SqlStore.open_test(schema).close()
            make(database)

        monkeypatch.setattr(PostgresSchema, "_make", late)
        with closing(SqlStore.open_test(schema)) as store:
            assert len(rows_of(store)["meta"]) == 1


def saying(statement: str) -> Callable[[Connection], None]:
    """A step that is one statement."""

    def step(connection: Connection) -> None:
        connection.exec_driver_sql(statement)

    return step


class TestMigrations:
    """Tables of an older version are brought up to date, once, and those of a newer one are left alone."""

    def test_it_can_be_run_twice(self, opened: SqlStore, schema: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each step is taken once, with the rows that are there; a second run, or a second process, changes nothing."""
        wanted = tables.SCHEMA_VERSION + 2
        monkeypatch.setattr(tables, "SCHEMA_VERSION", wanted)
        for version, name in ((wanted - 2, "first"), (wanted - 1, "second")):
            statement = f"ALTER TABLE cases ADD COLUMN {name} TEXT"
            monkeypatch.setitem(migrations.STEPS, version, saying(statement))
        for _ in range(2):
            SqlStore.open_test(schema).close()
        with shell(schema) as outside:
            assert outside.execute("SELECT schema_version FROM meta").fetchall() == [(wanted,)]
            assert outside.execute("SELECT first, second FROM cases").fetchall() == [(None, None)] * 3
        with opened.database.engine.begin() as connection:
            assert migrations.migrate(connection, wanted) == wanted

    def test_one_that_fails_changes_nothing(
        self, opened: SqlStore, schema: Postgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The steps and the version are one transaction."""
        rows = rows_of(opened)
        add = "ALTER TABLE cases ADD COLUMN first TEXT"
        for version, statement in ((tables.SCHEMA_VERSION, add), (tables.SCHEMA_VERSION + 1, "SELECT nothing")):
            monkeypatch.setitem(migrations.STEPS, version, saying(statement))
        with pytest.raises(NotOurs, match="nothing"):
            SqlStore.open_test(schema)
        assert rows_of(opened) == rows

    def test_another_version_is_left_alone(self, opened: SqlStore, schema: Postgres) -> None:
        """A store of the future, or one for which there is no step."""
        with shell(schema) as outside:
            outside.execute("UPDATE meta SET schema_version = 99")
        with pytest.raises(NotOurs, match="its tables are of version 99"):
            SqlStore.open_test(schema)


@pytest.mark.parametrize(("options", "level"), [({}, "on"), ({"synchronous": "normal"}, "off")], ids=["full", "normal"])
def test_a_commit_is_on_the_disk_before_it_is_reported(options: dict[str, Any], level: str, schema: Postgres) -> None:
    """Durability over speed is the default; a test may ask for less."""
    with closing(SqlStore.open_test(schema, **options)) as store, store.database.engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == level
