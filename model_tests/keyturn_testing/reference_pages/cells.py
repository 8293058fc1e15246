"""The page of the cells: everything that a system can be asked for, by the status of the card, and what the reference answers."""

from collections.abc import Iterator, Mapping

from keyturn.capabilities import ALL_CLAIMS
from keyturn.cards import InteractionKind
from keyturn.store import State, possibilities
from keyturn.table import STATUS_TABLE
from keyturn.world import World
from keyturn_specs.cells import Cell
from keyturn_specs.goals import Reached, Succession, Transition
from keyturn_testing.driver import START
from keyturn_testing.reference_pages.markdown import code, page, table
from keyturn_testing.touring import Tour, cells_among, operation_of, tour_of
from keyturn_testing.tries import Terms
from keyturn_testing.wording import counted

_INTRODUCTION = """\
The [status machine](status-machine.md) says what may happen to a card. Everything else that can be tried is refused, or answered
without a change. A *cell* is one such case: the status of the card that is meant (*unwritten* where there is none), the
operation, and the condition. `keyturn check` begins with a tour through all of them. Its report says how many were met, and with
`--format json` how often each was.

Nobody writes the list. It follows from the status table and from what a system claims and offers: the contract is explored with
one card and everything that can be tried on it, and what is met there is what can be asked for. What is not claimed takes its
cells away. What names no card and moves none has no cell: `case.open`, `card.list`, `command.next`, `clock.advance`, `restart`,
the reads of history, and what only the suite does. Neither has `state.import`, which the scenarios bring."""


def cells_page() -> str:
    """Return the page for a system that claims and offers everything."""
    tour = tour_of(Terms(claims=ALL_CLAIMS, kinds=tuple(InteractionKind)))
    return page("Cells", _INTRODUCTION, *_parts(tour))


def _parts(tour: Tour) -> Iterator[str]:
    cells = cells_among(tour.goals)
    steps = sum(map(len, tour.traces))
    numbers = [sum(isinstance(each, sort) for each in tour.goals) for sort in (Reached, Transition, Succession)]
    yield (
        f"A system that claims everything is asked for {counted(numbers[0], 'status', 'statuses')}, "
        f"{counted(numbers[1], 'transition')}, {counted(numbers[2], 'pair')} of transitions and {counted(len(cells), 'cell')}. "
        f"Its tour has {counted(len(tour.traces), 'trace')} with {counted(steps, 'step')}; none of the traces could be left out."
    )
    answers = _answers(tour)
    for status in STATUS_TABLE.rows:
        mine = [each for each in cells if each.status == status]
        rows = [(code(each.operation), each.condition, ", ".join(map(code, answers[each]))) for each in mine]
        yield f"## {status.capitalize()}\n\n{counted(len(mine), 'cell')}."
        yield table(("operation", "condition", "the reference answers"), rows)


def _answers(tour: Tour) -> Mapping[Cell, tuple[str, ...]]:
    """What the reference answers in each cell of a tour, as it takes it."""
    found: dict[Cell, dict[str, None]] = {}
    for trace in tour.traces:
        state = State(World(now=START))
        for step in trace:
            chosen = possibilities(state, operation_of(step.call, state.world), ALL_CLAIMS)[0]
            outcome = chosen.branch.outcome
            said = getattr(outcome, "code", None) or getattr(outcome, "outcome", None) or "done"
            for cell in cells_among(step.goals):
                found.setdefault(cell, {})[str(said)] = None
            state = chosen.state
    return {cell: tuple(said) for cell, said in found.items()}
