"""Commits that fail, replies that are lost and processes that end: what may have happened, and what comes after it."""

from collections.abc import Callable
from typing import Literal

import pytest

from keyturn import operations as ops
from keyturn.branches import Branch, Unheard
from keyturn.capabilities import Capability
from keyturn.errors import Crashed, OperationFailed
from keyturn.faults import CRASHES, FaultKind
from keyturn.responses import Accepted, InFlight
from keyturn.store import heard
from keyturn.values import CardId
from keyturn.wire import write_outcome

from . import builders, test_gate
from .builders import AT_ONCE, UNORDERED, Desk, answer, present, respond, sent, settle
from .test_faults import arm, unarmed

COMMIT, LOST = FaultKind.COMMIT_FAILS, FaultKind.REPLY_LOST
BEFORE, AFTER = FaultKind.CRASH_BEFORE_COMMIT, FaultKind.CRASH_AFTER_COMMIT
FAILED, CONFLICT = "failed: command_failed", "failed: revision_conflict"
Policy = Literal["record", "restore"]


def effects(branches: tuple[Branch, ...]) -> int:
    """How many effects there are behind them."""
    return sum(isinstance(entry, ops.Effect) for each in branches for entry in each.happened)


class TestCommitsThatFail:
    """L3: a failed command never yields a success result; it comes back as `failed` or `restored` with `command_failed`."""

    def in_flight(self, desk: Desk, *, independent: bool = False, moved: bool = False) -> str:
        """A command in flight whose commit will fail, on a case that was edited meanwhile or not."""
        command = desk.accept(desk.write(present(independent=independent)))
        if moved:
            desk.edit()
        arm(desk, COMMIT)
        return command

    @pytest.mark.parametrize(("policy", "status"), [("record", "failed"), ("restore", "active")])
    def test_the_policy_says_what_becomes_of_the_card(self, policy: Policy, status: str) -> None:
        """Nothing runs, the revision stays, the fault is spent, and the same settlement gets the same reply again (L5)."""
        desk = Desk()
        command = self.in_flight(desk)
        branches = desk.may(settle(command, on_failure=policy))
        assert effects(branches) == 0
        reply = desk.perform(settle(command, on_failure=policy))
        assert builders.wording(reply) == f"{'failed' if policy == 'record' else 'restored'}: command_failed"
        assert (desk.status("card-1"), desk.revision(), desk.state.world.armed) == (status, 1, ())
        assert desk.perform(settle(command, on_failure=policy)) == reply

    def test_a_restored_card_commits_the_next_time(self) -> None:
        """A fault hits once."""
        desk = Desk()
        desk.perform(settle(self.in_flight(desk), on_failure="restore"))
        assert desk.outcomes(settle(desk.accept("card-1"))) == ("resolved",)

    @pytest.mark.parametrize("independent", [False, True])
    def test_on_a_moved_case_either_reason_is_right(self, independent: bool) -> None:
        """The command would not commit, or may not (I13.5): what is found first is said, and it never commits."""
        desk = Desk()
        command = self.in_flight(desk, independent=independent, moved=True)
        branches = desk.may(settle(command))
        assert builders.wordings(branches) == (FAILED, CONFLICT)
        assert effects(branches) == 0
        spent = {builders.wording(each.outcome): set[bool]() for each in branches}
        for each in branches:
            spent[builders.wording(each.outcome)].add(each.world.armed == ())
        assert spent == {FAILED: {True}, CONFLICT: {True, False}}

    def test_a_restored_card_of_a_moved_case_ends(self) -> None:
        """I13.6: it is Invalidated, or Active and refused as stale until the next sweep."""
        desk = Desk()
        command = self.in_flight(desk, moved=True)
        found = {each.world.interactions[0].status.value for each in desk.may(settle(command, on_failure="restore"))}
        assert found == {"invalidated", "active"}

    @pytest.mark.parametrize("following", [("committed", "record"), ("committed", "restore"), ("failed", "record")])
    def test_without_deferred_the_response_is_hit(self, following: tuple[str, Policy]) -> None:
        """It is taken, and its command fails by the policy of `command.next`."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        desk.command_next(result=following[0], on_failure=following[1])
        arm(desk, COMMIT)
        branches = desk.may(answer(card))
        assert effects(branches) == 0
        assert {builders.wording(each.outcome).partition(": ")[2] for each in branches} == {"command_failed"}
        desk.perform(answer(card))
        assert desk.status(card) == ("active" if following[1] == "restore" else "failed")

    @pytest.mark.parametrize(
        ("chosen", "expected"), [("no", "declined"), ("pick", "resolved"), ("never", "rejected: unknown_option")]
    )
    def test_an_answer_without_a_command_is_spared(self, chosen: str, expected: str) -> None:
        """Nothing commits; nobody can tell whether the fault was used up."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        arm(desk, COMMIT)
        branches = desk.may(answer(card, chosen))
        assert builders.wordings(branches) == (expected,)
        assert [bool(each.world.armed) for each in branches] == [True, False]

    def test_a_command_that_fails_by_itself_may_use_it_up(self) -> None:
        """A system may count it as the one that was asked for: the next commit fails, or commits."""
        desk = Desk()
        first, second = (desk.accept(desk.write(present(independent=True))) for _ in range(2))
        arm(desk, COMMIT)
        branches = desk.may(settle(first, "failed"))
        assert builders.wordings(branches) == (FAILED,)
        assert [bool(each.world.armed) for each in branches] == [True, False]
        for each, expected in zip(branches, ((FAILED,), ("resolved",)), strict=True):
            other = Desk()
            other.take(each)
            assert other.outcomes(settle(second)) == expected

    def test_with_deferred_a_response_is_spared(self) -> None:
        """What commits is the settlement."""
        desk = Desk()
        card = desk.write()
        arm(desk, COMMIT)
        assert [bool(each.world.armed) for each in desk.may(answer(card))] == [True]

    def test_a_recorded_decline_is_no_command(self) -> None:
        """Its record is one step with it: it is written, or nothing happened."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        arm(desk, COMMIT)
        assert builders.wording(desk.perform(answer(card, "record"))) == "declined"


CHANGES: dict[str, Callable[[Desk], ops.Operation]] = {
    "present": lambda desk: present(),
    "authorise": lambda desk: answer(desk.write()),
    "answer": lambda desk: answer(desk.write(), "pick"),
    "decline": lambda desk: answer(desk.write(), "no"),
    "record": lambda desk: answer(desk.write(), "record"),
    "dismiss": lambda desk: builders.dismiss(desk.write()),
    "commit": lambda desk: settle(desk.accept(desk.write(), "both")),
    "restore": lambda desk: settle(desk.accept(desk.write()), "failed", "restore"),
    "edit": lambda desk: (desk.write(), builders.edit_case())[1],
    "close": lambda desk: builders.close_case(),
    "withdraw": lambda desk: (desk.write(), builders.withdraw())[1],
    "expire": lambda desk: (test_gate.overdue(desk), ops.CardExpireDue())[1],
}
NO_CHANGES: dict[str, Callable[[Desk], ops.Operation]] = {
    "unknown option": lambda desk: answer(desk.write(), "never"),
    "stranger": lambda desk: respond(sent(desk.write()), account="other"),
    "malformed": lambda desk: respond(None),
    "again": lambda desk: answer((builders.settled(desk, desk.write()), "card-1")[1]),
    "settled again": lambda desk: settle(builders.settled(desk, desk.write())),
    "no card due": lambda desk: ops.CardExpireDue(),
    "invalid card": lambda desk: present(builders.option("", builders.PAY)),
    "nothing to withdraw": lambda desk: builders.withdraw(),
}


class TestNobodyHears:
    """I14.6: a lost reply followed by a retry has the effect of one response; the retry is answered for what it finds."""

    @pytest.mark.parametrize("fault", [LOST, BEFORE, AFTER])
    @pytest.mark.parametrize("change", CHANGES)
    def test_a_change_happens_once_or_not_at_all(self, fault: FaultKind, change: str) -> None:
        """It happened and nobody heard of it, or, before the commit, it did not; the fault is spent."""
        desk, usual = Desk(), Desk()
        operation = CHANGES[change](desk)
        CHANGES[change](usual)
        heard_of = usual.may(operation)[0]
        arm(desk, fault)
        before, [first, *others] = desk.state.world, desk.may(operation)
        assert first.outcome == Unheard(fault, None if fault is BEFORE else heard(heard_of))
        assert "I14.6" in first.because
        assert first.world == (unarmed(before) if fault is BEFORE else heard_of.world)
        assert first.happened == (() if fault is BEFORE else heard_of.happened)
        assert {unarmed(each.world) for each in (first, *others)} <= {unarmed(before), *_worlds(usual, operation)}

    @pytest.mark.parametrize("fault", [LOST, BEFORE, AFTER])
    @pytest.mark.parametrize("what", NO_CHANGES)
    def test_what_changes_nothing_may_be_hit_or_not(self, fault: FaultKind, what: str) -> None:
        """The reference answers, and waits for a change; nothing happens either way."""
        desk = Desk(UNORDERED)
        operation = NO_CHANGES[what](desk)
        arm(desk, fault)
        before, branches = desk.state.world, desk.may(operation)
        assert not isinstance(branches[0].outcome, Unheard)
        assert branches[0].world == before
        assert {isinstance(each.outcome, Unheard) for each in branches} == {True, False}
        assert {each.world for each in branches} == {before, unarmed(before)}
        assert not any(each.happened for each in branches)

    @pytest.mark.parametrize("fault", [LOST, BEFORE, AFTER])
    def test_a_retry_is_answered_for_the_status_it_finds(self, fault: FaultKind) -> None:
        """Where the first answer counted it is in flight, with the same command and key; else the retry is the first."""
        desk = Desk()
        card = desk.write()
        arm(desk, fault)
        with pytest.raises(Crashed if fault in CRASHES else OperationFailed):
            desk.perform(answer(card))
        again = desk.perform(answer(card))
        assert isinstance(again, Accepted if fault is BEFORE else InFlight)
        [command] = desk.state.world.commands
        assert (again.command, again.idempotency_key) == (command.id, command.idempotency_key)
        desk.perform(settle(again.command))
        assert len(desk.effects_of_case()) == 1

    @pytest.mark.parametrize("fault", [LOST, AFTER])
    def test_at_once_a_retry_gets_the_result(self, fault: FaultKind) -> None:
        """The command ran behind the lost reply, and does not run again."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        arm(desk, fault)
        with pytest.raises((Crashed, OperationFailed)):
            desk.perform(answer(card))
        assert desk.outcomes(answer(card)) == ("replayed",)
        assert len(desk.effects_of_case()) == 1

    @pytest.mark.parametrize("fault", [LOST, BEFORE, AFTER])
    def test_an_overdue_card_may_end_on_the_way(self, fault: FaultKind) -> None:
        """L7: any operation may find it Expired, also one that nobody hears of."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        desk.advance(1)
        arm(desk, fault)
        unheard = [each for each in desk.may(answer(card)) if isinstance(each.outcome, Unheard)]
        statuses = {each.world.interactions[0].status.value for each in unheard}
        assert statuses == {"active", "expired"}
        assert not any(isinstance(entry, ops.Effect) for each in unheard for entry in each.happened)

    def test_what_nobody_heard_is_counted(self) -> None:
        """E3: the counters agree with the ledger, heard or not; what did not happen counts nowhere."""
        desk = Desk()
        for fault in (AFTER, BEFORE, LOST):
            arm(desk, fault)
            with pytest.raises((Crashed, OperationFailed)):
                desk.perform(present())
        assert desk.expect(ops.Metrics, ops.ReadMetrics()).created == len(desk.entries()) == 2

    def test_a_stale_refusal_that_nobody_heard_is_counted_too(self) -> None:
        """E3: refusals with `stale_revision` are counted where they are made."""
        desk = Desk()
        card = desk.write()
        arm(desk, LOST)
        desk.take(next(each for each in desk.may(answer(card, revision=2)) if isinstance(each.outcome, Unheard)))
        assert desk.expect(ops.Metrics, ops.ReadMetrics()).stale == 1


def _worlds(desk: Desk, operation: ops.Operation) -> set[object]:
    return {each.world for each in desk.may(operation)}


class TestHeard:
    """`-32000` with `definite: false` = the operation may still have happened; in process a crash raises."""

    def test_a_lost_reply_is_not_definite(self) -> None:
        """The caller cannot know."""
        desk = Desk()
        arm(desk, LOST)
        with pytest.raises(OperationFailed, match="the reply was lost") as failure:
            heard(desk.may(present())[0])
        assert not failure.value.definite

    @pytest.mark.parametrize("fault", sorted(CRASHES))
    def test_a_crash_says_which(self, fault: FaultKind) -> None:
        """It is asked for, and the store goes on when it is started again."""
        desk = Desk()
        arm(desk, fault)
        with pytest.raises(Crashed, match=fault):
            desk.perform(present())
        desk.perform(ops.Restart())
        assert desk.write() == ("card-1" if fault is BEFORE else "card-2")

    @pytest.mark.parametrize("fault", [LOST, BEFORE, AFTER])
    def test_a_trace_says_why_nobody_heard_it(self, fault: FaultKind) -> None:
        """For people it is written by its fault, and nothing of the answer is told."""
        assert write_outcome(Unheard(fault, None)) == write_outcome(Unheard(fault, ops.Done())) == {"unheard": fault}

    def test_what_is_heard_is_the_outcome(self) -> None:
        """Any other branch is answered as it is."""
        [branch] = Desk().may(present())
        assert heard(branch) is branch.outcome

    def test_a_fault_of_a_commit_beside_a_lost_reply_hits_too(self) -> None:
        """The command fails and nobody hears of it: both are spent in one step."""
        desk = Desk()
        command = desk.accept(desk.write())
        for fault in (COMMIT, LOST):
            arm(desk, fault)
        taken = desk.may(settle(command))[0]
        assert isinstance(taken.outcome, Unheard)
        assert builders.wording(taken.outcome.answer or ops.Done()) == FAILED
        assert (taken.world.armed, taken.world.interactions[0].status) == ((), "failed")


def test_a_system_without_deferred_claims_the_rest() -> None:
    """What is hit at once is hit in the step that answers."""
    assert {Capability.FAULTS, Capability.RESTART} <= AT_ONCE
    desk = Desk(AT_ONCE)
    card = desk.write()
    arm(desk, FaultKind.PAYLOAD_CORRUPT, CardId(card))
    assert desk.outcomes(answer(card)) == ("rejected: unverifiable",)
