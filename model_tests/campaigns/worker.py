"""One process of a campaign: opens a store for each of its lanes, and lets them work at once.

It reads one line of settings and one that says to begin; when its input ends it stops, so that none outlives its campaign. It
writes one JSON object a line. Sockets that lanes hand things over are inherited.
"""

import json
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from socket import socket
from typing import Any

from clicking_lane import click_in_pairs
from keyturn.capabilities import Capability
from lanes import Lane
from loading_lane import work
from places import open_store, place_of

JOBS: Mapping[str, Callable[[Lane], None]] = {"load": work, "double-clicks": click_in_pairs}
"""What the lanes of a campaign do, by its name."""


class Worker:
    """The lanes of this process, and how they end."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.stop = threading.Event()
        self.broke = False
        self._out = threading.Lock()

    def say(self, line: Mapping[str, Any]) -> None:
        """Write one line, whole."""
        with self._out:
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()

    def run(self) -> None:
        """Open the stores, wait for the word, and work until all is done or the input ends."""
        with ExitStack() as opened:
            threads = [
                threading.Thread(target=self._work, args=(self._lane(each, opened),)) for each in self._numbers()
            ]
            self.say({"ready": len(threads)})
            if not sys.stdin.readline():
                return
            threading.Thread(target=self._watch, daemon=True).start()
            for each in threads:
                each.start()
            for each in threads:
                each.join()

    def _numbers(self) -> list[int]:
        return [int(each) for each in self.settings["sockets"]]

    def _lane(self, number: int, opened: ExitStack) -> Lane:
        claims = frozenset(map(Capability, self.settings["claims"]))
        store = open_store(place_of(self.settings["place"]), self.settings["store"], claims)
        inbox, outbox = (opened.enter_context(socket(fileno=each)) for each in self.settings["sockets"][str(number)])
        inbox.setblocking(False)
        outbox.setblocking(False)
        opened.enter_context(closing(store))
        return Lane(number, store, self.settings, self.stop, inbox, outbox, self.say)

    def _work(self, lane: Lane) -> None:
        try:
            JOBS[self.settings["job"]](lane)
        except Exception:  # noqa: BLE001  # whatever it is, the campaign is told, and the others stop
            with self._out:
                if not self.broke:
                    traceback.print_exc()
                self.broke = True
            self.stop.set()

    def _watch(self) -> None:
        sys.stdin.read()
        self.stop.set()


def main() -> None:
    """Work as the first line says."""
    worker = Worker(json.loads(sys.stdin.readline()))
    worker.run()
    sys.stdout.flush()
    raise SystemExit(1 if worker.broke else 0)


if __name__ == "__main__":
    main()
