"""What is admissible at each step of a scenario, written by the model.

A scenario's author writes the steps. This module takes them on the reference store and writes, beside each, every outcome
that the model allows there, so that implementers can read them and a test can hold that they are not stale.
"""

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve

from keyturn.capabilities import ALL_CLAIMS
from keyturn.store import ReferenceStore, possibilities
from keyturn.wire import write_outcome
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_specs.scenario import Scenario, ScenarioStep
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.engines.scenarios import calls_of
from keyturn_testing.systems.in_process import InProcessSystem


def with_admissible(scenario: Scenario) -> Scenario:
    """Return the scenario with what is admissible at each step; raise `Violation` where the reference breaks it."""
    return evolve(scenario, steps=_taken(scenario)[0])


def exercised_by(scenario: Scenario) -> Mapping[str, int]:
    """Return how often each requirement is exercised when the reference takes the scenario."""
    return _taken(scenario)[1].exercised


def _taken(scenario: Scenario) -> tuple[tuple[ScenarioStep, ...], Counts]:
    counts = Counts()
    system = InProcessSystem(ReferenceStore)
    written = []
    try:
        driver = Driver(system, ALL_CLAIMS, REQUIREMENTS, counts)
        for step, call in zip(scenario.steps, calls_of(scenario), strict=True):
            state = driver.oracle.hypotheses[0].state
            moment = driver.foresee(call)
            choices = possibilities(state, moment.operation, ALL_CLAIMS)
            distinct: list[object] = []
            for each in choices:
                outcome = write_outcome(each.branch.outcome)
                if outcome not in distinct:
                    distinct.append(outcome)
            written.append(evolve(step, admissible=tuple(distinct)))
            driver.call(call)
    finally:
        system.close()
    return tuple(written), counts


def scenario_folder() -> Path:
    """The folder of the scenario files in the source tree."""
    return Path(__file__).resolve().parents[2] / "specs" / "keyturn_specs" / "scenarios"
