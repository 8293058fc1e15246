"""What crosses between the suite and an object in the same process: copied and checked on the way.

Arguments are copied, so that the system cannot rewrite the step that is being judged. Results must be plain JSON of bounded
size, or records of the same fields.
"""

from collections.abc import Mapping
from math import isfinite
from typing import cast

from attrs import AttrsInstance, fields, has

from keyturn.branches import Outcome
from keyturn.values import Json
from keyturn.wire import write_outcome
from keyturn_testing.systems.saying import quoted

DEEPEST = 200
"""How deep an answer may nest: far beyond any result of the protocol, far below what recursion can bear."""

LARGEST_ANSWER_VALUES = 250_000
"""How many values an answer may hold; shared parts count each time, as they would on a wire."""

_ATOMS = frozenset({str, int, bool, type(None)})


class NotJson(Exception):
    """A result holds something that is not plain JSON; `path` leads there, innermost part first."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.path: list[str | int] = []

    def __str__(self) -> str:
        """Where it is and what it is."""
        path = "".join(f"[{each if isinstance(each, int) else quoted(each, 40)}]" for each in reversed(self.path))
        return f"result{path if len(path) <= 300 else f'{path[:300]}...'} {self.args[0]}"


class TooMuch(Exception):
    """A result has more values than an answer may hold."""


def plain(value: object) -> Json:
    """Return a result as fresh plain JSON; raise `NotJson` for what is none, and `TooMuch`."""
    return _plain(value, DEEPEST, [LARGEST_ANSWER_VALUES])


def _plain(value: object, depth: int, budget: list[int]) -> Json:
    kind = type(value)
    if kind in _ATOMS:
        return cast(Json, value)
    if kind is dict or isinstance(value, Mapping):
        return _plain_object(cast(Mapping[object, object], value), depth, budget)
    if kind is list or isinstance(value, list | tuple):
        return _plain_list(cast(list[object], value), depth, budget)
    # Enumerations of texts and numbers are written as what they hold.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise NotJson(f"is {float.__repr__(value)}, which JSON has no number for")
        return float.__float__(value)
    if has(kind):
        return _plain_object(_record(value), depth, budget)
    raise NotJson(f"is a {kind.__qualname__[:80]}, which is not plain JSON")


def _plain_object(value: Mapping[object, object], depth: int, budget: list[int]) -> dict[str, Json]:
    _spend(len(value), depth, budget)
    copy: dict[str, Json] = {}
    name: object = None
    try:
        for name, each in value.items():
            written = name if type(name) is str else _name(name)
            copy[written] = cast(Json, each) if type(each) in _ATOMS else _plain(each, depth - 1, budget)
    except NotJson as problem:
        problem.path.append(name if isinstance(name, str) else "?")
        raise
    return copy


def _name(name: object) -> str:
    if isinstance(name, str):
        return str.__str__(name)
    raise NotJson(f"is under a name that is a {type(name).__qualname__[:80]}, not a string")


def _plain_list(value: list[object], depth: int, budget: list[int]) -> list[Json]:
    _spend(len(value), depth, budget)
    copy: list[Json] = []
    try:
        for each in value:
            fresh = cast(Json, each) if type(each) in _ATOMS else _plain(each, depth - 1, budget)
            copy.append(fresh)
    except NotJson as problem:
        problem.path.append(len(copy))
        raise
    return copy


def _spend(count: int, depth: int, budget: list[int]) -> None:
    budget[0] -= count
    if budget[0] < 0:
        raise TooMuch(f"more than {LARGEST_ANSWER_VALUES:,} values")
    if depth == 0:
        raise NotJson(f"nests more than {DEEPEST} deep")


def _record(value: object) -> Mapping[object, object]:
    """The mapping of the same fields: as the protocol writes them for our own records, as they are for others."""
    kind = type(value)
    if kind.__module__.startswith("keyturn."):
        return cast(Mapping[object, object], write_outcome(cast(Outcome, value)))
    declared = fields(cast("type[AttrsInstance]", kind))
    written: dict[object, object] = {each.name: getattr(value, each.name) for each in declared}
    outcome = getattr(kind, "outcome", None)
    return {"outcome": outcome, **written} if isinstance(outcome, str) else written


def arguments(params: Mapping[str, Json]) -> dict[str, object]:
    """Return a copy of the params that the system may keep and change."""
    return {name: each if type(each) in _ATOMS else _argument(each) for name, each in params.items()}


def _argument(value: object, depth: int = DEEPEST) -> object:
    if type(value) is dict and depth:
        return {name: each if type(each) in _ATOMS else _argument(each, depth - 1) for name, each in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [_argument(each, depth - 1) for each in value]
    return value
