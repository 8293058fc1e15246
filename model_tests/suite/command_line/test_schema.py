"""`keyturn schema`: the shape of each method, in words and as a JSON Schema."""

import json

import pytest
from click.testing import CliRunner

from keyturn.handshake import Description
from keyturn.operations import BY_METHOD
from keyturn_specs.schemas import params_name, protocol_schema, result_name, schema_of
from keyturn_testing.commands.schemas import in_words
from keyturn_testing.main import keyturn as command

METHODS = (Description.method, *BY_METHOD)


def ran(*arguments: str) -> tuple[int, str]:
    """Run `keyturn schema` in this process; give its exit code and everything that it wrote."""
    ended = CliRunner().invoke(command, ["schema", *arguments])
    return ended.exit_code, ended.output


@pytest.mark.parametrize("method", METHODS)
def test_a_method(method: str) -> None:
    """For people it is in words, and for tools it is the schema of that method."""
    code, written = ran(method)
    assert code == 0
    assert written.startswith(f"{params_name(method)}: ")
    assert f"\n{result_name(method)}: " in written
    code, written = ran(method, "--format", "json")
    assert (code, json.loads(written)) == (0, schema_of(method))


def test_all_of_it() -> None:
    """Without a method every definition is there, each with its words."""
    code, written = ran()
    assert code == 0
    definitions = protocol_schema()["$defs"]
    assert isinstance(definitions, dict)
    lines = [line for line in written.splitlines() if not line.startswith(" ")]
    assert all(any(line == name or line.startswith(f"{name}: ") for line in lines) for name in definitions)
    assert json.loads(ran("--format", "json")[1]) == protocol_schema()


def test_a_method_that_there_is_not() -> None:
    """It is answered with what was meant, and where all of them are."""
    code, written = ran("card.respnd\x1b")
    assert code == 2
    assert "is no method of this version. Did you mean 'card.respond'" in written
    assert "\x1b" not in written


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "any JSON value"),
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer"),
        ({"type": "array", "items": {"$ref": "#/$defs/CardId"}}, "[CardId]"),
        ({"enum": ["now", "later"]}, '"now" | "later"'),
        ({"anyOf": [{"$ref": "#/$defs/Revision"}, {"type": "null"}]}, "Revision"),
        ({"oneOf": [{"$ref": "#/$defs/Found"}, {"$ref": "#/$defs/Rejected"}]}, "Found or Rejected"),
        ({"type": "object"}, "{}"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "{any name: string}"),
        (
            {"type": "object", "properties": {"a": {"const": "x"}, "b": {}, "c": {"type": "null"}}, "required": ["a"]},
            '{a: "x", b?: any JSON value}',
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_words(schema: dict[str, object], words: str) -> None:
    """A shape reads as people write it: what may be left out has a question mark, and null is not mentioned."""
    assert in_words(schema) == words
