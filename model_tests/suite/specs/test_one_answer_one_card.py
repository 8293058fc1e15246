"""I7, I14, I19, A and E: an answer moves its own card, wholly, and says what it did."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.responses import Resolved
from keyturn.status import InteractionStatus
from keyturn.values import CardId, EffectId, PayloadHash
from keyturn_specs.observations import Observation

from ..kernel.builders import (
    AT_ONCE,
    CASE,
    UNORDERED,
    answer,
    edit_case,
    get,
    option,
    present,
    respond,
    sent,
    settle,
    settled,
)
from .observing import Watched, applies, broken, only, with_cards, with_effects, with_status

S = InteractionStatus


def committed(chosen: str = "yes") -> Observation:
    """The commit of the only card's command."""
    desk = Watched()
    return desk.watch(settle(desk.accept(desk.write(), chosen)))


class TestOrigin:
    """I7.6: A command's origin names the interaction id and the payload hash that authorised it."""

    def test_another_hash_is_named(self) -> None:
        """The effect cites other words than its card has; a card that cannot be read is not compared."""
        seen = committed()
        effect = only(seen.after.effects)
        wrong = with_effects(seen, evolve(effect, payload_hash=PayloadHash("other")))
        assert broken("I7.6", seen) is None
        assert broken("I7.6", wrong) == f"the effect {effect.id} cites another payload than its card card-1 has"
        assert broken("I7.6", with_cards(wrong, card_1=None)) is None

    def test_running_exercises_it(self) -> None:
        """A branch with an effect."""
        desk = Watched()
        card = desk.write()
        assert applies("I7.6", desk.moment(answer(card, "record")))
        assert not applies("I7.6", desk.moment(answer(card)))


class TestTiedToOneCard:
    """I7.8: A decision is tied to one card by id: never by position in a list, by tool name or by equal content."""

    @pytest.mark.parametrize("status", sorted(S))
    def test_another_card_that_moves_is_named(self, status: S) -> None:
        """It was Active, and the answer to its twin took it along; an expiry or an invalidation decides nothing."""
        desk = Watched()
        for _ in range(2):
            desk.write(present(independent=True))
        seen = desk.watch(answer("card-1", "pick"))
        says = broken("I7.8", with_status(seen, "card-2", status))
        if status in {S.RESOLVING, S.RESOLVED, S.DECLINED, S.DISMISSED}:
            assert says == f"the answer names the card card-1, and the card card-2 went to {status}"
        else:
            assert says is None

    def test_what_was_not_waiting_is_not_judged(self) -> None:
        """A card in flight may settle, and what is no answer names no card."""
        desk = Watched()
        for _ in range(2):
            desk.write(present(independent=True))
        desk.accept("card-2")
        seen = desk.watch(answer("card-1", "pick"))
        assert broken("I7.8", with_status(seen, "card-2", S.RESOLVED)) is None
        blind = evolve(seen, before=evolve(seen.before, cards={"card-2": None}))
        assert broken("I7.8", with_status(blind, "card-2", S.RESOLVED)) is None
        assert broken("I7.8", desk.watch(edit_case())) is None
        assert broken("I7.8", desk.watch(respond(1))) is None

    def test_answering_one_of_several_exercises_it(self) -> None:
        """Another one must be waiting, and the answer must be taken."""
        desk = Watched()
        card = desk.write()
        assert not applies("I7.8", desk.moment(answer(card)))
        desk.write()
        assert applies("I7.8", desk.moment(answer(card)))
        assert not applies("I7.8", desk.moment(answer(card, "never")))


class TestTogether:
    """I14.9: The commands of one option commit together or not at all."""

    def test_a_part_is_named(self) -> None:
        """One of two effects; a card that nobody asked for stores nobody knows how many."""
        seen = committed("both")
        part = with_effects(seen, seen.after.effects[CASE][0])
        assert broken("I14.9", seen) is None
        assert broken("I14.9", part) == "the card card-1 has 1 of the 2 effects of its option"
        assert broken("I14.9", evolve(part, asked={})) is None

    def test_running_several_exercises_it(self) -> None:
        """One effect has no parts."""
        desk = Watched(AT_ONCE)
        card = desk.write()
        assert applies("I14.9", desk.moment(answer(card, "both")))
        assert not applies("I14.9", desk.moment(answer(card)))


