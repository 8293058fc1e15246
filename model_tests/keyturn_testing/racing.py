"""Races: steps of several calls that overlap, lane by lane, and what became of them.

A race is judged as a whole: no order of its calls explains it, or one does. What it shows is drawn as a picture of its lanes.
"""

from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from keyturn.values import Json
from keyturn_testing.judging import Broken, Finding
from keyturn_testing.linearising import Heard, Orders
from keyturn_testing.systems.base import Choice, Lanes, Request, Timed, Together
from keyturn_testing.traces import Call, Step

MOST_CALLS = 16
"""How many calls of one step may overlap."""

PICTURE_WIDTH = 60
"""How many columns the lanes of a picture have."""

_NARROWEST = 3

RACE = "race"
"""What stands for the operation in the signature of a failure of overlapping calls."""


@frozen(kw_only=True)
class Raced:
    """What became of a race: its calls with their times, how many overlapped one of another lane, and what explains it.

    `choices` are those by which the lanes took turns, where the suite made them.
    """

    history: tuple[Heard, ...]
    overlapped: int
    orders: Orders
    choices: tuple[Choice, ...] | None


def lanes_of(step: Step, params: Sequence[Mapping[str, Json]]) -> tuple[Lanes, tuple[tuple[int, int], ...]]:
    """Return the lanes of a step, and of each call its lane and its place there; `params` are those of the calls, resolved."""
    numbers = sorted({each.lane for each in step.calls})
    lanes: list[list[Request]] = [[] for _ in numbers]
    places = []
    for call, resolved in zip(step.calls, params, strict=True):
        lane = numbers.index(call.lane)
        places.append((lane, len(lanes[lane])))
        lanes[lane].append(Request(call.operation, resolved))
    return lanes, tuple(places)


def overlapped(done: Together) -> int:
    """Return how many calls overlapped one of another lane."""
    return sum(_overlaps(each, done, number) for number, lane in enumerate(done.lanes) for each in lane)


def _overlaps(timed: Timed, done: Together, lane: int) -> bool:
    others = (each for number, every in enumerate(done.lanes) if number != lane for each in every)
    return any(map(timed.overlaps, others))


def is_race(step: Step) -> bool:
    """Whether calls of a step overlap."""
    return len(step.calls) > 1


def race_of(lanes: Sequence[Sequence[Call]]) -> Step:
    """Return the step in which these lanes run at the same moment."""
    return Step(calls=tuple(evolve(each, lane=number) for number, lane in enumerate(lanes) for each in lane))


def finding_of(broken: tuple[Broken, ...], step: Step, raced: Raced, answered: Sequence[object]) -> Finding:
    """Return the finding of a race that broke something."""
    orders = raced.orders
    moment = orders.taken[-1][1] if orders.moment is None else orders.moment
    return Finding(
        broken=broken,
        method=RACE,
        differences=orders.differences,
        moment=moment,
        answered=list(answered),
        admissible=(),
        picture=picture(step, raced),
    )


def letter(number: int) -> str:
    """Return what the call with this number is called in stories and pictures: (a), (b) and so on."""
    return f"({chr(ord('a') + number % 26)})"


def picture(step: Step, raced: Raced) -> tuple[str, ...]:
    """Draw the lanes of a race, each call from when it began to when it ended, and say how far an order explains it."""
    first = min(each.began for each in raced.history)
    length = max(max(each.ended for each in raced.history) - first, 1)
    rows: dict[int, list[str]] = {}
    for number, (call, heard) in enumerate(zip(step.calls, raced.history, strict=True)):
        row = rows.setdefault(call.lane, [" "] * PICTURE_WIDTH)
        start = min((heard.began - first) * PICTURE_WIDTH // length, PICTURE_WIDTH - _NARROWEST)
        end = max((heard.ended - first) * PICTURE_WIDTH // length, start + _NARROWEST)
        bar = f"[{letter(number)[1]}".ljust(end - start - 1, "=") + "]"
        row[start:end] = bar
    drawn = (f"lane {number}  {''.join(row).rstrip()}" for number, row in enumerate(rows.values(), start=1))
    return (*drawn, _how_far(raced.orders))


def _how_far(orders: Orders) -> str:
    """Say how far the order goes that explains most, and what it cannot explain."""
    taken = ", then ".join(letter(number) for number, _ in orders.taken)
    if orders.hypotheses:
        return f"{taken}: this order explains every answer"
    if orders.failing is None:
        return f"{taken}: this order explains every answer, and not what was read afterwards"
    failing = letter(orders.failing)
    if taken:
        return f"{taken} can be explained, and after that not {failing}"
    return f"{failing} cannot be explained, wherever it comes"
