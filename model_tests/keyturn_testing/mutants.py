"""Systems that are wrong in exactly one way, each named for its fault (D6).

A mutant is the reference store with one distortion: a pure function from what the reference would do to what the faulty
system does instead. It describes itself like the reference, and disarmed it is the reference. A requirement without a mutant
that it kills by its id is not believed.
"""

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import Claims
from keyturn.cards import ActionClass, Interaction, view
from keyturn.responses import Declined, Presented, RefusalCode, Rejected, Replayed, Resolved, readings
from keyturn.settling import effect_count
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.store import History, Possibility, ReferenceStore, State, possibilities
from keyturn.table import TERMINAL
from keyturn.values import Untrusted
from keyturn.world import Command, Unfolding, World


@frozen(kw_only=True)
class Turn:
    """One operation as it meets the store, and what the reference would do."""

    state: State
    operation: ops.Operation
    claims: Claims
    chosen: Possibility

    @property
    def card(self) -> Interaction | None:
        """The interaction that the operation names, whoever asks."""
        match self.operation:
            case ops.CardRespond():
                response = next((each for each in readings(self.operation.response) if each is not None), None)
                return None if response is None else self.state.world.interaction(response.interaction_id)
            case ops.CardGet():
                return self.state.world.interaction(self.operation.card)
            case _:
                return None

    def refused_with(self, *codes: RefusalCode) -> bool:
        """Whether the reference refuses with one of these codes."""
        outcome = self.chosen.branch.outcome
        return isinstance(outcome, Rejected) and outcome.code in codes

    def instead(self, operation: ops.Operation, world: World | None = None) -> Possibility:
        """What the reference would do with another operation, or in another world."""
        state = self.state if world is None else evolve(self.state, world=world)
        return possibilities(state, operation, self.claims)[0]

    def answering(self, **changes: object) -> ops.CardRespond:
        """The same response with other fields."""
        assert isinstance(self.operation, ops.CardRespond) and isinstance(self.operation.response, Mapping)
        return evolve(self.operation, response=Untrusted({**self.operation.response, **changes}))


Distort = Callable[[Turn], Possibility]


@frozen(kw_only=True)
class Mutant:
    """One fault: its name, the sentence that describes it, the requirements that it breaks, and how."""

    name: str
    fault: str
    breaks: tuple[str, ...]
    distort: Distort


