"""The faults of what is kept around the cards: revisions, cases and the evidence (I13, E)."""

from attrs import evolve

from keyturn import operations as ops
from keyturn.responses import RefusalCode, Rejected, Restored
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.store import Possibility, State
from keyturn.world import Unfolding
from keyturn_testing.mutants.base import Turn, answering_with, in_world, with_card


def takes_any_revision(turn: Turn) -> Possibility:
    """Compare no revision that a client sends (I13.1)."""
    card = turn.card
    if card is None or card.case_revision is None or "I13.1" not in turn.chosen.branch.because:
        return turn.chosen
    return turn.instead(turn.answering(expected_case_revision=card.case_revision))


def refreshes_stale_cards(turn: Turn) -> Possibility:
    """Let the current revision make a stale card good again (I13.2)."""
    card = turn.card
    if card is None or "I13.2" not in turn.chosen.branch.because:
        return turn.chosen
    current = turn.state.world.revision(card.key)
    refreshed = evolve(card, status=InteractionStatus.ACTIVE, case_revision=current, expires_at=None)
    taken = turn.instead(turn.operation, with_card(turn.state.world, refreshed))
    after = taken.state.world.interaction(card.id)
    assert after is not None
    kept = evolve(after, case_revision=card.case_revision, expires_at=card.expires_at)
    return in_world(taken, with_card(taken.state.world, kept))


def leaves_cards_active(turn: Turn) -> Possibility:
    """Move the revision and sweep nothing (I13.3)."""
    if not isinstance(turn.operation, ops.CaseEdit) or isinstance(turn.chosen.branch.outcome, Rejected):
        return turn.chosen
    advanced = Unfolding(turn.state.world).advance(turn.operation.key).world
    revision = advanced.revision(turn.operation.key)
    edited = ops.CaseEdited(revision=revision, invalidated=())
    return evolve(answering_with(turn.chosen, edited), state=evolve(turn.state, world=advanced))


def sweeps_everything(turn: Turn) -> Possibility:
    """Sweep independent cards too (I13.4)."""
    operation = turn.operation
    if not isinstance(operation, ops.CaseEdit):
        return turn.chosen
    unfolding = Unfolding(turn.chosen.state.world)
    for each in unfolding.world.interactions:
        if each.key == operation.key and each.status is InteractionStatus.ACTIVE:
            unfolding = unfolding.move(each.id, InteractionEvent.INVALIDATE, ops.Cause(reason="revision_changed"))
    return evolve(turn.chosen, state=State(unfolding.world, turn.chosen.state.history.after(unfolding.happened)))


def binds_to_the_current_revision(turn: Turn) -> Possibility:
    """Bind every card to the revision at the time of the write, whatever it was made from (I13.10)."""
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or not turn.refused_with(RefusalCode.STALE_REVISION):
        return turn.chosen
    return turn.instead(evolve(operation, for_revision=None))


def closes_and_leaves_cards(turn: Turn) -> Possibility:
    """Close a case and leave its cards active (I13.11)."""
    if not isinstance(turn.operation, ops.CaseClose) or isinstance(turn.chosen.branch.outcome, Rejected):
        return turn.chosen
    closed = Unfolding(turn.state.world).close(turn.operation.key).world
    told = answering_with(turn.chosen, ops.CardsInvalidated(invalidated=()))
    return evolve(told, state=evolve(turn.state, world=closed))


def counts_restores_as_failures(turn: Turn) -> Possibility:
    """Count a command that was given back as one that failed (E3)."""
    chosen = turn.chosen
    if not isinstance(chosen.branch.outcome, Restored) or not chosen.branch.happened:
        return chosen
    metrics = chosen.state.history.metrics
    history = evolve(chosen.state.history, metrics=evolve(metrics, failed=metrics.failed + 1))
    return evolve(chosen, state=evolve(chosen.state, history=history))


def leaves_out_accepts(turn: Turn) -> Possibility:
    """Write no acceptance into the ledger (E1)."""
    history = turn.chosen.state.history
    batches = tuple(
        kept for batch in history.batches if (kept := tuple(e for e in batch if e.event is not InteractionEvent.ACCEPT))
    )
    return evolve(turn.chosen, state=evolve(turn.chosen.state, history=evolve(history, batches=batches)))
