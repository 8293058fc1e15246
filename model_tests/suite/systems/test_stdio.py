"""A conversation with a command: proper answers are replies, and everything else is a breakdown that shows it."""

import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest

from keyturn.capabilities import ALL_CLAIMS
from keyturn_testing.driver import Driver
from keyturn_testing.systems.base import Answered, Breakdown, NotOffered, NotRead, WentWrong
from keyturn_testing.systems.stdio import LONGEST_LINE_BYTES

from .programs import CASE, STEADY, OpenProgram, breakdown_of


class TestReplies:
    """A proper answer is a result, an operation that is not offered, or one that went wrong."""

    def test_what_is_asked_and_answered(self, open_program: OpenProgram) -> None:
        """A request is a JSON-RPC object with the method and its parameters, and ids go up."""
        system = open_program(
            "while True:\n request = read()\n say(json.dumps({**request, 'result': request}) + '\\n')"
        )
        for number in (1, 2):
            asked = {"jsonrpc": "2.0", "id": number, "method": "case.open", "params": CASE}
            assert system.call("case.open", CASE) == Answered(asked)

    @pytest.mark.parametrize("result", ["None", "[]", "'text'", "1.5", "{'outcome': 'rejected', 'code': 'not_found'}"])
    def test_any_json_is_a_result(self, open_program: OpenProgram, result: str) -> None:
        """Whether a result fits its operation is judged elsewhere."""
        reply = open_program(f"answer(result={result})").call("case.open", CASE)
        assert isinstance(reply, Answered)
        assert repr(reply.result) == result

    def test_not_offered(self, open_program: OpenProgram) -> None:
        """-32601 says that the capability is not there."""
        system = open_program("answer(error={'code': -32601, 'message': 'no'})")
        assert system.call("case.open", CASE) == NotOffered()

    @pytest.mark.parametrize("definite", [True, False])
    @pytest.mark.parametrize("place", ["'data': {'definite': %s}", "'definite': %s"], ids=["data", "error"])
    def test_went_wrong(self, open_program: OpenProgram, place: str, definite: bool) -> None:
        """-32000 says whether the operation may still have happened, in the data or beside it."""
        system = open_program(f"answer(error={{'code': -32000, 'message': 'disk\\x07', {place % definite}}})")
        assert system.call("case.open", CASE) == WentWrong(definite, "disk\\x07")

    @pytest.mark.parametrize("code", [-32603, -32000, 7])
    def test_other_errors_break_the_protocol(self, open_program: OpenProgram, code: int) -> None:
        """Any other error, and -32000 without saying which, is named with its method and message."""
        breakdown = breakdown_of(open_program(f"answer(error={{'code': {code}, 'message': 'so not'}})"))
        assert breakdown.kind == "protocol"
        assert f"answered the JSON-RPC error {code} to case.open: so not" in breakdown.message
        assert ("definite" in breakdown.message) == (code == -32000)

    @pytest.mark.parametrize("code", [-32700, -32600, -32602])
    def test_not_read(self, open_program: OpenProgram, code: int) -> None:
        """Three errors say that the request could not be read."""
        system = open_program(f"answer(error={{'code': {code}, 'message': 'so\\x07'}})")
        said = f"the system answered the JSON-RPC error {code} to case.open: so\\x07"
        assert system.call("case.open", CASE) == NotRead(said)

    def test_an_error_may_not_know_its_id(self, open_program: OpenProgram) -> None:
        """A system that could not read the request says so with a null id."""
        line = '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "what"}}\n'
        reply = open_program(f"read(); say({line!r})").call("case.open", CASE)
        assert reply == NotRead("the system answered the JSON-RPC error -32700 to case.open: what")

    def test_only_a_response_need_not_be_read(self, open_program: OpenProgram) -> None:
        """A system that cannot read another request breaks the protocol."""
        system = open_program("while True: answer(error={'code': -32602, 'message': 'no'})")
        with pytest.raises(Breakdown) as caught:
            Driver(system, ALL_CLAIMS, ())
        assert caught.value.kind == "protocol"
        assert caught.value.message == "the system answered the JSON-RPC error -32602 to reset: no"

    def test_hostile_text_is_sent_as_it_is(self, open_program: OpenProgram) -> None:
        """Lone surrogates and U+0000 cross unharmed, in both directions."""
        text = "\x00 \ud800 é \u2028"
        system = open_program("request = read(); say(json.dumps({**request, 'result': request['params']}) + '\\n')")
        assert system.call("card.respond", {"response": text}) == Answered({"response": text})


def _answer(members: str) -> bytes:
    return f'{{"jsonrpc": "2.0", "id": 1, {members}}}\n'.encode()


