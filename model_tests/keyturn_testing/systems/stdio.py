"""A command as a system under test: JSON-RPC 2.0, one object a line, on its standard input and output.

The command leads a process group of its own, so that Ctrl-C reaches only us and one signal ends it with all that it
started. All three pipes are polled together without blocking, each call under one deadline: a system that writes before
it reads, floods its log or falls silent can neither block us nor be waited for. Everything that it says is hostile: a
line is bounded before it is kept, decoded strictly, and quoted in ASCII. What is not a proper reply is a breakdown, and
a breakdown ends the process.
"""

import os
import select
import shlex
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE
from typing import IO, cast

from attrs import evolve

from keyturn.values import Json
from keyturn_testing.systems.base import Answered, Breakdown, Killed, Lanes, Reply, Schedule, Together
from keyturn_testing.systems.killing import kill_during
from keyturn_testing.systems.lines import encode_json, reply_of
from keyturn_testing.systems.phases import PhaseFile
from keyturn_testing.systems.processes import end_group, environment_of, kill_group, why_not_started, words_of
from keyturn_testing.systems.saying import LOG_BYTES, legible, quoted
from keyturn_testing.systems.together import Ways

LONGEST_LINE_BYTES = 8 * 1024 * 1024
"""How long one line may be, its end not counted."""

_CHUNK_BYTES = 65_536
_CLOSING_SECONDS = 2.0
# How long a process that closed a pipe may take to end, before that counts as what it did.
_ENDING_SECONDS = 1.0


# ---- One life of the process ----------------------------------------------------------------------------------------


