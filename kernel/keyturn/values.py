"""The plain values that every other module speaks in.

An id is an opaque string of its own type, a revision is a positive integer, and an instant is a whole number of
milliseconds since 1970-01-01T00:00:00Z. The types differ so that a checker, the wire codec and the oracle can tell from
a declaration alone what a field holds: a card's id is bound to what a system calls it, a title is compared as it is.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NewType, TypeAlias, cast

import rfc8785
from attrs import frozen

from keyturn.errors import NotCanonical

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

CardId = NewType("CardId", str)
CommandId = NewType("CommandId", str)
EffectId = NewType("EffectId", str)
IdempotencyKey = NewType("IdempotencyKey", str)
PayloadHash = NewType("PayloadHash", str)
Revision = NewType("Revision", int)
Instant = NewType("Instant", int)
Untrusted = NewType("Untrusted", object)
"""Whatever a client sent: any JSON value at all, read by the gate and by nothing before it (I19.6)."""

LARGEST_INTEGER = 2**53 - 1
"""The largest integer that every JSON implementation keeps exact (RFC 8785, I19.6)."""

FIRST_INSTANT = Instant(-62_135_596_800_000)
"""The first instant that RFC 3339 can write: 0001-01-01T00:00:00Z."""

LAST_INSTANT = Instant(253_402_300_799_999)
"""The last instant that RFC 3339 can write: 9999-12-31T23:59:59.999Z."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:[0-5]\d)", re.ASCII)
_NUL = re.compile(r"(?<!\\)(\\\\)*\\u0000")


@frozen(order=True)
class CaseKey:
    """The record that a decision is about: a case of a workflow of an account (the guide, "Terms")."""

    account: str
    workflow: str
    case: str


@frozen
class Document:
    """A JSON value as its canonical text (RFC 8785): immutable, hashable, and equal exactly when the values are."""

    text: str

    @property
    def value(self) -> Json:
        """The JSON value itself, a fresh copy each time."""
        return cast(Json, json.loads(self.text, parse_int=_exact))


def _exact(digits: str) -> int | float:
    """Read a number without a point: past the exact integers it was a float before it was written."""
    number = int(digits)
    return number if abs(number) <= LARGEST_INTEGER else float(digits)


def canonical_json(value: Json) -> bytes:
    """Return the one canonical UTF-8 form of a JSON value (RFC 8785); raise `NotCanonical` when it has none."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise NotCanonical(f"this JSON value has no canonical form: {error}") from error


def document(value: Json) -> Document:
    """Return the document of a JSON value; raise `NotCanonical` for numbers or strings that JSON cannot keep exact."""
    return Document(canonical_json(value).decode())


def instant(text: str) -> Instant:
    """Read an RFC 3339 time with an offset, to the nearest millisecond; raise `ValueError` otherwise."""
    if _RFC_3339.fullmatch(text) is None:
        raise ValueError(f"{text!r:.80} is not an RFC 3339 time with an offset: write it as 2026-01-01T12:00:00Z")
    moment = round((datetime.fromisoformat(text.upper()) - _EPOCH) / timedelta(milliseconds=1))
    if not FIRST_INSTANT <= moment <= LAST_INSTANT:
        raise ValueError(f"{text!r} is not between the years 1 and 9999 in UTC")
    return Instant(moment)


def rfc3339(moment: Instant) -> str:
    """Write an instant as an RFC 3339 time in UTC, with milliseconds."""
    return (_EPOCH + timedelta(milliseconds=moment)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: object) -> object:
    """Turn what a caller in process may pass for an object or a list into one."""
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"{type(value).__name__} is no JSON")


_SENDABLE = json.JSONEncoder(ensure_ascii=False, default=_plain)


def is_sendable(value: object) -> bool:
    """Whether a client may send a JSON value: no U+0000 and no lone surrogate in any string or name, nothing endless."""
    try:
        written = _SENDABLE.encode(value)
        written.encode()
    except (ValueError, RecursionError):
        return False
    return "\\u0000" not in written or _NUL.search(written) is None


def milliseconds(seconds: float) -> int:
    """Return a span of seconds as whole milliseconds, rounded to the nearest."""
    return round(seconds * 1000)
