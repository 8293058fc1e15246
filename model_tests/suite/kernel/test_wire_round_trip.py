"""Every operation and every outcome is what it was after a journey through JSON text."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyturn import operations as ops
from keyturn.cards import Custom, InteractionPayload
from keyturn.values import Document, Instant, Json, Untrusted, document
from keyturn.wire import read, read_operation, read_outcome, write, write_outcome

from . import builders
from .builders import Desk

# A document of null cannot be told from one that is absent.
TEXTS = st.text(max_size=3)
SCALARS = st.booleans() | st.integers(-9, 9) | TEXTS
DOCUMENTS = (SCALARS | st.lists(st.none(), max_size=2) | st.dictionaries(TEXTS, st.none() | TEXTS, max_size=2)).map(
    document
)
st.register_type_strategy(Document, DOCUMENTS)
st.register_type_strategy(Untrusted, DOCUMENTS.map(lambda each: Untrusted(each.value)))
st.register_type_strategy(Instant, st.integers(0, 253_402_300_799_999).map(Instant))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)

RESULTS = [(operation, kind) for operation in ops.OPERATIONS for kind in operation.results]
NAMES = [f"{operation.method}-{kind.__name__}" for operation, kind in RESULTS]


def through_json(value: Json) -> Json:
    """A value as the other side of a wire gets it."""
    received: Json = json.loads(json.dumps(value))
    return received


def any_params(operation: type[ops.Operation]) -> st.SearchStrategy[ops.Operation]:
    """An operation of this type with any params; a number is one that JSON can say."""
    if operation is ops.ClockAdvance:
        return st.builds(ops.ClockAdvance, seconds=NUMBERS)
    if operation is ops.CardPresent:
        return st.builds(ops.CardPresent, expires_in=st.none() | NUMBERS, text_resolution=..., confirms_risk=...)
    return st.from_type(operation)


class TestRoundTrip:
    """The same operations exist three times and mean the same thing each time."""

    @pytest.mark.parametrize("operation", ops.OPERATIONS, ids=lambda operation: operation.method)
    @given(data=st.data())
    @settings(builders.FEW, max_examples=15)
    def test_an_operation_reads_back(self, operation: type[ops.Operation], data: st.DataObject) -> None:
        """Written, sent as text and read, it is the same operation."""
        asked = data.draw(any_params(operation))
        assert read_operation(operation.method, through_json(write(asked))) == asked

    @pytest.mark.parametrize(("operation", "kind"), RESULTS, ids=NAMES)
    @given(data=st.data())
    @settings(builders.FEW, max_examples=10)
    def test_an_outcome_reads_back(self, operation: type[ops.Operation], kind: type, data: st.DataObject) -> None:
        """Written, sent as text and read as a result of its operation, it is the same outcome."""
        outcome = data.draw(st.from_type(kind))
        assert read_outcome(operation, through_json(write_outcome(outcome))) == outcome

    def test_every_stored_action_reads_back(self) -> None:
        """A payload is read with all that it stores."""
        whole = builders.payload(*builders.OPTIONS, builders.option("other", Custom(key="k", payload=document([1]))))
        assert read(InteractionPayload, through_json(write(whole)), "a payload") == whole

    @pytest.mark.parametrize(
        "operation",
        [builders.present(), builders.answer("card-1"), builders.get("card-1"), builders.edit_case()],
        ids=lambda operation: operation.method,
    )
    def test_what_a_store_answers_reads_back(self, operation: ops.Operation) -> None:
        """The answers of the reference are answers of the protocol."""
        desk = Desk()
        desk.write(builders.present(expires_in=2.5))
        outcome = desk.perform(operation)
        assert read_outcome(type(operation), through_json(write_outcome(outcome))) == outcome
