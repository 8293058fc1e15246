"""The OpenRPC description of the protocol: what a server offers, for clients and tools that read such documents.

It is derived from the same declarations as the JSON Schemas, and holds them: a parameter and a result refer to the definitions,
which stand under `components` here. Every operation of the protocol is described; which of them a system offers follows from
what it claims in `describe`.
"""

import inspect
from collections.abc import Mapping
from typing import cast

from keyturn.handshake import PROTOCOL, Description
from keyturn.operations import BY_METHOD
from keyturn.values import Json
from keyturn.version import VERSION
from keyturn_specs.schemas import Schema, first_sentence, params_name, protocol_schema, reference, result_name

OPENRPC = "1.3.2"
"""The version of the OpenRPC specification that the document follows."""

_ERRORS: Mapping[str, Schema] = {
    "NotOffered": {"code": -32601, "message": "The system does not offer this method."},
    "NotRead": {"code": -32602, "message": "The params could not be read."},
    "Failed": {
        "code": -32000,
        "message": "The operation failed; not definite means that it may still have happened.",
        "data": {"definite": True},
    },
}


def openrpc_document(url: str) -> Schema:
    """Return the OpenRPC document of a server that answers at a URL."""
    definitions = cast("dict[str, Schema]", protocol_schema()["$defs"])
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "The Keyturn conformance protocol",
            "version": f"{PROTOCOL}",
            "description": f"As keyturn {VERSION} declares it. Params go by name; a refusal of the domain is a result.",
        },
        "servers": [{"name": "this server", "url": url}],
        "methods": [_method(name, definitions) for name in (Description.method, *BY_METHOD)],
        "components": {
            "schemas": {name: _moved(each) for name, each in definitions.items() if not name.endswith(".params")},
            "errors": dict(_ERRORS),
        },
    }


def _method(name: str, definitions: Mapping[str, Schema]) -> Schema:
    params = definitions[params_name(name)]
    properties = cast(Mapping[str, Schema], params.get("properties", {}))
    required = cast("list[str]", params.get("required", []))
    # What must be given comes first, as the specification asks.
    ordered = sorted(properties, key=lambda each: each not in required)
    kind = BY_METHOD.get(name)
    return {
        "name": name,
        "summary": "What a system says of itself; its claims bind it." if kind is None else first_sentence(kind),
        "description": inspect.cleandoc((Description if kind is None else kind).__doc__ or ""),
        "paramStructure": "by-name",
        "params": [
            {"name": each, "required": each in required, "schema": _moved(properties[each])} for each in ordered
        ],
        "result": {"name": "result", "required": True, "schema": _referred(result_name(name))},
        "errors": [{"$ref": f"#/components/errors/{each}"} for each in _ERRORS],
    }


def _referred(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _moved(schema: Json) -> Json:
    """A schema in which what is referred to is where this document has it."""
    if isinstance(schema, Mapping):
        return {
            name: f"#/components/schemas/{str(each).removeprefix(reference(''))}" if name == "$ref" else _moved(each)
            for name, each in schema.items()
        }
    return [_moved(each) for each in schema] if isinstance(schema, list) else schema
