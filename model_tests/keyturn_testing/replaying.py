"""Replaying: a trace's steps against a system, from a fresh start, judged afresh.

Whatever a trace recorded is not looked at. The shrinker, the `replay` command and the tests of our own mutants all replay
through here.
"""

from attrs import frozen

from keyturn.capabilities import Claims
from keyturn.errors import Unreadable
from keyturn_specs.requirement import Requirement
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.judging import Finding, NotJudged, Violation
from keyturn_testing.systems.base import System
from keyturn_testing.traces import Step


@frozen(kw_only=True)
class Replayed:
    """What a replay showed: the finding, if there is one, the steps that were taken, and what was answered to each.

    `not_judged` names the un-claimed requirements that ended it early: then nothing was found, and nothing held either.
    """

    finding: Finding | None
    not_judged: tuple[str, ...] = ()
    steps: tuple[Step, ...]
    recorded: tuple[object, ...]


def replay(system: System, claims: Claims, requirements: tuple[Requirement, ...], steps: tuple[Step, ...]) -> Replayed:
    """Take the steps one after the other; stop at the first violation. Raise `Breakdown` as the driver does.

    Raises `Unreadable` for a step whose params do not fit its operation, which is the trace's fault.
    """
    driver = Driver(system, claims, requirements, Counts())
    finding: Finding | None = None
    not_judged: tuple[str, ...] = ()
    for step in steps:
        try:
            driver.step(step)
        except Violation as found:
            finding = found.finding
            break
        except NotJudged as refused:
            not_judged = refused.requirements
            break
    return Replayed(
        finding=finding, not_judged=not_judged, steps=tuple(driver.steps), recorded=tuple(driver.recorded[1:])
    )


def reproduces(
    system: System, claims: Claims, requirements: tuple[Requirement, ...], steps: tuple[Step, ...]
) -> Finding | None:
    """Return what the steps break, or nothing; a trace whose references no longer fit breaks nothing."""
    try:
        return replay(system, claims, requirements, steps).finding
    except Unreadable:
        return None
