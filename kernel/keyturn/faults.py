"""What can be made to go wrong, once: a read, a write, a commit, a reply, or the process itself.

A fault is armed and then hits the next operation that it can. It stands in the world until it has, so that the oracle knows
what a faulty step may look like. What it hits and what comes back is `keyturn.afflicting`.
"""

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen

from keyturn.values import CardId


class FaultKind(StrEnum):
    """The faults of the protocol (the table of faults)."""

    OWNERSHIP_UNREADABLE = "ownership_unreadable"
    REVISION_UNREADABLE = "revision_unreadable"
    PAYLOAD_CORRUPT = "payload_corrupt"
    WRITE_FAILS = "write_fails"
    COMMIT_FAILS = "commit_fails"
    REPLY_LOST = "reply_lost"
    CRASH_BEFORE_COMMIT = "crash_before_commit"
    CRASH_AFTER_COMMIT = "crash_after_commit"


OF_A_CARD = frozenset({FaultKind.OWNERSHIP_UNREADABLE, FaultKind.REVISION_UNREADABLE, FaultKind.PAYLOAD_CORRUPT})
"""The faults that hit the next response to one card, which they name."""

CRASHES = frozenset({FaultKind.CRASH_BEFORE_COMMIT, FaultKind.CRASH_AFTER_COMMIT})
"""The faults that end the process."""


@frozen(kw_only=True)
class Armed:
    """A fault that has not hit anything yet; `card` is the one whose response it waits for, where it names one."""

    fault: FaultKind
    card: CardId | None = None


@frozen
class FaultInWords:
    """What a fault hits, and what comes back, for messages and the reference pages."""

    hits: str
    comes_back: str


_ITS_CARD = "response to its card, a dismissal included"
_ANY_CHANGE = "change of a case, a card or a command: those, `case.close`, `card.withdraw`, a sweep"

IN_WORDS: Mapping[FaultKind, FaultInWords] = {
    FaultKind.OWNERSHIP_UNREADABLE: FaultInWords(_ITS_CARD, "`rejected` (`unverifiable`), whoever asks"),
    FaultKind.REVISION_UNREADABLE: FaultInWords(_ITS_CARD, "`rejected` (`unverifiable`)"),
    FaultKind.PAYLOAD_CORRUPT: FaultInWords(_ITS_CARD, "`rejected` (`unverifiable`)"),
    FaultKind.WRITE_FAILS: FaultInWords(
        "`card.present`, `card.respond`, `card.dismiss`, `command.settle` or `case.edit` that would change something",
        "`rejected` (`unavailable`), and nothing happened",
    ),
    FaultKind.COMMIT_FAILS: FaultInWords(
        "`command.settle` that would commit; without `deferred` the response",
        "`failed` or `restored` (`command_failed`)",
    ),
    FaultKind.REPLY_LOST: FaultInWords(_ANY_CHANGE, "it happens, and then the error -32000 with `definite: false`"),
    FaultKind.CRASH_BEFORE_COMMIT: FaultInWords(_ANY_CHANGE, "nothing happened, and the process ends"),
    FaultKind.CRASH_AFTER_COMMIT: FaultInWords(_ANY_CHANGE, "it happens, and the process ends before it answers"),
}
"""The table of faults."""
