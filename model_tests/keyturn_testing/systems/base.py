"""What a system under test is to the driver, however it is reached.

A call has one of three replies: a result (also when the domain refuses), "not offered", or "the operation failed", which
may be indefinite. Whatever else happens in the conversation (no start, no answer, garbage, a crash) is a breakdown: it says
whose fault it is and what was seen (D7), and it ends the conversation. A request that must not be sent is nobody's breakdown.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from attrs import frozen

from keyturn.values import Json


@frozen
class Answered:
    """The operation has a result; a refusal of the domain is one too."""

    result: Json


@frozen
class NotOffered:
    """The system does not have this method (JSON-RPC -32601, `Unsupported`)."""


@frozen
class WentWrong:
    """The operation failed (JSON-RPC -32000, `OperationFailed`); when not `definite` it may still have happened."""

    definite: bool
    message: str = ""


@frozen
class NotRead:
    """The system could not read the request (JSON-RPC -32700, -32600, -32602)."""

    message: str = ""


Reply: TypeAlias = Answered | NotOffered | WentWrong | NotRead

BreakdownKind: TypeAlias = Literal["not_started", "crashed", "hung", "garbage", "too_much", "protocol"]


class Breakdown(Exception):
    """The conversation with the system broke down; `log` is the end of what it wrote to its own log."""

    def __init__(self, kind: BreakdownKind, message: str, *, log: str = "") -> None:
        super().__init__(message)
        self.kind: BreakdownKind = kind
        self.message = message
        self.log = log


class Unusable(Exception):
    """The adapter string, or what it names, cannot be used: `problems` says what, why and what to do (exit 2)."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class BrokenRequest(Exception):
    """The suite was about to send a request that breaks its own schema: the suite is wrong, and nobody else."""

    def __init__(self, method: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"it was about to send {method} with params that break their schema: " + "; ".join(problems))
        self.method, self.problems = method, problems

    def __reduce__(self) -> tuple[type["BrokenRequest"], tuple[str, tuple[str, ...]]]:
        """Cross from one process to another."""
        return BrokenRequest, (self.method, self.problems)


@frozen
class Request:
    """One call to make: an operation of the protocol, and its params."""

    method: str
    params: Mapping[str, Json]


@frozen
class Timed:
    """A reply, and when its call began and ended: numbers on one clock that all lanes share."""

    reply: Reply
    began: int
    ended: int

    def overlaps(self, other: "Timed") -> bool:
        """Whether there was a moment at which both were running."""
        return self.began < other.ended and other.began < self.ended


Lanes: TypeAlias = Sequence[Sequence[Request]]
"""What to call, lane by lane."""

Schedule: TypeAlias = tuple[int, ...]
"""How lanes take turns: at each place where one of several could go on, the number of the one that does."""


@frozen
class Choice:
    """A place where one of several lanes could go on: which did, and out of how many."""

    chosen: int
    among: int


@frozen
class Together:
    """What became of overlapping calls: the timed replies, lane by lane.

    `choices` are the places at which the lanes took turns, where the suite decides that, and None where the machine does.
    """

    lanes: tuple[tuple[Timed, ...], ...]
    choices: tuple[Choice, ...] | None = None


@frozen
class Killed:
    """What became of a call during which the process was killed: the reply, where it still came, and after how many seconds.

    `phase` is where the process was, in its own word, where it says that.
    """

    reply: Reply | None
    seconds: float
    phase: str | None = None


class System(Protocol):
    """One running system; the methods raise `Breakdown`, and after one only `close`, or `restart` of one that crashed."""

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Call one operation of the protocol, `describe` included, and wait for its reply."""

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Make the calls of several lanes at the same moment, where the system claims that calls may overlap."""

    @property
    def can_be_killed(self) -> bool:
        """Whether there is a process of its own that the suite can kill, and start again on its data."""

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Call one operation, and kill the process `after` so many seconds; only `restart` and `close` may follow."""

    def restart(self) -> Reply:
        """Stop the system as a crash would, and start it again on the same data."""

    def close(self) -> None:
        """End the system and everything that it started; never raises and never hangs."""
