"""How each intent draws its call: functions from a situation to one call, aimed at the places where systems fail.

They pick from the situation only, through a `pick` that an engine provides, so that the same functions serve Hypothesis and
a plain random source. What they refer to, they refer to by the labels of earlier calls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from attrs import evolve

from keyturn.answerability import problems_of
from keyturn.capabilities import Capability, Claims
from keyturn.cards import FreeformKind, InteractionKind, InteractionOption, InteractionPayload
from keyturn.status import InteractionStatus
from keyturn.table import OPEN, TERMINAL
from keyturn.values import CaseKey
from keyturn.wire import read
from keyturn_testing.payloads import LONGEST_TEXT, payload
from keyturn_testing.situation import KnownCard, Situation
from keyturn_testing.traces import Call

T = TypeVar("T")

ACCOUNTS = ("acme", "globex")
WORKFLOWS = ("trip", "refund")
CASES = ("case-1", "case-2")
CONVERSATIONS = ("chat-1", "chat-2")


class Pick(Protocol):
    """Chooses one of several things."""

    def __call__(self, choices: Sequence[T], /) -> T:
        """Return one of the choices."""


Drawn = Callable[[Situation, Pick], Call]
"""Draws one call."""


def _on_case(method: str, key: CaseKey) -> Call:
    return Call(operation=method, params={"account": key.account, "workflow": key.workflow, "case": key.case})


def open_case(situation: Situation, pick: Pick) -> Call:
    """Open one of a few cases, or find it open; a closed one is opened again as often as not."""
    closed = [each for each in situation.cases if each not in situation.open_cases]
    again = pick((True, False))
    if closed and again:
        return _on_case("case.open", pick(closed))
    accounts = ACCOUNTS if situation.claimed(Capability.OWNERS) else ACCOUNTS[:1]
    return _on_case("case.open", CaseKey(pick(accounts), pick(WORKFLOWS), pick(CASES)))


def edit_case(situation: Situation, pick: Pick) -> Call:
    """Change the record of a case, most often of one with an open card."""
    return _on_case("case.edit", pick(_busy(situation) if pick((True, True, False)) else situation.cases))


def _busy(situation: Situation) -> tuple[CaseKey, ...]:
    """The cases with an open card, or all where there is none."""
    found = {each.believed.key: None for each in situation.with_status(*sorted(OPEN))}
    return tuple(found) or situation.cases


def clear_case(situation: Situation, pick: Pick) -> Call:
    """Close a case or withdraw its cards, most often one with an open card."""
    call = _on_case(pick(("case.close", "card.withdraw")), pick(_busy(situation)))
    reason = {} if call.operation == "case.close" else {"code": pick(("duplicate", "asked in error"))}
    return evolve(call, params={**call.params, **reason})


def present_card(situation: Situation, pick: Pick) -> Call:
    """Present a card of an offered kind on an open case."""
    key = _case_for_a_card(situation, pick)
    kind = pick(situation.kinds)
    params: dict[str, object] = {
        "account": key.account,
        "workflow": key.workflow,
        "case": key.case,
        "conversation": pick(CONVERSATIONS if situation.claimed(Capability.OWNERS) else CONVERSATIONS[:1]),
        "kind": kind.value,
        "blocking": situation.claimed(Capability.BLOCKING) and pick((True, True, False)),
        "revision_independent": situation.claimed(Capability.INDEPENDENT) and pick((False, False, True)),
        "payload": payload(
            kind, situation.number, text=situation.claimed(Capability.FREEFORM), offered=situation.actions
        ),
        "on_occupied": pick(
            [each for each in ("refuse", "replace") if Capability(each) in situation.claims] or ["refuse"]
        ),
    }
    if situation.claimed(Capability.CLOCK) and pick((False, False, True)):
        params["expires_in"] = pick((60, 0.5, 3600))
    return Call(operation="card.present", params=params)


def _case_for_a_card(situation: Situation, pick: Pick) -> CaseKey:
    """An open case, and now and then one that is closed."""
    return pick((situation.open_cases or situation.cases) if pick((True,) * 5 + (False,)) else situation.cases)


def present_for_revision(situation: Situation, pick: Pick) -> Call:
    """Present a card that was made from a revision: the current one, or one that the case has left."""
    old = [each for each in situation.cards if each.believed.case_revision not in {None, _current(situation, each)}]
    call, of_old = present_card(situation, pick), pick((True, True, False))
    if old and of_old:
        card = pick(old)
        key = card.believed.key
        case: dict[str, object] = {"account": key.account, "workflow": key.workflow, "case": key.case}
        return evolve(call, params={**call.params, **case, "for_revision": card.bound})
    parts = [call.params[each] for each in ("account", "workflow", "case")]
    return evolve(call, params={**call.params, "for_revision": {"$revision": parts, "else": 1}})


def _current(situation: Situation, card: KnownCard) -> int:
    return situation.world.revision(card.believed.key)


def presentable(situation: Situation) -> bool:
    """Whether the offered kinds and actions make any answerable card."""
    return bool(situation.cases) and bool(situation.kinds)


def presentable_kinds(
    kinds: Sequence[InteractionKind], claims: Claims, actions: frozenset[str] | None
) -> tuple[InteractionKind, ...]:
    """Return the kinds of which the offered actions make an answerable card."""
    text = Capability.FREEFORM in claims
    return tuple(
        each
        for each in kinds
        if not problems_of(each, read(InteractionPayload, payload(each, 0, text=text, offered=actions), "payload"))
    )


# Answers.


def expected_revision(card: KnownCard) -> Mapping[str, object]:
    """Return the revision to answer a card with: its own, or the current one of an independent card."""
    key = card.believed.key
    current: Mapping[str, object] = {"$revision": [key.account, key.workflow, key.case]}
    return current if card.believed.case_revision is None else card.bound


def response_to(card: KnownCard, option: str, **changes: object) -> Call:
    """Return the response that chooses an option of a card, as its owner, with these changes."""
    asked = card.offered.asked
    owner = {name: changes.pop(name, getattr(asked, name)) for name in ("account", "conversation")}
    response = {
        "interaction_id": card.id,
        "option_id": option,
        "expected_case_revision": expected_revision(card),
        **changes,
    }
    return Call(operation="card.respond", params={**owner, "response": response})


def text_for(option: InteractionOption, pick: Pick) -> dict[str, object]:
    """Return a free text that the option takes, if it takes any."""
    if option.freeform.kind is FreeformKind.FORBIDDEN:
        return {}
    texts = ["because", "é" * LONGEST_TEXT, "👍🏽 ok"]
    if option.freeform.kind is FreeformKind.OPTIONAL:
        return {"freeform_input": pick([*texts, None])}
    return {"freeform_input": pick(texts)}


def rightly(card: KnownCard, pick: Pick) -> Call:
    """Answer one card as its owner, with any of its options."""
    option = pick(card.believed.payload.options)
    return response_to(card, option.id, **text_for(option, pick))


def fresh_cards(situation: Situation) -> list[KnownCard]:
    """The cards that can be answered."""
    return [each for each in situation.cards if situation.fresh(each)]


def answer(situation: Situation, pick: Pick) -> Call:
    """Answer a fresh card rightly."""
    return rightly(pick(fresh_cards(situation)), pick)


def answer_first(situation: Situation, pick: Pick) -> Call:
    """Choose one of the first two options of a fresh card: where it can authorise, they do."""
    card = pick(fresh_cards(situation))
    option = pick(card.believed.payload.options[:2])
    return response_to(card, option.id, **text_for(option, pick))


def answer_unknown_option(situation: Situation, pick: Pick) -> Call:
    """Choose an option that the card does not store: of another card, or one that looks alike."""
    card = pick(fresh_cards(situation) or situation.cards)
    mine = {each.id for each in card.believed.payload.options}
    others = [each.id for known in situation.cards for each in known.believed.payload.options if each.id not in mine]
    first = card.believed.payload.options[0].id
    near = [first.upper(), f"{first} ", first[:-1], f"{first}_", "0"]
    return response_to(card, pick([*dict.fromkeys(others), *near]))


def answer_wrong_revision(situation: Situation, pick: Pick) -> Call:
    """Answer a fresh card with a revision that it is not bound to."""
    card = pick([each for each in fresh_cards(situation) if each.believed.case_revision is not None])
    key = card.believed.key
    revision = {"$revision": [key.account, key.workflow, key.case], "plus": pick((1, 7))}
    return response_to(card, card.believed.payload.options[0].id, expected_case_revision=revision)


def stale(situation: Situation) -> list[KnownCard]:
    """The Active or Invalidated cards that are bound to an older revision."""
    return [
        each
        for each in situation.with_status(InteractionStatus.ACTIVE, InteractionStatus.INVALIDATED)
        if each.believed.case_revision not in (None, situation.world.revision(each.believed.key))
    ]


def answer_stale(situation: Situation, pick: Pick) -> Call:
    """Answer a stale card, with the current revision or with its own."""
    card = pick(stale(situation))
    key = card.believed.key
    option = card.believed.payload.options[0].id
    current = {"$revision": [key.account, key.workflow, key.case]}
    return response_to(card, option, expected_case_revision=pick((current, current, card.bound)))


def answer_again(situation: Situation, pick: Pick) -> Call:
    """Answer a card again that was answered before, the same way or another."""
    card = pick(situation.with_status(InteractionStatus.RESOLVED, InteractionStatus.RESOLVING))
    chosen = card.believed.payload.option(card.believed.resolved_option or "")
    every = card.believed.payload.options
    option = pick(every if chosen is None else (chosen, chosen, *every))
    return response_to(card, option.id, **text_for(option, pick))


def answer_ended(situation: Situation, pick: Pick) -> Call:
    """Answer a card that has ended."""
    return rightly(pick(situation.with_status(*sorted(TERMINAL))), pick)


def strangers(card: KnownCard, pick: Pick) -> dict[str, object]:
    """Return an account or a conversation that does not own a card."""
    asked = card.offered.asked
    return pick(
        (
            {"account": next(each for each in ACCOUNTS if each != asked.account)},
            {"conversation": next(each for each in CONVERSATIONS if each != asked.conversation)},
        )
    )


def answer_foreign(situation: Situation, pick: Pick) -> Call:
    """Answer a card from another account or conversation."""
    card = pick(fresh_cards(situation) or situation.cards)
    option = card.believed.payload.options[0].id
    return response_to(card, option, **strangers(card, pick))


def answer_unknown_card(situation: Situation, pick: Pick) -> Call:
    """Answer a card that never existed."""
    card = pick(situation.cards)
    unknown = {"$unlike": f"{card.offered.label}/card/id"}
    return response_to(card, card.believed.payload.options[0].id, interaction_id=unknown)


def answer_malformed(situation: Situation, pick: Pick) -> Call:
    """Send something that is not a well-formed response."""
    card = pick(situation.cards)
    spoiled: Sequence[dict[str, object]] = (
        {"option_id": None},
        {"option_id": 1},
        {"interaction_id": 7},
        {"expected_case_revision": True},
        {"expected_case_revision": 1.5},
        {"expected_case_revision": "1"},
        {"freeform_input": ["text"]},
    )
    call = response_to(card, card.believed.payload.options[0].id, **pick(spoiled))
    instead = pick((*[call.params["response"]] * len(spoiled), None, "yes", [], 7, {}))
    return evolve(call, params={**call.params, "response": instead})


def answer_with_wrong_text(situation: Situation, pick: Pick) -> Call:
    """Answer with a text against the option's policy, or at its edge."""
    card = pick(fresh_cards(situation))
    option = pick(card.believed.payload.options)
    texts = ("no text belongs here", "x" * (LONGEST_TEXT + 1), "", " \u2003")
    return response_to(card, option.id, freeform_input=pick(texts))


