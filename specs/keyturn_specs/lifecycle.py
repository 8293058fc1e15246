"""L, the lifecycle: what a status may become, and what it stands for.

Terminal statuses are never left, and Resolved stands for a command that committed. Both are judged on what was observed,
because a system that breaks them breaks them in its own rows.
"""

from keyturn import operations as ops
from keyturn.capabilities import Capability
from keyturn.cards import ActionClass
from keyturn.responses import Accepted, Failed, RefusalCode, Rejected, Resolved, Restored
from keyturn.status import InteractionStatus
from keyturn.table import OPEN, STATUS_TABLE, TERMINAL
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import addressed, answered_card, chosen_option, effects_of
from keyturn_specs.requirement import Area, ByBranch, ByInvariant, Family, Requirement, demanded


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


_IN_TWO_STEPS = frozenset(
    {
        (InteractionStatus.ACTIVE, InteractionStatus.RESOLVED),
        (InteractionStatus.ACTIVE, InteractionStatus.FAILED),
        (InteractionStatus.RESOLVING, InteractionStatus.INVALIDATED),
        (InteractionStatus.RESOLVING, InteractionStatus.EXPIRED),
    }
)
"""What one operation can do in two rows of the table: run at once, or give back a card that has to end."""


def _meets_a_card_that_is_not_active(moment: Moment) -> bool:
    card = addressed(moment)
    return moment.operation.changes and card is not None and card.status is not InteractionStatus.ACTIVE


def _off_the_table(seen: Observation) -> str | None:
    for card, before in seen.before.cards.items():
        after = seen.after.cards.get(card)
        if before is None or after is None or before.status is after.status:
            continue
        in_one_step = after.status in STATUS_TABLE.rows[before.status].values()
        if not in_one_step and (before.status, after.status) not in _IN_TWO_STEPS:
            return f"the card {card} went from {before.status} to {after.status}, and the table has no such row"
    return None


def _accepts(moment: Moment) -> bool:
    return isinstance(moment.branch.outcome, Accepted)


def _accepted_and_not_resolving(seen: Observation) -> str | None:
    card = answered_card(seen)
    if not isinstance(seen.outcome, Accepted) or card is None:
        return None
    status = seen.after.status(card)
    return (
        None if status == InteractionStatus.RESOLVING else f"the answer to {card} was accepted, and it reads {status}"
    )


def _restores(moment: Moment) -> bool:
    return isinstance(moment.branch.outcome, Restored) and bool(moment.branch.happened)


def _kept_the_choice(seen: Observation) -> str | None:
    if not isinstance(seen.outcome, Restored):
        return None
    for card, before in seen.before.cards.items():
        after = seen.after.cards.get(card)
        given_back = before is not None and before.status is InteractionStatus.RESOLVING and after is not None
        if given_back and after is not None and after.status is InteractionStatus.ACTIVE and after.resolved_option:
            return f"the card {card} was given back and still shows the option {after.resolved_option!r}"
    return None


def _sweeps_a_deadline(moment: Moment) -> bool:
    deadlines = any(each.expires_at is not None for each in moment.state.world.interactions)
    return isinstance(moment.operation, ops.CardExpireDue) and deadlines


def _lists_cards(moment: Moment) -> bool:
    operation = moment.operation
    if not isinstance(operation, ops.CardList):
        return False
    mine = (operation.account, operation.conversation)
    return any((each.key.account, each.conversation) == mine for each in moment.state.world.interactions)


def _listed_wrongly(seen: Observation) -> str | None:
    for (account, conversation), cards in seen.after.lists.items():
        ids = [each.id for each in cards]
        due = {
            card
            for card, view in seen.after.cards.items()
            if view is not None and view.status in OPEN and view.conversation == conversation
            if card in seen.asked and seen.asked[card].account == account
        }
        where = f"the list of {account} in {conversation}"
        for card in ids:
            if ids.count(card) > 1:
                return f"{where} has the card {card} more than once"
        for each in sorted(due.symmetric_difference(ids)):
            return f"{where} {'lacks the open' if each in due else 'has the ended or unknown'} card {each}"
        if Capability.CLOCK in seen.claims and [each.created_at for each in cards] != sorted(
            each.created_at for each in cards
        ):
            return f"{where} is not in the order of creation"
    return None


_MAY_HAVE_EFFECTS = (InteractionStatus.RESOLVING, InteractionStatus.RESOLVED, InteractionStatus.DECLINED)


def _effect_of_an_ended_card(seen: Observation) -> str | None:
    for effects in seen.after.effects.values():
        for effect in effects:
            status = seen.after.status(effect.card)
            if status is not None and status not in _MAY_HAVE_EFFECTS:
                return f"the card {effect.card} reads {status}, and its effect {effect.id} exists"
    return None


def _comes_late(moment: Moment) -> bool:
    operation = moment.operation
    command = moment.state.world.command(operation.command) if isinstance(operation, ops.CommandSettle) else None
    return command is not None and isinstance(command.reply, Restored) and "L10" in moment.branch.because


_DEFERRED = frozenset({Capability.DEFERRED})


def _settles_after_a_restart(moment: Moment) -> bool:
    operation = moment.operation
    if not isinstance(operation, ops.CommandSettle) or operation.command not in moment.memory.survived:
        return False
    command = moment.state.world.command(operation.command)
    return command is not None and command.settlement is None


