"""What may happen: for every world and operation, the branches that the text admits, in the order of the text.

This is the one definition of the contract. The reference store takes the first branch and every "must" literally; the
oracle keeps every world that still explains what a system did; exploration walks all of them. Each branch names the
requirements that demand it, so that a difference can be blamed. Reads of history are answered in `keyturn.store`.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from attrs import evolve

from keyturn import operations as ops
from keyturn.afflicting import afflicted
from keyturn.answering import dismiss, owned, respond
from keyturn.branches import Branch, branch, refuse
from keyturn.capabilities import Claims
from keyturn.cards import view
from keyturn.faults import OF_A_CARD, Armed
from keyturn.presenting import present
from keyturn.responses import Found, RefusalCode
from keyturn.settling import settle
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.table import OPEN
from keyturn.values import LAST_INSTANT, CardId, Instant, Untrusted, milliseconds
from keyturn.wire import is_sendable_operation
from keyturn.world import Case, Settlement, Unfolding, World


def _reset(world: World, operation: ops.Reset, claims: Claims) -> Iterator[Branch]:
    yield branch(Unfolding(World(now=operation.now, issued=world.issued, table=world.table)), ops.Done(), "I6.7")


def _open(world: World, operation: ops.CaseOpen, claims: Claims) -> Iterator[Branch]:
    if world.case(operation.key) is None:
        world = evolve(world, cases=(*world.cases, Case(key=operation.key)))
    opened = Unfolding(world).close(operation.key, closed=False)
    yield branch(opened, ops.CaseOpened(revision=world.revision(operation.key)), "L2")


def _edit(world: World, operation: ops.CaseEdit, claims: Claims) -> Iterator[Branch]:
    start, case = Unfolding(world), world.case(operation.key)
    if case is not None:
        unfolding = start.advance(operation.key).sweep(operation.key)
        swept = _moved(unfolding)
        edited = ops.CaseEdited(revision=unfolding.world.revision(operation.key), invalidated=swept)
        yield branch(unfolding, edited, "I13.3")
    if case is None or case.closed:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1")


def _moved(unfolding: Unfolding) -> tuple[CardId, ...]:
    return tuple(each.card for each in unfolding.happened if isinstance(each, ops.LedgerEntry))


def _close(world: World, operation: ops.CaseClose, claims: Claims) -> Iterator[Branch]:
    return _clear(world, operation, ops.Cause(reason="case_closed"), closed=True)


def _withdraw(world: World, operation: ops.CardWithdraw, claims: Claims) -> Iterator[Branch]:
    return _clear(world, operation, ops.Cause(reason="administrative", code=operation.code), closed=False)


def _clear(world: World, operation: ops.CaseOperation, cause: ops.Cause, *, closed: bool) -> Iterator[Branch]:
    """Invalidate the Active cards of a case; a closed case may be as good as none to whoever asks for more (I13.11)."""
    start, case = Unfolding(world), world.case(operation.key)
    if case is not None:
        unfolding = start.invalidate(operation.key, cause).close(operation.key, closed=closed or case.closed)
        yield branch(unfolding, ops.CardsInvalidated(invalidated=_moved(unfolding)), "I13.11")
    if case is None or case.closed:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1")


def _get(world: World, operation: ops.CardGet, claims: Claims) -> Iterator[Branch]:
    start = Unfolding(world)
    interaction = world.interaction(operation.card)
    if owned(world, operation.card, operation.account, operation.conversation) is None:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1")
    if interaction is not None and interaction.key.account == operation.account:
        yield branch(start, Found(card=view(interaction)), "I6.1", "I6.5")


def _list(world: World, operation: ops.CardList, claims: Claims) -> Iterator[Branch]:
    mine = (
        view(each)
        for each in world.interactions
        if (each.key.account, each.conversation) == (operation.account, operation.conversation) and each.status in OPEN
    )
    yield branch(Unfolding(world), ops.Cards(cards=tuple(mine)), "L8")


def _expire_due(world: World, operation: ops.CardExpireDue, claims: Claims) -> Iterator[Branch]:
    due = tuple(each.id for each in world.overdue())
    unfolding = Unfolding(world)
    for card in due:
        unfolding = unfolding.move(card, InteractionEvent.EXPIRE)
    yield branch(unfolding, ops.CardsExpired(expired=due), "L7")


def _advance(world: World, operation: ops.ClockAdvance, claims: Claims) -> Iterator[Branch]:
    if not 0 < operation.seconds <= (LAST_INSTANT - world.now) / 1000:
        yield refuse(Unfolding(world), RefusalCode.MALFORMED, "I19.6")
        return
    now = Instant(world.now + milliseconds(operation.seconds))
    yield branch(Unfolding(evolve(world, now=now)), ops.ClockAdvanced(now=now), "L7")


def _next(world: World, operation: ops.CommandNext, claims: Claims) -> Iterator[Branch]:
    following = Settlement(result=operation.result, on_failure=operation.on_failure)
    yield branch(Unfolding(evolve(world, next_settlement=following)), ops.Done(), "L3")


def _export(world: World, operation: ops.StateExport, claims: Claims) -> Iterator[Branch]:
    """What a host keeps is for a card that is still open; of one that has ended there may be nothing to keep."""
    start = Unfolding(world)
    interaction = owned(world, operation.card, operation.account, operation.conversation)
    if interaction is None:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1")
        return
    kept = {"card": interaction.id, "payload_hash": interaction.payload_hash}
    yield branch(start, ops.Exported(state=Untrusted(kept)), "I14.8")
    if interaction.status not in OPEN:
        yield refuse(start, RefusalCode.NOT_ANSWERABLE, "L2")
        yield refuse(start, RefusalCode.NOT_FOUND, "L2")


def _import(world: World, operation: ops.StateImport, claims: Claims) -> Iterator[Branch]:
    """The card is the server's: restoring what a host kept of it neither makes it nor moves it (I14.8)."""
    start, kept = Unfolding(world), operation.state
    card = kept.get("card") if isinstance(kept, Mapping) else None
    interaction = world.interaction(card) if isinstance(card, str) else None
    if interaction is None or not isinstance(kept, Mapping) or kept.get("payload_hash") != interaction.payload_hash:
        for code in (RefusalCode.MALFORMED, RefusalCode.NOT_FOUND, RefusalCode.UNVERIFIABLE):
            yield refuse(start, code, "I19.4")
        return
    yield branch(start, ops.Done(), "I14.8", "L2")
    if interaction.status is not InteractionStatus.ACTIVE:
        yield refuse(start, RefusalCode.NOT_ANSWERABLE, "L2")