# Everything else.


def occupied_cases(situation: Situation) -> list[CaseKey]:
    """The open cases whose blocking slot is taken."""
    return [each for each in situation.cases if situation.world.occupant(each) is not None]


def present_beside(situation: Situation, pick: Pick) -> Call:
    """Present another card on a case whose slot is taken: blocking, with each policy, or not blocking."""
    return present_card(evolve(situation, cases=tuple(occupied_cases(situation))), pick)


def replaced_cards(situation: Situation) -> list[KnownCard]:
    """The blocking cards that gave way to another one."""
    return [
        each
        for each in situation.with_status(InteractionStatus.INVALIDATED)
        if each.believed.blocking and each.believed.case_revision in (None, situation.world.revision(each.believed.key))
    ]


def answer_replaced(situation: Situation, pick: Pick) -> Call:
    """Answer a card that gave way to another one."""
    return rightly(pick(replaced_cards(situation)), pick)


def advance(situation: Situation, pick: Pick) -> Call:
    """Let time pass: to a deadline, just before it, or just after it."""
    exactly = [seconds for due in _times_left(situation) for seconds in (due, due - 0.001, due + 0.001) if seconds > 0]
    return Call(operation="clock.advance", params={"seconds": pick([*exactly, 1])})


def get_card(situation: Situation, pick: Pick) -> Call:
    """Read a card: as its owner, as a stranger, or one that never existed."""
    card = pick(situation.cards)
    owner: dict[str, object] = {
        "account": card.offered.asked.account,
        "conversation": card.offered.asked.conversation,
    }
    whose = pick(("mine", "strange", "unknown") if situation.claimed(Capability.OWNERS) else ("mine", "unknown"))
    if whose == "strange":
        owner |= strangers(card, pick)
    identity = {"$unlike": f"{card.offered.label}/card/id"} if whose == "unknown" else card.id
    return Call(operation="card.get", params={**owner, "card": identity})


