"""What is asked of a system that breaks down: a retry, a restart, a restored state, an unread check, a failed write."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.faults import FaultKind
from keyturn.responses import Accepted, InFlight, RefusalCode, Rejected
from keyturn.values import CardId, CommandId, EffectId, IdempotencyKey, Json
from keyturn_specs.memory import Memory
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.servers_meaning import STORED

from ..kernel.builders import answer, edit_case, get, present, settle, settled
from .observing import Watched, applies, broken, only, with_effects

CARDS = frozenset({CardId("card-1")})
UNHEARD, RESTORED = Memory(unheard=CARDS), Memory(restored=CARDS)
AGAIN = {
    "I14.6": (UNHEARD, "the reply of the first answer was lost, and after a retry "),
    "I14.8": (RESTORED, "what a host kept of the card was restored, and then "),
}
ANEW = "an answer to the card card-1 was taken, and one had been taken before"
TWICE = "the commands of the card card-1 ran more than once"


def knowing(moment: Moment, memory: Memory) -> Moment:
    """A moment with what was remembered before it."""
    return evolve(moment, memory=memory)


def in_flight_again() -> tuple[Observation, Accepted]:
    """A second answer to a card in flight, and an answer as if another command had been started."""
    desk = Watched()
    desk.accept(desk.write())
    return desk.watch(answer("card-1")), Accepted(
        command=CommandId("command-9"), idempotency_key=IdempotencyKey("key-9")
    )


def twice() -> Observation:
    """A second answer behind which the card's command ran again."""
    desk = Watched()
    settled(desk, desk.write())
    seen = desk.watch(answer("card-1"))
    effect = only(seen.after.effects)
    return with_effects(seen, effect, evolve(effect, id=EffectId("effect-99"), command=CommandId("command-99")))


@pytest.mark.parametrize("requirement", AGAIN)
class TestAnsweredAgain:
    """I14.6, I14.8: after a lost reply, or a restored state, answering again has the effect of one response."""

    def test_an_answer_that_is_taken_anew_is_named(self, requirement: str) -> None:
        """Another command was started for a card that was in flight."""
        seen, anew = in_flight_again()
        memory, says = AGAIN[requirement]
        assert broken(requirement, evolve(seen, outcome=anew, memory=memory)) == f"{says}{ANEW}"

    def test_a_command_that_ran_again_is_named(self, requirement: str) -> None:
        """Whatever was answered."""
        memory, says = AGAIN[requirement]
        assert broken(requirement, evolve(twice(), memory=memory)) == f"{says}{TWICE}"

    def test_other_cards_are_judged_elsewhere(self, requirement: str) -> None:
        """Without a lost reply or a restored state it is a double click (I14.1, I14.3)."""
        seen, anew = in_flight_again()
        for memory in (Memory(), Memory(unheard=frozenset({CardId("card-9")}), restored=frozenset({CardId("card-9")}))):
            assert broken(requirement, evolve(seen, outcome=anew, memory=memory)) is None
            assert broken(requirement, evolve(twice(), memory=memory)) is None

    def test_the_status_that_it_finds_is_the_right_answer(self, requirement: str) -> None:
        """In flight with the same command, replayed, or lost once more."""
        seen, _ = in_flight_again()
        memory, _ = AGAIN[requirement]
        assert isinstance(seen.outcome, InFlight)
        assert broken(requirement, evolve(seen, memory=memory)) is None
        assert broken(requirement, evolve(seen, outcome=None, memory=memory)) is None
        desk = Watched()
        settled(desk, desk.write())
        assert broken(requirement, evolve(desk.watch(answer("card-1")), memory=memory)) is None

    def test_a_card_that_still_waits_may_be_taken(self, requirement: str) -> None:
        """The first answer did not count, or its command was restored (L6); a card that was never read may wait too."""
        memory, _ = AGAIN[requirement]
        desk = Watched()
        desk.perform(settle(desk.accept(desk.write()), "failed", "restore"))
        seen = evolve(desk.watch(answer("card-1")), memory=memory)
        assert isinstance(seen.outcome, Accepted)
        assert broken(requirement, seen) is None
        assert broken(requirement, evolve(seen, before=evolve(seen.before, cards={}))) is None
        assert broken(requirement, evolve(desk.watch(edit_case()), memory=memory)) is None

    def test_answering_again_exercises_it(self, requirement: str) -> None:
        """A card of which it is remembered, that has been answered; nothing else."""
        memory, _ = AGAIN[requirement]
        desk = Watched()
        card = desk.write()
        assert not applies(requirement, knowing(desk.moment(answer(card)), memory))
        command = desk.accept(card)
        assert applies(requirement, knowing(desk.moment(answer(card)), memory))
        for operation in (settle(command), get(card), answer("card-99"), edit_case()):
            assert not applies(requirement, knowing(desk.moment(operation), memory))
        assert not applies(requirement, desk.moment(answer(card)))


