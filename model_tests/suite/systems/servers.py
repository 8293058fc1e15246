"""Small servers on real sockets that behave and misbehave: a script says what each connection gets."""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from attrs import field, frozen

from keyturn.values import Json
from keyturn_testing.systems.http import HttpSystem

Script = Callable[["Connection"], None]
Open = Callable[..., HttpSystem]

OK = b"HTTP/1.1 200 OK\r\n"


@frozen
class Connection:
    """One connection that a server has taken, and whether the test is over."""

    socket: socket.socket
    over: threading.Event

    def request(self) -> Mapping[str, Json]:
        """Read one whole request and return the object in it; an end is the end of the script."""
        return json.loads(self.whole_request().partition(b"\r\n\r\n")[2])  # type: ignore[no-any-return]

    def whole_request(self) -> bytes:
        """Read one whole request, head and body."""
        read = b""
        while b"\r\n\r\n" not in read:
            read += self._more()
        head, _, body = read.partition(b"\r\n\r\n")
        length = next(int(each[15:]) for each in head.lower().split(b"\r\n") if each.startswith(b"content-length:"))
        while len(body) < length:
            body += self._more()
        return head + b"\r\n\r\n" + body

    def _more(self) -> bytes:
        data = self.socket.recv(65_536)
        if not data:
            raise EOFError
        return data

    def say(self, data: bytes) -> None:
        """Send it all."""
        self.socket.sendall(data)

    def answer(self, body: bytes, head: bytes = b"", status: bytes = b"200 OK") -> None:
        """Send one whole response."""
        length = b"Content-Length: %d\r\n" % len(body)
        self.say(b"HTTP/1.1 " + status + b"\r\n" + head + length + b"\r\n" + body)

    def wait(self) -> None:
        """Say nothing more until the test is over."""
        self.over.wait(30)

    def reset(self) -> None:
        """End the connection with a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@frozen
class Server:
    """A server that runs: its port, and how many connections it has taken."""

    port: int
    taken: list[Connection] = field(factory=list)

    @property
    def url(self) -> str:
        """Where it is asked."""
        return f"http://127.0.0.1:{self.port}/rpc"


def result(request: Mapping[str, Json], value: Json = None) -> bytes:
    """The proper answer to a request."""
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value or {}}).encode()


def steady(connection: Connection) -> None:
    """Answer everything properly, for as long as somebody asks."""
    while True:
        request = connection.request()
        connection.answer(result(request, request))


@contextmanager
def serving(*scripts: Script) -> Iterator[Server]:
    """Run a server on a free port: the first connection gets the first script, and the last script is for all that come later."""
    listener = socket.create_server(("127.0.0.1", 0))
    server, over = Server(listener.getsockname()[1]), threading.Event()
    threads: list[threading.Thread] = []

    def play(connection: Connection, script: Script) -> None:
        with connection.socket, suppress(OSError, EOFError):
            script(connection)

    def take() -> None:
        while not over.is_set():
            try:
                taken, _ = listener.accept()
            except OSError:
                return
            connection = Connection(taken, over)
            server.taken.append(connection)
            script = scripts[min(len(server.taken), len(scripts)) - 1]
            threads.append(threading.Thread(target=play, args=(connection, script)))
            threads[-1].start()

    taking = threading.Thread(target=take)
    taking.start()
    try:
        yield server
    finally:
        over.set()
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for each in server.taken:
            with suppress(OSError):
                each.socket.shutdown(socket.SHUT_RDWR)
        taking.join(10)
        for thread in threads:
            thread.join(10)


# ---- Scripts ---------------------------------------------------------------------------------------------------------


def says(data: bytes, *, and_ends: bool = False) -> Script:
    """A script that reads the request, says something, and then ends or falls silent."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(data)
        if not and_ends:
            connection.wait()

    return script


def page(status: str, head: str = "", body: str = "<html>\x1b[2J</html>") -> Script:
    """A script that answers with a status and a page."""
    text = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}"
    return says(text.encode("latin-1"))


def for_ever(data: bytes, pause: float = 0.0, *, first: bytes = b"") -> Script:
    """A script that says the same thing again and again."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(first)
        while not connection.over.wait(pause) if pause else not connection.over.is_set():
            connection.say(data)

    return script


def resets(after: bytes) -> Script:
    """A script that says something, and then resets the connection."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(after)
        time.sleep(0.1)  # so that it is read before the reset, which would take it back
        connection.reset()

    return script
