"""Every error that the kernel raises, and which step of a use can raise it.

A refusal of the domain is never an error: it is an outcome (`keyturn.responses.Rejected`). Errors are for callers that
broke the contract of a function: reading input (`NotCanonical`, `Unreadable`), stepping a machine (`IllegalTransition`),
or asking a store for what it does not offer or could not do (`Unsupported`, `OperationFailed`, `Crashed`).
"""


class KeyturnError(Exception):
    """The base of every error that the kernel raises."""


class NotCanonical(KeyturnError, ValueError):
    """Reading: a JSON value has no canonical form (RFC 8785)."""


class Unreadable(KeyturnError, ValueError):
    """Reading: a JSON value does not have the shape of what was asked for; `problems` lists all of them."""

    def __init__(self, what: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{what} cannot be read: " + "; ".join(problems))
        self.what, self.problems = what, problems

    def __reduce__(self) -> tuple[type["Unreadable"], tuple[str, tuple[str, ...]]]:
        """Cross from one process to another."""
        return Unreadable, (self.what, self.problems)


class IllegalTransition(KeyturnError):
    """Stepping: the machine has no row for this state and event (L1)."""

    def __init__(self, machine: str, state: str, event: str) -> None:
        super().__init__(f"{machine}: the event {event!r} is not legal in the state {state!r}")
        self.machine, self.state, self.event = machine, state, event

    def __reduce__(self) -> tuple[type["IllegalTransition"], tuple[str, str, str]]:
        """Cross from one process to another."""
        return IllegalTransition, (self.machine, self.state, self.event)


class Unsupported(KeyturnError):
    """Asking: the system does not offer this operation (JSON-RPC -32601)."""


class Crashed(KeyturnError):
    """Asking: the process ended, because a fault was armed that ends it; the store can be restarted."""


class OperationFailed(KeyturnError):
    """Asking: the operation failed (JSON-RPC -32000). `definite` is false when it may still have happened."""

    def __init__(self, message: str, *, definite: bool) -> None:
        super().__init__(message)
        self.message, self.definite = message, definite

    def __reduce__(self) -> tuple[object, tuple[str, bool]]:
        """Cross from one process to another."""
        return _failed, (self.message, self.definite)


def _failed(message: str, definite: bool) -> OperationFailed:
    return OperationFailed(message, definite=definite)
