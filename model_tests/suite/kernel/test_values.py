"""The plain values: times, spans, canonical JSON and documents."""

import json
import re
from collections.abc import Mapping
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyturn.errors import NotCanonical
from keyturn.values import (
    LARGEST_INTEGER,
    LAST_INSTANT,
    CaseKey,
    Instant,
    Json,
    canonical_json,
    document,
    instant,
    is_sendable,
    milliseconds,
    rfc3339,
)

from . import builders

NOON = 1_767_268_800_000
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
    | st.floats(-1e15, 1e15, allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\u00e9\U0001f600", max_size=3), inner),
    max_leaves=12,
)


class TestTimes:
    """Times are RFC 3339 with an offset; an instant is a whole number of milliseconds since 1970 in UTC."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-01-01T12:00:00Z", NOON),
            ("2026-01-01T12:00:00+00:00", NOON),
            ("2026-01-01T12:00:00-00:00", NOON),
            ("2026-01-01T14:30:00+02:30", NOON),
            ("2026-01-01T00:00:00-12:00", NOON),
            ("2026-01-01T12:00:00.1Z", NOON + 100),
            ("2026-01-01T12:00:00.0014Z", NOON + 1),
            ("2026-01-01T12:00:00.0016Z", NOON + 2),
            ("2026-01-01T12:00:00.999999Z", NOON + 1000),
            ("2026-01-01T12:00:00.123456789Z", NOON + 123),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2026-01-01t12:00:00Z", NOON),
            ("2026-01-01 12:00:00Z", NOON),
        ],
    )
    def test_a_time_is_read_to_the_nearest_millisecond(self, text: str, expected: int) -> None:
        """The offset is applied, and a fraction is rounded."""
        assert instant(text) == expected

    @pytest.mark.parametrize("text", ["2026-01-01T12:00:00", "2026-01-01"])
    def test_a_time_without_an_offset_is_refused(self, text: str) -> None:
        """Without an offset it is not known which moment is meant, and the message says what to write."""
        with pytest.raises(ValueError, match="time with an offset: write it as"):
            instant(text)

    @pytest.mark.parametrize("text", ["", "noon", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "1767268800"])
    def test_what_is_not_a_time_is_refused(self, text: str) -> None:
        """A text that names no moment raises the same error."""
        with pytest.raises(ValueError, match=r"."):
            instant(text)

    @pytest.mark.parametrize(
        "text",
        [
            "20260101T120000Z",
            "2026-W01-4T12:00:00Z",
            "2026-01-01x12:00:00Z",
            "2026-01-01T12Z",
            "2026-01-01T12:00:00,5Z",
            "2026-01-01T12:00:00+01:02:03",
        ],
    )
    def test_other_forms_of_iso_8601_are_refused(self, text: str) -> None:
        """What RFC 3339 does not allow is not read, so that every implementation reads the same times."""
        with pytest.raises(ValueError, match=r"."):
            instant(text)

    def test_a_time_may_be_written_in_lower_case(self) -> None:
        """RFC 3339 allows `t` and `z`."""
        assert instant("2026-01-01t12:00:00z") == NOON

    @pytest.mark.parametrize(
        "text", ["9999-12-31T23:59:59.9996Z", "9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00"]
    )
    def test_a_time_that_can_be_read_can_be_written(self, text: str) -> None:
        """At both ends of the calendar a time is refused, or is an instant like any other."""
        try:
            moment = instant(text)
        except ValueError:
            return
        assert instant(rfc3339(moment)) == moment

    @pytest.mark.parametrize(
        "text",
        [
            "2026-01-01T12:00:00+24:00",
            "2026-01-01T24:00:00Z",
            "2026-01-01T12:00:00+1:00",
            "2026-01-01T12:00:00+05:60",
            "2026-01-01T12:00:00-05:99",
        ],
    )
    def test_an_offset_is_within_a_day(self, text: str) -> None:
        """Two digits of hours and two of minutes, within their ranges."""
        with pytest.raises(ValueError, match=r"."):
            instant(text)

    def test_the_last_instant_can_be_written(self) -> None:
        """It is the last millisecond that four digits of a year can say."""
        assert rfc3339(LAST_INSTANT) == "9999-12-31T23:59:59.999Z"

    @given(st.integers(0, LAST_INSTANT))
    @builders.FEW
    def test_what_is_written_reads_back(self, moment: int) -> None:
        """Writing an instant and reading it gives the same instant, in UTC and with milliseconds."""
        text = rfc3339(Instant(moment))
        assert text.endswith("Z")
        assert text[-5] == "."
        assert instant(text) == moment


class TestSpans:
    """Seconds round to the nearest millisecond."""

    @pytest.mark.parametrize(
        ("seconds", "expected"), [(1, 1000), (0.001, 1), (0.0014, 1), (0.0016, 2), (1.9996, 2000), (0.1 + 0.2, 300)]
    )
    def test_a_span_is_whole_milliseconds(self, seconds: float, expected: int) -> None:
        """A fraction of a millisecond is rounded, and is not cut off."""
        assert milliseconds(seconds) == expected


class TestCanonicalJson:
    """Canonical JSON (RFC 8785): one text a value."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
            ({"\u20ac": 1, "\r": 2, "1": 3, "\u00f6": 4, "\U0001f600": 5, "\ufb33": 6},
             '{"\\r":2,"1":3,"\u00f6":4,"\u20ac":1,"\U0001f600":5,"\ufb33":6}'),
            (1.0, "1"),
            (-0.0, "0"),
            (1e21, "1e+21"),
            (4.50, "4.5"),
            (LARGEST_INTEGER, "9007199254740991"),
            ('"\\\u0007', '"\\"\\\\\\u0007"'),
        ],
    )  # fmt: skip
    def test_a_value_has_its_one_text(self, value: Json, expected: str) -> None:
        """Members are ordered by their UTF-16 names, and numbers are as short as they can be."""
        assert canonical_json(value).decode() == expected

    @pytest.mark.parametrize(
        "value",
        [nan, inf, -inf, LARGEST_INTEGER + 1, -LARGEST_INTEGER - 1, "\ud800", ["\udfff"], {"\ud800": 1}],
    )
    def test_what_json_cannot_keep_has_none(self, value: Json) -> None:
        """Numbers and strings that JSON cannot keep exact are refused."""
        with pytest.raises(NotCanonical, match="no canonical form"):
            canonical_json(value)

    def test_a_value_without_a_bottom_has_none(self) -> None:
        """A value that nests too deep is refused, and does not end the interpreter."""
        deep: Json = []
        for _ in range(100_000):
            deep = [deep]
        with pytest.raises(NotCanonical):
            canonical_json(deep)

    @given(JSON_VALUES)
    @builders.FEW
    def test_the_text_is_json_for_the_value(self, value: Json) -> None:
        """Any reader of JSON gets the value back."""
        assert json.loads(canonical_json(value)) == value


