"""Exploring a faulty system: the shortest way to where it first does what the contract does not admit.

A mutant's states are explored like the contract's own. The way that is found is a trace like any other, and whether a system is
to blame for it is judged by the driver, with the system itself (D7).
"""

from typing import cast

from attrs import evolve

from keyturn.admissible import admissible
from keyturn.branches import Branch, Outcome, Unheard
from keyturn.capabilities import ALL_CLAIMS
from keyturn.card_world import CardBounds, Happening, Happens, card_model
from keyturn.explore import Each, Exploration, Model, Path, Progress, Watch, explore
from keyturn.operations import Operation
from keyturn.store import History, State, possibilities
from keyturn.values import Json
from keyturn.wire import write
from keyturn.world import World
from keyturn_testing.mutants.base import Mutant, Turn, distorted
from keyturn_testing.traces import Call, Step, trace_of

NOT_ADMITTED = "every step is one that the contract admits"
"""The property that a mutant breaks."""


def happens_in(mutant: Mutant) -> Happens:
    """Return what happens in a mutant: one thing, which the reference would do or the fault makes of it."""

    def happens(world: World, operation: Operation) -> tuple[Branch, ...]:
        state = State(world)
        chosen = possibilities(state, operation, ALL_CLAIMS)[0]
        done = distorted(mutant, Turn(state, operation, ALL_CLAIMS, chosen))
        history = done.state.history
        entries = tuple(entry for batch in history.batches for entry in batch)
        return (evolve(done.branch, world=done.state.world, happened=(*entries, *history.effects)),)

    return happens


def _told(branch: Branch) -> tuple[Outcome | Unheard, World, History]:
    return branch.outcome, branch.world, History().after(branch.happened)


def _is_admitted(before: World, happening: Happening, after: World) -> bool:
    seen = _told(happening.branch)
    return any(_told(each) == seen for each in admissible(before, happening.operation, ALL_CLAIMS))


def explore_mutant(
    mutant: Mutant, bounds: CardBounds, watch: Watch = lambda progress: None
) -> Exploration[World, Happening]:
    """Explore a mutant until it has been seen to do what is not admitted."""
    seen: list[bool] = []

    def holds(before: World, happening: Happening, after: World) -> bool:
        admitted = _is_admitted(before, happening, after)
        if not admitted:
            seen.append(True)
        return admitted

    def stop(progress: Progress) -> str | None:
        return "what was looked for" if seen else watch(progress)

    model: Model[World, Happening] = card_model(bounds, happens=happens_in(mutant))
    return explore(model, (Each(name=NOT_ADMITTED, holds=holds),), symmetry=True, watch=stop)


def steps_of(path: Path[World, Happening]) -> tuple[Step, ...]:
    """Return a way through the states as the steps of a trace; each operation is written as it was."""
    operations = (each.operation for each, _ in path.steps)
    calls = (Call(operation=each.method, params=cast(dict[str, Json], write(each))) for each in operations)
    return trace_of(calls).steps
