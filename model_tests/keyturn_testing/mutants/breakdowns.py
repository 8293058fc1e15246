"""Faults of what happens when something breaks: a write, a read, a reply, the process, or what a host kept.

Each is a pure function of a turn: what the reference would do goes in, and what the faulty system does comes out. What such a
system remembers beside its rows is kept in the world as a fault that can never hit, so that a reset forgets it too.
"""

from attrs import evolve

from keyturn import operations as ops
from keyturn.branches import Unheard
from keyturn.cards import ConfirmCommands, Interaction, InteractionKind, InteractionOption, OptionView
from keyturn.responses import Accepted, Found, InFlight, RefusalCode, Resolved
from keyturn.status import InteractionStatus
from keyturn.store import Possibility
from keyturn.table import OPEN
from keyturn.values import CardId, CommandId, IdempotencyKey
from keyturn.world import Command, World
from keyturn_testing.mutants.base import Mutant, Turn, answering_with, in_world, is_harmed, mutant, noted, with_card

_TAKEN = (InteractionStatus.RESOLVING, InteractionStatus.RESOLVED)


def _note(chosen: Possibility, word: str, card: CardId) -> Possibility:
    world = chosen.state.world
    return in_world(chosen, evolve(world, armed=(*world.armed, noted(word, card))))


def _answered_anew(turn: Turn, word: str) -> Possibility | None:
    """Take an answer to a card that was noted, and that has become a command, as if it had never been answered."""
    card = turn.card if isinstance(turn.operation, ops.CardRespond) else None
    world = turn.state.world
    if card is None or card.status not in _TAKEN or noted(word, card.id) not in world.armed or is_harmed(world):
        return None
    if not any(each.card == card.id for each in world.commands):
        return None
    again = evolve(card, status=InteractionStatus.ACTIVE, resolved_option=None, resolved_at=None, result=None)
    taken = turn.instead(turn.operation, with_card(turn.state.world, again))
    return taken if isinstance(taken.branch.outcome, Accepted) else None


def _mentions_what_was_not_written(turn: Turn) -> Possibility:
    if not (isinstance(turn.operation, ops.CardPresent) and turn.refused_with(RefusalCode.UNAVAILABLE)):
        return turn.chosen
    meant = turn.instead(turn.operation, evolve(turn.state.world, armed=()))
    outcome = meant.branch.outcome
    return turn.chosen if isinstance(outcome, Unheard) else answering_with(turn.chosen, outcome)


def _fails_open(turn: Turn, demand: str) -> Possibility:
    if demand not in turn.chosen.branch.because or not turn.refused_with(RefusalCode.UNVERIFIABLE):
        return turn.chosen
    return turn.instead(turn.operation, turn.chosen.state.world)


def _passes_over_ownership(turn: Turn) -> Possibility:
    return _fails_open(turn, "I19.2")


def _passes_over_revisions(turn: Turn) -> Possibility:
    return _fails_open(turn, "I19.3")


def _passes_over_payloads(turn: Turn) -> Possibility:
    return _fails_open(turn, "I19.4")


def _takes_a_retry_anew(turn: Turn) -> Possibility:
    again = _answered_anew(turn, "unheard")
    if again is not None:
        return again
    card = turn.card
    lost = isinstance(turn.operation, ops.CardRespond) and isinstance(turn.chosen.branch.outcome, Unheard)
    return _note(turn.chosen, "unheard", card.id) if lost and card is not None else turn.chosen


def _revives_what_is_restored(turn: Turn) -> Possibility:
    again = _answered_anew(turn, "restored")
    if again is not None:
        return again
    if not isinstance(turn.operation, ops.StateImport) or not isinstance(turn.chosen.branch.outcome, ops.Done):
        return turn.chosen
    kept = turn.operation.state
    assert isinstance(kept, dict)
    return _note(turn.chosen, "restored", CardId(str(kept["card"])))


def _has_a_key_a_retry(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, InFlight):
        return turn.chosen
    return answering_with(turn.chosen, evolve(outcome, idempotency_key=IdempotencyKey(f"{outcome.command}-retry")))


def _has_a_key_a_card(turn: Turn) -> Possibility:
    """The key of a card's first attempt serves every attempt: a payment service takes the second for a retry."""
    world, outcome = turn.chosen.state.world, turn.chosen.branch.outcome
    first: dict[CardId, IdempotencyKey] = {}
    for each in world.commands:
        first.setdefault(each.card, each.idempotency_key)
    commands = tuple(evolve(each, idempotency_key=first[each.card]) for each in world.commands)
    chosen = in_world(turn.chosen, evolve(world, commands=commands))
    if not isinstance(outcome, Accepted):
        return chosen
    card = next(each.card for each in world.commands if each.id == outcome.command)
    return answering_with(chosen, evolve(outcome, idempotency_key=first[card]))


