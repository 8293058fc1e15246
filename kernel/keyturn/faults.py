"""What can be made to go wrong, once: a read, a write, a commit, a reply, or the process itself.

A fault is armed and then hits the next operation that it can. It stands in the world until it has, so that the oracle knows
what a faulty step may look like. What it hits and what comes back is `keyturn.afflicting`.
"""

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
