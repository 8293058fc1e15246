"""A server that stalls, resets, answers half a body or speaks something else gets a clear verdict in bounded time."""

import gzip
import tracemalloc
from collections.abc import Mapping

import pytest
from attrs import frozen

from keyturn_testing.systems.base import Answered, BreakdownKind
from keyturn_testing.systems.http_connection import LONGEST_BODY_BYTES

from .programs import CASE, SOON, breakdown_of
from .servers import OK, Connection, Open, Script, for_ever, page, resets, result, says


@frozen
class Bad:
    """What a server does, which breakdown that is, and what is said."""

    script: Script
    kind: BreakdownKind
    said: str


ANSWER = b'{"jsonrpc": "2.0", "id": 2, "result": {}}'
SIZED = OK + b"Content-Length: %d\r\n\r\n" % len(ANSWER)
HINT = b"HTTP/1.1 103 Early Hints\r\n\r\n"
LARGE = OK + b"Content-Length: 1000000\r\n\r\n"
GZIPPED = gzip.compress(b" " * 50_000_000)
BOMB = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(GZIPPED) + GZIPPED

BAD: Mapping[str, Bad] = {
    "silence": Bad(says(b""), "hung", "no answer to case.open within 0.4 s"),
    "half a status line": Bad(says(b"HTTP/1.1 2"), "hung", "a part of a head had come: 'HTTP/1.1 2'"),
    "half a head": Bad(says(OK + b"Content-"), "hung", "a part of a head"),
    "half a body": Bad(says(SIZED + ANSWER[:9]), "hung", "the head and 9 bytes of the body had come"),
    "a byte at a time": Bad(for_ever(b" ", 0.05, first=LARGE), "hung", "within 0.4 s"),
    "a head byte at a time": Bad(for_ever(b"X", 0.05, first=OK), "hung", "a part of a head had come: 'HTTP/1.1 200 OK"),
    "hints for ever": Bad(for_ever(HINT, 0.02), "hung", "within 0.4 s"),
    "an end": Bad(says(b"", and_ends=True), "crashed", "it closed the connection before it had answered case.open"),
    "an end in the head": Bad(says(OK, and_ends=True), "crashed", "a part of a head had come"),
    "an end in the body": Bad(says(SIZED + ANSWER[:9], and_ends=True), "crashed", "9 bytes of the body"),
    "a length too long": Bad(says(OK + b"Content-Length: 99\r\n\r\n" + ANSWER, and_ends=True), "crashed", "41 bytes"),
    "an end in the chunks": Bad(says(OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\n{", and_ends=True), "crashed", "1 byte"),
    "a reset": Bad(resets(b""), "crashed", "it reset the connection before it had answered case.open"),
    "a reset in the head": Bad(resets(OK), "crashed", "it reset the connection"),
    "a reset in the body": Bad(resets(SIZED + ANSWER[:9]), "crashed", "it reset the connection"),
    "a length too short": Bad(says(OK + b"Content-Length: 9\r\n\r\n" + ANSWER), "garbage", "by the length that it said"),
    "two answers": Bad(says((SIZED + ANSWER) * 2), "garbage", "more came than the answer"),
    "no number as length": Bad(says(OK + b"Content-Length: lots\r\n\r\n" + ANSWER), "garbage", "not HTTP/1.1"),
    "a negative length": Bad(says(OK + b"Content-Length: -1\r\n\r\n" + ANSWER), "garbage", "not HTTP/1.1"),
    "two lengths": Bad(says(OK + b"Content-Length: 9\r\n" + SIZED[17:] + ANSWER), "garbage", "not HTTP/1.1"),
    "no chunks": Bad(says(OK + b"Transfer-Encoding: chunked\r\n\r\n" + ANSWER + b"\r\n"), "garbage", "not HTTP/1.1"),
    "a huge chunk": Bad(says(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\n"), "garbage", "not HTTP"),
    "another coding": Bad(says(OK + b"Transfer-Encoding: gzip\r\n\r\n" + ANSWER), "garbage", "not HTTP/1.1"),
    "no head": Bad(says(ANSWER + b"\n"), "garbage", "not HTTP/1.1"),
    "HTTP/0.9": Bad(says(b"<html>hello</html>\r\n", and_ends=True), "garbage", "<html>hello"),
    "HTTP/2": Bad(says(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03\n\n"), "garbage", "not HTTP/1.1"),
    "SSH": Bad(says(b"SSH-2.0-OpenSSH_9.2\r\n"), "garbage", "'SSH-2.0-OpenSSH_9.2"),
    "TLS": Bad(says(b"\x15\x03\x01\x00\x02\x02\x46"), "garbage", "write https://"),
    "a huge head": Bad(says(OK + b"X: " + b"y" * 200_000), "too_much", "a head of more than 64 KiB"),
    "headers for ever": Bad(for_ever(b"X: y\r\n" * 1000), "garbage", "not HTTP/1.1"),
    "hints in a flood": Bad(for_ever(HINT * 2000), "too_much", "more than 100 answers of the kind 1xx"),
    "a huge length": Bad(says(OK + b"Content-Length: 99999999999\r\n\r\n"), "too_much", "more than 8 MiB came"),
    "more than it said": Bad(for_ever(b"x" * 65_536, first=LARGE), "garbage", "more came than"),
    "chunks without end": Bad(
        says(OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"fffff\r\n%s\r\n" % (b"x" * 0xFFFFF) * 9), "too_much", "8 MiB"
    ),
    "a bomb": Bad(says(BOMB), "protocol", "'gzip'"),
    "an encoding": Bad(page("200 OK", "Content-Encoding: \x07new\r\n"), "protocol", "'\\x07new'"),
    "br": Bad(page("200 OK", "Content-Encoding: br\r\n"), "protocol", "is encoded as 'br'"),
    "a redirect": Bad(page("301 Moved", "Location: http://evil/\r\n"), "protocol", "to 'http://evil/': redirects are not"),
    "a login": Bad(page("302 Found", "Location: /login\r\n"), "protocol", "status 302 (Found), to '/login'"),
    "401": Bad(page("401 Unauthorized"), "protocol", "put the bearer token that it wants into KEYTURN_TOKEN"),
    "403": Bad(page("403 Forbidden"), "protocol", "KEYTURN_TOKEN; it said '<html>\\x1b[2J"),
    "404": Bad(page("404 Not Found"), "protocol", "such as /rpc"),
    "413": Bad(page("413 Content Too Large"), "protocol", "status 413"),
    "500": Bad(page("500 Internal Server Error"), "protocol", "answer what fails with 200 and a JSON-RPC error"),
    "599": Bad(page("599 \x07\x07".replace("\x07", "?")), "protocol", "the HTTP status 599: "),
    "no content": Bad(says(b"HTTP/1.1 204 No Content\r\n\r\n"), "protocol", "status 204 (No Content): every request has"),
    "a page": Bad(page("200 OK"), "garbage", "is not JSON"),
    "an empty body": Bad(page("200 OK", body=""), "garbage", "is not JSON"),
    "no UTF-8": Bad(page("200 OK", body="\xff\xfe"), "garbage", "not UTF-8 (byte 0)"),
    "an array": Bad(page("200 OK", body="[]"), "garbage", "is not a JSON object"),
    "another id": Bad(page("200 OK", body='{"jsonrpc": "2.0", "id": 7, "result": 1}'), "garbage", "has the id 7 and not 2"),
    "two objects": Bad(page("200 OK", body="{}\n{}"), "garbage", "is not JSON (Extra data"),
}  # fmt: skip


class TestHostileServers:
    """A server that stalls, resets, answers half or speaks something else gets a clear verdict in bounded time."""

    @pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
    def test_a_bad_answer(self, open_server: Open, bad: Bad) -> None:
        """The kind of the breakdown is right, and its message names the method and shows what came, in printable ASCII."""

        def script(connection: Connection) -> None:
            connection.answer(result(connection.request()))
            bad.script(connection)

        # One good answer first: what comes before that is an adapter that does not start.
        system = open_server(script)
        assert isinstance(system.call("describe", {}), Answered)
        system._time_limit = SOON if bad.kind == "hung" else 10.0
        breakdown = breakdown_of(system, seconds=5.0)
        assert breakdown.kind == bad.kind
        assert bad.said in breakdown.message
        assert "case.open" in breakdown.message

    def test_a_flood_is_cut_off_while_it_comes(self, open_server: Open) -> None:
        """No more than the limit of an endless body is in memory."""
        flood = for_ever(b"10000\r\n" + b"x" * 65_536 + b"\r\n", first=OK + b"Transfer-Encoding: chunked\r\n\r\n")
        system = open_server(flood)
        tracemalloc.start()
        try:
            breakdown = breakdown_of(system)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert breakdown.kind == "too_much"
        assert peak < 3 * LONGEST_BODY_BYTES

    def test_a_server_that_does_not_read(self, open_server: Open) -> None:
        """A request that nobody reads is given up in time, and the message says so."""
        system = open_server(Connection.wait, time_limit=SOON)
        breakdown = breakdown_of(system, {"x": "y" * 30_000_000})
        assert (breakdown.kind, "did not read the whole request" in breakdown.message) == ("hung", True)

    def test_an_answer_before_the_request_was_read(self, open_server: Open) -> None:
        """A server may refuse before it has read everything; its answer counts, and the connection is not used again."""

        def script(connection: Connection) -> None:
            connection.socket.recv(10)
            connection.answer(b"too long", status=b"413 Content Too Large")
            connection.wait()

        breakdown = breakdown_of(open_server(script), {"x": "y" * 30_000_000})
        assert (breakdown.kind, "413" in breakdown.message) == ("protocol", True)

    def test_after_a_breakdown_nothing_is_asked(self, open_server: Open) -> None:
        """Only `close` may follow, which does nothing twice."""
        system = open_server(says(b"", and_ends=True))
        breakdown_of(system)
        for _ in range(2):
            system.close()
        with pytest.raises(RuntimeError, match="only `close`"):
            system.call("case.open", CASE)
        with pytest.raises(RuntimeError, match="only `close`"):
            system.restart()
