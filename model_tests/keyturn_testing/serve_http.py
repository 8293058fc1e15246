"""Serves an object in process as a system over HTTP: JSON-RPC 2.0, one object in the body of each `POST` to `/rpc`.

Every request gets its answer, and no request ends the server. What is wrong with the HTTP of a request is answered in plain words
with a status; what is wrong with the call in it is a JSON-RPC error with 200, as over standard input and output. Operations run
on threads: as many at once as the object can bear. Where an armed fault would end the process, the connection is cut without an
answer, and `restart` finds the object as the fault left it.
"""

import asyncio
import hmac
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from functools import partial
from ipaddress import ip_address
from typing import ClassVar

import uvicorn
from attrs import frozen
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from keyturn.errors import Crashed
from keyturn.version import VERSION
from keyturn_specs.openrpc import openrpc_document
from keyturn_testing.serve import answer_to
from keyturn_testing.systems.in_process import Caller

LARGEST_REQUEST_BYTES = 8 * 1024 * 1024
"""How long the body of a request may be."""

RPC, HEALTH, OPENRPC = "/rpc", "/health", "/openrpc.json"
"""The paths: where calls go, where a supervisor looks, and what describes the calls."""

_BODY_SECONDS = 30.0
_CLOSING_SECONDS = 2


class NotBound(Exception):
    """The server cannot listen there; the message says why, and what to do."""


@frozen(kw_only=True)
class Listening:
    """Where a server listens: its socket, its host as it was named, and whether only this machine can reach it."""

    socket: socket.socket
    host: str
    is_local: bool

    @property
    def origin(self) -> str:
        """The URL without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.socket.getsockname()[1]}"


def listen(host: str, port: int, token: str | None) -> Listening:
    """Take an address, where port 0 is any free one; raise `NotBound`, also for one that strangers reach without a token."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise NotBound(f"the host {host!r} stands for no address ({error}): write one of this machine") from None
    is_local = ip_address(str(address[0]).partition("%")[0]).is_loopback
    if not is_local and token is None:
        said = f"{host} can be reached from other machines, and anybody there could wipe what is served"
        raise NotBound(f"{said}: put a bearer token into KEYTURN_TOKEN, or leave --host out")
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen()
    except OSError as error:
        made.close()
        raise NotBound(f"port {port} of {host} cannot be had ({error.strerror}): write another --port, or 0") from None
    return Listening(socket=made, host=host, is_local=is_local)


def serve_http(
    target: object,
    listening: Listening,
    *,
    token: str | None,
    parallel: int,
    announce: Callable[[str], None],
    answered: Callable[[], None] = lambda: None,
) -> None:
    """Answer requests until SIGINT or SIGTERM; then finish what is running, and wait two seconds for whoever is connected.

    `target` has one method an operation, as `keyturn.port.Port`, sync or async. `parallel` is how many of its operations may
    run at once; more than one is for sync objects alone. `announce` is called with the origin once the server listens, and
    `answered` when an answer has left.
    """
    caller = Caller(lambda: target)
    workers = ThreadPoolExecutor(parallel)
    try:
        with redirect_stdout(sys.stderr):
            service = _Service(caller, workers, listening, token, answered)
            config = uvicorn.Config(
                service.application(),
                http=service.protocol(),
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=_CLOSING_SECONDS,
            )
            _Server(config, partial(announce, listening.origin)).run([listening.socket])
    finally:
        workers.shutdown(cancel_futures=True)
        caller.close()


