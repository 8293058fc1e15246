"""Faults of freshness and of outcomes: when a command runs, how often, and what is said of it.

Each is a pure function of a turn: what the reference would do goes in, and what the faulty system does comes out.
"""

from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import ActionClass
from keyturn.responses import InFlight, Presented, RefusalCode, Rejected, Replayed, Resolved, Restored
from keyturn.status import InteractionStatus
from keyturn.store import Possibility, State
from keyturn.values import CommandId, EffectId, IdempotencyKey
from keyturn.world import Command, Unfolding, World
from keyturn_testing.mutants.base import Mutant, Turn, answering_with, in_world, mutant, with_card, with_effect


def _settled_command(turn: Turn) -> Command | None:
    operation = turn.operation
    return turn.state.world.command(operation.command) if isinstance(operation, ops.CommandSettle) else None


def _commits_on_a_moved_case(turn: Turn) -> Possibility:
    command = _settled_command(turn)
    if command is None or "I13.5" not in turn.chosen.branch.because:
        return turn.chosen
    world = turn.state.world
    card = world.interaction(command.card)
    assert card is not None
    current = evolve(command, accepted_at=world.revision(card.key))
    commands = tuple(current if each.id == command.id else each for each in world.commands)
    return turn.instead(turn.operation, evolve(world, commands=commands))


def _restores_as_fresh(turn: Turn) -> Possibility:
    command = _settled_command(turn)
    if command is None or "I13.6" not in turn.chosen.branch.because:
        return turn.chosen
    world = turn.chosen.state.world
    card = world.interaction(command.card)
    assert card is not None
    fresh = evolve(card, status=InteractionStatus.ACTIVE, case_revision=world.revision(card.key))
    return in_world(turn.chosen, with_card(world, fresh))


def _moves_no_revision(turn: Turn) -> Possibility:
    if "I13.9" not in turn.chosen.branch.because:
        return turn.chosen
    return in_world(turn.chosen, evolve(turn.chosen.state.world, cases=turn.state.world.cases))


def _starts_a_second_command(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, InFlight):
        return turn.chosen
    return answering_with(turn.chosen, evolve(outcome, command=CommandId(f"{outcome.command}-again")))


def _tells_the_loser_that_it_won(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Replayed):
        return turn.chosen
    return answering_with(turn.chosen, Replayed(result=evolve(outcome.result, option=str(turn.sent.get("option_id")))))


def _with_new_effects(turn: Turn, kept: int) -> Possibility:
    history, known = turn.chosen.state.history, len(turn.state.history.effects)
    effects = history.effects[: known + kept]
    return evolve(turn.chosen, state=State(turn.chosen.state.world, evolve(history, effects=effects)))


def _runs_the_first_command_only(turn: Turn) -> Possibility:
    known = len(turn.state.history.effects)
    if isinstance(turn.operation, ops.Reset) or len(turn.chosen.state.history.effects) < known + 2:
        return turn.chosen
    return _with_new_effects(turn, 1)


def _without_deadlines(world: World) -> World:
    return evolve(world, interactions=tuple(evolve(each, expires_at=None) for each in world.interactions))


