"""Sets of options: `option_ids` on a `multi_select` card, read, checked, taken and asked again."""

from collections.abc import Sequence

import pytest

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS
from keyturn.cards import Custom, InteractionKind, ResolveClarification, Result
from keyturn.responses import Replayed, Resolved, Response, has_more, readings
from keyturn.values import Revision, document

from . import builders
from .builders import UNORDERED, WITHOUT_REPLAY, Desk, option, present, respond
from .test_gate import EXPIRED, FORBIDDEN, MALFORMED, NOT_ANSWERABLE, NOT_FOUND, STALE, UNKNOWN

OPTIONS = (
    option("a", builders.TARGET),
    option("b", ResolveClarification(answer_key="b")),
    option("c", Custom(key="c", payload=document([1]))),
)
ASKS_FOR_A_SET = present(*OPTIONS, kind=InteractionKind.MULTI_SELECT, expires_in=60)


def chosen(card: str, *ids: object, revision: object = 1, **more: object) -> ops.CardRespond:
    """The answer to a card with a set of options."""
    body = {"interaction_id": card, "option_ids": list(ids), "expected_case_revision": revision}
    return respond({**body, **more})


NO_SETS: tuple[object, ...] = (
    *(None, "a", 1, True, {}, {"a": 1}, ["a", "a"], ["a", 1], [None], [["a"]], ["\ud800"], ["a\0"]),
)


class TestReadings:
    """`option_ids` in a response, instead of `option_id`: a set of ids, none twice, possibly empty."""

    @pytest.mark.parametrize("ids", [[], ["a"], ["a", "b"], ["b", "a"], [" "], ("a", "b")], ids=str)
    def test_a_set_has_one_reading(self, ids: Sequence[str]) -> None:
        """It is kept as it was sent, and nothing else was."""
        sent = {"interaction_id": "card-1", "option_ids": ids}
        assert readings(sent) == (Response(interaction_id="card-1", option_ids=tuple(ids)),)
        assert not has_more(sent)
        assert not has_more({**sent, "option_id": None})

    @pytest.mark.parametrize("ids", NO_SETS, ids=ascii)
    def test_what_is_no_set_is_malformed_only(self, ids: object) -> None:
        """No list, no strings, or an id that is there twice (I19.6)."""
        assert readings({"interaction_id": "card-1", "option_ids": ids}) == (None,)

    @pytest.mark.parametrize("ids", [[""], ["a", ""]])
    def test_an_empty_id_may_be_malformed(self, ids: list[str]) -> None:
        """I19.6: it may be refused as malformed, or get what an unknown one gets."""
        assert readings({"interaction_id": "card-1", "option_ids": ids}) == (
            None,
            Response(interaction_id="card-1", option_ids=tuple(ids)),
        )

    def test_one_of_the_two_is_more_than_the_other(self) -> None:
        """A response names options once; what else it says is ignored or malformed (I7.3)."""
        both = {"interaction_id": "card-1", "option_id": "a", "option_ids": ["b"]}
        assert has_more(both)
        assert readings(both) == (Response(interaction_id="card-1", option_id="a", option_ids=("b",)), None)
        assert readings({**both, "option_ids": ["b", "b"]}) == (Response(interaction_id="card-1", option_id="a"), None)


class TestTaken:
    """Every option of such a card is of class `answers`: it resolves, with no command and no effect."""

    @pytest.mark.parametrize(
        ("ids", "stored"),
        [
            ((), ()),
            (("b",), ("b",)),
            (("a", "c"), ("a", "c")),
            (("c", "a"), ("a", "c")),
            (("c", "b", "a"), ("a", "b", "c")),
        ],
    )
    def test_the_result_lists_them_in_stored_order(self, ids: tuple[str, ...], stored: tuple[str, ...]) -> None:
        """Whatever the order in which they were sent, and also when nothing was chosen."""
        desk = Desk()
        card = desk.write(ASKS_FOR_A_SET)
        [branch] = desk.may(chosen(card, *ids))
        assert {"A1", "A3"} <= branch.because
        result = desk.expect(Resolved, chosen(card, *ids)).result
        assert result == Result(card=card, options=stored, effects=(), case_revision=Revision(1))
        assert (desk.events(card), desk.effects_of_case(), desk.state.world.commands) == (
            ["present", "accept", "commit"],
            (),
            (),
        )
        stored_card = desk.interaction(card)
        assert (stored_card.status, stored_card.resolved_option) == ("resolved", None)
        assert stored_card.resolved_at == builders.NOON_INSTANT

    def test_blank_text_may_be_ignored(self) -> None:
        """I7.4: where text is forbidden, blank text may be refused or ignored."""
        desk = Desk()
        card = desk.write(ASKS_FOR_A_SET)
        assert desk.outcomes(chosen(card, "a", freeform_input=" ")) == ("resolved", FORBIDDEN)


