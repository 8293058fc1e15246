"""The evidence: what is kept of everything that happened, and nothing in the future depends on.

An effect is what a command did, an entry of the ledger is one transition of one card with its cause, and the counters count
both. Rules emit effects and entries; stores keep them, and an observer reads them (E).
"""

from typing import Literal

from attrs import field, frozen

from keyturn.cards import StoredAction
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import CardId, CommandId, Document, EffectId, IdempotencyKey, Instant, PayloadHash, Revision


@frozen(kw_only=True)
class Effect:
    """The thing in the world that a command did; `case_revision` is the one after the commit (I7.1, I7.6)."""

    id: EffectId
    command: CommandId
    idempotency_key: IdempotencyKey
    card: CardId
    option: str
    action: StoredAction
    arguments: Document | None = field(default=None, metadata={"lenient": True})
    freeform: str | None = None
    payload_hash: PayloadHash
    case_revision: Revision


@frozen(kw_only=True)
class Cause:
    """Why a transition happened; accept, commit, fail and restore name their command (E1), and a decline may.

    `code` is why a command did not commit, or why cards were withdrawn, in the words of whoever withdrew them.
    """

    option: str | None = field(default=None, metadata={"lenient": True})
    command: CommandId | None = field(default=None, metadata={"lenient": True})
    reason: Literal["revision_changed", "superseded", "case_closed", "administrative"] | None = None
    code: str | None = field(default=None, metadata={"lenient": True})
    superseded_by: CardId | None = None
    new_revision: Revision | None = field(default=None, metadata={"lenient": True})


@frozen(kw_only=True)
class LedgerEntry:
    """One transition of one card, as the append-only ledger keeps it; `from` is absent for `present` (E1)."""

    seq: int = field(metadata={"free": True})
    at: Instant
    card: CardId
    from_status: InteractionStatus | None = field(default=None, metadata={"wire": "from"})
    event: InteractionEvent
    to_status: InteractionStatus = field(metadata={"wire": "to"})
    cause: Cause


@frozen(kw_only=True)
class Metrics:
    """What was counted since the last reset (E3).

    Cards written, entries of the ledger that lead to `resolved` and to `failed`, and refusals with `stale_revision`.
    """

    created: int
    resolved: int
    stale: int = field(metadata={"coded": True})
    failed: int

    def plus(self, more: "Metrics") -> "Metrics":
        """Return the counters after more was counted."""
        return Metrics(
            created=self.created + more.created,
            resolved=self.resolved + more.resolved,
            stale=self.stale + more.stale,
            failed=self.failed + more.failed,
        )


NOTHING_COUNTED = Metrics(created=0, resolved=0, stale=0, failed=0)
"""The counters after a reset."""
