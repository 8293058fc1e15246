"""What a client may send: how it is read, what text an option takes, and the checks in their order."""

import json
from collections.abc import Mapping
from math import inf, nan
from types import MappingProxyType

import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st

from keyturn.cards import FreeformKind, FreeformPolicy, InteractionOption
from keyturn.responses import (
    DEEPEST_RESPONSE,
    LARGEST_RESPONSE,
    NEVER_ON_RESOLVED,
    RefusalCode,
    Response,
    failing_checks,
    need_not_be_read,
    readings,
    refusal_of_text,
    texts,
    with_text,
)
from keyturn.values import LARGEST_INTEGER, Instant, Revision

from . import builders
from .builders import Desk, option, present, sent, takes_text

READ = Response(interaction_id="card-1", option_id="yes", expected_case_revision=1)
CLEAR = sent("card-1")


@frozen
class Without:
    """Stands for a field that is left out."""


LEFT_OUT = Without()


def changed(**fields: object) -> dict[str, object]:
    """The clear response with some fields changed or left out."""
    body = {**CLEAR, **fields}
    return {name: value for name, value in body.items() if value is not LEFT_OUT}


class TestMalformed:
    """I19.6: A malformed response (missing, null, wrong type, boolean for integer, empty id, fractional number) is refused."""

    @pytest.mark.parametrize("value", [None, True, 0, 1.5, "yes", "", [], [CLEAR], ["interaction_id", "card-1"]])
    def test_what_is_no_object_is_malformed_only(self, value: object) -> None:
        """Any JSON value but an object has the one reading `malformed`."""
        assert readings(value) == (None,)

    @pytest.mark.parametrize(
        "body",
        [
            {},
            *(changed(**{name: wrong}) for name in ("interaction_id", "option_id")
              for wrong in (LEFT_OUT, None, 1, 1.0, True, [], ["yes"], {"id": "yes"}, "a\0", "\ud800", "a\udfff")),
            *(changed(expected_case_revision=wrong)
              for wrong in (True, False, "1", "", 1.5, 0.1, inf, -inf, nan, [1], {"is": 1})),
            *(changed(freeform_input=wrong) for wrong in (1, True, [], ["text"], {"text": "x"}, "\0", "a\ud83d")),
        ],
    )  # fmt: skip
    def test_a_field_of_the_wrong_shape_is_malformed_only(self, body: Mapping[str, object]) -> None:
        """One wrong field is enough, and nothing is made of it."""
        assert readings(body) == (None,)

    @pytest.mark.parametrize("extra", [{"note": "a\0"}, {"note": "\ud800"}, {"a\0": 1}, {"note": [{"deep": "\udfff"}]}])
    def test_a_string_that_no_client_may_send_is_malformed_anywhere(self, extra: Mapping[str, object]) -> None:
        """Strings with U+0000 or lone surrogates are `malformed` anywhere in a request from a client."""
        assert readings({**CLEAR, **extra}) == (None,)

    def test_a_caller_in_process_may_send_any_mapping(self) -> None:
        """An object need not be a dict, and what is no JSON at all is malformed."""
        assert readings(MappingProxyType({**CLEAR, "more": MappingProxyType({})})) == (READ, None)
        assert readings({**CLEAR, "more": object()}) == (None,)

    def test_a_response_without_a_bottom_is_malformed(self) -> None:
        """Past 64 levels a system may answer `malformed`, and goes on."""
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        assert None in readings({**CLEAR, "note": deep})

    def test_a_number_without_an_end_is_out_of_range(self) -> None:
        """A number outside 1 to 2^53 - 1 is `malformed` or whatever a wrong revision gets, however long it is."""
        assert None in readings(changed(expected_case_revision=10**5000))

    @given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(
        st.text() | st.sampled_from(sorted(CLEAR)), inner)))  # fmt: skip
    @builders.FEW
    def test_any_json_has_a_reading(self, value: object) -> None:
        """Reading never raises, and never gives more than the two readings."""
        found = readings(value)
        assert len(found) in {1, 2}
        assert len(set(found)) == len(found)


