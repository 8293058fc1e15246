"""An object in process is served over lines: every line gets its answer, and no line ends the program."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyturn.errors import OperationFailed, Unsupported
from keyturn.store import ReferenceStore
from keyturn.values import Json
from keyturn_testing.serve import serve_stdio
from keyturn_testing.systems.base import Answered, NotOffered
from keyturn_testing.systems.stdio import LONGEST_LINE_BYTES, StdioSystem

CASE: dict[str, Json] = {"account": "ann", "workflow": "trip", "case": "c1"}


class Store:
    """An object that is served: it answers, refuses, fails and prints as its case says."""

    def __init__(self) -> None:
        self.closed = False

    def case_open(self, *, account: str, workflow: str, case: str) -> object:
        """Do what the case says."""
        match case:
            case "fails":
                raise OperationFailed("disk full", definite=account == "sure")
            case "breaks":
                raise ValueError("secret\ntrace")
            case "type":
                raise TypeError("inside")
            case "cannot":
                raise Unsupported("not here")
            case "garbage":
                return {"at": object()}
            case "prints":
                print("hello")  # noqa: T201  # what it prints must not be taken for an answer
            case _:
                pass
        return {"revision": 1}

    async def case_edit(self, *, account: str, workflow: str, case: str) -> object:
        """Answer later."""
        return {"revision": 2, "invalidated": ()}

    def close(self) -> None:
        """Remember it."""
        self.closed = True

    def secret(self) -> object:
        """No method of the protocol."""
        raise AssertionError


def lines(*sent: bytes, target: object = None) -> list[dict[str, Json]]:
    """What is answered to these lines."""
    stdout = io.BytesIO()
    serve_stdio(target or Store(), io.BytesIO(b"".join(line + b"\n" for line in sent)), stdout)
    assert stdout.getvalue().isascii()
    return [json.loads(line) for line in stdout.getvalue().splitlines()]


def request(method: str, params: Json = None, **more: Json) -> bytes:
    """One request."""
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": 1, "method": method, **more}
    return json.dumps(message if params is None else {**message, "params": params}).encode()


def error_of(*sent: bytes) -> dict[str, Json]:
    """The error that the first line is answered with, when the next line is still served."""
    first, second = lines(*sent, request("case.open", CASE, id="next"))
    assert second == {"jsonrpc": "2.0", "id": "next", "result": {"revision": 1}}
    assert isinstance(first["error"], dict)
    return {**first["error"], "id": first["id"]}


class TestAnswers:
    """A call is answered with what the object returns."""

    def test_calls_are_answered_in_order(self) -> None:
        """Every line has one answer with its id, sync or async."""
        answers = lines(request("case.open", CASE, id=7), request("case.edit", CASE, id="b"))
        assert answers == [
            {"jsonrpc": "2.0", "id": 7, "result": {"revision": 1}},
            {"jsonrpc": "2.0", "id": "b", "result": {"revision": 2, "invalidated": []}},
        ]

    def test_the_reference_is_served(self) -> None:
        """A refusal is a result, and parameters may be left out where there are none."""
        store = ReferenceStore()
        get = request("card.get", {"account": "a", "conversation": "v", "card": "none"})
        described, refused = lines(request("describe"), get, target=store)
        assert isinstance(described["result"], dict)
        assert refused["result"] == {"outcome": "rejected", "code": "not_found"}

    def test_a_notification_is_performed_and_not_answered(self) -> None:
        """A request without an id wants no answer, not even of an error."""
        for method in ("case.open", "no.such"):
            message = json.dumps({"jsonrpc": "2.0", "method": method, "params": CASE}).encode()
            assert lines(message) == []

    def test_what_the_object_prints_is_no_answer(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Printing goes to standard error."""
        assert len(lines(request("case.open", {**CASE, "case": "prints"}))) == 1
        assert capsys.readouterr() == ("", "hello\n")

    def test_the_object_is_closed_at_the_end(self) -> None:
        """When the input ends, also in the middle of a line, the object's `close` is called."""
        store, stdout = Store(), io.BytesIO()
        serve_stdio(store, io.BytesIO(b'{"jsonrpc"'), stdout)
        assert store.closed
        assert json.loads(stdout.getvalue())["error"]["code"] == -32700


