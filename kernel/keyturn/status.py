"""The life of an interaction, declared once as a python-statemachine class.

A card is *unwritten* until `present` stores it (I6); the eight statuses of the guide follow. Active and Resolving are
open. The six others are terminal: nothing leaves them (L2). Nothing hot runs on this class: `keyturn.table` compiles it
into an immutable table, and a test proves the two equal on every (status, event).
"""

from enum import StrEnum

from statemachine import State, StateMachine


class InteractionStatus(StrEnum):
    """Where an interaction stands; the wire writes the value as it is here (the guide, "Status machine")."""

    ACTIVE = "active"
    RESOLVING = "resolving"
    RESOLVED = "resolved"
    DECLINED = "declined"
    DISMISSED = "dismissed"
    INVALIDATED = "invalidated"
    EXPIRED = "expired"
    FAILED = "failed"


class InteractionEvent(StrEnum):
    """What can happen to an interaction (L1)."""

    PRESENT = "present"
    ACCEPT = "accept"
    COMMIT = "commit"
    FAIL = "fail"
    RESTORE = "restore"
    DECLINE = "decline"
    DISMISS = "dismiss"
    INVALIDATE = "invalidate"
    EXPIRE = "expire"


class InteractionStatusMachine(StateMachine):
    """The status machine of the guide: nine rows and no others (L1)."""

    unwritten = State(initial=True)
    active = State()
    resolving = State()
    resolved = State(final=True)
    declined = State(final=True)
    dismissed = State(final=True)
    invalidated = State(final=True)
    expired = State(final=True)
    failed = State(final=True)

    present = unwritten.to(active)
    accept = active.to(resolving)
    commit = resolving.to(resolved)
    fail = resolving.to(failed)
    restore = resolving.to(active)
    decline = active.to(declined)
    dismiss = active.to(dismissed)
    invalidate = active.to(invalidated)
    expire = active.to(expired)


UNWRITTEN = "unwritten"
"""The state before the first status: a card that nothing has stored yet."""
