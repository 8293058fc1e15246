"""The table "What a response gets, check by check": each situation, and every outcome that the text admits there."""

from collections.abc import Callable

import pytest
from attrs import frozen

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Claims
from keyturn.responses import Rejected
from keyturn.values import CardId, CaseKey, Revision

from . import builders
from .builders import (
    AT_ONCE,
    UNORDERED,
    WITHOUT_REPLAY,
    WITHOUT_REVISIONS,
    Desk,
    answer,
    present,
    respond,
    sent,
    settle,
)

Prepare = Callable[[Desk], ops.CardRespond]


@frozen
class Row:
    """A situation, and its outcomes with `ordered_checks` and those that are admissible without it besides."""

    situation: str
    prepare: Prepare
    ordered: tuple[str, ...]
    besides: tuple[str, ...] = ()


def to(card: Callable[[Desk], str], chosen: str = "yes", *, revision: object = 1, text: object = None) -> Prepare:
    """Answer a card of this making."""
    return lambda desk: answer(card(desk), chosen, revision=revision, text=text)


def active(desk: Desk) -> CardId:
    """An Active card."""
    return desk.write()


def independent(desk: Desk) -> CardId:
    """An Active card that is bound to no revision, on a case that has moved."""
    card = desk.write(present(independent=True))
    desk.edit()
    return card


def overdue(desk: Desk) -> CardId:
    """An Active card at the exact instant of its deadline."""
    card = desk.write(present(expires_in=1))
    desk.advance(1)
    return card


def resolving(desk: Desk) -> CardId:
    """A card whose command is in flight."""
    card = desk.write()
    desk.accept(card)
    return card


def resolved(desk: Desk) -> CardId:
    """A card whose command committed, and so moved the case to revision 2."""
    card = desk.write(present(expires_in=1))
    builders.settled(desk, card)
    desk.advance(2)
    return card


def answered(desk: Desk) -> CardId:
    """A card that was resolved without a command."""
    card = desk.write()
    desk.perform(answer(card, "pick"))
    return card


def closed(chosen: str) -> Callable[[Desk], CardId]:
    """A card that was declined or dismissed."""

    def make(desk: Desk) -> CardId:
        card = desk.write()
        desk.perform(answer(card, chosen))
        return card

    return make


def invalidated(desk: Desk) -> CardId:
    """A card whose case was edited."""
    card = desk.write()
    desk.edit()
    return card


def expired(desk: Desk) -> CardId:
    """A card that the sweep found overdue."""
    card = overdue(desk)
    desk.perform(ops.CardExpireDue())
    return card


def failed(desk: Desk) -> CardId:
    """A card whose command failed, which was recorded."""
    card = desk.write()
    desk.perform(settle(desk.accept(card), "failed"))
    return card


def restored_on_a_moved_case(desk: Desk) -> CardId:
    """A card that was given back while its case had moved, and that no sweep has reached."""
    card = desk.write()
    command = desk.accept(card)
    desk.edit()
    desk.take(desk.may(settle(command, on_failure="restore"))[1])
    return card


NOT_FOUND = "rejected: not_found"
MALFORMED = "rejected: malformed"
NOT_ANSWERABLE = "rejected: not_answerable"
EXPIRED = "rejected: expired"
UNKNOWN = "rejected: unknown_option"
STALE = "rejected: stale_revision"
FORBIDDEN, REQUIRED, TOO_LONG = (f"rejected: freeform_{what}" for what in ("forbidden", "required", "too_long"))

