"""Reading: the slice of the world that an operation can touch, and the history, which nothing in the future depends on.

The kernel's rules look at a whole world; each of them looks at a known part of it. A slice is a world that holds that
part in the same order, so that the rules give for it what they would give for the whole. A card is only read for its
owner: for a stranger the slice holds nothing, as for an id that never existed (I19.1).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

from attrs import evolve
from sqlalchemy import Connection, Select, Table, bindparam, select, text

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.cards import Interaction
from keyturn.responses import named_card
from keyturn.values import CaseKey
from keyturn.world import Case, Command, World
from keyturn_sql import rows, schema
from keyturn_sql.rows import Cell, Cells, Record, Shape

Query: TypeAlias = Select[*tuple[object, ...]]


def _select(table: Table, shape: Shape[Record]) -> Query:
    return select(*(table.c[column] for column in shape.columns))


def _given(statement: Query, table: Table, *columns: str) -> Query:
    return statement.where(*(table.c[column] == bindparam(column) for column in columns))


_CARDS = _select(schema.interactions, rows.INTERACTION)
_BY_AGE = _CARDS.order_by(schema.interactions.c.position)
_COMMANDS = _select(schema.commands, rows.COMMAND).order_by(schema.commands.c.position)

META = _select(schema.meta, rows.WORLD)
COUNTERS = _select(schema.meta, rows.METRICS)
CASE = _given(_select(schema.cases, rows.CASE), schema.cases, *rows.CASE_KEY.columns)
CARD = _given(_CARDS, schema.interactions, "id")
OWNED_CARD = _given(CARD, schema.interactions, "account", "conversation")
OPEN_CARDS_OF_CASE = _given(_BY_AGE, schema.interactions, *rows.CASE_KEY.columns).where(text(schema.IS_OPEN))
OCCUPANT = _given(_CARDS, schema.interactions, *rows.CASE_KEY.columns).where(text(schema.OCCUPIES))
OPEN_CARDS_OF_CONVERSATION = _given(_BY_AGE, schema.interactions, "account", "conversation").where(text(schema.IS_OPEN))
OVERDUE = _BY_AGE.where(
    text(schema.CAN_EXPIRE), schema.interactions.c.expires_at <= select(schema.meta.c.now).scalar_subquery()
)
COMMAND = _given(_COMMANDS, schema.commands, "id")
COMMANDS_OF_CARD = _given(_COMMANDS, schema.commands, "card")
EFFECTS = _given(
    _select(schema.effects, rows.EFFECT).join(schema.interactions).order_by(schema.effects.c.position),
    schema.interactions,
    *rows.CASE_KEY.columns,
)
LEDGER = _given(
    _select(schema.ledger, rows.LEDGER_ENTRY).join(schema.interactions).order_by(schema.ledger.c.seq),
    schema.interactions,
    *rows.CASE_KEY.columns,
)


def _found(connection: Connection, query: Query, given: Mapping[str, Cell]) -> Sequence[Cells]:
    return cast(Sequence[Cells], connection.execute(query, given).all())


def _cards(connection: Connection, query: Query, **given: Cell) -> tuple[Interaction, ...]:
    return tuple(map(rows.interaction, _found(connection, query, given)))


def _cases(connection: Connection, key: CaseKey) -> tuple[Case, ...]:
    return tuple(map(rows.CASE.record, _found(connection, CASE, rows.CASE_KEY.row(key))))


def _commands(connection: Connection, query: Query, **given: Cell) -> tuple[Command, ...]:
    return tuple(map(rows.COMMAND.record, _found(connection, query, given)))


def _world(
    connection: Connection,
    *,
    cases: tuple[Case, ...] = (),
    interactions: tuple[Interaction, ...] = (),
    commands: tuple[Command, ...] = (),
) -> World:
    (meta,) = map(rows.WORLD.record, _found(connection, META, {}))
    return evolve(meta, cases=cases, interactions=interactions, commands=commands)


def _around(connection: Connection, card: Interaction, commands: tuple[Command, ...]) -> World:
    """Everything that moving one card can touch: its case, and the open cards of that case."""
    others = _cards(connection, OPEN_CARDS_OF_CASE, **rows.CASE_KEY.row(card.key))
    known = any(each.id == card.id for each in others)
    interactions = others if known else (card, *others)
    return _world(connection, cases=_cases(connection, card.key), interactions=interactions, commands=commands)


def clock(connection: Connection) -> World:
    """Return what of a world is neither a case nor a card nor a command."""
    return _world(connection)


def _clock(connection: Connection, operation: ops.Operation) -> World:
    return clock(connection)


def _case(connection: Connection, operation: ops.CaseOpen) -> World:
    return _world(connection, cases=_cases(connection, operation.key))


def _edited(connection: Connection, operation: ops.CaseOperation) -> World:
    cards = _cards(connection, OPEN_CARDS_OF_CASE, **rows.CASE_KEY.row(operation.key))
    return _world(connection, cases=_cases(connection, operation.key), interactions=cards)


def _slot(connection: Connection, operation: ops.CardPresent) -> World:
    occupant = _cards(connection, OCCUPANT, **rows.CASE_KEY.row(operation.key))
    return _world(connection, cases=_cases(connection, operation.key), interactions=occupant)


def _card(connection: Connection, operation: ops.CardGet | ops.StateExport) -> World:
    asker = {"account": operation.account, "conversation": operation.conversation}
    return _world(connection, interactions=_cards(connection, OWNED_CARD, id=operation.card, **asker))


def _conversation(connection: Connection, operation: ops.CardList) -> World:
    asker = {"account": operation.account, "conversation": operation.conversation}
    return _world(connection, interactions=_cards(connection, OPEN_CARDS_OF_CONVERSATION, **asker))


def _answered(connection: Connection, operation: ops.CardRespond) -> World:
    asker = {"account": operation.account, "conversation": operation.conversation}
    # The gate's own reading of what was sent: a malformed response names no card.
    named = named_card(operation.response)
    return _around_asked(connection, () if named is None else _cards(connection, OWNED_CARD, id=named, **asker))


def _dismissed(connection: Connection, operation: ops.CardDismiss) -> World:
    asker = {"account": operation.account, "conversation": operation.conversation}
    return _around_asked(connection, _cards(connection, OWNED_CARD, id=operation.card, **asker))


def _around_asked(connection: Connection, asked: tuple[Interaction, ...]) -> World:
    """What an answer to a card can touch; nothing where there is no such card of the asker's."""
    if not asked:
        return _world(connection)
    return _around(connection, asked[0], _commands(connection, COMMANDS_OF_CARD, card=asked[0].id))


