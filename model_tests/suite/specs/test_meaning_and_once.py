"""I7 and I14: what runs is what was stored, only after an answer, and once."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.responses import Accepted, Declined, Replayed, Resolved
from keyturn.values import CardId, CaseKey, CommandId, EffectId, document
from keyturn_specs.observations import Observation

from ..kernel.builders import (
    AT_ONCE,
    BOTH,
    CASE,
    EXPLAIN,
    answer,
    edit_case,
    get,
    option,
    present,
    respond,
    settle,
    settled,
    takes_text,
)
from .observing import Watched, applies, broken, only, with_effects


def committed(chosen: str = "yes") -> Observation:
    """The commit of the only card's command."""
    desk = Watched()
    return desk.watch(settle(desk.accept(desk.write(), chosen)))


class TestStoredMeaning:
    """I7.1: The command that runs is the stored action of the chosen option, with the stored arguments."""

    def test_what_was_stored_may_run(self) -> None:
        """With and without text, one effect or several, and a recorded decline."""
        desk = Watched()
        explained = desk.expect(Accepted, answer(desk.write(), "explain", text="why"))
        recorded = Watched()
        assert broken("I7.1", committed()) is None
        assert broken("I7.1", committed("both")) is None
        assert broken("I7.1", desk.watch(settle(explained.command))) is None
        assert broken("I7.1", recorded.watch(answer(recorded.write(), "record"))) is None

    def test_an_option_that_is_not_stored_is_named(self) -> None:
        """The effect names another option than its card has."""
        effect = only(committed().after.effects)
        says = broken("I7.1", with_effects(committed(), evolve(effect, option="never")))
        assert says == f"the effect {effect.id} names the option 'never', which its card does not store"

    def test_another_action_is_named(self) -> None:
        """The effect says what it ran, and the option stores something else."""
        effect = only(committed().after.effects)
        says = broken("I7.1", with_effects(committed(), evolve(effect, action=BOTH)))
        assert says is not None
        assert says.startswith(f"the effect {effect.id} ran ConfirmCommands(")
        assert "the option 'yes' stores ApplyOperation(" in says

    def test_other_arguments_are_named(self) -> None:
        """Both texts are in the message; a system that does not tell its arguments is not judged by them."""
        effect = only(committed().after.effects)
        other = evolve(effect, arguments=document({"amount": 500}))
        assert broken("I7.1", with_effects(committed(), other)) == (
            f'the effect {effect.id} ran with {{"amount":500}}, and the stored arguments give {{"amount":5}}'
        )
        assert broken("I7.1", with_effects(committed(), evolve(effect, arguments=None))) is None

    def test_text_at_another_place_is_named(self) -> None:
        """The final arguments have the text at its pointer, and nowhere else."""
        desk = Watched()
        command = desk.expect(Accepted, answer(desk.write(), "explain", text="why")).command
        seen = desk.watch(settle(command))
        effect = only(seen.after.effects)
        assert broken("I7.1", with_effects(seen, evolve(effect, arguments=document({"reason": None})))) is not None
        assert broken("I7.1", with_effects(seen, evolve(effect, arguments=document({"why": "why"})))) is not None

    def test_a_card_that_cannot_be_answered_breaks_nothing_here(self) -> None:
        """A system that wrote a card whose text has no place is blamed for that (A4), and judging goes on."""
        homeless = evolve(EXPLAIN, freeform_argument="/no/such/place")
        effect = evolve(only(committed().after.effects), action=homeless, freeform="why")
        asked = {"card-1": present(option("yes", homeless, takes_text()))}
        broken("I7.1", with_effects(evolve(committed(), asked=asked), effect))

    def test_a_card_that_nobody_asked_for_is_not_judged(self) -> None:
        """What it stores is not known; an effect that was there before is not judged again."""
        seen = committed()
        wrong = evolve(only(seen.after.effects), action=BOTH)
        assert broken("I7.1", with_effects(evolve(seen, asked={}), wrong)) is None
        before = evolve(seen.before, effects=seen.after.effects)
        assert broken("I7.1", with_effects(evolve(seen, before=before), wrong)) is None

    def test_running_exercises_it(self) -> None:
        """A branch with an effect, and no other."""
        desk = Watched(AT_ONCE)
        card = desk.write()
        assert applies("I7.1", desk.moment(answer(card)))
        assert applies("I7.1", desk.moment(answer(card, "record")))
        assert not applies("I7.1", desk.moment(answer(card, "no")))
        assert not applies("I7.1", desk.moment(edit_case()))