ROWS = (
    Row("not a response", lambda desk: respond("yes"), (MALFORMED,)),
    Row("no option", lambda desk: respond({"interaction_id": active(desk)}), (MALFORMED,)),
    Row("no revision on a bound card", to(active, revision=None), (MALFORMED,)),
    Row("unknown card", lambda desk: answer("card-99"), (NOT_FOUND,)),
    Row("unknown card without a revision", lambda desk: answer("card-99", revision=None), (NOT_FOUND, MALFORMED)),
    Row("another account", lambda desk: respond(sent(active(desk)), account="other"), (NOT_FOUND,)),
    Row("an empty account", lambda desk: respond(sent(active(desk)), account=""), (NOT_FOUND,)),
    Row("another conversation", lambda desk: respond(sent(active(desk)), conversation="chat-2"), (NOT_FOUND,)),
    Row("an empty conversation", lambda desk: respond(sent(active(desk)), conversation=""), (NOT_FOUND,)),
    Row("a stranger on an ended card", lambda desk: respond(sent(expired(desk), "never"), account="other"), (NOT_FOUND,)),
    Row("a near card id", lambda desk: answer(active(desk).upper()), (NOT_FOUND, MALFORMED)),
    Row("an id that is like none", lambda desk: answer(CardId("another one")), (NOT_FOUND,)),
    Row("an empty card id", lambda desk: answer(""), (MALFORMED, NOT_FOUND)),
    Row("an extra field", lambda desk: respond(sent(active(desk), action="pay")), ("accepted", MALFORMED)),
    Row("resolved", to(resolved), ("replayed",)),
    Row("resolved, another option", to(resolved, "no"), ("replayed",)),
    Row("resolved, the new revision", to(resolved, revision=2), ("replayed",)),
    Row("resolved, an unknown option", to(resolved, "never"), ("replayed",), (UNKNOWN,)),
    Row("resolved, a text", to(resolved, text="why"), ("replayed",), (FORBIDDEN,)),
    Row("resolved without a command", to(answered, "pick"), ("replayed",)),
    Row("resolving", to(resolving), ("in_flight",)),
    Row("resolving, another option", to(resolving, "no"), ("in_flight",)),
    Row("resolving, another revision", to(resolving, revision=2), ("in_flight",), (STALE,)),
    Row("declined, the same option", to(closed("no"), "no"), (NOT_ANSWERABLE, "declined", "replayed")),
    Row("declined, another option", to(closed("no")), (NOT_ANSWERABLE,)),
    Row("declined, an unknown option", to(closed("no"), "never"), (NOT_ANSWERABLE,), (UNKNOWN,)),
    Row("recorded decline, the same", to(closed("record"), "record"), (NOT_ANSWERABLE, "declined", "replayed"), (STALE,)),
    Row("dismissed, the same option", to(closed("later"), "later"), (NOT_ANSWERABLE, "dismissed", "replayed")),
    Row("dismissed, another option", to(closed("later"), "no"), (NOT_ANSWERABLE,)),
    Row("invalidated", to(invalidated), (NOT_ANSWERABLE,), (STALE,)),
    Row("invalidated, the new revision", to(invalidated, revision=2), (NOT_ANSWERABLE,), (STALE,)),
    Row("expired", to(expired), (NOT_ANSWERABLE, EXPIRED)),
    Row("expired, an unknown option", to(expired, "never"), (NOT_ANSWERABLE, EXPIRED), (UNKNOWN,)),
    Row("failed", to(failed), (NOT_ANSWERABLE,)),
    Row("overdue", to(overdue), (EXPIRED, NOT_ANSWERABLE)),
    Row("overdue, all else wrong", to(overdue, "never", revision=2), (EXPIRED, NOT_ANSWERABLE), (UNKNOWN, STALE)),
    Row("unknown option", to(active, "never"), (UNKNOWN,)),
    Row("unknown option and stale", to(active, "never", revision=2), (UNKNOWN,), (STALE,)),
    Row("an empty option id", to(active, ""), (MALFORMED, UNKNOWN)),
    Row("another revision", to(active, revision=2), (STALE,)),
    Row("a number out of range", to(active, revision=0), (MALFORMED, STALE)),
    Row("a whole fraction", to(active, revision=1.0), (MALFORMED, "accepted")),
    Row("a case that moved", to(restored_on_a_moved_case), (STALE,)),
    Row("a case that moved, echoed", to(restored_on_a_moved_case, revision=2), (STALE,)),
    Row("stale with a text", to(active, revision=2, text="why"), (STALE,), (FORBIDDEN,)),
    Row("a text where none is taken", to(active, text="why"), (FORBIDDEN,)),
    Row("a blank text where none is taken", to(active, text=" "), ("accepted", FORBIDDEN)),
    Row("no text where one is needed", to(active, "explain"), (REQUIRED,)),
    Row("a blank text where one is needed", to(active, "explain", text="\u3000"), (REQUIRED,)),
    Row("a text that is too long", to(active, "explain", text="no way"), (TOO_LONG,)),
    Row("valid, authorising", to(active), ("accepted",)),
    Row("valid, authorising with text", to(active, "explain", text="so it"), ("accepted",)),
    Row("valid, answering", to(active, "pick"), ("resolved",)),
    Row("valid, declining", to(active, "no"), ("declined",)),
    Row("valid, declining with a reason", to(active, "no", text="costs"), ("declined",)),
    Row("valid, recording", to(active, "record"), ("declined",)),
    Row("valid, dismissing", to(active, "later"), ("dismissed",)),
    Row("independent, no revision", to(independent, revision=None), ("accepted",)),
    Row("independent, any revision", to(independent, revision=77), ("accepted",)),
    Row("independent, a number out of range", to(independent, revision=0), (MALFORMED, "accepted")),
)  # fmt: skip
SITUATIONS = [row.situation for row in ROWS]