def _answers_overdue_cards(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or "I19.5" not in turn.chosen.branch.because or card.status is not InteractionStatus.ACTIVE:
        return turn.chosen
    taken = turn.instead(turn.operation, _without_deadlines(turn.state.world))
    due = {each.id: each.expires_at for each in turn.state.world.interactions}
    kept = tuple(evolve(each, expires_at=due[each.id]) for each in taken.state.world.interactions)
    return in_world(taken, evolve(taken.state.world, interactions=kept))


def _runs_what_it_refuses(turn: Turn) -> Possibility:
    card = turn.card
    stopped = turn.refused_with(RefusalCode.UNKNOWN_OPTION, RefusalCode.STALE_REVISION, RefusalCode.NOT_ANSWERABLE)
    if card is None or not stopped:
        return turn.chosen
    option = next((o for o in card.payload.options if o.action.action_class is ActionClass.AUTHORISES), None)
    if option is None:
        return turn.chosen
    number = turn.state.world.issued + 1
    command = Command(
        id=CommandId(f"command-{number}"),
        idempotency_key=IdempotencyKey(f"key-{number}"),
        card=card.id,
        option=option.id,
        freeform="forced" if option.freeform.max_length else None,
        accepted_at=turn.state.world.revision(card.key),
    )
    return with_effect(turn.chosen, card, command)


def _acts_after_a_restart(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.Restart | ops.CaseEdit):
        return turn.chosen
    world = turn.chosen.state.world
    waiting = next((each for each in world.interactions if each.status is InteractionStatus.ACTIVE), None)
    if waiting is None:
        return turn.chosen
    return in_world(turn.chosen, with_card(world, evolve(waiting, status=InteractionStatus.DECLINED)))


def _cites_what_never_was(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Resolved) or not outcome.result.effects:
        return turn.chosen
    result = evolve(outcome.result, effects=(EffectId("effect-of-nothing"),))
    return answering_with(turn.chosen, Resolved(result=result))


def _binds_to_the_current_revision(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or not turn.refused_with(RefusalCode.STALE_REVISION):
        return turn.chosen
    written = turn.instead(evolve(operation, for_revision=None))
    return written if isinstance(written.branch.outcome, Presented) else turn.chosen


def _closes_and_leaves_cards(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.CaseClose) or isinstance(turn.chosen.branch.outcome, Rejected):
        return turn.chosen
    closed = Unfolding(turn.state.world).close(turn.operation.key).world
    told = answering_with(turn.chosen, ops.CardsInvalidated(invalidated=()))
    return evolve(told, state=evolve(turn.state, world=closed))


def _counts_restores_as_failures(turn: Turn) -> Possibility:
    chosen = turn.chosen
    if not isinstance(chosen.branch.outcome, Restored) or not chosen.branch.happened:
        return chosen
    metrics = chosen.state.history.metrics
    history = evolve(chosen.state.history, metrics=evolve(metrics, failed=metrics.failed + 1))
    return evolve(chosen, state=evolve(chosen.state, history=history))


OUTCOMES: tuple[Mutant, ...] = (
    mutant(
        "commits-on-a-moved-case", "I13.5", _commits_on_a_moved_case, "A command commits whatever the record became."
    ),
    mutant("restores-as-fresh", "I13.6", _restores_as_fresh, "A card that is given back is bound to the new revision."),
    mutant("commit-moves-nothing", "I13.9", _moves_no_revision, "A commit leaves the revision as it was."),
    mutant("second-click-second-command", "I14.3", _starts_a_second_command, "A second click names a second command."),
    mutant("loser-reads-success", "I14.4", _tells_the_loser_that_it_won, "A contradicting answer is told that it won."),
    mutant("half-of-the-commands", "I14.9", _runs_the_first_command_only, "Only the first of two commands runs."),
    mutant("overdue-card-answers", "I19.5", _answers_overdue_cards, "A deadline counts only once a sweep has come."),
    mutant("refused-and-ran", "I19.9", _runs_what_it_refuses, "What is refused has its effect all the same."),
    mutant("acts-on-its-own", "I19.10", _acts_after_a_restart, "An edit or a restart closes a card that waits."),
    mutant("cites-what-never-was", "E2", _cites_what_never_was, "A success cites an effect that does not exist."),
    mutant("binds-at-the-write", "I13.10", _binds_to_the_current_revision, "Old content is bound to the new revision."),
    mutant("closed-case-keeps-asking", "I13.11", _closes_and_leaves_cards, "A closed case leaves its cards active."),
    mutant("restore-counts-as-failure", "E3", _counts_restores_as_failures, "A command given back counts as failed."),
)
"""The mutants of this module."""
