"""What is remembered of earlier steps: only what was asked and answered, in whichever ids it is told."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.branches import Outcome, Unheard
from keyturn.faults import FaultKind
from keyturn.responses import Accepted, Failed, FailureCode, InFlight, RefusalCode, Rejected, Restored
from keyturn.values import CardId, CommandId, IdempotencyKey, Untrusted
from keyturn_specs.memory import NOTHING_REMEMBERED, Memory, remembered, text_of

from ..kernel.builders import CASE, CHAT, Desk, answer, edit_case, get, respond, settle, settled

CARD, OTHER = CardId("card-1"), CardId("card-2")
ONE, TWO = CommandId("command-1"), CommandId("command-2")
KEY = IdempotencyKey("key-1")
REFUSED = Rejected(code=RefusalCode.UNAVAILABLE)
EXPORT = ops.StateExport(account=CASE.account, conversation=CHAT, card=CARD)
LOST = Unheard(FaultKind.REPLY_LOST, None)


def accepted(command: CommandId, key: IdempotencyKey | None = KEY) -> Accepted:
    """The answer to a response that was taken."""
    return Accepted(command=command, idempotency_key=key)


def after(*steps: tuple[ops.Operation, Outcome | Unheard | None], restarted: bool = False) -> Memory:
    """The memory after these steps, the last of which may have been a restart."""
    memory = NOTHING_REMEMBERED
    for number, (operation, outcome) in enumerate(steps, start=1):
        memory = remembered(memory, operation, outcome, restarted=restarted and number == len(steps))
    return memory


def resolved() -> Outcome:
    """The answer to a settlement that committed."""
    desk = Desk()
    return desk.perform(settle(desk.accept(desk.write())))


class TestCommands:
    """L11, I14.7: which commands wait, which waited over a restart, and the key of each as it was first told."""

    def test_a_command_is_remembered_when_it_is_told(self) -> None:
        """By the answer that started it, or by a second one, which may be the first that was heard."""
        expected = Memory(keys={ONE: KEY}, in_flight={ONE: CARD})
        assert after((answer(CARD), accepted(ONE))) == expected
        assert after((answer(CARD), InFlight(command=ONE, idempotency_key=KEY))) == expected
        assert after((answer(CARD), accepted(ONE)), (answer(CARD), InFlight(command=ONE))) == expected

    def test_a_key_is_remembered_as_it_was_first_told(self) -> None:
        """Another one later is what I14.7 is about; one that is not told yet is learnt later."""
        other = InFlight(command=ONE, idempotency_key=IdempotencyKey("key-9"))
        assert after((answer(CARD), accepted(ONE)), (answer(CARD), other)).keys == {ONE: KEY}
        late = after((answer(CARD), accepted(ONE, None)), (answer(CARD), InFlight(command=ONE, idempotency_key=KEY)))
        assert late == Memory(keys={ONE: KEY}, in_flight={ONE: CARD})

    @pytest.mark.parametrize(
        "outcome",
        [resolved(), Failed(code=FailureCode.COMMAND_FAILED), Restored(code=FailureCode.REVISION_CONFLICT)],
        ids=lambda outcome: outcome.outcome,
    )
    def test_a_settlement_ends_the_waiting(self, outcome: Outcome) -> None:
        """Of its own command, however it ends; the key stays known."""
        steps = ((answer(CARD), accepted(ONE)), (answer(OTHER), accepted(TWO, None)), (settle(ONE), outcome))
        assert after(*steps) == Memory(keys={ONE: KEY}, in_flight={TWO: OTHER})

    def test_a_settlement_that_was_refused_ends_nothing(self) -> None:
        """The command still waits; one that never waited ends nothing either."""
        first = (answer(CARD), accepted(ONE))
        assert after(first, (settle(ONE), REFUSED)) == after(first)
        assert after(first, (settle(TWO), resolved())) == after(first)

    @pytest.mark.parametrize("outcome", [None, LOST])
    def test_after_a_settlement_that_was_not_heard_nobody_knows_of_the_command(self, outcome: Unheard | None) -> None:
        """It may have ended, so that it is not due any more, also after a restart (L11)."""
        steps = ((answer(CARD), accepted(ONE)), (answer(OTHER), accepted(TWO)), (settle(ONE), outcome))
        assert after(*steps).in_flight == {TWO: OTHER}
        assert after(*steps, (ops.Restart(), ops.Done()), restarted=True).survived == {TWO}

    def test_another_command_of_the_card_says_that_the_first_has_ended(self) -> None:
        """A card waits for one command: a settlement that was not heard was made, and is not due any more."""
        memory = after((answer(CARD), accepted(ONE)), (settle(ONE), None), (answer(CARD), accepted(TWO, None)))
        assert memory.in_flight == {TWO: CARD}

    def test_what_waits_over_a_restart_survived(self) -> None:
        """Whatever the step was in which it was restarted, a crash included; what is settled before did not."""
        waits, both = (answer(CARD), accepted(ONE)), (answer(OTHER), accepted(TWO))
        assert after(waits, (ops.Restart(), ops.Done()), restarted=True).survived == {ONE}
        assert after(waits, both, (edit_case(), None), restarted=True).survived == {ONE, TWO}
        assert after(waits, (settle(ONE), resolved()), (ops.Restart(), ops.Done()), restarted=True).survived == set()
        assert after(waits, (ops.Restart(), ops.Done())).survived == set()

    def test_a_malformed_answer_that_is_taken_names_no_card(self) -> None:
        """Its key is known all the same."""
        assert after((respond(1), accepted(ONE))) == Memory(keys={ONE: KEY})


class TestUnheard:
    """I14.6: the cards of which an answer's reply was lost."""

    @pytest.mark.parametrize("outcome", [None, LOST])
    def test_a_lost_reply_is_remembered(self, outcome: Unheard | None) -> None:
        """In the system's ids nothing came back, and in the model's nobody heard it: it is the same."""
        assert after((answer(CARD), outcome)) == Memory(unheard=frozenset({CARD}))

    def test_other_replies_are_not(self) -> None:
        """One that was heard, one of another operation, and one to what names no card."""
        assert after((answer(CARD), REFUSED), (edit_case(), None), (respond(1), None), (get(CARD), None)) == Memory()


