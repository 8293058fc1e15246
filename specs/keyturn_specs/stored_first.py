"""I6, stored first: a card exists before anything mentions it, and it outlives the process that wrote it.

Both are judged on what the owner of the card can read, at the moment of the offer and after a restart.
"""

from attrs import evolve

from keyturn import operations as ops
from keyturn.capabilities import Capability
from keyturn.cards import CardView
from keyturn.responses import Presented, Rejected
from keyturn.status import InteractionStatus
from keyturn.table import OPEN
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.requirement import ByInvariant, Family, Requirement


def _offers_a_card(moment: Moment) -> bool:
    outcome = moment.branch.outcome
    return isinstance(outcome, Presented) or (isinstance(outcome, Rejected) and outcome.current_card is not None)


def _offered_and_not_readable(seen: Observation) -> str | None:
    match seen.outcome:
        case Presented(card=offered):
            stored = seen.after.cards.get(offered.id)
            if stored is not None and stored.status in OPEN:
                same = (stored.payload, stored.payload_hash) == (offered.payload, offered.payload_hash)
                return None if same else f"the card {offered.id} was offered with another payload or hash than it reads"
        case Rejected(current_card=str(card)):
            stored = seen.after.cards.get(card)
            if stored is not None and stored.status in OPEN:
                return None
            offered_id = f"the card {card} was named as the current one"
            return f"{offered_id}, and its owner reads {'nothing' if stored is None else stored.status}"
        case _:
            return None
    return f"the card {offered.id} was offered, and its owner reads {'nothing' if stored is None else stored.status}"


def _restarts_with_cards(moment: Moment) -> bool:
    return isinstance(moment.operation, ops.Restart) and bool(moment.state.world.interactions)


def _settled(view: CardView) -> CardView:
    overdue = view.status is InteractionStatus.ACTIVE and view.expires_at is not None
    return evolve(view, status=InteractionStatus.EXPIRED) if overdue else view


def _forgotten_by_a_restart(seen: Observation) -> str | None:
    if not isinstance(seen.operation, ops.Restart):
        return None
    for card, before in seen.before.cards.items():
        after = seen.after.cards.get(card)
        if before is not None and after != before and (after is None or _settled(before) != after):
            return f"the card {card} read {before.status} before the restart and {_read(after)} after it"
    return None


def _read(view: CardView | None) -> str:
    return "nothing" if view is None else f"{view.status}, or something else about it changed,"


STORED_FIRST: tuple[Requirement, ...] = (
    Requirement(
        id="I6.1",
        family=Family.STORED_FIRST,
        says="Every card that a reply offers can be read by its owner at that moment, open, with the same payload and hash.",
        why='"I have prepared the confirmation below" about a row that does not exist leaves the user with a dead button.',
        source="persistent interactions, Why interactions are persistent: the card exists before it is described",
        applies=_offers_a_card,
        judged_by=ByInvariant(_offered_and_not_readable),
    ),
    Requirement(
        id="I6.3",
        family=Family.STORED_FIRST,
        says="After a restart every card that was ever offered reads back with the same id, payload, hash, options and status.",
        why="A pending approval that a deployment forgets can never be given, and a forgotten answer can be given twice.",
        source="persistent interactions, Why interactions are persistent: a decision survives reloads, retries and time",
        needs=frozenset({Capability.RESTART}),
        applies=_restarts_with_cards,
        judged_by=ByInvariant(_forgotten_by_a_restart),
    ),
)
