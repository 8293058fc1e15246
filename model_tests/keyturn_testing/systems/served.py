"""A command that serves over HTTP as a system under test: the suite starts it, kills it, and starts it again on its data.

The command finds the folder of the run in `KEYTURN_DATA`, as a command on standard input and output does. It writes the URL at
which it answers as a line on its standard output once it listens, and everything else where it likes; from then on it is a
server like any other. It leads a process group of its own, which is ended with it.
"""

import os
import queue
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar, cast

from attrs import evolve

from keyturn.values import Json
from keyturn_testing.systems.base import Answered, Breakdown, Killed, Lanes, Reply, Schedule, Together
from keyturn_testing.systems.http import HttpSystem
from keyturn_testing.systems.killing import kill_during
from keyturn_testing.systems.phases import PhaseFile
from keyturn_testing.systems.processes import end_group, environment_of, kill_group, why_not_started, words_of
from keyturn_testing.systems.saying import LOG_BYTES, legible

T = TypeVar("T")

_LONGEST_LINE_BYTES = 10_000
_CLOSING_SECONDS = 2.0


class ServedSystem:
    """The system that a command serves; `time_limit` is in seconds, for each call and for the URL to come.

    A command that cannot be started, or says no URL, is a breakdown, `not_started`, also of `restart`.
    """

    can_be_killed = True

    def __init__(self, command: str, data: Path, *, time_limit: float = 10.0) -> None:
        self._command = words_of(command, "the server, as in served:./my-server")
        self._time_limit = time_limit
        data.mkdir(parents=True, exist_ok=True)
        self._phase = PhaseFile()
        self._environment = environment_of(data, self._phase)
        self._log = bytearray()
        self._process: subprocess.Popen[bytes] | None = None
        self._http: HttpSystem | None = None
        try:
            self._start()
        except Breakdown:
            self._phase.close()
            raise

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Send one request and wait for its reply."""
        return self._logged(lambda http: http.call(method, params))

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Make calls at the same moment, each lane with a connection of its own."""
        return self._logged(lambda http: http.together(lanes, schedule))

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Send one request, and kill the server with all that it started `after` so many seconds."""
        found = kill_during(lambda: self._running().call(method, params), self._send_kill, after)
        self._end()
        return evolve(found, phase=self._phase.read())

    def restart(self) -> Reply:
        """Kill the server with all that it started, and start the same command with the same folder."""
        self._end()
        self._start()
        return Answered({})

    def close(self) -> None:
        """Ask the server to end (SIGTERM), give it two seconds, and kill what is left."""
        process = self._process
        if process is not None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_CLOSING_SECONDS)
        self._end()
        self._phase.close()

    def _logged(self, ask: Callable[[HttpSystem], T]) -> T:
        try:
            return ask(self._running())
        except Breakdown as broken:
            raise self._with_log(broken) from None

    def _with_log(self, broken: Breakdown) -> Breakdown:
        return Breakdown(broken.kind, broken.message, log=broken.log or legible(bytes(self._log)))

    def _running(self) -> HttpSystem:
        if self._http is None:
            raise RuntimeError("this system was killed or closed: only `restart` and `close` may be called")
        return self._http

    def _start(self) -> None:
        self._phase.clear()
        try:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Breakdown("not_started", why_not_started(self._command[0], error)) from None
        self._process = process
        self._guard = weakref.finalize(self, end_group, process, os.getpid())
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        for stream, sink in ((process.stdout, lines), (process.stderr, None)):
            reading = threading.Thread(target=_drain, args=(cast(IO[bytes], stream), self._log, sink), daemon=True)
            reading.start()
        try:
            url = self._url(process, lines)
            self._http = HttpSystem(url, time_limit=self._time_limit)
        except Breakdown as broken:
            self._end()
            raise self._with_log(broken) from None

    def _url(self, process: "subprocess.Popen[bytes]", lines: "queue.SimpleQueue[bytes]") -> str:
        """The line on its standard output that is a URL."""
        end = time.monotonic() + self._time_limit
        while time.monotonic() < end:
            with suppress(queue.Empty):
                line = lines.get(timeout=0.02)
                text = line.strip().decode("ascii", "replace")
                if text.startswith(("http://", "https://")):
                    return text
                continue
            if process.poll() is not None:
                raise Breakdown(
                    "not_started",
                    f"the server ended with status {process.returncode} before it said at which URL it answers",
                )
        said = f"no line with a URL came on the server's standard output within {self._time_limit:g} s"
        raise Breakdown("not_started", f"{said}: it writes that line once it listens")

    def _send_kill(self) -> None:
        if self._process is not None:
            kill_group(self._process)

    def _end(self) -> None:
        http, self._http = self._http, None
        if http is not None:
            http.close()
        if self._process is not None:
            self._guard()
            self._process = None


def _drain(stream: IO[bytes], log: bytearray, lines: "queue.SimpleQueue[bytes] | None") -> None:
    """Read a stream to its end, so that nobody waits for us: the log keeps its end, and lines go where they are waited for."""
    while chunk := stream.readline(_LONGEST_LINE_BYTES):
        if lines is None:
            log += chunk
            del log[:-LOG_BYTES]
        else:
            lines.put(chunk)
    stream.close()
