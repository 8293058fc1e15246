"""Binding a model's names to a system's: one id for one id, revisions in the same order, sets in any order."""

from attrs import evolve

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.cards import view
from keyturn.responses import Accepted, RefusalCode, Rejected
from keyturn.values import CardId, CaseKey, CommandId, IdempotencyKey, Revision
from keyturn.world import World
from keyturn_testing.matching import Binding, Matching

from ..kernel.builders import Desk

KEY = CaseKey("acme", "trip", "case-1")


def matching(claims: Claims = ALL_CLAIMS, binding: Binding | None = None) -> Matching:
    """Return a matching in an empty world, for records of one case."""
    return Matching(binding or Binding(), World(), claims, scope=KEY)


def accepted(command: str, key: str | None = None) -> Accepted:
    """Return an answer that names a command."""
    return Accepted(command=CommandId(command), idempotency_key=None if key is None else IdempotencyKey(key))


class TestIds:
    """Ids that a system chooses are bound to the model's on first sight (D2)."""

    def test_an_id_is_bound_and_held(self) -> None:
        """The same name is the same id from then on, and another id differs."""
        one = matching()
        one.compare((), accepted("command-1"), accepted("7f3a"))
        one.compare((), accepted("command-1"), accepted("7f3a"))
        assert one.mismatches == []
        one.compare((), accepted("command-1"), accepted("other"))
        assert [each.path for each in one.mismatches] == [("command",)]

    def test_two_names_are_two_ids(self) -> None:
        """An id that was issued before is not a new one (I6.7)."""
        one = matching()
        one.compare((), accepted("command-1"), accepted("7f3a"))
        one.compare((), accepted("command-2"), accepted("7f3a"))
        assert [each.seen for each in one.mismatches] == ["7f3a"]

    def test_a_matching_that_fails_leaves_the_binding_alone(self) -> None:
        """Bindings are values: an attempt binds nothing in what it started from."""
        binding = Binding()
        matching(binding=binding).compare((), accepted("command-1"), accepted("7f3a"))
        assert binding == Binding()

    def test_a_field_that_may_be_left_out_is_compared_where_it_is_there(self) -> None:
        """A key that a system does not show is no difference, and one that it shows is held to."""
        one = matching()
        one.compare((), accepted("command-1", "key-1"), accepted("7f3a"))
        one.compare((), accepted("command-1", "key-1"), accepted("7f3a", "k"))
        one.compare((), accepted("command-1", "key-1"), accepted("7f3a", "another"))
        assert [each.path for each in one.mismatches] == [("idempotency_key",)]


def opened(number: int) -> ops.CaseOpened:
    """Return an answer that shows a revision."""
    return ops.CaseOpened(revision=Revision(number))


class TestRevisions:
    """Revisions grow strictly, by whatever steps a system likes."""

    def test_steps_of_any_size_match(self) -> None:
        """Revisions 1, 2, 3 of the model may be 10, 20, 25 of a system."""
        one = matching()
        for model, seen in ((1, 10), (2, 20), (3, 25), (2, 20)):
            one.compare((), opened(model), opened(seen))
        assert one.mismatches == []

    def test_a_revision_that_does_not_grow_differs(self) -> None:
        """The same, or a smaller, revision after a change is a difference."""
        for stuck in (10, 9):
            one = matching()
            one.compare((), opened(1), opened(10))
            one.compare((), opened(2), opened(stuck))
            assert one.mismatches != []

    def test_without_revisions_they_are_not_compared(self) -> None:
        """A system that does not claim revisions may show any."""
        one = matching(ALL_CLAIMS - {Capability.REVISIONS})
        one.compare((), opened(1), opened(10))
        one.compare((), opened(2), opened(3))
        assert one.mismatches == []

    def test_without_revisions_none_need_be_shown(self) -> None:
        """A card of a system without revisions shows none; elsewhere an absent one says that the card is independent."""
        desk = Desk()
        shown = view(desk.interaction(desk.write()))
        for claims, differ in ((ALL_CLAIMS - {Capability.REVISIONS}, []), (ALL_CLAIMS, [("case_revision",)])):
            one = matching(claims)
            one.compare((), shown, evolve(shown, case_revision=None))
            assert [each.path for each in one.mismatches] == differ


class TestCauses:
    """E1: accept, commit, fail and restore name their command; of a decline nothing is said."""

    def test_a_recorded_decline_may_leave_its_command_out(self) -> None:
        """A cause that names no command is no difference, and one that names another is."""
        one = matching()
        cause = ops.Cause(option="keep", command=CommandId("command-1"))
        for command in (None, CommandId("7f3a"), CommandId("7f3a")):
            one.compare((), cause, evolve(cause, command=command))
        assert one.mismatches == []
        one.compare((), cause, evolve(cause, command=CommandId("other")))
        assert [each.path for each in one.mismatches] == [("command",)]


class TestOrder:
    """Sets come in any order; lists do not."""

    def test_invalidated_cards_are_a_set(self) -> None:
        """What an edit invalidated matches in any order once the ids are known."""
        binding = Binding().with_pair("card", None, "card-1", "a").with_pair("card", None, "card-2", "b")
        one = matching(binding=binding)
        expected = ops.CaseEdited(revision=Revision(2), invalidated=(CardId("card-1"), CardId("card-2")))
        one.compare((), expected, evolve(expected, invalidated=(CardId("b"), CardId("a"))))
        assert one.mismatches == []

    def test_an_unknown_member_is_matched_by_elimination(self) -> None:
        """The one that is left is the one that was not known."""
        one = matching(binding=Binding().with_pair("card", None, "card-2", "b"))
        expected = ops.CardsExpired(expired=(CardId("card-1"), CardId("card-2")))
        one.compare((), expected, ops.CardsExpired(expired=(CardId("b"), CardId("new"))))
        assert one.mismatches == []
        assert one.binding.model("card", None, "new") == "card-1"

    def test_a_missing_member_differs(self) -> None:
        """A set with fewer members is another set."""
        one = matching()
        one.compare((), ops.CardsExpired(expired=(CardId("card-1"),)), ops.CardsExpired(expired=()))
        assert [each.path for each in one.mismatches] == [("expired", "length")]


class TestCodes:
    """Refusal codes are compared only where a system says that they mean something."""

    def test_codes_are_compared_where_claimed(self) -> None:
        """Another code is a difference, unless codes are not claimed."""
        one, other = Rejected(code=RefusalCode.NOT_FOUND), Rejected(code=RefusalCode.MALFORMED)
        strict, loose = matching(), matching(ALL_CLAIMS - {Capability.CODED_REFUSALS})
        strict.compare((), one, other)
        loose.compare((), one, other)
        assert len(strict.mismatches) == 1
        assert loose.mismatches == []

    def test_what_counts_codes_is_compared_where_claimed(self) -> None:
        """Refusals with `stale_revision` are counted alike only where that code means something."""
        one, other = (ops.Metrics(created=1, resolved=0, stale=each, failed=0) for each in (0, 1))
        strict, loose = matching(), matching(ALL_CLAIMS - {Capability.CODED_REFUSALS})
        for each in (strict, loose):
            each.compare((), one, other)
        assert [each.path for each in strict.mismatches] == [("stale",)]
        assert loose.mismatches == []

    def test_a_current_card_is_not_compared(self) -> None:
        """A refusal may name the current card or not; what it names is judged by I6.1."""
        one = matching()
        one.compare(
            (),
            Rejected(code=RefusalCode.NOT_ANSWERABLE),
            Rejected(code=RefusalCode.NOT_ANSWERABLE, current_card=CardId("any")),
        )
        assert one.mismatches == []
