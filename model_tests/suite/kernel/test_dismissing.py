"""`card.dismiss` follows the table of a response, without option and free text."""

from collections.abc import Callable

import pytest

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Claims
from keyturn.cards import Result
from keyturn.responses import Dismissed, Rejected
from keyturn.values import LARGEST_INTEGER, CardId, Revision

from . import builders
from .builders import NOON_INSTANT, UNORDERED, WITHOUT_REPLAY, WITHOUT_REVISIONS, Desk, answer, dismiss, present
from .test_gate import (
    EXPIRED,
    MALFORMED,
    NOT_ANSWERABLE,
    NOT_FOUND,
    STALE,
    active,
    answered,
    closed,
    expired,
    failed,
    independent,
    invalidated,
    overdue,
    resolved,
    resolving,
    restored_on_a_moved_case,
)

Make = Callable[[Desk], CardId]


def dismissed(desk: Desk) -> CardId:
    """A card that was dismissed from outside."""
    card = desk.write()
    desk.perform(dismiss(card))
    return card


ROWS: dict[str, tuple[Make, int | None, tuple[str, ...], tuple[str, ...]]] = {
    "active": (active, 1, ("dismissed",), ()),
    "active, another revision": (active, 2, (STALE,), ()),
    "active, no revision": (active, None, (MALFORMED,), ()),
    "active, a number below the range": (active, 0, (MALFORMED, STALE), ()),
    "active, a number above the range": (active, LARGEST_INTEGER + 1, (MALFORMED, STALE), ()),
    "independent": (independent, 77, ("dismissed",), ()),
    "independent, no revision": (independent, None, ("dismissed",), ()),
    "overdue": (overdue, 1, (EXPIRED, NOT_ANSWERABLE), ()),
    "overdue, another revision": (overdue, 2, (EXPIRED, NOT_ANSWERABLE), (STALE,)),
    "a case that moved": (restored_on_a_moved_case, 1, (STALE,), ()),
    "resolving": (resolving, 1, ("in_flight",), ()),
    "resolving, another revision": (resolving, 2, ("in_flight",), (STALE,)),
    "resolved": (resolved, 1, ("replayed",), ()),
    "resolved without a command": (answered, 1, ("replayed",), ()),
    "declined": (closed("no"), 1, (NOT_ANSWERABLE,), ()),
    "dismissed by an option": (closed("later"), 1, (NOT_ANSWERABLE,), ()),
    "dismissed": (dismissed, 1, (NOT_ANSWERABLE, "dismissed", "replayed"), ()),
    "invalidated": (invalidated, 1, (NOT_ANSWERABLE,), (STALE,)),
    "expired": (expired, 1, (NOT_ANSWERABLE, EXPIRED), ()),
    "failed": (failed, 1, (NOT_ANSWERABLE,), ()),
}


