"""A server as a system under test: JSON-RPC 2.0, one object in the body of each `POST` to one address.

A system has one connection, which is kept alive; `beside` gives another system on the same server, with a connection of its own,
for calls at the same moment. A request is sent once and never again: when its answer is lost, nobody knows whether it was carried
out, so that is a breakdown, `crashed`, as the end of a process is; only where a fault was armed that ends the process does the
driver restart the system, and take the call for one that nobody heard. Only a connection that was idle is replaced, before
anything is sent on it. The suite cannot kill a server, so `restart` is a call like the others.
"""

import os
import re
import ssl
import time
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import h11
from attrs import frozen

from keyturn.values import Json
from keyturn.version import VERSION
from keyturn_testing.systems.base import Breakdown, Killed, Lanes, NotRead, Reply, Schedule, Together, WentWrong
from keyturn_testing.systems.http_connection import Answer, Connection, Unreachable, without
from keyturn_testing.systems.lines import encode_json, reply_of
from keyturn_testing.systems.saying import escaped, quoted
from keyturn_testing.systems.together import Ways

TOKEN_VARIABLE = "KEYTURN_TOKEN"
"""The environment variable with the bearer token, for both sides."""

SHORTEST_SECRET = 16
"""How long a token must be so that it is recognised, and kept out of reports, wherever a server repeats it."""

_AGAIN_SECONDS = 0.05
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*")
_PATH = re.compile(r"[!-~]*")


@frozen
class Endpoint:
    """Where a server answers: its address, and the path with its query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> str:
        """The address as it stands in a URL and in the header `Host`, with the port where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        """The URL."""
        return f"{self.scheme}://{self.origin}{self.target}"


_PORTS = {"http": 80, "https": 443}


def endpoint_of(url: str) -> Endpoint:
    """Read a URL; raise `ValueError` with a message that says what is wrong with it, and never holds a password."""
    if not _PATH.fullmatch(url):
        raise ValueError("a URL is ASCII without spaces: write other characters in percent-encoding")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise ValueError(f"it is no URL ({escaped(str(error))})") from None
    if parts.scheme not in _PORTS or not host:
        raise ValueError(
            "a URL begins with http:// or https:// and the name of a host: write `http://127.0.0.1:8000/rpc`"
        )
    if "@" in parts.netloc:
        raise ValueError(f"a user and a password in a URL would be shown in reports: put a token into {TOKEN_VARIABLE}")
    if parts.fragment:
        raise ValueError("what stands after # is never sent to a server: leave it out")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Endpoint(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, target)


def token_of(variables: Mapping[str, str]) -> str | None:
    """Return the bearer token of an environment, or None; raise `ValueError` for what no header may hold."""
    token = variables.get(TOKEN_VARIABLE) or None
    if token is not None and not _TOKEN.fullmatch(token):
        raise ValueError(
            f"{TOKEN_VARIABLE} is no bearer token: it may hold letters, digits and - . _ ~ + / and end with ="
        )
    return token


