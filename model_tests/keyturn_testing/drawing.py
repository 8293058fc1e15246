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
from keyturn_testing.alike import FORMS, NO_STRINGS
from keyturn_testing.dealing import Table
from keyturn_testing.payloads import LONG_TEXT, LONGEST_TEXT, TWIN_FORMS, payload
from keyturn_testing.situation import KnownCard, Situation
from keyturn_testing.texts import TEXTS
from keyturn_testing.traces import Call

T = TypeVar("T")

ACCOUNTS = ("acme", "globex")
WORKFLOWS = ("trip", "refund")
CASES = ("case-1", "case-2")
CONVERSATIONS = ("chat-1", "chat-2")
TWINS: Table[str] = Table("twins", {name: name for name in TWIN_FORMS})
ANY_TEXTS = tuple(TEXTS)
"""Texts for answers that may not be taken: what is dealt should count."""


class Pick(Protocol):
    """Chooses one of several things."""

    def __call__(self, choices: Sequence[T], /) -> T:
        """Return one of the choices; a `Table` is dealt where the source of chance can do that."""


Drawn = Callable[[Situation, Pick], Call]
"""Draws one call."""


def on_case(method: str, key: CaseKey) -> Call:
    """Return the call of an operation that takes a case and no more."""
    return Call(operation=method, params={"account": key.account, "workflow": key.workflow, "case": key.case})


def open_case(situation: Situation, pick: Pick) -> Call:
    """Open one of a few cases, or find it open; a closed one is opened again as often as not."""
    closed = [each for each in situation.cases if each not in situation.open_cases]
    again = pick((True, False))
    if closed and again:
        return on_case("case.open", pick(closed))
    accounts = ACCOUNTS if situation.claimed(Capability.OWNERS) else ACCOUNTS[:1]
    key = CaseKey(pick(accounts), pick(WORKFLOWS), pick(CASES))
    beside = pick((True, False))
    if situation.cases and beside:
        # Only one part differs from a case that is known: whoever leaves that part out takes the two for one.
        part = pick(("account", "workflow", "case"))
        key = evolve(pick(situation.cases), **{part: getattr(key, part)})
    return on_case("case.open", key)


def edit_case(situation: Situation, pick: Pick) -> Call:
    """Change the record of a case, most often of one with an open card."""
    return on_case("case.edit", pick(_busy(situation) if pick((True, True, False)) else situation.cases))


def _busy(situation: Situation) -> tuple[CaseKey, ...]:
    """The cases with an open card, or all where there is none."""
    found = {each.believed.key: None for each in situation.with_status(*sorted(OPEN))}
    return tuple(found) or situation.cases


def clear_case(situation: Situation, pick: Pick) -> Call:
    """Close a case or withdraw its cards, most often one with an open card."""
    call = on_case(pick(("case.close", "card.withdraw")), pick(_busy(situation)))
    reason = {} if call.operation == "case.close" else {"code": pick(("duplicate", "asked in error"))}
    return evolve(call, params={**call.params, **reason})


def _kind(situation: Situation, pick: Pick) -> InteractionKind:
    """Choose a kind: sets of options as often as several others together, which are answered alike."""
    sets = InteractionKind.MULTI_SELECT
    return sets if sets in situation.kinds and pick((True, False, False, False)) else pick(situation.kinds)


def present_card(situation: Situation, pick: Pick) -> Call:
    """Present a card of an offered kind on an open case."""
    key = _case_for_a_card(situation, pick)
    kind = _kind(situation, pick)
    params: dict[str, object] = {
        "account": key.account,
        "workflow": key.workflow,
        "case": key.case,
        "conversation": pick(CONVERSATIONS if situation.claimed(Capability.OWNERS) else CONVERSATIONS[:1]),
        "kind": kind.value,
        "blocking": situation.claimed(Capability.BLOCKING) and pick((True, True, False)),
        "revision_independent": situation.claimed(Capability.INDEPENDENT) and pick((False, False, True)),
        "payload": _payload(situation, pick, kind),
        "on_occupied": pick(
            [each for each in ("refuse", "replace") if Capability(each) in situation.claims] or ["refuse"]
        ),
    }
    if situation.claimed(Capability.CLOCK) and pick((False, False, True)):
        params["expires_in"] = pick((60, 0.5, 3600))
    return Call(operation="card.present", params=params)


def _payload(situation: Situation, pick: Pick, kind: InteractionKind) -> Mapping[str, object]:
    """A payload of the stock: now and then one with twins, and one whose texts may be as long as a response."""
    return payload(
        kind,
        situation.number,
        text=situation.claimed(Capability.FREEFORM),
        offered=situation.actions,
        longest=pick((LONGEST_TEXT,) * 9 + (LONG_TEXT,)),
        twin=pick(TWINS) if pick((False,) * 5 + (True,)) else None,
    )


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


