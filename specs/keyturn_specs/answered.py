"""A, answered: a right answer is taken.

Without it a system that refuses everything would hold every other requirement.
"""

from keyturn.capabilities import Capability
from keyturn_specs.reading import refuses
from keyturn_specs.requirement import Area, ByBranch, Family, Requirement, demanded

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
    Requirement(
        id="A2",
        family=Family.ANSWERED,
        says="A refusal's code names a check that really fails.",
        why="The client renders what the code says, and sends the user to mend the wrong thing.",
        source="persistent interactions, Error outcomes: a typed outcome, so that the client can render a precise message",
        needs=frozenset({Capability.CODED_REFUSALS}),
        applies=refuses,
        judged_by=ByBranch(frozenset({Area.CODE})),
    ),
    Requirement(
        id="A3",
        family=Family.ANSWERED,
        says="An authorising option ends Resolved, Failed or restored; an answering one Resolved without effect; a declining "
        "one Declined; a dismissing one Dismissed.",
        why="How a card ended is how everybody reads what was decided.",
        source="persistent interactions, Stored options and server-owned actions",
        applies=demanded("A3"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="A4",
        family=Family.ANSWERED,
        says="A card that does not fit the table of kinds is refused (invalid_card) and nothing is written.",
        why="A question that nobody could answer blocks the case for ever.",
        source="persistent interactions, Kinds: what family of answers is legal",
        applies=demanded("A4"),
        judged_by=ByBranch(),
    ),
)
