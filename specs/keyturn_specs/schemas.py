"""The JSON Schemas of the protocol: the shape of every request and of every result, for tools in any language.

They are derived from the declared records by the rules by which `keyturn.wire` reads them: what has a default may be left
out, null is the same as absent, and objects may carry further fields. A union is told apart by a tag, `outcome` or `kind`,
which every member of it but one carries. So what reads is valid, and what is valid reads. Three things no schema says, and
reading still refuses them: a day that its month does not have, an integer inside a JSON value past those that are exact
(RFC 8785), and a lone surrogate there.
"""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Literal, TypeAlias, Union, cast, get_args, get_origin

from attrs import NOTHING, Attribute, fields, has, resolve_types

from keyturn.cards import StoredAction
from keyturn.handshake import PROTOCOL, Description
from keyturn.operations import OPERATIONS, Operation
from keyturn.values import Document, Instant, Json, Untrusted

Schema: TypeAlias = dict[str, Json]
"""A JSON Schema, or a part of one."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""The dialect that the schemas are written in."""

FILE = "protocol.schema.json"
"""The name of the file in this package that holds them all."""

TAGS = ("outcome", "kind")
"""The properties by which the members of a union are told apart."""

_ANY: Schema = {}
_NO_NAME: Schema = {"type": "null", "description": "This result has no name: absent, or null."}
_RFC_3339 = (
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
_PLAIN: Mapping[object, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    object: _ANY,
    Untrusted: _ANY,
    Document: _ANY,
}
_SAID: Mapping[object, Schema] = {
    Instant: {
        "description": "A time with an offset, as RFC 3339 writes it; the 60th second is none.",
        "type": "string",
        "format": "date-time",
        "pattern": _RFC_3339,
    }
}
_UNIONS: Mapping[object, str] = {StoredAction: "StoredAction"}
# A plain result is read only where no outcome is named.
_RESULTS = frozenset(kind for operation in OPERATIONS for kind in operation.results)


def params_name(method: str) -> str:
    """Return the name of the definition of what a method takes."""
    return f"{method}.params"


def result_name(method: str) -> str:
    """Return the name of the definition of what a method answers."""
    return f"{method}.result"


def reference(name: str) -> str:
    """Return how a definition is referred to from inside the schema."""
    return f"#/$defs/{name}"


def protocol_schema() -> Schema:
    """Return the schema of the whole protocol; each method has two definitions in it, for its params and its result."""
    return _document(
        f"The Keyturn conformance protocol, version {PROTOCOL}",
        "The params of a method METHOD are $defs/METHOD.params, and what it answers is $defs/METHOD.result. Objects may carry "
        "further fields, and null is the same as absent where a property is not required.",
        _definitions(),
    )


def schema_of(method: str) -> Schema:
    """Return the schema of one method, with every definition that it rests on; raise `KeyError` for one that there is not."""
    every = _definitions()
    reached = {params_name(method): every[params_name(method)], result_name(method): every[result_name(method)]}
    left = list(reached.values())
    while left:
        for name in _referred(left.pop()):
            if name not in reached:
                reached[name] = every[name]
                left.append(every[name])
    kept = {name: each for name, each in every.items() if name in reached}
    return _document(f"{method}, in the Keyturn conformance protocol, version {PROTOCOL}", None, kept)


def written(schema: Schema) -> str:
    """Return a schema as a file holds it: ASCII, and what fits in a line stands in one."""
    return _lines(schema, "") + "\n"


def _lines(value: Json, indent: str) -> str:
    inline = json.dumps(value, ensure_ascii=True)
    inner = indent + "  "
    if len(indent) + len(inline) <= 100 or not isinstance(value, Mapping | list):
        return inline
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + _lines(each, inner) for each in value) + f"\n{indent}]"
    parts = (f"{inner}{json.dumps(name)}: {_lines(each, inner)}" for name, each in value.items())
    return "{\n" + ",\n".join(parts) + f"\n{indent}}}"


def _document(title: str, description: str | None, definitions: Mapping[str, Schema]) -> Schema:
    said: Schema = {} if description is None else {"description": description}
    return {"$schema": DIALECT, "title": title, **said, "$defs": definitions}


