"""Both sides held to the schemas of the protocol, and each blamed for its own.

An answer that breaks its schema is the system's fault. A request that breaks its own is never sent, and it is the fault of
whoever wrote it: of a trace that somebody replays (`Unreadable`), or else of the suite (`BrokenRequest`). Validators are
compiled once. Nearly everything is valid, so that is asked first; only of what is not a small copy is made, bounded and
without what cannot be encoded, and that is asked for every problem.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import TypeAlias, cast

from jsonschema_rs import Draft202012Validator, ValidationError
from jsonschema_rs import ValidationErrorKind as Kind

from keyturn.branches import Outcome
from keyturn.errors import Unreadable
from keyturn.handshake import Description, read_description
from keyturn.operations import Operation
from keyturn.values import Json
from keyturn.wire import read_operation, read_outcome
from keyturn_specs.schemas import DIALECT, TAGS, Schema, params_name, protocol_schema, reference, result_name
from keyturn_testing.systems.base import BrokenRequest, Killed, Lanes, Reply, Schedule, System, Together
from keyturn_testing.wording import escaped, listed, quoted

MOST_PROBLEMS = 20
"""How many problems of one value are said."""

LONGEST_VALUE = 60
"""How many characters of a wrong value, or of a name in a path, are shown."""

MOST_ITEMS = 100
"""How many items of a list, or members of an object that no schema names, are looked at for what is wrong."""

LONGEST_TEXT = 1000
"""How many characters of a text are looked at for what is wrong."""

DEEPEST = 40
"""How deep a value is looked at; no schema says anything of what is deeper."""

Place: TypeAlias = Sequence[str | int]
"""The names and indices that lead to a part of a value."""

_NOUNS: Mapping[str, str] = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}


def requested(method: str, params: Json) -> Operation:
    """Return a request as an operation; raise `Unreadable` for params that break their schema, `KeyError` for no method."""
    problems = problems_of(params_name(method), params)
    if problems:
        raise Unreadable(method, problems)
    return read_operation(method, params)


def answered(operation: type[Operation], result: Json) -> Outcome:
    """Return an answer as an outcome; raise `Unreadable` with every problem when it breaks its schema."""
    _check_answer(operation.method, result)
    return read_outcome(operation, result)


def described(result: Json) -> Description:
    """Return a handshake; raise `Unreadable` with every problem when it breaks its schema."""
    _check_answer(Description.method, result)
    return read_description(result)


def _check_answer(method: str, result: Json) -> None:
    problems = problems_of(result_name(method), result)
    if problems:
        raise Unreadable(f"the result of {method}", problems)


class Checked:
    """A system that is sent only what is valid; raises `BrokenRequest` instead of making any other call."""

    def __init__(self, system: System) -> None:
        self._system = system

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Call one operation, if its params are valid."""
        _require_valid(method, params)
        return self._system.call(method, params)

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Make the calls of several lanes, if the params of all are valid."""
        for request in (each for lane in lanes for each in lane):
            _require_valid(request.method, request.params)
        return self._system.together(lanes, schedule)

    @property
    def can_be_killed(self) -> bool:
        """Whether the system can be killed."""
        return self._system.can_be_killed

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Call one operation, if its params are valid, and kill the process meanwhile."""
        _require_valid(method, params)
        return self._system.killed(method, params, after)

    def restart(self) -> Reply:
        """Restart the system."""
        return self._system.restart()

    def close(self) -> None:
        """Close the system."""
        self._system.close()


def _require_valid(method: str, params: Mapping[str, Json]) -> None:
    problems = problems_of(params_name(method), params)
    if problems:
        raise BrokenRequest(method, problems)


# ---- Asking a schema ------------------------------------------------------------------------------------------------


@cache
def _definitions() -> Mapping[str, Schema]:
    return cast(Mapping[str, Schema], protocol_schema()["$defs"])


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = {"$schema": DIALECT, "$ref": reference(name), "$defs": _definitions()}
    # A time is held to its pattern; how strict a format is differs from tool to tool.
    return Draft202012Validator(schema, validate_formats=False, offline=True)


def problems_of(definition: str, value: Json) -> tuple[str, ...]:
    """Return every problem of a value, each with its path, escaped and bounded; empty when it is valid."""
    validator = _validator(definition)
    valid: bool | None = None
    with suppress(ValueError):  # a name that UTF-8 cannot write: it is in no schema, and the copy spells it out
        valid = validator.is_valid(value)
    if valid:
        return ()
    small = _small(value, DEEPEST)
    said = tuple(dict.fromkeys(_in_words(validator.iter_errors(small))))
    if not said and valid is False:
        return (f"$: something past the first {MOST_ITEMS} items of a list, or members of an object, breaks it",)
    more = len(said) - MOST_PROBLEMS
    return (*said[:MOST_PROBLEMS], f"and {more} more") if more > 0 else said


