"""Writing without looking: the parts of a change one by one, whatever the rows have become since they were read.

The SQL store writes a change whole, in one transaction, and each row only while it is what was read. A store that cuts its
change in two, or does not look again, writes with these. What a guard of the database would refuse is written all the same.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from sqlalchemy import Connection, Update, bindparam, func, select, text

from keyturn.branches import Branch
from keyturn.operations import NOTHING_COUNTED, Effect, LedgerEntry
from keyturn.store import counted
from keyturn.values import CardId
from keyturn.world import World
from keyturn_sql import rows, schema, writing
from keyturn_sql.database import Database
from keyturn_sql.dialects import begin

Write = Callable[[Connection, World, Branch], None]
"""Writes one part of what became of the slice that was read."""

NO_SECOND_COMMAND, NO_SECOND_QUESTION = "one_command_in_flight", "one_open_blocking_card"
"""The guards of the database that a store can be without."""

_KEYS: Mapping[str, tuple[str, ...]] = {
    schema.cases.name: rows.CASE_KEY.columns,
    schema.interactions.name: ("id",),
    schema.commands.name: ("id",),
}
_ENTRY = rows.LEDGER_ENTRY.part("at", "card", "from_status", "event", "to_status", "cause")
_COMING = rows.WORLD.part("next_settlement")


def drop_guards(database: Database, guards: Iterable[str]) -> None:
    """Take guards out of the database, where they still are."""
    with database.engine.connect() as connection, begin(connection, changes=True):
        for each in guards:
            connection.execute(text(f"DROP INDEX IF EXISTS {each}"))


def _overwriting(kind: writing.Kind[Any]) -> Update:
    table = kind.rewrite.table
    return table.update().where(*(table.c[each] == bindparam(f"key_{each}") for each in _KEYS[table.name]))


_OVERWRITES = tuple((kind, _overwriting(kind)) for kind in writing.KINDS)


def _overwrite(connection: Connection, kind: writing.Kind[Any], statement: Update, before: World, after: World) -> None:
    for old, new in kind.changed(before, after):
        if old is not None:
            cells = kind.shape.row(new)
            key = {f"key_{each}": cells[each] for each in _KEYS[kind.rewrite.table.name]}
            connection.execute(statement, key | kind.rewrite.becomes.row(new))


def write_rows(connection: Connection, before: World, branch: Branch) -> None:
    """Write what became of the cases, the cards and the commands, over whatever is there, and the counters."""
    after = branch.world
    for kind, statement in _OVERWRITES:
        _overwrite(connection, kind, statement, before, after)
    for kind in writing.KINDS:
        kind.add(connection, before, after)
    if before.next_settlement != after.next_settlement:
        connection.execute(schema.meta.update().values(_COMING.row(after)))
    more = counted(branch.happened, branch.outcome)
    if more != NOTHING_COUNTED:
        added = {name: schema.meta.c[name] + cell for name, cell in rows.METRICS.row(more).items()}
        connection.execute(schema.meta.update().values(added))


def write_ledger(connection: Connection, before: World, branch: Branch) -> None:
    """Write the entries of the ledger."""
    entries = [_ENTRY.row(each) for each in branch.happened if isinstance(each, LedgerEntry)]
    if entries:
        connection.execute(schema.ledger.insert().inline(), entries)


def write_effects(connection: Connection, before: World, branch: Branch) -> None:
    """Write the effects; those of a card that has some already are counted on, so that no guard sees the second commit."""
    effects = list(effects_of(branch))
    numbers = {each: count(_next_ordinal(connection, each)) for each in {effect.card for effect in effects}}
    for each in effects:
        cells = {**rows.EFFECT.row(each), "ordinal": next(numbers[each.card])}
        connection.execute(schema.effects.insert().inline(), cells)


def _next_ordinal(connection: Connection, card: CardId) -> int:
    last = select(func.coalesce(func.max(schema.effects.c.ordinal), -1)).where(schema.effects.c.card == card)
    return int(connection.execute(last).scalar_one()) + 1


def effects_of(branch: Branch) -> Iterator[Effect]:
    """Return what a branch makes happen in the world outside."""
    return (each for each in branch.happened if isinstance(each, Effect))


def take_back_effects(connection: Connection, branch: Branch) -> None:
    """Delete the effects of a branch that did not come about."""
    ids = [each.id for each in effects_of(branch)]
    connection.execute(schema.effects.delete().where(schema.effects.c.id.in_(ids)))


def keep_ids(connection: Connection, branch: Branch) -> None:
    """Write which ids a branch has used up, so that nobody else gets them (I6.7)."""
    connection.execute(schema.meta.update().values(issued=branch.world.issued))