class TestEverySituation:
    """`card.dismiss` follows the same table without option and free text."""

    @pytest.mark.parametrize(("make", "revision", "ordered", "besides"), ROWS.values(), ids=ROWS)
    def test_a_dismissal_gets_what_the_table_says(
        self, make: Make, revision: int | None, ordered: tuple[str, ...], besides: tuple[str, ...]
    ) -> None:
        """In the order of the checks, and without `ordered_checks` also the code of any other that fails."""
        for claims, expected in ((ALL_CLAIMS, ordered), (UNORDERED, (*ordered, *besides))):
            desk = Desk(claims)
            found = desk.outcomes(dismiss(make(desk), revision=revision))
            assert set(found) == set(expected)
            assert found[0] == ordered[0]

    @pytest.mark.parametrize("claims", [ALL_CLAIMS, UNORDERED], ids=["ordered", "unordered"])
    def test_a_refusal_runs_nothing(self, claims: Claims) -> None:
        """I19.8: behind a refusal there is no event but the end of an overdue or a stale card."""
        for make, revision, _, _ in ROWS.values():
            desk = Desk(claims)
            for branch in desk.may(dismiss(make(desk), revision=revision)):
                if isinstance(branch.outcome, Rejected):
                    events = [each.event if isinstance(each, ops.LedgerEntry) else each for each in branch.happened]
                    assert events in ([], ["expire"], ["invalidate"])

    @pytest.mark.parametrize("stranger", [{"account": "other"}, {"conversation": "chat-2"}, {"account": ""}], ids=str)
    def test_a_stranger_gets_what_an_unknown_card_gets(self, stranger: dict[str, str]) -> None:
        """I19.1: same code, same shape, no hint."""
        desk = Desk()
        card = desk.write()
        for revision in (1, None):
            foreign = desk.may(dismiss(card, revision=revision, **stranger))
            assert foreign == desk.may(dismiss("card-99", revision=revision))
            assert foreign[0].because >= {"I19.1"}
        assert desk.outcomes(dismiss("card-99")) == (NOT_FOUND,)
        assert desk.outcomes(dismiss("card-99", revision=None)) == (NOT_FOUND, MALFORMED)
        assert desk.outcomes(dismiss("")) == (MALFORMED, NOT_FOUND)

    def test_without_replay_a_resolved_card_may_refuse(self) -> None:
        """I14.2: a system without `replay` may refuse instead."""
        desk = Desk(WITHOUT_REPLAY)
        assert desk.outcomes(dismiss(resolved(desk))) == ("replayed", NOT_ANSWERABLE)

    def test_without_revisions_none_is_compared(self) -> None:
        """The expected revision may be left out or be any number."""
        for revision in (None, 9):
            desk = Desk(WITHOUT_REVISIONS)
            assert desk.outcomes(dismiss(desk.write(), revision=revision)) == ("dismissed",)

    @pytest.mark.parametrize(
        ("make", "revision", "because"),
        [
            (active, 1, {"A1", "A3"}),
            (active, 2, {"I13.1"}),
            (overdue, 1, {"I19.5"}),
            (resolved, 1, {"I14.2", "I14.4"}),
            (resolving, 1, {"I14.3"}),
            (invalidated, 2, {"L2", "I13.2", "I13.3"}),
        ],
        ids=["active", "stale", "overdue", "resolved", "resolving", "invalidated"],
    )
    def test_the_first_branch_names_what_demands_it(self, make: Make, revision: int, because: set[str]) -> None:
        """Dismissing is another answer than the one that resolved a card, whichever that was."""
        desk = Desk()
        assert desk.may(dismiss(make(desk), revision=revision))[0].because >= because


class TestDismissed:
    """A Result of `card.dismiss` has no option; `resolved_at` is set and `resolved_option` is not."""

    def test_the_card_is_closed_without_an_option(self) -> None:
        """Its result cites nothing, its entry in the ledger has no cause, and the slot is free (I5.9)."""
        desk = Desk()
        card = desk.write(present(blocking=True))
        result = Result(card=card, effects=(), case_revision=Revision(1))
        assert desk.perform(dismiss(card)) == Dismissed(result=result)
        stored = desk.interaction(card)
        assert (stored.status, stored.resolved_option, stored.resolved_at) == ("dismissed", None, NOON_INSTANT)
        assert stored.result == result
        assert desk.entries(card)[-1].cause == ops.Cause()
        assert desk.effects_of_case() == ()
        assert desk.write(present(blocking=True))

    def test_its_result_is_not_another_options(self) -> None:
        """A response that names an option is another answer: it is refused."""
        desk = Desk()
        assert desk.outcomes(answer(dismissed(desk), "later")) == (NOT_ANSWERABLE,)

    def test_a_string_that_no_client_may_send_is_malformed(self) -> None:
        """U+0000 is `malformed` anywhere in a request from a client."""
        assert Desk().outcomes(dismiss("card\0")) == (MALFORMED,)

    def test_the_wire_may_leave_the_revision_out(self) -> None:
        """As a keyword that is not given."""
        desk = Desk()
        card = desk.write(present(independent=True))
        answered = desk.card_dismiss(account="acme", conversation=builders.CHAT, card=card)
        assert answered == {"outcome": "dismissed", "result": {"card": card, "effects": [], "case_revision": 1}}
