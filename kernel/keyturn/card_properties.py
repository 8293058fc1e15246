"""What holds of the card world, wherever one can get to: the invariants of the catalogue that need no observer.

Each is named for the requirement that demands it. They say of states and of single steps what the catalogue says of what can
be observed, so that exploration finds a hole in the rules themselves, before any system is asked.
"""

from collections.abc import Mapping

from keyturn.branches import Unheard
from keyturn.card_world import Happening
from keyturn.explore import Always, Each, Eventually, Property, Sometimes
from keyturn.faults import FaultKind
from keyturn.operations import CommandSettle, Effect, LedgerEntry
from keyturn.responses import Accepted, Declined, Dismissed, Rejected
from keyturn.status import UNWRITTEN, InteractionStatus
from keyturn.table import OPEN, STATUS_TABLE, TERMINAL
from keyturn.values import CardId
from keyturn.world import World

S = InteractionStatus


def _one_question(world: World) -> bool:
    taken = [each.key for each in world.interactions if each.blocking and each.status in OPEN]
    return len(taken) == len(set(taken))


def _one_command_in_flight(world: World) -> bool:
    in_flight = [each.card for each in world.commands if each.settlement is None]
    return sorted(in_flight) == sorted(each.id for each in world.interactions if each.status is S.RESOLVING)


def _statuses(world: World) -> Mapping[CardId, InteractionStatus]:
    return {each.id: each.status for each in world.interactions}


def _along_the_table(before: World, happening: Happening, after: World) -> bool:
    """The entries of the step lead each card from what it was to what it is, and each entry is a row of the table."""
    status: dict[CardId, InteractionStatus | None] = dict(_statuses(before))
    for each in happening.branch.happened:
        if isinstance(each, LedgerEntry):
            row = STATUS_TABLE.rows[each.from_status or UNWRITTEN]
            if status.get(each.card) is not each.from_status or row.get(each.event) != each.to_status:
                return False
            status[each.card] = each.to_status
    return status == _statuses(after)


def _ended_stays_ended(before: World, happening: Happening, after: World) -> bool:
    now = _statuses(after)
    return all(now.get(card) is status for card, status in _statuses(before).items() if status in TERMINAL)


def _effects(happening: Happening) -> list[Effect]:
    return [each for each in happening.branch.happened if isinstance(each, Effect)]


def _runs_once(before: World, happening: Happening, after: World) -> bool:
    """An effect is of a card that was in flight and is now Resolved; there is one, and only its settlement brings it."""
    effects, came, now = _effects(happening), _statuses(before), _statuses(after)
    return len(effects) <= 1 and all(
        isinstance(happening.operation, CommandSettle)
        and (came[each.card], now[each.card]) == (S.RESOLVING, S.RESOLVED)
        for each in effects
    )


def _no_success_without_an_effect(before: World, happening: Happening, after: World) -> bool:
    came, now = _statuses(before), _statuses(after)
    resolved = [card for card in now if now[card] is S.RESOLVED and came.get(card) is not S.RESOLVED]
    return len(resolved) == len(_effects(happening))


def _refused_changes_nothing(before: World, happening: Happening, after: World) -> bool:
    """A refusal runs nothing; at most it finds a card that time or the record has ended (L7, I13.3)."""
    if not isinstance(happening.branch.outcome, Rejected):
        return True
    came, now = _statuses(before), _statuses(after)
    moved = {now[card] for card in now if now[card] is not came.get(card)}
    return not _effects(happening) and moved <= {S.EXPIRED, S.INVALIDATED}


def _taken_while_fresh(before: World, happening: Happening, after: World) -> bool:
    """Only a card that is Active, in time and of the current revision is answered."""
    if not isinstance(happening.branch.outcome, Accepted | Declined | Dismissed):
        return True
    now = _statuses(after)
    return all(
        each.status is S.ACTIVE
        and not each.overdue(before.now)
        and each.case_revision in (None, before.revision(each.key))
        for each in before.interactions
        if each.status is not now[each.id] and now[each.id] in (S.RESOLVING, S.DECLINED, S.DISMISSED)
    )


def _before_the_commit_is_never(before: World, happening: Happening, after: World) -> bool:
    """What failed to be written, or ended before it was, did not happen."""
    unwritten = happening.fault in (FaultKind.CRASH_BEFORE_COMMIT, FaultKind.WRITE_FAILS)
    heard = not isinstance(happening.branch.outcome, Unheard) and happening.fault is FaultKind.CRASH_BEFORE_COMMIT
    return not unwritten or heard or not _effects(happening)


def _reaches(status: InteractionStatus) -> Sometimes[World]:
    return Sometimes(
        name=f"possible: a card is {status}",
        holds=lambda world: any(each.status is status for each in world.interactions),
    )


def safety() -> tuple[Property[World, Happening], ...]:
    """What must hold in every state and in every step, and what must be possible."""
    return (
        Always(name="I5.1: one open question a case", holds=_one_question),
        Always(
            name="I14.3: one command in flight for a card that waits, and none for any other",
            holds=_one_command_in_flight,
        ),
        Each(name="L1: a status changes along the table", holds=_along_the_table),
        Each(name="L2: what has ended stays as it is", holds=_ended_stays_ended),
        Each(name="I14.1: what was decided runs once, and only when it commits", holds=_runs_once),
        Each(name="L9: no success without an effect", holds=_no_success_without_an_effect),
        Each(name="I7.9: a refusal runs nothing", holds=_refused_changes_nothing),
        Each(name="I13.1, I19.5: only a fresh card is answered", holds=_taken_while_fresh),
        Each(name="I6.2, I14.6: what was not written did not happen", holds=_before_the_commit_is_never),
        *(_reaches(each) for each in InteractionStatus),
    )


FIRST = CardId("card-1")


def _waits(world: World) -> bool:
    return any(each.status is S.RESOLVING and each.id == FIRST for each in world.interactions)


def _ends_the_wait(happening: Happening) -> bool:
    moved = (each for each in happening.branch.happened if isinstance(each, LedgerEntry))
    return any(each.card == FIRST and each.from_status is S.RESOLVING for each in moved)


def liveness() -> tuple[Property[World, Happening], ...]:
    """What must happen at last; it cannot be judged where cards change places."""
    return (
        Eventually(
            name="L3: the first card does not wait for its command for ever, if commands end",
            after=_waits,
            holds=lambda world: not _waits(world),
            fair=(_ends_the_wait,),
        ),
    )
