"""Stores that leave to their process what belongs into the database, or say more of a commit than they know.

What lives in a process is gone when it ends, and no other process ever sees it. A client that asks one process, which goes
on, gets the answers of the SQL store.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from threading import Event, Lock, Thread
from typing import Final

from attrs import evolve
from sqlalchemy import StaticPool, create_engine
from sqlalchemy.exc import SQLAlchemyError

from keyturn import operations as ops
from keyturn.admissible import admissible
from keyturn.branches import Branch, Outcome
from keyturn.capabilities import Claims
from keyturn.errors import OperationFailed
from keyturn.responses import Accepted, InFlight, Rejected, named_card
from keyturn.status import InteractionStatus
from keyturn.values import CardId, IdempotencyKey, Untrusted
from keyturn.wire import is_sendable_operation
from keyturn.world import World
from keyturn_sql import reading, schema
from keyturn_sql.database import Database
from keyturn_sql.dialects import begin
from keyturn_sql.rows import Damaged
from keyturn_sql.store import SqlStore
from keyturn_testing.mutants.base import with_card
from keyturn_testing.mutants.durable_commits import EVERYTHING, Around, OwnWay, heard, read, still_waiting
from keyturn_testing.mutants.durable_rows import NO_SECOND_COMMAND, NO_SECOND_QUESTION, keep_ids

LAG_SECONDS: Final = 0.2
"""How often a copy is made anew that is read from, at least."""

_READS = (ops.CardGet, ops.CardList, ops.ReadEffects, ops.ReadLedger, ops.ReadMetrics)
_ANSWERED = (InteractionStatus.RESOLVING, InteractionStatus.RESOLVED)
_STARTS = count()


class RemembersAnswers(OwnWay):
    """Knows from a dictionary of its process, and not from the rows, which cards have been answered."""

    def __init__(self, database: Database, around: Around) -> None:
        super().__init__(database, around, own=(ops.CardRespond, ops.CommandSettle), without=(NO_SECOND_COMMAND,))
        self._answered: dict[str, bool] = {}
        self._lock = Lock()

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation; a restart forgets what was answered."""
        if isinstance(operation, ops.Restart):
            self._answered.clear()
        if not isinstance(operation, ops.CardRespond):
            return super().perform(operation)
        # The threads of the process take turns, so that each finds what the others have remembered.
        with self._lock:
            try:
                return super().perform(operation)
            finally:
                self._answered[named_card(operation.response) or ""] = True

    def in_its_way(self, operation: ops.Operation) -> Outcome | None:
        """Take an answer that it does not remember as the first one, and settle what became of it."""
        with self.change() as connection:
            before = read(connection, operation)
            believed, meant = self._first_answer(before, operation)
            chosen = None if believed is before else self.decided(believed, meant)
            if chosen is None or isinstance(chosen.outcome, Rejected):
                return None
            keep_ids(connection, chosen)
            for write in EVERYTHING:
                write(connection, before, chosen)
        return heard(chosen)

    def _first_answer(self, world: World, operation: ops.Operation) -> tuple[World, ops.Operation]:
        """Return the world and the operation as they would be if what it does not remember had never been."""
        if not isinstance(operation, ops.CardRespond):
            return still_waiting(world, operation), operation
        named = named_card(operation.response)
        card = None if named is None or named in self._answered else world.interaction(named)
        if card is None or card.status not in _ANSWERED or not isinstance(operation.response, Mapping):
            return world, operation
        # The case has moved by what came of the first answer; nobody is told that it is late.
        now = None if card.case_revision is None else world.revision(card.key)
        asked = evolve(operation, response=Untrusted({**operation.response, "expected_case_revision": now}))
        waiting = evolve(
            card,
            status=InteractionStatus.ACTIVE,
            case_revision=now,
            resolved_option=None,
            resolved_at=None,
            result=None,
        )
        return with_card(world, waiting), asked


