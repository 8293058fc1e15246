"""One connection at work: a thread with a store of its own, which asks, and says what each answer was and how long it took.

Lanes of a campaign stand in a ring over its processes. Each can hand something to the lane that stands as many places on as
one process has lanes: with two processes, each lane and its partner in the other process hand to each other.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from socket import socket
from typing import Any

from attrs import frozen

from keyturn.errors import OperationFailed
from keyturn_sql.store import SqlStore

BUSY, UNKNOWN = "busy", "unknown"
"""What stands for an outcome where there is none: nothing has happened for certain, or nobody knows."""

POLL_SECONDS = 0.5
"""How often a lane that waits for its partner looks whether it is to stop."""

Asked = dict[str, Any]
Answer = dict[str, Any]


@frozen
class Lane:
    """What a lane works with; `say` hands one line to the campaign, and `settings` are the campaign's own."""

    number: int
    store: SqlStore
    settings: Mapping[str, Any]
    stop: threading.Event
    inbox: socket
    outbox: socket
    say: Callable[[Mapping[str, Any]], None]

    def ask(self, method: str, *, start: int | None = None, **asked: Any) -> Answer:
        """Ask the store and say what it answered; times are nanoseconds of the clock that all processes share."""
        start = time.monotonic_ns() if start is None else start
        try:
            answer: Answer = getattr(self.store, method.replace(".", "_"))(**asked)
        except OperationFailed as failure:
            answer = {"outcome": BUSY if failure.definite else UNKNOWN, "why": str(failure)}
        end = time.monotonic_ns()
        line = {"method": method, "asked": _in_short(asked), "answer": _in_short(answer), "start": start, "end": end}
        self.say(line)
        return answer

    def hand_on(self, what: Any) -> None:
        """Hand something to the next lane of the ring; what it has no room for is left out."""
        try:
            self.outbox.send(json.dumps(what).encode())
        except BlockingIOError:
            return

    def handed(self, *, wait: bool = False) -> Any:
        """Return what was handed to this lane, nothing when there is none yet; `wait` for it until it is to stop."""
        self.inbox.settimeout(POLL_SECONDS if wait else 0)
        while not self.stop.is_set():
            try:
                return json.loads(self.inbox.recv(65536))
            except (BlockingIOError, TimeoutError):
                if not wait:
                    return None
        return None


def _in_short(said: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what no audit looks at: payloads, and the cards of a list."""
    short = {name: value for name, value in said.items() if name not in {"payload", "cards"}}
    if isinstance(short.get("card"), Mapping):
        short["card"] = {name: short["card"][name] for name in ("id", "status", "payload_hash")}
    return short
