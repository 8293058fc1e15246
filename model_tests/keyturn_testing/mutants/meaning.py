"""Faults of identity and meaning: what a card is, whose answer it takes, and what an answer does.

Each is a pure function of a turn: what the reference would do goes in, and what the faulty system does comes out.
"""

from unicodedata import normalize

from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import Interaction, InteractionKind, InteractionOption, view
from keyturn.responses import Dismissed, Presented, RefusalCode, Rejected
from keyturn.status import InteractionStatus
from keyturn.store import Possibility, State
from keyturn.table import TERMINAL
from keyturn.values import PayloadHash
from keyturn.world import World
from keyturn_testing.mutants.base import Mutant, Turn, answering_with, in_world, mutant, with_card


def _rewrites_cards(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CaseEdit):
        return turn.chosen
    world = turn.chosen.state.world
    rewritten = tuple(
        evolve(each, payload=evolve(each.payload, title="Edited.")) if each.key == operation.key else each
        for each in world.interactions
    )
    return in_world(turn.chosen, evolve(world, interactions=rewritten))


def _presented(turn: Turn) -> Interaction | None:
    outcome = turn.chosen.branch.outcome
    return turn.chosen.state.world.interaction(outcome.card.id) if isinstance(outcome, Presented) else None


def _offering(chosen: Possibility, world: World, card: Interaction) -> Possibility:
    outcome = chosen.branch.outcome
    assert isinstance(outcome, Presented)
    return in_world(answering_with(chosen, evolve(outcome, card=view(card))), world)


def _uses_ids_again(turn: Turn) -> Possibility:
    new = _presented(turn)
    ended = next((each for each in turn.state.world.interactions if each.status in TERMINAL), None)
    if new is None or ended is None:
        return turn.chosen
    world = turn.chosen.state.world
    again = evolve(new, id=ended.id)
    kept = tuple(each for each in world.interactions if each.id not in (new.id, ended.id))
    return _offering(turn.chosen, evolve(world, interactions=(*kept, again)), again)


def _hashes_the_title(turn: Turn) -> Possibility:
    new = _presented(turn)
    if new is None:
        return turn.chosen
    hashed = evolve(new, payload_hash=PayloadHash(new.payload.title))
    return _offering(turn.chosen, with_card(turn.chosen.state.world, hashed), hashed)


def _believes_the_status(turn: Turn) -> Possibility:
    card = turn.card
    said = any(each in turn.sent for each in ("status", "outcome", "action", "options", "account", "kind"))
    if card is None or not said or "A1" not in turn.chosen.branch.because:
        return turn.chosen
    closed = with_card(turn.state.world, evolve(card, status=InteractionStatus.DISMISSED))
    return evolve(turn.chosen, state=evolve(turn.state, world=closed))


