"""The races engine: calls that overlap, many times over, and what share of them really did.

First the scenarios in which calls overlap, each as often as the budget says; then races that are generated: a prefix of steps,
as the stateful engine draws them, and then two to four lanes of calls about one case. Where the machine decides how calls
overlap, a race is repeated; where the suite does, it is taken in every way in which its calls can take turns, up to a bound.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random

from attrs import evolve, mutable

from keyturn.values import CaseKey
from keyturn_specs.observations import Moment, Race
from keyturn_testing.driver import Driver
from keyturn_testing.engines.stateful import Plan, draw_step, go_on
from keyturn_testing.judging import Finding, NotJudged, Undecided, Violation
from keyturn_testing.racing import is_race, race_of
from keyturn_testing.systems.base import Schedule
from keyturn_testing.systems.together import next_schedule
from keyturn_testing.traces import Call, Step

WAYS_A_REPETITION = 10
"""How many ways of taking turns are tried where the machine would be given one repetition."""

RACING = frozenset(
    {
        *("card.respond", "card.dismiss", "card.present", "card.withdraw", "card.get", "card.list", "card.expire_due"),
        *("case.edit", "case.close", "command.settle"),
    }
)
"""The operations that are made to overlap: what clients and hosts do, and not what only the suite does."""

_LONGEST_PREFIX = 12
_MOST_DRAWN = 30
_LANES = (2, 2, 2, 2, 3, 3, 4)


@mutable
class Tally:
    """What became of one race, over all of its repetitions.

    `overlapped` counts the calls that did overlap one of another lane. `every_way` says that it was taken in every way in which
    its calls can take turns, and is nothing where the machine decided that.
    """

    name: str
    taken: int = 0
    lost: int = 0
    unknown: int = 0
    calls: int = 0
    overlapped: int = 0
    every_way: bool | None = None


@mutable
class Lost:
    """A race that was lost: what it showed first, and the steps that showed it."""

    finding: Finding
    steps: tuple[Step, ...]


Masked = Callable[[Moment], bool]
MaskedRace = Callable[[Race], bool]


def repeat(
    start: Callable[[], Driver],
    steps: Sequence[Step],
    tally: Tally,
    *,
    repetitions: int,
    masked: Masked,
    masked_race: MaskedRace,
) -> Iterator[Lost]:
    """Take a race as often as the budget says, and yield each time that it was lost. Raise `Breakdown` as the driver does."""
    schedule: Schedule | None = ()
    most, number = repetitions, 0
    while schedule is not None and number < most:
        number += 1
        driver = start()
        lost = _attempt(driver, steps, schedule, tally, masked, masked_race)
        if driver.raced is None:
            return
        if driver.raced.choices is not None:
            schedule, most = next_schedule(driver.raced.choices), repetitions * WAYS_A_REPETITION
            tally.every_way = schedule is None
        if lost is not None:
            yield lost


def _attempt(
    driver: Driver, steps: Sequence[Step], schedule: Schedule, tally: Tally, masked: Masked, masked_race: MaskedRace
) -> Lost | None:
    lost: Lost | None = None
    for step in steps:
        if any(map(masked, driver.moments(step))):
            return None
        if is_race(step) and masked_race(driver.race(step.calls)):
            return None
        try:
            driver.step(step, schedule)
        except Violation as found:
            lost = Lost(found.finding, tuple(driver.steps))
        except Undecided:
            tally.unknown += 1
        except NotJudged:
            pass
        else:
            continue
        break
    if driver.raced is not None:
        tally.taken += 1
        tally.lost += lost is not None
        tally.calls += len(driver.raced.history)
        tally.overlapped += driver.raced.overlapped
    return lost


def generated(driver: Driver, plan: Plan, chance: Random) -> tuple[Step, ...] | None:
    """Draw a prefix, take it, and draw a race that follows it; return all steps, or nothing where there was none to draw."""
    # What is armed would go off in the race, and a restart ends the other ways into the system.
    go_on(driver, plan, chance, chance.randint(2, _LONGEST_PREFIX))
    race = _draw_race(driver, plan, chance)
    return None if race is None else (*driver.steps, race)


def _draw_race(driver: Driver, plan: Plan, chance: Random) -> Step | None:
    """Draw calls about one case, and deal them to lanes; often one call in several of them, as a double click is."""
    by_case: dict[CaseKey, list[Call]] = {}
    for _ in range(_MOST_DRAWN):
        call = draw_step(driver, plan, chance)
        if call is not None and call.operation in RACING:
            key = driver.case_of(driver.operation(call))
            if key is not None:
                by_case.setdefault(key, []).append(call)
    if not by_case:
        return None
    counts = Counter({key: len(calls) for key, calls in by_case.items()})
    calls = by_case[counts.most_common(1)[0][0]]
    count = chance.choice(_LANES)
    first = chance.choice(calls)
    lanes = [[first]]
    while len(lanes) < count:
        lanes.append([first if chance.random() < 0.5 else chance.choice(calls)])
    if chance.random() < 0.3:
        chance.choice(lanes).append(chance.choice(calls))
    return race_of(
        [
            [evolve(call, label=f"{call.label}-{number}-{place}") for place, call in enumerate(lane)]
            for number, lane in enumerate(lanes)
        ]
    )
