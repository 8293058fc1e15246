"""How a server is named and reached: its URL, its token, and the ways in which it cannot be reached."""

import json
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from keyturn_testing.systems.base import Answered, Breakdown
from keyturn_testing.systems.http import HttpSystem, endpoint_of, token_of

from .programs import CASE, SOON, breakdown_of
from .servers import OK, Connection, Open, Script, page, result, says, serving, steady

PEM = Path(__file__).with_name("localhost.pem")
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


class TestTls:
    """`https://` is the same conversation over TLS, with a server whose certificate is trusted.

    `localhost.pem` is a key that is no secret, and a certificate for 127.0.0.1 that lasts for a hundred years.
    """

    @pytest.fixture
    def secured(self) -> Callable[[Script], Script]:
        """Makes a script speak TLS."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)

        def over_tls(script: Script) -> Script:
            def secure(connection: Connection) -> None:
                with context.wrap_socket(connection.socket, server_side=True) as encrypted:
                    script(Connection(encrypted, connection.over))

            return secure

        return over_tls

    @pytest.fixture
    def trusted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Trust the certificate, as a user would say it."""
        monkeypatch.setenv("SSL_CERT_FILE", str(PEM))

    @pytest.mark.usefixtures("trusted")
    def test_a_conversation(self, secured: Callable[[Script], Script]) -> None:
        """Small and large requests and answers cross, one after another on one connection."""
        with serving(secured(steady)) as server:
            system = HttpSystem(server.url.replace("http:", "https:"))
            for size in (1, 5_000_000, 1):
                reply = system.call("card.respond", {"x": "y" * size})
                assert isinstance(reply, Answered)
                assert isinstance(reply.result, dict)
                assert reply.result["params"] == {"x": "y" * size}
            assert len(server.taken) == 1
            system.close()

    @pytest.mark.usefixtures("trusted")
    @pytest.mark.parametrize(("ends", "kind"), [(True, "crashed"), (False, "hung")])
    def test_half_an_answer(self, secured: Callable[[Script], Script], ends: bool, kind: str) -> None:
        """An end and silence are what they are without TLS."""

        def script(connection: Connection) -> None:
            connection.answer(result(connection.request()))
            says(OK + b"Content-Length: 9\r\n\r\n{", and_ends=ends)(connection)

        with serving(secured(script)) as server:
            system = HttpSystem(server.url.replace("http:", "https:"))
            system.call("describe", {})
            system._time_limit = SOON
            assert breakdown_of(system).kind == kind

    @pytest.mark.usefixtures("trusted")
    def test_a_second_connection_that_nobody_takes(self, secured: Callable[[Script], Script]) -> None:
        """A server that once answered, and now takes no more connections, hangs."""

        def once(connection: Connection) -> None:
            connection.answer(result(connection.request()))

        with serving(secured(once), Connection.wait) as server:
            system = HttpSystem(server.url.replace("http:", "https:"))
            system.call("describe", {})
            system._time_limit = SOON
            breakdown = breakdown_of(system)
        assert (breakdown.kind, "TLS handshake in time" in breakdown.message) == ("hung", True)

    def test_a_certificate_that_is_not_trusted(self, secured: Callable[[Script], Script]) -> None:
        """Nothing is sent to whoever shows one."""
        with serving(secured(steady)) as server:
            with pytest.raises(Breakdown, match=r"its certificate is not trusted .* SSL_CERT_FILE") as caught:
                HttpSystem(server.url.replace("http:", "https:"))
            assert caught.value.kind == "not_started"

    @pytest.mark.usefixtures("trusted")
    def test_http_to_a_server_with_tls(self, secured: Callable[[Script], Script]) -> None:
        """Whoever forgot the s is told so, or at least that this is no HTTP."""
        with serving(secured(steady)) as server:
            breakdown = breakdown_of(HttpSystem(server.url))
        assert breakdown.kind in ("garbage", "not_started")


def test_the_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked is what was named."""
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/")
    with serving(steady) as server:
        system = HttpSystem(server.url)
        assert isinstance(system.call("case.open", CASE), Answered)
        system.close()