class TestReadings:
    """I19.6, I7.3: what may be read in two ways has both readings, the strict one first."""

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (CLEAR, READ),
            (changed(expected_case_revision=LEFT_OUT), evolve(READ, expected_case_revision=None)),
            (changed(expected_case_revision=None), evolve(READ, expected_case_revision=None)),
            (changed(expected_case_revision=LARGEST_INTEGER), evolve(READ, expected_case_revision=LARGEST_INTEGER)),
            (changed(freeform_input=None), READ),
            (changed(freeform_input=""), evolve(READ, freeform_input="")),
            (changed(freeform_input=" a\n"), evolve(READ, freeform_input=" a\n")),
            (changed(option_id=" "), evolve(READ, option_id=" ")),
            (changed(option_id="\U0001f600"), evolve(READ, option_id="\U0001f600")),
        ],
    )
    def test_a_clear_response_has_one_reading(self, body: Mapping[str, object], expected: Response) -> None:
        """Null is the same as left out, and a text is kept as it was sent."""
        assert readings(body) == (expected,)

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (changed(interaction_id=""), evolve(READ, interaction_id="")),
            (changed(option_id=""), evolve(READ, option_id="")),
            (changed(expected_case_revision=1.0), READ),
            (changed(expected_case_revision=0), evolve(READ, expected_case_revision=0)),
            (changed(expected_case_revision=-0.0), evolve(READ, expected_case_revision=0)),
            (changed(expected_case_revision=-1), evolve(READ, expected_case_revision=-1)),
            (changed(expected_case_revision=2**53), evolve(READ, expected_case_revision=2**53)),
            (changed(expected_case_revision=1e300), evolve(READ, expected_case_revision=int(1e300))),
        ],
    )
    def test_what_may_be_malformed_is_so_first(self, body: Mapping[str, object], expected: Response) -> None:
        """An empty id, `1.0` and a number out of range may be malformed, or what they look like."""
        assert readings(body) == (None, expected)

    @pytest.mark.parametrize(
        "name",
        ["action", "options", "kind", "payload", "status", "case_revision", "owner", "command", "outcome", "effect", "OPTION_ID"],
    )  # fmt: skip
    def test_a_field_that_no_client_may_send_changes_nothing(self, name: str) -> None:
        """It is ignored, or the response is refused as malformed."""
        assert readings({**CLEAR, name: "x"}) == (READ, None)

    @pytest.mark.parametrize("unit", ["a", "\u00e9", "\U0001f600"])
    def test_a_response_of_64_kib_is_the_largest_that_must_be_read(self, unit: str) -> None:
        """It is measured as its JSON in UTF-8; one byte more, and it may be malformed too."""
        room = LARGEST_RESPONSE - len(json.dumps(sent("card-1", text="_")).encode()) + 1
        fits = unit * (room // len(unit.encode())) + "." * (room % len(unit.encode()))
        assert readings(sent("card-1", text=fits)) == (evolve(READ, freeform_input=fits),)
        assert readings(sent("card-1", text=fits + ".")) == (evolve(READ, freeform_input=fits + "."), None)


class TestTexts:
    """I7.4: Blank text is no text; where text is forbidden, blank text may be refused or ignored."""

    @pytest.mark.parametrize("kind", FreeformKind)
    def test_a_text_is_kept_whole(self, kind: FreeformKind) -> None:
        """What is not blank has one reading, with the White_Space around it."""
        assert texts(option("say", builders.TARGET, takes_text(kind)).freeform, with_text(READ, " a ")) == (" a ",)

    @pytest.mark.parametrize("kind", FreeformKind)
    def test_no_text_is_no_text(self, kind: FreeformKind) -> None:
        """A text that was not sent is not there."""
        assert texts(option("say", builders.TARGET, takes_text(kind)).freeform, READ) == (None,)

    @pytest.mark.parametrize("text", [" ", "\t\u3000", "\u2028"])
    def test_blank_text_is_no_text_where_text_is_taken(self, text: str) -> None:
        """An option that takes text takes a blank one for none."""
        for kind in (FreeformKind.OPTIONAL, FreeformKind.REQUIRED):
            assert texts(option("say", builders.TARGET, takes_text(kind)).freeform, with_text(READ, text)) == (None,)

    @pytest.mark.parametrize("text", [" ", "\t\u3000", "\u2028"])
    def test_blank_text_may_be_refused_where_text_is_forbidden(self, text: str) -> None:
        """Both ways of reading it are there, the one that ignores it first."""
        assert texts(builders.YES.freeform, with_text(READ, text)) == (None, text)

    def test_an_empty_text_may_be_refused_where_text_is_forbidden(self) -> None:
        """A text of no characters holds only White_Space too."""
        assert texts(builders.YES.freeform, with_text(READ, "")) == (None, "")

    def test_an_empty_text_is_no_text(self) -> None:
        """The first reading of an empty text is that there is none."""
        assert texts(builders.YES.freeform, with_text(READ, ""))[0] is None


class TestRefusalOfText:
    """I7.4: Free text is taken only where the option's policy allows; length counts Unicode code points."""

    FORBIDS = builders.YES
    ALLOWS = option("say", builders.TARGET, takes_text())
    REQUIRES = option("say", builders.TARGET, takes_text(FreeformKind.REQUIRED))

    @pytest.mark.parametrize(
        ("asked", "text", "expected"),
        [
            (FORBIDS, None, None),
            (FORBIDS, "a", RefusalCode.FREEFORM_FORBIDDEN),
            (FORBIDS, " ", RefusalCode.FREEFORM_FORBIDDEN),
            (ALLOWS, None, None),
            (REQUIRES, None, RefusalCode.FREEFORM_REQUIRED),
        ],
    )
    def test_the_policy_says_whether_text_is_taken(
        self, asked: InteractionOption, text: str | None, expected: RefusalCode | None
    ) -> None:
        """Text where none may be, and none where some must be, are refused."""
        assert refusal_of_text(asked.freeform, text) is expected

    @pytest.mark.parametrize("unit", ["a", "\u00e9", "\u0301", "\U0001f600", "\u200d", "\u0000"])
    @pytest.mark.parametrize(
        ("count", "expected"), [(1, None), (4, None), (5, None), (6, RefusalCode.FREEFORM_TOO_LONG)]
    )
    def test_each_code_point_counts_as_one(self, unit: str, count: int, expected: RefusalCode | None) -> None:
        """Up to the limit a text is taken, whatever its code points take in UTF-8 or UTF-16."""
        assert refusal_of_text(self.ALLOWS.freeform, unit * count) is expected
        assert refusal_of_text(self.REQUIRES.freeform, unit * count) is expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("e\u0301e\u0301e", None),
            ("e\u0301e\u0301e\u0301", RefusalCode.FREEFORM_TOO_LONG),
            ("\U0001f469\u200d\U0001f469\u200d\U0001f467", None),
            ("\U0001f469\u200d\U0001f469\u200d\U0001f467\ufe0f", RefusalCode.FREEFORM_TOO_LONG),
            ("\U0001f1e9\U0001f1ea\U0001f1e9\U0001f1ea\U0001f1e9", None),
        ],
    )
    def test_what_looks_like_one_character_may_be_several(self, text: str, expected: RefusalCode | None) -> None:
        """Combining marks, joined emoji and flags count each of their code points."""
        assert refusal_of_text(self.ALLOWS.freeform, text) is expected

    def test_without_a_limit_any_length_is_taken(self) -> None:
        """A policy that says no length refuses none."""
        endless = option("say", builders.TARGET, FreeformPolicy(kind=FreeformKind.OPTIONAL))
        assert refusal_of_text(endless.freeform, "a" * 100_000) is None


