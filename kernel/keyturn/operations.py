"""Every operation of the conformance protocol, declared once.

An operation is a frozen record: its class says the method's name on the wire, the capability that it needs, whether it
may change anything, and what can come back. The JSON Schemas, the Python port, the dispatch and the reference pages are
all derived from these declarations, so that an operation cannot mean two things.
"""

from collections.abc import Mapping
from typing import ClassVar, Literal

from attrs import frozen

from keyturn.capabilities import Capability
from keyturn.cards import (
    NEVER_BY_TEXT,
    InteractionKind,
    InteractionPayload,
    RiskClass,
    TextResolutionPolicy,
)
from keyturn.evidence import NOTHING_COUNTED, Cause, Effect, LedgerEntry, Metrics
from keyturn.faults import FaultKind
from keyturn.responses import (
    Accepted,
    Declined,
    Dismissed,
    Failed,
    Found,
    InFlight,
    Presented,
    Rejected,
    Replayed,
    Resolved,
    Restored,
)
from keyturn.results import (
    Cards,
    CardsExpired,
    CardsInvalidated,
    CaseEdited,
    CaseOpened,
    ClockAdvanced,
    Done,
    Effects,
    Exported,
    Ledger,
)
from keyturn.values import CardId, CaseKey, CommandId, Instant, Revision, Untrusted

__all__ = [
    "NOTHING_COUNTED",
    "Cards",
    "CardsExpired",
    "CardsInvalidated",
    "CaseEdited",
    "CaseOpened",
    "Cause",
    "ClockAdvanced",
    "Done",
    "Effect",
    "Effects",
    "Exported",
    "Ledger",
    "LedgerEntry",
    "Metrics",
]
"""Beside the operations, what they answer."""


@frozen(kw_only=True)
class Settings:
    """What a run asks of the deployment."""

    allow_text_resolution_for_low_risk: bool = False


@frozen(kw_only=True)
class Operation:
    """The base of every operation."""

    method: ClassVar[str]
    needs: ClassVar[Capability] = Capability.CARDS
    changes: ClassVar[bool] = True
    results: ClassVar[tuple[type, ...]]


@frozen(kw_only=True)
class CaseOperation(Operation):
    """The base of every operation on one case."""

    account: str
    workflow: str
    case: str

    @property
    def key(self) -> CaseKey:
        """The case that is meant."""
        return CaseKey(self.account, self.workflow, self.case)


@frozen(kw_only=True)
class Reset(Operation):
    """Forgets everything and sets the clock; only on a system that says it is a test environment."""

    method: ClassVar[str] = "reset"
    results: ClassVar[tuple[type, ...]] = (Done,)
    now: Instant
    settings: Settings = Settings()


@frozen(kw_only=True)
class CaseOpen(CaseOperation):
    """Opens a case, or finds it open; returns the current revision, 1 at first; opens a closed case again."""

    method: ClassVar[str] = "case.open"
    results: ClassVar[tuple[type, ...]] = (CaseOpened, Rejected)


@frozen(kw_only=True)
class CaseEdit(CaseOperation):
    """Changes the record outside any card: the revision moves and bound cards are invalidated (I13.3)."""

    method: ClassVar[str] = "case.edit"
    needs: ClassVar[Capability] = Capability.REVISIONS
    results: ClassVar[tuple[type, ...]] = (CaseEdited, Rejected)


@frozen(kw_only=True)
class CaseClose(CaseOperation):
    """Closes a case: its Active cards are invalidated, and no card is presented until it is opened (I13.11)."""

    method: ClassVar[str] = "case.close"
    needs: ClassVar[Capability] = Capability.ADMINISTRATIVE
    results: ClassVar[tuple[type, ...]] = (CardsInvalidated, Rejected)


@frozen(kw_only=True)
class CardPresent(CaseOperation):
    """Writes a card before anything mentions it (I6); `expires_in` is in seconds."""

    method: ClassVar[str] = "card.present"
    results: ClassVar[tuple[type, ...]] = (Presented, Rejected)
    conversation: str
    kind: InteractionKind
    blocking: bool
    revision_independent: bool
    # What the content was made from: when the case has moved since, nothing is written (I13.10). Left out, the card is
    # bound to the current revision; on an independent card it is ignored.
    for_revision: Revision | None = None
    payload: InteractionPayload
    expires_in: float | None = None
    text_resolution: TextResolutionPolicy = NEVER_BY_TEXT
    confirms_risk: RiskClass = RiskClass.IRREVERSIBLE
    on_occupied: Literal["refuse", "replace"]


@frozen(kw_only=True)
class CardGet(Operation):
    """Reads one card, by its id, as its owner."""

    method: ClassVar[str] = "card.get"
    changes: ClassVar[bool] = False
    results: ClassVar[tuple[type, ...]] = (Found, Rejected)
    account: str
    conversation: str
    card: CardId


@frozen(kw_only=True)
class CardList(Operation):
    """Reads the open cards of one conversation, oldest first (L8)."""

    method: ClassVar[str] = "card.list"
    needs: ClassVar[Capability] = Capability.LIST
    changes: ClassVar[bool] = False
    results: ClassVar[tuple[type, ...]] = (Cards, Rejected)
    account: str
    conversation: str


@frozen(kw_only=True)
class CardRespond(Operation):
    """Answers a card; `response` is whatever the client sent, for the system to read (I7.3, I19.6)."""

    method: ClassVar[str] = "card.respond"
    results: ClassVar[tuple[type, ...]] = (
        *(Accepted, InFlight, Resolved, Declined, Dismissed, Replayed, Failed, Restored),
        Rejected,
    )
    account: str
    conversation: str
    response: Untrusted


