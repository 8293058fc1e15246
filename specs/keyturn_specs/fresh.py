"""I13, fresh: a card is bound to the revision that its content was made from.

An answer to a card that was drawn for another state of the record authorises nothing, whatever revision the client echoes.
All three are demanded by branches of the model.
"""

from keyturn import operations as ops
from keyturn.capabilities import Capability
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.table import OPEN
from keyturn_specs.observations import Moment, Observation, Race
from keyturn_specs.requirement import (
    Area,
    ByBranch,
    ByInvariant,
    ByRace,
    Family,
    Requirement,
    by_no_single_call,
    demanded,
)

_NEEDS = frozenset({Capability.REVISIONS})


def _meets_a_moved_case(moment: Moment) -> bool:
    entries = (each for each in moment.branch.happened if isinstance(each, ops.LedgerEntry))
    swept = any(each.event is InteractionEvent.INVALIDATE and each.cause.superseded_by is None for each in entries)
    return "I13.3" in moment.branch.because and (swept or isinstance(moment.operation, ops.CardRespond))


def _moves_a_case_around_an_independent_card(moment: Moment) -> bool:
    before, after = moment.state.world, moment.branch.world
    moved = {each.key for each in after.cases if before.case(each.key) not in (None, each)}
    return any(
        each.key in moved and each.case_revision is None and each.status is InteractionStatus.ACTIVE
        for each in after.interactions
    )


def _swept_an_independent_card(seen: Observation) -> str | None:
    if not isinstance(seen.operation, ops.CaseEdit | ops.CommandSettle | ops.CardRespond):
        return None
    for card, before in seen.before.cards.items():
        survives = before is not None and before.revision_independent and before.status is InteractionStatus.ACTIVE
        if survives and seen.after.status(card) == InteractionStatus.INVALIDATED:
            return f"the card {card} declares revision independence, and a change of the record invalidated it"
    return None


def _answers_while_the_record_is_edited(race: Race) -> bool:
    """Whether a card that waits is answered while its case is edited."""
    edited = {each.key for each in race.operations if isinstance(each, ops.CaseEdit)}
    waiting = (each for each in race.state.world.interactions if each.status is InteractionStatus.ACTIVE)
    return any(each.key in edited and race.responses(each.id) for each in waiting)


def _clears_a_case(moment: Moment) -> bool:
    if not isinstance(moment.operation, ops.CaseClose | ops.CardWithdraw):
        return False
    mine = (each for each in moment.state.world.interactions if each.key == moment.operation.key)
    return "I13.11" in moment.branch.because and any(each.status in OPEN for each in mine)


FRESH: tuple[Requirement, ...] = (
    Requirement(
        id="I13.1",
        family=Family.FRESH,
        says="A response whose expected_case_revision is not the bound revision is refused (stale_revision), nothing runs.",
        why="The client saw another state of the record than the card was made from; its click means something else.",
        source="persistent interactions, Revision binding and invalidation",
        needs=_NEEDS,
        applies=demanded("I13.1"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I13.2",
        family=Family.FRESH,
        says="When the case has moved on, echoing the current revision does not help: the card was drawn for another state.",
        why="A client that refreshes only the number would confirm content that nobody has read.",
        source="persistent interactions, Revision binding and invalidation: compared with both",
        needs=_NEEDS,
        applies=demanded("I13.2"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I13.3",
        family=Family.FRESH,
        says="From the moment the new revision can be read no answer to a card bound to an older one is taken; it reads "
        "Invalidated when the operation that moved the revision has answered.",
        why="A card that looks alive after an edit invites the click that must then be refused, or worse, is not.",
        source="persistent interactions, Revision binding and invalidation: moves to Invalidated",
        needs=_NEEDS,
        applies=_meets_a_moved_case,
        judged_by=ByBranch(frozenset({Area.REPLY, Area.STATUS})),
    ),
    Requirement(
        id="I13.4",
        family=Family.FRESH,
        says="A revision-independent card survives and can still be answered.",
        why="A card whose meaning does not depend on the record, such as proving identity, must not vanish under every edit.",
        source="persistent interactions, Revision binding and invalidation: revision independence",
        needs=frozenset({Capability.REVISIONS, Capability.INDEPENDENT}),
        applies=_moves_a_case_around_an_independent_card,
        judged_by=ByInvariant(_swept_an_independent_card),
    ),
    Requirement(
        id="I13.5",
        family=Family.FRESH,
        says="A command commits only against its expected revision, and otherwise fails (or is restored, by policy) as "
        "revision_conflict.",
        why="What was confirmed for one state of the record must not run on another.",
        source="persistent interactions, Revision binding and invalidation: under optimistic concurrency",
        needs=_NEEDS | {Capability.DEFERRED},
        applies=demanded("I13.5"),
        judged_by=ByBranch(frozenset({Area.REPLY, Area.STATUS, Area.EFFECTS})),
    ),
    Requirement(
        id="I13.6",
        family=Family.FRESH,
        says="Restoring a card on a case that moved does not give an answerable card: it is Invalidated, or Active and "
        "refused as stale until the next sweep.",
        why="Trying again must not turn an old question into one about the present.",
        source="persistent interactions, Revision binding and invalidation",
        needs=_NEEDS | {Capability.DEFERRED},
        applies=demanded("I13.6"),
        judged_by=ByBranch(frozenset({Area.REPLY, Area.STATUS, Area.CARD})),
    ),
    Requirement(
        id="I13.8",
        family=Family.FRESH,
        says="A click racing an edit has an outcome that some order of the two explains.",
        why="Looked at before the edit and acted on after it, an answer authorises what nobody was shown.",
        source="persistent interactions, Revision binding and invalidation: under optimistic concurrency",
        needs=_NEEDS | {Capability.PARALLEL},
        applies=by_no_single_call,
        judged_by=ByRace(_answers_while_the_record_is_edited),
    ),
    Requirement(
        id="I13.9",
        family=Family.FRESH,
        says="A commit (of a card or of a recorded decline) moves the revision.",
        why="What has changed the record has made every other question about it old.",
        source="persistent interactions, Revision binding and invalidation: when the case revision changes",
        needs=_NEEDS,
        applies=demanded("I13.9"),
        judged_by=ByBranch(frozenset({Area.REVISION})),
    ),
    Requirement(
        id="I13.10",
        family=Family.FRESH,
        says="A card is bound to the revision its content was made from; if the case has moved by the time of the write, "
        "nothing answerable is written (stale_revision).",
        why="Between reading a record and asking about it somebody may change it: the card would show what is no longer so.",
        source="persistent interactions, Revision binding and invalidation: bound to the revision of its content",
        needs=frozenset({Capability.REVISIONS, Capability.FOR_REVISION}),
        applies=demanded("I13.10"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I13.11",
        family=Family.FRESH,
        says="Closing a case invalidates its Active cards (case_closed); withdrawing them does too, the "
        "revision-independent ones included; Resolving ones are spared.",
        why="A card of a case that is over still invites a click, and a command in flight is not called back by a status.",
        source="persistent interactions, Status machine: closing a case and administrative withdrawal",
        needs=frozenset({Capability.REVISIONS, Capability.ADMINISTRATIVE}),
        applies=_clears_a_case,
        judged_by=ByBranch(),
    ),
)
