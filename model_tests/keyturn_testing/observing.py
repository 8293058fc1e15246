"""Reading everything that an observer can read of a system, after each step.

Lists come first, because after a lost reply they may show a card's id first; ledger and counters come last. A system may sweep
overdue cards when it is read, so a snapshot that shows an overdue card is read until it no longer changes. An answer that is
the same as before is not decoded again.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from attrs import frozen

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import Capability, Claims
from keyturn.cards import CardView
from keyturn.errors import Unreadable
from keyturn.responses import Found, Presented
from keyturn.status import InteractionStatus
from keyturn.values import CaseKey, Instant, Json
from keyturn_specs.observations import Snapshot
from keyturn_testing.shapes import answered
from keyturn_testing.systems.base import Answered, Breakdown, NotOffered, System

T = TypeVar("T")

MOST_READINGS = 4
"""How often a snapshot is read at most while sweeps of the system's own change it."""


@frozen(kw_only=True)
class Offered:
    """A card that the system offered: the label of the call that presented it, its id, and what it was asked with."""

    label: str
    id: str
    asked: ops.CardPresent


def decoded(operation: type[ops.Operation], result: Json) -> Outcome:
    """Decode what a system answered; raise `Breakdown` when it breaks the schema of the operation's results."""
    try:
        return answered(operation, result)
    except Unreadable as error:
        said = f"the system's answer to {operation.method} breaks its schema (`keyturn schema {operation.method}` shows it)"
        raise Breakdown("protocol", f"{said}: {'; '.join(error.problems)}") from None


def not_offered(operation: type[ops.Operation], claims: Claims) -> Breakdown:
    """Return the breakdown of a system that does not offer what it was asked for."""
    if operation.needs not in claims:
        return Breakdown("protocol", f"the step needs `{operation.needs}`, which the system does not claim")
    return Breakdown(
        "protocol",
        f"the system claims `{operation.needs}` and does not offer {operation.method}: offer it, or drop the claim",
    )


class Observer:
    """Knows every case that was opened and every card that was offered, and reads them all."""

    def __init__(self, system: System, claims: Claims) -> None:
        self.system, self.claims = system, claims
        self.offered: dict[str, Offered] = {}
        self.cases: dict[CaseKey, None] = {}
        self.closed: set[CaseKey] = set()
        self._known: dict[tuple[str, ...], tuple[object, Outcome]] = {}
        self._shown: list[Json] = []

    @property
    def shown(self) -> tuple[Json, ...]:
        """The cards that the last snapshot showed to clients and that none before it had shown, as they were sent."""
        return tuple(self._shown)

    @property
    def asked(self) -> Mapping[str, ops.CardPresent]:
        """What every card that was offered was presented with, by its id."""
        return {each.id: each.asked for each in self.offered.values()}

    def learn(self, label: str | None, operation: ops.Operation, outcome: object) -> None:
        """Note what an operation opened or offered; a card whose presenting nobody has heard of is found in the lists."""
        match operation, outcome:
            case ops.CaseOpen(), ops.CaseOpened():
                self.cases[operation.key] = None
                self.closed.discard(operation.key)
            case ops.CaseClose(), ops.CardsInvalidated() | None:
                self.closed.add(operation.key)
            case ops.CardPresent(), Presented(card=card):
                self.offered[card.id] = Offered(label=label or "", id=card.id, asked=operation)
            case ops.CardPresent(), None:
                for view in self._list(operation.account, operation.conversation):
                    if view.id not in self.offered:
                        self.offered[view.id] = Offered(label=label or "", id=view.id, asked=operation)
            case _:
                pass

    def snapshot(self, operations: Iterable[ops.Operation], now: Instant) -> Snapshot:
        """Read everything after some operations; `now` is the time that it is believed to be for the system."""
        self._shown.clear()
        owners = {(each.asked.account, each.asked.conversation): None for each in self.offered.values()}
        for operation in operations:
            if isinstance(operation, ops.CardPresent) and operation.key in self.cases:
                owners[operation.account, operation.conversation] = None
        seen = self._read_all(owners)
        for _ in range(MOST_READINGS):
            shown = (*seen.cards.values(), *(each for cards in seen.lists.values() for each in cards))
            if not any(_overdue(each, now) for each in shown):
                break
            before, seen = seen, self._read_all(owners)
            if seen == before:
                break
        return seen

    def _read_all(self, owners: Mapping[tuple[str, str], None]) -> Snapshot:
        listed = owners if Capability.LIST in self.claims else {}
        ledgers = self.cases if Capability.LEDGER in self.claims else {}
        # A revision is read by opening its case, and that would open a closed one.
        opened = [key for key in self.cases if key not in self.closed]
        return Snapshot(
            revisions={key: self._on_case(ops.CaseOpen, ops.CaseOpened, key).revision for key in opened},
            lists={owner: self._list(*owner) for owner in listed},
            cards={each.id: self._card(each) for each in self.offered.values()},
            effects={key: self._on_case(ops.ReadEffects, ops.Effects, key).effects for key in self.cases},
            ledger={key: self._on_case(ops.ReadLedger, ops.Ledger, key).entries for key in ledgers},
            metrics=self._read(ops.ReadMetrics, ops.Metrics) if Capability.METRICS in self.claims else None,
        )

    def _read(self, operation: type[ops.Operation], wanted: type[T], **params: str) -> T | None:
        reply = self.system.call(operation.method, params)
        if isinstance(reply, NotOffered):
            raise not_offered(operation, self.claims)
        if not isinstance(reply, Answered):
            raise Breakdown("protocol", f"{operation.method}, which only reads, failed: {ascii(reply.message)[:200]}")
        key = (operation.method, *params.values())
        known = self._known.get(key)
        if known is None or known[0] != reply.result:
            known = self._known[key] = (reply.result, decoded(operation, reply.result))
            if operation in (ops.CardGet, ops.CardList):
                self._shown.append(reply.result)
        return known[1] if isinstance(known[1], wanted) else None

    def _list(self, account: str, conversation: str) -> tuple[CardView, ...]:
        if Capability.LIST not in self.claims:
            return ()
        cards = self._read(ops.CardList, ops.Cards, account=account, conversation=conversation)
        return () if cards is None else cards.cards

    def _card(self, offered: Offered) -> CardView | None:
        asked = offered.asked
        found = self._read(ops.CardGet, Found, account=asked.account, conversation=asked.conversation, card=offered.id)
        return None if found is None else found.card

    def _on_case(self, operation: type[ops.CaseOperation], wanted: type[T], key: CaseKey) -> T:
        read = self._read(operation, wanted, account=key.account, workflow=key.workflow, case=key.case)
        if read is None:
            raise Breakdown("protocol", f"{operation.method} refused a case that is open: {ascii(key.case)[:80]}")
        return read


def _overdue(view: CardView | None, now: Instant) -> bool:
    waits = view is not None and view.status is InteractionStatus.ACTIVE
    return waits and view is not None and view.expires_at is not None and view.expires_at <= now
