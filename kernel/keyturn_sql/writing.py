"""Writing: the difference between the slice before and the world that the kernel chose, and what happened on the way.

Every change of a row is conditional on what the row was when it was read: it must touch exactly one row, or the whole
operation is taken back. What ends a card is written before the card that takes its slot (I5.3); ledger and effects come
last. No statement could change a payload, an option or a bound revision: only the fields named here move (I6.5).
"""

from collections.abc import Callable, Hashable, Iterable
from itertools import count
from typing import Generic

from attrs import field, frozen
from sqlalchemy import Connection, Insert, Table, Update, bindparam, text

from keyturn.branches import Branch
from keyturn.cards import Interaction
from keyturn.errors import OperationFailed
from keyturn.operations import NOTHING_COUNTED, Effect, LedgerEntry
from keyturn.store import counted
from keyturn.world import Case, Command, World
from keyturn_sql import rows, schema
from keyturn_sql.rows import Cell, Record, Shape


@frozen
class Rewriting(Generic[Record]):
    """One conditional update: which fields must still be as they were, and which fields are written."""

    table: Table
    was: Shape[Record]
    becomes: Shape[Record]
    and_only_if: str | None = None
    _statement: Update = field(init=False)

    @_statement.default
    def _conditional(self) -> Update:
        columns = self.table.c
        statement = self.table.update().where(*(columns[each] == bindparam(f"was_{each}") for each in self.was.columns))
        return statement if self.and_only_if is None else statement.where(text(self.and_only_if))

    def __call__(self, connection: Connection, before: Record, after: Record) -> None:
        """Write one change; raise `OperationFailed` when the row is no longer what it was."""
        cells: dict[str, Cell] = {f"was_{column}": cell for column, cell in self.was.row(before).items()}
        touched = connection.execute(self._statement, cells | self.becomes.row(after)).rowcount
        if touched != 1:
            row = ", ".join(map(str, self.was.row(before).values()))
            raise OperationFailed(
                f"{self.table.name} ({row}) was no longer as it was read, so nothing was written", definite=True
            )


@frozen
class Kind(Generic[Record]):
    """One kind of record in a world: where it is, what names it, and how it is written."""

    among: Callable[[World], tuple[Record, ...]]
    name: Callable[[Record], Hashable]
    shape: Shape[Record]
    rewrite: Rewriting[Record]
    _insert: Insert = field(init=False)

    @_insert.default
    def _new_row(self) -> Insert:
        # Inline: the number that the database gives a row is not asked for.
        return self.rewrite.table.insert().inline()

    def changed(self, before: World, after: World) -> Iterable[tuple[Record | None, Record]]:
        """Return each record that is new or changed, with what it was; a world never loses one."""
        known = {self.name(each): each for each in self.among(before)}
        pairs = ((known.get(self.name(each)), each) for each in self.among(after))
        return [(old, new) for old, new in pairs if old is not new and old != new]

    def move(self, connection: Connection, before: World, after: World) -> None:
        """Write what became of the records that were there."""
        for old, new in self.changed(before, after):
            if old is not None:
                self.rewrite(connection, old, new)

    def add(self, connection: Connection, before: World, after: World) -> None:
        """Write the records that were not there."""
        for new in (new for old, new in self.changed(before, after) if old is None):
            connection.execute(self._insert, self.shape.row(new))


CASES = Kind(
    lambda world: world.cases,
    lambda case: case.key,
    rows.CASE,
    Rewriting(schema.cases, rows.CASE, rows.CASE.part("revision", "closed")),
)
"""A case moves from the revision that was read (I13)."""

INTERACTIONS = Kind(
    lambda world: world.interactions,
    lambda card: card.id,
    rows.INTERACTION,
    Rewriting(
        schema.interactions,
        rows.INTERACTION.part("id", "status"),
        rows.INTERACTION.part("status", "resolved_at", "resolved_option", "result"),
        schema.IS_OPEN,
    ),
)
"""A card moves from the status that was read, and never from a terminal one (L2)."""

COMMANDS = Kind(
    lambda world: world.commands,
    lambda command: command.id,
    rows.COMMAND,
    Rewriting(
        schema.commands,
        rows.COMMAND.part("id", "card"),
        rows.COMMAND.part("settlement", "reply"),
        "settled_result IS NULL",
    ),
)
"""A command is settled once (L5)."""

CLOCK = Rewriting(schema.meta, rows.WORLD.part("issued"), rows.WORLD)
"""The counter moves from where it was read, in the transaction that uses the ids (I6.7)."""

KINDS: tuple[Kind[Case] | Kind[Interaction] | Kind[Command], ...] = (CASES, INTERACTIONS, COMMANDS)
"""In an order that the foreign keys admit."""

_ENTRY = rows.LEDGER_ENTRY.part("at", "card", "from_status", "event", "to_status", "cause")
_NEW_ENTRY = schema.ledger.insert().inline()
_NEW_EFFECT = schema.effects.insert().inline()
_COUNT = schema.meta.update().values(
    {each: schema.meta.c[each] + bindparam(f"more_{each}") for each in schema.COUNTERS}
)


def write(connection: Connection, before: World, branch: Branch) -> None:
    """Write everything that a branch changes; raise `OperationFailed`, or the database's own error, to take it back."""
    after = branch.world
    if rows.WORLD.row(before) != rows.WORLD.row(after):
        CLOCK(connection, before, after)
    for kind in KINDS:
        kind.move(connection, before, after)
    for kind in KINDS:
        kind.add(connection, before, after)
    # The ledger is numbered by the database, over the whole store (E1).
    entries = [_ENTRY.row(each) for each in branch.happened if isinstance(each, LedgerEntry)]
    effects = [rows.EFFECT.row(each) for each in branch.happened if isinstance(each, Effect)]
    ordinals: dict[Cell, count[int]] = {each["card"]: count() for each in effects}
    if entries:
        connection.execute(_NEW_ENTRY, entries)
    more = counted(branch.happened, branch.outcome)
    if more != NOTHING_COUNTED:
        connection.execute(_COUNT, {f"more_{name}": cell for name, cell in rows.METRICS.row(more).items()})
    if effects:
        connection.execute(_NEW_EFFECT, [{**each, "ordinal": next(ordinals[each["card"]])} for each in effects])


def forget(connection: Connection) -> None:
    """Delete every row but the one with the counters: ids are issued once, also over a reset (I6.7); others begin anew."""
    connection.execute(schema.meta.update().values(rows.METRICS.row(NOTHING_COUNTED)))
    for table in schema.CHILDREN_FIRST:
        connection.execute(table.delete())