class TestSaidAndDone:
    """I19.9: A refusal has no effect behind it; a success of an authorising option has one."""

    def test_an_effect_behind_a_refusal_is_named(self) -> None:
        """Whoever believes the refusal pays again."""
        desk = Watched()
        desk.write()
        seen = desk.watch(answer("card-1", "never"))
        effect = only(committed().after.effects)
        assert broken("I19.9", seen) is None
        says = f"the answer is a refusal, and the effect {effect.id} stands behind it"
        assert broken("I19.9", with_effects(seen, effect)) == says

    def test_a_success_without_an_effect_is_named(self) -> None:
        """It says that a command is done; an answer without a command says none."""
        seen = committed()
        assert broken("I19.9", seen) is None
        says = "the answer says that the command of card-1 is done, and no effect stands behind it"
        assert broken("I19.9", with_effects(seen)) == says
        desk = Watched()
        assert broken("I19.9", desk.watch(answer(desk.write(), "pick"))) is None

    def test_answering_and_refusing_exercise_it(self) -> None:
        """Of a card that there is, by an operation that could change it."""
        desk = Watched(AT_ONCE)
        card = desk.write()
        assert applies("I19.9", desk.moment(answer(card)))
        assert applies("I19.9", desk.moment(answer(card, "never")))
        assert not applies("I19.9", desk.moment(answer(card, "no")))
        assert not applies("I19.9", desk.moment(answer("card-99")))
        assert not applies("I19.9", desk.moment(get(card, account="other")))


class TestForgotten:
    """I19.10: A refused answer is forgotten: no later operation makes it act."""

    @pytest.mark.parametrize("status", sorted(S))
    def test_a_card_that_decides_itself_is_named(self, status: S) -> None:
        """It was Active, and an edit, a sweep or a restart made an old answer act."""
        desk = Watched()
        card = desk.write()
        desk.perform(answer(card, "never"))
        says = broken("I19.10", with_status(desk.watch(ops.Restart()), card, status))
        if status in {S.RESOLVING, S.RESOLVED, S.DECLINED, S.DISMISSED}:
            assert says == f"nobody answered the card card-1 in this step, and it went to {status}"
        else:
            assert says is None

    def test_what_was_not_waiting_is_not_judged(self) -> None:
        """An answer of this step, a card in flight, and one that could not be read."""
        desk = Watched()
        card = desk.write()
        assert broken("I19.10", desk.watch(answer(card))) is None
        seen = desk.watch(ops.Restart())
        assert broken("I19.10", with_status(seen, card, S.RESOLVED)) is None
        blind = evolve(seen, before=evolve(seen.before, cards={card: None}))
        assert broken("I19.10", with_status(blind, card, S.DECLINED)) is None

    def test_what_nobody_answers_exercises_it(self) -> None:
        """While a card waits."""
        desk = Watched()
        assert not applies("I19.10", desk.moment(ops.Restart()))
        card = desk.write()
        for operation in (edit_case(), ops.ClockAdvance(seconds=1), ops.CardExpireDue(), ops.Restart()):
            assert applies("I19.10", desk.moment(operation))
        assert not applies("I19.10", desk.moment(answer(card)))
        desk.accept(card)
        assert not applies("I19.10", desk.moment(ops.Restart()))


class TestCited:
    """E2: A success result of an authorising option cites committed effects, and they exist."""

    def cited(self, *effects: str) -> str | None:
        """What is said of a success that cites these effects."""
        seen = committed()
        outcome = seen.outcome
        assert isinstance(outcome, Resolved)
        result = evolve(outcome.result, effects=tuple(map(EffectId, effects)))
        return broken("E2", evolve(seen, outcome=evolve(outcome, result=result)))

    def test_an_effect_that_cannot_be_read_is_named(self) -> None:
        """It cites another one, or one too many."""
        says = "the result of card-1 cites the effect effect-99, and it cannot be read"
        assert self.cited("effect-99") == says
        assert self.cited(only(committed().after.effects).id, "effect-99") == says
        assert self.cited(only(committed().after.effects).id) is None

    def test_a_success_that_cites_none_is_named(self) -> None:
        """An authorising option always does something; an answer or a decline may cite none."""
        assert self.cited() == "the result of card-1 is a success that cites no effect"
        desk = Watched()
        cards = [desk.write() for _ in range(3)]
        for card, chosen in zip(cards, ("pick", "no", "record"), strict=True):
            assert broken("E2", desk.watch(answer(card, chosen))) is None
        assert broken("E2", desk.watch(edit_case())) is None

    def test_a_success_with_effects_exercises_it(self) -> None:
        """Also one that is told again."""
        desk = Watched()
        card = desk.write()
        assert applies("E2", desk.moment(answer(card, "record")))
        assert not applies("E2", desk.moment(answer(card, "pick")))
        assert not applies("E2", desk.moment(edit_case()))
        settled(desk, card)
        assert applies("E2", desk.moment(answer(card)))