def _forgets_commands_in_flight(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.Restart):
        return turn.chosen
    world = turn.chosen.state.world
    return in_world(turn.chosen, evolve(world, commands=tuple(map(_forgotten, world.commands))))


def _forgotten(command: Command) -> Command:
    return command if command.settlement is not None else evolve(command, id=CommandId(f"{command.id}-anew"))


def _shows_what_it_stores(turn: Turn) -> Possibility:
    """The label of an option that runs several commands names them."""
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Found):
        return turn.chosen
    stored = turn.state.world.interaction(outcome.card.id)
    assert stored is not None
    options = tuple(
        OptionView(id=each.id, label=f"{each.label}{_names_of_commands(each)}", freeform=each.freeform)
        for each in stored.payload.options
    )
    payload = evolve(outcome.card.payload, options=options)
    return answering_with(turn.chosen, Found(card=evolve(outcome.card, payload=payload)))


def _names_of_commands(option: InteractionOption) -> str:
    return f" ({', '.join(option.action.command_refs)})" if isinstance(option.action, ConfirmCommands) else ""


def _has_a_slot_a_conversation(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent):
        return turn.chosen
    occupant = turn.state.world.occupant(operation.key)
    if not operation.blocking or occupant is None or occupant.conversation == operation.conversation:
        return turn.chosen
    meant = turn.instead(operation, with_card(turn.state.world, evolve(occupant, blocking=False)))
    return in_world(meant, _blocking_again(meant.state.world, occupant))


def _blocking_again(world: World, occupant: Interaction) -> World:
    after = world.interaction(occupant.id)
    return world if after is None or after.status not in OPEN else with_card(world, evolve(after, blocking=True))


def _asks_for_a_set(turn: Turn) -> bool:
    return turn.card is not None and turn.card.kind is InteractionKind.MULTI_SELECT


def _drops_what_is_not_stored(turn: Turn) -> Possibility:
    ids = turn.sent.get("option_ids")
    if turn.card is None or not turn.refused_with(RefusalCode.UNKNOWN_OPTION) or not isinstance(ids, list):
        return turn.chosen
    stored = [each for each in ids if turn.card.payload.option(each) is not None]
    return turn.instead(turn.answering(option_ids=stored))


def _keeps_one_of_a_set(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not (_asks_for_a_set(turn) and isinstance(outcome, Resolved)) or len(outcome.result.options or ()) < 2:
        return turn.chosen
    return answering_with(
        turn.chosen, Resolved(result=evolve(outcome.result, options=(outcome.result.options or ())[:1]))
    )


BREAKDOWNS: tuple[Mutant, ...] = (
    mutant(
        "mentions-the-unwritten",
        "I6.2",
        _mentions_what_was_not_written,
        "A card that could not be written is offered.",
        also_harmed=True,
    ),
    mutant(
        "unread-owner-passes",
        "I19.2",
        _passes_over_ownership,
        "Ownership that cannot be read is taken for granted.",
        also_harmed=True,
    ),
    mutant(
        "unread-revision-passes",
        "I19.3",
        _passes_over_revisions,
        "A revision that cannot be read is not compared.",
        also_harmed=True,
    ),
    mutant(
        "changed-payload-passes",
        "I19.4",
        _passes_over_payloads,
        "A payload that was changed is answered all the same.",
        also_harmed=True,
    ),
    mutant(
        "retry-counts-anew",
        "I14.6",
        _takes_a_retry_anew,
        "A retry after a lost reply is taken as a new answer.",
        also_harmed=True,
    ),
    mutant(
        "restored-is-pending", "I14.8", _revives_what_is_restored, "What a host restores can be answered once more."
    ),
    mutant("key-made-anew", "I14.7", _has_a_key_a_retry, "A retry is told another idempotency key."),
    mutant("one-key-a-card", "I14.7", _has_a_key_a_card, "The second attempt has the idempotency key of the first."),
    mutant(
        "restart-loses-commands",
        "L11",
        _forgets_commands_in_flight,
        "A command in flight is not known after a restart.",
    ),
    mutant(
        "label-tells-the-commands", "I7.5", _shows_what_it_stores, "An option's label names the commands that it runs."
    ),
    mutant("one-slot-a-conversation", "I5.6", _has_a_slot_a_conversation, "Each conversation has a slot of its own."),
    mutant(
        "set-drops-the-unknown",
        "I7.2",
        _drops_what_is_not_stored,
        "An option that is not stored is dropped from a set.",
    ),
    mutant("set-keeps-the-first", "A3", _keeps_one_of_a_set, "Of a set of options only the first is kept."),
)
"""The mutants of this module."""
