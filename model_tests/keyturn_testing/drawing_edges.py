"""Draws at the edges of the contract: what a hostile, hasty or broken client sends, and cards that nobody could answer.

They stand beside the draws of `keyturn_testing.drawing`, and pick from the situation in the same way.
"""

from collections.abc import Callable, Mapping, Sequence

from attrs import evolve

from keyturn.cards import InteractionKind
from keyturn.status import InteractionStatus
from keyturn.table import OPEN
from keyturn.values import CaseKey
from keyturn_testing.dealing import Table
from keyturn_testing.drawing import (
    ACCOUNTS,
    CASES,
    CONVERSATIONS,
    WORKFLOWS,
    Pick,
    fresh_cards,
    on_case,
    present_card,
    response_to,
    rightly,
)
from keyturn_testing.situation import KnownCard, Situation
from keyturn_testing.traces import Call

MORE: Sequence[Mapping[str, object]] = (
    {"status": "resolved"},
    {"status": "dismissed"},
    {"action": {"kind": "apply_operation", "operation": "trip.everything", "arguments": {}}},
    {"options": [{"id": "anything", "label": "Anything", "action": {"kind": "decline"}}]},
    {"account": "globex", "conversation": "chat-2"},
    {"command": "command-1", "effects": ["effect-1"], "outcome": "resolved"},
    {"case_revision": 1, "kind": "boolean", "payload": {"title": "Something else?"}},
)
"""What a client may never define, beside a response that is right."""


def answer_with_more(situation: Situation, pick: Pick) -> Call:
    """Answer a fresh card, and send something that a client may never define."""
    card = pick(fresh_cards(situation))
    call = response_to(card, card.believed.payload.options[0].id)
    response = call.params["response"]
    assert isinstance(response, Mapping)
    return evolve(call, params={**call.params, "response": {**response, **pick(MORE)}})


def answer_as_nobody(situation: Situation, pick: Pick) -> Call:
    """Answer a fresh card with an empty account or conversation, which never means anyone."""
    card = pick(fresh_cards(situation))
    call = response_to(card, card.believed.payload.options[0].id)
    return evolve(call, params={**call.params, pick(("account", "conversation")): ""})


def ask_as_nobody(situation: Situation, pick: Pick) -> Call:
    """Present a card for an empty conversation; or on a case of an empty account, which is opened first.

    An empty owner may be refused, but where it is an owner it is one like any other.
    """
    key = CaseKey("", pick(WORKFLOWS), pick(CASES))
    opened = [each for each in situation.open_cases if each.account == ""]
    if not situation.kinds or (not opened and pick((True, False))):
        return on_case("case.open", key)
    call = present_card(evolve(situation, cases=tuple(opened) or situation.cases), pick)
    changes: Mapping[str, object] = {"blocking": False} if opened else {"blocking": False, "conversation": ""}
    return evolve(call, params={**call.params, **changes})


def _is_nobodys(card: KnownCard) -> bool:
    return "" in (card.offered.asked.account, card.offered.asked.conversation)


def _nobodys(situation: Situation) -> list[KnownCard]:
    return [each for each in fresh_cards(situation) if _is_nobodys(each)]


def has_card_of_nobody(situation: Situation) -> bool:
    """Whether a card of an empty account or conversation can be answered."""
    return bool(_nobodys(situation))


def answer_nobody(situation: Situation, pick: Pick) -> Call:
    """Answer a card of nobody's: mostly as somebody, and as nobody too."""
    card = pick(_nobodys(situation))
    asked = card.offered.asked
    somebody: dict[str, object] = {"account": asked.account or ACCOUNTS[0]}
    somebody["conversation"] = asked.conversation or pick(CONVERSATIONS)
    return response_to(card, card.believed.payload.options[0].id, **pick(({}, somebody, somebody)))


def cases_in_flight(situation: Situation) -> list[CaseKey]:
    """The cases of the cards whose command is in flight and whose revision has not moved since."""
    world = situation.world
    waiting = [each.believed for each in situation.with_status(InteractionStatus.RESOLVING)]
    commands = [(card.key, world.command_of(card.id)) for card in waiting]
    return [key for key, command in commands if command is not None and command.accepted_at == world.revision(key)]


def edit_in_flight(situation: Situation, pick: Pick) -> Call:
    """Change the record of a case while a command is in flight on it."""
    return on_case("case.edit", pick(cases_in_flight(situation)))


def free_beside_others(situation: Situation) -> list[CaseKey]:
    """The open cases whose slot is free while another case of the same account has its own taken."""
    taken = {each.key for each in situation.world.interactions if each.blocking and each.status in OPEN}
    accounts = {each.account for each in taken}
    return [each for each in situation.open_cases if each not in taken and each.account in accounts]


def present_in_another_case(situation: Situation, pick: Pick) -> Call:
    """Present a blocking card in a case whose slot is free, while another case has one."""
    call = present_card(evolve(situation, cases=tuple(free_beside_others(situation))), pick)
    return evolve(call, params={**call.params, "blocking": True})


def sets_of_options(situation: Situation) -> list[KnownCard]:
    """The cards that can be answered with a set of options."""
    return [each for each in fresh_cards(situation) if each.believed.kind is InteractionKind.MULTI_SELECT]


def answer_with_a_set(situation: Situation, pick: Pick) -> Call:
    """Answer with a set of options."""
    return rightly(pick(sets_of_options(situation)), pick)


WRONG_SETS: Table[Callable[[str], dict[str, object]]] = Table(
    "wrong sets",
    {
        "an option twice": lambda first: {"option_ids": [first, first]},
        "an option that is not there": lambda first: {"option_ids": [first, "nothing of the kind"]},
        "in capitals": lambda first: {"option_ids": [first.upper()]},
        "one with a space": lambda first: {"option_ids": [f"{first} ", first]},
        "an empty id": lambda first: {"option_ids": [""]},
        "a number": lambda first: {"option_ids": [1]},
        "no list": lambda first: {"option_ids": first},
        "null": lambda first: {"option_ids": None},
        "a single option too": lambda first: {"option_ids": [first], "option_id": first},
        "a single option": lambda first: {"option_ids": None, "option_id": first},
        "a text": lambda first: {"option_ids": [first], "freeform_input": "no text belongs here"},
    },
)
"""Sets that are none, or that hold what the card does not store, made of its first option."""


def answer_with_a_wrong_set(situation: Situation, pick: Pick) -> Call:
    """Answer with a set that is none, or that holds what the card does not store."""
    card = pick(sets_of_options(situation))
    first = card.believed.payload.options[0].id
    return response_to(card, first, **pick(WRONG_SETS)(first))


def present_unanswerable(situation: Situation, pick: Pick) -> Call:
    """Present a card that does not fit the table of kinds."""
    call = present_card(situation, pick)
    payload = call.params["payload"]
    assert isinstance(payload, Mapping)
    options = payload["options"]
    assert isinstance(options, list)
    spoiled: Sequence[tuple[str, list[object]]] = (
        (InteractionKind.SINGLE_SELECT.value, []),
        (InteractionKind.SINGLE_SELECT.value, [*options, options[0]]),
        (InteractionKind.SINGLE_SELECT.value, [{**options[0], "id": ""}]),
        (InteractionKind.CONFIRM_COMMAND.value, options[:1]),
        (InteractionKind.BOOLEAN.value, options[:1]),
    )
    offered = {each.value for each in situation.kinds}
    kind, wrong = pick([each for each in spoiled if each[0] in offered] or [(str(call.params["kind"]), [])])
    return evolve(call, params={**call.params, "kind": kind, "payload": {**payload, "options": wrong}})