class TestDemanded:
    """Requirements that a branch judges are exercised by the steps that they speak of."""

    @pytest.mark.parametrize(
        ("requirement", "chosen", "extra", "expected"),
        [
            ("I7.3", "yes", {"action": "pay"}, True),
            ("I7.3", "yes", {}, False),
            ("I7.4", "yes", {"text": "why"}, True),
            ("I7.4", "explain", {}, True),
            ("I7.7", "YES", {}, True),
            ("I7.7", " yes", {}, True),
            ("I7.7", "ye", {}, True),
            ("I7.7", "\uff59es", {}, True),
            ("I7.7", "never", {}, False),
            ("I7.7", "yes", {}, False),
            ("I19.6", "yes", {"revision": None}, True),
            ("I19.6", "yes", {}, False),
            ("A2", "never", {}, True),
            ("A2", "yes", {}, False),
            ("A3", "pick", {}, True),
            ("A3", "never", {}, False),
        ],
    )
    def test_an_answer_exercises_what_it_meets(
        self, requirement: str, chosen: str, extra: dict[str, object], expected: bool
    ) -> None:
        """More fields than a response has, text, an id that is only alike, no revision, a refusal, an end."""
        desk = Watched()
        body = sent(desk.write(), chosen, **extra)
        assert applies(requirement, desk.moment(respond(body))) is expected

    @pytest.mark.parametrize("owner", [{"account": ""}, {"conversation": ""}], ids=str)
    def test_an_owner_without_a_name_exercises_its_own(self, owner: dict[str, str]) -> None:
        """I19.7: an empty account or conversation is no owner of this card."""
        desk = Watched()
        card = desk.write()
        assert applies("I19.7", desk.moment(respond(sent(card), **owner)))
        assert not applies("I19.7", desk.moment(answer(card)))

    def test_time_and_status_exercise_their_own(self) -> None:
        """I19.5 by an overdue card, I14.3 by one in flight, I14.4 by a contradiction, A4 by a card that fits no kind."""
        desk = Watched(UNORDERED)
        for expires_in in (1, None, None):
            desk.write(present(independent=True, expires_in=expires_in))
        desk.advance(1)
        assert applies("I19.5", desk.moment(answer("card-1")))
        assert not applies("I19.5", desk.moment(answer("card-2")))
        desk.accept("card-2")
        assert applies("I14.3", desk.moment(answer("card-2")))
        settled(desk, "card-3")
        assert applies("I14.4", desk.moment(answer("card-3", "no")))
        assert not applies("I14.4", desk.moment(answer("card-3")))
        assert applies("A4", desk.moment(present(option("", present().payload.options[0].action))))
        assert not applies("A4", desk.moment(present()))

    def test_a_moved_case_exercises_its_own(self) -> None:
        """I13.5 by a conflict, I13.6 by a card that is given back, I13.9 by a commit."""
        desk = Watched()
        command = desk.accept(desk.write())
        assert applies("I13.9", desk.moment(settle(command)))
        assert not applies("I13.5", desk.moment(settle(command)))
        assert not applies("I13.6", desk.moment(settle(command, "failed", "restore")))
        desk.edit()
        assert applies("I13.5", desk.moment(settle(command)))
        assert applies("I13.5", desk.moment(settle(command, on_failure="restore")))
        assert applies("I13.6", desk.moment(settle(command, "failed", "restore")))
        assert not applies("I13.9", desk.moment(settle(command)))


def test_an_effect_of_another_card_is_no_excuse() -> None:
    """I19.9 looks for an effect of the card that the answer speaks of."""
    seen = committed()
    strange = evolve(only(seen.after.effects), card=CardId("card-99"))
    assert broken("I19.9", with_effects(seen, strange)) is not None
