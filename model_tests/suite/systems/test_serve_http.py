"""A store is served over HTTP by a process of its own: every request gets a clear answer, and no request ends the server."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import jsonschema_rs
import pytest
from attrs import frozen

from keyturn.values import Json
from keyturn_testing.serve_http import LARGEST_REQUEST_BYTES, NotBound, listen
from keyturn_testing.systems.base import Answered, Breakdown, NotOffered
from keyturn_testing.systems.http import HttpSystem

from .programs import CASE, breakdown_of

TOKEN = "a-token-of-twenty-four-x"
DESCRIBE = b'{"jsonrpc": "2.0", "id": 1, "method": "describe"}'
JSON = {"Content-Type": "application/json"}


@frozen
class Served:
    """A process that serves, and the URL that it wrote."""

    process: subprocess.Popen[str]
    url: str

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, _, port = self.url.removeprefix("http://").partition("/")[0].rpartition(":")
        return host.strip("[]"), int(port)

    def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> "Response":
        """Make one request on a connection of its own."""
        named = {"Host": "127.0.0.1", "Connection": "close", "Content-Length": str(len(body)), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return self.say(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)

    def say(self, data: bytes) -> "Response":
        """Send these bytes, and read all that is answered."""
        with socket.create_connection(self.address, timeout=20) as connection:
            connection.sendall(data)
            said = b""
            while more := connection.recv(65_536):
                said += more
        head, _, body = said.partition(b"\r\n\r\n")
        return Response(int(head.split(b" ")[1]), head.lower(), body)

    def end(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Ask it to end, and return its exit code and what it had complained."""
        self.process.send_signal(number)
        assert self.process.stderr
        return self.process.wait(20), self.process.stderr.read()


@frozen
class Response:
    """What came back."""

    status: int
    head: bytes
    body: bytes


Serve = Callable[..., Served]


def command(*arguments: str) -> list[str]:
    """The command that serves."""
    return [sys.executable, "-m", "keyturn_testing.main", "serve", *arguments]


