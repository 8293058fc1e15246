"""What operations answer that have one plain result: records without the name of an outcome.

Outcomes that a card or a command can have are in `keyturn.responses`. What a set or an age leaves open of an order is said in
the metadata of a field, and the oracle reads it from there.
"""

from attrs import field, frozen

from keyturn.cards import CardView
from keyturn.evidence import Effect, LedgerEntry
from keyturn.values import CardId, Instant, Revision, Untrusted


@frozen(kw_only=True)
class Done:
    """The operation was performed; there is nothing to say."""


@frozen(kw_only=True)
class CaseOpened:
    """The case is open; its current revision."""

    revision: Revision


@frozen(kw_only=True)
class CaseEdited:
    """The record changed: its new revision, and the set of cards that this invalidated (I13.3)."""

    revision: Revision
    invalidated: tuple[CardId, ...] = field(metadata={"unordered": True})


@frozen(kw_only=True)
class CardsInvalidated:
    """The set of cards that closing a case, or withdrawing its cards, invalidated (I13.11)."""

    invalidated: tuple[CardId, ...] = field(metadata={"unordered": True})


@frozen(kw_only=True)
class Cards:
    """The open cards of one conversation, oldest first (L8)."""

    cards: tuple[CardView, ...] = field(metadata={"by_age": True})


@frozen(kw_only=True)
class CardsExpired:
    """The set of cards that this sweep expired (L7)."""

    expired: tuple[CardId, ...] = field(metadata={"unordered": True})


@frozen(kw_only=True)
class ClockAdvanced:
    """The clock's new time."""

    now: Instant


@frozen(kw_only=True)
class Effects:
    """The effects of a case, in commit order."""

    effects: tuple[Effect, ...]


@frozen(kw_only=True)
class Ledger:
    """The ledger of a case, in order; entries that one operation wrote for several cards come in any order."""

    entries: tuple[LedgerEntry, ...] = field(metadata={"batched": True})


@frozen(kw_only=True)
class Exported:
    """What a host keeps of a pending card, to be able to answer it later; only the system itself reads it (I14.8)."""

    state: Untrusted = field(metadata={"free": True})