def _forgot_a_command(seen: Observation) -> str | None:
    operation = seen.operation
    if not isinstance(operation, ops.CommandSettle) or operation.command not in seen.memory.survived:
        return None
    card = seen.memory.in_flight.get(operation.command)
    waits = card is not None and seen.before.status(card) is InteractionStatus.RESOLVING
    refused = isinstance(seen.outcome, Rejected) and seen.outcome.code is not RefusalCode.UNAVAILABLE
    if waits and (refused or seen.failed):
        return f"the card {card} was Resolving before a restart, and its command can no longer be settled"
    return None


LIFECYCLE: tuple[Requirement, ...] = (
    Requirement(
        id="L1",
        family=Family.LIFECYCLE,
        says="Only the rows of the status table happen. Every other (status, event) pair that can be tried is refused and "
        "changes nothing.",
        why="A status that nobody declared is a decision that nobody made.",
        source="persistent interactions, Status machine",
        applies=_meets_a_card_that_is_not_active,
        judged_by=ByInvariant(_off_the_table),
    ),
    Requirement(
        id="L2",
        family=Family.LIFECYCLE,
        says="Terminal statuses are never left. If the decision is still needed there is a new card with a new id.",
        why="A card that comes back to life can be answered twice, or answered after somebody was told that it was over.",
        source="persistent interactions, Status machine: terminal statuses are terminal",
        applies=_meets_a_terminal_card,
        judged_by=ByInvariant(_left_a_terminal_status, of_many=True),
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
        judged_by=ByInvariant(_resolved_without_its_command, of_many=True),
    ),
    Requirement(
        id="L4",
        family=Family.LIFECYCLE,
        says="Resolving is observable: between accept and settle a read shows it.",
        why="A card whose command is in flight must not look as if it still waited for an answer.",
        source="persistent interactions, Status machine: Resolving is a real state",
        needs=_DEFERRED,
        applies=_accepts,
        judged_by=ByInvariant(_accepted_and_not_resolving),
    ),
    Requirement(
        id="L5",
        family=Family.LIFECYCLE,
        says="Settling is idempotent: the same outcome (result and failure policy) again is accepted and changes nothing; "
        "another outcome is a conflict.",
        why="An executor that reports twice must do no harm, and one that contradicts itself must be heard.",
        source="persistent interactions, Status machine: leaves Resolving only when the command commits or fails",
        needs=_DEFERRED,
        applies=demanded("L5"),
        judged_by=ByBranch(frozenset({Area.REPLY, Area.CODE, Area.STATUS})),
    ),
    Requirement(
        id="L6",
        family=Family.LIFECYCLE,
        says="A restore clears the chosen option, so that the card can be answered again, also with another option.",
        why="A card that is offered again must not look as if it had been decided.",
        source="persistent interactions, Status machine: restores Active according to policy",
        needs=_DEFERRED,
        applies=_restores,
        judged_by=ByInvariant(_kept_the_choice),
    ),
    Requirement(
        id="L7",
        family=Family.LIFECYCLE,
        says="Expiry is inclusive (expires_at <= now) and happens once; a card without a deadline never expires.",
        why="A deadline that is read differently by two parts of a system lets an answer through between them.",
        source="persistent interactions, The interaction record: expiry",
        needs=frozenset({Capability.CLOCK}),
        applies=_sweeps_a_deadline,
        judged_by=ByBranch(),
    ),
    Requirement(
        id="L8",
        family=Family.LIFECYCLE,
        says="Reads list each open card of the conversation exactly once and no other, by creation time.",
        why="A question that is not listed is never answered, and one that is over invites an answer.",
        source="persistent interactions, Why interactions are persistent: survives reloads",
        needs=frozenset({Capability.LIST}),
        applies=_lists_cards,
        judged_by=ByInvariant(_listed_wrongly),
    ),
    Requirement(
        id="L9",
        family=Family.LIFECYCLE,
        says="A card with an effect is Resolved, or Resolving until it settles (or Declined, for a recorded decline); never "
        "Active, Failed, Expired, Dismissed or Invalidated.",
        why="An effect behind a card that says nothing happened is found by nobody, and repeated by somebody.",
        source="persistent interactions, Status machine: never renders a receipt for a command that did not happen",
        applies=_ends_a_command,
        judged_by=ByInvariant(_effect_of_an_ended_card, of_many=True),
    ),
    Requirement(
        id="L10",
        family=Family.LIFECYCLE,
        says="A settlement settles only its own command: after a restore, a late outcome of the earlier attempt changes "
        "nothing.",
        why="The late success of a first attempt must not pass for the second.",
        source="persistent interactions, Status machine: leaves Resolving only when the derived command commits or fails",
        needs=_DEFERRED,
        applies=_comes_late,
        judged_by=ByBranch(frozenset({Area.REPLY, Area.CODE, Area.STATUS, Area.EFFECTS})),
    ),
    Requirement(
        id="L11",
        family=Family.LIFECYCLE,
        says="After a restart a Resolving card can still be settled, by the same command.",
        why="A command that a deployment forgets holds its card, and the slot of its case, for ever.",
        source="persistent interactions, Why interactions are persistent: a decision survives reloads, retries and time",
        needs=_DEFERRED | {Capability.RESTART},
        applies=_settles_after_a_restart,
        judged_by=ByInvariant(_forgot_a_command),
    ),
)
