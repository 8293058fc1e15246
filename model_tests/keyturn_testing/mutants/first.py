"""The first faults: one or two for each family of requirements.

Each is a pure function of a turn: what the reference would do goes in, and what the faulty system does comes out.
"""

from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import ActionClass, Interaction, view
from keyturn.responses import Declined, Presented, RefusalCode, Rejected, Replayed, Resolved
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.store import Possibility, State
from keyturn.table import TERMINAL
from keyturn.world import Unfolding
from keyturn_testing.mutants.base import Mutant, Turn, answering_with, in_world, mutant, with_card, with_effect


def _revives_ended_cards(turn: Turn) -> Possibility:
    card = turn.card
    ended = card is not None and card.status in TERMINAL and card.status is not InteractionStatus.RESOLVED
    if card is None or not ended or not turn.refused_with(RefusalCode.NOT_ANSWERABLE):
        return turn.chosen
    return _taken_as(turn, card, evolve(card, case_revision=None, result=None))


def _taken_as(turn: Turn, card: Interaction, stored: Interaction) -> Possibility:
    """Take the answer as if the card were stored so, waiting and without a deadline; what it is bound to stays as it was."""
    waiting = evolve(stored, status=InteractionStatus.ACTIVE, expires_at=None)
    taken = turn.instead(turn.operation, with_card(turn.state.world, waiting))
    after = taken.state.world.interaction(card.id)
    assert after is not None
    kept = evolve(after, expires_at=card.expires_at, case_revision=card.case_revision)
    return in_world(taken, with_card(taken.state.world, kept))


def _failed_reads_resolved(turn: Turn) -> Possibility:
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


def _writes_into_an_occupied_slot(turn: Turn) -> Possibility:
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


