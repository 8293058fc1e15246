"""A cell says where a card stands, what is tried, and under which condition; a step covers the goals that it falls into."""

from collections.abc import Callable

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import InteractionKind
from keyturn.store import possibilities
from keyturn.values import CaseKey
from keyturn_specs.cells import Cell, cells_of
from keyturn_specs.goals import Goal, Reached, Succession, Transition, goals_of, of_sort
from keyturn_specs.observations import Moment

from ..kernel import builders as b
from ..kernel.builders import Desk

ELSEWHERE, STRANGER = {"conversation": "chat-2"}, {"account": "globex"}
OTHER_CASE = CaseKey("acme", "claims", "case-2")

Before = Callable[[Desk, str], object]


def moment(desk: Desk, operation: ops.Operation) -> Moment:
    """The moment in which the reference takes an operation."""
    branch = possibilities(desk.state, operation, desk.claims)[0].branch
    return Moment(state=desk.state, operation=operation, branch=branch, claims=desk.claims)


def goals(desk: Desk, operation: ops.Operation) -> tuple[Goal, ...]:
    """The goals of an operation."""
    here = moment(desk, operation)
    return goals_of(here, [each for each in here.branch.happened if isinstance(each, ops.LedgerEntry)])


def cells(desk: Desk, operation: ops.Operation) -> list[str]:
    """The cells of an operation, in words and without its name."""
    found = cells_of(moment(desk, operation))
    assert all(each.operation == operation.method for each in found)
    return [f"{each.status}, {each.condition}" for each in found]


def is_left(desk: Desk, card: str) -> None:
    """Nothing more happens to the card."""


def has_a_deadline(desk: Desk, card: str) -> None:
    """The deadline passes."""
    desk.advance(60)


ANSWERS: list[tuple[str, Before, ops.Operation]] = [
    ("unwritten, malformed", is_left, b.respond(7)),
    ("unwritten, malformed", is_left, b.respond({"interaction_id": 7})),
    ("unwritten, about no card that there is", is_left, b.answer("card-9")),
    ("active, malformed", is_left, b.respond({"interaction_id": "card-1"})),
    ("active, malformed", is_left, b.respond({"interaction_id": "card-1", "option_ids": ["yes"]})),
    ("active, as another account", is_left, b.respond(b.sent("card-1"), **STRANGER)),
    ("active, from another conversation", is_left, b.respond(b.sent("card-1"), **ELSEWHERE)),
    ("active, without a revision", is_left, b.answer("card-1", revision=None)),
    ("active, past its deadline", has_a_deadline, b.answer("card-1")),
    ("active, with an option that it does not have", is_left, b.answer("card-1", "none")),
    ("active, for a later revision", is_left, b.answer("card-1", revision=2)),
    ("active, with a text where none may be", is_left, b.answer("card-1", text="so")),
    ("active, without the text that is due", is_left, b.answer("card-1", "explain")),
    ("active, with too long a text", is_left, b.answer("card-1", "explain", text="too long")),
    ("active, with apply_operation", is_left, b.answer("card-1")),
    ("active, with select_target", is_left, b.answer("card-1", "pick")),
    ("active, with decline", is_left, b.answer("card-1", "no")),
    ("active, with decline_and_record", is_left, b.answer("card-1", "record")),
    ("active, with dismiss", is_left, b.answer("card-1", "later")),
    ("resolving, with what it was answered with", Desk.accept, b.answer("card-1")),
    ("resolving, with another option, which declines", Desk.accept, b.answer("card-1", "no")),
    ("resolved, with what it was answered with, after the record has moved", b.settled, b.answer("card-1")),
    (
        "resolved, for the current revision, which is not its own",
        b.settled,
        b.answer("card-1", revision=2),
    ),
    ("unwritten, about no card that there is", is_left, b.dismiss("card-9")),
    ("active, malformed", is_left, b.dismiss("card-1", revision=0)),
    ("active, as another account", is_left, b.dismiss("card-1", account="globex")),
    ("active, rightly", is_left, b.dismiss("card-1")),
    ("resolved, rightly, after the record has moved", b.settled, b.dismiss("card-1")),
    ("unwritten, about no card that there is", is_left, b.get("card-9")),
    ("active, as another account", is_left, b.get("card-1", **STRANGER)),
    ("active, from another conversation", is_left, b.get("card-1", **ELSEWHERE)),
    ("active, as its owner", is_left, b.get("card-1")),
    ("active, in time", is_left, ops.CardExpireDue()),
    ("active, past its deadline", has_a_deadline, ops.CardExpireDue()),
]


