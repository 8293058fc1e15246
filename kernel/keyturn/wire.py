"""Reading and writing the protocol's JSON: the one edge between values and text.

Reading is strict where it matters (a number is not a string, a boolean is not a number), fills what may be left out, and
ignores fields that the protocol does not name. Every problem is named with its path, all at once. Writing leaves out what
is absent, so that null and absent are the same.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import TypeVar, cast, get_args, get_origin

from attrs import fields, has
from cattrs import Converter, transform_error
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override
from cattrs.strategies import configure_tagged_union

from keyturn.branches import Outcome, Unheard
from keyturn.cards import InteractionPayload, StoredAction
from keyturn.errors import Unreadable
from keyturn.operations import BY_METHOD, Operation
from keyturn.responses import Rejected
from keyturn.values import (
    Document,
    Instant,
    Json,
    PayloadHash,
    Untrusted,
    canonical_json,
    document,
    instant,
    is_sendable,
    rfc3339,
)

T = TypeVar("T")
_converter = Converter(detailed_validation=True)


def _primitive(name: str, *accepted: type) -> Callable[[object, object], object]:
    def structure(value: object, _: object) -> object:
        if isinstance(value, float) and value.is_integer() and int in accepted and float not in accepted:
            return int(value)
        if not isinstance(value, accepted) or (isinstance(value, bool) and bool not in accepted):
            raise TypeError(f"expected {name}, not {type(value).__name__}")
        return value

    return structure


def _read_instant(value: object, _: object) -> Instant:
    if not isinstance(value, str):
        raise TypeError(f"expected an RFC 3339 time, not {type(value).__name__}")
    return instant(value)


def _read_word(value: object, kind: type[StrEnum]) -> StrEnum:
    if value not in list(kind):
        raise ValueError(f"{value!r:.80} is not one of {', '.join(kind)}")
    return kind(str(value))


def _read_action(value: object, _: object) -> StoredAction:
    if not isinstance(value, Mapping):
        raise TypeError(f"expected an object, not {type(value).__name__}")
    kinds = {each.kind: each for each in get_args(StoredAction)}
    kind = value.get("kind")
    if kind is None:
        raise KeyError("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"{kind!r:.80} is not one of {', '.join(kinds)}")
    return cast(StoredAction, _converter.structure(value, kinds[kind]))


def _read_list(kind: object) -> Callable[[object, object], object]:
    read_items = homogenous_tuple_structure_factory(cast(type, kind), _converter)

    def structure(value: object, _: object) -> object:
        if not isinstance(value, list | tuple):
            raise TypeError(f"expected a list, not {type(value).__name__}")
        return read_items(value, kind)

    return structure


def _reader(kind: type, renames: Mapping[str, object]) -> Callable[[Mapping[str, object], object], object]:
    make: Callable[..., Callable[[Mapping[str, object], object], object]] = make_dict_structure_fn
    return make(kind, _converter, **renames)


def _writer(kind: type, renames: Mapping[str, object]) -> Callable[[object], object]:
    make: Callable[..., Callable[[object], object]] = make_dict_unstructure_fn
    return make(kind, _converter, _cattrs_omit_if_default=True, **renames)


def _is_list(kind: object) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[-1] is Ellipsis


def _names(kind: type) -> dict[str, str]:
    return {each.name: each.metadata.get("wire", each.name) for each in fields(kind)}


def _read_record(kind: type) -> Callable[[object, object], object]:
    renames = {name: override(rename=wire) for name, wire in _names(kind).items()}
    read_fields = _reader(kind, renames)
    anything = {each.name for each in fields(kind) if each.type in (Untrusted, object)}

    def structure(value: object, _: object) -> object:
        if not isinstance(value, Mapping):
            raise TypeError(f"expected an object, not {type(value).__name__}")
        return read_fields({key: each for key, each in value.items() if each is not None or key in anything}, kind)

    return structure


def _write_record(kind: type) -> Callable[[object], object]:
    renames = {name: override(rename=wire) for name, wire in _names(kind).items()}
    return _writer(kind, renames)


_converter.register_structure_hook(str, _primitive("a string", str))
_converter.register_structure_hook(int, _primitive("an integer", int))
_converter.register_structure_hook(float, _primitive("a number", int, float))
_converter.register_structure_hook(bool, _primitive("true or false", bool))
_converter.register_structure_hook(Document, lambda value, _: document(value))
_converter.register_unstructure_hook(Document, lambda value: value.value)
_converter.register_structure_hook(Instant, _read_instant)
_converter.register_unstructure_hook(Instant, rfc3339)
_converter.register_structure_hook(Untrusted, lambda value, _: value)
_converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
_converter.register_unstructure_hook(Untrusted, lambda value: value)
_converter.register_structure_hook(StrEnum, _read_word)
_converter.register_unstructure_hook(StrEnum, lambda each: each.value)
_converter.register_structure_hook_factory(_is_list, _read_list)
_converter.register_structure_hook_factory(has, _read_record)
_converter.register_unstructure_hook_factory(has, _write_record)
configure_tagged_union(StoredAction, _converter, tag_name="kind", tag_generator=lambda kind: str(vars(kind)["kind"]))
_converter.register_structure_hook(StoredAction, _read_action)


def _in_words(error: BaseException, _: object) -> str:
    return f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)


def read(kind: type[T], value: Json, what: str) -> T:
    """Read a JSON value as a record of this type; raise `Unreadable` with every problem and its path in `what`."""
    try:
        return _converter.structure(value, kind)
    except (ExceptionGroup, TypeError, ValueError, LookupError, RecursionError) as error:
        problems = transform_error(error, path=what, format_exception=_in_words)
        raise Unreadable(what, tuple(problems)) from None


def write(record: object) -> Json:
    """Write a record as the JSON of the protocol; what is absent is left out."""
    return cast(Json, _converter.unstructure(record))


def read_operation(method: str, params: Json) -> Operation:
    """Read a request; raise `KeyError` for a method that there is not, `Unreadable` for params that do not fit."""
    return read(BY_METHOD[method], params, method)


def is_sendable_operation(operation: Operation) -> bool:
    """Whether an operation can be refused and holds nothing that a client may not send; see `is_sendable`."""
    return Rejected not in operation.results or is_sendable(write(operation))


def write_outcome(outcome: Outcome | Unheard) -> dict[str, Json]:
    """Write what an operation answers; outcomes that have a name carry it as `outcome`.

    What nobody hears never crosses a wire; it is written for people and traces, by the fault that it comes from.
    """
    if isinstance(outcome, Unheard):
        return {"unheard": outcome.fault.value}
    written = cast(dict[str, Json], write(outcome))
    name = getattr(outcome, "outcome", None)
    return written if name is None else {"outcome": name, **written}


def read_outcome(operation: type[Operation], value: Json) -> Outcome:
    """Read what an operation answered; raise `Unreadable` when it is none of the results that the operation has."""
    what = f"the result of {operation.method}"
    if not isinstance(value, Mapping):
        raise Unreadable(what, (f"expected an object, not {type(value).__name__}",))
    named = {kind.outcome: kind for kind in operation.results if hasattr(kind, "outcome")}
    plain = [kind for kind in operation.results if not hasattr(kind, "outcome")]
    name = value.get("outcome")
    if name is None and plain:
        return cast(Outcome, read(plain[0], value, what))
    kind = named.get(name) if isinstance(name, str) else None
    if kind is None:
        known = ", ".join(map(repr, named)) or "none"
        raise Unreadable(what, (f"the outcome {name!r:.80} is not one of {known}",))
    return cast(Outcome, read(kind, value, what))


@lru_cache(maxsize=4096)
def payload_digest(payload: InteractionPayload) -> PayloadHash:
    """Return the hash of a whole payload, stored actions included (I6.8)."""
    return PayloadHash(sha256(canonical_json(write(payload))).hexdigest())
