"""L, the lifecycle: what a status may become, and what it stands for.

Terminal statuses are never left, and Resolved stands for a command that committed. Both are judged on what was observed,
because a system that breaks them breaks them in its own rows.
"""

from keyturn import operations as ops
from keyturn.capabilities import Capability
from keyturn.cards import ActionClass
from keyturn.responses import Failed, Resolved, Restored
from keyturn.status import InteractionStatus
from keyturn.table import TERMINAL
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import addressed, chosen_option, effects_of
from keyturn_specs.requirement import ByInvariant, Family, Requirement


def _meets_a_terminal_card(moment: Moment) -> bool:
    match moment.operation:
        case ops.CardRespond() | ops.CardDismiss() | ops.CommandSettle():
            card = addressed(moment)
            return card is not None and card.status in TERMINAL
        case ops.CaseEdit() | ops.CaseClose() | ops.CardWithdraw():
            key = moment.operation.key
            return any(each.status in TERMINAL for each in moment.state.world.interactions if each.key == key)
        case ops.CardExpireDue():
            return any(each.status in TERMINAL for each in moment.state.world.interactions)
        case _:
            return False


def _left_a_terminal_status(seen: Observation) -> str | None:
    for card, before in seen.before.cards.items():
        after = seen.after.status(card)
        if before is not None and before.status in TERMINAL and after != before.status:
            return f"the card {card} was {before.status}, which is terminal, and now reads {after or 'as not found'}"
    for entry in seen.new_entries():
        before = seen.before.cards.get(entry.card)
        if before is not None and before.status in TERMINAL:
            return (
                f"the card {entry.card} was {before.status}, which is terminal, and the ledger says {entry.event} of it"
            )
    return None


def _ends_a_command(moment: Moment) -> bool:
    return isinstance(moment.branch.outcome, Resolved | Failed | Restored) and moment.operation.changes


def _resolved_without_its_command(seen: Observation) -> str | None:
    outcome, operation = seen.outcome, seen.operation
    if isinstance(operation, ops.CommandSettle) and operation.result == "failed" and isinstance(outcome, Resolved):
        already = seen.before.status(outcome.result.card) == InteractionStatus.RESOLVED
        return None if already else f"the command {operation.command} failed and the answer says that it is resolved"
    for card, view in seen.after.cards.items():
        if view is None or view.status is not InteractionStatus.RESOLVED or seen.before.status(card) == view.status:
            continue
        option = chosen_option(seen, card, view.resolved_option)
        if option is None or option.action.action_class is not ActionClass.AUTHORISES:
            continue
        if not effects_of(seen.after, card):
            return f"the card {card} reads resolved, and no effect of its command can be read"
    return None


LIFECYCLE: tuple[Requirement, ...] = (
    Requirement(
        id="L2",
        family=Family.LIFECYCLE,
        says="Terminal statuses are never left. If the decision is still needed there is a new card with a new id.",
        why="A card that comes back to life can be answered twice, or answered after somebody was told that it was over.",
        source="persistent interactions, Status machine: terminal statuses are terminal",
        applies=_meets_a_terminal_card,
        judged_by=ByInvariant(_left_a_terminal_status),
    ),
    Requirement(
        id="L3",
        family=Family.LIFECYCLE,
        says="Resolved only after the command committed and its events are readable; "
        "a failed command never yields a success result.",
        why="A receipt for a command that did not happen is a lie that people act on.",
        source="persistent interactions, Status machine: Resolved is reached only after commit",
        needs=frozenset({Capability.CARDS}),
        applies=_ends_a_command,
        judged_by=ByInvariant(_resolved_without_its_command),
    ),
)