class TestKeys:
    """I14.7: The idempotency key of a command is one per attempt: the same over retries, and no other attempt's."""

    KNOWN = Memory(keys={CommandId("command-2"): IdempotencyKey("key-3")})

    def told(self, outcome: Accepted | InFlight, memory: Memory = KNOWN) -> str | None:
        """What is said of an answer."""
        seen, _ = in_flight_again()
        return broken("I14.7", evolve(seen, outcome=outcome, memory=memory))

    @pytest.mark.parametrize("kind", [Accepted, InFlight])
    def test_another_key_of_a_command_is_named(self, kind: type[Accepted] | type[InFlight]) -> None:
        """A payment service would take the retry for a second payment."""
        says = "the command command-2 has the idempotency key key-9, and had key-3 before"
        assert self.told(kind(command=CommandId("command-2"), idempotency_key=IdempotencyKey("key-9"))) == says
        assert self.told(kind(command=CommandId("command-2"), idempotency_key=IdempotencyKey("key-3"))) is None

    def test_one_key_of_two_commands_is_named(self) -> None:
        """It would take the second payment for a retry."""
        says = "the commands command-2 and command-5 have the same idempotency key key-3"
        assert self.told(Accepted(command=CommandId("command-5"), idempotency_key=IdempotencyKey("key-3"))) == says
        assert self.told(Accepted(command=CommandId("command-5"), idempotency_key=IdempotencyKey("key-6"))) is None

    def test_a_key_that_is_not_shown_is_named_where_it_must_be(self) -> None:
        """A system that claims `restart` shows it."""
        hidden = Accepted(command=CommandId("command-2"))
        assert self.told(hidden) == "the answer does not show the idempotency key of the command command-2"
        seen, _ = in_flight_again()
        assert broken("I14.7", evolve(seen, outcome=hidden, claims=frozenset())) is None

    def test_the_key_of_an_effect_is_that_of_its_command(self) -> None:
        """What ran shows under which key it did, also without an answer that tells one."""
        desk = Watched()
        command = desk.accept(desk.write())
        seen = evolve(desk.watch(settle(command)), memory=self.KNOWN)
        effect = only(seen.after.effects)
        assert broken("I14.7", seen) is None
        other = with_effects(seen, evolve(effect, idempotency_key=IdempotencyKey("key-9")))
        assert broken("I14.7", other) is not None
        apart = evolve(effect, id=EffectId("effect-9"), command=CommandId("command-9"))
        assert broken("I14.7", with_effects(seen, effect, apart)) is not None
        assert broken("I14.7", with_effects(seen, effect, evolve(effect, id=EffectId("effect-9")))) is None

    def test_telling_a_key_exercises_it(self) -> None:
        """A second one, or an effect; the first key of all is the same as no other."""
        desk = Watched()
        card = desk.write()
        assert not applies("I14.7", desk.moment(answer(card)))
        assert applies("I14.7", knowing(desk.moment(answer(card)), self.KNOWN))
        command = desk.accept(card)
        assert applies("I14.7", knowing(desk.moment(answer(card)), self.KNOWN))
        assert applies("I14.7", desk.moment(settle(command)))
        assert not applies("I14.7", knowing(desk.moment(edit_case()), self.KNOWN))


class TestSurvivors:
    """L11: After a restart a Resolving card can still be settled, by the same command."""

    SAYS = "the card card-1 was Resolving before a restart, and its command can no longer be settled"

    @staticmethod
    def settled() -> Observation:
        """The settlement of a command that waited over a restart."""
        desk = Watched()
        command = desk.accept(desk.write())
        memory = Memory(in_flight={command: CardId("card-1")}, survived=frozenset({command}))
        return evolve(desk.watch(settle(command)), memory=memory)

    @pytest.mark.parametrize("code", sorted(set(RefusalCode) - {RefusalCode.UNAVAILABLE}))
    def test_a_refused_settlement_is_named(self, code: RefusalCode) -> None:
        """Whatever the code is, and where it failed for good."""
        assert broken("L11", evolve(self.settled(), outcome=Rejected(code=code))) == self.SAYS
        assert broken("L11", evolve(self.settled(), outcome=None, failed=True)) == self.SAYS

    def test_a_settlement_that_could_not_be_written_may_be_tried_again(self) -> None:
        """Nothing happened, and the command still waits; a reply that was lost says nothing either."""
        assert broken("L11", self.settled()) is None
        assert broken("L11", evolve(self.settled(), outcome=Rejected(code=RefusalCode.UNAVAILABLE))) is None
        assert broken("L11", evolve(self.settled(), outcome=None)) is None

    def test_other_settlements_are_judged_elsewhere(self) -> None:
        """Of a command that did not wait then, of one that is not known, of a card that is over, or no settlement."""
        seen = evolve(self.settled(), outcome=Rejected(code=RefusalCode.NOT_FOUND))
        assert broken("L11", evolve(seen, memory=evolve(seen.memory, survived=frozenset()))) is None
        assert broken("L11", evolve(seen, memory=evolve(seen.memory, in_flight={}))) is None
        ended = Watched()
        settled(ended, ended.write())
        over = ended.watch(settle("command-2", "failed"))
        assert broken("L11", evolve(over, memory=seen.memory)) is None
        assert broken("L11", evolve(seen, operation=edit_case())) is None

    def test_settling_after_a_restart_exercises_it(self) -> None:
        """For the first time, a command that waited then and that there is."""
        desk = Watched()
        command = desk.accept(desk.write())
        memory = Memory(survived=frozenset({command, CommandId("command-99")}))
        assert applies("L11", knowing(desk.moment(settle(command)), memory))
        assert not applies("L11", desk.moment(settle(command)))
        assert not applies("L11", knowing(desk.moment(settle("command-99")), memory))
        assert not applies("L11", knowing(desk.moment(answer("card-1")), memory))
        desk.perform(settle(command))
        assert not applies("L11", knowing(desk.moment(settle(command)), memory))


