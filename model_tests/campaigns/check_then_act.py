"""A store that checks and then acts: it decides on what it read in one transaction, and writes in another without looking again.

This is what the load must find. Each half is a transaction, each answer is right when one person clicks at a time, and two
that click at the same moment both find the card Active. Nothing below holds it back either: its updates have no condition,
its effects are numbered on, and of the guards of the database those that could be dropped are.
"""

from attrs import evolve
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from keyturn.branches import Branch, Outcome
from keyturn.faults import Armed
from keyturn.operations import Effect, LedgerEntry, Operation
from keyturn.world import World
from keyturn_sql import reading, rows, schema, writing
from keyturn_sql.dialects import begin
from keyturn_sql.store import SqlStore
from keyturn_sql.writing import Kind, Rewriting

KINDS = (
    Kind(
        writing.CASES.among,
        writing.CASES.name,
        rows.CASE,
        Rewriting(schema.cases, rows.CASE.part("key"), rows.CASE.part("revision", "closed")),
    ),
    Kind(
        writing.INTERACTIONS.among,
        writing.INTERACTIONS.name,
        rows.INTERACTION,
        Rewriting(
            schema.interactions,
            rows.INTERACTION.part("id"),
            rows.INTERACTION.part("status", "resolved_at", "resolved_option", "result"),
        ),
    ),
    Kind(
        writing.COMMANDS.among,
        writing.COMMANDS.name,
        rows.COMMAND,
        Rewriting(schema.commands, rows.COMMAND.part("id"), rows.COMMAND.part("settlement", "reply")),
    ),
)
"""The records, each rewritten whatever it has become meanwhile."""

_ENTRY = rows.LEDGER_ENTRY.part("at", "card", "from_status", "event", "to_status", "cause")
_NEXT_OF_CARD = text("(SELECT coalesce(max(ordinal) + 1, 0) FROM effects WHERE card = :of_card)")
_NEW_EFFECT = schema.effects.insert().values(ordinal=_NEXT_OF_CARD).inline()
_GUARDS = ("one_open_blocking_card", "one_command_in_flight")


class CheckThenActStore(SqlStore):
    """The store without the one thing that makes it one: that nobody else changes what it decides on."""

    def drop_guards(self) -> None:
        """Drop what the database would refuse by itself."""
        with self.database.engine.connect() as connection, begin(connection, changes=True):
            for each in _GUARDS:
                connection.exec_driver_sql(f"DROP INDEX IF EXISTS {each}")

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
            _write(connection, before, chosen)
        return chosen


def _write(connection: Connection, before: World, branch: Branch) -> None:
    if rows.WORLD.row(before) != rows.WORLD.row(branch.world):
        writing.CLOCK(connection, before, branch.world)
    for kind in KINDS:
        kind.move(connection, before, branch.world)
    for kind in KINDS:
        kind.add(connection, before, branch.world)
    for each in branch.happened:
        if isinstance(each, LedgerEntry):
            connection.execute(schema.ledger.insert().inline(), _ENTRY.row(each))
        if isinstance(each, Effect):
            connection.execute(_NEW_EFFECT, {**rows.EFFECT.row(each), "of_card": each.card})