class MakesKeysAnew(SqlStore):
    """Derives the idempotency keys that it tells from its process, and from how often that was started."""

    def __init__(self, database: Database, around: Around) -> None:
        super().__init__(database, crash=around.crash, watch=around.watch)
        self._start = self._begin()

    def _begin(self) -> str:
        return f"{os.getpid()}-{next(_STARTS)}"

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation, and tell its keys as those of this process."""
        if isinstance(operation, ops.Restart):
            self._start = self._begin()
        outcome = super().perform(operation)
        match outcome:
            case Accepted() | InFlight():
                key = outcome.idempotency_key
                return outcome if key is None else evolve(outcome, idempotency_key=self._of_this_start(key))
            case ops.Effects():
                told = (
                    evolve(each, idempotency_key=self._of_this_start(each.idempotency_key)) for each in outcome.effects
                )
                return ops.Effects(effects=tuple(told))
            case _:
                return outcome

    def _of_this_start(self, key: IdempotencyKey) -> IdempotencyKey:
        return IdempotencyKey(f"{key}-{self._start}")


class KeepsWhatIsPending(OwnWay):
    """Has the content of a card that waits in the memory of its process only: without that the row is as good as none."""

    def __init__(self, database: Database, around: Around) -> None:
        super().__init__(database, around, without=(NO_SECOND_QUESTION,))
        self._decide = self._of_what_is_held
        self._held: set[CardId] = set()

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation; a restart loses what was held."""
        if isinstance(operation, ops.Restart):
            self._held.clear()
        return super().perform(operation)

    def _of_what_is_held(self, world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
        there = tuple(
            each for each in world.interactions if each.status is not InteractionStatus.ACTIVE or each.id in self._held
        )
        branches = admissible(evolve(world, interactions=there), operation, claims)
        after = branches[0].world.interactions
        self._held |= {each.id for each in after if each.status is InteractionStatus.ACTIVE}
        return branches


class ReadsFromACopy(SqlStore):
    """Reads from a copy that is made anew after each change of its own, and else every `LAG_SECONDS`, by a thread."""

    def __init__(self, database: Database, around: Around) -> None:
        super().__init__(database, crash=around.crash, watch=around.watch)
        # One connection, because a database in memory is its connection's; whoever uses it holds the lock.
        self._copy = create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        self._lock, self._closed = Lock(), Event()
        schema.metadata.create_all(self._copy)
        self._renew()
        self._following = Thread(target=self._follow, daemon=True)
        self._following.start()

    def close(self) -> None:
        """Close every connection; the rows stay."""
        self._closed.set()
        self._following.join()
        self._copy.dispose()
        super().close()

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation; what reads looks at the copy."""
        if isinstance(operation, _READS) and is_sendable_operation(operation):
            return self._read(operation)
        try:
            return super().perform(operation)
        finally:
            if operation.changes or isinstance(operation, ops.Restart):
                self._renew()

    def _read(self, operation: ops.Operation) -> Outcome:
        with self._lock, self._copy.connect() as connection:
            tell = reading.HISTORIES.get(type(operation))
            if tell is not None:
                return tell(connection, operation)
            try:
                before = read(connection, operation)
            except Damaged as error:
                raise OperationFailed(f"{operation.method}: {error}; nothing was done", definite=True) from error
        return heard(self._decide(before, operation, self.claims)[0])

    def _follow(self) -> None:
        while not self._closed.wait(LAG_SECONDS):
            # What cannot be read now, while it is opened again, is read the next time.
            with suppress(SQLAlchemyError):
                self._renew()

    def _renew(self) -> None:
        """Copy all rows, as they are at one moment."""
        tables = (schema.meta, *reversed(schema.CHILDREN_FIRST))
        with self._lock:
            with self.database.engine.connect() as connection, begin(connection, changes=False):
                found = {each.name: connection.execute(each.select()).mappings().all() for each in tables}
            with self._copy.begin() as connection:
                for each in tables:
                    connection.execute(each.delete())
                    if found[each.name]:
                        connection.execute(each.insert(), [dict(row) for row in found[each.name]])


class IsTooSure(SqlStore):
    """Says of every failure that it is definite, also of one whose change was committed, or may have been."""

    def __init__(self, database: Database, around: Around) -> None:
        super().__init__(database, crash=around.crash, watch=around.watch)

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation; what fails has not happened, it says."""
        try:
            return super().perform(operation)
        except OperationFailed as failure:
            raise OperationFailed(failure.message, definite=True) from failure