class TestFailingChecks:
    """Order of the checks: ... expiry -> option -> revision -> ... -> free text."""

    def checks(
        self, response: Response, *, now: int = 0, current: int = 1, independent: bool = False, revisions: bool = True
    ) -> list[tuple[str, set[str]]]:
        """The failing checks of a card that is bound to revision 1 and due after one second."""
        desk = Desk()
        stored = desk.interaction(desk.write(present(expires_in=1, independent=independent)))
        moment = Instant(stored.created_at + now)
        failing = failing_checks(stored, response, Revision(current), moment, revisions=revisions)
        return [(each.code.value, set(each.because)) for each in failing]

    def test_a_right_response_fails_none(self) -> None:
        """Every check holds for an answer to the card as it was drawn."""
        assert self.checks(READ) == []

    def test_all_that_fail_are_named_in_the_order_of_the_text(self) -> None:
        """Expiry comes before the option, the option before the revision, and the text last."""
        wrong = evolve(READ, expected_case_revision=2, freeform_input="too long")
        assert [code for code, _ in self.checks(evolve(wrong, option_id="no"), now=1000)] == [
            *("expired", "stale_revision", "freeform_too_long"),
        ]
        assert [code for code, _ in self.checks(evolve(wrong, option_id="never"), now=1000)] == [
            *("expired", "unknown_option", "stale_revision"),
        ]

    @pytest.mark.parametrize(("late", "expected"), [(999, []), (1000, [("expired", {"I19.5"})])])
    def test_expiry_is_inclusive(self, late: int, expected: list[object]) -> None:
        """At the exact instant of its deadline a card is past it."""
        assert self.checks(READ, now=late) == expected

    def test_an_option_of_no_card_is_unknown(self) -> None:
        """I7.2 demands the refusal."""
        [(code, because)] = self.checks(evolve(READ, option_id="YES"))
        assert code == "unknown_option"
        assert "I7.2" in because

    @pytest.mark.parametrize(
        ("expected", "current", "because"),
        [(2, 1, {"I13.1"}), (2, 2, {"I13.1", "I13.2"}), (3, 2, {"I13.1"}), (None, 1, {"I13.1"})],
    )
    def test_another_revision_than_the_bound_one_is_stale(
        self, expected: int | None, current: int, because: set[str]
    ) -> None:
        """I13.1 demands the refusal, and I13.2 where the current revision is echoed."""
        [(code, found)] = self.checks(evolve(READ, expected_case_revision=expected), current=current)
        assert code == "stale_revision"
        assert found & {"I13.1", "I13.2"} == because
        assert ("I13.3" in found) is (current > 1)

    def test_a_case_that_moved_makes_the_bound_revision_stale(self) -> None:
        """The case itself is compared with the bound revision too."""
        assert [code for code, _ in self.checks(READ, current=2)] == ["stale_revision"]

    def test_an_independent_card_is_never_stale(self) -> None:
        """I13.4: no revision is compared with a card that has none."""
        assert self.checks(evolve(READ, expected_case_revision=9), current=2, independent=True) == []

    def test_revisions_are_not_judged_where_they_are_not_claimed(self) -> None:
        """Without `revisions` the expected revision is not judged."""
        assert self.checks(evolve(READ, expected_case_revision=9), current=2, revisions=False) == []


