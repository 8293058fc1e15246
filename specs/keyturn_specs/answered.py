"""A, answered: a right answer is taken.

Without it a system that refuses everything would hold every other requirement.
"""

from keyturn_specs.requirement import ByBranch, Family, Requirement, demanded

ANSWERED: tuple[Requirement, ...] = (
    Requirement(
        id="A1",
        family=Family.ANSWERED,
        says="A response that passes every check is taken, whatever else is open, also right after the write, and also as "
        "the first one after a restart.",
        why="A question that cannot be answered blocks the case for ever; refusing everything is not safety.",
        source="persistent interactions, Status machine: entered when a valid response is accepted",
        applies=demanded("A1"),
        judged_by=ByBranch(),
    ),
)
