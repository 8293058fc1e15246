"""Serves an object in process as a system over standard input and output: JSON-RPC 2.0, one object a line.

`answer_to` is what one request is answered with, however it came; `keyturn_testing.serve_http` answers with it too.
Every line gets its answer, in order, and no line ends the program: a line that cannot be read, is too long or asks for
what there is not is answered with an error of the conversation, and so is an object that fails. Only the methods of the
protocol can be called. It ends when its input does, or when nobody reads its answers any more.
"""

import inspect
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout, suppress
from typing import BinaryIO, NoReturn, cast

from attrs import field, frozen

from keyturn.errors import Crashed, OperationFailed, Unreadable, Unsupported
from keyturn.operations import BY_METHOD
from keyturn.values import Json
from keyturn.wire import read_operation
from keyturn_testing.systems.crossing import NotJson, TooMuch
from keyturn_testing.systems.in_process import Caller
from keyturn_testing.systems.lines import METHOD_NOT_FOUND, OPERATION_FAILED, NotStrict, strict_json
from keyturn_testing.systems.stdio import LONGEST_LINE_BYTES

PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32602, -32603

_LONGEST_MESSAGE_CHARACTERS = 4000
_CHUNK_BYTES = 65_536


@frozen
class _Problem(Exception):
    """What a request is answered with instead of a result."""

    code: int
    message: str
    data: Json = None


@frozen
class _Request:
    """One call that can be made; a request without an id is a notification, and wants no answer."""

    method: str
    params: Mapping[str, Json] = field(factory=dict)


def end_process(*_: object) -> NoReturn:
    """End this process as a crash does: at once, with nothing written and nothing closed."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("a process does not outlive SIGKILL")


def serve_stdio(target: object, stdin: BinaryIO, stdout: BinaryIO, answered: Callable[[], None] = lambda: None) -> None:
    """Answer every line of `stdin` on `stdout` until the input ends or nobody reads the answers.

    `target` has one method an operation, as `keyturn.port.Port`, sync or async. What it prints goes to standard error,
    so that it cannot be taken for an answer; its `close`, if it has one, is called at the end. `answered` is called when an
    answer has left.
    """
    caller = Caller(lambda: target)
    try:
        with redirect_stdout(sys.stderr):
            while (line := _next_line(stdin)) is not None:
                answer = _line_for(line, caller)
                while answer:  # a stream without a buffer may take a part only
                    answer = answer[stdout.write(answer) :]
                stdout.flush()
                answered()
    except BrokenPipeError:
        _abandon(stdout)
    finally:
        caller.close()


def _next_line(stdin: BinaryIO) -> bytes | None:
    """The next line without its end, None at the end of the input, or one byte more than the limit of a longer line."""
    line = stdin.readline(LONGEST_LINE_BYTES + 1)
    if not line:
        return None
    if line.endswith(b"\n"):
        return line[:-1]
    # The rest of a line that is too long is passed over, so that the next line is a line.
    rest = line
    while len(line) > LONGEST_LINE_BYTES and rest and not rest.endswith(b"\n"):
        rest = stdin.readline(_CHUNK_BYTES)
    return line


def _abandon(stdout: BinaryIO) -> None:
    """Send what is still buffered nowhere: the interpreter would complain about it when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stdout.fileno())
        os.close(nowhere)


def _line_for(line: bytes, caller: Caller) -> bytes:
    """The line that answers a line; a notification has none. An armed fault may end the process instead."""
    try:
        answer = answer_to(line, caller)
    except Crashed:
        end_process()
    return b"" if answer is None else answer + b"\n"


def answer_to(line: bytes, caller: Caller) -> bytes | None:
    """Return the whole answer to one request, or None for a notification; raise `Crashed` when the object does."""
    identity: Json = None
    is_answered = True
    try:
        message = _message(line)
        identity, is_answered = message.get("id"), "id" in message or not _is_notification(message)
        request = _request(message)
        body: dict[str, Json] = {"result": _result(request, caller)}
    except _Problem as problem:
        error: dict[str, Json] = {"code": problem.code, "message": problem.message[:_LONGEST_MESSAGE_CHARACTERS]}
        body = {"error": error if problem.data is None else {**error, "data": problem.data}}
    if not is_answered:
        return None
    return json.dumps({"jsonrpc": "2.0", "id": identity, **body}, separators=(",", ":")).encode()


def _message(line: bytes) -> Mapping[str, Json]:
    if len(line) > LONGEST_LINE_BYTES:
        raise _Problem(INVALID_REQUEST, f"a request may have {LONGEST_LINE_BYTES} bytes at most, and this one has more")
    try:
        message = strict_json(line)
    except NotStrict as error:
        raise _Problem(PARSE_ERROR, f"this request is {error}") from None
    if not isinstance(message, dict):
        raise _Problem(INVALID_REQUEST, "a request is a JSON object; batches are not offered")
    found = message.get("id")
    if isinstance(found, bool) or not (found is None or isinstance(found, str | int | float)):
        raise _Problem(INVALID_REQUEST, "the `id` of a request is a string or a number")
    return message


def _is_notification(message: Mapping[str, Json]) -> bool:
    return message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)


def _request(message: Mapping[str, Json]) -> _Request:
    method, params = message.get("method"), message.get("params", {})
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise _Problem(INVALID_REQUEST, 'a request has "jsonrpc": "2.0" and the name of a `method`')
    if method not in BY_METHOD and method != "describe":
        raise _Problem(METHOD_NOT_FOUND, f"the protocol has no method {method!r:.80}")
    if not isinstance(params, Mapping):
        raise _Problem(INVALID_PARAMS, "`params` is an object: parameters go by name")
    return _Request(method, params)


def _result(request: _Request, caller: Caller) -> Json:
    try:
        return caller.call(request.method, request.params)
    except Unsupported as error:
        raise _Problem(METHOD_NOT_FOUND, f"{request.method} is not offered: {error}") from None
    except Unreadable as error:
        raise _Problem(INVALID_PARAMS, str(error)) from None
    except Crashed:
        raise
    except OperationFailed as error:
        raise _Problem(OPERATION_FAILED, str(error), {"definite": bool(error.definite)}) from None
    except (NotJson, TooMuch) as error:
        raise _Problem(INTERNAL_ERROR, f"{request.method} returned {error}") from None
    except Exception as error:  # noqa: BLE001  # what makes the object fail is answered, and the next request served
        if isinstance(error, TypeError):
            _bind(request, caller.target)
        raise _Problem(INTERNAL_ERROR, f"{request.method} raised {type(error).__name__}: {error}") from None


def _bind(request: _Request, target: object) -> None:
    """Find out whether the method takes these parameters at all: a `TypeError` could be from anywhere."""
    try:
        inspect.signature(getattr(target, request.method.replace(".", "_"))).bind(**request.params)
    except TypeError as error:
        raise _Problem(INVALID_PARAMS, _all_problems(request) or f"{request.method}: {error}") from None
    except ValueError:
        return  # it has no signature that could be seen


def _all_problems(request: _Request) -> str:
    """What the protocol itself has against these parameters; empty when only this object has something."""
    if request.method not in BY_METHOD:
        return ""
    try:
        read_operation(request.method, cast(Json, request.params))
    except Unreadable as error:
        return str(error)
    return ""
