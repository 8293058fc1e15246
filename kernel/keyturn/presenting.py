"""How a card comes to be: written in one step, or refused with nothing written.

The checks come in the order of the text: the case must be open, the card answerable, its content of the current revision
where it says of which it is (I13.10), the blocking slot free. An Active
occupant gives way where replacement is asked for; a Resolving one never does (I5.3, I5.4). An overdue occupant that no
sweep has reached may be found Active or Expired.
"""

from collections.abc import Iterator

from attrs import evolve

from keyturn.answerability import problems_of
from keyturn.branches import Branch, branch, refuse
from keyturn.capabilities import Capability, Claims
from keyturn.cards import Interaction, InteractionKind, view
from keyturn.operations import CardPresent, Cause
from keyturn.responses import Presented, RefusalCode
from keyturn.status import InteractionEvent
from keyturn.values import LAST_INSTANT, CardId, Instant, milliseconds
from keyturn.wire import payload_digest
from keyturn.world import Unfolding, World


def present(world: World, operation: CardPresent, claims: Claims) -> Iterator[Branch]:
    """`card.present`: one branch, or one for each status that an overdue occupant may be found in."""
    start = Unfolding(world)
    case = world.case(operation.key)
    if case is None or case.closed:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1" if case is None else "I13.11")
        return
    if (
        not _can_expire(operation, world.now)
        or problems_of(operation.kind, operation.payload)
        or (operation.kind is InteractionKind.MULTI_SELECT and Capability.MULTI_SELECT not in claims)
    ):
        yield refuse(start, RefusalCode.INVALID_CARD, "A4")
        return
    bound = Capability.REVISIONS in claims and not operation.revision_independent
    if bound and operation.for_revision not in {None, case.revision}:
        yield refuse(start, RefusalCode.STALE_REVISION, "I13.10")
        return
    occupant = world.occupant(operation.key)
    if not operation.blocking or occupant is None:
        yield _write(start, operation, None)
        return
    shared = () if occupant.conversation == operation.conversation else ("I5.6",)
    if occupant.overdue(world.now):
        yield _write(start.move(occupant.id, InteractionEvent.EXPIRE), operation, None)
    if operation.on_occupied == "refuse":
        yield refuse(start, RefusalCode.SLOT_OCCUPIED, "I5.2", *shared)
    elif not world.may(occupant, InteractionEvent.INVALIDATE):
        yield refuse(start, RefusalCode.SLOT_OCCUPIED, "I5.4", *shared)
    else:
        replaced = _write(start, operation, occupant)
        yield evolve(replaced, because=replaced.because | set(shared))


def _can_expire(operation: CardPresent, now: Instant) -> bool:
    """Whether the deadline, if there is one, is after now and before the end of what a time can say."""
    if operation.expires_in is None:
        return True
    return 0 < operation.expires_in <= (LAST_INSTANT - now) / 1000


def _write(start: Unfolding, operation: CardPresent, superseded: Interaction | None) -> Branch:
    name, unfolding = start.issue("card")
    now = start.world.now
    if superseded is not None:
        cause = Cause(reason="superseded", superseded_by=CardId(name))
        unfolding = unfolding.move(superseded.id, InteractionEvent.INVALIDATE, cause)
    due = None if operation.expires_in is None else Instant(now + milliseconds(operation.expires_in))
    interaction = Interaction(
        id=CardId(name),
        key=operation.key,
        conversation=operation.conversation,
        kind=operation.kind,
        blocking=operation.blocking,
        case_revision=None if operation.revision_independent else start.world.revision(operation.key),
        payload=operation.payload,
        payload_hash=payload_digest(operation.payload),
        text_resolution=operation.text_resolution,
        confirms_risk=operation.confirms_risk,
        created_at=now,
        expires_at=due,
    )
    invalidated = () if superseded is None else (superseded.id,)
    unfolding = unfolding.write(interaction)
    outcome = Presented(card=view(unfolding.world.interactions[-1]), invalidated=invalidated)
    because = {"I5.3"} if superseded is not None else {"I5.9", "I5.6"} if operation.blocking else {"I5.7"}
    return branch(unfolding, outcome, *because)