@cache
def _names() -> frozenset[str]:
    """Every name of a property in any schema."""
    return frozenset(name for each in _definitions().values() for name in cast(Schema, each.get("properties", {})))


def _small(value: object, depth: int) -> Json:
    """Return as much of a value as is looked at for what is wrong: bounded, and without what cannot be encoded."""
    if isinstance(value, str):
        return value[:LONGEST_TEXT].encode(errors="backslashreplace").decode()
    if not isinstance(value, Mapping | list | tuple):
        return cast(Json, value)
    if depth == 0:
        return None
    if not isinstance(value, Mapping):
        return [_small(each, depth - 1) for each in value[:MOST_ITEMS]]
    others = islice((name for name in value if name not in _names()), MOST_ITEMS)
    kept = (*(name for name in value if name in _names()), *others)
    return {str(_small(str(name), 0)): _small(value[name], depth - 1) for name in kept}


# ---- Saying what is wrong -------------------------------------------------------------------------------------------


def _in_words(errors: Iterable[ValidationError]) -> Iterator[str]:
    for error in errors:
        match error.kind:
            case Kind.AnyOf(context=context) | Kind.OneOfNotValid(context=context):
                yield from _of_union(context, error.instance_path)
            case Kind.Required(property=name):
                yield f"{_path(error)}: {quoted(name, LONGEST_VALUE)} is missing"
            case _:
                yield f"{_path(error)}: {_expected(error)}"


def _expected(error: ValidationError) -> str:
    """What should stand in the place of an error, and what does."""
    shown = _shown(error.instance)
    match error.kind:
        case Kind.Type(types=types):
            return (
                f"expected {listed([_NOUNS[each] for each in types if each != 'null'] or ['null'], 'or')}, not {shown}"
            )
        case Kind.Enum(options=options):
            return f"{shown} is not one of {', '.join(map(str, options))}"
        case Kind.Constant(expected_value=expected):
            return f"expected {expected!r}, not {shown}"
        case Kind.Pattern():
            return f"{shown} is not an RFC 3339 time with an offset: write it as 2026-01-01T12:00:00Z"
        case Kind.Not():
            return f"expected a value, not {shown}"
        case _:
            return escaped(error.message)


def _of_union(context: Sequence[Sequence[ValidationError]], union: Place) -> Iterator[str]:
    """What is wrong with the member that was meant: the one that the tag names, or the only one beside null."""
    members = [each for each in context if not _only_null(each, union)]
    meant = [each for each in members if not any(_is_of_tag(one, union) for one in each)]
    if len(members) == 1 or len(meant) == 1:
        yield from _in_words((meant or members)[0])
        return
    wrong = [(one, one.kind.expected_value) for each in members for one in each if isinstance(one.kind, Kind.Constant)]
    if wrong:
        known = ", ".join(str(expected) for _, expected in wrong)
        yield f"{_path(wrong[0][0])}: {_shown(wrong[0][0].instance)} is not one of {known}"
        return
    yield from _in_words([one for one in members[0] if _is_of_tag(one, union)])


def _only_null(errors: Sequence[ValidationError], union: Place) -> bool:
    """Whether a member of a union is null, which stands for what is absent."""
    return [each.kind.types for each in errors if isinstance(each.kind, Kind.Type) and each.instance_path == union] == [
        ["null"]
    ]


def _is_of_tag(error: ValidationError, union: Place) -> bool:
    """Whether an error says that a member was not meant: it has another tag or none, or is no object at all."""
    match error.kind:
        case Kind.Required(property=name):
            return name in TAGS and error.instance_path == union
        case Kind.Constant() | Kind.Type(types=["null"]) if error.instance_path[:-1] == union:
            return error.instance_path[-1] in TAGS
        case Kind.Type():
            return error.instance_path == union
        case _:
            return False


def _path(error: ValidationError) -> str:
    """Where an error is, as a JSON path."""
    return "$" + "".join(_part(each) for each in error.instance_path)


def _part(part: str | int) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    plain = part.isidentifier() and part.isascii() and len(part) <= LONGEST_VALUE
    return f".{part}" if plain else f"[{quoted(part, LONGEST_VALUE)}]"


def _shown(value: object) -> str:
    """A wrong value in few words."""
    match value:
        case str():
            return quoted(value, LONGEST_VALUE)
        case list():
            return "a list"
        case Mapping():
            return "an object"
        case _:
            return escaped(json.dumps(value, default=str), LONGEST_VALUE)