# Ids that are none.


def unlike(card: KnownCard) -> Mapping[str, object]:
    """Return the reference to an id of the form of a card's that nothing ever had."""
    return {"$unlike": f"{card.offered.label}/card/id"}


def like(card: KnownCard, form: str) -> Mapping[str, object]:
    """Return the reference to an id that looks like a card's and is another."""
    return {"$like": f"{card.offered.label}/card/id", "as": form}


READS_ALIKE: Table[str] = Table(
    "look-alike reads", {each: each for each in FORMS if each not in NO_STRINGS | {"empty"}}
)
"""The forms of look-alike ids outside a response: strings, and not empty."""


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
    asks_for_a_set = card.believed.kind is InteractionKind.MULTI_SELECT
    chosen: dict[str, object] = {"option_ids": [option]} if asks_for_a_set else {"option_id": option}
    response = {"interaction_id": card.id, **chosen, "expected_case_revision": expected_revision(card), **changes}
    return Call(operation="card.respond", params={**owner, "response": response})


def text_for(option: InteractionOption, pick: Pick, texts: Sequence[str] = ANY_TEXTS) -> dict[str, object]:
    """Return the text that an option is chosen with, where one must come, and mostly where one may."""
    if option.freeform.kind is FreeformKind.FORBIDDEN:
        return {}
    if option.freeform.kind is FreeformKind.OPTIONAL and pick((False, False, False, True)):
        return {"freeform_input": None}
    return {"freeform_input": pick(texts)}


def a_set(card: KnownCard, pick: Pick) -> list[str]:
    """Return a set of options of a card, in any order; now and then none, or all of them."""
    ids = [each.id for each in card.believed.payload.options]
    chosen = [each for each in ids if pick((True, False))]
    return chosen[::-1] if pick((True, False)) else chosen


def rightly(card: KnownCard, pick: Pick, texts: Sequence[str] = ANY_TEXTS) -> Call:
    """Answer one card as its owner, with each class of action as often as another, or with any set of options."""
    options = card.believed.payload.options
    if card.believed.kind is InteractionKind.MULTI_SELECT:
        return response_to(card, "", option_ids=a_set(card, pick))
    chosen = pick(list(dict.fromkeys(each.action.action_class for each in options)))
    option = pick([each for each in options if each.action.action_class is chosen])
    return response_to(card, option.id, **text_for(option, pick, texts))


def fresh_cards(situation: Situation) -> list[KnownCard]:
    """The cards that can be answered."""
    return [each for each in situation.cards if situation.fresh(each)]


def answer(situation: Situation, pick: Pick) -> Call:
    """Answer a fresh card rightly, with each class of action as often as another."""
    return rightly(pick(fresh_cards(situation)), pick, TEXTS)


def answer_first(situation: Situation, pick: Pick) -> Call:
    """Choose one of the first two options of a fresh card: where it can authorise, they do."""
    card = pick(fresh_cards(situation))
    option = pick(card.believed.payload.options[:2])
    return response_to(card, option.id, **text_for(option, pick))


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
    result = card.believed.result
    if result is not None and result.options is not None:
        again = list(result.options)
        return response_to(card, "", option_ids=pick((again, again[::-1], a_set(card, pick))))
    chosen = card.chosen
    every = card.believed.payload.options
    option = pick(every if chosen is None else (chosen, chosen, *every))
    return response_to(card, option.id, **text_for(option, pick))


def answer_ended(situation: Situation, pick: Pick) -> Call:
    """Answer a card that has ended, each status as often as another: the same way, where it was answered, or any other."""
    groups: dict[tuple[str, bool], list[KnownCard]] = {}
    for each in situation.with_status(*sorted(TERMINAL)):
        believed = each.believed
        groups.setdefault((believed.status, believed.resolved_option is not None), []).append(each)
    card = pick(groups[pick(list(groups))])
    chosen = card.chosen
    if chosen is None or pick((True, False)):
        return rightly(card, pick)
    return response_to(card, chosen.id, **text_for(chosen, pick))


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


def get_card(situation: Situation, pick: Pick) -> Call:
    """Read a card: as its owner, as a stranger, by an id that looks alike, or one that never existed."""
    card = pick(situation.cards)
    owner = card.owner
    whose = pick(("mine", "unknown", "alike", *(("strange",) if situation.claimed(Capability.OWNERS) else ())))
    if whose == "strange":
        owner |= strangers(card, pick)
    identity = card.id if whose in {"mine", "strange"} else unlike(card)
    if whose == "alike":
        identity = like(card, pick(READS_ALIKE))
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
