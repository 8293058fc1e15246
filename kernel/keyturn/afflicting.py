"""What an armed fault makes of an operation: which it hits, and what may come back then.

A fault replaces branches and never invents new ones: an answer that would be taken is refused as `unverifiable` or
`unavailable`, or it is taken and nobody hears of it. An operation that would change nothing may be hit or not, because the
text only says that a fault fires at the next operation that it can hit; where nothing depends on it both are admissible.
A commit that fails is a way for a command to end, and is told in `keyturn.settling`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from attrs import evolve

from keyturn import operations as ops
from keyturn.branches import Branch, Unheard, branch, refuse
from keyturn.capabilities import Capability, Claims
from keyturn.faults import CRASHES, OF_A_CARD, Armed, FaultKind
from keyturn.responses import RefusalCode, Rejected, named_card
from keyturn.world import TAKES, Unfolding, World

Rule: TypeAlias = Callable[..., Iterator[Branch]]
"""The rule of one operation: from a world, the operation and the claims to its branches."""

_WRITES = (ops.CardPresent, ops.CardRespond, ops.CardDismiss, ops.CommandSettle, ops.CaseEdit)
_CHANGES = (*_WRITES, ops.CaseClose, ops.CardWithdraw, ops.CardExpireDue)

_HITS: Mapping[FaultKind, tuple[type[ops.Operation], ...]] = {
    **dict.fromkeys(OF_A_CARD, (ops.CardRespond, ops.CardDismiss)),
    FaultKind.WRITE_FAILS: _WRITES,
    **dict.fromkeys((FaultKind.REPLY_LOST, *CRASHES), _CHANGES),
}
"""Which operations a fault can hit; reads, and what only the suite does (`clock.advance`, `restart`), are spared."""

_DEMANDS: Mapping[FaultKind, str] = {
    FaultKind.OWNERSHIP_UNREADABLE: "I19.2",
    FaultKind.REVISION_UNREADABLE: "I19.3",
    FaultKind.PAYLOAD_CORRUPT: "I19.4",
}

_SHAPE = frozenset({RefusalCode.MALFORMED, RefusalCode.NOT_FOUND})
_BEFORE_REVISION = _SHAPE | {RefusalCode.NOT_ANSWERABLE, RefusalCode.EXPIRED, RefusalCode.UNKNOWN_OPTION}
_REACHED_BEFORE: Mapping[FaultKind, frozenset[RefusalCode]] = {
    FaultKind.OWNERSHIP_UNREADABLE: _SHAPE,
    FaultKind.REVISION_UNREADABLE: _BEFORE_REVISION,
    FaultKind.PAYLOAD_CORRUPT: _BEFORE_REVISION | {RefusalCode.STALE_REVISION},
}
"""The refusals of the checks that come before the one that cannot be made."""


def afflicted(rule: Rule, world: World, operation: ops.Operation, claims: Claims) -> Iterator[Branch]:
    """Return what may happen, with the first armed fault that can hit this operation."""
    armed = next((each for each in world.armed if _can_hit(each, operation)), None)
    if armed is None:
        told = []
        for each in rule(world, operation, claims):
            told.append(each)
            yield each
        yield from _no_commit_to_fail(operation, claims, told)
        return
    usual = tuple(rule(world, operation, claims))
    later = tuple(rule(world.disarmed(armed), operation, claims))
    if armed.fault in OF_A_CARD:
        yield from _not_checked(armed, world, claims, usual, later)
    elif armed.fault is FaultKind.WRITE_FAILS:
        yield from _not_written(armed, world, operation, claims, usual, later)
    else:
        yield from _not_heard(armed, world, usual, later)


def _can_hit(armed: Armed, operation: ops.Operation) -> bool:
    if not isinstance(operation, _HITS.get(armed.fault, ())):
        return False
    match operation:
        case ops.CardRespond() if armed.fault in OF_A_CARD:
            return armed.card is not None and named_card(operation.response) == armed.card
        case ops.CardDismiss() if armed.fault in OF_A_CARD:
            return operation.card == armed.card
        case _:
            return True


def _is_taken(each: Branch) -> bool:
    return any(isinstance(entry, ops.LedgerEntry) and entry.event in TAKES for entry in each.happened)


def _no_commit_to_fail(operation: ops.Operation, claims: Claims, usual: Sequence[Branch]) -> Iterator[Branch]:
    """A fault of a commit may be used up where nothing was to commit: a command that failed by itself reads the same."""
    if not isinstance(operation, ops.CommandSettle if Capability.DEFERRED in claims else ops.CardRespond):
        return
    for each in usual:
        spare = next((armed for armed in each.world.armed if armed.fault is FaultKind.COMMIT_FAILS), None)
        if spare is not None:
            yield evolve(each, world=each.world.disarmed(spare))


def _not_checked(
    armed: Armed, world: World, claims: Claims, usual: tuple[Branch, ...], later: tuple[Branch, ...]
) -> Iterator[Branch]:
    """Nothing is taken; what the checks before would say, or what any failing check says, may be said instead.

    Ownership comes first: while it cannot be read that may be said to anybody, and where it can a stranger hears nothing of
    what cannot be read of somebody else's card (I19.1). Where no revision is compared none has to be read.
    """
    of_the_owner = armed.fault is FaultKind.OWNERSHIP_UNREADABLE
    ordered = Capability.ORDERED_CHECKS in claims or of_the_owner
    unneeded = armed.fault is FaultKind.REVISION_UNREADABLE and not _compares_revisions(armed, world, claims)

    def is_before(each: Branch) -> bool:
        if isinstance(each.outcome, Rejected):
            return each.outcome.code in _REACHED_BEFORE[armed.fault]
        return not of_the_owner and not _is_taken(each)

    is_reached = not ordered or any(not is_before(each) for each in usual)
    if is_before(usual[0]):
        yield usual[0]
    if of_the_owner or (is_reached and not any(map(_is_for_a_stranger, usual))):
        yield refuse(Unfolding(world.disarmed(armed)), RefusalCode.UNVERIFIABLE, _DEMANDS[armed.fault])
    for each in (*usual, *later):
        if unneeded or is_before(each) or (not ordered and isinstance(each.outcome, Rejected)):
            yield each


def _compares_revisions(armed: Armed, world: World, claims: Claims) -> bool:
    card = None if armed.card is None else world.interaction(armed.card)
    return Capability.REVISIONS in claims and card is not None and card.case_revision is not None


def _is_for_a_stranger(each: Branch) -> bool:
    return isinstance(each.outcome, Rejected) and each.outcome.code is RefusalCode.NOT_FOUND


def _changes(world: World, each: Branch) -> bool:
    return bool(each.happened) or evolve(each.world, armed=()) != evolve(world, armed=())


def _not_written(
    armed: Armed,
    world: World,
    operation: ops.Operation,
    claims: Claims,
    usual: tuple[Branch, ...],
    later: tuple[Branch, ...],
) -> Iterator[Branch]:
    """What would change something is `unavailable`, and nothing happened (I6.2); what changes nothing may go on."""
    demands = {"I6.2"} if isinstance(operation, ops.CardPresent) else {"L3", "I19.8"}
    failed = refuse(Unfolding(world.disarmed(armed)), RefusalCode.UNAVAILABLE, *demands)
    if _changes(world, usual[0]):
        yield failed
    yield from (each for each in (*usual, *later) if not _changes(world, each))
    first = usual[0].outcome
    dominated = isinstance(first, Rejected) and first.code in _SHAPE
    # Where there are two readings of what was sent, the second one may be what was to be written.
    if any(_changes(world, each) for each in usual[1:]) or (Capability.ORDERED_CHECKS not in claims and not dominated):
        yield failed


def _not_heard(armed: Armed, world: World, usual: tuple[Branch, ...], later: tuple[Branch, ...]) -> Iterator[Branch]:
    """It happened, or the process ended before it did, and nobody hears which; what changes nothing may be spared."""
    unheard: list[Branch] = []
    if armed.fault is FaultKind.CRASH_BEFORE_COMMIT:
        nothing = branch(Unfolding(world.disarmed(armed)), Unheard(armed.fault, None), "I14.6")
        unheard = [nothing]
    else:
        unheard = [
            evolve(each, outcome=Unheard(armed.fault, each.outcome), because=each.because | {"I14.6"})
            for each in later
            if not isinstance(each.outcome, Unheard)
        ]
    if not _changes(world, usual[0]):
        yield from usual
    yield from unheard
    yield from (each for each in (*usual, *later) if not _changes(world, each))