class TestCellsOfACard:
    """What is tried on one card falls into one cell."""

    @pytest.mark.parametrize(("expected", "before", "operation"), ANSWERS)
    def test_what_is_asked_of_it(self, expected: str, before: Before, operation: ops.Operation) -> None:
        """The first thing that is wrong names the condition, and otherwise what is chosen does."""
        desk = Desk()
        card = desk.write(b.present(expires_in=60))
        before(desk, card)
        assert cells(desk, operation) == [expected]

    def test_an_earlier_revision(self) -> None:
        """A card that was presented after an edit can be answered for the time before it."""
        desk = Desk()
        desk.edit()
        card = desk.write()
        assert cells(desk, b.answer(card)) == ["active, for an earlier revision"]
        assert cells(desk, b.dismiss(card)) == ["active, for an earlier revision"]
        assert cells(desk, b.present(for_revision=1)) == ["unwritten, for an earlier revision"]

    def test_in_company(self) -> None:
        """What moves the record takes other bound cards with it, so it counts whether there is one."""
        desk = Desk()
        card = desk.write(b.present(blocking=True))
        desk.write()
        assert cells(desk, b.answer(card, "record")) == ["active, with decline_and_record, beside a bound card"]
        assert cells(desk, b.present()) == ["active, beside it"]
        command = desk.accept(card)
        assert cells(desk, b.settle(command)) == ["resolving, as committed, beside a bound card"]
        elsewhere = b.present(blocking=True, conversation="chat-2")
        said = ["resolving, without taking its place, from another conversation", "active, beside it"]
        assert cells(desk, elsewhere) == said
        assert cells(desk, b.edit_case()) == [
            "resolving, bound to a revision",
            "active, bound to a revision, without a slot",
        ]

    def test_a_set(self) -> None:
        """Of a card that asks for a set it counts only whether the same is chosen again."""
        desk = Desk()
        card = desk.write(b.present(b.option("pick", b.TARGET), kind=InteractionKind.MULTI_SELECT))
        again = b.respond({"interaction_id": card, "option_ids": ["pick"], "expected_case_revision": 1})
        none = b.respond({"interaction_id": card, "option_ids": [], "expected_case_revision": 1})
        assert cells(desk, again) == ["active, with one option"]
        desk.perform(again)
        assert cells(desk, again) == ["resolved, with what it was answered with"]
        assert cells(desk, none) == ["resolved, with no option"]

    def test_several_options(self) -> None:
        """A set of several options is another cell than one of one."""
        desk = Desk()
        options = (b.option("pick", b.TARGET), b.option("other", b.TARGET))
        card = desk.write(b.present(*options, kind=InteractionKind.MULTI_SELECT))
        sent = {"interaction_id": card, "option_ids": ["pick", "other"], "expected_case_revision": 1}
        assert cells(desk, b.respond(sent)) == ["active, with several options"]


class TestCellsOfCommands:
    """What is said of a command falls into a cell by what is known of it."""

    def test_how_it_ends(self) -> None:
        """It ends one way or another, on a record that has moved or has not; then it is the same again, or another end."""
        desk = Desk()
        card = desk.write(b.present(independent=True))
        first = desk.accept(card)
        assert cells(desk, b.settle("none")) == ["unwritten, of no command that there is"]
        assert cells(desk, b.settle(first)) == ["resolving, as committed"]
        given_back = b.settle(first, "failed", "restore")
        desk.edit()
        said = "resolving, as failed, else to give it back, after the record has moved"
        assert cells(desk, given_back) == [said]
        desk.perform(given_back)
        assert cells(desk, given_back) == ["active, with the same end again"]
        desk.accept(card)
        assert cells(desk, given_back) == ["resolving, with the same end again of an attempt that is over"]
        assert cells(desk, b.settle(first)) == ["resolving, with another end and policy of an attempt that is over"]


