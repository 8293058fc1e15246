"""Draws at the edges of the contract: what a hostile, hasty or broken client sends, and cards that nobody could answer.

They stand beside the draws of `keyturn_testing.drawing`, and pick from the situation in the same way.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve

from keyturn.cards import InteractionKind
from keyturn.status import InteractionStatus
from keyturn.values import CaseKey
from keyturn_testing.drawing import Pick, fresh_cards, present_card, response_to
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
    """Answer a fresh card with an empty account, or an empty conversation."""
    card = pick(fresh_cards(situation))
    call = response_to(card, card.believed.payload.options[0].id)
    return evolve(call, params={**call.params, pick(("account", "conversation")): ""})


def cases_in_flight(situation: Situation) -> list[CaseKey]:
    """The cases of the cards whose command is in flight and whose revision has not moved since."""
    return [
        each.believed.key
        for each in situation.with_status(InteractionStatus.RESOLVING)
        if each.believed.case_revision == situation.world.revision(each.believed.key)
    ]


def edit_in_flight(situation: Situation, pick: Pick) -> Call:
    """Change the record of a case while a command is in flight on it."""
    key = pick(cases_in_flight(situation))
    return Call(operation="case.edit", params={"account": key.account, "workflow": key.workflow, "case": key.case})


def overdue_cards(situation: Situation) -> list[KnownCard]:
    """The Active cards whose deadline is past, and that no sweep has reached."""
    waiting = situation.with_status(InteractionStatus.ACTIVE)
    return [each for each in waiting if each.believed.overdue(situation.world.now)]


def answer_overdue(situation: Situation, pick: Pick) -> Call:
    """Answer a card whose deadline is past."""
    card = pick(overdue_cards(situation))
    return response_to(card, pick(card.believed.payload.options).id)


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
    kind, wrong = pick(spoiled)
    return evolve(call, params={**call.params, "kind": kind, "payload": {**payload, "options": wrong}})
