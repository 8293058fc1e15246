"""I19, closed: a check that fails, or cannot be made, lets nothing through and tells a stranger nothing.

A refusal is not an event: apart from a card that the text itself lets end, everything reads as it did before.
"""

from keyturn import operations as ops
from keyturn.capabilities import Capability
from keyturn.responses import Rejected, Resolved
from keyturn.status import InteractionStatus
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import addressed, answered_card, effects_of, newly_decided, refuses
from keyturn_specs.requirement import Area, ByBranch, ByInvariant, Family, Requirement, demanded

_MAY_END = (InteractionStatus.EXPIRED, InteractionStatus.INVALIDATED)


def _stranger_asks(moment: Moment) -> bool:
    return "I19.1" in moment.branch.because and addressed(moment) is not None


def _refused_and_changed(seen: Observation) -> str | None:
    if not isinstance(seen.outcome, Rejected):
        return None
    before, after = seen.before, seen.after
    for effect in seen.new_effects():
        return f"the operation was refused and the effect {effect.id} appeared"
    ended = set()
    for card, view in before.cards.items():
        now = after.status(card)
        if view is None or now == view.status:
            continue
        if view.status is not InteractionStatus.ACTIVE or now not in _MAY_END:
            return f"the operation was refused and the card {card} went from {view.status} to {now or 'not found'}"
        ended.add(card)
    for key, revision in before.revisions.items():
        if after.revisions.get(key) != revision:
            return f"the operation was refused and the case {key.case} went from revision {revision} to another"
    for owner, cards in after.lists.items():
        appeared = {each.id for each in cards} - {each.id for each in before.lists.get(owner, ())}
        if appeared:
            return f"the operation was refused and the card {min(appeared)} appeared"
    for entry in seen.new_entries():
        if entry.card not in ended:
            return f"the operation was refused and the ledger says {entry.event} of the card {entry.card}"
    return None


def _answers_or_refuses(moment: Moment) -> bool:
    outcome = moment.branch.outcome
    return moment.operation.changes and isinstance(outcome, Rejected | Resolved) and addressed(moment) is not None


def _said_otherwise_than_it_did(seen: Observation) -> str | None:
    new = next(seen.new_effects(), None)
    if isinstance(seen.outcome, Rejected) and new is not None:
        return f"the answer is a refusal, and the effect {new.id} stands behind it"
    if seen.failed and new is not None:
        return f"the operation is said to have failed for good, and the effect {new.id} stands behind it"
    if isinstance(seen.outcome, Resolved) and seen.outcome.result.command is not None:
        card = seen.outcome.result.card
        if not effects_of(seen.after, card):
            return f"the answer says that the command of {card} is done, and no effect stands behind it"
    return None


_AUTOMATIC = (ops.CaseOpen, ops.CaseEdit, ops.ClockAdvance, ops.CardExpireDue, ops.Restart)


def _nobody_answers(moment: Moment) -> bool:
    waiting = any(each.status is InteractionStatus.ACTIVE for each in moment.state.world.interactions)
    return isinstance(moment.operation, _AUTOMATIC) and waiting


def _acted_on_its_own(seen: Observation) -> str | None:
    if not isinstance(seen.operation, _AUTOMATIC) and not seen.restarted:
        return None
    for card, after in newly_decided(seen):
        # A process that crashed may have taken before what it was asked to take.
        if card == answered_card(seen) or (isinstance(seen.operation, ops.CardDismiss) and seen.operation.card == card):
            continue
        return f"nobody answered the card {card} in this step, and it went to {after}"
    return None


_FAILS_CLOSED = "persistent interactions, What the client may send: any check that cannot be performed fails closed"
_UNCHECKED = ByBranch(frozenset({Area.REPLY, Area.CODE, Area.STATUS, Area.EFFECTS}))

