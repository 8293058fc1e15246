"""What a taken answer does: the class of the stored action decides, and it runs once."""

import pytest

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.cards import ConfirmCommands, DeclineAndRecord, Result
from keyturn.responses import Accepted, Declined, Dismissed, InFlight, Rejected, Replayed, Resolved
from keyturn.values import Revision, document

from . import builders
from .builders import AT_ONCE, Desk, answer, option, present, sent, settle, settled


class TestAuthorising:
    """I7.1: The command that runs is the stored action of the chosen option, with the stored arguments."""

    def test_accepting_puts_one_command_in_flight(self) -> None:
        """L4: the card reads Resolving with the chosen option, and nothing has run."""
        desk = Desk()
        card = desk.write()
        accepted = desk.expect(Accepted, answer(card))
        stored = desk.interaction(card)
        assert (stored.status, stored.resolved_option, stored.resolved_at) == (
            "resolving",
            "yes",
            builders.NOON_INSTANT,
        )
        assert accepted.idempotency_key is not None
        assert desk.effects_of_case() == ()
        assert desk.entries(card)[-1].cause == ops.Cause(option="yes", command=accepted.command)

    def test_the_effect_is_the_stored_action(self) -> None:
        """I7.6: the effect names its card, option, command, key and the payload hash that authorised it."""
        desk = Desk()
        card = desk.write()
        accepted = desk.expect(Accepted, answer(card))
        assert accepted.idempotency_key is not None
        resolved = desk.expect(Resolved, settle(accepted.command))
        [effect] = desk.effects_of_case()
        assert effect == ops.Effect(
            id=resolved.result.effects[0],
            command=accepted.command,
            idempotency_key=accepted.idempotency_key,
            card=card,
            option="yes",
            action=builders.PAY,
            arguments=document({"amount": 5}),
            payload_hash=desk.interaction(card).payload_hash,
            case_revision=Revision(2),
        )

    def test_text_fills_its_one_parameter(self) -> None:
        """I7.4: the text is kept whole, at its place, in the effect and in the result."""
        desk = Desk()
        card = desk.write()
        command = desk.expect(Accepted, answer(card, "explain", text=" so ")).command
        result = desk.expect(Resolved, settle(command)).result
        [effect] = desk.effects_of_case()
        assert (effect.freeform, effect.arguments, result.freeform) == (" so ", document({"reason": " so "}), " so ")
        assert effect.action == builders.EXPLAIN

    def test_every_command_ref_has_its_effect(self) -> None:
        """I14.9: the commands of one option commit together; their effects share command, key and revision."""
        desk = Desk()
        settled(desk, desk.write(present(option("all", ConfirmCommands(command_refs=("a", "b", "c"))))), "all")
        effects = desk.effects_of_case()
        assert len({each.id for each in effects}) == len(effects) == 3
        assert len({(each.command, each.idempotency_key, each.case_revision) for each in effects}) == 1
        assert all(each.arguments is None for each in effects)

    def test_a_failed_command_of_several_runs_none(self) -> None:
        """I14.9: or not at all."""
        desk = Desk()
        desk.perform(settle(desk.accept(desk.write(), "both"), "failed"))
        assert desk.effects_of_case() == ()

    def test_what_else_a_client_sends_changes_nothing(self) -> None:
        """I7.3: the effect equals the stored one, whatever fields the response has besides."""
        desk = Desk()
        card = desk.write()
        response = sent(card, action={"kind": "dismiss"}, arguments={"amount": 9}, command="x", case_revision=9)
        accepted = desk.expect(Accepted, builders.respond(response))
        desk.perform(settle(accepted.command))
        [effect] = desk.effects_of_case()
        assert (effect.action, effect.arguments) == (builders.PAY, document({"amount": 5}))

    def test_two_attempts_have_two_keys(self) -> None:
        """I14.7: the idempotency key of a command is one per attempt, and no other attempt's."""
        desk = Desk()
        card = desk.write()
        first = desk.expect(Accepted, answer(card))
        again = desk.expect(InFlight, answer(card))
        assert (again.command, again.idempotency_key) == (first.command, first.idempotency_key)
        desk.perform(settle(first.command, "failed", "restore"))
        second = desk.expect(Accepted, answer(card))
        assert second.command != first.command
        assert second.idempotency_key != first.idempotency_key


