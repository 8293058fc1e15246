"""The scenario engine: the traces that ship with the specification, each of which witnesses requirements.

A scenario is a trace with a name. It runs against any system that claims what it needs; it is cut short before a step that
would exercise a masked requirement. Those in which calls overlap are for the `races` engine, which takes them many times.
"""

from collections.abc import Callable, Iterator
from itertools import groupby

from keyturn.capabilities import Claims
from keyturn.handshake import Offers
from keyturn.operations import CardPresent
from keyturn_specs.observations import Moment
from keyturn_specs.scenario import Scenario, ScenarioStep, scenarios
from keyturn_testing.driver import Driver
from keyturn_testing.judging import NotJudged
from keyturn_testing.traces import Call, Step, pointed


def claimed_scenarios(claims: Claims, offers: Offers, *, races: bool = False) -> Iterator[Scenario]:
    """Yield the scenarios whose needs a system claims and whose cards it offers, in the order of their names.

    `races` asks for those in which calls overlap instead of the others.
    """
    return (each for each in scenarios() if each.is_race is races and each.needs <= claims and _within(each, offers))


def _within(scenario: Scenario, offers: Offers) -> bool:
    for step in scenario.steps:
        if step.operation == CardPresent.method:
            options = pointed(step.params, "payload/options")
            actions = {pointed(each, "action/kind") for each in options} if isinstance(options, list) else set()
            kinds = offers.kinds is None or step.params.get("kind") in offers.kinds
            if not kinds or (offers.actions is not None and not actions <= set(offers.actions)):
                return False
    return True


def steps_of(scenario: Scenario) -> tuple[Step, ...]:
    """Return the steps of a scenario; calls with lanes that stand together are one step."""
    steps: list[Step] = []
    for overlaps, group in groupby(scenario.steps, key=lambda each: each.lane is not None):
        calls = tuple(map(_call, group))
        steps.extend([Step(calls=calls)] if overlaps else [Step(calls=(each,)) for each in calls])
    return tuple(steps)


def _call(step: ScenarioStep) -> Call:
    return Call(operation=step.operation, params=step.params, label=step.label, lane=step.lane or 0)


def run_scenario(driver: Driver, scenario: Scenario, masked: Callable[[Moment], bool]) -> bool:
    """Take a scenario's steps; return whether it came to its end. Raise what the driver raises."""
    for step in steps_of(scenario):
        if any(map(masked, driver.moments(step))):
            return False
        try:
            driver.step(step)
        except NotJudged:
            return False
    return True