CLOSED: tuple[Requirement, ...] = (
    Requirement(
        id="I19.1",
        family=Family.CLOSED,
        says="A foreign account or conversation gets exactly what an id that never existed gets: same code, same shape, "
        "no hint.",
        why="An answer that a stranger can give, or a refusal that tells a stranger what exists, is a breach.",
        source="persistent interactions, What the client may send: verifies ownership by account and conversation",
        needs=frozenset({Capability.OWNERS}),
        applies=_stranger_asks,
        judged_by=ByBranch(frozenset({Area.REPLY, Area.CODE, Area.STATUS})),
    ),
    Requirement(
        id="I19.2",
        family=Family.CLOSED,
        says="Ownership that cannot be checked: unverifiable, nothing runs.",
        why="When nobody can say whose card it is, anybody could be answering it.",
        source=_FAILS_CLOSED,
        needs=frozenset({Capability.FAULTS}),
        applies=demanded("I19.2"),
        judged_by=_UNCHECKED,
    ),
    Requirement(
        id="I19.3",
        family=Family.CLOSED,
        says="A revision that cannot be read: unverifiable, nothing runs.",
        why="When nobody can say what the record is now, the answer may be to what it was.",
        source=_FAILS_CLOSED,
        needs=frozenset({Capability.FAULTS, Capability.REVISIONS}),
        applies=demanded("I19.3"),
        judged_by=_UNCHECKED,
    ),
    Requirement(
        id="I19.4",
        family=Family.CLOSED,
        says="Anything else that a check needs and that cannot be read, and a payload that no longer matches its hash: "
        "unverifiable, nothing runs.",
        why="A card whose content was changed behind the server's back asks something that nobody wrote.",
        source=_FAILS_CLOSED,
        needs=frozenset({Capability.FAULTS}),
        applies=demanded("I19.4"),
        judged_by=_UNCHECKED,
    ),
    Requirement(
        id="I19.5",
        family=Family.CLOSED,
        says="An overdue card is refused (expired) even if no sweep has run.",
        why="A deadline that only a sweep enforces is as late as the sweep.",
        source="persistent interactions, Error outcomes: an expired card",
        needs=frozenset({Capability.CLOCK}),
        applies=demanded("I19.5"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I19.6",
        family=Family.CLOSED,
        says="A malformed response (missing, null, wrong type, boolean for integer, empty id, fractional number) is refused, "
        "nothing runs and the system goes on.",
        why="What cannot be read must not be guessed.",
        source="persistent interactions, What the client may send: the InteractionResponse structure",
        applies=demanded("I19.6"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I19.7",
        family=Family.CLOSED,
        says="An empty account, conversation or owner is refused or is an owner like any other; it never means anyone.",
        why="Metadata that is missing has let strangers in before.",
        source="persistent interactions, What the client may send: verifies ownership by account and conversation",
        needs=frozenset({Capability.OWNERS}),
        applies=demanded("I19.7"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I19.8",
        family=Family.CLOSED,
        says="A refusal leaves the system as it was, save for the transitions that the text names (expire, invalidate): "
        "same statuses, effects, revision and events.",
        why="A refusal that wrote something before the check has already acted.",
        source="persistent interactions, What the client may send: any check that cannot be performed fails closed",
        applies=refuses,
        judged_by=ByInvariant(_refused_and_changed),
    ),
    Requirement(
        id="I19.9",
        family=Family.CLOSED,
        says="A refusal, or an error that is definite, has no effect behind it; a success of an authorising option has one.",
        why="An error with a payment behind it is paid again by whoever believes the error.",
        source="persistent interactions, Status machine: never renders a receipt for a command that did not happen",
        applies=_answers_or_refuses,
        judged_by=ByInvariant(_said_otherwise_than_it_did),
    ),
    Requirement(
        id="I19.10",
        family=Family.CLOSED,
        says="A refused answer is forgotten: no later operation makes it act.",
        why="An answer that was refused when it was given must not be found in a queue afterwards.",
        source="persistent interactions, What the client may send: any check that cannot be performed fails closed",
        applies=_nobody_answers,
        judged_by=ByInvariant(_acted_on_its_own),
    ),
)