BAD_LINES: Mapping[str, tuple[bytes, str]] = {
    "a banner": (b"Server started\n", "not JSON (Expecting value"),
    "empty": (b"\n", "not JSON"),
    "not UTF-8": (b'\xff\xfe{"id": 1}\n', "not UTF-8 (byte 0)"),
    "an array": (b"[]\n", "not a JSON object"),
    "a number": (b"1\n", "not a JSON object"),
    "no id": (b'{"jsonrpc": "2.0", "result": {}}\n', "has no id"),
    "a notification": (b'{"jsonrpc": "2.0", "method": "log"}\n', "neither `result` nor `error`"),
    "another id": (b'{"jsonrpc": "2.0", "id": 2, "result": {}}\n', "has the id 2 and not 1"),
    "a text as id": (b'{"jsonrpc": "2.0", "id": "1", "result": {}}\n', 'has the id "1" and not 1'),
    "true as id": (b'{"jsonrpc": "2.0", "id": true, "result": {}}\n', "has the id true and not 1"),
    "null as id": (b'{"jsonrpc": "2.0", "id": null, "result": {}}\n', "has the id null and not 1"),
    "no result": (b'{"jsonrpc": "2.0", "id": 1}\n', "neither"),
    "result and error": (_answer('"result": {}, "error": null'), "both `result` and `error`"),
    "no version": (b'{"id": 1, "result": {}}\n', '"jsonrpc": "2.0"'),
    "an old version": (b'{"jsonrpc": "1.0", "id": 1, "result": {}}\n', '"jsonrpc": "2.0"'),
    "a text as error": (_answer('"error": "no"'), "an error that is not an object"),
    "a text as code": (_answer('"error": {"code": "-32601"}'), "integer `code`"),
    "NaN": (_answer('"result": NaN'), "NaN is no JSON value"),
    "infinity": (_answer('"result": -Infinity'), "-Infinity is no JSON value"),
    "a huge float": (_answer('"result": 1e999'), "out of range"),
    "a huge integer": (_answer(f'"result": {"9" * 5000}'), "thousands of digits"),
    "a name twice": (_answer('"result": {"a": 1, "a": 2}'), "name 'a' twice"),
    "deep": (_answer(f'"result": {"[" * 300}{"]" * 300}'), "nests more than"),
    "deeper": (b"[" * 1_000_000 + b"\n", "nests more than"),
    "terminal codes": (b"\x1b[2J\x1b]0;owned\x07\n", "'\\x1b[2J"),
}


class TestGarbage:
    """A line that is no proper answer is garbage, and is shown."""

    @pytest.mark.parametrize(("line", "said"), BAD_LINES.values(), ids=BAD_LINES.keys())
    def test_a_bad_line(self, open_program: OpenProgram, tmp_path: Path, line: bytes, said: str) -> None:
        """The problem is named, with at most 200 characters of the line."""
        answer = tmp_path / "line"
        answer.write_bytes(line)
        breakdown = breakdown_of(open_program("read(); say(open(sys.argv[1], 'rb').read()); read()", str(answer)))
        assert breakdown.kind == "garbage"
        assert "case.open" in breakdown.message
        assert said in breakdown.message

    def test_a_second_answer_is_found_by_the_next_call(self, open_program: OpenProgram) -> None:
        """A line that nobody asked for is the wrong answer to what is asked next."""
        system = open_program("request = read(); say((json.dumps({**request, 'result': 1}) + '\\n') * 2)\n" + STEADY)
        assert system.call("case.open", CASE) == Answered(1)
        breakdown = breakdown_of(system)
        assert (breakdown.kind, "has the id 1 and not 2" in breakdown.message) == ("garbage", True)

    def test_many_brackets_are_not_deep(self, open_program: OpenProgram) -> None:
        """A wide answer is as good as any."""
        assert open_program("answer(result=[[]] * 1000)").call("case.open", CASE) == Answered([[]] * 1000)


class TestSize:
    """A line is bounded while it comes, not afterwards."""

    @pytest.mark.parametrize(
        "body", ["say(b'x' * 100_000_000)", "while True: say(b'x' * 65536)"], ids=["100 MB", "for ever"]
    )
    def test_a_line_without_end_is_too_much(self, open_program: OpenProgram, body: str) -> None:
        """A line that goes on is cut off at the limit, and no more of it than that is in memory."""
        system = open_program(body)
        tracemalloc.start()
        try:
            breakdown = breakdown_of(system)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert breakdown.kind == "too_much"
        assert "more than 8 MiB came as the answer to case.open: 'xxx" in breakdown.message
        assert peak < 3 * LONGEST_LINE_BYTES

    def test_a_long_line_with_an_end_is_too_much(self, open_program: OpenProgram) -> None:
        """The limit holds for a whole line too."""
        assert breakdown_of(open_program(f"say(b'x' * {LONGEST_LINE_BYTES + 1} + b'\\n')")).kind == "too_much"

    def test_a_large_answer_is_read(self, open_program: OpenProgram) -> None:
        """An answer of some megabytes is an answer."""
        reply = open_program("answer(result='x' * 3_000_000); read()").call("case.open", CASE)
        assert reply == Answered("x" * 3_000_000)

    def test_both_may_write_much_at_once(self, open_program: OpenProgram) -> None:
        """A system that writes and logs more than the pipes hold before it reads does not block the conversation."""
        body = (
            "say(b' ' * 1_000_000); sys.stderr.write('log' * 300_000); sys.stderr.flush()\n"
            "request = read(); say(json.dumps({**request, 'result': len(request['params']['x'])}) + '\\n')"
        )
        assert open_program(body).call("card.respond", {"x": "y" * 2_000_000}) == Answered(2_000_000)