class HttpSystem:
    """The system that a server is, at one address.

    `time_limit` is in seconds, for each call with all that belongs to it. The token is the one of the environment, unless it is
    given. A server that cannot be reached at first is a breakdown, `not_started`.
    """

    def __init__(self, url: str, *, time_limit: float = 10.0, token: str | None = None) -> None:
        try:
            self._endpoint = endpoint_of(url)
            self._token = token_of(os.environ if token is None else {TOKEN_VARIABLE: token})
        except ValueError as error:
            raise Breakdown("not_started", str(error)) from None
        self._secret = (self._token or "").encode()
        self._time_limit = time_limit
        self._context = ssl.create_default_context() if self._endpoint.scheme == "https" else None
        self._number = 0
        self._ways = Ways(self, self.beside, time_limit)
        self._answered = self._closed = self._crashed = False
        self._connection: Connection | None = None
        try:
            self._connection = self._connect(time.monotonic() + time_limit, patient=False)
        except Unreachable as error:
            raise Breakdown("not_started", self._unreachable(error)) from None

    def beside(self) -> "HttpSystem":
        """Return the same system on a connection of its own, for a call at the same moment from another thread."""
        return HttpSystem(str(self._endpoint), time_limit=self._time_limit, token=self._token or "")

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Send one request and wait for its reply."""
        if self._closed:
            raise RuntimeError("this system has broken down or was closed: only `close` may be called")
        return self._call(method, params, patient=False)

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Make calls at the same moment, each lane with a connection of its own."""
        if self._closed:
            raise RuntimeError("this system has broken down or was closed: only `close` may be called")
        return self._ways.together(lanes)

    can_be_killed = False

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Raise: the process of a server is not ours."""
        raise RuntimeError("the process of a server is not ours")

    def restart(self) -> Reply:
        """Ask the server to restart on its data, also one that has crashed: it may take the time limit to be there again."""
        self._ways.close()
        if self._closed and not self._crashed:
            raise RuntimeError("this system has broken down or was closed: only `close` may be called")
        self._closed = self._crashed = False
        return self._call("restart", {}, patient=True)

    def close(self) -> None:
        """Close the connection; the server is not ours to end."""
        self._closed, self._crashed = True, False
        self._ways.close()
        self._drop()

    def _call(self, method: str, params: Mapping[str, Json], *, patient: bool) -> Reply:
        deadline = time.monotonic() + self._time_limit
        self._number += 1
        request = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        try:
            answer = self._exchange(encode_json(request).encode(), method, deadline, patient)
            reply = self._read(answer, method)
        except Breakdown as broken:
            raise self._breakdown(broken) from None
        self._answered = True
        return reply

    def _exchange(self, body: bytes, method: str, deadline: float, patient: bool) -> Answer:
        connection = self._connection
        if connection is None or not connection.is_usable(method):
            self._drop()
            try:
                connection = self._connection = self._connect(deadline, patient=patient)
            except Unreachable as error:
                said = f"{self._unreachable(error)} (when {method} was to be asked)"
                raise Breakdown("hung" if error.late else "crashed", said) from None
        return connection.exchange(self._head(len(body)), body, method, deadline, self._time_limit)

    def _connect(self, deadline: float, *, patient: bool) -> Connection:
        address = (self._endpoint.host, self._endpoint.port)
        while True:
            try:
                return Connection(address, deadline, self._context, self._secret)
            except Unreachable as error:
                if not (patient and error.again and time.monotonic() + _AGAIN_SECONDS < deadline):
                    raise
            time.sleep(_AGAIN_SECONDS)

    def _head(self, length: int) -> h11.Request:
        headers = [
            ("Host", self._endpoint.origin),
            ("User-Agent", f"keyturn/{VERSION}"),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            ("Content-Type", "application/json"),
            ("Content-Length", str(length)),
        ]
        if self._token is not None:
            headers.append(("Authorization", f"Bearer {self._token}"))
        return h11.Request(method="POST", target=self._endpoint.target, headers=headers)

    def _read(self, answer: Answer, method: str) -> Reply:
        if answer.status != HTTPStatus.OK:
            raise Breakdown("protocol", _refusal(answer, method, self._endpoint, self._secret))
        encoding = answer.header(b"content-encoding").strip().lower()
        if encoding not in (b"", b"identity"):
            said = (
                f"the answer to {method} is encoded as {quoted(encoding, 40)}, and nothing but `identity` was asked for"
            )
            raise Breakdown("protocol", f"{said}: send it as it is")
        if len(self._secret) >= SHORTEST_SECRET and self._secret in answer.body:
            said = f"the answer to {method} holds the token of {TOKEN_VARIABLE}, which would get into reports"
            raise Breakdown("protocol", f"{said}: a server must not repeat it")
        reply = reply_of(
            answer.body, self._number, method, " (the body of an answer is one JSON-RPC object, and nothing else)"
        )
        match reply:
            case WentWrong():
                return WentWrong(reply.definite, self._without_token(reply.message))
            case NotRead():
                return NotRead(self._without_token(reply.message))
            case _:
                return reply

    def _unreachable(self, error: Unreachable) -> str:
        advice = ": start the server, or write the address where it listens" if error.again else ""
        return f"{quoted(self._endpoint.origin)} cannot be reached: {error}{advice}"

    def _breakdown(self, broken: Breakdown) -> Breakdown:
        self._drop()
        self._closed = True
        self._crashed = broken.kind == "crashed"
        kind, message = broken.kind, self._without_token(broken.message)
        if self._crashed and not self._answered:
            kind = "not_started"
        return Breakdown(kind, message)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _without_token(self, text: str) -> str:
        return text if self._token is None else text.replace(self._token, "...")


_ADVICE: Mapping[int, str] = {
    HTTPStatus.NOT_FOUND: "write the whole address, with the path at which it answers, such as /rpc",
    HTTPStatus.METHOD_NOT_ALLOWED: "write the address at which it takes `POST`, such as /rpc",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "requests have up to 8 MiB; or answer what is too long with a JSON-RPC error",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "requests are sent as application/json",
    HTTPStatus.NO_CONTENT: "every request has an `id`, and wants an answer",
    HTTPStatus.ACCEPTED: "a call is answered at once, with its result",
}


def _refusal(answer: Answer, method: str, endpoint: Endpoint, secret: bytes) -> str:
    """What a status other than 200 says, and what to do about it."""
    try:
        name = f" ({HTTPStatus(answer.status).phrase})"
    except ValueError:
        name = ""
    said = f"the server at {quoted(str(endpoint))} answered {method} with the HTTP status {answer.status}{name}"
    location = without(answer.header(b"location"), secret)
    shown = f"; it said {quoted(without(answer.body, secret))}" if answer.body else ""
    if 300 <= answer.status < 400:
        return f"{said}, to {quoted(location)}: redirects are not followed; write the address of the server itself"
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        advice = "it does not take the token of" if secret else "put the bearer token that it wants into"
        return f"{said}: {advice} {TOKEN_VARIABLE}{shown}"
    advice = _ADVICE.get(answer.status, "answer what fails with 200 and a JSON-RPC error")
    return f"{said}: {advice}{shown}"