class TestKept:
    """I14.8: the states that hosts keep, and the cards of those that came back."""

    STATE = Untrusted({"b": [1.5, None], "a": "\u00e9"})

    def test_a_state_is_known_again(self) -> None:
        """Whatever the order of its names; the card is restored when it comes back, heard or not."""
        told = (EXPORT, ops.Exported(state=self.STATE))
        again = ops.StateImport(state=Untrusted({"a": "\u00e9", "b": [1.5, None]}))
        assert after(told) == Memory(exported={text_of(self.STATE): CARD})
        for outcome in (ops.Done(), None, LOST):
            assert after(told, (again, outcome)).restored == {CARD}

    def test_what_is_refused_was_not_restored(self) -> None:
        """A system may refuse the state of a card that was answered since; an unknown state restores nothing."""
        told = (EXPORT, ops.Exported(state=self.STATE))
        assert after(told, (ops.StateImport(state=self.STATE), REFUSED)).restored == set()
        assert after(told, (ops.StateImport(state=Untrusted([])), ops.Done())).restored == set()
        assert after((EXPORT, REFUSED)) == Memory()

    @pytest.mark.parametrize("state", [2**64, "\ud800", float("inf"), [[[[]]]], None, {"": {"\0": -1}}], ids=ascii)
    def test_any_state_can_be_kept(self, state: object) -> None:
        """It is the system's own: its numbers may be larger and its strings stranger than ours."""
        memory = after((EXPORT, ops.Exported(state=Untrusted(state))))
        assert remembered(memory, ops.StateImport(state=Untrusted(state)), ops.Done(), restarted=False).restored == {
            CARD
        }


class TestBothIds:
    """It is kept twice by the same function: in the system's ids, and in the model's."""

    def test_a_story_is_remembered_alike(self) -> None:
        """With every name translated, the two memories are the same."""
        names = {"card-1": "A", "command-2": "B", "key-3": "C"}
        desk = Desk()
        card = desk.write()
        state = desk.expect(ops.Exported, evolve(EXPORT, card=card))
        taken = desk.expect(Accepted, answer(card))
        restart = (ops.Restart(), ops.Done())
        model = after((evolve(EXPORT, card=card), state), (answer(card), taken), restart, restarted=True)
        theirs = Accepted(command=CommandId("B"), idempotency_key=IdempotencyKey("C"))
        exported = (evolve(EXPORT, card=CardId("A")), state)
        seen = after(exported, (answer("A"), theirs), restart, restarted=True)
        assert {names[each]: names[key] for each, key in model.keys.items()} == seen.keys
        assert {names[each]: names[key] for each, key in model.in_flight.items()} == seen.in_flight
        assert {names[each] for each in model.survived} == seen.survived
        assert {text: names[each] for text, each in model.exported.items()} == seen.exported

    def test_what_a_reader_does_is_not_remembered(self) -> None:
        """Reads, edits and refusals leave it as it was."""
        desk = Desk()
        memory = after((answer(CARD), accepted(ONE)))
        settled(desk, desk.write())
        for operation in (get(CARD), answer(CARD), edit_case(), settle("command-99"), answer("card-99")):
            assert remembered(memory, operation, desk.perform(operation), restarted=False) is memory
