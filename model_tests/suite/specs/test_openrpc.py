"""The OpenRPC description: of the shape that OpenRPC asks for, and in agreement with the schemas that it is made from.

`openrpc-meta-schema.json` is the meta schema of the npm package @open-rpc/meta-schema 1.14.9 (Apache-2.0), with nothing
changed; what it says of a JSON Schema it takes from the web, which is not asked here.
"""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from keyturn import operations as ops
from keyturn.handshake import Description
from keyturn_specs.openrpc import openrpc_document
from keyturn_specs.schemas import params_name, protocol_schema, result_name

from .test_schemas import parts

DOCUMENT: Any = openrpc_document("http://127.0.0.1:8000/rpc")
DEFINITIONS: Any = protocol_schema()["$defs"]
METHODS: dict[str, Any] = {each["name"]: each for each in DOCUMENT["methods"]}


def without_the_web(schema: Any) -> Any:
    """The meta schema, in which any object or boolean is a JSON Schema."""
    if isinstance(schema, dict):
        named = schema.get("$ref", "")
        if isinstance(named, str) and named.startswith("https://meta.json-schema.tools"):
            return {"type": "string" if named.endswith("/$ref") else ["object", "boolean"]}
        return {name: without_the_web(each) for name, each in schema.items() if name not in ("$schema", "$id")}
    return [without_the_web(each) for each in schema] if isinstance(schema, list) else schema


def test_it_is_an_openrpc_document() -> None:
    """The meta schema of OpenRPC has nothing against it."""
    meta = json.loads(Path(__file__).with_name("openrpc-meta-schema.json").read_text(encoding="utf-8"))
    problems = list(jsonschema_rs.Draft7Validator(without_the_web(meta)).iter_errors(DOCUMENT))
    assert [str(each) for each in problems] == []
    broken = {**DOCUMENT, "methods": [{"name": "x"}]}
    assert not jsonschema_rs.Draft7Validator(without_the_web(meta)).is_valid(broken)


def test_every_method_is_there() -> None:
    """In the order of the protocol, `describe` first."""
    assert list(METHODS) == [Description.method, *ops.BY_METHOD]


@pytest.mark.parametrize("name", list(METHODS))
def test_a_method(name: str) -> None:
    """Its params are the properties of their schema, what must be given first, and it refers to its result."""
    params, method = DEFINITIONS[params_name(name)], METHODS[name]
    required = [each["name"] for each in method["params"] if each["required"]]
    assert sorted(required) == sorted(params.get("required", []))
    assert [each["name"] for each in method["params"]][: len(required)] == required
    assert {each["name"] for each in method["params"]} == set(params.get("properties", {}))
    assert method["result"]["schema"] == {"$ref": f"#/components/schemas/{result_name(name)}"}
    assert method["summary"]


def test_whatever_is_referred_to_is_there() -> None:
    """Every reference leads to a part of the document, and Draft 7 ignores no more than words beside one."""
    referring = [each for each in parts(DOCUMENT) if isinstance(each.get("$ref"), str)]
    assert referring
    for each in referring:
        _, _, kind, name = str(each["$ref"]).split("/")
        assert name in DOCUMENT["components"][kind]
        assert each.keys() <= {"$ref", "description"}


def test_its_schemas_are_schemas() -> None:
    """By Draft 7, which OpenRPC asks for, and by the dialect that they were written in."""
    schemas = [each["schema"] for method in METHODS.values() for each in method["params"]]
    for each in (*schemas, *DOCUMENT["components"]["schemas"].values()):
        for dialect in ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"):
            jsonschema_rs.meta.validate({"$schema": dialect, **each})
