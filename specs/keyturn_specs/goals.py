"""What a run can cover, as values: statuses, transitions, pairs of transitions, and cells.

Each step of a run covers the goals that it falls into, whichever engine took it. Which goals a system can be asked for follows
from the table and from its claims, and is found by exploration (`keyturn_testing.touring`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, TypeVar

from attrs import frozen

from keyturn.operations import LedgerEntry
from keyturn.status import UNWRITTEN
from keyturn_specs.cells import Cell, cells_of
from keyturn_specs.observations import Moment


@frozen(order=True)
class Reached:
    """A card came to stand in a status."""

    status: str

    def __str__(self) -> str:
        """The status."""
        return self.status


@frozen(order=True)
class Transition:
    """A row of the status table was taken (L1)."""

    from_status: str
    event: str
    to_status: str

    def __str__(self) -> str:
        """The row."""
        return f"{self.from_status}, {self.event}, {self.to_status}"


@frozen(order=True)
class Succession:
    """A card took one transition, and then another one as its next."""

    first: str
    second: str

    def __str__(self) -> str:
        """The two events."""
        return f"{self.first}, then {self.second}"


Goal: TypeAlias = Reached | Transition | Succession | Cell


G = TypeVar("G", bound=Goal)


def of_sort(goals: Iterable[Goal], sort: type[G]) -> tuple[G, ...]:
    """Return the goals of one sort, in their order."""
    return tuple(sorted(each for each in goals if isinstance(each, sort)))


def goals_of(moment: Moment, entries: Sequence[LedgerEntry]) -> tuple[Goal, ...]:
    """Return everything that a step covers; `entries` are the transitions that really happened in it."""
    return tuple(dict.fromkeys((*_moves(moment, entries), *cells_of(moment))))


def _moves(moment: Moment, entries: Sequence[LedgerEntry]) -> Iterator[Goal]:
    last: dict[str, str] = {}
    for entry in entries:
        yield Reached(entry.to_status.value)
        yield Transition(entry.from_status or UNWRITTEN, entry.event.value, entry.to_status.value)
        before = last.get(entry.card) or _last_event(moment, entry.card)
        if before is not None:
            yield Succession(before, entry.event.value)
        last[entry.card] = entry.event.value


def _last_event(moment: Moment, card: str) -> str | None:
    """The event that last moved a card before this step; none for a card that is only now presented."""
    entries = (each for batch in reversed(moment.state.history.batches) for each in reversed(batch))
    return next((each.event.value for each in entries if each.card == card), None)