class _Child:
    """One running process, its group, and the three pipes to it; `log` is where the end of its log is kept."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str], cwd: Path | None, log: bytearray) -> None:
        self._process = subprocess.Popen(
            command, bufsize=0, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=cwd, env=variables, start_new_session=True
        )
        # For a system that nobody closes, also at our own exit.
        self._guard = weakref.finalize(self, end_group, self._process, os.getpid())
        pipes = (self._process.stdin, self._process.stdout, self._process.stderr)
        self._pipes = cast(tuple[IO[bytes], IO[bytes], IO[bytes]], pipes)
        self._input, self._output, self._errors = (pipe.fileno() for pipe in self._pipes)
        # `poll` and not `selectors`: it is there on Linux and macOS, and a third of the cost for each call.
        self._poll = select.poll()
        os.set_blocking(self._input, False)
        for descriptor in (self._output, self._errors):
            os.set_blocking(descriptor, False)
            self._poll.register(descriptor, select.POLLIN)
        self._log = log
        self._unsent = b""
        self._is_deaf = False
        self._received = bytearray()

    def exchange(self, request: bytes, method: str, time_limit: float) -> bytes:
        """Send a line and return the next line that comes; raise `Breakdown` for silence, an end, or too much."""
        deadline = time.monotonic() + time_limit
        self._send(request)
        if self._received and (line := self._line(0)) is not None:
            return line
        while True:
            if self._is_deaf:
                deadline = min(deadline, time.monotonic() + _ENDING_SECONDS)
            left = deadline - time.monotonic()
            if left <= 0:
                raise self._silence(method, time_limit)
            for descriptor, _ in self._poll.poll(int(left * 1000) + 1):
                if descriptor == self._output:
                    if (line := self._receive(method)) is not None:
                        return line
                elif descriptor == self._errors:
                    self._keep_log()
                else:
                    self._send(b"")

    def _send(self, request: bytes) -> None:
        """Send what the pipe takes, and wait for it to take more when that is not all."""
        waiting = bool(self._unsent)
        unsent = self._unsent + request if waiting else request
        try:
            unsent = unsent[os.write(self._input, unsent) :]
        except BlockingIOError:
            pass
        except OSError:
            # It may be ending: what it last wrote, and how it ends, is still to be read.
            unsent, self._is_deaf = b"", True
        self._unsent = unsent
        if unsent and not waiting:
            self._poll.register(self._input, select.POLLOUT)
        elif waiting and not unsent:
            self._poll.unregister(self._input)

    def _receive(self, method: str) -> bytes | None:
        """Read what is there, and return the line that it completes."""
        try:
            chunk = os.read(self._output, _CHUNK_BYTES)
        except BlockingIOError:
            return None
        if not chunk:
            raise self._end(method)
        if not self._received and chunk.find(b"\n") == len(chunk) - 1:
            return chunk[:-1]
        self._received += chunk
        line = self._line(len(self._received) - len(chunk))
        if len(self._received if line is None else line) > LONGEST_LINE_BYTES:
            said = f"a line of more than {LONGEST_LINE_BYTES // 2**20} MiB came as the answer to {method}"
            raise Breakdown("too_much", f"{said}: {quoted(bytes(self._received[:1000]) if line is None else line)}")
        return line

    def _line(self, start: int) -> bytes | None:
        end = self._received.find(b"\n", start)
        if end < 0:
            return None
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line

    def _keep_log(self) -> bool:
        """Read more of its log; false when there is nothing for now, or never again."""
        try:
            chunk = os.read(self._errors, _CHUNK_BYTES)
        except BlockingIOError:
            return False
        if not chunk:
            with suppress(KeyError):  # it may have ended before
                self._poll.unregister(self._errors)
            return False
        self._log += chunk
        del self._log[:-LOG_BYTES]
        return True

    def _silence(self, method: str, time_limit: float) -> Breakdown:
        if self._is_deaf or self._process.poll() is not None:
            return self._end(method, 0)  # it may be gone, while something that it started holds its pipes open
        unread = ", and it did not read the whole request" if self._unsent else ""
        return Breakdown("hung", f"no answer to {method} within {time_limit:g} s{unread}{self._half_a_line()}")

    def _end(self, method: str, patience: float = _ENDING_SECONDS) -> Breakdown:
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            said = f"it closed its standard {'input' if self._is_deaf else 'output'}"
        else:
            name = next((each.name for each in signal.Signals if each == -code), f"signal {-code}")
            said = f"it was ended by {name}" if code < 0 else f"it exited with status {code}"
        return Breakdown("crashed", f"{said} before it answered {method}{self._half_a_line()}")

    def _half_a_line(self) -> str:
        return f"; it had written half a line: {quoted(bytes(self._received[:1000]))}" if self._received else ""

    def finish(self) -> None:
        """Ask it to end, by the end of its input; wait for two seconds, and kill what is left."""
        try:
            if self._unsent:
                self._poll.unregister(self._input)
            self._pipes[0].close()
            deadline = time.monotonic() + _CLOSING_SECONDS
            while self._process.poll() is None and time.monotonic() < deadline:
                # A system that has more to say must not wait for us to read it.
                for descriptor, _ in self._poll.poll(5):
                    if descriptor == self._errors:
                        self._keep_log()
                    elif not os.read(self._output, _CHUNK_BYTES):
                        self._poll.unregister(self._output)
        finally:
            self.kill()

    def send_kill(self) -> None:
        """Kill the group, and wait for nothing."""
        kill_group(self._process)

    def kill(self) -> None:
        """Kill the group, wait until it is gone, and keep the end of its log."""
        self._guard()
        for pause in (0.001, 0.004, 0.016, 0.064):
            try:
                os.killpg(self._process.pid, 0)
            except OSError:
                break
            time.sleep(pause)  # the others of the group have no parent here who could wait for them
        for _ in range(64):  # one of its children may have left the group, and write for ever
            if not self._keep_log():
                break
        for pipe in self._pipes:
            with suppress(OSError):
                pipe.close()


# ---- The system -----------------------------------------------------------------------------------------------------


class StdioSystem:
    """The system that a command starts; `command` is split as a shell would, but no shell reads it.

    `data` is the folder that the command finds in `KEYTURN_DATA`; `time_limit` is in seconds, for each call. A command
    that cannot be started is a breakdown, `not_started`, also of `restart`.
    """

    def __init__(
        self,
        command: Sequence[str] | str,
        data: Path,
        *,
        time_limit: float = 10.0,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._command = words_of(command, "the system, as in stdio:./my-server")
        self._time_limit = time_limit
        self._cwd = cwd
        self._data, self._variables = data, environment
        self._ways = Ways(self, self._beside, time_limit)
        data.mkdir(parents=True, exist_ok=True)
        # Not in the folder of the data, which is the system's.
        self._phase = PhaseFile()
        self._environment = environment_of(data, self._phase, environment or {})
        self._log = bytearray()
        self._number = 0
        self._answered = False
        self._crashed = False
        self._child: _Child | None = self._start()

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Send one request and wait for its reply."""
        child = self._running()
        self._number += 1
        request = encode_json({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        try:
            line = child.exchange(request.encode() + b"\n", method, self._time_limit)
            reply = reply_of(line, self._number, method)
        except Breakdown as broken:
            raise self._breakdown(broken) from None
        self._answered = True
        return reply

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Make calls at the same moment, each lane with a process of its own on the same folder."""
        self._running()
        return self._ways.together(lanes)

    can_be_killed = True

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Send one request, and kill the process with all that it started `after` so many seconds."""
        child = self._running()
        found = kill_during(lambda: self.call(method, params), child.send_kill, after)
        if self._child is not None:
            child.kill()
        self._child, self._crashed = None, True
        return evolve(found, phase=self._phase.read())

    def restart(self) -> Reply:
        """Kill the process with all that it started, unless it has crashed, and start the same command with the same folder."""
        self._ways.close()
        child, self._child = self._child, None
        if child is not None:
            child.kill()
        elif not self._crashed:
            self._running()
        self._child, self._crashed = self._start(), False
        return Answered({})

    def close(self) -> None:
        """Ask the process to end, give it two seconds, and kill all that is left of it."""
        self._ways.close()
        child, self._child, self._crashed = self._child, None, False
        if child is not None:
            with suppress(OSError):
                child.finish()
        self._phase.close()

    def _beside(self) -> "StdioSystem":
        """Another process of the same command, on the same folder."""
        return StdioSystem(
            self._command, self._data, time_limit=self._time_limit, cwd=self._cwd, environment=self._variables
        )

    def _running(self) -> _Child:
        if self._child is None:
            raise RuntimeError("this system has broken down or was closed: only `close` may be called")
        return self._child

    def _start(self) -> _Child:
        self._phase.clear()
        try:
            return _Child(self._command, self._environment, self._cwd, self._log)
        except (OSError, ValueError) as error:
            raise Breakdown("not_started", why_not_started(self._command[0], error)) from None

    def _breakdown(self, broken: Breakdown) -> Breakdown:
        child, self._child = self._running(), None
        child.kill()
        kind, message = broken.kind, broken.message
        if kind == "crashed" and not self._answered:
            kind, message = "not_started", f"{message}. Run {quoted(shlex.join(self._command))} by hand to see why"
        self._crashed = kind == "crashed"
        return Breakdown(kind, message, log=legible(bytes(self._log)))
