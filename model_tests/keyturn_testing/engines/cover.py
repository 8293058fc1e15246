"""The cover engine: a tour through every transition and every cell that a system can be asked for.

A call that would exercise a masked requirement is not made (D5). Where it would leave everything as it is, the tour goes on
without it; where the rest depends on it, the trace ends there. A system may use a freedom that the text leaves it, such as a
sweep of its own, so that a step meets another cell than it was planned for: that is noted, because the planned one may be out
of the system's reach.
"""

from collections.abc import Callable, Iterator, Sequence

from keyturn_specs.cells import Cell, cells_of
from keyturn_specs.observations import Moment
from keyturn_testing.driver import Driver
from keyturn_testing.touring import TourStep, cells_among


def take_tour(
    driver: Driver,
    steps: Sequence[TourStep],
    masked: Callable[[Moment], bool],
    elsewhere: Callable[[Cell], None] = lambda cell: None,
) -> Iterator[int]:
    """Take the steps of one trace of a tour; yield the number of each before it is taken. Raise what the driver raises.

    `elsewhere` is told each cell that a step was planned for and did not meet.
    """
    for number, step in enumerate(steps):
        yield number
        if masked(driver.foresee(step.call)):
            if step.stays:
                continue
            return
        met = cells_of(driver.call(step.call).moment)
        for cell in cells_among(step.goals):
            if cell not in met:
                elsewhere(cell)


def around(steps: Sequence[TourStep], failed: int) -> Sequence[TourStep]:
    """Return what is left of a trace after one of its steps failed, with the way to it: nothing, if the rest stands on it."""
    if not steps[failed].stays:
        return ()
    return (*(each for each in steps[:failed] if not each.stays), *steps[failed + 1 :])
