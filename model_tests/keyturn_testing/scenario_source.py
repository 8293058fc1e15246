"""What is admissible at each step of a scenario, written by the model.

A scenario's author writes the steps. This module takes them on the reference store and writes, beside each, every outcome
that the model allows there, so that implementers can read them and a test can hold that they are not stale. For calls that
overlap that is every outcome in any order of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path

from attrs import evolve

from keyturn.capabilities import ALL_CLAIMS
from keyturn.operations import Operation
from keyturn.store import ReferenceStore, State, possibilities
from keyturn.values import Json
from keyturn.wire import write_outcome
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_specs.scenario import Scenario, ScenarioStep
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.engines.scenarios import steps_of
from keyturn_testing.systems.in_process import InProcessSystem


def with_admissible(scenario: Scenario) -> Scenario:
    """Return the scenario with what is admissible at each step; raise `Violation` where the reference breaks it."""
    return evolve(scenario, steps=_taken(scenario)[0])


def exercised_by(scenario: Scenario) -> Mapping[str, int]:
    """Return how often each requirement is exercised when the reference takes the scenario."""
    return _taken(scenario)[1].exercised


class _Awaiting:
    """The reference store behind awaits, so that calls to it overlap as a schedule says, the same every time."""

    def __init__(self) -> None:
        self._store = ReferenceStore()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Mapping[str, Json]]]:
        function = getattr(self._store, name)

        async def call(**params: Json) -> Mapping[str, Json]:
            await asyncio.sleep(0)
            answer: Mapping[str, Json] = function(**params)
            await asyncio.sleep(0)
            return answer

        return call


_OVERLAPPING = (0, 1)
"""The schedule by which the second lane begins when the first one has begun."""


def _taken(scenario: Scenario) -> tuple[tuple[ScenarioStep, ...], Counts]:
    counts = Counts()
    system = InProcessSystem(_Awaiting)
    written: list[ScenarioStep] = []
    try:
        driver = Driver(system, ALL_CLAIMS, REQUIREMENTS, counts)
        for step in steps_of(scenario):
            state = driver.oracle.hypotheses[0].state
            lanes: dict[int, list[int]] = {}
            for number, call in enumerate(step.calls):
                lanes.setdefault(call.lane, []).append(number)
            operations = tuple(driver.foresee(call).operation for call in step.calls)
            for outcomes in _outcomes(state, operations, tuple(lanes.values())):
                written.append(evolve(scenario.steps[len(written)], admissible=outcomes))
            driver.step(step, _OVERLAPPING)
    finally:
        system.close()
    return tuple(written), counts


def _outcomes(
    state: State, operations: Sequence[Operation], lanes: Sequence[Sequence[int]]
) -> tuple[tuple[object, ...], ...]:
    """Return what each of some operations may answer, in any order that keeps those of a lane in theirs."""
    found: list[list[object]] = [[] for _ in operations]

    def go_on(before: State, rest: Sequence[int]) -> None:
        if not rest:
            return
        for each in possibilities(before, operations[rest[0]], ALL_CLAIMS):
            outcome = write_outcome(each.branch.outcome)
            if outcome not in found[rest[0]]:
                found[rest[0]].append(outcome)
            go_on(each.state, rest[1:])

    for order in _orders(lanes, len(operations)):
        go_on(state, order)
    return tuple(map(tuple, found))


def _orders(lanes: Sequence[Sequence[int]], count: int) -> Iterator[Sequence[int]]:
    for order in permutations(range(count)):
        if all(sorted(lane, key=order.index) == list(lane) for lane in lanes):
            yield order


def scenario_folder() -> Path:
    """The folder of the scenario files in the source tree."""
    return Path(__file__).resolve().parents[2] / "specs" / "keyturn_specs" / "scenarios"
