"""Calls that overlap: lanes of requests, and when each of them began and ended.

The calls of a lane follow one another; those of different lanes run at the same moment, each lane on a way of its own into the
system: a connection, a process, or a thread. All lanes start at a barrier, and one of them may be held back a little, so that
over several races different moments of the calls meet. A lane that does not come back is left behind and reported as hung: it
cannot hold up the suite.
"""

import sys
import threading
import time
from collections.abc import Callable, Sequence

from attrs import field, mutable

from keyturn_testing.systems.base import Breakdown, Choice, Lanes, Request, Schedule, System, Timed, Together

MOST_LANES = 4
"""How many lanes there are at most."""

_SWITCHES_SECONDS = 1e-5
_PATIENCE_SECONDS = 1.0
_STARTING_SECONDS = 30.0
"""How long lanes wait for each other at their start: on a busy machine a thread may come late, and that is nobody's fault."""


def next_schedule(choices: Sequence[Choice]) -> Schedule | None:
    """Return the schedule that comes after the one that led to these choices; None when there is none left.

    Taken one after the other from the empty one, they are every way in which the lanes can take turns.
    """
    for place in range(len(choices) - 1, -1, -1):
        if choices[place].chosen + 1 < choices[place].among:
            return (*(each.chosen for each in choices[:place]), choices[place].chosen + 1)
    return None


@mutable
class _Lane:
    """One lane as it runs on its thread: what was answered so far, or what ended it."""

    replies: list[Timed] = field(factory=list)
    failure: BaseException | None = None


class Ways:
    """The ways into one system: its own, and as many more as overlapping calls have needed, each opened by `open_another`.

    Without that, all of them are the same.
    """

    def __init__(self, system: System, open_another: Callable[[], System] | None, time_limit: float) -> None:
        self._system, self._open_another, self._time_limit = system, open_another, time_limit
        self._others: list[System] = []
        self._turn = 0

    def together(self, lanes: Lanes) -> Together:
        """Make the calls of all lanes at the same moment; raise the `Breakdown` of the first lane that has one."""
        while self._open_another is not None and len(self._others) < len(lanes) - 1:
            self._others.append(self._open_another())
        self._turn += 1
        systems = (self._system, *(self._others or [self._system] * (len(lanes) - 1)))
        barrier = threading.Barrier(len(lanes))
        running = [_Lane() for _ in lanes]
        threads = [
            threading.Thread(
                target=_run_lane,
                args=(systems[number], lane, running[number], barrier, self._held_back(number)),
                daemon=True,
            )
            for number, lane in enumerate(lanes)
        ]
        deadline = time.monotonic() + self._time_limit * max(map(len, lanes)) + _PATIENCE_SECONDS
        interval = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCHES_SECONDS)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))
        finally:
            sys.setswitchinterval(interval)
        for number, lane in enumerate(running):
            if lane.failure is not None:
                raise lane.failure
            if threads[number].is_alive():
                waiting = lanes[number][len(lane.replies)].method
                raise Breakdown(
                    "hung", f"no answer to {waiting}, which ran beside other calls, within {self._time_limit:g} s"
                )
        return Together(tuple(tuple(lane.replies) for lane in running))

    def close(self) -> None:
        """Close the ways that were opened here; the system itself is not ours to close."""
        while self._others:
            self._others.pop().close()

    def _held_back(self, number: int) -> float:
        """How many seconds a lane waits after the barrier: now none of them, now another one."""
        return _DELAYS[self._turn // MOST_LANES % len(_DELAYS)] if self._turn % MOST_LANES == number else 0.0


_DELAYS = (0.0, 0.0002, 0.0005, 0.001, 0.002)


def _run_lane(
    system: System, requests: Sequence[Request], lane: _Lane, barrier: threading.Barrier, held_back: float
) -> None:
    try:
        barrier.wait(_STARTING_SECONDS)
        if held_back:
            time.sleep(held_back)
        for request in requests:
            began = time.monotonic_ns()
            reply = system.call(request.method, request.params)
            lane.replies.append(Timed(reply, began, time.monotonic_ns()))
    except BaseException as failure:  # noqa: BLE001  # whatever it is, it is raised again on the thread that waits
        lane.failure = failure
