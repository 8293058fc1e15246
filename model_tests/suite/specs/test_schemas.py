"""The schemas of the protocol: well formed, shipped, and in agreement with what reads."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import jsonschema_rs
import pytest
from attrs import field, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from keyturn import operations as ops
from keyturn import responses
from keyturn.errors import Unreadable
from keyturn.handshake import Description, Offers, describe, read_description
from keyturn.values import CardId, Document, Json
from keyturn.wire import read, read_outcome, write, write_outcome
from keyturn_specs import schemas
from keyturn_specs.schemas import FILE, TAGS, params_name, protocol_schema, reference, result_name, schema_of, written

from ..kernel import builders
from ..kernel.test_wire_round_trip import NAMES, RESULTS, any_params, through_json

WHOLE: Any = protocol_schema()
METHODS = (Description.method, *ops.BY_METHOD)
DEFINITIONS = [name for method in METHODS for name in (params_name(method), result_name(method))]


@cache
def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    """The validator of one definition, made of the schema as it is."""
    return jsonschema_rs.Draft202012Validator(
        {"$ref": reference(name), "$defs": WHOLE["$defs"]}, validate_formats=False
    )


def reads(name: str, value: Json) -> bool:
    """Whether the codec reads a value that a definition is of."""
    method, _, side = name.rpartition(".")
    try:
        if method == Description.method:
            read_description(value)
        elif side == "params":
            read(ops.BY_METHOD[method], value, method)
        else:
            read_outcome(ops.BY_METHOD[method], value)
    except Unreadable:
        return False
    return True


def parts(schema: Json) -> Iterator[Mapping[str, Any]]:
    """Every object in a schema."""
    if isinstance(schema, Mapping):
        yield schema
    for each in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from parts(each)


class TestForm:
    """The schemas are of the dialect that they name, and whole."""

    @pytest.mark.parametrize("schema", [WHOLE, *map(schema_of, METHODS)], ids=["protocol", *METHODS])
    def test_it_is_a_schema(self, schema: Any) -> None:
        """It fits the metaschema of draft 2020-12, and every reference in it leads somewhere."""
        jsonschema_rs.meta.validate(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        referred = {each["$ref"] for each in parts(schema) if "$ref" in each}
        assert referred <= {reference(name) for name in schema["$defs"]}

    def test_every_method_has_both_sides(self) -> None:
        """The params and the result of each operation and of the handshake are defined, in the order of the pages."""
        assert list(WHOLE["$defs"])[: len(DEFINITIONS)] == DEFINITIONS

    def test_a_method_alone_has_what_it_rests_on(self) -> None:
        """Its definitions are those of the whole, without what it does not reach."""
        alone: Any = schema_of("card.get")["$defs"]
        assert alone.items() <= WHOLE["$defs"].items()
        assert {"card.get.params", "card.get.result", "CardView", "Instant"} <= alone.keys()
        assert alone.keys().isdisjoint({"card.list.result", "StoredAction"})
        with pytest.raises(KeyError):
            schema_of("card.guess")

    def test_every_union_is_told_apart_by_its_tag(self) -> None:
        """Each member of a union but one has a tag of its own, and no two have the same."""
        unions = [each["oneOf"] for each in parts(WHOLE) if "oneOf" in each]
        assert unions
        for members in unions:
            records = [WHOLE["$defs"][each["$ref"].rpartition("/")[2]] for each in members]
            tags = [
                next((each["properties"][tag].get("const") for tag in TAGS if tag in each["properties"]), None)
                for each in records
            ]
            assert len(set(tags)) == len(tags)

    def test_a_record_says_what_it_is(self) -> None:
        """The description is the first sentence, without what it says of other texts."""
        assert WHOLE["$defs"]["InteractionStatus"]["description"].endswith("writes the value as it is here.")
        assert WHOLE["$defs"]["Rejected"]["description"] == "A refusal: nothing ran."

    def test_new_fields_follow(self) -> None:
        """A record that is declared anew has its schema, with the names, defaults and types that its fields say."""

        @frozen(kw_only=True)
        class Part:
            """A part. It has more to say."""

            anything: Document
            from_there: str | None = field(default=None, metadata={"wire": "from"})
            several: tuple[CardId, ...] = ()
            how: Literal["now", "later"] = "now"
            named: Mapping[str, int]

        assert schemas._Vocabulary().record(Part) == {
            "description": "A part.",
            "type": "object",
            "properties": {
                "anything": {"not": {"type": "null"}},
                "from": {"type": ["string", "null"]},
                "several": {
                    "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/CardId"}}, {"type": "null"}],
                },
                "how": {"anyOf": [{"enum": ["now", "later"]}, {"type": "null"}], "default": "now"},
                "named": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
            "required": ["anything", "named"],
        }

    @pytest.mark.parametrize("kind", [complex, int | str, set[str]], ids=str)
    def test_a_type_that_is_not_known_is_said(self, kind: object) -> None:
        """It is not taken for anything."""
        with pytest.raises(
            TypeError, match=r"has no JSON Schema: say in keyturn_specs\.schemas what it is on the wire"
        ):
            schemas._Vocabulary().of(kind)

    def test_a_name_means_one_type(self) -> None:
        """Of two types with one name neither is taken for the other."""

        @frozen(kw_only=True)
        class Found:
            """Another one."""

        known = schemas._Vocabulary()
        assert known.of(Found) == known.of(Found)
        with pytest.raises(TypeError, match="two types are called Found"):
            known.of(responses.Found)


class TestShipped:
    """The file in the package is the schema."""

    def test_the_file_is_the_schema(self) -> None:
        """It is what the declarations say today, in ASCII, and lines stay short."""
        text = (files("keyturn_specs") / FILE).read_text("utf-8")
        assert text == written(WHOLE)
        assert json.loads(text) == WHOLE
        assert text.isascii()
        assert sum(map(len, text.splitlines())) / len(text.splitlines()) < 80


AGREED: tuple[tuple[str, Json, bool], ...] = (
    ("case.open.result", {"revision": 1}, True),
    ("case.open.result", {"revision": 1.0, "outcome": None, "more": [None]}, True),
    ("case.open.result", {"revision": True}, False),
    ("case.open.result", {"revision": 1.5}, False),
    ("case.open.result", {"revision": 1, "outcome": "opened"}, False),
    ("case.open.result", {"outcome": "rejected", "code": "not_found", "current_card": None}, True),
    ("case.open.result", {"outcome": "rejected", "code": "gone"}, False),
    ("restart.result", {}, True),
    ("restart.result", {"outcome": "done"}, False),
    ("card.respond.result", {"outcome": None, "command": "c"}, False),
    ("card.respond.result", {"outcome": "presented"}, False),
    ("card.respond.params", {"account": "a", "conversation": "c", "response": None}, True),
    ("card.respond.params", {"account": "a", "conversation": "c"}, False),
    ("clock.advance.params", {"seconds": 1}, True),
    ("clock.advance.params", {"seconds": True}, False),
    ("command.next.params", {"result": "committed", "on_failure": None}, True),
    ("command.next.params", {"result": "commited"}, False),
    ("describe.result", {**describe("x", "1"), "outcome": "any", "not_claimed": {"L2": "no"}}, True),
    ("describe.result", {**describe("x", "1"), "not_claimed": {"L2": None}}, False),
    ("describe.result", {**describe("x", "1"), "offers": {"kinds": None, "actions": ["decline"]}}, True),
    *(("reset.params", {"now": text}, right) for text, right in {
        "2026-01-01T12:00:00Z": True,
        "2026-01-01t12:00:00.123456789z": True,
        "2026-01-01 12:00:00-23:59": True,
        "2026-01-01T12:00:00": False,
        "2026-01-01T24:00:00Z": False,
        "2026-01-01T12:00:60Z": False,
        "2026-13-01T12:00:00Z": False,
        "2026-01-01T12:00:00+24:00": False,
        "noon": False,
        "": False,
    }.items()),
)  # fmt: skip

WRONG = st.sampled_from(
    [None, True, 0, 1.5, 1.0, "", "active", "decline", "rejected", [], [None], {}, {"kind": "decline"}]
)


@st.composite
def broken(draw: st.DrawFn, value: Json) -> Json:
    """A value with one change somewhere in it: something else, nothing, or something more."""
    if isinstance(value, dict) and value and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(value)))
        return {**value, name: draw(broken(value[name]))}
    if isinstance(value, list) and value and draw(st.booleans()):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], draw(broken(value[index])), *value[index + 1 :]]
    if isinstance(value, dict) and draw(st.booleans()):
        name = draw(st.sampled_from([*sorted(value), "more", "outcome", "kind"]))
        left = {key: each for key, each in value.items() if key != name}
        return left if draw(st.booleans()) else {**left, name: draw(WRONG)}
    return draw(WRONG)


class TestAgreement:
    """Whatever reads is valid, and whatever is valid reads."""

    @pytest.mark.parametrize(
        ("name", "value", "right"), AGREED, ids=[f"{name}-{i}" for i, (name, _, _) in enumerate(AGREED)]
    )
    def test_what_the_rules_say(self, name: str, value: Json, right: bool) -> None:
        """Null, absence, further fields, whole numbers, tags and times are the same to both."""
        assert (validator(name).is_valid(value), reads(name, value)) == (right, right)

    @pytest.mark.parametrize("operation", ops.OPERATIONS, ids=lambda operation: operation.method)
    @given(data=st.data())
    @settings(builders.FEW, max_examples=30)
    def test_requests(self, operation: type[ops.Operation], data: st.DataObject) -> None:
        """Any request that is written is valid, and one with any change is valid exactly when it reads."""
        name = params_name(operation.method)
        value = through_json(write(data.draw(any_params(operation))))
        assert validator(name).is_valid(value)
        changed = data.draw(broken(value))
        assert validator(name).is_valid(changed) == reads(name, changed), changed

    @pytest.mark.parametrize(("operation", "kind"), RESULTS, ids=NAMES)
    @given(data=st.data())
    @settings(builders.FEW, max_examples=20)
    def test_results(self, operation: type[ops.Operation], kind: type, data: st.DataObject) -> None:
        """Any answer that is written is valid, and one with any change is valid exactly when it reads."""
        name = result_name(operation.method)
        value = through_json(write_outcome(data.draw(st.from_type(kind))))
        assert validator(name).is_valid(value)
        changed = data.draw(broken(value))
        assert validator(name).is_valid(changed) == reads(name, changed), changed

    @given(data=st.data())
    @settings(builders.FEW, max_examples=100)
    def test_handshakes(self, data: st.DataObject) -> None:
        """Any handshake that is written is valid, and one with any change is valid exactly when it reads."""
        st.register_type_strategy(Offers, st.builds(Offers, kinds=..., actions=...))
        value = through_json(write(data.draw(st.builds(Description, offers=..., not_claimed=..., environment=...))))
        assert validator("describe.result").is_valid(value)
        changed = data.draw(broken(value))
        assert validator("describe.result").is_valid(changed) == reads("describe.result", changed), changed

    @pytest.mark.parametrize("value", ["2026-02-30T12:00:00Z", "0001-01-01T00:00:00+01:00"])
    def test_a_time_that_there_is_not(self, value: str) -> None:
        """What no pattern says, reading still refuses."""
        assert validator("reset.params").is_valid({"now": value})
        assert not reads("reset.params", {"now": value})
