"""One connection to a server that speaks HTTP/1.1: a request goes out, and one answer comes back, all under one deadline.

The socket never blocks, so that the limit is one for the whole call, and not one for each pause between two bytes. What
is HTTP and what is none is decided by h11, which reads strictly and does nothing else. A request leaves in one piece,
with Nagle's algorithm off. Nothing is unpacked and no redirect is followed: what was not asked for is a breakdown.
"""

import errno
import select
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import TypeAlias

import h11
from attrs import frozen

from keyturn_testing.systems.base import Breakdown
from keyturn_testing.systems.saying import escaped, quoted

LONGEST_BODY_BYTES = 8 * 1024 * 1024
"""How long the body of an answer may be."""

LONGEST_HEAD_BYTES = 64 * 1024
"""How long the head of an answer may be, with its status line."""

FRESH_SECONDS = 1.0
"""How long a connection may have been idle and is still used: servers close theirs after some seconds, and one that does
so while a request is on its way leaves nobody knowing whether it was read."""

_CHUNK_BYTES = 65_536
_MOST_HINTS = 100
_BEGINNING = b"HTTP/1."
_TLS_ALERT = b"\x15\x03"

Address: TypeAlias = tuple[str, int]


@frozen
class Answer:
    """What a server answered: the status, the headers with their names in lower case, and the whole body."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def header(self, name: bytes) -> bytes:
        """The first header of this name; empty when there is none."""
        return next((value for each, value in self.headers if each == name), b"")


class Unreachable(Exception):
    """No connection could be made, and nothing was sent; the message says why.

    `again` says that nobody listens yet, so that a later try might do better, and `late` that the time is over.
    """

    def __init__(self, message: str, *, again: bool = False, late: bool = False) -> None:
        super().__init__(message)
        self.again, self.late = again, late


class Connection:
    """One connection, and the one exchange at a time that it carries."""

    def __init__(self, address: Address, deadline: float, context: ssl.SSLContext | None, secret: bytes = b"") -> None:
        """Connect before the deadline, with TLS when there is a context for it; raise `Unreachable`.

        `secret` is what is never quoted, whoever repeats it.
        """
        self._secret = secret
        self._socket = _connected(address, deadline)
        if context is not None:
            self._socket = _secured(self._socket, context, address, deadline)
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=LONGEST_HEAD_BYTES)
        self._used = time.monotonic()
        self._reusable = True

    def close(self) -> None:
        """Close it; what is still on its way is for nobody."""
        with suppress(OSError):
            self._socket.close()

    def is_usable(self, method: str) -> bool:
        """Whether another request may be sent here; raise `Breakdown` for what came without being asked for.

        A server may close an idle connection at any time. That is seen here, before anything is sent, so that another
        connection can take its place.
        """
        if not self._reusable or time.monotonic() - self._used > FRESH_SECONDS:
            return False
        try:
            unasked = self._receive()
        except OSError:
            return False
        # 408 is how some servers say that they close an idle connection.
        if not unasked or unasked.startswith(b"HTTP/1.1 408 "):
            return unasked is None
        said = f"before {method} was asked, something came that nobody had asked for"
        raise Breakdown("garbage", f"{said}: {quoted(without(unasked, self._secret))}")

    def exchange(self, head: h11.Request, body: bytes, method: str, deadline: float, time_limit: float) -> Answer:
        """Send one request and return its answer; raise `Breakdown` for silence, an end, garbage, or too much."""
        if self._h11.our_state is not h11.IDLE:
            self._h11.start_next_cycle()
        parts = (head, h11.Data(body), h11.EndOfMessage())
        request = memoryview(b"".join(self._h11.send(each) or b"" for each in parts))
        came = _Coming(method, time_limit, self._secret)
        unsent = self._send(request, came, deadline)
        while True:
            event = self._next_event(came)
            if event is h11.NEED_DATA:
                came.unsent = len(unsent)
                unsent = self._wait(unsent, came, deadline)
            elif isinstance(event, h11.InformationalResponse):
                came.hints()
            elif isinstance(event, h11.Response):
                came.begins(event)
            elif isinstance(event, h11.Data):
                came.goes_on(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return self._ended(came, bool(unsent))

    def _next_event(self, came: "_Coming") -> object:
        try:
            return self._h11.next_event()
        except h11.RemoteProtocolError as error:
            raise came.garbled(error) from None

    def _send(self, unsent: memoryview, came: "_Coming", deadline: float) -> memoryview:
        """Send what the socket takes; a server that answers before it has read everything has its answer read."""
        while unsent:
            try:
                unsent = unsent[self._socket.send(unsent) :]
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return unsent
            except OSError as error:
                came.lost = error
                return memoryview(b"")
        return unsent

    def _wait(self, unsent: memoryview, came: "_Coming", deadline: float) -> memoryview:
        """Wait until something can be read or sent, and do it."""
        while True:
            try:
                data = self._receive()
            except OSError as error:
                raise came.ended(came.lost or error) from None
            if data is not None:
                came.count(data)
                if not data and came.answer is None:
                    raise came.ended(came.lost)
                try:
                    self._h11.receive_data(data)
                except h11.RemoteProtocolError as error:
                    raise came.garbled(error) from None
                return unsent
            left = deadline - time.monotonic()
            if left <= 0:
                raise came.silence()
            self._poll.modify(self._socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            self._poll.poll(int(left * 1000) + 1)
            if unsent:
                unsent = self._send(unsent, came, deadline)
                came.unsent = len(unsent)

    def _receive(self) -> bytes | None:
        """What has come: nothing (None) for now, or never again (empty)."""
        try:
            return self._socket.recv(_CHUNK_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return None
        except ssl.SSLEOFError:
            return b""

    def _ended(self, came: "_Coming", half_sent: bool) -> Answer:
        trailing, _ = self._h11.trailing_data
        if trailing:
            said = f"more came than the answer to {came.method}, by the length that it said"
            raise Breakdown("garbage", f"{said}: {came.shown(bytes(trailing))}")
        states = self._h11.our_state, self._h11.their_state
        self._reusable = not half_sent and came.lost is None and states == (h11.DONE, h11.DONE)
        self._used = time.monotonic()
        assert came.answer is not None
        return Answer(came.answer.status_code, tuple(came.answer.headers), b"".join(came.body))


class _Coming:
    """What has come of one answer so far, and the words for what becomes of it."""

    def __init__(self, method: str, time_limit: float, secret: bytes) -> None:
        self.method = method
        self._secret = secret
        self.answer: h11.Response | None = None
        self.body: list[bytes] = []
        self.unsent = 0
        self.lost: OSError | None = None
        self._time_limit = time_limit
        self._size = self._received = self._hints = 0
        self._start = b""

    def count(self, data: bytes) -> None:
        """Count what came, in whatever form, and find out from its first bytes whether it is HTTP at all."""
        self._received += len(data)
        self._start = (self._start + data)[:1000]
        if self._start[: len(_BEGINNING)] != _BEGINNING[: len(self._start)]:
            raise self._not_http("it does not begin like that")
        if self._received > LONGEST_BODY_BYTES + 16 * LONGEST_HEAD_BYTES:
            raise self._too_much()

    def hints(self) -> None:
        """Count an answer before the answer, such as `103 Early Hints`."""
        self._hints += 1
        if self._hints > _MOST_HINTS:
            said = f"more than {_MOST_HINTS} answers of the kind 1xx came before the answer to {self.method}"
            raise Breakdown("too_much", f"{said}: {self.shown(self._start)}")

    def begins(self, answer: h11.Response) -> None:
        """Take the head of the answer; one that announces too much is not read on."""
        self.answer = answer
        length = next((value for name, value in answer.headers if name == b"content-length"), b"0")
        if int(length) > LONGEST_BODY_BYTES:
            raise self._too_much()

    def goes_on(self, data: bytes) -> None:
        """Take more of the body."""
        self._size += len(data)
        if self._size > LONGEST_BODY_BYTES:
            raise self._too_much()
        self.body.append(bytes(data))

    def _too_much(self) -> Breakdown:
        said = f"more than {LONGEST_BODY_BYTES // 2**20} MiB came as the answer to {self.method}"
        return Breakdown("too_much", f"{said}: {self.shown(self._start)}")

    def silence(self) -> Breakdown:
        """Say that the time is over, and how far the answer had come."""
        unread = ", and it did not read the whole request" if self.unsent else ""
        return Breakdown("hung", f"no answer to {self.method} within {self._time_limit:g} s{unread}{self._so_far()}")

    def ended(self, error: OSError | None) -> Breakdown:
        """Say that the connection ended before the answer did."""
        was_reset = error is not None and error.errno in (errno.ECONNRESET, errno.EPIPE)
        how = "it reset" if was_reset else "it closed" if error is None else f"{escaped(str(error))}: it lost"
        return Breakdown("crashed", f"{how} the connection before it had answered {self.method}{self._so_far()}")

    def garbled(self, error: h11.RemoteProtocolError) -> Breakdown:
        """Say that what came is not HTTP, or too long to be a head, or ends too early."""
        said = escaped(str(error))
        if "peer closed connection" in said:
            return self.ended(None)
        if error.error_status_hint == 431:
            limit = f"a head of more than {LONGEST_HEAD_BYTES // 1024} KiB"
            return Breakdown("too_much", f"{limit} came with the answer to {self.method}: {self.shown(self._start)}")
        return self._not_http(said)

    def _not_http(self, why: str) -> Breakdown:
        advice = ". It may speak TLS: write https://" if self._start.startswith(_TLS_ALERT) else ""
        said = f"the answer to {self.method} is not HTTP/1.1 ({why})"
        return Breakdown("garbage", f"{said}: {self.shown(self._start)}{advice}")

    def shown(self, data: bytes) -> str:
        """What came, as it may be shown."""
        return quoted(without(data, self._secret))

    def _so_far(self) -> str:
        if not self._received:
            return ""
        if self.answer is None:
            return f"; a part of a head had come: {self.shown(self._start)}"
        return f"; the head and {self._size} bytes of the body had come: {self.shown(b''.join(self.body)[:1000])}"


def without(data: bytes, secret: bytes) -> bytes:
    """Return what a server sent, with dots for a secret that it repeats."""
    return data.replace(secret, b"...") if secret else data


# ---- Connecting -----------------------------------------------------------------------------------------------------


def _connected(address: Address, deadline: float) -> socket.socket:
    problem: OSError | None = None
    for family, kind, protocol, _, each in _looked_up(address, deadline):
        made = socket.socket(family, kind, protocol)
        try:
            made.settimeout(_left(deadline))
            made.connect(each)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            made.close()
            problem = error
        else:
            return made
    if isinstance(problem, TimeoutError):
        raise Unreachable("it did not take the connection in time", late=True)
    if isinstance(problem, ConnectionRefusedError):
        raise Unreachable("nobody listens there", again=True)
    raise Unreachable(escaped(str(problem)) if problem else "its name stands for no address")


_Found: TypeAlias = list[
    tuple[socket.AddressFamily, socket.SocketKind, int, str, tuple[str, int] | tuple[str, int, int, int]]
]


def _looked_up(address: Address, deadline: float) -> _Found:
    """The addresses that a name stands for; a resolver cannot be given a time, so it is waited for on a thread."""
    host, port = address
    found: list[_Found] = []
    problems: list[OSError | UnicodeError] = []

    def look() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))  # type: ignore[arg-type]
        except (OSError, UnicodeError) as error:
            problems.append(error)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(_left(deadline))
    if found:
        return found[0]
    if problems:
        raise Unreachable(f"its name cannot be looked up ({escaped(str(problems[0]))})")
    raise Unreachable("its name could not be looked up in time", late=True)


def _secured(plain: socket.socket, context: ssl.SSLContext, address: Address, deadline: float) -> socket.socket:
    try:
        plain.settimeout(_left(deadline))
        return context.wrap_socket(plain, server_hostname=address[0])
    except ssl.SSLCertVerificationError as error:
        plain.close()
        said = f"its certificate is not trusted ({escaped(error.verify_message)})"
        raise Unreachable(f"{said}: name a file with its authority in SSL_CERT_FILE") from None
    except TimeoutError:
        plain.close()
        raise Unreachable("it did not answer the TLS handshake in time", late=True) from None
    except (ssl.SSLError, OSError) as error:
        plain.close()
        raise Unreachable(
            f"it does not speak TLS ({escaped(str(error))}): write http:// if it is not meant to"
        ) from None


def _left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.001)