def _keeps_the_replaced_card(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or "I5.3" not in turn.chosen.branch.because:
        return turn.chosen
    occupant = turn.state.world.occupant(operation.key)
    assert occupant is not None
    demoted = with_card(turn.state.world, evolve(occupant, blocking=False))
    return turn.instead(operation, demoted)


def _offers_before_it_stores(turn: Turn) -> Possibility:
    if not isinstance(turn.chosen.branch.outcome, Presented) or len(turn.state.world.interactions) < 2:
        return turn.chosen
    forgotten = evolve(turn.state.world, issued=turn.chosen.state.world.issued)
    return evolve(turn.chosen, state=evolve(turn.state, world=forgotten))


def _forgets_pending_cards(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.Restart):
        return turn.chosen
    world = turn.chosen.state.world
    kept = tuple(each for each in world.interactions if each.status is not InteractionStatus.ACTIVE)
    return in_world(turn.chosen, evolve(world, interactions=kept))


def _runs_the_first_option(turn: Turn) -> Possibility:
    known = len(turn.state.history.effects)
    history = turn.chosen.state.history
    if isinstance(turn.operation, ops.Reset) or len(history.effects) == known:
        return turn.chosen
    effects = list(history.effects)
    for number in range(known, len(effects)):
        card = turn.chosen.state.world.interaction(effects[number].card)
        assert card is not None
        effects[number] = evolve(effects[number], action=card.payload.options[0].action)
    state = State(turn.chosen.state.world, evolve(history, effects=tuple(effects)))
    return evolve(turn.chosen, state=state)


def _guesses_the_option(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or not turn.refused_with(RefusalCode.UNKNOWN_OPTION):
        return turn.chosen
    return turn.instead(turn.answering(option_id=card.payload.options[0].id, freeform_input=None))


def _runs_on_decline(turn: Turn) -> Possibility:
    card, outcome = turn.card, turn.chosen.branch.outcome
    if card is None or not isinstance(outcome, Declined) or outcome.result.effects:
        return turn.chosen
    option = next((o for o in card.payload.options if o.action.action_class is ActionClass.AUTHORISES), None)
    if option is None:
        return turn.chosen
    accepted = turn.instead(
        turn.answering(option_id=option.id, freeform_input="forced" if option.freeform.max_length else None)
    )
    commands = accepted.state.world.commands
    return with_effect(turn.chosen, card, commands[-1]) if commands else turn.chosen


def _takes_any_revision(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or card.case_revision is None or "I13.1" not in turn.chosen.branch.because:
        return turn.chosen
    return turn.instead(turn.answering(expected_case_revision=card.case_revision))


def _takes_older_revisions(turn: Turn) -> Possibility:
    card, sent = turn.card, turn.sent.get("expected_case_revision")
    older = card is not None and isinstance(sent, int) and sent < (card.case_revision or 0)
    return _takes_any_revision(turn) if older else turn.chosen


def _refreshes_stale_cards(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or "I13.2" not in turn.chosen.branch.because:
        return turn.chosen
    return _taken_as(turn, card, evolve(card, case_revision=turn.state.world.revision(card.key)))


def _leaves_cards_active(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.CaseEdit) or isinstance(turn.chosen.branch.outcome, Rejected):
        return turn.chosen
    advanced = Unfolding(turn.state.world).advance(turn.operation.key).world
    revision = advanced.revision(turn.operation.key)
    edited = ops.CaseEdited(revision=revision, invalidated=())
    return evolve(answering_with(turn.chosen, edited), state=evolve(turn.state, world=advanced))


def _sweeps_everything(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CaseEdit):
        return turn.chosen
    unfolding = Unfolding(turn.chosen.state.world)
    for each in unfolding.world.interactions:
        if each.key == operation.key and each.status is InteractionStatus.ACTIVE:
            unfolding = unfolding.move(each.id, InteractionEvent.INVALIDATE, ops.Cause(reason="revision_changed"))
    return evolve(turn.chosen, state=State(unfolding.world, turn.chosen.state.history.after(unfolding.happened)))


def _pays_twice(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or not isinstance(turn.chosen.branch.outcome, Replayed) or card.result is None:
        return turn.chosen
    # The command that resolved it: one that was given back before had no effect to repeat.
    command = turn.state.world.command(card.result.command or "")
    return turn.chosen if command is None else with_effect(turn.chosen, card, command)


def _replays_something_else(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Replayed) or turn.card is None:
        return turn.chosen
    current = turn.state.world.revision(turn.card.key)
    result = evolve(outcome.result, effects=(), command=None, case_revision=current, option=None)
    return answering_with(turn.chosen, Replayed(result=result))


def _lets_strangers_in(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or not turn.refused_with(RefusalCode.NOT_FOUND) or not isinstance(turn.operation, ops.CardRespond):
        return turn.chosen
    return turn.instead(evolve(turn.operation, account=card.key.account, conversation=card.conversation))


def _closes_on_refusal(turn: Turn) -> Possibility:
    card, outcome = turn.card, turn.chosen.branch.outcome
    if card is None or not isinstance(outcome, Rejected) or outcome.code is RefusalCode.NOT_FOUND:
        return turn.chosen
    if card.status is not InteractionStatus.ACTIVE:
        return turn.chosen
    return in_world(turn.chosen, with_card(turn.state.world, evolve(card, status=InteractionStatus.DISMISSED)))


def _answers_only_the_newest(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or "A1" not in turn.chosen.branch.because or card == turn.state.world.interactions[-1]:
        return turn.chosen
    refused = answering_with(turn.chosen, Rejected(code=RefusalCode.NOT_ANSWERABLE))
    return evolve(refused, state=turn.state)


def _leaves_out_accepts(turn: Turn) -> Possibility:
    history = turn.chosen.state.history
    batches = tuple(
        kept for batch in history.batches if (kept := tuple(e for e in batch if e.event is not InteractionEvent.ACCEPT))
    )
    return evolve(turn.chosen, state=evolve(turn.chosen.state, history=evolve(history, batches=batches)))


FIRST: tuple[Mutant, ...] = (
    mutant(
        "ended-card-revives", "L2", _revives_ended_cards, "An answer to a card that has ended is taken all the same."
    ),
    mutant("failed-reads-resolved", "L3", _failed_reads_resolved, "A failed command leaves its card resolved."),
    mutant("two-questions-at-once", "I5.1", _writes_into_an_occupied_slot, "A second blocking card is written anyway."),
    mutant("replaced-card-lives-on", "I5.3", _keeps_the_replaced_card, "A replaced card stays active and answerable."),
    mutant(
        "offered-before-stored",
        "I6.1",
        _offers_before_it_stores,
        "From the third card on, cards are offered and not stored.",
    ),
    mutant(
        "restart-forgets", "I6.3", _forgets_pending_cards, "Pending cards live in memory, and a restart loses them."
    ),
    mutant("runs-the-first-option", "I7.1", _runs_the_first_option, "What runs is the card's first option."),
    mutant("guesses-the-option", "I7.2", _guesses_the_option, "An unknown option id is taken for the first option."),
    mutant("decline-runs-it", "I7.9", _runs_on_decline, "Nobody reads the answer: a declined command runs."),
    mutant("any-revision-goes", "I13.1", _takes_any_revision, "The revision that the client saw is never compared."),
    mutant("older-revision-goes", "I13.1", _takes_older_revisions, "Only a revision that is too new is refused."),
    mutant(
        "refreshed-stale-card", "I13.2", _refreshes_stale_cards, "The current revision makes a stale card good again."
    ),
    mutant(
        "edit-leaves-cards", "I13.3", _leaves_cards_active, "An edit moves the revision and leaves its cards active."
    ),
    mutant("edit-sweeps-everything", "I13.4", _sweeps_everything, "An edit invalidates independent cards too."),
    mutant(
        "double-click-pays-twice", "I14.1", _pays_twice, "A second click on a resolved card runs its command again."
    ),
    mutant(
        "replay-says-otherwise", "I14.2", _replays_something_else, "A second click gets another result than the first."
    ),
    mutant("stranger-answers", "I19.1", _lets_strangers_in, "Whoever knows the id of a card can answer it."),
    mutant("refusal-closes-the-card", "I19.8", _closes_on_refusal, "A refused answer closes the card all the same."),
    mutant(
        "only-the-newest-answers", "A1", _answers_only_the_newest, "Only the newest of several cards can be answered."
    ),
    mutant("ledger-without-accepts", "E1", _leaves_out_accepts, "The ledger does not say who accepted what."),
)

"""The mutants of this module."""