class _Server(uvicorn.Server):
    """A server that says when it listens, and for which being asked to end is no failure."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections, and say so."""
        await super().startup(sockets)
        self._announce()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End at the first signal and leave nothing of it behind; a second Ctrl-C waits for nobody."""
        kept = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in kept.items():
                signal.signal(each, handler)


# ---- Requests -------------------------------------------------------------------------------------------------------


class _Service:
    """What is answered to each request."""

    def __init__(
        self,
        caller: Caller,
        workers: ThreadPoolExecutor,
        listening: Listening,
        token: str | None,
        answered: Callable[[], None],
    ) -> None:
        self._caller = caller
        self._answered = answered
        self._workers = workers
        self._origin = listening.origin
        self._secret = None if token is None else f"Bearer {token}".encode()
        # A page in a browser can give its own name this machine's address; such a request names that host.
        self._local_only = listening.is_local and token is None
        self._host = listening.host
        self._open: dict[object, asyncio.Transport] = {}

    def application(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route(RPC, self._rpc, methods=["POST"]),
            Route(HEALTH, self._health, methods=["GET"]),
            Route(OPENRPC, self._described, methods=["GET"]),
        ]
        return Starlette(routes=routes, exception_handlers={HTTPException: _in_words})

    def protocol(self) -> type[H11Protocol]:
        """Return the handler of the connections of this server, which can be cut by the address of their other end."""
        return type("_CuttableHere", (_Cuttable,), {"open": self._open})

    async def _rpc(self, request: Request) -> Response:
        self._admit(request)
        body = await _body(request)
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(self._workers, answer_to, body, self._caller)
        except Crashed:
            await self._cut(request)
            return Response(status_code=500)
        if answer is None:
            return Response(status_code=204)
        return Response(answer, media_type="application/json", background=BackgroundTask(self._left))

    async def _left(self) -> None:
        self._answered()

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "keyturn": VERSION})

    async def _described(self, _: Request) -> Response:
        return JSONResponse(openrpc_document(f"{self._origin}{RPC}"))

    def _admit(self, request: Request) -> None:
        """Raise for a request that is not answered, before its body is read."""
        if self._local_only and not _is_of_this_machine(request.url.hostname or "", self._host):
            raise HTTPException(403, "the header Host names another machine than this one, and there is no token")
        given = request.headers.get("authorization", "").encode("latin-1")
        if self._secret is not None and not hmac.compare_digest(given, self._secret):
            said = "the header Authorization is wanted: Bearer, a space, and the token of this server"
            raise HTTPException(401, said, {"WWW-Authenticate": "Bearer"})
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "a request has the header Content-Type: application/json")

    async def _cut(self, request: Request) -> None:
        """End the connection at once, as the end of this process would."""
        client = request.client
        transport = None if client is None else self._open.get((client.host, client.port))
        if transport is not None:
            transport.abort()
            await asyncio.sleep(0)  # until the connection knows that it is gone


class _Cuttable(H11Protocol):
    """The handler of a connection, which is known by the address of its other end while it is open."""

    open: ClassVar[dict[object, asyncio.Transport]]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note the connection; what is written leaves at once."""
        super().connection_made(transport)
        plain: socket.socket = transport.get_extra_info("socket")
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.open[self.client] = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.open.pop(self.client, None)
        super().connection_lost(exc)


async def _body(request: Request) -> bytes:
    """The whole body; raise when it is too long, or does not come."""
    body = bytearray()
    if int(request.headers.get("content-length", 0)) > LARGEST_REQUEST_BYTES:
        raise _too_large()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST_REQUEST_BYTES:
                    raise _too_large()
    except TimeoutError:
        said = f"the body did not come within {_BODY_SECONDS:g} s"
        raise HTTPException(408, said, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise HTTPException(400, "the connection ended before the body did") from None
    return bytes(body)


def _too_large() -> HTTPException:
    said = f"a request may have {LARGEST_REQUEST_BYTES} bytes at most"
    return HTTPException(413, said, {"Connection": "close"})


_WORDS = {
    404: f"calls are a POST to {RPC}; {HEALTH} and {OPENRPC} can be read",
    405: f"calls are a POST to {RPC}; {HEALTH} and {OPENRPC} are a GET",
}


async def _in_words(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    said = _WORDS.get(problem.status_code, problem.detail)
    return PlainTextResponse(f"{said}\n", problem.status_code, problem.headers)


def _is_of_this_machine(name: str, host: str) -> bool:
    if name.casefold() in _names(host):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _names(host: str) -> Sequence[str]:
    return ("localhost", host.casefold())
