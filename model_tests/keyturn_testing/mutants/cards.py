"""The faults of how cards live, stand and are stored (L, I5, I6)."""

from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import view
from keyturn.responses import Presented, RefusalCode, Resolved
from keyturn.status import InteractionStatus
from keyturn.store import Possibility, State
from keyturn.table import TERMINAL
from keyturn_testing.mutants.base import Turn, answering_with, in_world, with_card


def revives_ended_cards(turn: Turn) -> Possibility:
    """Take an answer to a card that has ended (L2)."""
    card = turn.card
    ended = card is not None and card.status in TERMINAL and card.status is not InteractionStatus.RESOLVED
    if card is None or not ended or not turn.refused_with(RefusalCode.NOT_ANSWERABLE):
        return turn.chosen
    revived = evolve(card, status=InteractionStatus.ACTIVE, expires_at=None, case_revision=None, result=None)
    taken = turn.instead(turn.operation, with_card(turn.state.world, revived))
    after = taken.state.world.interaction(card.id)
    assert after is not None
    kept = evolve(after, expires_at=card.expires_at, case_revision=card.case_revision)
    return in_world(taken, with_card(taken.state.world, kept))


def failed_reads_resolved(turn: Turn) -> Possibility:
    """Read a failed command as Resolved (L3)."""
    operation = turn.operation
    if not isinstance(operation, ops.CommandSettle) or operation.result != "failed":
        return turn.chosen
    command = turn.state.world.command(operation.command)
    if command is None or command.settlement is not None:
        return turn.chosen
    committed = turn.instead(evolve(operation, result="committed"))
    outcome = committed.branch.outcome
    if not isinstance(outcome, Resolved):
        return turn.chosen
    world, card = committed.state.world, committed.state.world.interaction(outcome.result.card)
    assert card is not None
    result = evolve(outcome.result, effects=())
    history = evolve(committed.state.history, effects=turn.state.history.effects)
    state = State(with_card(world, evolve(card, result=result)), history)
    return evolve(answering_with(committed, Resolved(result=result)), state=state)


def writes_into_an_occupied_slot(turn: Turn) -> Possibility:
    """Write a second blocking card (I5.1)."""
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or not turn.refused_with(RefusalCode.SLOT_OCCUPIED):
        return turn.chosen
    return _blocking_after_all(turn.instead(evolve(operation, blocking=False)))


def _blocking_after_all(written: Possibility) -> Possibility:
    outcome = written.branch.outcome
    assert isinstance(outcome, Presented)
    card = written.state.world.interaction(outcome.card.id)
    assert card is not None
    blocking = evolve(card, blocking=True)
    told = answering_with(written, evolve(outcome, card=view(blocking)))
    return in_world(told, with_card(written.state.world, blocking))


def keeps_the_replaced_card(turn: Turn) -> Possibility:
    """Leave a replaced card as it was (I5.3)."""
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or "I5.3" not in turn.chosen.branch.because:
        return turn.chosen
    occupant = turn.state.world.occupant(operation.key)
    assert occupant is not None
    demoted = with_card(turn.state.world, evolve(occupant, blocking=False))
    return turn.instead(operation, demoted)


def offers_before_it_stores(turn: Turn) -> Possibility:
    """Offer a card and do not store it, from the third on (I6.1)."""
    if not isinstance(turn.operation, ops.CardPresent) or len(turn.state.world.interactions) < 2:
        return turn.chosen
    forgotten = evolve(turn.state.world, issued=turn.chosen.state.world.issued)
    return evolve(turn.chosen, state=evolve(turn.state, world=forgotten))


def forgets_pending_cards(turn: Turn) -> Possibility:
    """Lose what is pending at a restart (I6.3)."""
    if not isinstance(turn.operation, ops.Restart):
        return turn.chosen
    world = turn.chosen.state.world
    kept = tuple(each for each in world.interactions if each.status is not InteractionStatus.ACTIVE)
    return in_world(turn.chosen, evolve(world, interactions=kept))