def _arm(world: World, operation: ops.FaultArm, claims: Claims) -> Iterator[Branch]:
    """Arm a fault; one that hits the response to a card must say to which."""
    start = Unfolding(world)
    if operation.card is None and operation.fault in OF_A_CARD:
        yield refuse(start, RefusalCode.MALFORMED, "I19.6")
        return
    if operation.card is not None and world.interaction(operation.card) is None:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1")
        return
    card = operation.card if operation.fault in OF_A_CARD else None
    armed = Armed(fault=operation.fault, card=card)
    yield branch(Unfolding(evolve(world, armed=(*world.armed, armed))), ops.Done(), "I7.9")


def _restart(world: World, operation: ops.Restart, claims: Claims) -> Iterator[Branch]:
    yield branch(Unfolding(world), ops.Done(), "I6.3")


RULES: Mapping[type[ops.Operation], Callable[..., Iterator[Branch]]] = {
    ops.Reset: _reset,
    ops.CaseOpen: _open,
    ops.CaseEdit: _edit,
    ops.CaseClose: _close,
    ops.CardPresent: present,
    ops.CardGet: _get,
    ops.CardList: _list,
    ops.CardRespond: respond,
    ops.CardDismiss: dismiss,
    ops.CardWithdraw: _withdraw,
    ops.CardExpireDue: _expire_due,
    ops.ClockAdvance: _advance,
    ops.CommandSettle: settle,
    ops.CommandNext: _next,
    ops.StateExport: _export,
    ops.StateImport: _import,
    ops.Restart: _restart,
    ops.FaultArm: _arm,
}
"""The rule of each operation; reads of history have none."""

MOST_LAZY_CARDS = 4
"""How many overdue cards are told apart when a lazy sweep may have reached any of them; past it: one, all or none."""


def admissible(world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
    """Return everything that may happen when this operation meets this world; the first branch is the reference's.

    `claims` are what the system says of itself: they decide whether checks are ordered, answers are replayed and
    commands are deferred. Never empty; raises `KeyError` for an operation that reads history.
    """
    return tuple(branches_of(world, operation, claims))


def branches_of(world: World, operation: ops.Operation, claims: Claims) -> Iterator[Branch]:
    """Return what is admissible one after the other, for who wants the first alone: the others are not worked out."""
    rule = RULES[type(operation)]
    if not is_sendable_operation(operation):
        yield refuse(Unfolding(world), RefusalCode.MALFORMED, "I19.6")
        return
    yield from afflicted(rule, world, operation, claims)
    for start in () if isinstance(operation, ops.Reset) else lazily_expired(world):
        for each in afflicted(rule, start.world, operation, claims):
            yield evolve(each, happened=(*start.happened, *each.happened))
    yield from _refused_as_nobody(world, operation)


def _refused_as_nobody(world: World, operation: ops.Operation) -> Iterator[Branch]:
    """An empty account or conversation may be refused wherever it would write something: it need not be an owner (I19.7)."""
    nobody = "" in (getattr(operation, "account", None), getattr(operation, "conversation", None))
    if nobody and isinstance(operation, ops.CardPresent | ops.CaseOpen):
        for code in (RefusalCode.MALFORMED, RefusalCode.NOT_FOUND, RefusalCode.INVALID_CARD):
            yield refuse(Unfolding(world), code, "I19.7")


def lazily_expired(world: World) -> Iterator[Unfolding]:
    """Return what a sweep of the system's own may have done: any operation may find an overdue card Expired (L7)."""
    overdue = world.overdue()
    sizes = range(1, len(overdue) + 1) if len(overdue) <= MOST_LAZY_CARDS else (1, len(overdue))
    for size in sizes:
        for chosen in combinations(overdue, size):
            unfolding = Unfolding(world)
            for each in chosen:
                unfolding = unfolding.move(each.id, InteractionEvent.EXPIRE)
            yield unfolding