class MutantStore(ReferenceStore):
    """The reference store with one fault, armed or not."""

    def __init__(self, mutant: Mutant, *, armed: bool = True) -> None:
        super().__init__()
        self.mutant, self.armed = mutant, armed

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation as the faulty system would."""
        chosen = possibilities(self.state, operation, self.claims)[0]
        if self.armed:
            turn = Turn(state=self.state, operation=operation, claims=self.claims, chosen=chosen)
            chosen = self.mutant.distort(turn)
        self.state = chosen.state
        return chosen.branch.outcome


# What distortions are made of.


def _with_card(world: World, after: Interaction) -> World:
    return evolve(world, interactions=tuple(after if each.id == after.id else each for each in world.interactions))


def _answering_with(chosen: Possibility, outcome: Outcome) -> Possibility:
    return evolve(chosen, branch=evolve(chosen.branch, outcome=outcome))


def _in_world(chosen: Possibility, world: World) -> Possibility:
    return evolve(chosen, state=evolve(chosen.state, world=world))


def _with_effect(chosen: Possibility, card: Interaction, command: Command) -> Possibility:
    option = next(each for each in card.payload.options if each.id == command.option)
    unfolding = Unfolding(chosen.state.world).run(command, card, option, effect_count(option))
    return evolve(chosen, state=State(unfolding.world, chosen.state.history.after(unfolding.happened)))


# The faults.


def _revives_ended_cards(turn: Turn) -> Possibility:
    card = turn.card
    ended = card is not None and card.status in TERMINAL and card.status is not InteractionStatus.RESOLVED
    if card is None or not ended or not turn.refused_with(RefusalCode.NOT_ANSWERABLE):
        return turn.chosen
    revived = evolve(card, status=InteractionStatus.ACTIVE, expires_at=None, case_revision=None, result=None)
    taken = turn.instead(turn.operation, _with_card(turn.state.world, revived))
    after = taken.state.world.interaction(card.id)
    assert after is not None
    kept = evolve(after, expires_at=card.expires_at, case_revision=card.case_revision)
    return _in_world(taken, _with_card(taken.state.world, kept))


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
    state = State(_with_card(world, evolve(card, result=result)), history)
    return evolve(_answering_with(committed, Resolved(result=result)), state=state)


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
    told = _answering_with(written, evolve(outcome, card=view(blocking)))
    return _in_world(told, _with_card(written.state.world, blocking))


def _keeps_the_replaced_card(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or "I5.3" not in turn.chosen.branch.because:
        return turn.chosen
    occupant = turn.state.world.occupant(operation.key)
    assert occupant is not None
    demoted = _with_card(turn.state.world, evolve(occupant, blocking=False))
    return turn.instead(operation, demoted)


def _offers_before_it_stores(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.CardPresent) or len(turn.state.world.interactions) < 2:
        return turn.chosen
    forgotten = evolve(turn.state.world, issued=turn.chosen.state.world.issued)
    return evolve(turn.chosen, state=evolve(turn.state, world=forgotten))


def _forgets_pending_cards(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.Restart):
        return turn.chosen
    world = turn.chosen.state.world
    kept = tuple(each for each in world.interactions if each.status is not InteractionStatus.ACTIVE)
    return _in_world(turn.chosen, evolve(world, interactions=kept))


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
    state = State(turn.chosen.state.world, History(tuple(effects), history.batches))
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
    return _with_effect(turn.chosen, card, commands[-1]) if commands else turn.chosen


def _takes_any_revision(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or card.case_revision is None or "I13.1" not in turn.chosen.branch.because:
        return turn.chosen
    return turn.instead(turn.answering(expected_case_revision=card.case_revision))


def _refreshes_stale_cards(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or "I13.2" not in turn.chosen.branch.because:
        return turn.chosen
    current = turn.state.world.revision(card.key)
    refreshed = evolve(card, status=InteractionStatus.ACTIVE, case_revision=current, expires_at=None)
    taken = turn.instead(turn.operation, _with_card(turn.state.world, refreshed))
    after = taken.state.world.interaction(card.id)
    assert after is not None
    kept = evolve(after, case_revision=card.case_revision, expires_at=card.expires_at)
    return _in_world(taken, _with_card(taken.state.world, kept))


def _leaves_cards_active(turn: Turn) -> Possibility:
    if not isinstance(turn.operation, ops.CaseEdit) or isinstance(turn.chosen.branch.outcome, Rejected):
        return turn.chosen
    advanced = Unfolding(turn.state.world).advance(turn.operation.key).world
    revision = advanced.revision(turn.operation.key)
    edited = ops.CaseEdited(revision=revision, invalidated=())
    return evolve(_answering_with(turn.chosen, edited), state=evolve(turn.state, world=advanced))


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
    if card is None or not isinstance(turn.chosen.branch.outcome, Replayed) or not turn.state.world.commands:
        return turn.chosen
    command = next((each for each in turn.state.world.commands if each.card == card.id), None)
    return turn.chosen if command is None else _with_effect(turn.chosen, card, command)


def _replays_something_else(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Replayed) or turn.card is None:
        return turn.chosen
    current = turn.state.world.revision(turn.card.key)
    result = evolve(outcome.result, effects=(), command=None, case_revision=current, option=None)
    return _answering_with(turn.chosen, Replayed(result=result))


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
    return _in_world(turn.chosen, _with_card(turn.state.world, evolve(card, status=InteractionStatus.DISMISSED)))


def _answers_only_the_newest(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or "A1" not in turn.chosen.branch.because or card == turn.state.world.interactions[-1]:
        return turn.chosen
    refused = _answering_with(turn.chosen, Rejected(code=RefusalCode.NOT_ANSWERABLE))
    return evolve(refused, state=turn.state)


def _leaves_out_accepts(turn: Turn) -> Possibility:
    history = turn.chosen.state.history
    batches = tuple(
        kept for batch in history.batches if (kept := tuple(e for e in batch if e.event is not InteractionEvent.ACCEPT))
    )
    return evolve(turn.chosen, state=evolve(turn.chosen.state, history=evolve(history, batches=batches)))


def _mutant(name: str, breaks: str, distort: Distort, fault: str) -> Mutant:
    return Mutant(name=name, fault=fault, breaks=(breaks,), distort=distort)


_ALL = (
    _mutant(
        "ended-card-revives", "L2", _revives_ended_cards, "An answer to a card that has ended is taken all the same."
    ),
    _mutant("failed-reads-resolved", "L3", _failed_reads_resolved, "A failed command leaves its card resolved."),
    _mutant(
        "two-questions-at-once", "I5.1", _writes_into_an_occupied_slot, "A second blocking card is written anyway."
    ),
    _mutant("replaced-card-lives-on", "I5.3", _keeps_the_replaced_card, "A replaced card stays active and answerable."),
    _mutant(
        "offered-before-stored",
        "I6.1",
        _offers_before_it_stores,
        "From the third card on, cards are offered and not stored.",
    ),
    _mutant(
        "restart-forgets", "I6.3", _forgets_pending_cards, "Pending cards live in memory, and a restart loses them."
    ),
    _mutant("runs-the-first-option", "I7.1", _runs_the_first_option, "What runs is the card's first option."),
    _mutant("guesses-the-option", "I7.2", _guesses_the_option, "An unknown option id is taken for the first option."),
    _mutant("decline-runs-it", "I7.9", _runs_on_decline, "Nobody reads the answer: a declined command runs."),
    _mutant("any-revision-goes", "I13.1", _takes_any_revision, "The revision that the client saw is never compared."),
    _mutant(
        "refreshed-stale-card", "I13.2", _refreshes_stale_cards, "The current revision makes a stale card good again."
    ),
    _mutant(
        "edit-leaves-cards", "I13.3", _leaves_cards_active, "An edit moves the revision and leaves its cards active."
    ),
    _mutant("edit-sweeps-everything", "I13.4", _sweeps_everything, "An edit invalidates independent cards too."),
    _mutant(
        "double-click-pays-twice", "I14.1", _pays_twice, "A second click on a resolved card runs its command again."
    ),
    _mutant(
        "replay-says-otherwise", "I14.2", _replays_something_else, "A second click gets another result than the first."
    ),
    _mutant("stranger-answers", "I19.1", _lets_strangers_in, "Whoever knows the id of a card can answer it."),
    _mutant("refusal-closes-the-card", "I19.8", _closes_on_refusal, "A refused answer closes the card all the same."),
    _mutant(
        "only-the-newest-answers", "A1", _answers_only_the_newest, "Only the newest of several cards can be answered."
    ),
    _mutant("ledger-without-accepts", "E1", _leaves_out_accepts, "The ledger does not say who accepted what."),
)

MUTANTS: Mapping[str, Mutant] = {each.name: each for each in _ALL}
"""Every mutant, by its name."""


def mutant_factory(name: str, armed: bool) -> Callable[[], MutantStore]:
    """Return what makes a mutant; raise `KeyError` for a name that there is not."""
    mutant = MUTANTS[name]
    return lambda: MutantStore(mutant, armed=armed)
