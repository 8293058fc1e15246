"""The scenario engine: the traces that ship with the specification, each of which witnesses requirements.

A scenario is a trace with a name. It runs against any system that claims what it needs; it is cut short before a step that
would exercise a masked requirement.
"""

from collections.abc import Callable, Iterator

from keyturn.capabilities import Claims
from keyturn.handshake import Offers
from keyturn.operations import CardPresent
from keyturn_specs.observations import Moment
from keyturn_specs.scenario import Scenario, scenarios
from keyturn_testing.driver import Driver
from keyturn_testing.judging import NotJudged
from keyturn_testing.traces import Call, pointed


def claimed_scenarios(claims: Claims, offers: Offers) -> Iterator[Scenario]:
    """Yield the scenarios whose needs a system claims and whose cards it offers, in the order of their names."""
    return (each for each in scenarios() if each.needs <= claims and _within(each, offers))


def _within(scenario: Scenario, offers: Offers) -> bool:
    for step in scenario.steps:
        if step.operation == CardPresent.method:
            options = pointed(step.params, "payload/options")
            actions = {pointed(each, "action/kind") for each in options} if isinstance(options, list) else set()
            kinds = offers.kinds is None or step.params.get("kind") in offers.kinds
            if not kinds or (offers.actions is not None and not actions <= set(offers.actions)):
                return False
    return True


def calls_of(scenario: Scenario) -> tuple[Call, ...]:
    """Return the calls of a scenario."""
    return tuple(Call(operation=each.operation, params=each.params, label=each.label) for each in scenario.steps)


def run_scenario(driver: Driver, scenario: Scenario, masked: Callable[[Moment], bool]) -> bool:
    """Take a scenario's steps; return whether it came to its end. Raise what the driver raises."""
    for call in calls_of(scenario):
        if masked(driver.foresee(call)):
            return False
        try:
            driver.call(call)
        except NotJudged:
            return False
    return True
