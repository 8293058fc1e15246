"""Faults that happen for real, asked for or not: what is left in the file, and that the store goes on."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from keyturn import operations as ops
from keyturn.admissible import admissible
from keyturn.branches import Branch, Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.errors import Crashed, OperationFailed, Unsupported
from keyturn.faults import CRASHES, OF_A_CARD, FaultKind
from keyturn.responses import Accepted, InFlight, Presented, RefusalCode, Rejected
from keyturn.values import Instant
from keyturn.wire import write
from keyturn.world import World
from keyturn_sql import dialects
from keyturn_sql import store as stores
from keyturn_sql.database import NotOurs, Place, Postgres
from keyturn_sql.store import SqlStore
from keyturn_testing.commands.serving import schema_of
from keyturn_testing.systems.adapters import DATABASE_NAME

from . import shells
from .breakdowns import Arm
from .conftest import DATABASES
from .programs import COMMIT, THE_CASE, Answer, Close, Seen, Step, presents, start
from .tables import rows_of, world_of

CARD, PAY = presents("confirm"), Answer(back=0, option="pay")
UNVERIFIABLE, UNAVAILABLE = (Rejected(code=each) for each in (RefusalCode.UNVERIFIABLE, RefusalCode.UNAVAILABLE))
EDIT = ops.CaseEdit(account="anna", workflow="travel", case="trip")


@pytest.fixture
def seen() -> Seen:
    """What the steps of a test have named."""
    return Seen()


def take(store: SqlStore, seen: Seen, step: Step) -> Outcome:
    """Perform one step."""
    operation = step.meet(seen)
    outcome = store.perform(operation)
    seen.note(operation, outcome)
    return outcome


def without_faults(store: SqlStore) -> dict[str, list[tuple[object, ...]]]:
    """Every row, but for the faults that are armed."""
    found = rows_of(store)
    column = len(("id", "mark", "schema_version", "now", "issued", "next_result", "next_on_failure"))
    return {**found, "meta": [(*row[:column], *row[column + 1 :]) for row in found["meta"]]}


def shape_of(place: Place) -> list[object]:
    """The tables of a store, as they were declared."""
    return list(shells.run(place, shells.DECLARED))


class TestUnreadable:
    """I19.2, I19.3, I19.4: what cannot be read is `unverifiable`; nothing runs, and nothing is left of the damage."""

    @pytest.mark.parametrize("fault", sorted(OF_A_CARD))
    @pytest.mark.parametrize("step", [PAY, Answer(back=0, option="no"), Close(back=0)], ids=["yes", "no", "dismiss"])
    def test_the_rows_are_intact(self, store: SqlStore, place: Place, seen: Seen, fault: FaultKind, step: Step) -> None:
        """Every row and every table is as it was, for every connection, and the same answer is taken afterwards."""
        take(store, seen, CARD)
        rows, tables = without_faults(store), shape_of(place)
        take(store, seen, Arm(fault))
        assert len(world_of(store).armed) == 1
        assert take(store, seen, step) == UNVERIFIABLE
        assert (without_faults(store), shape_of(place), world_of(store).armed) == (rows, tables, ())
        with closing(SqlStore.open_test(place)) as other:
            assert not isinstance(take(other, seen, step), Rejected)

    def test_it_is_the_database_that_cannot_be_read(self, store: SqlStore, seen: Seen) -> None:
        """While the answer is decided the row is really not there: nothing that stands above it is asked to pretend."""
        take(store, seen, CARD)
        decided: list[ops.Operation] = []

        def watched(world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
            decided.append(operation)
            return admissible(world, operation, claims)

        with closing(SqlStore.open_test(store.database.place, decide=watched)) as other:
            take(other, seen, Arm(FaultKind.PAYLOAD_CORRUPT))
            decided.clear()
            assert take(other, seen, PAY) == UNVERIFIABLE
        assert len(decided) == 1


class TestUnwritten:
    """I6.2: what cannot be written is `unavailable`, nothing happened, and the connection writes again."""

    @pytest.mark.parametrize("step", [CARD, PAY, Answer(back=0, option="never"), Close(back=0), COMMIT], ids=str)
    def test_nothing_was_written(self, store: SqlStore, seen: Seen, step: Step) -> None:
        """Not a row; the next time it is, by the same connection."""
        take(store, seen, presents("confirm", blocking=False))
        if step is COMMIT:
            take(store, seen, PAY)
        rows = without_faults(store)
        take(store, seen, Arm(FaultKind.WRITE_FAILS))
        assert take(store, seen, step) == UNAVAILABLE
        assert without_faults(store) == rows
        assert not isinstance(take(store, seen, step), Rejected)

    def test_a_full_disk_is_said(self, file_store: SqlStore, seen: Seen) -> None:
        """No fault is armed: the database itself has no room, reads go on, and so does the store when there is some."""
        take(file_store, seen, CARD)
        big = presents("confirm", blocking=False, conversation="v" * 20_000)
        with limited_to_its_size(file_store):
            rows = rows_of(file_store)
            assert take(file_store, seen, big) == UNAVAILABLE
            assert rows_of(file_store) == rows
            assert isinstance(take(file_store, seen, PAY), Accepted)
        assert isinstance(take(file_store, seen, big), Presented)

    def test_a_connection_that_may_only_read_is_said(self, store: SqlStore, seen: Seen) -> None:
        """A change that cannot even begin has not happened."""
        take(store, seen, CARD)
        with store.database.engine.connect() as connection:
            connection.exec_driver_sql(shells.READ_ONLY[connection.dialect.name])
        rows = rows_of(store)
        assert [take(store, seen, each) for each in (CARD, PAY, Close(back=0))] == [UNAVAILABLE] * 3
        assert store.perform(EDIT) == UNAVAILABLE
        # What has no refusal fails for certain.
        with pytest.raises(OperationFailed, match=r"read-?only") as failure:
            store.perform(ops.CommandNext(result="failed"))
        assert failure.value.definite
        assert rows_of(store) == rows
        store.perform(ops.Restart())
        assert isinstance(take(store, seen, PAY), Accepted)

    def test_a_file_that_may_only_be_read_is_said(self, seen: Seen) -> None:
        """A file without the right to write it is read, and every change is refused; nothing is lost."""
        with tempfile.TemporaryDirectory() as folder, closing(SqlStore.open_test(Path(folder, "cards.db"))) as store:
            path = Path(folder, "cards.db")
            start(store.perform)
            take(store, seen, CARD)
            store.database.engine.dispose()
            # A reader keeps the log of the file: whoever may only read cannot make one.
            with closing(sqlite3.connect(path)) as reader:
                reader.execute("SELECT count(*) FROM meta").fetchall()
                with read_only(Path(folder)):
                    assert [take(store, seen, each) for each in (CARD, PAY)] == [UNAVAILABLE] * 2
                    assert store.perform(EDIT) == UNAVAILABLE
                    cards = store.perform(ops.CardList(account="anna", conversation="phone"))
                    assert isinstance(cards, ops.Cards)
                    assert [each.id for each in cards.cards] == [seen.cards[0][1].id]
            store.perform(ops.Restart())
            assert isinstance(take(store, seen, PAY), Accepted)


@contextmanager
def limited_to_its_size(store: SqlStore) -> Iterator[None]:
    """Let the store's connection find no room beyond what the file has."""
    with store.database.engine.connect() as connection:
        size = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {size}")
    yield
    with store.database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write a folder and its files from this process, which may be one of the superuser."""
    everything, is_root = [*folder.iterdir(), folder], os.geteuid() == 0
    for each in everything:
        each.chmod(0o555 if each is folder else 0o444)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for each in reversed(everything):
            each.chmod(0o755)


class TestUnheard:
    """I14.6: what nobody heard is committed, or it never happened; a retry finds out which."""

    @pytest.mark.parametrize("fault", [FaultKind.REPLY_LOST, *sorted(CRASHES)])
    def test_the_file_knows(self, store: SqlStore, place: Place, seen: Seen, fault: FaultKind) -> None:
        """Another connection sees at once what happened, and that the fault is spent."""
        take(store, seen, CARD)
        rows = without_faults(store)
        take(store, seen, Arm(fault))
        with pytest.raises((Crashed, OperationFailed)) as raised:
            take(store, seen, PAY)
        assert not getattr(raised.value, "definite", False)
        happened = fault is not FaultKind.CRASH_BEFORE_COMMIT
        with closing(SqlStore.open_test(place)) as other:
            assert (without_faults(other) != rows, world_of(other).armed) == (happened, ())
            again = take(other, seen, PAY)
            assert isinstance(again, InFlight if happened else Accepted)
            assert len(world_of(other).commands) == 1

    def test_a_fault_that_hit_elsewhere_does_not_hit_again(
        self, store: SqlStore, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two processes share a file: between the look that finds the fault and the step that it hits, the other is hit."""
        store.perform(ops.FaultArm(fault=FaultKind.WRITE_FAILS))
        begin, begun = dialects.begin, list[bool]()
        with closing(SqlStore.open_test(place)) as other:

            def begin_later(connection: Any, *, changes: bool) -> Any:
                begun.append(changes)
                if len(begun) == 2:
                    begun.append(other.perform(EDIT) == UNAVAILABLE)
                return begin(connection, changes=changes)

            monkeypatch.setattr(stores, "begin", begin_later)
            assert isinstance(store.perform(EDIT), ops.CaseEdited)
        assert all(begun)

    def test_a_service_is_not_harmed(self, place: Place) -> None:
        """Nobody arms a fault in the store of a service, and it does not claim that somebody could."""
        with closing(SqlStore.open(place)) as service:
            assert service.describe()["claims"] == sorted(ALL_CLAIMS - {Capability.FAULTS})
            with pytest.raises(Unsupported, match="never wiped or harmed"):
                service.perform(ops.FaultArm(fault=FaultKind.WRITE_FAILS))
        with pytest.raises(NotOurs):
            SqlStore.open_test(place)


