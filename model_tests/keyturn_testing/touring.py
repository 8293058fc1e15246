"""A tour: few traces that take a system through every transition and every cell that it can be asked for.

The contract is explored, as the reference takes it, with one card and everything that can be tried on it. What its steps cover
is the denominator, so that it follows from the status table and from what the system claims. The traces are then walked through
the explored graph: in each state first whatever leaves it as it is, then the shortest way to the next goal. The same terms give
the same tour.
"""

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import TypeAlias, cast

from attrs import frozen

from keyturn.explore import Model, explore
from keyturn.operations import LedgerEntry, Operation
from keyturn.store import State, possibilities
from keyturn.table import STATUS_TABLE, TransitionTable
from keyturn.values import Json
from keyturn.wire import read_operation
from keyturn.world import World
from keyturn_specs.cells import Cell
from keyturn_specs.goals import Goal, goals_of, of_sort
from keyturn_specs.observations import Moment
from keyturn_testing.driver import START
from keyturn_testing.traces import Call, Context
from keyturn_testing.tries import CASE, OPENED, Terms, tries


@frozen(kw_only=True)
class TourStep:
    """One call of a tour, what it covers, and whether it leaves everything as it is."""

    call: Call
    goals: frozenset[Goal]
    stays: bool


TourTrace: TypeAlias = tuple[TourStep, ...]


@frozen(kw_only=True)
class Tour:
    """Traces that cover all the goals; none of them could be left out. `states` is how many states were explored."""

    traces: tuple[TourTrace, ...]
    goals: frozenset[Goal]
    states: int


@frozen(kw_only=True)
class Edge:
    """A step of a tour that can be taken in some state, and the number of the state that it leads to."""

    step: TourStep
    target: int


# ---- Exploring ------------------------------------------------------------------------------------------------------


def cells_among(goals: frozenset[Goal]) -> tuple[Cell, ...]:
    """Return the cells among some goals, in their order."""
    return of_sort(goals, Cell)


def operation_of(call: Call, world: World) -> Operation:
    """Return the operation that a call is in the model's world, where its labels stand for the model's own names."""
    cards = {
        f"card-{number}": {"card": {"id": each.id, "case_revision": each.case_revision}}
        for number, each in enumerate(world.interactions, 1)
    }
    commands = {f"answer-{number}": {"command": each.id} for number, each in enumerate(world.commands, 1)}
    opened = {OPENED: {"revision": 1}}
    names = Context({**opened, **cards, **commands}, {each.key: each.revision for each in world.cases})
    return read_operation(call.operation, cast(Json, names.resolve(call.params)))


def explored(terms: Terms, table: TransitionTable = STATUS_TABLE) -> list[list[Edge]]:
    """Explore what can be tried, on a table; return the edges that leave each state, by its number."""
    edges: list[list[tuple[TourStep, Hashable]]] = []
    start = State(World(now=START, table=table))

    def steps(state: State) -> Iterator[tuple[Call, State]]:
        leaving: list[tuple[TourStep, Hashable]] = []
        edges.append(leaving)
        here = _key(state)
        for call in tries(state.world, terms):
            operation = operation_of(call, state.world)
            chosen = possibilities(state, operation, terms.claims)[0]
            moment = Moment(state=state, operation=operation, branch=chosen.branch, claims=terms.claims)
            goals = goals_of(moment, [each for each in chosen.branch.happened if isinstance(each, LedgerEntry)])
            there = _key(chosen.state)
            step = TourStep(call=call, goals=frozenset(goals), stays=there == here)
            leaving.append((step, there))
            yield call, chosen.state

    found = explore(Model(initial=lambda: (start,), steps=steps, key=_key, name=attrgetter("operation")))
    numbers = {_key(state): number for number, state in enumerate(found.states)}
    return [[Edge(step=step, target=numbers[there]) for step, there in leaving] for leaving in edges]


def _key(state: State) -> Hashable:
    """What the cells of a card depend on, now and later."""
    world = state.world
    cases = tuple((each.closed, not world.interactions and each.revision > 1) for each in world.cases)
    cards = tuple(
        (
            each.status,
            each.kind,
            each.blocking,
            each.case_revision is None,
            each.case_revision is not None and each.case_revision != world.revision(CASE),
            each.is_past(world.now),
            each.resolved_option,
            None if each.result is None else each.result.options,
        )
        for each in world.interactions
    )
    commands = tuple(
        (each.settlement, each.settlement is None and each.accepted_at != world.revision(CASE))
        for each in world.commands
    )
    return cases, cards, commands, world.next_settlement


# ---- Walking --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=16)
def tour_of(terms: Terms) -> Tour:
    """Return the tour for what a system claims and offers."""
    edges = explored(terms) if terms.kinds else []
    goals = frozenset(goal for leaving in edges for edge in leaving for goal in edge.step.goals)
    return Tour(traces=_needed(_walked(edges, goals)), goals=goals, states=len(edges))


def _walked(edges: Sequence[Sequence[Edge]], goals: frozenset[Goal]) -> list[TourTrace]:
    left, traces = set(goals), []
    while left:
        at, steps = 0, []
        while True:
            for edge in edges[at]:
                if edge.step.stays and edge.step.goals & left:
                    steps.append(edge.step)
                    left -= edge.step.goals
            way = _nearest(edges, at, left)
            if not way:
                break
            steps.extend(edge.step for edge in way)
            left.difference_update(*(edge.step.goals for edge in way))
            at = way[-1].target
        traces.append(tuple(steps))
    return traces


def _nearest(edges: Sequence[Sequence[Edge]], start: int, left: set[Goal]) -> list[Edge]:
    """Return the shortest way on which something is covered that is left; nothing where there is none."""
    came: dict[int, tuple[int, Edge] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for edge in edges[at]:
            new = edge.target not in came
            if not edge.step.stays and (edge.step.goals & left or (new and _waits(edges[edge.target], left))):
                return [*_back(came, at), edge]
            if new:
                came[edge.target] = (at, edge)
                waiting.append(edge.target)
    return []


def _waits(leaving: Sequence[Edge], left: set[Goal]) -> bool:
    return any(edge.step.stays and edge.step.goals & left for edge in leaving)


def _back(came: Mapping[int, tuple[int, Edge] | None], at: int) -> list[Edge]:
    way: list[Edge] = []
    while (before := came[at]) is not None:
        at, edge = before
        way.append(edge)
    return way[::-1]


def _needed(traces: Sequence[TourTrace]) -> tuple[TourTrace, ...]:
    """Leave out, from the last on, each trace whose goals the others cover as well."""
    kept = list(traces)
    for trace in reversed(traces):
        others = {goal for each in kept if each is not trace for step in each for goal in step.goals}
        if all(step.goals <= others for step in trace):
            kept.remove(trace)
    return tuple(kept)