@frozen(kw_only=True)
class CardDismiss(Operation):
    """Closes a card without deciding; checked like a response (I13.1, I19.1) without option and text."""

    method: ClassVar[str] = "card.dismiss"
    needs: ClassVar[Capability] = Capability.DISMISS
    results: ClassVar[tuple[type, ...]] = (Dismissed, InFlight, Replayed, Rejected)
    account: str
    conversation: str
    card: CardId
    expected_case_revision: Revision | None = None


@frozen(kw_only=True)
class CardWithdraw(CaseOperation):
    """Invalidates every Active card of a case, the independent ones too; `code` says why (I13.11)."""

    method: ClassVar[str] = "card.withdraw"
    needs: ClassVar[Capability] = Capability.ADMINISTRATIVE
    results: ClassVar[tuple[type, ...]] = (CardsInvalidated, Rejected)
    code: str


@frozen(kw_only=True)
class CardExpireDue(Operation):
    """Sweeps: every overdue Active card becomes Expired (L7)."""

    method: ClassVar[str] = "card.expire_due"
    needs: ClassVar[Capability] = Capability.CLOCK
    results: ClassVar[tuple[type, ...]] = (CardsExpired, Rejected)


@frozen(kw_only=True)
class ClockAdvance(Operation):
    """Moves the system's clock forward by `seconds`, to the nearest millisecond."""

    method: ClassVar[str] = "clock.advance"
    needs: ClassVar[Capability] = Capability.CLOCK
    results: ClassVar[tuple[type, ...]] = (ClockAdvanced, Rejected)
    seconds: float


@frozen(kw_only=True)
class CommandSettle(Operation):
    """Says how a command in flight ended; `on_failure` left out = `record` (L5)."""

    method: ClassVar[str] = "command.settle"
    needs: ClassVar[Capability] = Capability.DEFERRED
    results: ClassVar[tuple[type, ...]] = (Resolved, Failed, Restored, Rejected)
    command: CommandId
    result: Literal["committed", "failed"]
    on_failure: Literal["record", "restore"] = "record"


@frozen(kw_only=True)
class CommandNext(Operation):
    """Sets how the next command ends, for a system that runs commands at once."""

    method: ClassVar[str] = "command.next"
    results: ClassVar[tuple[type, ...]] = (Done,)
    result: Literal["committed", "failed"]
    on_failure: Literal["record", "restore"] = "record"


@frozen(kw_only=True)
class ReadEffects(CaseOperation):
    """Reads the effects of a case, for the observer."""

    method: ClassVar[str] = "effects"
    changes: ClassVar[bool] = False
    results: ClassVar[tuple[type, ...]] = (Effects,)


@frozen(kw_only=True)
class ReadLedger(CaseOperation):
    """Reads the ledger of a case, for the observer (E1)."""

    method: ClassVar[str] = "ledger"
    needs: ClassVar[Capability] = Capability.LEDGER
    changes: ClassVar[bool] = False
    results: ClassVar[tuple[type, ...]] = (Ledger,)


@frozen(kw_only=True)
class ReadMetrics(Operation):
    """Reads the counters, for the observer (E3)."""

    method: ClassVar[str] = "metrics"
    needs: ClassVar[Capability] = Capability.METRICS
    changes: ClassVar[bool] = False
    results: ClassVar[tuple[type, ...]] = (Metrics,)


@frozen(kw_only=True)
class Restart(Operation):
    """Stops the system and starts it again on its data."""

    method: ClassVar[str] = "restart"
    needs: ClassVar[Capability] = Capability.RESTART
    results: ClassVar[tuple[type, ...]] = (Done,)


@frozen(kw_only=True)
class StateExport(Operation):
    """Returns what a host keeps of a pending card: a checkpoint, a run state; never effects."""

    method: ClassVar[str] = "state.export"
    needs: ClassVar[Capability] = Capability.SNAPSHOT
    changes: ClassVar[bool] = False
    results: ClassVar[tuple[type, ...]] = (Exported, Rejected)
    account: str
    conversation: str
    card: CardId


@frozen(kw_only=True)
class StateImport(Operation):
    """Restores what a host kept of a pending card; the card is what it has become since (I14.8)."""

    method: ClassVar[str] = "state.import"
    needs: ClassVar[Capability] = Capability.SNAPSHOT
    results: ClassVar[tuple[type, ...]] = (Done, Rejected)
    state: Untrusted


@frozen(kw_only=True)
class FaultArm(Operation):
    """Makes the next operation that the fault can hit go wrong, once; some faults name a card (I19.2)."""

    method: ClassVar[str] = "fault.arm"
    needs: ClassVar[Capability] = Capability.FAULTS
    results: ClassVar[tuple[type, ...]] = (Done, Rejected)
    fault: FaultKind
    card: CardId | None = None


OPERATIONS: tuple[type[Operation], ...] = (
    *(Reset, CaseOpen, CaseEdit, CaseClose, CardPresent, CardGet, CardList, CardRespond, CardDismiss),
    *(CardWithdraw, CardExpireDue, ClockAdvance, CommandSettle, CommandNext, ReadEffects, ReadLedger, ReadMetrics),
    *(StateExport, StateImport, Restart, FaultArm),
)
"""Every operation, in the order of the reference pages."""

BY_METHOD: Mapping[str, type[Operation]] = {operation.method: operation for operation in OPERATIONS}
"""The operations by their name on the wire."""