class Served:
    """`keyturn serve SYSTEM --stdio` as a process of its own, as the suite starts it: with a folder."""

    def __init__(self, system: str, folder: Path) -> None:
        command = [sys.executable, "-m", "keyturn_testing.main", "serve", system, "--stdio"]
        env = {**os.environ, "KEYTURN_DATA": str(folder)}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def call(self, method: str, **params: object) -> dict[str, Any] | None:
        """Ask and wait; nothing stands for a process that ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def asked(self, operation: ops.Operation) -> dict[str, Any] | None:
        """Ask for an operation."""
        params = write(operation)
        assert isinstance(params, dict)
        return self.call(operation.method, **params)

    def end(self) -> int:
        """Wait for the end, and return how it ended."""
        self.process.communicate(timeout=30)
        return self.process.returncode


@pytest.mark.parametrize("fault", sorted(CRASHES))
@pytest.mark.parametrize("database", DATABASES)
def test_a_process_ends_by_itself(
    tmp_path: Path, request: pytest.FixtureRequest, database: str, seen: Seen, fault: FaultKind
) -> None:
    """I14.6, L11: it is killed at the moment that was asked for, and the next process finds what was committed, once."""
    system, place = "sqlite", cast(Place, tmp_path / DATABASE_NAME)
    if database == "postgresql":
        dsn = request.getfixturevalue("postgres")
        system, place = f"postgres:{dsn}", Postgres(dsn, schema_of(tmp_path))
    served = Served(system, tmp_path)
    served.call("reset", now="2026-01-01T00:00:00Z")
    served.call("case.open", **THE_CASE)
    presented = served.asked(CARD.meet(seen))
    assert presented is not None
    card = presented["result"]["card"]["id"]
    assert served.call("fault.arm", fault=fault) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    response = {"interaction_id": card, "option_id": "pay", "expected_case_revision": 1}
    answer = {"account": "anna", "conversation": "phone", "response": response}
    assert served.call("card.respond", **answer) is None
    assert served.end() == -signal.SIGKILL
    happened = fault is FaultKind.CRASH_AFTER_COMMIT
    with closing(SqlStore.open_test(place)) as store:
        world = world_of(store)
        assert (world.armed, len(world.commands)) == ((), int(happened))
        assert world.interactions[0].status == ("resolving" if happened else "active")
    again = Served(system, tmp_path)
    taken = again.call("card.respond", **answer)
    assert taken is not None
    assert taken["result"]["outcome"] == ("in_flight" if happened else "accepted")
    settled = again.call("command.settle", command=taken["result"]["command"], result="committed")
    assert settled is not None
    assert settled["result"]["outcome"] == "resolved"
    assert again.end() == 0


def test_a_reset_forgets_what_was_armed(store: SqlStore, seen: Seen) -> None:
    """`reset` forgets everything, and is itself hit by nothing."""
    take(store, seen, CARD)
    for fault in FaultKind:
        take(store, seen, Arm(fault))
    store.perform(ops.Reset(now=Instant(7)))
    assert world_of(store).armed == ()
    start(store.perform)
    assert isinstance(take(store, seen, CARD), Presented)
