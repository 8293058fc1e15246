"""The processes of a campaign: started together, listened to, and ended in order.

Each worker is told by its input to begin and, when that is closed, to stop after what it is doing. A Ctrl-C is for the campaign
alone, which closes the inputs and goes on listening, so that no answer that somebody got is lost.
"""

import json
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from attrs import frozen

from keyturn.capabilities import Claims
from keyturn_sql.database import Place
from places import words_of

WORKER = Path(__file__).with_name("worker.py")
LAST_SECONDS = 60.0
"""How long a worker may take for what it is doing when it is told to stop."""

Process: TypeAlias = "subprocess.Popen[str]"
Line = dict[str, Any]
Hear = Callable[[int, Line], None]
"""Takes what a worker said, by the number of the worker."""


class Broke(Exception):
    """A worker ended otherwise than it should; what went wrong it has written to standard error."""


@frozen(kw_only=True)
class Orders:
    """What a crew is to do, and where."""

    job: str
    place: Place
    store: str
    claims: Claims
    processes: int
    connections: int
    settings: Mapping[str, Any]


def run_crew(orders: Orders, hear: Hear) -> bool:
    """Let the workers do what they are to do; return whether that was ended before its time. Raise `Broke`."""
    with ExitStack() as opened:
        sockets = _ring(orders, opened)
        crew = _Crew([_start(orders, each, opened) for each in sockets])
        with _heeding(crew.interrupt):
            crew.lead(hear)
        codes = [each.wait(LAST_SECONDS) for each in crew.workers]
    if any(codes):
        raise Broke(f"{sum(map(bool, codes))} of {len(codes)} workers broke; what went wrong stands above")
    return crew.interrupted


@contextmanager
def _heeding(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call this when somebody asks the campaign to end, and not an exception in the middle of anything."""
    before = {each: signal.signal(each, lambda *_: interrupt()) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _ring(orders: Orders, opened: ExitStack) -> list[Mapping[int, tuple[int, int]]]:
    """Return the inbox and the outbox of each lane, for each process; an outbox leads one process on."""
    lanes = orders.processes * orders.connections
    pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(lanes)]
    for each in (end for pair in pairs for end in pair):
        opened.callback(each.close)
    inbox = [pair[0].fileno() for pair in pairs]
    outbox = [pairs[(number + orders.connections) % lanes][1].fileno() for number in range(lanes)]
    of_process = [range(first, first + orders.connections) for first in range(0, lanes, orders.connections)]
    return [{number: (inbox[number], outbox[number]) for number in numbers} for numbers in of_process]


def _start(orders: Orders, sockets: Mapping[int, tuple[int, int]], opened: ExitStack) -> Process:
    handles = [handle for pair in sockets.values() for handle in pair]
    command = [sys.executable, str(WORKER)]
    # A process group of its own: a Ctrl-C of the terminal is for the campaign.
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "process_group": 0}
    process: Process = subprocess.Popen(command, pass_fds=handles, **pipes)
    opened.callback(_end, process)
    settings = {
        "job": orders.job,
        "place": words_of(orders.place),
        "store": orders.store,
        "claims": sorted(orders.claims),
        "connections": orders.connections,
        "sockets": sockets,
        **orders.settings,
    }
    _write(process, json.dumps(settings))
    return process


def _write(process: Process, line: str) -> None:
    assert process.stdin is not None
    # One that has broken is found by how it ends, and one may have been told to stop.
    with suppress(BrokenPipeError, ValueError):
        process.stdin.write(line + "\n")
        process.stdin.flush()


def _end(process: Process) -> None:
    process.kill()
    process.wait()
    for each in (process.stdin, process.stdout):
        assert each is not None
        with suppress(OSError):
            each.close()


class _Crew:
    """The workers, and everything that they say, in the order in which it is heard."""

    def __init__(self, workers: list[Process]) -> None:
        self.workers = workers
        self.interrupted = False
        # A simple one can be put into from a signal handler, whatever is under way.
        self._said: queue.SimpleQueue[tuple[int, Line | None]] = queue.SimpleQueue()
        self._ready = 0
        for number, each in enumerate(workers):
            threading.Thread(target=self._listen, args=(number, each), daemon=True).start()

    def _listen(self, number: int, process: Process) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._said.put((number, json.loads(line)))
        self._said.put((number, None))

    def interrupt(self) -> None:
        """End in order; asked a second time, end at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True
        self._said.put((0, {"dismiss": True}))

    def lead(self, hear: Hear) -> None:
        """Give the word when all are ready, and hear everything to the end."""
        working = len(self.workers)
        while working:
            number, line = self._said.get()
            if line is None:
                working -= 1
                if self.workers[number].wait(LAST_SECONDS):
                    self._dismiss()
            elif "dismiss" in line:
                self._dismiss()
            elif "ready" in line:
                self._begin()
            else:
                hear(number, line)

    def _begin(self) -> None:
        self._ready += 1
        for each in self.workers if self._ready == len(self.workers) else ():
            _write(each, "go")

    def _dismiss(self) -> None:
        for each in self.workers:
            assert each.stdin is not None
            with suppress(BrokenPipeError):
                each.stdin.close()
