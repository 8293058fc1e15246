"""Faults of the lifecycle and of the blocking slot.

Each is a pure function of a turn: what the reference would do goes in, and what the faulty system does comes out.
"""

from attrs import evolve

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.cards import ActionClass, Interaction
from keyturn.responses import Found, InFlight, Presented, RefusalCode, Rejected, Restored
from keyturn.status import InteractionStatus
from keyturn.store import Possibility
from keyturn.table import OPEN
from keyturn.world import World
from keyturn_testing.mutants.base import Mutant, Turn, answering_with, in_world, mutant, with_card, with_effect

IN_FLIGHT = InteractionStatus.RESOLVING


def _declines_in_flight(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or not isinstance(turn.chosen.branch.outcome, InFlight):
        return turn.chosen
    option = next((o for o in card.payload.options if o.action.action_class is ActionClass.DECLINES), None)
    if option is None:
        return turn.chosen
    return in_world(turn.chosen, with_card(turn.state.world, evolve(card, status=InteractionStatus.DECLINED)))


def _reads_active_in_flight(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Found) or outcome.card.status is not IN_FLIGHT:
        return turn.chosen
    return answering_with(turn.chosen, Found(card=evolve(outcome.card, status=InteractionStatus.ACTIVE)))


def _agrees_with_any_end(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CommandSettle) or not turn.refused_with(RefusalCode.CONFLICT):
        return turn.chosen
    command = turn.state.world.command(operation.command)
    assert command is not None
    assert command.reply is not None
    return answering_with(turn.chosen, command.reply)


def _keeps_the_choice(turn: Turn) -> Possibility:
    world = turn.chosen.state.world
    if not isinstance(turn.chosen.branch.outcome, Restored) or not isinstance(turn.operation, ops.CommandSettle):
        return turn.chosen
    command = world.command(turn.operation.command)
    card = None if command is None else world.interaction(command.card)
    if command is None or card is None or card.status is not InteractionStatus.ACTIVE:
        return turn.chosen
    return in_world(turn.chosen, with_card(world, evolve(card, resolved_option=command.option, resolved_at=world.now)))


def _sweeps_after_the_instant(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.CardExpireDue):
        return turn.chosen
    world = turn.state.world
    postponed = tuple(
        evolve(each, expires_at=None) if each.expires_at == world.now else each for each in world.interactions
    )
    swept = turn.instead(turn.operation, evolve(world, interactions=postponed))
    due = {each.id: each.expires_at for each in world.interactions}
    after = swept.state.world
    kept = tuple(evolve(each, expires_at=due[each.id]) for each in after.interactions)
    return in_world(swept, evolve(after, interactions=kept))


def _hides_cards_in_flight(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, ops.Cards):
        return turn.chosen
    return answering_with(turn.chosen, ops.Cards(cards=tuple(c for c in outcome.cards if c.status is not IN_FLIGHT)))


def _runs_failed_commands(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CommandSettle) or not turn.chosen.branch.happened:
        return turn.chosen
    command = turn.chosen.state.world.command(operation.command)
    card = None if command is None else turn.chosen.state.world.interaction(command.card)
    if command is None or card is None or card.status is not InteractionStatus.FAILED:
        return turn.chosen
    return with_effect(turn.chosen, card, command)


def _counts_late_outcomes(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CommandSettle) or not turn.refused_with(RefusalCode.CONFLICT):
        return turn.chosen
    late = turn.state.world.command(operation.command)
    assert late is not None
    card = turn.state.world.interaction(late.card)
    if not isinstance(late.reply, Restored) or card is None or card.status not in OPEN:
        return turn.chosen
    waiting = turn.state.world.command_of(card.id)
    if card.status is IN_FLIGHT and waiting is not None:
        return turn.instead(evolve(operation, command=waiting.id))
    return answering_with(turn.chosen, late.reply)


def _asks_beside(turn: Turn) -> Possibility:
    operation = turn.operation
    refused = turn.refused_with(RefusalCode.SLOT_OCCUPIED)
    if not isinstance(operation, ops.CardPresent) or not refused or operation.on_occupied != "refuse":
        return turn.chosen
    return turn.instead(evolve(operation, blocking=False))


def _replaces_in_flight(turn: Turn) -> Possibility:
    operation = turn.operation
    refused = turn.refused_with(RefusalCode.SLOT_OCCUPIED)
    if not isinstance(operation, ops.CardPresent) or not refused or operation.on_occupied != "replace":
        return turn.chosen
    occupant = turn.state.world.occupant(operation.key)
    assert occupant is not None
    gone = with_card(turn.state.world, evolve(occupant, status=InteractionStatus.INVALIDATED))
    return turn.instead(operation, gone)


def _answers_replaced_cards(turn: Turn) -> Possibility:
    card = turn.card
    replaced = card is not None and card.blocking and card.status is InteractionStatus.INVALIDATED
    if card is None or card.case_revision not in (None, turn.state.world.revision(card.key)):
        return turn.chosen
    if any(each.key == card.key and each.closed for each in turn.state.world.cases):
        return turn.chosen
    if not replaced or not turn.refused_with(RefusalCode.NOT_ANSWERABLE):
        return turn.chosen
    back = evolve(card, status=InteractionStatus.ACTIVE, expires_at=None)
    taken = turn.instead(turn.operation, with_card(turn.state.world, back))
    return taken if "A1" in taken.branch.because else turn.chosen


def _refused_for(turn: Turn, held: bool) -> Possibility:
    if not held or not isinstance(turn.chosen.branch.outcome, Presented):
        return turn.chosen
    refused: Outcome = Rejected(code=RefusalCode.SLOT_OCCUPIED)
    return evolve(answering_with(turn.chosen, refused), state=turn.state)


def _open_elsewhere(world: World, operation: ops.CardPresent) -> bool:
    def taken(each: Interaction) -> bool:
        return each.key.account == operation.account and each.key != operation.key and each.blocking

    return any(taken(each) and each.status in OPEN for each in world.interactions)


def _has_one_slot_for_all(turn: Turn) -> Possibility:
    operation, world = turn.operation, turn.state.world
    blocking = isinstance(operation, ops.CardPresent) and operation.blocking
    return _refused_for(turn, blocking and isinstance(operation, ops.CardPresent) and _open_elsewhere(world, operation))


def _takes_the_slot_for_everything(turn: Turn) -> Possibility:
    operation, world = turn.operation, turn.state.world
    informs = isinstance(operation, ops.CardPresent) and not operation.blocking
    held = isinstance(operation, ops.CardPresent) and world.occupant(operation.key) is not None
    return _refused_for(turn, informs and held)


def _keeps_the_slot(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or not operation.blocking:
        return turn.chosen
    mine = (each for each in turn.state.world.interactions if each.key == operation.key and each.blocking)
    closed = (InteractionStatus.DECLINED, InteractionStatus.DISMISSED, InteractionStatus.FAILED)
    return _refused_for(turn, any(each.status in closed for each in mine))


LIFECYCLE: tuple[Mutant, ...] = (
    mutant("in-flight-card-declines", "L1", _declines_in_flight, "An answer to a card in flight declines it."),
    mutant("in-flight-reads-active", "L4", _reads_active_in_flight, "A card in flight reads as if it still waited."),
    mutant("any-end-will-do", "L5", _agrees_with_any_end, "A contradicting settlement gets the first reply."),
    mutant("restore-keeps-the-choice", "L6", _keeps_the_choice, "A card that is given back still shows its option."),
    mutant("sweep-misses-the-instant", "L7", _sweeps_after_the_instant, "A sweep takes the deadline for not yet past."),
    mutant("list-hides-in-flight", "L8", _hides_cards_in_flight, "Cards in flight are not listed."),
    mutant("failed-command-ran", "L9", _runs_failed_commands, "A command that failed has its effect all the same."),
    mutant(
        "late-outcome-counts", "L10", _counts_late_outcomes, "A late outcome settles whatever is in flight by then."
    ),
    mutant("second-question-beside", "I5.2", _asks_beside, "A second question is written as one that does not block."),
    mutant("replaces-in-flight", "I5.4", _replaces_in_flight, "A card in flight is replaced."),
    mutant("replaced-card-answers", "I5.5", _answers_replaced_cards, "A replaced card can still be answered."),
    mutant("one-slot-an-account", "I5.6", _has_one_slot_for_all, "An open question blocks every case of the account."),
    mutant("everything-needs-the-slot", "I5.7", _takes_the_slot_for_everything, "Information needs a free slot too."),
    mutant("closed-card-holds-slot", "I5.9", _keeps_the_slot, "A card that was closed never gives its slot back."),
)
"""The mutants of this module."""