def _referred(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield str(value["$ref"]).removeprefix(reference(""))
        for each in value.values():
            yield from _referred(each)
    elif isinstance(value, list):
        for each in value:
            yield from _referred(each)


def _definitions() -> dict[str, Schema]:
    """Return every definition: first the methods in the order of the reference pages, then the records as they are used."""
    known = _Vocabulary()
    methods: dict[str, Schema] = {
        params_name(Description.method): {"description": "It takes nothing.", "type": "object"},
        result_name(Description.method): known.record(Description),
    }
    for operation in OPERATIONS:
        methods[params_name(operation.method)] = known.record(operation)
        methods[result_name(operation.method)] = known.result(operation)
    return {**methods, **known.defined}


class _Vocabulary:
    """The definitions of the types that others refer to, in order of first use; a type is defined when it is first named."""

    def __init__(self) -> None:
        self.defined: dict[str, Schema] = {}
        self._kinds: dict[str, object] = {}

    def result(self, operation: type[Operation]) -> Schema:
        """What an operation answers: one of its results; of those without a name only the first is ever read."""
        plain = [each for each in operation.results if _tag(each) is None]
        named = [each for each in operation.results if _tag(each) is not None]
        return {"description": f"What {operation.method} answers.", **self._one_of((*plain[:1], *named))}

    def record(self, kind: type) -> Schema:
        """A record: its tag, if it has one, and its fields by their names on the wire."""
        properties: dict[str, Schema] = {}
        required = []
        tag = _tag(kind)
        if tag is not None:
            properties[tag[0]] = {"const": tag[1]}
            required.append(tag[0])
        elif kind in _RESULTS:
            properties["outcome"] = _NO_NAME
        every: tuple[Attribute[object], ...] = fields(resolve_types(kind))
        for each in every:
            name = str(each.metadata.get("wire", each.name))
            properties[name] = self._field(each)
            if each.default is NOTHING:
                required.append(name)
        said: Schema = {"description": first_sentence(kind), "type": "object"}
        return {
            **said,
            **({"properties": properties} if properties else {}),
            **({"required": required} if required else {}),
        }

    def _field(self, attribute: "Attribute[object]") -> Schema:
        """A field; null stands for absent, so that it is a value only where it may be left out, or where anything is one."""
        kind = attribute.type
        schema = self.of(_without_none(kind))
        if attribute.default is NOTHING:
            return {"not": {"type": "null"}} if kind is Document else schema
        default: Schema = {"default": attribute.default} if isinstance(attribute.default, str | bool | int) else {}
        return {**_or_null(schema), **default}

    def of(self, kind: object) -> Schema:
        """The schema of a type as others use it: what has a name of its own is referred to."""
        if kind in _PLAIN:
            return _PLAIN[kind]
        arguments = get_args(kind)
        if get_origin(kind) is Literal:
            return {"enum": list(arguments)}
        if get_origin(kind) is tuple:
            return {"type": "array", "items": self.of(arguments[0])}
        if isinstance(get_origin(kind), type) and issubclass(cast(type, get_origin(kind)), Mapping):
            return {"type": "object", "additionalProperties": self.of(arguments[1])}
        name = _UNIONS.get(kind) or getattr(kind, "__name__", None)
        if name is None or not (kind in _UNIONS or _is_named(kind)):
            raise TypeError(f"{kind!r} has no JSON Schema: say in keyturn_specs.schemas what it is on the wire")
        if self._kinds.setdefault(name, kind) != kind:
            raise TypeError(
                f"two types are called {name}, and a schema can define one: {kind!r} and {self._kinds[name]!r}"
            )
        if name not in self.defined:
            self.defined[name] = _ANY  # its place, and an end for a type that mentions itself
            self.defined[name] = self._definition(kind)
        return {"$ref": reference(name)}

    def _definition(self, kind: object) -> Schema:
        if kind in _SAID:
            return _SAID[kind]
        if kind in _UNIONS:
            described = f"One of {len(get_args(kind))} records; `kind` says which."
            return {"description": described, **self._one_of(get_args(kind))}
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return {"description": first_sentence(kind), "enum": [each.value for each in kind]}
        if isinstance(kind, type):
            return self.record(kind)
        return self.of(cast(object, getattr(kind, "__supertype__", None)))

    def _one_of(self, kinds: tuple[type, ...]) -> Schema:
        (first, *more) = (self.of(each) for each in kinds)
        return {"oneOf": [first, *more]} if more else first


def _is_named(kind: object) -> bool:
    return hasattr(kind, "__supertype__") or (isinstance(kind, type) and (issubclass(kind, StrEnum) or has(kind)))


def _tag(kind: type) -> tuple[str, str] | None:
    """The tag of a record, and its value; a field of the same name is none."""
    found = ((tag, getattr(kind, tag, None)) for tag in TAGS)
    return next(((tag, value) for tag, value in found if isinstance(value, str)), None)


def _without_none(kind: object) -> object:
    arguments = get_args(kind)
    if get_origin(kind) not in (Union, UnionType) or NoneType not in arguments:
        return kind
    return Union[tuple(each for each in arguments if each is not NoneType)]  # noqa: UP007  # made, not written


def _or_null(schema: Schema) -> Schema:
    if schema == _ANY:
        return schema
    return {"type": [schema["type"], "null"]} if schema.keys() == {"type"} else {"anyOf": [schema, {"type": "null"}]}


def first_sentence(kind: type) -> str:
    """The first sentence of a docstring, without what it says of texts that a reader of the schema does not have."""
    said = re.sub(r" \(the guide[^)]*\)", "", " ".join((kind.__doc__ or "").split()))
    return re.split(r"(?<=[.!?]) ", said, maxsplit=1)[0]
