"""Stores that use more than one transaction for a change: what stands between the two is not looked at, or is lost.

Each decides as the kernel does. While a fault is armed, and where nothing would happen, it does what the SQL store does.
Between the two transactions it pauses for a moment, so that what can happen there happens as often as in the field.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from attrs import evolve, frozen
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from keyturn import operations as ops
from keyturn.branches import Branch, Outcome, Unheard
from keyturn.errors import OperationFailed
from keyturn.status import InteractionStatus
from keyturn.wire import is_sendable_operation
from keyturn.world import World
from keyturn_sql import reading
from keyturn_sql.database import Database
from keyturn_sql.dialects import begin
from keyturn_sql.rows import Damaged
from keyturn_sql.store import Crash, SqlStore, Watch
from keyturn_testing.mutants.base import with_card
from keyturn_testing.mutants.durable_rows import (
    Write,
    drop_guards,
    keep_ids,
    take_back_effects,
    write_effects,
    write_ledger,
    write_rows,
)

Window = Callable[[], None]
"""What is done between the two transactions: a pause, or what a test wants to happen there."""


@frozen(kw_only=True)
class Around:
    """What surrounds a store: what ends its process, who is told how far it is, and what is done between two transactions."""

    crash: Crash
    watch: Watch
    window: Window


ANSWERS: tuple[type[ops.Operation], ...] = (ops.CardRespond, ops.CardDismiss, ops.CommandSettle)
"""What takes an answer, or lets it take effect."""

CHANGES_OF_CARDS: tuple[type[ops.Operation], ...] = (
    *ANSWERS,
    ops.CardPresent,
    ops.CaseEdit,
    ops.CaseClose,
    ops.CardWithdraw,
    ops.CardExpireDue,
)
"""What can write an entry of the ledger."""

EVERYTHING: tuple[Write, ...] = (write_rows, write_effects, write_ledger)
"""All parts of a change, in the order of the SQL store."""

_ONE_AT_A_TIME = Lock()


class OwnWay(SqlStore):
    """The SQL store, which does some operations in a way of its own."""

    def __init__(
        self,
        database: Database,
        around: Around,
        *,
        own: tuple[type[ops.Operation], ...] = (),
        without: tuple[str, ...] = (),
    ) -> None:
        """Do `own` in its own way, in a database `without` some of its guards."""
        super().__init__(database, crash=around.crash, watch=around.watch)
        self.around = around
        self.own = own
        drop_guards(database, without)

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation in the store's own way, or as the SQL store does where that says nothing."""
        if isinstance(operation, self.own) and is_sendable_operation(operation):
            outcome = self._perform_failing(operation)
            if outcome is not None:
                return outcome
        return super().perform(operation)

    def _perform_failing(self, operation: ops.Operation) -> Outcome | None:
        try:
            return self.in_its_way(operation)
        except Damaged:
            return None
        except SQLAlchemyError as error:
            raise OperationFailed(f"{operation.method}: the database could not do it", definite=False) from error

    def in_its_way(self, operation: ops.Operation) -> Outcome | None:
        """Perform one operation, or nothing of it where the SQL store shall."""
        raise NotImplementedError

    @contextmanager
    def change(self) -> Iterator[Connection]:
        """Give a transaction that owns the store."""
        with self.database.engine.connect() as connection, begin(connection, changes=True):
            self.around.watch("reading")
            yield connection
            self.around.watch("committing")
        self.around.watch("committed")

    def decided(self, before: World, operation: ops.Operation) -> Branch | None:
        """Return what the kernel makes of an operation, unless nothing happens or something is armed to go wrong."""
        if before.armed:
            return None
        chosen = self._decide(before, operation, self.claims)[0]
        return chosen if chosen.happened and not isinstance(chosen.outcome, Unheard) else None


def heard(branch: Branch) -> Outcome:
    """Return what a branch answers; where nothing is armed somebody hears it."""
    assert not isinstance(branch.outcome, Unheard)
    return branch.outcome


def read(connection: Connection, operation: ops.Operation) -> World:
    """Return the slice of the world that an operation can touch."""
    return reading.SLICES[type(operation)](connection, operation)


def still_waiting(world: World, operation: ops.Operation) -> World:
    """Return the world in which the card of a command that is not settled waits for it, also when another one settled it."""
    command = world.command(operation.command) if isinstance(operation, ops.CommandSettle) else None
    card = None if command is None else world.interaction(command.card)
    if command is None or command.settlement is not None or card is None:
        return world
    return with_card(world, evolve(card, status=InteractionStatus.RESOLVING, result=None))


class CheckThenAct(OwnWay):
    """Decides on what it read in one transaction, and writes in another one without looking again.

    The ids of what will be are written with the first one, as a sequence of a database would give them out.
    """

    def in_its_way(self, operation: ops.Operation) -> Outcome | None:
        """Check, and then act."""
        with self.change() as connection:
            before = read(connection, operation)
            chosen = self.decided(still_waiting(before, operation), operation)
            if chosen is None:
                return None
            keep_ids(connection, chosen)
        self.around.window()
        with self.change() as connection:
            for write in EVERYTHING:
                write(connection, before, chosen)
        return heard(chosen)


class LockPerProcess(CheckThenAct):
    """The same, with a lock around every change that the threads of one process share, and no other process."""

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one change at a time."""
        if not operation.changes:
            return super().perform(operation)
        with _ONE_AT_A_TIME:
            return super().perform(operation)


class TwoCommits(OwnWay):
    """Writes a change in two transactions, so that what ends the process between them leaves one half."""

    def __init__(
        self,
        database: Database,
        around: Around,
        *,
        own: tuple[type[ops.Operation], ...],
        first: tuple[Write, ...],
        then: tuple[Write, ...],
        cuts: Callable[[Branch], bool] = lambda branch: True,
    ) -> None:
        """Write `first` one part of the changes that it `cuts`, and `then` the other."""
        super().__init__(database, around, own=own)
        self.first, self.then, self.cuts = first, then, cuts

    def in_its_way(self, operation: ops.Operation) -> Outcome | None:
        """Write one part of the change, and then the other, if the rows of it are still as they were read."""
        with self.change() as connection:
            before = read(connection, operation)
            chosen = self.decided(before, operation)
            if chosen is None or not self.cuts(chosen):
                return None
            keep_ids(connection, chosen)
            for write in self.first:
                write(connection, before, chosen)
        self.around.window()
        with self.change() as connection:
            if write_rows in self.then and not _are_as_before(before, read(connection, operation)):
                take_back_effects(connection, chosen)
                return None
            for write in self.then:
                write(connection, before, chosen)
        return heard(chosen)


def _are_as_before(before: World, now: World) -> bool:
    """Whether the rows of a slice are what they were; other ids may have been given out."""
    return evolve(before, issued=now.issued) == now
