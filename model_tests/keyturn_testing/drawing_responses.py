"""Draws of responses that are no answer: malformed ones, ids that only look alike, revisions that are none, texts at limits.

They stand beside the draws of `keyturn_testing.drawing`. What is sent comes from tables that are dealt, so that a run goes to
each of these places on purpose; two or three of them in a row meet one card, because what is refused leaves it as it was.
"""

from collections.abc import Callable, Mapping

from attrs import evolve

from keyturn.cards import FreeformKind, InteractionOption
from keyturn.responses import DEEPEST_RESPONSE, LARGEST_RESPONSE
from keyturn_testing.alike import FORMS
from keyturn_testing.dealing import Table
from keyturn_testing.drawing import Pick, fresh_cards, like, response_to, text_for, unlike
from keyturn_testing.payloads import LONG_TEXT, twins
from keyturn_testing.situation import KnownCard, Situation
from keyturn_testing.texts import LONG_TEXTS, REFUSED_TEXTS, TEXTS, UNWANTED_TEXTS
from keyturn_testing.traces import Call

# Shapes.

Spoil = Callable[[Mapping[str, object]], object]
"""Makes of a right response what is sent instead."""


def _with(name: str, value: object) -> Spoil:
    return lambda sent: {**sent, name: value}


def _listed(name: str) -> Spoil:
    return lambda sent: {**sent, name: [sent[name]]}


def _without(name: str) -> Spoil:
    return lambda sent: {key: each for key, each in sent.items() if key != name}


def _instead(value: object) -> Spoil:
    return lambda sent: value


def nested(depth: int) -> list[object]:
    """Return lists in lists, so many deep."""
    value: list[object] = []
    for _ in range(depth - 1):
        value = [value]
    return value


_TYPES: Mapping[str, object] = {
    "null": None,
    "true": True,
    "a number": 7,
    "an object": {"id": "yes"},
    "a list": ["yes"],
}
_WRONG: Mapping[str, Mapping[str, object]] = {
    "interaction_id": _TYPES,
    "option_id": _TYPES,
    "expected_case_revision": {"an object": {"revision": 1}, "a list": [1]},
    "freeform_input": {name: each for name, each in _TYPES.items() if each is not None},
}
"""Values of another JSON type, for each field; the other wrong revisions have a table of their own."""

MALFORMED: Table[Spoil] = Table(
    "malformed",
    {
        **{f"{name}: {kind}": _with(name, each) for name, kinds in _WRONG.items() for kind, each in kinds.items()},
        **{f"{name}: itself in a list": _listed(name) for name in ("interaction_id", "option_id")},
        **{f"no {name}": _without(name) for name in ("interaction_id", "option_id")},
        **{f"the response: {kind}": _instead(each) for kind, each in _TYPES.items()},
        "the response: a string": _instead("yes"),
        "the response: empty": _instead({}),
        "the response: itself in a list": lambda sent: [sent],
        "64 deep": _with("option_id", nested(DEEPEST_RESPONSE - 1)),
        "deeper": _with("option_id", nested(DEEPEST_RESPONSE + 36)),
        "U+0000 in an option": lambda sent: {**sent, "option_id": f"{sent.get('option_id')}\x00"},
        "U+0000 in a text": _with("freeform_input", "be\x00cause"),
        "U+0000 in a name": _with("no\x00te", 1),
        "a lone surrogate in an option": lambda sent: {**sent, "option_id": f"{sent.get('option_id')}\ud800"},
        "a lone surrogate in a text": _with("freeform_input", "be\udc00cause"),
    },
)
"""What is not a well-formed response; all of it can be written in ASCII JSON."""

BEYOND: Table[Spoil] = Table(
    "beyond what must be read",
    {
        "64 deep beside an answer": _with("note", nested(DEEPEST_RESPONSE - 1)),
        "deeper beside an answer": _with("note", nested(DEEPEST_RESPONSE)),
        "64 KiB beside an answer": _with("note", "x" * LARGEST_RESPONSE),
        "an option of 64 KiB": _with("option_id", "x" * LARGEST_RESPONSE),
    },
)
"""What is just within, and just beyond, what a system must read: a response that it may take, or may refuse as malformed."""


def answer_malformed(situation: Situation, pick: Pick) -> Call:
    """Send something that is not a well-formed response, mostly to a card that could be answered."""
    return _spoiled(situation, pick, MALFORMED)


def answer_beyond(situation: Situation, pick: Pick) -> Call:
    """Send a response that is as large or as deep as one may be, or more, mostly to a card that could be answered."""
    return _spoiled(situation, pick, BEYOND)


def _spoiled(situation: Situation, pick: Pick, table: Table[Spoil]) -> Call:
    fresh = fresh_cards(situation)
    card = pick(fresh if pick((True, True, False)) and fresh else situation.cards)
    first = card.believed.payload.options[0].id
    call = response_to(card, first)
    response = call.params["response"]
    assert isinstance(response, Mapping)
    single = {name: each for name, each in response.items() if name != "option_ids"}
    return evolve(call, params={**call.params, "response": pick(table)({"option_id": first, **single})})


# Revisions.

MISSING = object()
"""Stands for a field that is left out."""

