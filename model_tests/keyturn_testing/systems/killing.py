"""Killing the process that a call runs in: at a moment that a clock decides, whatever the call is doing then."""

import threading
import time
from collections.abc import Callable

from keyturn_testing.systems.base import Breakdown, Killed, Reply

_SPUN_SECONDS = 0.001


def kill_during(call: Callable[[], Reply], kill: Callable[[], None], after: float) -> Killed:
    """Make a call, kill its process `after` so many seconds, and return the reply where it came all the same.

    Raise the `Breakdown` of a call that ended in any other way than with its process.
    """
    begun = threading.Event()
    killer = threading.Thread(target=_kill_at, args=(begun, kill, after), daemon=True)
    killer.start()
    reply: Reply | None = None
    start = time.monotonic()
    begun.set()
    try:
        reply = call()
    except Breakdown as broken:
        if broken.kind != "crashed":
            raise
    finally:
        seconds = time.monotonic() - start
        killer.join()
    return Killed(reply, seconds)


def _kill_at(begun: threading.Event, kill: Callable[[], None], after: float) -> None:
    begun.wait()
    end = time.monotonic() + after
    # A sleep may take a little longer than it should; the last millisecond is waited out awake.
    if after > _SPUN_SECONDS:
        time.sleep(after - _SPUN_SECONDS)
    while time.monotonic() < end:
        time.sleep(0)
    kill()
