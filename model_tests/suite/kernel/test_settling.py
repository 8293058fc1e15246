"""How a command ends: committed, failed or restored, once, and only against the revision that it expects."""

import pytest

from keyturn import operations as ops
from keyturn.cards import Result
from keyturn.responses import Accepted, Failed, FailureCode, Resolved, Restored
from keyturn.values import CaseKey, CommandId, Revision

from . import builders
from .builders import WITHOUT_REVISIONS, Desk, answer, present, settle, settled

CONFLICT = "rejected: conflict"


class TestCommit:
    """L3: Resolved only after the command committed and its events are readable."""

    def test_a_commit_resolves_the_card(self) -> None:
        """Effect, new revision, result and entry come in one step."""
        desk = Desk()
        card = desk.write()
        command = desk.accept(card)
        [branch] = desk.may(settle(command))
        assert {"A3", "I13.3"} <= branch.because
        result = desk.expect(Resolved, settle(command)).result
        [effect] = desk.effects_of_case()
        assert result == Result(
            card=card, option="yes", command=command, effects=(effect.id,), case_revision=Revision(2)
        )
        assert (desk.status(card), desk.interaction(card).result, desk.revision()) == ("resolved", result, 2)
        assert desk.entries(card)[-1].cause == ops.Cause(command=command, new_revision=Revision(2))

    def test_a_commit_invalidates_the_other_bound_cards(self) -> None:
        """I13.9: it moves the revision, and the card itself ends as its option says."""
        desk = Desk()
        cards = [desk.write(), desk.write(), desk.write(present(independent=True))]
        settled(desk, cards[0])
        assert [desk.status(each) for each in cards] == ["resolved", "invalidated", "active"]

    def test_other_cases_are_left_alone(self) -> None:
        """The revision belongs to the case."""
        desk = Desk()
        other = CaseKey("acme", "claims", "case-2")
        desk.perform(builders.open_case(other))
        theirs = desk.write(present(key=other))
        settled(desk, desk.write())
        assert (desk.status(theirs), desk.revision(other), desk.effects_of_case(other)) == ("active", 1, ())

    def test_without_revisions_a_commit_invalidates_nothing(self) -> None:
        """All of I13 needs `revisions`: without the claim cards are not bound to a revision."""
        desk = Desk(WITHOUT_REVISIONS)
        card, other = desk.write(), desk.write()
        settled(desk, card)
        assert desk.status(other) == "active"

    def test_without_revisions_a_command_conflicts_with_nothing(self) -> None:
        """I13.5 needs `revisions` too: two commands of one case may both commit."""
        desk = Desk(WITHOUT_REVISIONS)
        first, second = (desk.accept(each) for each in (desk.write(), desk.write()))
        desk.perform(settle(first))
        assert "resolved" in desk.outcomes(settle(second))


class TestFailure:
    """A3: An authorising option ends Resolved, Failed or restored; a failed command never yields a success result (L3)."""

    def test_a_recorded_failure_ends_the_card(self) -> None:
        """`on_failure` left out = `record`; nothing ran and the revision stays."""
        desk = Desk()
        card = desk.write()
        command = desk.accept(card)
        failed = desk.expect(Failed, ops.CommandSettle(command=command, result="failed"))
        assert failed.code == "command_failed"
        assert (desk.status(card), desk.effects_of_case(), desk.revision()) == ("failed", (), 1)
        assert desk.entries(card)[-1].cause == ops.Cause(command=command, code=FailureCode.COMMAND_FAILED)
        assert desk.interaction(card).result is None

    def test_a_restored_card_can_be_answered_again(self) -> None:
        """L6: `restore` clears the chosen option, so that also another option can be chosen."""
        desk = Desk()
        card = desk.write()
        command = desk.accept(card)
        restored = desk.expect(Restored, settle(command, "failed", "restore"))
        stored = desk.interaction(card)
        assert restored.code == "command_failed"
        assert (stored.status, stored.resolved_option, stored.resolved_at) == ("active", None, None)
        assert desk.entries(card)[-1].cause == ops.Cause(command=command, code=FailureCode.COMMAND_FAILED)
        assert desk.effects_of_case() == ()
        assert desk.outcomes(answer(card, "no")) == ("declined",)
        desk.perform(settle(desk.accept(card, "both")))
        assert [each.option for each in desk.effects_of_case()] == ["both", "both"]


