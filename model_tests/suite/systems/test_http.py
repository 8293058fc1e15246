"""A conversation with a server: proper answers are replies, a connection is kept, and a call is sent once."""

import json
import socket
import threading
import time

import pytest

from keyturn_testing.systems import http_connection
from keyturn_testing.systems.base import Answered, NotOffered, NotRead, WentWrong
from keyturn_testing.systems.http import HttpSystem

from .programs import CASE, breakdown_of
from .servers import Connection, Open, Script, result, serving, steady


def error(code: int, **more: object) -> Script:
    """A script that answers the first request with a JSON-RPC error."""

    def script(connection: Connection) -> None:
        request = connection.request()
        body = {"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": "so\x07", **more}}
        connection.answer(json.dumps(body).encode())

    return script


class TestReplies:
    """A proper answer is a result, an operation that is not offered, or one that went wrong."""

    def test_what_is_asked_and_answered(self, open_server: Open) -> None:
        """A request is a POST of a JSON-RPC object, ids go up, and one connection carries them all."""
        heads = []

        def script(connection: Connection) -> None:
            while True:
                head, _, body = connection.whole_request().partition(b"\r\n\r\n")
                heads.append(head)
                connection.answer(result(json.loads(body), json.loads(body)))

        system = open_server(script)
        for number in (1, 2):
            asked = {"jsonrpc": "2.0", "id": number, "method": "case.open", "params": CASE}
            assert system.call("case.open", CASE) == Answered(asked)
        assert len(heads) == 2
        assert heads[0].startswith(b"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:")
        for line in (b"Content-Type: application/json", b"Accept-Encoding: identity"):
            assert line in heads[0]
        assert b"Authorization" not in heads[0]

    @pytest.mark.parametrize("code", [-32700, -32600, -32602])
    def test_not_read(self, open_server: Open, code: int) -> None:
        """Three errors say that the request could not be read."""
        said = f"the system answered the JSON-RPC error {code} to case.open: so\\x07"
        assert open_server(error(code)).call("case.open", CASE) == NotRead(said)

    def test_the_other_errors(self, open_server: Open) -> None:
        """-32601 is a capability that is not there, -32000 a failure that says whether it may have happened."""
        assert open_server(error(-32601)).call("case.open", CASE) == NotOffered()
        failed = open_server(error(-32000, data={"definite": False})).call("case.open", CASE)
        assert failed == WentWrong(False, "so\\x07")
        assert breakdown_of(open_server(error(-32603))).kind == "protocol"

    def test_a_large_answer_and_a_large_request(self, open_server: Open) -> None:
        """Some megabytes are an answer, and a request too."""
        reply = open_server(steady).call("card.respond", {"x": "y" * 3_000_000})
        assert isinstance(reply, Answered)
        assert len(json.dumps(reply.result)) > 3_000_000

    @pytest.mark.parametrize("head", [b"HTTP/1.0 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"])
    def test_the_end_of_the_connection_may_end_the_answer(self, open_server: Open, head: bytes) -> None:
        """An answer without a length ends with its connection, and the next call has another one."""

        def script(connection: Connection) -> None:
            connection.say(head + result(connection.request()))

        system = open_server(script)
        for _ in range(3):
            assert system.call("case.open", CASE) == Answered({})

    def test_chunks_and_early_hints(self, open_server: Open) -> None:
        """An answer may come in chunks, a byte at a time, with a 100 and a 103 before it."""

        def script(connection: Connection) -> None:
            chunks = b"".join(b"1\r\n%c\r\n" % each for each in result(connection.request()))
            said = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"
            said += b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"
            for each in said:
                connection.say(bytes([each]))

        assert open_server(script).call("case.open", CASE) == Answered({})