class TestShown:
    """I7.5: What a client is shown never contains a stored action."""

    @pytest.mark.parametrize(
        ("reply", "found"),
        [
            ({"card": {"payload": {"options": [{"label": f"Pay ({STORED})"}]}}}, "label"),
            ({"note": ["a", ["b", STORED]]}, "note"),
            ({"deep": {f"x{STORED}x": None}}, f"x{STORED}x"),
            (STORED, ""),
            ([{"n" * 60: STORED}], "n" * 40),
            ({"\n": f"\u202e{STORED}"}, "\n"),
        ],
    )
    def test_what_is_stored_is_found_wherever_it_stands(self, reply: Json, found: str) -> None:
        """In a text or in a name, however deep; its place is told, cut and escaped, and not what it says."""
        says = broken("I7.5", evolve(Watched().watch(present()), shown=({"fine": 1}, reply)))
        assert says == f"a client was shown what only the server stores, as {found[:40]!a}"

    def test_other_replies_show_nothing(self) -> None:
        """What looks like it, numbers and nothing, and what no client was shown."""
        seen = Watched().watch(present())
        near: Json = {"a": STORED[:-1], "b": [STORED.upper(), 1, None, True]}
        assert broken("I7.5", evolve(seen, shown=(near, "", 0, None))) is None
        assert broken("I7.5", seen) is None

    def test_a_reply_with_a_card_exercises_it(self) -> None:
        """One that was presented, or that is read."""
        desk = Watched()
        card = desk.write()
        assert applies("I7.5", desk.moment(present()))
        assert applies("I7.5", desk.moment(get(card)))
        for operation in (get("card-99"), answer(card), edit_case()):
            assert not applies("I7.5", desk.moment(operation))


class TestSlotsOfOthers:
    """I5.6: other conversations of the same case have no slot of their own."""

    def test_another_conversation_exercises_it(self) -> None:
        """It meets the slot that this one took; the same conversation is I5.2's."""
        desk = Watched()
        desk.write(present(blocking=True))
        for how in ("refuse", "replace"):
            assert applies("I5.6", desk.moment(evolve(present(blocking=True, conversation="chat-2"), on_occupied=how)))
            assert not applies("I5.6", desk.moment(evolve(present(blocking=True), on_occupied=how)))
        assert not applies("I5.6", desk.moment(present(conversation="chat-2")))


FAULTS: dict[str, tuple[FaultKind, ops.Operation]] = {
    "I6.2": (FaultKind.WRITE_FAILS, present()),
    "I19.2": (FaultKind.OWNERSHIP_UNREADABLE, answer("card-1")),
    "I19.3": (FaultKind.REVISION_UNREADABLE, answer("card-1")),
    "I19.4": (FaultKind.PAYLOAD_CORRUPT, answer("card-1")),
}


@pytest.mark.parametrize("requirement", FAULTS)
def test_a_fault_that_hits_exercises_its_requirement(requirement: str) -> None:
    """I6.2, I19.2, I19.3, I19.4: exactly the refusal that each demands, and not the step after it."""
    fault, operation = FAULTS[requirement]
    desk = Watched()
    desk.write()
    assert not applies(requirement, desk.moment(operation))
    desk.perform(ops.FaultArm(fault=fault, card=CardId("card-1")))
    assert {each for each in FAULTS if applies(each, desk.moment(operation))} == {requirement}
    desk.perform(operation)
    assert not applies(requirement, desk.moment(operation))


def test_an_effect_behind_a_definite_error_is_named() -> None:
    """I19.9: what is said to have failed for good has no effect behind it; an error that is not definite may have one."""
    desk = Watched()
    command = desk.accept(desk.write())
    seen = evolve(desk.watch(settle(command)), outcome=None)
    effect = only(seen.after.effects)
    says = f"the operation is said to have failed for good, and the effect {effect.id} stands behind it"
    assert broken("I19.9", evolve(seen, failed=True)) == says
    assert broken("I19.9", seen) is None
    assert broken("I19.9", evolve(seen, failed=True, after=seen.before)) is None