class TestErrors:
    """What cannot be served is an error of the conversation, which goes on."""

    @pytest.mark.parametrize(
        "line",
        [b"{", b"", b"\xff", b"nan", b'{"a": NaN}', b'{"id": 1, "id": 2}', b"[" * 100_000, b'{"id": ' + b"9" * 5000],
        ids=["half", "empty", "not UTF-8", "word", "NaN", "twice", "deep", "huge"],
    )
    def test_not_json(self, line: bytes) -> None:
        """-32700 for a line that is not JSON as every reader has it, with a null id."""
        error = error_of(line)
        assert (error["code"], error["id"]) == (-32700, None)

    @pytest.mark.parametrize(
        "line",
        [
            b"[]",
            b"7",
            b'{"id": 1, "method": "describe"}',
            b'{"jsonrpc": "2.0", "id": 1}',
            b'{"jsonrpc": "2.0", "id": true, "method": "describe"}',
            b'{"jsonrpc": "2.0", "id": {}, "method": "describe"}',
        ],
        ids=["array", "number", "no version", "no method", "true as id", "object as id"],
    )
    def test_no_request(self, line: bytes) -> None:
        """-32600 for JSON that is no request."""
        assert error_of(line)["code"] == -32600

    @pytest.mark.parametrize("method", ["no.such", "secret", "close", "__init__", "card.get", "perform"])
    def test_only_the_protocol_can_be_called(self, method: str) -> None:
        """-32601 for what is no method of the protocol, or none of the object."""
        assert error_of(request(method))["code"] == -32601

    def test_unsupported(self) -> None:
        """-32601 for `Unsupported` too."""
        assert error_of(request("case.open", {**CASE, "case": "cannot"}))["code"] == -32601

    @pytest.mark.parametrize("params", [[1], "x", {"account": 1}, {**CASE, "more": 1}], ids=ascii)
    def test_parameters_that_do_not_fit(self, params: Json) -> None:
        """-32602 for parameters that are no object, or not those of the method."""
        assert error_of(request("case.open", params))["code"] == -32602

    def test_all_problems_of_parameters_are_told(self) -> None:
        """Every parameter that cannot be read is in the message, whether it is missing or of the wrong type."""
        for target in (ReferenceStore(), Store()):
            [answer] = lines(request("case.open", {"account": 1}), target=target)
            error = answer["error"]
            assert isinstance(error, dict)
            assert error["code"] == -32602
            assert all(name in str(error["message"]) for name in ("account", "workflow", "case"))

    def test_parameters_that_the_object_cannot_read(self) -> None:
        """-32602 when the object itself finds that it cannot read them."""
        [answer] = lines(request("case.open", {**CASE, "account": 1, "case": []}), target=ReferenceStore())
        error = answer["error"]
        assert isinstance(error, dict)
        assert error["code"] == -32602
        assert "account" in str(error["message"])
        assert "case" in str(error["message"])

    @pytest.mark.parametrize(("account", "definite"), [("sure", True), ("unsure", False)])
    def test_a_failed_operation(self, account: str, definite: bool) -> None:
        """-32000 says whether it may still have happened."""
        error = error_of(request("case.open", {**CASE, "case": "fails", "account": account}))
        assert error == {"code": -32000, "message": "disk full", "data": {"definite": definite}, "id": 1}

    @pytest.mark.parametrize(
        ("case", "said"),
        [
            ("breaks", "case.open raised ValueError: secret\ntrace"),
            ("type", "case.open raised TypeError: inside"),
            ("garbage", "case.open returned result['at'] is a object, which is not plain JSON"),
        ],
    )
    def test_an_object_that_fails(self, case: str, said: str) -> None:
        """-32603 with the message of the exception, and without its traceback."""
        error = error_of(request("case.open", {**CASE, "case": case}))
        assert (error["code"], error["message"]) == (-32603, said)

    @pytest.mark.parametrize("extra", [1, 2, 100_000])
    def test_a_line_that_is_too_long(self, extra: int) -> None:
        """A line over the limit is answered once, and the next line is served."""
        assert error_of(b" " * (LONGEST_LINE_BYTES + extra))["code"] == -32600

    def test_the_limit_itself_is_served(self) -> None:
        """A line as long as the limit is a line."""
        [answer] = lines(request("case.open", CASE).ljust(LONGEST_LINE_BYTES))
        assert answer["result"] == {"revision": 1}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[StdioSystem]:
    """The reference, served by a process of its own."""
    program = "import sys; from keyturn.store import ReferenceStore; from keyturn_testing.serve import serve_stdio\n"
    program += "serve_stdio(ReferenceStore(), sys.stdin.buffer, sys.stdout.buffer)"
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    system = StdioSystem([sys.executable, "-u", "-c", program], tmp_path, time_limit=20, environment=environment)
    yield system
    system.close()


class TestTogether:
    """The two ends of the conversation understand each other."""

    def test_the_reference_over_stdio(self, served: StdioSystem) -> None:
        """Results, refusals and what is not offered cross the pipe."""
        assert served.call("reset", {"now": "2026-01-01T00:00:00Z"}) == Answered({})
        assert served.call("case.open", CASE) == Answered({"revision": 1})
        get: dict[str, Json] = {"account": "a", "conversation": "v", "card": "none"}
        assert served.call("card.get", get) == Answered({"outcome": "rejected", "code": "not_found"})
        assert served.call("no.such", {}) == NotOffered()

    @pytest.mark.parametrize("flags", [[], ["-u"]], ids=["buffered", "unbuffered"])
    def test_a_reader_that_leaves_ends_it_quietly(self, flags: list[str]) -> None:
        """When nobody reads the answers, it ends without a word and without an error."""
        program = "import sys; from keyturn_testing.serve import serve_stdio\n"
        program += "class Store:\n def case_open(self, **_): return {'text': 'x' * 1_000_000}\n"
        program += "serve_stdio(Store(), sys.stdin.buffer, sys.stdout.buffer)"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        process = subprocess.Popen(
            [sys.executable, *flags, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert process.stdout
        assert process.stdin
        process.stdin.write(request("case.open", CASE) + b"\n")
        process.stdin.flush()
        process.stdout.read(10)
        process.stdout.close()
        assert process.wait(20) == 0
        assert process.stderr
        assert process.stderr.read() == b""
        process.stdin.close()
        process.stderr.close()


def test_a_stream_may_take_a_part_only() -> None:
    """An answer is written to its end, also to a stream that takes a few bytes at a time."""

    class Slow(io.BytesIO):
        def write(self, data: object) -> int:
            assert isinstance(data, bytes)
            return super().write(data[:3])

    stdout = Slow()
    serve_stdio(Store(), io.BytesIO(request("case.open", CASE) + b"\n"), stdout)
    assert json.loads(stdout.getvalue())["result"] == {"revision": 1}
