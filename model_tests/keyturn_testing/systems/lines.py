"""Lines of JSON-RPC 2.0: read strictly, and taken for a reply or for a breakdown of the conversation.

Everything in a line is hostile: it is decoded strictly, and quoted in ASCII where it is shown.
"""

import json
from collections import Counter
from math import isfinite
from typing import NoReturn, cast

from keyturn.values import Json
from keyturn_testing.systems.base import Answered, Breakdown, NotOffered, NotRead, Reply, WentWrong
from keyturn_testing.systems.crossing import DEEPEST, NotJson, TooMuch, plain
from keyturn_testing.systems.saying import escaped, quoted

METHOD_NOT_FOUND, OPERATION_FAILED = -32601, -32000

NOT_READ = frozenset({-32700, -32600, -32602})
"""The errors by which a system says that it could not read what it was sent."""

_APART = " (standard output is for answers, standard error for logs)"


class NotStrict(Exception):
    """A line is not one JSON text that every reader reads in the same way."""


def strict_json(line: bytes) -> object:
    """Read a line; raise `NotStrict` for what is not UTF-8 or JSON, and for what JSON readers disagree on:
    numbers that are not finite or have thousands of digits, names that are there twice, and deep nesting.
    """
    try:
        value: object = _DECODER.decode(line.decode())
    except UnicodeDecodeError as error:
        raise NotStrict(f"not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise NotStrict(f"not JSON ({error.msg}, at character {error.pos})") from None
    except RecursionError:
        raise NotStrict(f"JSON that nests more than {DEEPEST} deep") from None
    except ValueError:
        raise NotStrict("JSON with an integer of thousands of digits") from None
    # Counting brackets is quicker than walking, and nearly always enough.
    if line.count(b"[") + line.count(b"{") > DEEPEST:
        try:
            plain(value)
        except (NotJson, TooMuch):
            raise NotStrict(f"JSON that nests more than {DEEPEST} deep, or has too many values") from None
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise NotStrict(f"JSON with the name {quoted(twice, 40)} twice in one object")
    return made


def _number(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise NotStrict(f"JSON with the number {quoted(text, 40)}, which is out of range")
    return number


def _constant(text: str) -> NoReturn:
    raise NotStrict(f"not JSON ({text} is no JSON value)")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=_number, parse_constant=_constant)
encode_json = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def reply_of(line: bytes, number: int, method: str, advice: str = _APART) -> Reply:
    """Read one line as the reply to the request of this number; raise `Breakdown` when it is none.

    `advice` is what is said to whoever sent what is not JSON.
    """
    try:
        message = strict_json(line)
    except NotStrict as error:
        said = f"the answer to {method} is {error}: {quoted(line)}"
        raise Breakdown("garbage", f"{said}{advice}") from None
    if type(message) is not dict:
        raise _garbage(method, "is not a JSON object", line)
    if message.get("jsonrpc") != "2.0":
        raise _garbage(method, 'does not have "jsonrpc": "2.0"', line)
    if ("result" in message) == ("error" in message):
        said = "both `result` and `error`" if "error" in message else "neither `result` nor `error`"
        raise _garbage(method, f"has {said}", line)
    found = message.get("id")
    # A system that could not read the request says so without knowing its id.
    if (type(found) is not int or found != number) and not (found is None and "id" in message and "error" in message):
        said = f"has the id {escaped(json.dumps(found), 40)} and not {number}" if "id" in message else "has no id"
        raise _garbage(method, said, line)
    if "result" in message:
        return Answered(cast(Json, message["result"]))
    return _error(message["error"], line, method)


def _error(error: object, line: bytes, method: str) -> Reply:
    if not isinstance(error, dict) or type(error.get("code")) is not int:
        raise _garbage(method, "has an error that is not an object with an integer `code`", line)
    code, text = error["code"], error.get("message")
    said = escaped(text if isinstance(text, str) else json.dumps(text))
    if code == METHOD_NOT_FOUND:
        return NotOffered()
    if code == OPERATION_FAILED:
        data = error.get("data")
        definite = data["definite"] if isinstance(data, dict) and "definite" in data else error.get("definite")
        if isinstance(definite, bool):
            return WentWrong(definite, said)
        said += " (without `definite`: true or false in `data`)"
    said = f"the system answered the JSON-RPC error {code} to {method}: {said}"
    if code in NOT_READ:
        return NotRead(said)
    raise Breakdown("protocol", said)


def _garbage(method: str, problem: str, line: bytes) -> Breakdown:
    return Breakdown("garbage", f"the answer to {method} {problem}: {quoted(line)}")
