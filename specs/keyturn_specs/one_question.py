"""I5, one question: a case has at most one blocking card that is open.

A plain "yes" then has at most one meaning. The slot belongs to the case of an account and a workflow, and a card in flight
still occupies it.
"""

from collections import Counter

from keyturn import operations as ops
from keyturn.capabilities import Capability
from keyturn.responses import Accepted, Declined, Dismissed, Resolved
from keyturn.status import InteractionStatus
from keyturn.table import OPEN
from keyturn.values import CaseKey
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import addressed, answered_card
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


def _meets_another_slot_or_conversation(moment: Moment) -> bool:
    """Whether a blocking card is asked for beside a taken slot that is not its own, or that another conversation took."""
    operation = moment.operation
    if not isinstance(operation, ops.CardPresent) or "I5.6" not in moment.branch.because:
        return False
    slots = [each for each in moment.state.world.interactions if each.blocking and each.status in OPEN]
    return any(each.key != operation.key or each.conversation != operation.conversation for each in slots)


def _beside_an_occupant(moment: Moment) -> bool:
    operation = moment.operation
    taken = isinstance(operation, ops.CardPresent) and moment.state.world.occupant(operation.key) is not None
    return "I5.7" in moment.branch.because and taken


def _after_an_ended_card(moment: Moment) -> bool:
    key = moment.operation.key if isinstance(moment.operation, ops.CardPresent) else None
    ended = any(each.key == key and each.blocking for each in moment.state.world.interactions)
    return "I5.9" in moment.branch.because and ended


def _answers_a_replaced_card(moment: Moment) -> bool:
    card = addressed(moment)
    if card is None or not card.blocking or card.status is not InteractionStatus.INVALIDATED:
        return False
    current = card.case_revision in (None, moment.state.world.revision(card.key))
    return isinstance(moment.operation, ops.CardRespond) and current and "L2" in moment.branch.because


def _took_a_replaced_card(seen: Observation) -> str | None:
    card = answered_card(seen)
    before = seen.before.cards.get(card) if card is not None else None
    if (
        card is None
        or card not in seen.asked
        or before is None
        or not before.blocking
        or before.status is not InteractionStatus.INVALIDATED
    ):
        return None
    key = CaseKey(seen.asked[card].account, before.workflow, before.case)
    current = before.case_revision is None or before.case_revision == seen.before.revisions.get(key)
    if current and isinstance(seen.outcome, Accepted | Resolved | Declined | Dismissed):
        return f"the card {card} had been invalidated, and an answer to it was taken"
    return None


_BLOCKING = frozenset({Capability.BLOCKING})
_REPLACING = frozenset({Capability.BLOCKING, Capability.REPLACE})

ONE_QUESTION: tuple[Requirement, ...] = (
    Requirement(
        id="I5.1",
        family=Family.ONE_QUESTION,
        says="At every observable moment a case has at most one blocking card that is open.",
        why='With two of them a plain "yes" has two meanings, and somebody will get the wrong one.',
        source="persistent interactions, One blocking interaction per case",
        needs=frozenset({Capability.BLOCKING}),
        applies=_asks_for_an_occupied_slot,
        judged_by=ByInvariant(_two_open_blocking_cards, of_many=True),
    ),
    Requirement(
        id="I5.2",
        family=Family.ONE_QUESTION,
        says="A second blocking card without replacement is refused (slot_occupied) and nothing is written.",
        why="A question that slips in beside another one takes its answer.",
        source="persistent interactions, One blocking interaction per case: the store rejects a second one",
        needs=frozenset({Capability.BLOCKING, Capability.REFUSE}),
        applies=demanded("I5.2"),
        judged_by=ByBranch(),
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
    Requirement(
        id="I5.4",
        family=Family.ONE_QUESTION,
        says="A Resolving occupant is never replaced: slot_occupied, nothing written, the command goes on.",
        why="A decision that is being carried out cannot be taken back by asking something else.",
        source="persistent interactions, Status machine: a card in flight still occupies the slot",
        needs=_REPLACING | {Capability.DEFERRED},
        applies=demanded("I5.4"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I5.5",
        family=Family.ONE_QUESTION,
        says="A replaced card is never answerable again.",
        why="Whoever still has the old card on screen would decide with the old words.",
        source="persistent interactions, One blocking interaction per case: does not become resolvable again",
        needs=_REPLACING,
        applies=_answers_a_replaced_card,
        judged_by=ByInvariant(_took_a_replaced_card),
    ),
    Requirement(
        id="I5.6",
        family=Family.ONE_QUESTION,
        says="The slot belongs to (account, workflow, case): other cases, workflows and accounts have their own; other "
        "conversations of the same case do not.",
        why="One customer's open question must not keep another's from being asked, and two devices must not be asked apart.",
        source="persistent interactions, One blocking interaction per case: the same account, workflow key and case",
        needs=_BLOCKING,
        applies=_meets_another_slot_or_conversation,
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I5.7",
        family=Family.ONE_QUESTION,
        says="Non-blocking cards neither take nor need the slot.",
        why="Information must reach the user while a decision waits.",
        source="persistent interactions, One blocking interaction per case: non-blocking interactions are not limited",
        needs=_BLOCKING,
        applies=_beside_an_occupant,
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I5.9",
        family=Family.ONE_QUESTION,
        says="A card that has ended holds no slot: the next blocking card of the case is presented.",
        why="A slot that is never given back ends the case for ever.",
        source="persistent interactions, Status machine: a new interaction with a new ID",
        needs=_BLOCKING,
        applies=_after_an_ended_card,
        judged_by=ByBranch(),
    ),
)
