"""A store that a system could be: the world, its history, and the reference that takes the first branch.

History is what branches emit: the effects in commit order and the ledger in order. Nothing in the future depends on it,
so it lives beside the world and not in it; reads of history are answered here. `possibilities` is the whole contract of
one operation, and the reference store and the oracle both stand on it.
"""

from collections.abc import Iterator

from attrs import evolve, field, frozen

from keyturn.admissible import admissible, branches_of, lazily_expired
from keyturn.branches import Branch, Outcome, Unheard
from keyturn.capabilities import ALL_CLAIMS, Claims
from keyturn.errors import Crashed, OperationFailed
from keyturn.faults import CRASHES
from keyturn.handshake import describe
from keyturn.operations import (
    NOTHING_COUNTED,
    Effect,
    Effects,
    Ledger,
    LedgerEntry,
    Metrics,
    Operation,
    ReadEffects,
    ReadLedger,
    ReadMetrics,
    Reset,
)
from keyturn.port import OperationMethods
from keyturn.responses import RefusalCode, Rejected
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import CaseKey, Json
from keyturn.version import VERSION
from keyturn.world import World


def counted(happened: tuple[LedgerEntry | Effect, ...], outcome: Outcome | Unheard | None) -> Metrics:
    """Return what one operation adds to the counters, heard or not; a restore counts nowhere (E3)."""
    entries = [each for each in happened if isinstance(each, LedgerEntry)]
    answer = outcome.answer if isinstance(outcome, Unheard) else outcome
    stale = isinstance(answer, Rejected) and answer.code is RefusalCode.STALE_REVISION
    if not entries and not stale:
        return NOTHING_COUNTED
    return Metrics(
        created=sum(each.event is InteractionEvent.PRESENT for each in entries),
        resolved=sum(each.to_status is InteractionStatus.RESOLVED for each in entries),
        stale=int(stale),
        failed=sum(each.to_status is InteractionStatus.FAILED for each in entries),
    )


@frozen
class History:
    """What has happened: effects in commit order, the ledger as one batch of entries an operation, and the counters."""

    effects: tuple[Effect, ...] = ()
    batches: tuple[tuple[LedgerEntry, ...], ...] = ()
    metrics: Metrics = NOTHING_COUNTED

    def after(self, happened: tuple[LedgerEntry | Effect, ...], outcome: Outcome | Unheard | None = None) -> "History":
        """Return the history with what one more operation made happen; entries are numbered from 1."""
        more = counted(happened, outcome)
        if not happened and more is NOTHING_COUNTED:
            return self
        count = sum(map(len, self.batches))
        entries = [each for each in happened if isinstance(each, LedgerEntry)]
        numbered = tuple(evolve(each, seq=count + number) for number, each in enumerate(entries, start=1))
        effects = tuple(each for each in happened if isinstance(each, Effect))
        batches = (*self.batches, numbered) if numbered else self.batches
        return History((*self.effects, *effects), batches, self.metrics.plus(more))


@frozen
class State:
    """All there is of a store: the world and its history."""

    world: World = World()
    history: History = field(default=History())

    def cards_of(self, key: CaseKey) -> frozenset[str]:
        """The ids of the cards of a case."""
        return frozenset(each.id for each in self.world.interactions if each.key == key)

    def effects_of(self, key: CaseKey) -> tuple[Effect, ...]:
        """The effects of a case, in commit order."""
        cards = self.cards_of(key)
        return tuple(each for each in self.history.effects if each.card in cards)

    def batches_of(self, key: CaseKey) -> tuple[tuple[LedgerEntry, ...], ...]:
        """The ledger of a case, one batch an operation; entries of several cards in a batch have no order (E1)."""
        cards = self.cards_of(key)
        mine = (tuple(each for each in batch if each.card in cards) for batch in self.history.batches)
        return tuple(batch for batch in mine if batch)


@frozen
class Possibility:
    """A branch, and the state that it leads to."""

    branch: Branch
    state: State


def possibilities(state: State, operation: Operation, claims: Claims) -> tuple[Possibility, ...]:
    """Return everything that may happen when this operation meets this state, the reference's choice first."""
    if isinstance(operation, ReadEffects | ReadLedger | ReadMetrics):
        return tuple(_told(each, operation) for each in (state, *lazily_swept(state)))
    return tuple(_leading(state, operation, each) for each in admissible(state.world, operation, claims))


def first_possibility(state: State, operation: Operation, claims: Claims) -> Possibility:
    """Return the reference's choice alone; the others are not worked out."""
    if isinstance(operation, ReadEffects | ReadLedger | ReadMetrics):
        return _told(state, operation)
    return _leading(state, operation, next(branches_of(state.world, operation, claims)))


def _leading(state: State, operation: Operation, taken: Branch) -> Possibility:
    history = History() if isinstance(operation, Reset) else state.history
    return Possibility(taken, State(taken.world, history.after(taken.happened, taken.outcome)))


def lazily_swept(state: State) -> Iterator[State]:
    """Return the states that a sweep of the system's own may have made of this one (L7)."""
    for unfolding in lazily_expired(state.world):
        yield State(unfolding.world, state.history.after(unfolding.happened))


def _told(state: State, operation: ReadEffects | ReadLedger | ReadMetrics) -> Possibility:
    outcome: Outcome
    match operation:
        case ReadEffects():
            outcome, because = Effects(effects=state.effects_of(operation.key)), "E2"
        case ReadLedger():
            batches = state.batches_of(operation.key)
            outcome, because = Ledger(entries=tuple(each for batch in batches for each in batch)), "E1"
        case _:
            outcome, because = state.history.metrics, "E3"
    return Possibility(Branch(outcome, state.world, (), frozenset({because})), state)


def heard(chosen: Branch) -> Outcome:
    """Return what a branch answers; raise `OperationFailed` or `Crashed` where nobody hears it."""
    outcome = chosen.outcome
    if not isinstance(outcome, Unheard):
        return outcome
    if outcome.fault in CRASHES:
        raise Crashed(f"the process ended, as it was asked to: {outcome.fault}")
    raise OperationFailed("the reply was lost, as it was asked to be", definite=False)


class ReferenceStore(OperationMethods):
    """The contract as a store in memory: it takes the first branch, always; a restart finds everything as it was.

    It is one value after another, and knows no threads: whoever calls it lets operations that overlap take turns (`takes_turns`).
    """

    takes_turns = True

    def __init__(self, claims: Claims = ALL_CLAIMS) -> None:
        self.claims = claims
        self.state = State()

    def describe(self) -> dict[str, Json]:
        """`describe`: what the store says of itself."""
        return describe("reference", VERSION, self.claims)

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation and return its outcome."""
        chosen = self.pick(operation)
        self.state = chosen.state
        return heard(chosen.branch)

    def pick(self, operation: Operation) -> Possibility:
        """Return what the store does with an operation as it is: the first possibility."""
        return first_possibility(self.state, operation, self.claims)