class TestEverySituation:
    """Otherwise any code whose check really fails is admissible. A system may claim `ordered_checks`; then the order is exact."""

    @pytest.mark.parametrize("row", ROWS, ids=SITUATIONS)
    def test_the_first_outcome_is_the_one_of_the_table(self, row: Row) -> None:
        """The reference takes the outcome of the first check that fails."""
        desk = Desk()
        assert builders.wording(desk.perform(row.prepare(desk))) == row.ordered[0]

    @pytest.mark.parametrize("row", ROWS, ids=SITUATIONS)
    def test_ordered_checks_admit_the_first_failing_code_only(self, row: Row) -> None:
        """With `ordered_checks` the order of the text decides."""
        desk = Desk()
        assert set(desk.outcomes(row.prepare(desk))) == set(row.ordered)

    @pytest.mark.parametrize("row", ROWS, ids=SITUATIONS)
    def test_without_the_claim_every_failing_code_is_admissible(self, row: Row) -> None:
        """Without `ordered_checks` each check that really fails may be named, and none that holds."""
        desk = Desk(UNORDERED)
        found = desk.outcomes(row.prepare(desk))
        assert set(found) == {*row.ordered, *row.besides}
        assert found[0] == row.ordered[0]

    @pytest.mark.parametrize("row", ROWS, ids=SITUATIONS)
    @pytest.mark.parametrize("claims", [ALL_CLAIMS, UNORDERED], ids=["ordered", "unordered"])
    def test_a_refusal_runs_nothing(self, row: Row, claims: Claims) -> None:
        """I19.8: behind a refusal there is no effect and no event but the end of an overdue or a stale card."""
        desk = Desk(claims)
        operation = row.prepare(desk)
        for branch in desk.may(operation):
            if isinstance(branch.outcome, Rejected):
                events = [each.event if isinstance(each, ops.LedgerEntry) else each for each in branch.happened]
                assert events in ([], ["expire"], ["invalidate"])
                assert branch.world.cases == desk.state.world.cases
                assert branch.world.commands == desk.state.world.commands


class TestClaims:
    """What is not claimed is not judged."""

    def test_without_replay_a_second_answer_may_be_refused(self) -> None:
        """I14.2: a system without `replay` may refuse instead."""
        desk = Desk(WITHOUT_REPLAY)
        found = desk.outcomes(answer(resolved(desk), "no"))
        assert found == ("replayed", NOT_ANSWERABLE)

    def test_a_resolved_card_is_never_dismissed(self) -> None:
        """A second answer of the same option is replayed or refused, and is no dismissal."""
        desk = Desk(WITHOUT_REPLAY)
        assert desk.outcomes(answer(resolved(desk))) == ("replayed", NOT_ANSWERABLE)

    def test_without_revisions_none_is_compared(self) -> None:
        """Without `revisions` the expected revision may be left out or be any number."""
        for revision in (None, 1, 9):
            desk = Desk(WITHOUT_REVISIONS)
            assert desk.outcomes(answer(active(desk), revision=revision)) == ("accepted",)

    @pytest.mark.parametrize("text", ["x" * 70_000, "\U0001f600" * 20_000], ids=["ascii", "emoji"])
    def test_a_response_that_is_too_large_may_be_malformed(self, text: str) -> None:
        """Beyond 64 KiB a system may answer `malformed`."""
        desk = Desk()
        assert MALFORMED in desk.outcomes(answer(active(desk), "explain", text=text))

    @pytest.mark.parametrize(
        ("result", "on_failure", "expected"),
        [
            ("committed", "record", "resolved"),
            ("failed", "record", "failed: command_failed"),
            ("failed", "restore", "restored: command_failed"),
        ],
    )
    def test_without_deferred_the_command_ends_at_once(self, result: str, on_failure: str, expected: str) -> None:
        """`command.next` says how, and without it a command commits."""
        desk = Desk(AT_ONCE)
        desk.command_next(result=result, on_failure=on_failure)
        assert desk.outcomes(answer(active(desk))) == (expected,)