def _imported(connection: Connection, operation: ops.StateImport) -> World:
    card = operation.state.get("card") if isinstance(operation.state, Mapping) else None
    return _named(connection, card if isinstance(card, str) else None)


def _aimed_at(connection: Connection, operation: ops.FaultArm) -> World:
    return _named(connection, operation.card)


def _named(connection: Connection, card: str | None) -> World:
    """One card, whoever owns it; nothing where none is named."""
    return _world(connection, interactions=() if card is None else _cards(connection, CARD, id=card))


def _settled(connection: Connection, operation: ops.CommandSettle) -> World:
    commands = _commands(connection, COMMAND, id=operation.command)
    if not commands:
        return _world(connection)
    (card,) = _cards(connection, CARD, id=commands[0].card)
    return _around(connection, card, commands)


def _due(connection: Connection, operation: ops.CardExpireDue) -> World:
    return _world(connection, interactions=_cards(connection, OVERDUE))


SLICES: Mapping[type[ops.Operation], Callable[..., World]] = {
    ops.Reset: _clock,
    ops.CaseOpen: _case,
    ops.CaseEdit: _edited,
    ops.CaseClose: _edited,
    ops.CardPresent: _slot,
    ops.CardGet: _card,
    ops.CardList: _conversation,
    ops.CardRespond: _answered,
    ops.CardDismiss: _dismissed,
    ops.CardWithdraw: _edited,
    ops.CardExpireDue: _due,
    ops.ClockAdvance: _clock,
    ops.CommandSettle: _settled,
    ops.CommandNext: _clock,
    ops.StateExport: _card,
    ops.StateImport: _imported,
    ops.Restart: _clock,
    ops.FaultArm: _aimed_at,
}
"""The slice of each operation that the kernel decides; reads of history have none."""


def _effects(connection: Connection, operation: ops.ReadEffects) -> Outcome:
    found = _found(connection, EFFECTS, rows.CASE_KEY.row(operation.key))
    return ops.Effects(effects=tuple(map(rows.EFFECT.record, found)))


def _ledger(connection: Connection, operation: ops.ReadLedger) -> Outcome:
    found = _found(connection, LEDGER, rows.CASE_KEY.row(operation.key))
    return ops.Ledger(entries=tuple(map(rows.LEDGER_ENTRY.record, found)))


def _metrics(connection: Connection, operation: ops.ReadMetrics) -> Outcome:
    (metrics,) = map(rows.METRICS.record, _found(connection, COUNTERS, {}))
    return metrics


HISTORIES: Mapping[type[ops.Operation], Callable[..., Outcome]] = {
    ops.ReadEffects: _effects,
    ops.ReadLedger: _ledger,
    ops.ReadMetrics: _metrics,
}
"""How history is told: from the tables, without the kernel."""
