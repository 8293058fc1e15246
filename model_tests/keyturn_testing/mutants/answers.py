"""The faults of what an answer does: by whom, to what, and how often (I7, I14, I19, A)."""

from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import ActionClass
from keyturn.responses import Declined, RefusalCode, Rejected, Replayed
from keyturn.status import InteractionStatus
from keyturn.store import Possibility, State
from keyturn_testing.mutants.base import Turn, answering_with, in_world, with_card, with_effect


def runs_the_first_option(turn: Turn) -> Possibility:
    """Run the first option instead of the chosen one (I7.1)."""
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


def guesses_the_option(turn: Turn) -> Possibility:
    """Take an unknown option for the first one (I7.2)."""
    card = turn.card
    if card is None or not turn.refused_with(RefusalCode.UNKNOWN_OPTION):
        return turn.chosen
    return turn.instead(turn.answering(option_id=card.payload.options[0].id, freeform_input=None))


def runs_on_decline(turn: Turn) -> Possibility:
    """Run a command that was declined (I7.9)."""
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


def pays_twice(turn: Turn) -> Possibility:
    """Run the command again at a second click (I14.1)."""
    card = turn.card
    if card is None or not isinstance(turn.chosen.branch.outcome, Replayed) or not turn.state.world.commands:
        return turn.chosen
    command = next((each for each in turn.state.world.commands if each.card == card.id), None)
    return turn.chosen if command is None else with_effect(turn.chosen, card, command)


def replays_something_else(turn: Turn) -> Possibility:
    """Replay another result than the first (I14.2)."""
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Replayed) or turn.card is None:
        return turn.chosen
    current = turn.state.world.revision(turn.card.key)
    result = evolve(outcome.result, effects=(), command=None, case_revision=current, option=None)
    return answering_with(turn.chosen, Replayed(result=result))


def lets_strangers_in(turn: Turn) -> Possibility:
    """Take a stranger for the owner (I19.1)."""
    card = turn.card
    if card is None or not turn.refused_with(RefusalCode.NOT_FOUND) or not isinstance(turn.operation, ops.CardRespond):
        return turn.chosen
    return turn.instead(evolve(turn.operation, account=card.key.account, conversation=card.conversation))


def closes_on_refusal(turn: Turn) -> Possibility:
    """Close the card of a refused answer (I19.8)."""
    card, outcome = turn.card, turn.chosen.branch.outcome
    if card is None or not isinstance(outcome, Rejected) or outcome.code is RefusalCode.NOT_FOUND:
        return turn.chosen
    if card.status is not InteractionStatus.ACTIVE:
        return turn.chosen
    return in_world(turn.chosen, with_card(turn.state.world, evolve(card, status=InteractionStatus.DISMISSED)))


def answers_only_the_newest(turn: Turn) -> Possibility:
    """Refuse every card but the newest (A1)."""
    card = turn.card
    if card is None or "A1" not in turn.chosen.branch.because or card == turn.state.world.interactions[-1]:
        return turn.chosen
    refused = answering_with(turn.chosen, Rejected(code=RefusalCode.NOT_ANSWERABLE))
    return evolve(refused, state=turn.state)
