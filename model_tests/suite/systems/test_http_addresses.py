"""How a server is named and reached: its URL, its token, and the ways in which it cannot be reached."""

import json
import time

import pytest

from keyturn_testing.systems.base import Answered, Breakdown
from keyturn_testing.systems.http import HttpSystem, endpoint_of, token_of

from .programs import CASE, SOON, breakdown_of
from .servers import OK, Connection, Open, Script, page, result, says, serving, steady

SECRET = "a-secret-that-nobody-may-see"


class TestTokens:
    """The bearer token is sent with every request, and never shown."""

    def test_the_token_is_of_the_environment(self, open_server: Open, monkeypatch: pytest.MonkeyPatch) -> None:
        """`KEYTURN_TOKEN` is sent as a bearer token."""
        monkeypatch.setenv("KEYTURN_TOKEN", SECRET)

        def script(connection: Connection) -> None:
            head, _, body = connection.whole_request().partition(b"\r\n\r\n")
            assert f"Authorization: Bearer {SECRET}".encode() in head.split(b"\r\n")
            connection.answer(result(json.loads(body)))

        assert open_server(script).call("case.open", CASE) == Answered({})

    @pytest.mark.parametrize(
        "script",
        [
            page("403 Forbidden", body=f"Bearer {SECRET} is wrong"),
            page("500 Internal Server Error", body=f"{'x' * 185} {SECRET}"),
            page("302 Found", f"Location: http://x/?t={SECRET}\r\n"),
            page("200 OK", body=f"not JSON {SECRET}"),
            page("200 OK", body=json.dumps({"jsonrpc": "2.0", "id": 1, "result": SECRET})),
            says(SECRET.encode() + b"\r\n"),
            says(OK + b"Content-Length: 1000\r\n\r\n" + SECRET.encode(), and_ends=True),
        ],
        ids=["403", "cut off", "a redirect", "garbage", "a result", "no HTTP", "half a body"],
    )
    def test_a_server_that_repeats_it(self, open_server: Open, script: Script) -> None:
        """It is in no message, also where the message is cut."""
        breakdown = breakdown_of(open_server(script, token=SECRET))
        assert SECRET[:8] not in breakdown.message

    @pytest.mark.parametrize("token", ["two words", "a\nb", "é", "a,b"])
    def test_what_no_header_may_hold_is_refused(self, token: str) -> None:
        """It is not sent, and the message does not show it."""
        with pytest.raises(ValueError, match="is no bearer token") as caught:
            token_of({"KEYTURN_TOKEN": token})
        assert token not in str(caught.value)

    def test_no_token(self) -> None:
        """An empty variable is none."""
        assert token_of({"KEYTURN_TOKEN": ""}) is None
        assert token_of({}) is None


WRONG_URLS = {
    "http:": "begins with http:// or https://",
    "http:///rpc": "name of a host",
    "ftp://x/": "begins with http://",
    "http://x:99999/": "it is no URL",
    "http://x:y/": "it is no URL",
    "http://[::1/": "it is no URL",
    "http://ann:hunter2@x/": "KEYTURN_TOKEN",
    "http://x/#a": "leave it out",
    "http://x/a b": "percent-encoding",
    "http://x/\r\nHost: y": "percent-encoding",
    "http://é/": "percent-encoding",
}


class TestAddresses:
    """A URL that cannot be used is refused with its reason, and a server that is not there is said to be none."""

    @pytest.mark.parametrize("url", list(WRONG_URLS))
    def test_a_wrong_url(self, url: str) -> None:
        """The message says what is wrong, and holds no password."""
        with pytest.raises(Breakdown) as caught:
            HttpSystem(url)
        assert caught.value.kind == "not_started"
        assert WRONG_URLS[url] in caught.value.message
        assert "hunter2" not in caught.value.message

    def test_right_urls(self) -> None:
        """The port is left out where it is the usual one, and the path begins with a slash."""
        assert str(endpoint_of("http://x")) == "http://x/"
        assert str(endpoint_of("https://x:443/a?b=c")) == "https://x/a?b=c"
        assert str(endpoint_of("http://[::1]:8000/rpc")) == "http://[::1]:8000/rpc"

    def test_nobody_listens(self) -> None:
        """That is said when the system is opened, with what to do."""
        with serving(steady) as server:
            pass
        with pytest.raises(Breakdown) as caught:
            HttpSystem(server.url)
        assert caught.value.kind == "not_started"
        assert "nobody listens there: start the server" in caught.value.message

    def test_a_name_without_an_address(self) -> None:
        """That is said in time, whatever the resolver does."""
        began = time.monotonic()
        with pytest.raises(Breakdown, match="looked up"):
            HttpSystem("http://no-such-host.invalid/", time_limit=2.0)
        assert time.monotonic() - began < 5

    def test_a_first_call_that_crashes(self, open_server: Open) -> None:
        """A server that never answered has not started."""
        assert breakdown_of(open_server(says(b"", and_ends=True))).kind == "not_started"

    @pytest.mark.parametrize("script", [steady, Connection.wait], ids=["HTTP", "silence"])
    def test_a_server_without_tls(self, script: Script) -> None:
        """A handshake that nobody answers, or answers with something else, ends in time."""

        def reads(connection: Connection) -> None:
            connection.socket.recv(100)
            connection.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        with serving(reads if script is steady else script) as server:
            with pytest.raises(Breakdown, match="TLS") as caught:
                HttpSystem(server.url.replace("http:", "https:"), time_limit=SOON)
            assert caught.value.kind == "not_started"


def test_the_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked is what was named."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    with serving(steady) as server:
        system = HttpSystem(server.url)
        assert isinstance(system.call("case.open", CASE), Answered)
        system.close()