class TestAtOnce:
    """Without `deferred` commands run at once, and `command.next` sets how the next one ends."""

    def test_a_command_commits_in_the_step_that_accepts_it(self) -> None:
        """Accept and commit are two entries of one batch."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        [branch] = desk.may(answer(card))
        assert {"A1", "A3", "I13.3"} <= branch.because
        result = desk.expect(Resolved, answer(card)).result
        assert desk.events(card) == ["present", "accept", "commit"]
        assert len(desk.state.history.batches) == 2
        assert [each.id for each in desk.effects_of_case()] == list(result.effects)
        assert desk.revision() == result.case_revision == 2

    def test_a_failure_is_for_one_command_only(self) -> None:
        """The one after it commits again."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        desk.command_next(result="failed", on_failure="restore")
        assert desk.outcomes(answer(card)) == ("restored: command_failed",)
        desk.perform(answer(card))
        assert desk.status(card) == "active"
        assert desk.effects_of_case() == ()
        assert desk.outcomes(answer(card)) == ("resolved",)

    def test_a_recorded_failure_ends_the_card(self) -> None:
        """`record` is what `on_failure` means when it is left out."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        desk.command_next(result="failed")
        desk.perform(answer(card))
        assert desk.status(card) == "failed"

    def test_answers_without_a_command_do_not_use_it_up(self) -> None:
        """Only a command ends as the next one was said to."""
        desk = Desk(AT_ONCE)
        card, other = desk.write(), desk.write()
        desk.command_next(result="failed")
        desk.perform(answer(other, "pick"))
        assert desk.outcomes(answer(card)) == ("failed: command_failed",)


class TestAnswering:
    """An answer without a command takes `accept` and `commit` in one atomic step, with no effect and no new revision."""

    def test_the_card_is_resolved_at_once(self) -> None:
        """Two entries of one batch, and nothing has run."""
        desk = Desk()
        card, other = desk.write(), desk.write()
        result = desk.expect(Resolved, answer(card, "pick")).result
        assert result == Result(card=card, option="pick", effects=(), case_revision=Revision(1))
        assert desk.state.history.batches[-1] == desk.entries(card)[1:]
        assert [each.cause.command for each in desk.entries(card)] == [None, None, None]
        assert (desk.status(card), desk.status(other), desk.revision()) == ("resolved", "active", 1)
        assert desk.effects_of_case() == ()

    def test_its_text_is_in_the_result(self) -> None:
        """`Result.freeform` is present whenever the answer took text."""
        desk = Desk()
        card = desk.write(present(option("say", builders.TARGET, builders.takes_text())))
        assert desk.expect(Resolved, answer(card, "say", text="a\u0301")).result.freeform == "a\u0301"


class TestClosing:
    """`decline` closes the card as Declined, `dismiss` as Dismissed; neither runs anything or moves the revision."""

    @pytest.mark.parametrize(
        ("chosen", "kind", "status"), [("no", Declined, "declined"), ("later", Dismissed, "dismissed")]
    )
    def test_the_card_ends_as_its_option_says(self, chosen: str, kind: type[Declined | Dismissed], status: str) -> None:
        """One entry names the option; other cards and the revision stay."""
        desk = Desk()
        card, other = desk.write(), desk.write()
        result = desk.expect(kind, answer(card, chosen)).result
        assert result == Result(card=card, option=chosen, effects=(), case_revision=Revision(1))
        stored = desk.interaction(card)
        assert (stored.status, stored.resolved_option, stored.resolved_at) == (status, chosen, builders.NOON_INSTANT)
        assert desk.entries(card)[-1].cause == ops.Cause(option=chosen)
        assert (desk.status(other), desk.revision(), desk.effects_of_case()) == ("active", 1, ())

    def test_the_reason_of_a_decline_is_kept(self) -> None:
        """I7.4: free text is the reason of a decline."""
        desk = Desk()
        assert desk.expect(Declined, answer(desk.write(), "no", text="dear!")).result.freeform == "dear!"

    @pytest.mark.parametrize("chosen", ["no", "later"])
    def test_the_same_answer_again_changes_nothing(self, chosen: str) -> None:
        """It is refused, or gets its original result, and either way there is nothing new."""
        desk = Desk()
        card = desk.write()
        desk.perform(answer(card, chosen))
        branches = desk.may(answer(card, chosen))
        assert all(each.world == desk.state.world and each.happened == () for each in branches)
        results = [getattr(each.outcome, "result", None) for each in branches]
        assert results == [None, *[desk.interaction(card).result] * 2]


class TestRecordedDecline:
    """`decline_and_record` records one bookkeeping operation, as the single effect that its result cites, in the same step."""

    def test_the_record_is_the_single_effect(self) -> None:
        """It names the stored action and no pending command runs."""
        desk = Desk()
        card = desk.write()
        result = desk.expect(Declined, answer(card, "record")).result
        [effect] = desk.effects_of_case()
        assert result.effects == (effect.id,)
        assert (effect.command, effect.option, effect.card) == (result.command, "record", card)
        assert (effect.action, effect.arguments) == (DeclineAndRecord(operation="note_refusal"), None)
        assert effect.case_revision == result.case_revision == desk.revision() == 2
        assert desk.entries(card)[-1].cause == ops.Cause(option="record", command=result.command)

    def test_it_invalidates_the_other_bound_cards(self) -> None:
        """I13.9: a commit of a recorded decline moves the revision; the card itself ends as its option says."""
        desk = Desk()
        card, other, free = desk.write(), desk.write(), desk.write(present(independent=True))
        desk.perform(answer(card, "record"))
        assert [desk.status(each) for each in (card, other, free)] == ["declined", "invalidated", "active"]
        assert desk.entries(other)[-1].cause == ops.Cause(reason="revision_changed", new_revision=Revision(2))

    def test_it_is_never_deferred_or_failed(self) -> None:
        """It is one step with and without `deferred`, and does not end as the next command was said to."""
        desk = Desk(AT_ONCE)
        card = desk.write()
        desk.command_next(result="failed")
        assert desk.outcomes(answer(card, "record")) == ("declined",)
        desk.perform(answer(card, "record"))
        assert desk.outcomes(settle(desk.effects_of_case()[0].command)) == ("rejected: not_found",)


class TestOnce:
    """I14: a decision takes effect at most one time, and asking again is harmless."""

    @pytest.mark.parametrize("chosen", ["yes", "no", "later", "pick"])
    def test_a_second_answer_gets_the_original_result(self, chosen: str) -> None:
        """I14.2, I14.4: field by field, also to a contradicting answer and after the revision has moved."""
        desk = Desk()
        card = desk.write()
        command = desk.accept(card)
        original = desk.expect(Resolved, settle(command)).result
        desk.edit()
        before = desk.state
        replayed = desk.expect(Replayed, answer(card, chosen))
        assert replayed.result == original
        assert replayed.result.option == "yes"
        assert desk.state == before

    def test_a_response_in_flight_starts_no_second_command(self) -> None:
        """I14.3: the same command is named, and nothing changes."""
        desk = Desk()
        card = desk.write()
        command = desk.accept(card)
        before = desk.state
        assert desk.expect(InFlight, answer(card, "no")).command == command
        assert desk.state == before

    def test_a_refused_answer_is_forgotten(self) -> None:
        """I19.10: no later operation makes it act."""
        desk = Desk()
        card = desk.write()
        before = desk.state
        desk.expect(Rejected, answer(card, "never"))
        assert desk.state == before

    def test_an_answer_to_one_card_leaves_its_twin_alone(self) -> None:
        """I7.8: a decision is tied to one card by id, never by equal content."""
        desk = Desk()
        card, twin = desk.write(present(independent=True)), desk.write(present(independent=True))
        settled(desk, card)
        assert desk.interaction(twin).payload_hash == desk.interaction(card).payload_hash
        assert (desk.status(card), desk.status(twin)) == ("resolved", "active")
        assert {each.card for each in desk.effects_of_case()} == {card}

    def test_an_option_of_another_card_is_unknown(self) -> None:
        """I7.2: an option id that is not stored on that card is refused, also when another card stores it."""
        desk = Desk()
        mine, _ = desk.write(present(builders.YES)), desk.write(present(builders.NO))
        assert desk.outcomes(answer(mine, "no")) == ("rejected: unknown_option",)


def test_a_result_never_changes() -> None:
    """The stored result is the one that was given, whatever happens to the case."""
    desk = Desk()
    card = desk.write()
    settled(desk, card)
    kept = desk.interaction(card)
    desk.edit()
    desk.advance(1000)
    desk.perform(ops.CardExpireDue())
    assert desk.interaction(card) == kept


class TestFieldsThatMeanNothing:
    """I7.3: what a system does not know of a response is refused as malformed or ignored."""

    @pytest.mark.parametrize("text", [["text"], 7, "because"])
    def test_without_free_text_its_field_may_be_ignored(self, text: object) -> None:
        """A system without `freeform` may take an answer whatever stands in the field of the text, or refuse it."""
        without, known = Desk(ALL_CLAIMS - {Capability.FREEFORM}), Desk()
        assert {"accepted"} < set(without.outcomes(answer(without.write(), text=text)))
        assert "accepted" not in known.outcomes(answer(known.write(), text=text))

    def test_each_unknown_field_may_be_ignored_alone(self) -> None:
        """A system without `freeform` and `revisions` may read one of the two fields and ignore the other."""
        desk = Desk(ALL_CLAIMS - {Capability.FREEFORM, Capability.REVISIONS, Capability.INDEPENDENT})
        card = desk.write()
        for response in (answer(card, revision=True), answer(card, text=7), answer(card, revision="1", text=["text"])):
            assert set(desk.outcomes(response)) == {"accepted", "rejected: malformed"}
