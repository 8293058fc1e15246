"""What a run covered of what its system can be asked for: statuses, transitions, pairs of transitions, and cells.

The denominator is that of the tour: it follows from the status table and from what the system claims and offers, and not from
what happened. A requirement says that something held; this says where it was looked.
"""

from collections.abc import Mapping

from attrs import frozen

from keyturn.values import Json
from keyturn_specs.cells import Cell
from keyturn_specs.goals import Goal, Reached, Succession, Transition, of_sort
from keyturn_testing.record import Record
from keyturn_testing.touring import tour_of

PARTS: Mapping[type[Goal], str] = {
    Reached: "statuses",
    Transition: "transitions",
    Succession: "pairs",
    Cell: "cells",
}
"""What can be covered, by what it is called."""


@frozen(kw_only=True)
class Coverage:
    """How often each goal of one sort was met; the goals that were missed count nothing.

    `beyond` are the cells that were not met as planned, because the system had used a freedom that the text leaves it, such as
    a sweep of its own: what was planned for them met another cell. They are not asked for.
    """

    name: str
    times: Mapping[str, int]
    beyond: tuple[str, ...] = ()

    @property
    def missing(self) -> tuple[str, ...]:
        """The goals that were never met, and could have been."""
        return tuple(goal for goal, times in self.times.items() if not times)

    @property
    def covered(self) -> int:
        """How many goals were met."""
        return len(self.times) - len(self.missing)

    def __str__(self) -> str:
        """The counts in words."""
        return f"{self.covered} of {len(self.times)} {self.name}"


def coverage_of(record: Record) -> tuple[Coverage, ...]:
    """Return what a run covered, each goal in its order."""
    goals, covered = tour_of(record.terms).goals, record.counts.covered
    beyond = record.elsewhere - covered.keys()
    return tuple(
        Coverage(
            name=name,
            times={str(each): covered[each] for each in of_sort(goals - beyond, sort)},
            beyond=tuple(map(str, of_sort(goals & beyond, sort))),
        )
        for sort, name in PARTS.items()
    )


def coverage_as_json(record: Record) -> dict[str, Json]:
    """Return every goal with how often it was met, by sort."""
    return {
        each.name: {
            "of": len(each.times),
            "covered": each.covered,
            "missing": list(each.missing),
            "beyond": list(each.beyond),
            "times": dict(each.times),
        }
        for each in coverage_of(record)
    }