class TestBecause:
    """A branch is (outcome, next world, what happened, the ids that demand it)."""

    @pytest.mark.parametrize(
        ("prepare", "because"),
        [
            (lambda desk: respond(1), {"I19.6"}),
            (lambda desk: answer("card-99"), {"I19.1"}),
            (to(active, revision=None), {"I19.6"}),
            (to(active, "never"), {"I7.2"}),
            (to(active, revision=2), {"I13.1"}),
            (to(restored_on_a_moved_case, revision=2), {"I13.1", "I13.2"}),
            (to(invalidated, revision=2), {"L2", "I13.2"}),
            (to(invalidated), {"L2"}),
            (to(closed("no")), {"L2"}),
            (to(overdue), {"I19.5"}),
            (to(resolving), {"I14.3"}),
            (to(resolved), {"I14.2"}),
            (to(resolved, "no"), {"I14.2", "I14.4"}),
            (to(active), {"A1"}),
            (to(active, "pick"), {"A1", "A3"}),
            (to(active, "no"), {"A1", "A3"}),
            (to(active, "record"), {"A1", "A3", "I13.3"}),
            (to(active, "later"), {"A1", "A3"}),
            (to(active, text="why"), {"I7.4"}),
        ],
    )
    def test_the_first_branch_names_what_demands_it(self, prepare: Prepare, because: set[str]) -> None:
        """Each outcome of the table is demanded at least by the statement that it comes from."""
        desk = Desk()
        assert desk.may(prepare(desk))[0].because >= because

    @pytest.mark.parametrize("chosen", ["no", "later"])
    def test_a_closed_card_is_not_refused_for_its_revision(self, chosen: str) -> None:
        """Declined or dismissed it is over (L2), whatever the case has become since (I13)."""
        desk = Desk()
        card = closed(chosen)(desk)
        desk.edit()
        for revision in (1, 2):
            because = desk.may(answer(card, revision=revision))[0].because
            assert "L2" in because
            assert not [each for each in because if each.startswith("I13")]

    def test_an_independent_card_is_not_refused_for_its_revision(self) -> None:
        """Replaced it is over, and no revision has to do with it."""
        desk = Desk()
        card = desk.write(present(blocking=True, independent=True))
        desk.write(present(blocking=True, on_occupied="replace"))
        desk.edit()
        because = desk.may(answer(card, revision=2))[0].because
        assert "L2" in because
        assert not [each for each in because if each.startswith("I13")]


class TestMayEndAtOnce:
    """The card may become Expired at once; if the case moved, the card may become Invalidated at once."""

    def test_an_overdue_card_may_end_or_stay(self) -> None:
        """Both are admissible behind `expired`, and the reference lets it end."""
        desk = Desk()
        card = overdue(desk)
        behind = [each for each in desk.may(answer(card)) if builders.wording(each.outcome) == EXPIRED]
        assert {each.world for each in behind} == {desk.state.world, desk.may(ops.CardExpireDue())[0].world}
        desk.perform(answer(card))
        assert desk.status(card) == "expired"

    @pytest.mark.parametrize("revision", [1, 2])
    def test_a_card_of_a_moved_case_may_end_or_stay(self, revision: int) -> None:
        """Both are admissible behind `stale_revision`, whichever revision was echoed."""
        desk = Desk()
        card = restored_on_a_moved_case(desk)
        behind = desk.may(answer(card, revision=revision))
        statuses = [each.world.interaction(card) for each in behind]
        assert [each.status.value for each in statuses if each is not None] == ["invalidated", "active"]
        [entry] = behind[0].happened
        assert isinstance(entry, ops.LedgerEntry)
        assert entry.cause == ops.Cause(reason="revision_changed", new_revision=Revision(2))

    def test_a_card_of_an_unmoved_case_stays(self) -> None:
        """A wrong revision from the client ends nothing."""
        desk = Desk()
        [only] = desk.may(answer(active(desk), revision=2))
        assert only.world == desk.state.world


class TestCurrentCard:
    """`not_answerable` may name the current card, but only one that the asker can read."""

    def named(self, desk: Desk, ended: str) -> str | None:
        """The card that the refusal of an ended card names."""
        return desk.expect(Rejected, answer(ended)).current_card

    def test_the_open_blocking_card_of_the_case_is_named(self) -> None:
        """Who asks about a card that is over learns which question is open."""
        desk = Desk()
        ended = invalidated(desk)
        current = desk.write(present(blocking=True))
        assert self.named(desk, ended) == current

    @pytest.mark.parametrize(
        "other",
        [
            present(),
            present(blocking=True, conversation="chat-2"),
            present(blocking=True, key=CaseKey("acme", "claims", "case-2")),
        ],
        ids=["not-blocking", "another-conversation", "another-case"],
    )
    def test_no_other_card_is_named(self, other: ops.CardPresent) -> None:
        """A card that is not the question of this case, or not the asker's to read, is no hint."""
        desk = Desk()
        ended = invalidated(desk)
        desk.perform(builders.open_case(CaseKey("acme", "claims", "case-2")))
        desk.write(other)
        assert self.named(desk, ended) is None

    def test_an_ended_card_is_not_named(self) -> None:
        """Only an open card can be current."""
        desk = Desk()
        ended = desk.write(present(blocking=True))
        desk.edit()
        assert self.named(desk, ended) is None