def _cuts_texts_short(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or not turn.refused_with(RefusalCode.FREEFORM_TOO_LONG, RefusalCode.FREEFORM_FORBIDDEN):
        return turn.chosen
    option = card.payload.option(str(turn.sent.get("option_id")))
    if option is None:
        return turn.chosen
    text = str(turn.sent.get("freeform_input"))[: option.freeform.max_length or 0] or None
    return turn.instead(turn.answering(freeform_input=text))


def _cites_the_first_card(turn: Turn) -> Possibility:
    known, history = len(turn.state.history.effects), turn.chosen.state.history
    if isinstance(turn.operation, ops.Reset) or len(history.effects) == known:
        return turn.chosen
    cited = PayloadHash("0" * 64)
    effects = (*history.effects[:known], *(evolve(each, payload_hash=cited) for each in history.effects[known:]))
    return evolve(turn.chosen, state=State(turn.chosen.state.world, evolve(history, effects=effects)))


def _folded(text: str) -> str:
    return normalize("NFKC", text).casefold().strip()


def _similar(card: Interaction, sent: str) -> InteractionOption | None:
    wanted = _folded(sent)
    return next((o for o in card.payload.options if wanted and _folded(o.id).startswith(wanted)), None)


def _compares_loosely(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or not turn.refused_with(RefusalCode.UNKNOWN_OPTION):
        return turn.chosen
    option = _similar(card, str(turn.sent.get("option_id")))
    return turn.chosen if option is None else turn.instead(turn.answering(option_id=option.id, freeform_input=None))


def _answers_the_newest(turn: Turn) -> Possibility:
    card = turn.card
    if card is None or "A1" not in turn.chosen.branch.because:
        return turn.chosen
    option = str(turn.sent.get("option_id"))
    others = [
        each
        for each in turn.state.world.interactions
        if each.status is InteractionStatus.ACTIVE
        and (each.key.account, each.conversation) == (card.key.account, card.conversation)
        and each.payload.option(option) is not None
    ]
    newest = others[-1] if others else card
    if newest.id == card.id:
        return turn.chosen
    bound = turn.state.world.revision(newest.key)
    taken = turn.instead(turn.answering(interaction_id=newest.id, expected_case_revision=bound))
    return taken if "A1" in taken.branch.because else turn.chosen


def _guesses_malformed(turn: Turn) -> Possibility:
    card = turn.card
    sent = turn.sent
    if not turn.refused_with(RefusalCode.MALFORMED) or not sent:
        return turn.chosen
    named = card or turn.state.world.interaction(str(sent.get("interaction_id")))
    if named is None or named.status is not InteractionStatus.ACTIVE:
        return turn.chosen
    revision = named.case_revision or turn.state.world.revision(named.key)
    option = named.payload.options[0].id
    return turn.instead(
        turn.answering(interaction_id=named.id, option_id=option, expected_case_revision=revision, freeform_input=None)
    )


def _takes_nobody_for_anybody(turn: Turn) -> Possibility:
    card, operation = turn.card, turn.operation
    if card is None or not isinstance(operation, ops.CardRespond):
        return turn.chosen
    if "" not in (operation.account, operation.conversation):
        return turn.chosen
    return turn.instead(evolve(operation, account=card.key.account, conversation=card.conversation))


def _has_one_code(turn: Turn) -> Possibility:
    outcome = turn.chosen.branch.outcome
    if not isinstance(outcome, Rejected) or outcome.code is RefusalCode.NOT_FOUND:
        return turn.chosen
    return answering_with(turn.chosen, evolve(outcome, code=RefusalCode.UNAVAILABLE))


def _declines_what_is_dismissed(turn: Turn) -> Possibility:
    card, outcome = turn.card, turn.chosen.branch.outcome
    if card is None or not isinstance(outcome, Dismissed):
        return turn.chosen
    after = turn.chosen.state.world.interaction(card.id)
    assert after is not None
    declined = with_card(turn.chosen.state.world, evolve(after, status=InteractionStatus.DECLINED))
    return in_world(turn.chosen, declined)


def _writes_any_card(turn: Turn) -> Possibility:
    operation = turn.operation
    if not isinstance(operation, ops.CardPresent) or not turn.refused_with(RefusalCode.INVALID_CARD):
        return turn.chosen
    written = turn.instead(evolve(operation, kind=InteractionKind.SINGLE_SELECT))
    outcome = written.branch.outcome
    if not isinstance(outcome, Presented):
        return turn.chosen
    card = written.state.world.interaction(outcome.card.id)
    assert card is not None
    restored = evolve(card, kind=operation.kind)
    return _offering(written, with_card(written.state.world, restored), restored)


MEANING: tuple[Mutant, ...] = (
    mutant("edit-rewrites-cards", "I6.5", _rewrites_cards, "An edit of the record changes the text of its cards."),
    mutant("ids-come-back", "I6.7", _uses_ids_again, "A new card gets the id of one that has ended."),
    mutant("hash-of-the-title", "I6.8", _hashes_the_title, "The hash covers the title and nothing else."),
    mutant(
        "client-defines-more", "I7.3", _believes_the_status, "What a client sends beside its answer closes the card."
    ),
    mutant(
        "text-is-cut-short", "I7.4", _cuts_texts_short, "A text that is too long is cut, and one too many is dropped."
    ),
    mutant("cites-no-card", "I7.6", _cites_the_first_card, "Effects cite a hash that no card has."),
    mutant("compares-loosely", "I7.7", _compares_loosely, "Option ids match whatever their case, spaces and ends."),
    mutant("newest-card-is-meant", "I7.8", _answers_the_newest, "An answer goes to the newest card with that option."),
    mutant("guesses-the-malformed", "I19.6", _guesses_malformed, "What cannot be read is read as the first option."),
    mutant("nobody-is-anybody", "I19.7", _takes_nobody_for_anybody, "An empty owner passes for every owner."),
    mutant("one-code-for-all", "A2", _has_one_code, "Every refusal says that the system is unavailable."),
    mutant("dismissed-reads-declined", "A3", _declines_what_is_dismissed, "Dismissing a card declines it."),
    mutant("any-card-goes", "A4", _writes_any_card, "A card that nobody could answer is written."),
)
"""The mutants of this module."""