class TestRefused:
    """The checks of a set are those of a response, in their order; nothing of it is taken when one of it is not stored."""

    @pytest.mark.parametrize(
        ("ids", "more", "ordered", "besides"),
        [
            (("never",), {}, (UNKNOWN,), ()),
            (("a", "never"), {}, (UNKNOWN,), ()),
            (("a", "A"), {}, (UNKNOWN,), ()),
            (("",), {}, (MALFORMED, UNKNOWN), ()),
            (("a", "a"), {}, (MALFORMED,), ()),
            (("a",), {"freeform_input": "why"}, (FORBIDDEN,), ()),
            ((), {"freeform_input": "why"}, (FORBIDDEN,), ()),
            (("never",), {"freeform_input": "why", "expected_case_revision": 2}, (UNKNOWN,), (STALE,)),
            (("a",), {"expected_case_revision": 2, "freeform_input": "why"}, (STALE,), (FORBIDDEN,)),
            (("a",), {"expected_case_revision": None}, (MALFORMED,), ()),
            (("a",), {"interaction_id": "card-99"}, (NOT_FOUND, MALFORMED), ()),
        ],
    )
    def test_a_wrong_set_is_refused(
        self, ids: tuple[str, ...], more: dict[str, object], ordered: tuple[str, ...], besides: tuple[str, ...]
    ) -> None:
        """With the code of a check that fails."""
        for claims, expected in ((ALL_CLAIMS, ordered), (UNORDERED, (*ordered, *besides))):
            desk = Desk(claims)
            assert desk.outcomes(chosen(desk.write(ASKS_FOR_A_SET), *ids, **more)) == expected

    def test_a_near_id_is_refused_for_being_near(self) -> None:
        """I7.7: ids compare exactly, also in a set."""
        desk = Desk()
        card = desk.write(ASKS_FOR_A_SET)
        assert {"I7.2", "I7.7"} <= desk.may(chosen(card, "b", "A"))[0].because
        assert "I7.7" not in desk.may(chosen(card, "b", "never"))[0].because

    def test_a_set_of_another_card_is_unknown(self) -> None:
        """I7.2: also when another card stores it."""
        desk = Desk()
        desk.write(ASKS_FOR_A_SET)
        other = desk.write(present(option("d", builders.TARGET), kind=InteractionKind.MULTI_SELECT))
        assert desk.outcomes(chosen(other, "a")) == (UNKNOWN,)

    def test_each_kind_takes_its_own_field(self) -> None:
        """`option_id` answers no set, and `option_ids` answers nothing else."""
        desk = Desk()
        card, single = desk.write(ASKS_FOR_A_SET), desk.write()
        assert desk.outcomes(builders.answer(card, "a")) == (MALFORMED,)
        assert desk.outcomes(chosen(single, "yes")) == (MALFORMED,)
        assert desk.outcomes(chosen(card, "a", option_id="b")) == ("resolved", MALFORMED)
        assert desk.outcomes(chosen(single, "never", option_id="pick")) == ("resolved", MALFORMED)
        assert desk.state.world.commands == ()

    def test_an_overdue_card_is_refused(self) -> None:
        """I19.5: expiry comes before the options."""
        desk = Desk()
        card = desk.write(ASKS_FOR_A_SET)
        desk.advance(60)
        assert desk.outcomes(chosen(card, "never")) == (EXPIRED, NOT_ANSWERABLE)


class TestAgain:
    """I14.2, I14.4: a second answer gets the original result, which names the original options."""

    @pytest.mark.parametrize(
        ("ids", "contradicts"),
        [(("a", "c"), False), (("c", "a"), False), (("a",), True), ((), True), (("a", "b", "c"), True)],
    )
    def test_the_same_set_is_the_same_in_any_order(self, ids: tuple[str, ...], contradicts: bool) -> None:
        """Another one contradicts it, a part of it too."""
        desk = Desk()
        card = desk.write(ASKS_FOR_A_SET)
        result = desk.expect(Resolved, chosen(card, "a", "c")).result
        [branch] = desk.may(chosen(card, *ids))
        assert branch.outcome == Replayed(result=result)
        assert ("I14.4" in branch.because) is contradicts

    def test_nothing_again_is_the_same(self) -> None:
        """An empty set is an answer like any other."""
        desk = Desk()
        card = desk.write(ASKS_FOR_A_SET)
        desk.perform(chosen(card))
        assert "I14.4" not in desk.may(chosen(card))[0].because
        assert "I14.4" in desk.may(chosen(card, "a"))[0].because

    def test_without_replay_it_may_be_refused(self) -> None:
        """A system without `replay` may refuse instead."""
        desk = Desk(WITHOUT_REPLAY)
        card = desk.write(ASKS_FOR_A_SET)
        desk.perform(chosen(card, "a"))
        assert desk.outcomes(chosen(card, "b")) == ("replayed", NOT_ANSWERABLE)
        assert desk.outcomes(builders.dismiss(card)) == ("replayed", NOT_ANSWERABLE)