def variables(token: str = "") -> dict[str, str]:
    """The environment of the command."""
    return {**os.environ, "KEYTURN_TOKEN": token}


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """Starts servers on free ports, and ends them."""
    every: list[Served] = []

    def start(adapter: str, *arguments: str, token: str = "") -> Served:
        process = subprocess.Popen(
            command(adapter, "--http", "--port", "0", *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=variables(token),
        )
        assert process.stdout
        every.append(Served(process, process.stdout.readline().strip()))
        return every[-1]

    yield start
    for each in every:
        each.process.kill()
        each.process.wait()
        for stream in (each.process.stdout, each.process.stderr):
            assert stream
            stream.close()


@pytest.fixture(scope="module")
def reference(serve: Serve) -> Served:
    """The reference, served."""
    return serve("reference")


@pytest.fixture(scope="module")
def guarded(serve: Serve) -> Served:
    """The reference, served for whoever has the token."""
    return serve("reference", token=TOKEN)


class TestCalls:
    """What is asked is answered, as over standard input and output."""

    def test_a_conversation(self, reference: Served) -> None:
        """Results, refusals and what is not offered cross the wire, and `restart` is offered."""
        system = HttpSystem(reference.url)
        assert system.call("reset", {"now": "2026-01-01T00:00:00Z"}) == Answered({})
        assert system.call("case.open", CASE) == Answered({"revision": 1})
        get: dict[str, Json] = {"account": "a", "conversation": "v", "card": "none"}
        assert system.call("card.get", get) == Answered({"outcome": "rejected", "code": "not_found"})
        assert system.call("no.such", {}) == NotOffered()
        assert system.restart() == Answered({})
        described = system.call("describe", {})
        assert isinstance(described, Answered)
        assert isinstance(described.result, dict)
        assert "restart" in described.result["claims"]
        system.close()

    @pytest.mark.parametrize(
        ("body", "code"),
        [(b"", -32700), (b"{", -32700), (b"\xff", -32700), (b"[]", -32600), (b'{"jsonrpc": "2.0", "id": 1}', -32600)],
    )
    def test_an_error_of_the_conversation(self, reference: Served, body: bytes, code: int) -> None:
        """What is no call is answered with 200 and a JSON-RPC error."""
        answered = reference.ask("POST", "/rpc", body, JSON)
        assert (answered.status, json.loads(answered.body)["error"]["code"]) == (200, code)

    def test_a_notification_has_no_answer(self, reference: Served) -> None:
        """A call without an id is made, and answered with nothing."""
        body = b'{"jsonrpc": "2.0", "method": "describe"}'
        assert reference.ask("POST", "/rpc", body, JSON).status == 204

    def test_nothing_is_held_back(self, reference: Served) -> None:
        """With Nagle's algorithm on, and an answer in two pieces, a call would take 40 ms."""
        system = HttpSystem(reference.url)
        took = []
        for _ in range(30):
            began = time.monotonic()
            system.call("describe", {})
            took.append(time.monotonic() - began)
        system.close()
        assert min(took) < 0.03

    def test_several_connections(self, serve: Serve, tmp_path: Path) -> None:
        """Calls on SQLite run at the same moment, and none is lost."""
        system = HttpSystem(serve(f"sqlite:{tmp_path / 'store'}").url)
        system.call("reset", {"now": "2026-01-01T00:00:00Z"})
        system.call("case.open", CASE)
        beside = [system.beside() for _ in range(4)]
        threads = [threading.Thread(target=each.call, args=("case.edit", CASE)) for each in beside]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert system.call("case.open", CASE) == Answered({"revision": 5})
        for each in (system, *beside):
            each.close()

    @pytest.mark.parametrize("adapter", ["reference", "sqlite"])
    def test_a_fault_that_ends_the_process_cuts_the_connection(
        self, serve: Serve, tmp_path: Path, adapter: str
    ) -> None:
        """The call is not answered, what was written is there after `restart`, and other connections are not hurt."""
        system = HttpSystem(serve(adapter if adapter == "reference" else f"sqlite:{tmp_path / 'store'}").url)
        system.call("reset", {"now": "2026-01-01T00:00:00Z"})
        system.call("case.open", CASE)
        other = system.beside()
        assert other.call("case.open", CASE) == Answered({"revision": 1})
        assert system.call("fault.arm", {"fault": "crash_after_commit"}) == Answered({})
        with pytest.raises(Breakdown, match=r"closed the connection before it had answered case\.edit") as caught:
            system.call("case.edit", CASE)
        assert caught.value.kind == "crashed"
        assert system.restart() == Answered({})
        assert other.call("case.open", CASE) == Answered({"revision": 2})
        for each in (system, other):
            each.close()


class TestHttp:
    """What is wrong with the HTTP of a request is answered in plain words."""

    @pytest.mark.parametrize(
        ("method", "path", "headers", "status", "said"),
        [
            ("GET", "/rpc", {}, 405, "calls are a POST to /rpc"),
            ("POST", "/", JSON, 404, "calls are a POST to /rpc; /health and /openrpc.json can be read"),
            ("POST", "/health", JSON, 405, "are a GET"),
            ("POST", "/rpc", {}, 415, "Content-Type: application/json"),
            ("POST", "/rpc", {"Content-Type": "text/plain"}, 415, "Content-Type: application/json"),
            ("POST", "/rpc", {**JSON, "Host": "evil.example"}, 403, "names another machine"),
        ],
    )
    def test_a_wrong_request(
        self, reference: Served, method: str, path: str, headers: Mapping[str, str], status: int, said: str
    ) -> None:
        """The answer says what to send instead."""
        answered = reference.ask(method, path, DESCRIBE, headers)
        assert answered.status == status
        assert said in answered.body.decode()

    @pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost", "[::1]:80", "LocalHost:1"])
    def test_this_machine_has_several_names(self, reference: Served, host: str) -> None:
        """They are all taken."""
        assert reference.ask("POST", "/rpc", DESCRIBE, {**JSON, "Host": host}).status == 200

    def test_a_large_request(self, reference: Served) -> None:
        """A request at the limit is read; one that announces more, or sends more in chunks, gets 413."""
        full = DESCRIBE.ljust(LARGEST_REQUEST_BYTES)
        assert reference.ask("POST", "/rpc", full, JSON).status == 200
        head = b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        announced = reference.say(head + b"Content-Length: %d\r\n\r\n" % (LARGEST_REQUEST_BYTES + 1))
        assert (announced.status, b"connection: close" in announced.head) == (413, True)
        chunk = b"%x\r\n%s\r\n" % (2**20, b" " * 2**20)
        chunked = reference.say(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 8 + b"1\r\n \r\n")
        assert chunked.status == 413

    @pytest.mark.parametrize("data", [b"hello", b"POST /rpc HTTP/1.1", b"SSH-2.0-OpenSSH_9.2", b"\x16\x03\x01\x00"])
    def test_what_is_not_http(self, reference: Served, data: bytes) -> None:
        """It gets 400, and the next request is served."""
        assert reference.say(data + b"\r\n\r\n").status == 400
        assert reference.ask("GET", "/health").status == 200

    def test_a_huge_head(self, reference: Served) -> None:
        """It is not read to its end, and the next request is served."""
        with suppress(ConnectionError):
            reference.say(b"GET /health HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 30_000_000)
        assert reference.ask("GET", "/health").status == 200

    def test_a_client_that_leaves(self, reference: Served) -> None:
        """Half a request and a hasty end hurt nobody else."""
        head = b"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n"
        with socket.create_connection(reference.address) as connection:
            connection.sendall(head + DESCRIBE)
        assert reference.ask("GET", "/health").status == 200

    def test_the_health_page(self, guarded: Served) -> None:
        """It can be read without the token, and says no more than that the server runs."""
        answered = guarded.ask("GET", "/health")
        assert (answered.status, json.loads(answered.body)["status"]) == (200, "ok")

    def test_the_description(self, reference: Served) -> None:
        """The OpenRPC document names this server and every method."""
        document = json.loads(reference.ask("GET", "/openrpc.json").body)
        assert document["servers"][0]["url"] == reference.url
        assert {"describe", "card.respond", "restart"} <= {each["name"] for each in document["methods"]}


class TestTokens:
    """With a token in the environment, only whoever has it is answered."""

    @pytest.mark.parametrize("given", [None, "", TOKEN, f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer \xe9"])
    def test_a_stranger(self, guarded: Served, given: str | None) -> None:
        """A wrong token gets 401, before anything of the body is read."""
        headers = JSON if given is None else {**JSON, "Authorization": given}
        answered = guarded.ask("POST", "/rpc", DESCRIBE, headers)
        assert (answered.status, b"www-authenticate: bearer" in answered.head) == (401, True)
        assert TOKEN.encode() not in answered.body

    def test_the_right_token(self, guarded: Served) -> None:
        """It is taken, also under another name of the host; without it the suite says what is wanted."""
        headers = {**JSON, "Authorization": f"Bearer {TOKEN}", "Host": "decisions.example"}
        assert guarded.ask("POST", "/rpc", DESCRIBE, headers).status == 200
        system = HttpSystem(guarded.url, token=TOKEN)
        assert isinstance(system.call("describe", {}), Answered)
        system.close()
        stranger = HttpSystem(guarded.url, token="")
        assert "put the bearer token that it wants into KEYTURN_TOKEN" in breakdown_of(stranger).message


class TestLife:
    """A server says where it listens, and ends when it is asked to."""

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_it_ends_when_it_is_asked_to(self, serve: Serve, number: signal.Signals) -> None:
        """Exit 0, without a traceback, also while somebody is connected."""
        served = serve("reference")
        system = HttpSystem(served.url)
        system.call("describe", {})
        began = time.monotonic()
        code, complained = served.end(number)
        assert time.monotonic() - began < 5
        assert code == 0
        assert len(complained.splitlines()) == 1
        assert complained.startswith("keyturn: serving reference until Ctrl-C")
        system.close()

    def test_a_port_that_is_in_use(self, reference: Served) -> None:
        """Exit 2, with what to do."""
        port = str(reference.address[1])
        ended = subprocess.run(
            command("reference", "--http", "--port", port), capture_output=True, text=True, check=False, env=variables()
        )
        assert ended.returncode == 2
        assert f"port {port} of 127.0.0.1 cannot be had (Address already in use): write another --port" in ended.stderr

    def test_strangers_need_a_token(self) -> None:
        """What other machines can reach is not served without one."""
        with pytest.raises(NotBound, match="put a bearer token into KEYTURN_TOKEN"):
            listen("0.0.0.0", 0, None)  # noqa: S104  # that it is refused is what is tested
        listening = listen("0.0.0.0", 0, TOKEN)  # noqa: S104  # and that it is not
        assert not listening.is_local
        listening.socket.close()

    @pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
    def test_a_host_that_is_not_here(self, host: str) -> None:
        """The message says so."""
        with pytest.raises(NotBound, match=r"stands for no address|cannot be had"):
            listen(host, 0, TOKEN)

    def test_localhost(self, serve: Serve) -> None:
        """A name of this machine is one of its addresses."""
        system = HttpSystem(serve("reference", "--host", "localhost").url)
        assert isinstance(system.call("describe", {}), Answered)
        system.close()


def test_without_the_extra(tmp_path: Path) -> None:
    """What is not installed is named, with the line that installs it: exit 2."""
    (tmp_path / "uvicorn.py").write_text("raise ImportError('there is no uvicorn')")
    ended = subprocess.run(
        command("reference", "--http"),
        capture_output=True,
        text=True,
        check=False,
        env={**variables(), "PYTHONPATH": str(tmp_path)},
    )
    assert ended.returncode == 2
    assert "pip install 'keyturn[http]'" in ended.stderr


def test_the_sound_server_holds(serve: Serve, tmp_path: Path) -> None:
    """A check of a store over HTTP, its crashes included: exit 0."""
    served = serve("reference")
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "keyturn_testing.main",
            "check",
            served.url,
            "--profile",
            "quick",
            "--engine",
            "scenarios",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=variables(),
    )
    assert (ended.returncode, "holds: " in ended.stdout) == (0, True), ended.stderr


def test_the_schemas_of_the_description_are_those_of_the_protocol(reference: Served) -> None:
    """An answer of the server is valid by the description of the server."""
    document = json.loads(reference.ask("GET", "/openrpc.json").body)
    answer = json.loads(reference.ask("POST", "/rpc", DESCRIBE, JSON).body)
    [method] = [each for each in document["methods"] if each["name"] == "describe"]
    schema = {**method["result"]["schema"], "components": document["components"]}
    jsonschema_rs.Draft202012Validator(schema).validate(answer["result"])