class TestCellsOfCases:
    """What is tried on a case falls into a cell for each of its cards."""

    def test_each_card_of_the_case(self) -> None:
        """A card is bound to a revision or to none, and those of other cases are not meant."""
        desk = Desk()
        desk.perform(b.open_case(OTHER_CASE))
        desk.write()
        desk.write(b.present(independent=True))
        desk.write(b.present(key=OTHER_CASE))
        assert cells(desk, b.edit_case()) == [
            "active, bound to a revision, without a slot",
            "active, bound to no revision, without a slot",
        ]
        assert cells(desk, b.withdraw(CaseKey("acme", "claims", "case-3"))) == ["unwritten, on a case that never was"]

    def test_what_a_new_card_meets(self) -> None:
        """It meets no case, a closed one, its own faults, or the cards that have the slot or had it."""
        desk = Desk()
        blocking = b.present(blocking=True, expires_in=60)
        replacing = evolve(blocking, on_occupied="replace")
        assert cells(desk, b.present(key=OTHER_CASE)) == ["unwritten, on a case that never was"]
        assert cells(desk, b.present(kind=InteractionKind.BOOLEAN)) == ["unwritten, that nobody could answer"]
        assert cells(desk, b.present(for_revision=2)) == ["unwritten, for a later revision"]
        assert cells(desk, b.present()) == ["unwritten, alone, without a slot"]
        assert cells(desk, blocking) == ["unwritten, alone"]
        first = desk.write(blocking)
        assert cells(desk, blocking) == ["active, without taking its place"]
        desk.advance(60)
        assert cells(desk, replacing) == ["active, to take its place, past its deadline"]
        desk.perform(ops.CardExpireDue())
        assert desk.status(first) == "expired"
        assert cells(desk, replacing) == ["expired, to take its place"]
        desk.perform(b.close_case())
        assert cells(desk, blocking) == ["unwritten, on a closed case"]

    def test_what_is_about_no_card(self) -> None:
        """Moving the clock and starting again is about no card."""
        desk = Desk()
        desk.write()
        assert cells(desk, ops.Restart()) == []


class TestGoals:
    """A step covers the statuses, the transitions, the pairs of them and the cells that it falls into."""

    def test_two_steps_of_a_card(self) -> None:
        """The second of them makes a pair with the first, also over other cards' steps."""
        desk = Desk()
        card = desk.write()
        desk.write()
        assert goals(desk, b.answer(card)) == (
            Reached("resolving"),
            Transition("active", "accept", "resolving"),
            Succession("present", "accept"),
            Cell(status="active", operation="card.respond", condition="with apply_operation"),
        )

    def test_the_first_step_of_a_card(self) -> None:
        """A card that is presented comes from nowhere, and makes no pair yet."""
        assert goals(Desk(), b.present()) == (
            Reached("active"),
            Transition("unwritten", "present", "active"),
            Cell(status="unwritten", operation="card.present", condition="alone, without a slot"),
        )

    def test_two_transitions_in_one_step(self) -> None:
        """An answer without a command takes both transitions, which make a pair."""
        desk = Desk()
        found = goals(desk, b.answer(desk.write(), "pick"))
        assert {Succession("present", "accept"), Succession("accept", "commit")} <= set(found)

    def test_of_one_sort(self) -> None:
        """The goals of one sort can be taken out, in their order."""
        found = goals(Desk(), b.present())
        assert of_sort(found, Reached) == (Reached("active"),)
        assert of_sort((Reached("failed"), *found), Reached) == (Reached("active"), Reached("failed"))

    def test_in_words(self) -> None:
        """Each goal can be written."""
        desk = Desk()
        desk.write()
        words = [str(each) for each in goals(desk, b.answer("card-1", "no"))]
        assert words == [
            "declined",
            "active, decline, declined",
            "present, then decline",
            "active: card.respond, with decline",
        ]

    def test_claims_count(self) -> None:
        """Without revisions no card is bound to one."""
        desk = Desk(b.WITHOUT_REVISIONS)
        desk.write()
        assert cells(desk, b.answer("card-1", revision=7)) == ["active, with apply_operation"]
