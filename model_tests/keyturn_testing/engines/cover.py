"""The cover engine: a tour through every transition and every cell that a system can be asked for.

A call that would exercise a masked requirement is not made (D5). Where it would leave everything as it is, the tour goes on
without it; where the rest depends on it, the trace ends there.
"""

from collections.abc import Callable, Iterator, Sequence

from keyturn_specs.observations import Moment
from keyturn_testing.driver import Driver
from keyturn_testing.judging import NotJudged
from keyturn_testing.touring import TourStep


def take_tour(driver: Driver, steps: Sequence[TourStep], masked: Callable[[Moment], bool]) -> Iterator[int]:
    """Take the steps of one trace of a tour; yield the number of each before it is taken. Raise what the driver raises."""
    for number, step in enumerate(steps):
        yield number
        if masked(driver.foresee(step.call)):
            if step.stays:
                continue
            return
        try:
            driver.call(step.call)
        except NotJudged:
            return


def around(steps: Sequence[TourStep], failed: int) -> Sequence[TourStep]:
    """Return what is left of a trace after one of its steps failed, with the way to it: nothing, if the rest stands on it."""
    if not steps[failed].stays:
        return ()
    return (*(each for each in steps[:failed] if not each.stays), *steps[failed + 1 :])