class TestAgain:
    """L5: Settling is idempotent: the same outcome again is accepted and changes nothing; another outcome is a `conflict`."""

    WAYS = (("committed", "record"), ("committed", "restore"), ("failed", "record"), ("failed", "restore"))

    @pytest.mark.parametrize("first", WAYS, ids=" ".join)
    @pytest.mark.parametrize("second", WAYS, ids=" ".join)
    def test_only_the_same_way_again_gets_the_first_reply(
        self, first: tuple[str, str], second: tuple[str, str]
    ) -> None:
        """The result and the failure policy together are the outcome."""
        desk = Desk()
        command = desk.accept(desk.write())
        reply = desk.command_settle(command=command, result=first[0], on_failure=first[1])
        before = desk.state
        again = desk.command_settle(command=command, result=second[0], on_failure=second[1])
        assert again == (reply if first == second else {"outcome": "rejected", "code": "conflict"})
        assert desk.state == before

    def test_the_first_reply_is_kept_over_later_changes(self) -> None:
        """It is the reply of that moment, also when the case has moved since."""
        desk = Desk()
        command = desk.accept(desk.write())
        reply = desk.perform(settle(command))
        desk.edit()
        desk.advance(100)
        assert [each.outcome for each in desk.may(settle(command))] == [reply]
        assert desk.may(settle(command))[0].because >= {"L5"}


class TestUnknown:
    """`command.settle`: an unknown command is `rejected: not_found`."""

    @pytest.mark.parametrize("command", ["command-99", "", "COMMAND-2", " command-2"])
    def test_a_command_that_there_is_not_is_not_found(self, command: str) -> None:
        """Ids of commands compare exactly, and nothing changes."""
        desk = Desk()
        assert desk.accept(desk.write()) == "command-2"
        [branch] = desk.may(settle(command))
        assert builders.wording(branch.outcome) == "rejected: not_found"
        assert branch.world == desk.state.world

    def test_the_key_of_a_command_is_not_its_name(self) -> None:
        """An idempotency key settles nothing."""
        desk = Desk()
        accepted = desk.expect(Accepted, answer(desk.write()))
        assert accepted.idempotency_key is not None
        assert desk.outcomes(settle(CommandId(accepted.idempotency_key))) == ("rejected: not_found",)


class TestLate:
    """L10: after a restore, a late outcome of the earlier attempt changes nothing."""

    @pytest.mark.parametrize("again", [False, True], ids=["active", "resolving"])
    def test_a_late_outcome_settles_only_its_own_command(self, again: bool) -> None:
        """Neither the restored card nor its next command is touched."""
        desk = Desk()
        card = desk.write()
        first = desk.accept(card)
        desk.perform(settle(first, "failed", "restore"))
        second = desk.accept(card) if again else None
        before = desk.state
        assert desk.outcomes(settle(first)) == (CONFLICT,)
        assert desk.outcomes(settle(first, "failed")) == (CONFLICT,)
        assert desk.outcomes(settle(first, "failed", "restore")) == ("restored: command_failed",)
        desk.perform(settle(first))
        desk.perform(settle(first, "failed", "restore"))
        assert desk.state == before
        if second is not None:
            assert desk.expect(Resolved, settle(second)).result.command == second
            assert len(desk.effects_of_case()) == 1

    def test_a_late_outcome_is_refused_because_it_is_late(self) -> None:
        """The conflict of a restored attempt is what L10 demands, and an unknown command is not."""
        desk = Desk()
        command = desk.accept(desk.write())
        desk.perform(settle(command, "failed", "restore"))
        assert "L10" in desk.may(settle(command))[0].because
        assert "L10" not in desk.may(settle("command-99"))[0].because


