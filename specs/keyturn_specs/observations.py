"""What the suite saw of a system, as values that requirements are judged on.

A snapshot is everything that an observer can read at one moment. An observation is one operation with the snapshots before
and after it; invariants are judged on it without any model. A moment is the model's side of the same step: the state, the
operation and the branch that explains it; it says which requirements the step exercised. Both come with a memory: the little of
earlier steps that a requirement may ask for. A race is the model's side of calls that overlapped.
"""

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from keyturn.branches import Branch, Outcome
from keyturn.capabilities import Claims
from keyturn.cards import CardView
from keyturn.operations import CardPresent, CardRespond, Effect, LedgerEntry, Metrics, Operation
from keyturn.responses import named_card
from keyturn.store import State
from keyturn.values import CaseKey, Json
from keyturn_specs.memory import NOTHING_REMEMBERED, Memory


@frozen(kw_only=True)
class Snapshot:
    """Everything that an observer reads at one moment, in the system's own ids and revisions.

    `cards` are the cards that were ever offered, read by their owners; nothing stands for "not found". `lists` are the
    open cards by (account, conversation). `revisions` are those of the cases that are open. What a system does not claim is an
    empty mapping, or nothing.
    """

    revisions: Mapping[CaseKey, int] = field(factory=dict)
    cards: Mapping[str, CardView | None] = field(factory=dict)
    lists: Mapping[tuple[str, str], tuple[CardView, ...]] = field(factory=dict)
    effects: Mapping[CaseKey, tuple[Effect, ...]] = field(factory=dict)
    ledger: Mapping[CaseKey, tuple[LedgerEntry, ...]] = field(factory=dict)
    metrics: Metrics | None = None

    def status(self, card: str) -> str | None:
        """The status that a card reads as, or nothing when it cannot be read."""
        seen = self.cards.get(card)
        return None if seen is None else seen.status


@frozen(kw_only=True)
class Observation:
    """One operation of the system, what it answered, and everything readable before and after it.

    `asked` holds what every card was presented with, by the system's id; `outcome` is absent when the reply was lost, and
    when the operation failed for good (`failed`). `shown` is what a client was newly shown, as it was sent. `restarted`
    says that the system was stopped and started again in this step, by a restart or by a crash.
    """

    operation: Operation
    outcome: Outcome | None
    before: Snapshot
    after: Snapshot
    asked: Mapping[str, CardPresent]
    claims: Claims
    failed: bool = False
    restarted: bool = False
    shown: tuple[Json, ...] = ()
    memory: Memory = NOTHING_REMEMBERED

    def new_effects(self) -> Iterator[Effect]:
        """The effects that are there now and were not before."""
        for key, effects in self.after.effects.items():
            known = {each.id for each in self.before.effects.get(key, ())}
            yield from (each for each in effects if each.id not in known)

    def new_entries(self) -> Iterator[LedgerEntry]:
        """The entries of the ledger that are there now and were not before."""
        for key, entries in self.after.ledger.items():
            yield from entries[len(self.before.ledger.get(key, ())) :]


@frozen(kw_only=True)
class Race:
    """Calls that overlapped: the state before all of them, and the operations in the model's ids."""

    state: State
    operations: tuple[Operation, ...]

    def responses(self, card: str) -> int:
        """How many of the operations answer this card."""
        answers = (each for each in self.operations if isinstance(each, CardRespond))
        return sum(named_card(each.response) == card for each in answers)


@frozen(kw_only=True)
class Moment:
    """The model's side of one step: the state before, the operation in the model's ids, and one branch of it."""

    state: State
    operation: Operation
    branch: Branch
    claims: Claims
    memory: Memory = NOTHING_REMEMBERED
