"""Replaying: a trace's steps against a system, from a fresh start, judged afresh.

Whatever a trace recorded is not looked at. The shrinker, the `replay` command and the tests of our own mutants all replay
through here.
"""

from attrs import evolve, frozen

from keyturn.capabilities import Claims
from keyturn.errors import Unreadable
from keyturn_specs.requirement import Requirement
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.judging import Finding, NotJudged, Violation
from keyturn_testing.moments import Moments
from keyturn_testing.racing import Raced, is_race
from keyturn_testing.systems.base import Schedule, System
from keyturn_testing.systems.together import next_schedule
from keyturn_testing.traces import Step

MOST_TRIES = 100
"""How often a trace with a race is taken at most."""

FEWEST_WAYS = 60
"""How many ways of taking turns are tried at least, where the suite decides that, before a race counts as not lost."""


@frozen(kw_only=True)
class Replayed:
    """What a replay showed: the finding, if there is one, the steps that were taken, and what was answered to each.

    `not_judged` names the un-claimed requirements that ended it early: then nothing was found, and nothing held either. A trace
    with a race is taken `tries` times, until it shows something.
    """

    finding: Finding | None
    not_judged: tuple[str, ...] = ()
    steps: tuple[Step, ...]
    recorded: tuple[object, ...]
    raced: Raced | None = None
    tries: int = 1


def replay(
    system: System,
    claims: Claims,
    requirements: tuple[Requirement, ...],
    steps: tuple[Step, ...],
    *,
    tries: int = MOST_TRIES,
) -> Replayed:
    """Take the steps one after the other; stop at the first violation. Raise `Breakdown` as the driver does.

    A race does not always end alike, and neither does a kill, so a trace with one is taken up to `tries` times, each with another
    moment, or in every way in which its calls can take turns, where the suite decides that. Raises `Unreadable` for a step whose
    params do not fit its operation, which is the trace's fault.
    """
    most = tries if any(is_race(each) or each.kill for each in steps) else 1
    moments = Moments()
    schedule: Schedule = ()
    number = 0
    while True:
        number += 1
        driver = Driver(system, claims, requirements, Counts())
        driver.moment = moments.next
        seen = evolve(_once(driver, steps, schedule), tries=number)
        choices = None if seen.raced is None else seen.raced.choices
        following = () if choices is None else next_schedule(choices)
        if choices is not None and number == 1:
            most = max(most, FEWEST_WAYS)
        if seen.finding is not None or number >= most or following is None:
            return seen
        schedule = following


def _once(driver: Driver, steps: tuple[Step, ...], schedule: Schedule) -> Replayed:
    finding: Finding | None = None
    not_judged: tuple[str, ...] = ()
    for step in steps:
        try:
            driver.step(step, schedule)
        except Violation as found:
            finding = found.finding
            break
        except NotJudged as refused:
            not_judged = refused.requirements
            break
    return Replayed(
        finding=finding,
        not_judged=not_judged,
        steps=tuple(driver.steps),
        recorded=tuple(driver.recorded[1:]),
        raced=driver.raced,
    )


def reproduces(
    system: System, claims: Claims, requirements: tuple[Requirement, ...], steps: tuple[Step, ...], tries: int = 1
) -> Finding | None:
    """Return what the steps break, or nothing; a trace whose references no longer fit breaks nothing."""
    try:
        return replay(system, claims, requirements, steps, tries=tries).finding
    except Unreadable:
        return None
