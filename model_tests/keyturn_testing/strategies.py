"""Hypothesis strategies: cards that can be presented, and what people send about them, rightly and wrongly.

They draw what the suite itself draws, by the same table of intents, from a `Situation`: `keyturn_system.situation(driver)` of
the pytest plugin gives it. A call names what earlier calls brought by reference, and a driver resolves that. Where a situation
allows nothing of what is asked for, a strategy is empty.
"""

from collections.abc import Iterable, Sequence
from typing import TypeVar

from attrs import evolve
from hypothesis import strategies as st

from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.cards import InteractionKind
from keyturn.handshake import Offers
from keyturn.values import Json
from keyturn_testing.drawing import Pick, fresh_cards, presentable_kinds
from keyturn_testing.intent import Intent
from keyturn_testing.intents import label_of, possible_intents
from keyturn_testing.payloads import payload
from keyturn_testing.situation import KnownCard, Situation
from keyturn_testing.traces import Call

T = TypeVar("T")

_RIGHT = frozenset({"answer", "choose one of the first options"})

_WRONG_OF_FRESH = frozenset(
    {
        "choose an option of another card",
        "answer with a wrong revision",
        "answer as a stranger",
        "answer as nobody",
        "answer an unknown card",
    }
)

_WRONG_BY_STATUS = frozenset({"answer a stale card", "answer an overdue card", "answer a replaced card"})

_MALFORMED = frozenset({"answer malformed"})


def payloads(
    kind: InteractionKind | None = None, *, claims: Claims = ALL_CLAIMS, offers: Offers | None = None
) -> st.SearchStrategy[tuple[InteractionKind, dict[str, Json]]]:
    """Return kinds with payloads of them that can be presented, within the claims and the offers of a system."""
    actions = None if offers is None or offers.actions is None else frozenset(offers.actions)
    offered = (
        tuple(InteractionKind) if offers is None or offers.kinds is None else tuple(map(InteractionKind, offers.kinds))
    )
    kinds = [each for each in presentable_kinds(offered, claims, actions) if kind in (None, each)]
    text = Capability.FREEFORM in claims
    if not kinds:
        return st.nothing()
    return st.tuples(st.sampled_from(kinds), st.integers(0, 10_000)).map(
        lambda drawn: (drawn[0], payload(drawn[0], drawn[1], text=text, offered=actions))
    )


def calls(situation: Situation) -> st.SearchStrategy[Call]:
    """Return whole calls of every kind that a situation allows, right ones and wrong ones, as often as the suite makes them."""
    return _drawn(situation, possible_intents(situation))


def right_answers(situation: Situation, card: KnownCard | None = None) -> st.SearchStrategy[Call]:
    """Return answers that the system must take: to one card, or to any that can be answered."""
    return _named(_only(situation, card), _RIGHT)


def wrong_answers(situation: Situation, card: KnownCard | None = None) -> st.SearchStrategy[Call]:
    """Return well-formed answers that the system must refuse: to one card, or to any.

    Another card's option, another revision, a stranger, nobody, a card that never was, one that is stale, overdue or replaced.
    """
    now = _only(situation, card)
    fresh = evolve(now, cards=tuple(fresh_cards(now)))
    return _named(fresh, _WRONG_OF_FRESH) | _named(now, _WRONG_BY_STATUS)


def malformed_answers(situation: Situation, card: KnownCard | None = None) -> st.SearchStrategy[Call]:
    """Return what is no well-formed answer to a card: missing parts, wrong types, no object at all."""
    return _named(_only(situation, card), _MALFORMED)


def _only(situation: Situation, card: KnownCard | None) -> Situation:
    return situation if card is None else evolve(situation, cards=(card,))


def _named(situation: Situation, names: Iterable[str]) -> st.SearchStrategy[Call]:
    return _drawn(situation, [each for each in possible_intents(situation) if each.name in names])


def _drawn(situation: Situation, intents: Iterable[Intent]) -> st.SearchStrategy[Call]:
    weighted = [intent for intent in intents for _ in range(intent.weight)]
    return _one_of(situation, weighted) if weighted else st.nothing()


@st.composite
def _one_of(draw: st.DrawFn, situation: Situation, weighted: list[Intent]) -> Call:
    def pick(choices: Sequence[T], /) -> T:
        return draw(st.sampled_from(choices))

    chosen: Pick = pick
    drawn = draw(st.sampled_from(weighted)).draw(situation, chosen)
    return evolve(drawn, label=label_of(situation))
