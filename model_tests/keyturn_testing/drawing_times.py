"""Draws about time: how far the clock is moved, and answers on either side of a deadline.

A deadline is one instant, at which a card has already expired (L7). The clock is moved to that instant, and to a millisecond
before and after it; whoever answers then is a millisecond early, on time, or late.
"""

from keyturn.status import InteractionStatus
from keyturn_testing.drawing import Pick, response_to, text_for
from keyturn_testing.situation import KnownCard, Situation
from keyturn_testing.traces import Call


def _deadlines(situation: Situation) -> list[tuple[KnownCard, int]]:
    """The Active cards that have a deadline, with the milliseconds until it; past it they are negative."""
    return [
        (each, each.believed.expires_at - situation.world.now)
        for each in situation.with_status(InteractionStatus.ACTIVE)
        if each.believed.expires_at is not None
    ]


def _to_come(situation: Situation) -> list[int]:
    return [left for _, left in _deadlines(situation) if left > 0]


def advance(situation: Situation, pick: Pick) -> Call:
    """Let time pass: to a deadline, just before it, or just after it."""
    exactly = [left + aside for left in _to_come(situation) for aside in (0, -1, 1) if left + aside > 0]
    return Call(operation="clock.advance", params={"seconds": pick([*exactly, 1000]) / 1000})


def has_deadline(situation: Situation) -> bool:
    """Whether any deadline is still to come."""
    return bool(_to_come(situation))


def advance_to_deadline(situation: Situation, pick: Pick) -> Call:
    """Let time pass to the very instant of a deadline; now and then to a millisecond before it, or after it."""
    left, aside = pick(_to_come(situation)), pick((0, 0, 0, -1, 1))
    return Call(operation="clock.advance", params={"seconds": (left + aside or left) / 1000})


def has_card_due_now(situation: Situation) -> bool:
    """Whether the deadline of any Active card is exactly now."""
    return any(left == 0 for _, left in _deadlines(situation))


def overdue_cards(situation: Situation) -> list[KnownCard]:
    """The Active cards whose deadline is past, and that no sweep has reached."""
    return [card for card, left in _deadlines(situation) if left <= 0]


def answer_overdue(situation: Situation, pick: Pick) -> Call:
    """Answer a card whose deadline is past."""
    card = pick(overdue_cards(situation))
    return response_to(card, pick(card.believed.payload.options).id)


def _at_the_edge(situation: Situation) -> list[KnownCard]:
    return [card for card, left in _deadlines(situation) if abs(left) <= 1]


def has_card_at_the_edge(situation: Situation) -> bool:
    """Whether the deadline of any Active card is now, or a millisecond away."""
    return bool(_at_the_edge(situation))


def answer_at_the_edge(situation: Situation, pick: Pick) -> Call:
    """Answer a card a millisecond before its deadline, at its very instant, or a millisecond after it."""
    card = pick(_at_the_edge(situation))
    option = pick(card.believed.payload.options)
    return response_to(card, option.id, **text_for(option, pick))
