"""Closing a case and withdrawing its cards: what ends, what is spared, and what a closed case still does."""

from collections.abc import Callable

import pytest
from attrs import asdict

from keyturn import operations as ops
from keyturn.responses import Found, Presented
from keyturn.status import InteractionStatus
from keyturn.values import CardId, CaseKey, Revision

from . import builders
from .builders import (
    AT_ONCE,
    CASE,
    WITHOUT_REVISIONS,
    Desk,
    answer,
    close_case,
    edit_case,
    get,
    open_case,
    present,
    settle,
    withdraw,
)

UNKNOWN = CaseKey("acme", "claims", "never")
CLEAR = (close_case, withdraw)
Clear = Callable[..., ops.Operation]


def cards_of_every_kind(desk: Desk) -> tuple[CardId, ...]:
    """An Active bound, blocking and independent card; one in flight and one that has ended; one of another case."""
    other = CaseKey("acme", "claims", "case-2")
    desk.perform(open_case(other))
    shapes = (present(), present(blocking=True), present(independent=True), present(), present(), present(key=other))
    cards = tuple(desk.write(each) for each in shapes)
    desk.accept(cards[3])
    desk.perform(answer(cards[4], "no"))
    return cards


class TestClearing:
    """I13.11: Closing a case invalidates its Active cards; withdrawing them does too; Resolving ones are spared."""

    @pytest.mark.parametrize("clear", CLEAR)
    def test_every_active_card_of_the_case_is_invalidated(self, clear: Clear) -> None:
        """The independent ones included; Resolving and ended ones are spared, and other cases too."""
        desk = Desk()
        cards = cards_of_every_kind(desk)
        [branch] = desk.may(clear())
        assert branch.because >= {"I13.11"}
        assert desk.perform(clear()) == ops.CardsInvalidated(invalidated=cards[:3])
        ended = ["invalidated"] * 3
        assert [desk.status(each) for each in cards] == [*ended, "resolving", "declined", "active"]
        assert desk.revision() == 1

    @pytest.mark.parametrize(
        ("operation", "cause"),
        [
            (close_case(), ops.Cause(reason="case_closed")),
            (withdraw(code="a copy"), ops.Cause(reason="administrative", code="a copy")),
        ],
        ids=["close", "withdraw"],
    )
    def test_the_ledger_says_why(self, operation: ops.Operation, cause: ops.Cause) -> None:
        """`case_closed`, or `administrative` with the code that was given."""
        desk = Desk()
        card = desk.write()
        desk.perform(operation)
        assert desk.entries(card)[-1].cause == cause
        entries = desk.ledger(account="acme", workflow="claims", case="case-1")["entries"]
        assert isinstance(entries, list)
        assert entries[-1]["cause"] == {name: each for name, each in asdict(cause).items() if each is not None}

    @pytest.mark.parametrize("clear", CLEAR)
    def test_an_unknown_case_is_not_found(self, clear: Clear) -> None:
        """Nothing is opened by closing it."""
        desk = Desk()
        [branch] = desk.may(clear(UNKNOWN))
        assert builders.wording(branch.outcome) == "rejected: not_found"
        assert branch.world == desk.state.world

    def test_withdrawing_leaves_the_case_open(self) -> None:
        """The next card is presented at the same revision."""
        desk = Desk()
        desk.write(present(blocking=True))
        desk.perform(withdraw())
        assert desk.expect(Presented, present(blocking=True)).card.case_revision == 1

    def test_an_overdue_card_may_be_found_expired_instead(self) -> None:
        """By a sweep of the system's own."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        desk.advance(1)
        answers = [each.outcome for each in desk.may(close_case())]
        assert answers == [ops.CardsInvalidated(invalidated=(card,)), ops.CardsInvalidated(invalidated=())]


class TestClosed:
    """Presenting on a closed case is not_found until it is opened again; closing moves no revision."""

    def test_nothing_is_presented_on_it(self) -> None:
        """Also what is no card is not found there, and nothing is written."""
        desk = Desk()
        desk.perform(close_case())
        [branch] = desk.may(present())
        assert builders.wording(branch.outcome) == "rejected: not_found"
        assert branch.because >= {"I13.11"}
        assert branch.world == desk.state.world

    def test_it_is_opened_again_at_its_revision(self) -> None:
        """What had ended stays ended."""
        desk = Desk()
        card = desk.write()
        desk.edit()
        desk.perform(close_case())
        assert desk.perform(open_case()) == ops.CaseOpened(revision=Revision(2))
        assert desk.status(card) == "invalidated"
        assert desk.expect(Presented, present()).card.case_revision == 2

    @pytest.mark.parametrize("operation", [close_case(), withdraw()], ids=["close", "withdraw"])
    def test_it_has_no_more_cards_to_end(self, operation: ops.Operation) -> None:
        """Closing or withdrawing again finds none, or may not find the case; it stays closed."""
        desk = Desk()
        desk.write()
        desk.perform(close_case())
        assert desk.outcomes(operation) == ("CardsInvalidated", "rejected: not_found")
        assert {each.world for each in desk.may(operation)} == {desk.state.world}

    def test_its_record_may_still_change(self) -> None:
        """An edit moves its revision, or may not find it."""
        desk = Desk()
        desk.perform(close_case())
        assert desk.outcomes(edit_case()) == ("CaseEdited", "rejected: not_found")
        desk.edit()
        assert desk.perform(open_case()) == ops.CaseOpened(revision=Revision(2))

    def test_its_cards_can_be_read(self) -> None:
        """They are over, and they are there."""
        desk = Desk()
        card = desk.write()
        desk.perform(close_case())
        assert desk.expect(Found, get(card)).card.status is InteractionStatus.INVALIDATED
        assert desk.outcomes(answer(card)) == ("rejected: not_answerable",)


class TestInFlight:
    """A Resolving card of a closed case can still be settled."""

    def test_its_command_commits(self) -> None:
        """The revision that it expects is still that of the case."""
        desk = Desk()
        card = desk.write()
        command = desk.accept(card)
        desk.perform(close_case())
        assert desk.outcomes(answer(card)) == ("in_flight",)
        assert desk.outcomes(settle(command)) == ("resolved",)
        desk.perform(settle(command))
        assert (desk.status(card), desk.revision()) == ("resolved", 2)
        assert desk.outcomes(present()) == ("rejected: not_found",)

    @pytest.mark.parametrize("independent", [False, True])
    def test_what_is_given_back_may_end_at_once(self, independent: bool) -> None:
        """Nobody is asked on a closed case: the reference ends the card, and a system may leave it as it is."""
        for claims in (Desk().claims, WITHOUT_REVISIONS):
            desk = Desk(claims)
            card = desk.write(present(independent=independent))
            command = desk.accept(card)
            desk.perform(close_case())
            behind = desk.may(settle(command, "failed", "restore"))
            found = [each.world.interaction(card) for each in behind]
            assert [each.status.value for each in found if each is not None] == ["invalidated", "active"]
            desk.perform(settle(command, "failed", "restore"))
            assert desk.entries(card)[-1].cause == ops.Cause(reason="case_closed")

    def test_a_command_that_ends_at_once_closes_nothing(self) -> None:
        """Without `deferred` nothing is in flight when a case is closed."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        desk.perform(answer(card))
        desk.perform(close_case())
        assert desk.status(card) == "resolved"
        assert desk.interaction(card).key == CASE