class TestMovedCase:
    """I13.5: its command commits only against its expected revision, and otherwise fails as `revision_conflict`."""

    def in_flight(self, desk: Desk, *, independent: bool = False) -> tuple[str, str]:
        """A card in flight on a case that was edited meanwhile, and its command."""
        card = desk.write(present(independent=independent))
        command = desk.accept(card)
        edited = desk.edit()
        assert edited.invalidated == ()
        assert desk.status(card) == "resolving"
        return card, command

    @pytest.mark.parametrize(
        ("on_failure", "expected", "status"),
        [
            ("record", "failed: revision_conflict", "failed"),
            ("restore", "restored: revision_conflict", "invalidated"),
        ],
    )
    def test_a_bound_command_does_not_commit(self, on_failure: str, expected: str, status: str) -> None:
        """The policy beside `committed` says what becomes of the card; nothing runs."""
        desk = Desk()
        card, command = self.in_flight(desk)
        reply = desk.command_settle(command=command, result="committed", on_failure=on_failure)
        assert f"{reply['outcome']}: {reply['code']}" == expected
        assert (desk.status(card), desk.effects_of_case(), desk.revision()) == (status, (), 2)
        assert desk.command_settle(command=command, result="committed", on_failure=on_failure) == reply

    @pytest.mark.parametrize("result", ["committed", "failed"])
    def test_a_restored_card_of_a_moved_case_is_not_answerable(self, result: str) -> None:
        """I13.6: it is Invalidated, or Active and refused as stale until the next sweep."""
        desk = Desk()
        card, command = self.in_flight(desk)
        operation = builders.settle(command, "committed" if result == "committed" else "failed", "restore")
        swept, unswept = desk.may(operation)
        assert {"A3", "I13.6"} <= swept.because & unswept.because
        desk.take(unswept)
        assert desk.status(card) == "active"
        assert desk.outcomes(answer(card)) == ("rejected: stale_revision",)
        assert desk.edit().invalidated == (card,)
        assert swept.world.interaction(card) != unswept.world.interaction(card)

    def test_a_restored_card_of_an_unmoved_case_has_one_branch(self) -> None:
        """Where nothing is stale the sweep has nothing to find."""
        desk = Desk()
        command = desk.accept(desk.write())
        assert len(desk.may(settle(command, "failed", "restore"))) == 1

    def test_an_independent_command_may_commit(self) -> None:
        """It expects none; a system that refuses it as `revision_conflict` is right too."""
        desk = Desk()
        card, command = self.in_flight(desk, independent=True)
        assert desk.outcomes(settle(command)) == ("resolved", "failed: revision_conflict")
        assert desk.outcomes(settle(command, on_failure="restore")) == ("resolved", "restored: revision_conflict")
        result = desk.expect(Resolved, settle(command)).result
        assert (result.case_revision, desk.revision(), desk.status(card)) == (3, 3, "resolved")

    def test_an_independent_command_that_was_refused_gives_its_card_back(self) -> None:
        """A restored independent card can still be answered (I13.4)."""
        desk = Desk()
        card, command = self.in_flight(desk, independent=True)
        desk.take(desk.may(settle(command, on_failure="restore"))[1])
        assert desk.status(card) == "active"
        assert desk.outcomes(answer(card, revision=None)) == ("accepted",)

    def test_a_failed_command_says_so_also_on_a_moved_case(self) -> None:
        """`command_failed` is what was said of it."""
        desk = Desk()
        _, command = self.in_flight(desk)
        assert desk.outcomes(settle(command, "failed")) == ("failed: command_failed",)

    def test_of_two_commands_of_one_case_one_commits(self) -> None:
        """The commit of the first moves the revision that the second expects."""
        desk = Desk()
        first, second = (desk.accept(each) for each in (desk.write(), desk.write()))
        desk.perform(settle(second))
        assert desk.outcomes(settle(first)) == ("failed: revision_conflict",)


class TestRestart:
    """L11: After a restart a Resolving card can still be settled, by the same command."""

    def test_a_command_in_flight_outlives_a_restart(self) -> None:
        """The card is in flight before and after, and commits."""
        desk = Desk()
        card = desk.write()
        command = desk.accept(card)
        before = desk.state
        desk.perform(ops.Restart())
        assert desk.state == before
        assert desk.expect(Resolved, settle(command)).result.card == card