class TestDocuments:
    """A document is a JSON value as its canonical text: equal exactly when the values are."""

    @pytest.mark.parametrize(
        ("one", "other"), [({"a": 1, "b": 2}, {"b": 2, "a": 1}), (1, 1.0), (0, -0.0), ([1, 2], (1, 2))]
    )
    def test_equal_values_are_equal_documents(self, one: Json, other: Json) -> None:
        """The order of members and the spelling of numbers make no difference."""
        assert document(one) == document(other)
        assert hash(document(one)) == hash(document(other))

    @pytest.mark.parametrize(
        ("one", "other"),
        [(1, True), (0, False), (0, None), ("1", 1), ([1, 2], [2, 1]), ("\u00e9", "e\u0301"), ({}, [])],
    )
    def test_different_values_are_different_documents(self, one: Json, other: Json) -> None:
        """A boolean is not a number, and Unicode is not normalised."""
        assert document(one) != document(other)

    @given(JSON_VALUES)
    @builders.FEW
    def test_a_document_gives_its_value_back(self, value: Json) -> None:
        """Its value makes the same document again."""
        assert document(document(value).value) == document(value)

    @pytest.mark.parametrize("value", [1e16, 1e18, 123456789012345678901.0])
    def test_a_document_of_a_large_number_gives_its_value_back(self, value: float) -> None:
        """A float beyond the exact integers is a JSON value like any other."""
        assert document(document(value).value) == document(value)

    def test_the_value_is_a_fresh_copy(self) -> None:
        """Changing what a document gave does not change the document."""
        kept = document([1])
        first = kept.value
        assert isinstance(first, list)
        first.append(2)
        assert kept.value == [1]


def strings_of(value: Json) -> list[str]:
    """Every string of a JSON value, the names of members included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [*value, *(each for inner in value.values() for each in strings_of(inner))]
    return [each for inner in value for each in strings_of(inner)] if isinstance(value, list) else []


TROUBLE = st.text(st.sampled_from('a\\u0"\0\ud800\udfff\U0001f600'), max_size=6)


class TestSendable:
    """Strings with U+0000 or lone surrogates are `malformed` anywhere in a request from a client."""

    @pytest.mark.parametrize("value", ["a\0", "\0", "\ud800", {"\0": 1}, {"a": ["\udfff"]}, [[{"b": {"c": "\\\0"}}]]])
    def test_a_string_that_no_client_may_send_is_found(self, value: Json) -> None:
        """At any depth, and in the names of members too."""
        assert not is_sendable(value)

    @pytest.mark.parametrize(
        "value", [None, 1.5, "", "\\u0000", "\\\\u0000", "u0000", {"\\": "\x01"}, "\U0001f600", ["\ufffd"]]
    )
    def test_what_only_looks_like_one_is_not(self, value: Json) -> None:
        """An escape that is spelled out is a text, and a pair of surrogates is a character."""
        assert is_sendable(value)

    @given(
        st.recursive(TROUBLE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TROUBLE, inner, max_size=3))
    )
    @builders.FEW
    def test_the_strings_decide(self, value: Json) -> None:
        """A value can be sent exactly when each of its strings can."""
        assert is_sendable(value) == (re.search("[\0\ud800-\udfff]", "".join(strings_of(value))) is None)


class TestCaseKeys:
    """A case is keyed by (account, workflow, case id)."""

    def test_keys_are_ordered_by_their_parts(self) -> None:
        """Keys sort, so that reports can be stable."""
        assert CaseKey("a", "b", "z") < CaseKey("a", "c", "a") < CaseKey("b", "a", "a")
