"""I19, closed: a check that fails, or cannot be made, lets nothing through and tells a stranger nothing.

A refusal is not an event: apart from a card that the text itself lets end, everything reads as it did before.
"""

from keyturn.capabilities import Capability
from keyturn.responses import Rejected
from keyturn.status import InteractionStatus
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import addressed
from keyturn_specs.requirement import ByBranch, ByInvariant, Family, Requirement

_MAY_END = (InteractionStatus.EXPIRED, InteractionStatus.INVALIDATED)


def _stranger_asks(moment: Moment) -> bool:
    return "I19.1" in moment.branch.because and addressed(moment) is not None


def _refuses(moment: Moment) -> bool:
    return isinstance(moment.branch.outcome, Rejected) and moment.operation.changes


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
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I19.8",
        family=Family.CLOSED,
        says="A refusal leaves the system as it was, save for the transitions that the text names (expire, invalidate): "
        "same statuses, effects, revision and events.",
        why="A refusal that wrote something before the check has already acted.",
        source="persistent interactions, What the client may send: any check that cannot be performed fails closed",
        applies=_refuses,
        judged_by=ByInvariant(_refused_and_changed),
    ),
)
