"""I5, one question: a case has at most one blocking card that is open.

A plain "yes" then has at most one meaning. The slot belongs to the case of an account and a workflow, and a card in flight
still occupies it.
"""

from collections import Counter

from keyturn import operations as ops
from keyturn.capabilities import Capability
from keyturn.table import OPEN
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.requirement import ByBranch, ByInvariant, Family, Requirement, demanded


def _asks_for_an_occupied_slot(moment: Moment) -> bool:
    operation = moment.operation
    if not isinstance(operation, ops.CardPresent) or not operation.blocking:
        return False
    return moment.state.world.occupant(operation.key) is not None


def _two_open_blocking_cards(seen: Observation) -> str | None:
    open_cards = Counter(
        (seen.asked[card].account if card in seen.asked else None, view.workflow, view.case)
        for card, view in seen.after.cards.items()
        if view is not None and view.blocking and view.status in OPEN
    )
    for (_, workflow, case), count in open_cards.items():
        if count > 1:
            return f"the case {case} of {workflow} has {count} open blocking cards at once"
    return None


ONE_QUESTION: tuple[Requirement, ...] = (
    Requirement(
        id="I5.1",
        family=Family.ONE_QUESTION,
        says="At every observable moment a case has at most one blocking card that is open.",
        why='With two of them a plain "yes" has two meanings, and somebody will get the wrong one.',
        source="persistent interactions, One blocking interaction per case",
        needs=frozenset({Capability.BLOCKING}),
        applies=_asks_for_an_occupied_slot,
        judged_by=ByInvariant(_two_open_blocking_cards),
    ),
    Requirement(
        id="I5.3",
        family=Family.ONE_QUESTION,
        says="Replacing invalidates the Active occupant (superseded by the new id) and the new card has a fresh id, "
        "in one step.",
        why="An old card that can still be answered after its replacement was shown decides with the wrong words.",
        source="persistent interactions, One blocking interaction per case: replacing",
        needs=frozenset({Capability.BLOCKING, Capability.REPLACE}),
        applies=demanded("I5.3"),
        judged_by=ByBranch(),
    ),
)