class TestNothingRuns:
    """I7.9: No effect exists without a taken answer to its card."""

    @staticmethod
    def beside(seen: Observation, card: str = "card-1", chosen: str = "yes") -> Observation:
        """An observation in which an effect of a card appeared."""
        effect = evolve(only(committed().after.effects), card=CardId(card), option=chosen)
        return with_effects(seen, *seen.after.effects.get(CASE, ()), effect)

    SAYS = "the effect effect-4 of the card card-1 appeared although nobody's answer to it was taken"

    @pytest.mark.parametrize(
        "operation",
        [
            edit_case(),
            present(),
            get("card-1"),
            ops.Restart(),
            ops.CardExpireDue(),
            answer("card-1", "never"),
            respond(1),
        ],
        ids=lambda operation: operation.method + str(getattr(operation, "response", ""))[:1],
    )
    def test_an_effect_of_another_operation_is_named(self, operation: ops.Operation) -> None:
        """Presenting, reading, editing, expiring, refusing and restarting run nothing."""
        desk = Watched()
        desk.write()
        assert broken("I7.9", self.beside(desk.watch(operation))) == self.SAYS

    @pytest.mark.parametrize("chosen", ["no", "later"])
    def test_an_effect_of_a_card_that_was_closed_is_named(self, chosen: str) -> None:
        """Declining and dismissing run nothing, whichever option the effect names."""
        desk = Watched()
        desk.write()
        seen = desk.watch(answer("card-1", chosen))
        assert broken("I7.9", self.beside(seen)) == self.SAYS
        assert broken("I7.9", self.beside(seen, chosen=chosen)) == self.SAYS
        assert broken("I7.9", self.beside(seen, chosen="never")) == self.SAYS

    def test_an_effect_of_another_card_is_named(self) -> None:
        """An answer runs its own card only."""
        desk = Watched()
        desk.write()
        desk.write()
        assert broken("I7.9", self.beside(desk.watch(answer("card-2", "pick")))) == self.SAYS

    def test_a_taken_answer_may_run(self) -> None:
        """At once, deferred, or with a reply that was lost; a recorded decline runs its record."""
        desk, recording = Watched(AT_ONCE), Watched()
        desk.write()
        recording.write()
        seen = desk.watch(answer("card-1"))
        assert isinstance(seen.outcome, Resolved)
        assert broken("I7.9", seen) is None
        assert broken("I7.9", evolve(seen, outcome=None)) is None
        assert broken("I7.9", committed()) is None
        recorded = recording.watch(answer("card-1", "record"))
        assert isinstance(recorded.outcome, Declined)
        assert broken("I7.9", recorded) is None

    def test_an_acceptance_may_be_quick(self) -> None:
        """A command may have run by the time that its acceptance is read."""
        desk = Watched()
        desk.write()
        assert broken("I7.9", self.beside(desk.watch(answer("card-1")))) is None

    def test_a_card_that_was_answered_before_may_run(self) -> None:
        """The answer was taken at an earlier step, whatever is asked now."""
        desk = Watched()
        desk.accept(desk.write())
        assert broken("I7.9", self.beside(desk.watch(ops.Restart()))) is None

    def test_changes_that_run_nothing_exercise_it(self) -> None:
        """There must be a card, and the operation must be able to change something."""
        desk = Watched(AT_ONCE)
        assert not applies("I7.9", desk.moment(edit_case()))
        card = desk.write()
        assert applies("I7.9", desk.moment(edit_case()))
        assert applies("I7.9", desk.moment(answer(card, "no")))
        assert not applies("I7.9", desk.moment(answer(card)))
        assert not applies("I7.9", desk.moment(get(card)))


class TestOnce:
    """I14.1: The commands of a card's option run at most once, ever."""

    def test_a_second_effect_is_counted(self) -> None:
        """One operation, two effects."""
        seen = committed()
        effect = only(seen.after.effects)
        twice = with_effects(seen, effect, evolve(effect, id=EffectId("effect-99")))
        assert (
            broken("I14.1", twice) == "the card card-1 has 2 effects, and the commands of its option run at most once"
        )

    def test_an_effect_that_comes_later_is_counted_with_the_first(self) -> None:
        """Ever: also in another step, and under another case."""
        desk = Watched()
        settled(desk, desk.write())
        seen = desk.watch(edit_case())
        effect = only(seen.after.effects)
        again = evolve(effect, id=EffectId("effect-99"))
        assert broken("I14.1", with_effects(seen, effect, again)) is not None
        elsewhere = CaseKey("acme", "claims", "case-2")
        assert broken("I14.1", with_effects(seen, again, key=elsewhere)) is not None
        assert broken("I14.1", seen) is None

    def test_two_commands_of_one_card_are_too_many(self) -> None:
        """Also where their effects together are as many as the option has."""
        seen = committed("both")
        one, other = seen.after.effects[CASE]
        split = with_effects(seen, one, evolve(other, command=CommandId("command-99")))
        assert (
            broken("I14.1", split) == "the card card-1 has 2 effects, and the commands of its option run at most once"
        )

    def test_the_effects_of_one_option_are_as_many_as_its_commands(self) -> None:
        """One for an operation, one for each command ref."""
        assert broken("I14.1", committed()) is None
        assert broken("I14.1", committed("both")) is None

    def test_a_card_that_nobody_asked_for_has_one(self) -> None:
        """What it stores is not known; more than one effect is still too many."""
        assert broken("I14.1", evolve(committed(), asked={})) is None
        assert broken("I14.1", evolve(committed("both"), asked={})) is not None

    def test_coming_again_exercises_it(self) -> None:
        """An answer to a Resolved card that authorised, or a settlement of it; a card in flight is I14.3's."""
        desk = Watched()
        card, other = desk.write(present(independent=True)), desk.write(present(independent=True))
        assert not applies("I14.1", desk.moment(answer(card)))
        command = desk.accept(card)
        assert not applies("I14.1", desk.moment(answer(card, "no")))
        assert not applies("I14.1", desk.moment(settle(command)))
        desk.perform(settle(command))
        assert applies("I14.1", desk.moment(answer(card)))
        assert applies("I14.1", desk.moment(settle(command)))
        assert not applies("I14.1", desk.moment(get(card)))
        desk.perform(answer(other, "pick"))
        assert not applies("I14.1", desk.moment(answer(other)))
        assert not applies("I14.1", desk.moment(answer("card-99")))
        assert not applies("I14.1", desk.moment(edit_case()))

    def test_a_replay_exercises_its_own_requirement(self) -> None:
        """I14.2 is demanded by the branch that replays."""
        desk = Watched()
        card = desk.write()
        settled(desk, card)
        moment = desk.moment(answer(card))
        assert isinstance(moment.branch.outcome, Replayed)
        assert applies("I14.2", moment)
        assert not applies("I14.2", desk.moment(edit_case()))