class TestConnections:
    """A connection is kept, and replaced only when nothing was sent on it."""

    def test_a_connection_that_was_closed_between_two_calls_is_replaced(self, open_server: Open) -> None:
        """A server may close an idle connection; the next call has another one, and is sent once."""
        seen: list[object] = []

        def once(connection: Connection) -> None:
            request = connection.request()
            seen.append(request["id"])
            connection.answer(result(request))

        system = open_server(once)
        for _ in range(3):
            assert system.call("case.open", CASE) == Answered({})
            time.sleep(0.1)
        assert seen == [1, 2, 3]

    def test_a_call_whose_answer_is_lost_is_not_sent_again(self, open_server: Open) -> None:
        """Nobody knows whether it was carried out, so the server is said to have crashed, and is asked nothing more."""
        seen: list[object] = []

        def script(connection: Connection) -> None:
            while True:
                request = connection.request()
                seen.append(request["id"])
                if request["id"] == 2:
                    return
                connection.answer(result(request))

        system = open_server(script)
        system.call("case.open", CASE)
        assert breakdown_of(system).kind == "crashed"
        time.sleep(0.1)
        assert seen == [1, 2]

    def test_what_comes_between_two_calls_is_garbage(self, open_server: Open) -> None:
        """A second answer that comes later is found by the next call."""

        def script(connection: Connection) -> None:
            body = result(connection.request())
            connection.answer(body)
            time.sleep(0.1)
            connection.answer(body)
            connection.wait()

        system = open_server(script)
        system.call("case.open", CASE)
        time.sleep(0.3)
        breakdown = breakdown_of(system)
        assert (breakdown.kind, "nobody had asked for" in breakdown.message) == ("garbage", True)

    def test_an_idle_server_may_say_408(self, open_server: Open) -> None:
        """That is how some servers say that they close a connection."""

        def script(connection: Connection) -> None:
            connection.answer(result(connection.request()))
            time.sleep(0.1)
            connection.answer(b"", status=b"408 Request Timeout")

        system = open_server(script, steady)
        system.call("case.open", CASE)
        time.sleep(0.3)
        assert isinstance(system.call("case.open", CASE), Answered)

    def test_a_connection_that_was_idle_for_long_is_not_used(
        self, open_server: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A server could close it at the very moment at which the request leaves."""
        monkeypatch.setattr(http_connection, "FRESH_SECONDS", 0.05)
        taken = []

        def script(connection: Connection) -> None:
            taken.append(connection)
            steady(connection)

        system = open_server(script)
        system.call("case.open", CASE)
        time.sleep(0.1)
        system.call("case.open", CASE)
        assert len(taken) == 2

    def test_calls_at_the_same_moment(self) -> None:
        """`beside` is the same system on another connection: two threads ask at once, and neither waits for the other."""
        both = threading.Barrier(2)

        def script(connection: Connection) -> None:
            while True:
                request = connection.request()
                both.wait(10)
                connection.answer(result(request))

        with serving(script) as server:
            one = HttpSystem(server.url)
            other = one.beside()
            replies = []
            thread = threading.Thread(target=lambda: replies.append(other.call("case.open", CASE)))
            thread.start()
            replies.append(one.call("case.open", CASE))
            thread.join(10)
            assert replies == [Answered({}), Answered({})]
            one.close()
            other.close()

    def test_nagle_is_off(self) -> None:
        """A request leaves at once."""
        with serving(steady) as server:
            system = HttpSystem(server.url)
            assert system._connection
            plain = system._connection._socket
            assert plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            system.close()


class TestRestart:
    """`restart` is a call like the others, also to a server that has crashed."""

    def test_a_restart_is_asked(self, open_server: Open) -> None:
        """The server hears it, and its answer is the reply."""
        reply = open_server(steady).restart()
        assert isinstance(reply, Answered)
        assert isinstance(reply.result, dict)
        assert (reply.result["method"], reply.result["params"]) == ("restart", {})

    def test_a_server_that_crashed_is_asked_to_restart(self, open_server: Open) -> None:
        """It is waited for until it listens again, and then the conversation goes on."""

        def crashes(connection: Connection) -> None:
            connection.answer(result(connection.request()))
            connection.request()

        system = open_server(crashes, steady)
        system.call("describe", {})
        assert breakdown_of(system).kind == "crashed"
        assert isinstance(system.restart(), Answered)
        assert isinstance(system.call("case.open", CASE), Answered)

    def test_a_restart_waits_until_the_server_listens(self) -> None:
        """A server that is just being started again refuses connections for a while."""
        with serving(steady) as server:
            system = HttpSystem(server.url)
            system.call("describe", {})
        assert breakdown_of(system).kind == "crashed"
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

        def come_back() -> None:
            time.sleep(0.3)
            listener.bind(("127.0.0.1", server.port))
            listener.listen()
            taken, _ = listener.accept()
            with taken:
                connection = Connection(taken, threading.Event())
                connection.answer(result(connection.request()))

        thread = threading.Thread(target=come_back)
        thread.start()
        assert system.restart() == Answered({})
        thread.join(10)
        listener.close()
        system.close()