class TestNeverOnResolved:
    """I14.2: never `stale_revision` or `expired` on a Resolved card, because the card's own commit moved the revision."""

    def test_the_two_codes_are_named(self) -> None:
        """No other code is kept from a Resolved card."""
        assert {"stale_revision", "expired"} == NEVER_ON_RESOLVED


class TestWhatNeedNotBeRead:
    """Beyond 64 levels, 64 KiB, or with U+0000 or half a surrogate pair, an error of the conversation is as good as a refusal."""

    @pytest.mark.parametrize("sent", [None, "yes", [], {"a": ["b", {"c": 1}]}, {"note": "\u0001"}])
    def test_what_a_system_must_be_able_to_read(self, sent: object) -> None:
        """Any JSON within the limits, however wrong it is."""
        assert not need_not_be_read(sent)

    @pytest.mark.parametrize(
        "sent", [{"note": "\u0000"}, {"no\u0000te": 1}, "\ud800", {"note": "a" * LARGEST_RESPONSE}]
    )
    def test_what_it_need_not_read(self, sent: object) -> None:
        """Text that other programs cannot hold, and more than the limit."""
        assert need_not_be_read(sent)

    def test_the_depth_is_counted_in_levels(self) -> None:
        """Sixty-four objects and lists inside each other are read, and one more need not be."""
        deep: object = "leaf"
        for level in range(DEEPEST_RESPONSE):
            deep = [deep] if level % 2 else {"in": deep}
        assert not need_not_be_read(deep)
        assert need_not_be_read([deep])