NO_REVISIONS: Table[object] = Table(
    "revisions that are none",
    {
        "0": 0,
        "negative": -1,
        "2^53": 2**53,
        "2^64": 2**64,
        "1.0": 1.0,
        "1.5": 1.5,
        "text": "1",
        "true": True,
        "null": None,
        "missing": MISSING,
    },
)
"""What stands where a revision should; several become the number 1 in a system that turns one type into another."""


def answer_wrong_revision(situation: Situation, pick: Pick) -> Call:
    """Answer a fresh card with a revision that it is not bound to."""
    card = pick([each for each in fresh_cards(situation) if each.believed.case_revision is not None])
    key = card.believed.key
    earlier = (-1, -1) if card.believed.case_revision != 1 else ()
    revision = {"$revision": [key.account, key.workflow, key.case], "plus": pick((1, 7, *earlier))}
    return response_to(card, card.believed.payload.options[0].id, expected_case_revision=revision)


def answer_without_revision(situation: Situation, pick: Pick) -> Call:
    """Answer a fresh card with what is no revision; best one of revision 1, for which several could be taken."""
    bound = [each for each in fresh_cards(situation) if each.believed.case_revision is not None]
    card = pick([each for each in bound if each.believed.case_revision == 1] or bound)
    revision = pick(NO_REVISIONS)
    call = response_to(card, card.believed.payload.options[0].id, expected_case_revision=revision)
    if revision is not MISSING:
        return call
    response = call.params["response"]
    assert isinstance(response, Mapping)
    return evolve(call, params={**call.params, "response": _without("expected_case_revision")(response)})


# Ids.

OPTIONS_ALIKE: Table[str] = Table("look-alike options", {name: name for name in FORMS})
CARDS_ALIKE: Table[str] = Table("look-alike cards", {name: name for name in FORMS})
"""The forms of ids that look like an option's, and like a card's."""


def answer_unknown_option(situation: Situation, pick: Pick) -> Call:
    """Choose an option that the card does not store: of another card, or one that looks alike."""
    fresh = fresh_cards(situation)
    card = pick(fresh or situation.cards)
    mine = [each.id for each in card.believed.payload.options]
    others = [each.id for known in situation.cards for each in known.believed.payload.options if each.id not in mine]
    stored_elsewhere = pick((True, False)) or not fresh
    if stored_elsewhere and others:
        return response_to(card, pick(list(dict.fromkeys(others))))
    near = FORMS[pick(OPTIONS_ALIKE)](pick(mine[:2])) if fresh else "0"
    return response_to(card, "0", option_id="0" if near in mine else near)


def answer_card_alike(situation: Situation, pick: Pick) -> Call:
    """Answer a card by an id that only looks like its own."""
    card = pick(fresh_cards(situation))
    return response_to(card, card.believed.payload.options[0].id, interaction_id=like(card, pick(CARDS_ALIKE)))


def answer_unknown_card(situation: Situation, pick: Pick) -> Call:
    """Answer a card that never existed."""
    card = pick(situation.cards)
    return response_to(card, card.believed.payload.options[0].id, interaction_id=unlike(card))


# Twins.


def _untaken_twins(situation: Situation, card: KnownCard) -> tuple[InteractionOption, ...]:
    """Both twins of a card that can be answered; of one that was answered with a twin, the other twin."""
    both, chosen = twins(card.believed.payload), card.believed.resolved_option
    if situation.fresh(card):
        return both
    return tuple(each for each in both if each.id != chosen) if chosen in {each.id for each in both} else ()


def has_twins(situation: Situation) -> bool:
    """Whether a twin can be chosen, or the other one of a twin that was."""
    return any(_untaken_twins(situation, each) for each in situation.cards)


def answer_twin(situation: Situation, pick: Pick) -> Call:
    """Choose one of two options that look alike, or the other one afterwards."""
    card = pick([each for each in situation.cards if _untaken_twins(situation, each)])
    option = pick(_untaken_twins(situation, card))
    return response_to(card, option.id, **text_for(option, pick))


# Texts.


def takes_text(option: InteractionOption) -> bool:
    """Whether an option's policy lets a text come with it."""
    return option.freeform.kind is not FreeformKind.FORBIDDEN


def _with_text(situation: Situation) -> list[tuple[KnownCard, InteractionOption]]:
    fresh = fresh_cards(situation)
    return [(card, each) for card in fresh for each in card.believed.payload.options if takes_text(each)]


def _is_long(option: InteractionOption) -> bool:
    return option.freeform.max_length == LONG_TEXT


def has_text(situation: Situation) -> bool:
    """Whether an option that takes a text can be chosen."""
    return bool(_with_text(situation))


def answer_with_text(situation: Situation, pick: Pick) -> Call:
    """Answer with a text that its option just takes."""
    taking = _with_text(situation)
    card, option = pick([each for each in taking if _is_long(each[1])] or taking)
    return response_to(card, option.id, freeform_input=pick(LONG_TEXTS if _is_long(option) else TEXTS))


def answer_with_wrong_text(situation: Situation, pick: Pick) -> Call:
    """Answer with a text against the option's policy, or at its edge."""
    taking = _with_text(situation)
    if pick((True, False)) and taking:
        card, option = pick(taking)
    else:
        card = pick(fresh_cards(situation))
        option = pick(card.believed.payload.options)
    table = REFUSED_TEXTS if takes_text(option) else UNWANTED_TEXTS
    table = LONG_TEXTS if _is_long(option) else table
    return response_to(card, option.id, freeform_input=pick(table))
