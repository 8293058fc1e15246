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
from keyturn_specs.requirement import Area, ByBranch, ByInvariant, Family, Requirement, demanded


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
        case Rejected(current_card=str(card)) if card in seen.after.cards or not seen.memory.presented_unheard:
            stored = seen.after.cards.get(card)
            due = stored is not None and stored.expires_at is not None and stored.status is InteractionStatus.EXPIRED
            if stored is not None and (stored.status in OPEN or due):
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
    if not seen.restarted:
        return None
    crashed = not isinstance(seen.operation, ops.Restart)
    for card, before in seen.before.cards.items():
        after = seen.after.cards.get(card)
        if before is None or after == before:
            continue
        # A process that crashed may have done before what it was asked to.
        moved = (
            after is not None
            and crashed
            and (after.payload, after.payload_hash) == (before.payload, before.payload_hash)
        )
        if not moved and (after is None or _settled(before) != after):
            return f"the card {card} read {before.status} before the restart and {_read(after)} after it"
    return None


def _read(view: CardView | None) -> str:
    return "nothing" if view is None else f"{view.status}, or something else about it changed,"


def _changes_beside_a_card(moment: Moment) -> bool:
    return moment.operation.changes and bool(moment.state.world.interactions)


def _changed_the_payload(seen: Observation) -> str | None:
    for card, before in seen.before.cards.items():
        after = seen.after.cards.get(card)
        if before is None or after is None:
            continue
        if (before.payload, before.payload_hash) != (after.payload, after.payload_hash):
            return f"the payload or the hash of the card {card} is not what was first displayed"
    return None


def _presents_another_card(moment: Moment) -> bool:
    return isinstance(moment.branch.outcome, Presented) and bool(moment.state.world.interactions)


def _issued_an_id_again(seen: Observation) -> str | None:
    if isinstance(seen.outcome, Presented) and seen.outcome.card.id in seen.before.cards:
        return f"the new card has the id {seen.outcome.card.id}, which another card has had"
    known = [each.id for effects in seen.after.effects.values() for each in effects]
    again = next((each for each in known if known.count(each) > 1), None)
    return None if again is None else f"two effects have the id {again}"


def _hashed_two_alike(seen: Observation) -> str | None:
    if not isinstance(seen.outcome, Presented):
        return None
    new = seen.outcome.card
    for card, view in seen.after.cards.items():
        asked = seen.asked.get(card)
        other = asked is not None and new.id in seen.asked and asked.payload != seen.asked[new.id].payload
        if view is not None and other and view.payload_hash == new.payload_hash:
            return f"the cards {card} and {new.id} store different payloads and have the same hash"
    return None


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
        id="I6.2",
        family=Family.STORED_FIRST,
        says="If the card cannot be written, no reply mentions it and the failure is reported (unavailable).",
        why="A button without a row behind it can never be pressed, and nobody learns why.",
        source="persistent interactions, Why interactions are persistent: the card exists before it is described",
        needs=frozenset({Capability.FAULTS}),
        applies=demanded("I6.2"),
        judged_by=ByBranch(frozenset({Area.REPLY, Area.CODE, Area.STATUS, Area.CARD})),
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
    Requirement(
        id="I6.5",
        family=Family.STORED_FIRST,
        says="The payload never changes after first display: one id, one hash, for ever.",
        why="A text that changes under the reader's eyes is answered for what it said before.",
        source="persistent interactions, The interaction record: the payload is immutable after first display",
        applies=_changes_beside_a_card,
        judged_by=ByInvariant(_changed_the_payload, of_many=True),
    ),
    Requirement(
        id="I6.7",
        family=Family.STORED_FIRST,
        says="An id (card, command, effect) is issued once for ever; an old click never meets a new card.",
        why="A click on a card that is gone would decide something else.",
        source="persistent interactions, The interaction record: a new interaction with a new ID",
        applies=_presents_another_card,
        judged_by=ByInvariant(_issued_an_id_again),
    ),
    Requirement(
        id="I6.8",
        family=Family.STORED_FIRST,
        says="Cards that differ anywhere in the payload, stored actions included, differ in their hash.",
        why="The hash is what proves later which card authorised a command.",
        source="persistent interactions, The interaction record: the exact card can be checked at audit time",
        applies=_presents_another_card,
        judged_by=ByInvariant(_hashed_two_alike),
    ),
)
