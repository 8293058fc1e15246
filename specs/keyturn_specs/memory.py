"""What is remembered of the earlier steps of an example, because a requirement asks for it.

It is kept twice by the same function: in the system's ids for what was observed, and in the model's for what the model says.
It never says what happened, only what was asked and answered.
"""

import json
from collections.abc import Mapping

from attrs import evolve, field, frozen

from keyturn.branches import Outcome, Unheard
from keyturn.operations import CardPresent, CardRespond, CommandSettle, Exported, Operation, StateExport, StateImport
from keyturn.responses import Accepted, Failed, InFlight, Rejected, Resolved, Restored, named_card
from keyturn.values import CardId, CommandId, IdempotencyKey


@frozen(kw_only=True)
class Memory:
    """What was asked and answered before.

    `keys` are the idempotency keys of commands as they were first told. `in_flight` are the commands that wait, with their
    cards, and `survived` those that waited when the system was restarted (L11). `unheard` are the cards of which an answer's
    reply was lost (I14.6), and `presented_unheard` says that there may be a card whose id nobody heard. `exported` are the
    states that hosts keep, by their text, and `restored` the cards of those that came back (I14.8).
    """

    keys: Mapping[CommandId, IdempotencyKey] = field(factory=dict)
    in_flight: Mapping[CommandId, CardId] = field(factory=dict)
    survived: frozenset[CommandId] = frozenset()
    unheard: frozenset[CardId] = frozenset()
    presented_unheard: bool = False
    exported: Mapping[str, CardId] = field(factory=dict)
    restored: frozenset[CardId] = frozenset()


NOTHING_REMEMBERED = Memory()
"""The memory at the beginning of an example."""


def text_of(state: object) -> str:
    """Return a state that a host keeps as a text of its own, so that it is known again.

    It is the system's: its numbers may be larger, and its strings stranger, than what has a canonical form.
    """
    return json.dumps(state, sort_keys=True)


def remembered(memory: Memory, operation: Operation, outcome: Outcome | Unheard | None, *, restarted: bool) -> Memory:
    """Return the memory after one more step; no outcome, or one that nobody heard, is a lost reply."""
    if restarted and memory.in_flight:
        memory = evolve(memory, survived=memory.survived | memory.in_flight.keys())
    match operation, outcome:
        case CardRespond(), Accepted() | InFlight():
            return _taken(memory, operation, outcome)
        case CardRespond(), None | Unheard():
            card = _card_of(operation)
            return memory if card is None else evolve(memory, unheard=memory.unheard | {card})
        case CardPresent(), None | Unheard():
            return evolve(memory, presented_unheard=True)
        case CommandSettle(), Resolved() | Failed() | Restored() | None | Unheard() if (
            operation.command in memory.in_flight
        ):
            # Whoever does not hear how a settlement went knows no longer that the command waits.
            waiting = {command: card for command, card in memory.in_flight.items() if command != operation.command}
            return evolve(memory, in_flight=waiting)
        case StateExport(), Exported():
            return evolve(memory, exported={**memory.exported, text_of(outcome.state): operation.card})
        case StateImport(), _ if not isinstance(outcome, Rejected):
            card = memory.exported.get(text_of(operation.state))
            return memory if card is None else evolve(memory, restored=memory.restored | {card})
        case _:
            return memory


def _card_of(operation: CardRespond) -> CardId | None:
    named = named_card(operation.response)
    return None if named is None else CardId(named)


def _taken(memory: Memory, operation: CardRespond, outcome: Accepted | InFlight) -> Memory:
    card, key = _card_of(operation), outcome.idempotency_key
    if card is not None and outcome.command not in memory.in_flight:
        # A card waits for one command: another one says that the settlement of the first was made and not heard.
        waiting = {command: other for command, other in memory.in_flight.items() if other != card}
        memory = evolve(memory, in_flight={**waiting, outcome.command: card})
    if key is not None and outcome.command not in memory.keys:
        memory = evolve(memory, keys={**memory.keys, outcome.command: key})
    return memory