def list_cards(situation: Situation, pick: Pick) -> Call:
    """List the open cards of a conversation: mostly one that has any, and of another where that means another."""
    owners = [(each.offered.asked.account, each.offered.asked.conversation) for each in situation.cards]
    apart = situation.claimed(Capability.OWNERS)
    other = (pick(ACCOUNTS), pick(CONVERSATIONS)) if apart else (ACCOUNTS[0], CONVERSATIONS[0])
    account, conversation = pick([*owners, other])
    return Call(operation="card.list", params={"account": account, "conversation": conversation})


def without_params(method: str) -> Drawn:
    """Return the draw of an operation without params."""
    return lambda situation, pick: Call(operation=method)


def _times_left(situation: Situation) -> list[float]:
    """The seconds to each deadline that is still to come."""
    return [
        (each.believed.expires_at - situation.world.now) / 1000
        for each in situation.with_status(InteractionStatus.ACTIVE)
        if each.believed.expires_at is not None and each.believed.expires_at > situation.world.now
    ]


def has_deadline(situation: Situation) -> bool:
    """Whether any deadline is still to come."""
    return bool(_times_left(situation))


def advance_to_deadline(situation: Situation, pick: Pick) -> Call:
    """Let time pass to the very instant of a deadline."""
    return Call(operation="clock.advance", params={"seconds": pick(_times_left(situation))})


def has_card_due_now(situation: Situation) -> bool:
    """Whether the deadline of any Active card is exactly now."""
    waiting = situation.with_status(InteractionStatus.ACTIVE)
    return any(each.believed.expires_at == situation.world.now for each in waiting)


def has_cards(situation: Situation) -> bool:
    """Whether any card was offered."""
    return bool(situation.cards)


def has_fresh(situation: Situation) -> bool:
    """Whether any card can be answered."""
    return any(situation.fresh(each) for each in situation.cards)


def has_bound_fresh(situation: Situation) -> bool:
    """Whether any card that is bound to a revision can be answered."""
    return any(situation.fresh(each) and each.believed.case_revision is not None for each in situation.cards)


def has_status(*statuses: InteractionStatus) -> Callable[[Situation], bool]:
    """Return whether any card has one of these statuses."""
    return lambda situation: bool(situation.with_status(*statuses))
