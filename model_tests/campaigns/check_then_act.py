"""A store that checks and then acts: it decides on what it read in one transaction, and writes in another without looking again.

This is what the load must find. Each half is a transaction, each answer is right when one person clicks at a time, and two
that click at the same moment both find the card Active. Nothing below holds it back either: its updates have no condition,
its effects are numbered on, and of the guards of the database those that could be dropped are.
"""

from attrs import evolve
from sqlalchemy.exc import SQLAlchemyError

from keyturn.branches import Branch, Outcome
from keyturn.faults import Armed
from keyturn.operations import Operation
from keyturn_sql import reading
from keyturn_sql.dialects import begin
from keyturn_sql.store import SqlStore
from keyturn_testing.mutants.durable_commits import EVERYTHING
from keyturn_testing.mutants.durable_rows import NO_SECOND_COMMAND, NO_SECOND_QUESTION, drop_guards, keep_ids

GUARDS = (NO_SECOND_QUESTION, NO_SECOND_COMMAND)
"""What the database would refuse by itself."""


class CheckThenActStore(SqlStore):
    """The store without the one thing that makes it one: that nobody else changes what it decides on."""

    def drop_guards(self) -> None:
        """Drop what the database would refuse by itself."""
        drop_guards(self.database, GUARDS)

    def _in_one_transaction(self, operation: Operation, armed: Armed | None) -> Outcome:
        if not operation.changes:
            return super()._in_one_transaction(operation, armed)
        try:
            chosen = self._checked_then_acted(operation)
        except SQLAlchemyError as error:
            raise self._failure(operation, error, committing=False) from error
        return chosen.outcome  # type: ignore[return-value]  # nobody arms a fault here, so that every answer is heard

    def _checked_then_acted(self, operation: Operation) -> Branch:
        with self.database.engine.connect() as connection, begin(connection, changes=False):
            checked = reading.SLICES[type(operation)](connection, operation)
        with self.database.engine.connect() as connection, begin(connection, changes=True):
            # Ids come from the database, as anybody's would: a second one of the same name would give the mistake away.
            before = evolve(checked, issued=reading.clock(connection).issued)
            chosen = self._decide(before, operation, self.claims)[0]
            keep_ids(connection, chosen)
            for write in EVERYTHING:
                write(connection, before, chosen)
        return chosen
