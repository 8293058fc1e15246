"""I5, the slot: who takes it, who gives it back, and that a card that lost it is over."""

import pytest
from attrs import evolve

from keyturn.responses import Rejected
from keyturn.status import InteractionStatus
from keyturn.values import CaseKey
from keyturn_specs.observations import Observation

from ..kernel.builders import answer, edit_case, get, open_case, present
from .observing import Watched, applies, broken

S = InteractionStatus
OTHER = CaseKey("acme", "claims", "case-2")
BLOCKING = present(blocking=True)
REPLACING = present(blocking=True, on_occupied="replace")


class TestReplaced:
    """I5.5: A replaced card is never answerable again."""

    @staticmethod
    def answered_late(chosen: str) -> Observation:
        """An answer to a card that was replaced, told as if it had been taken."""
        taken = Watched()
        taken.write(BLOCKING)
        outcome = taken.perform(answer("card-1", chosen))
        desk = Watched()
        desk.write(BLOCKING)
        desk.write(REPLACING)
        seen = desk.watch(answer("card-1", chosen))
        assert isinstance(seen.outcome, Rejected)
        return evolve(seen, outcome=outcome)

    @pytest.mark.parametrize("chosen", ["yes", "pick", "no", "later"])
    def test_an_answer_that_is_taken_is_named(self, chosen: str) -> None:
        """Accepted, resolved, declined or dismissed: it decides with the old words."""
        assert broken("I5.5", self.answered_late(chosen)) == (
            "the card card-1 had been invalidated, and an answer to it was taken"
        )

    def test_an_answer_that_is_refused_is_as_it_should_be(self) -> None:
        """Also one whose reply was lost."""
        desk = Watched()
        desk.write(BLOCKING)
        desk.write(REPLACING)
        assert broken("I5.5", desk.watch(answer("card-1"))) is None
        assert broken("I5.5", evolve(self.answered_late("yes"), outcome=None)) is None

    def test_other_cards_are_not_judged(self) -> None:
        """One that is open, one that never blocked, one that nobody knows; and what is no answer."""
        desk = Watched()
        desk.write(BLOCKING)
        assert broken("I5.5", desk.watch(answer("card-1", "no"))) is None
        assert broken("I5.5", desk.watch(answer("card-99"))) is None
        assert broken("I5.5", desk.watch(edit_case())) is None
        late = self.answered_late("yes")
        card = late.before.cards["card-1"]
        assert card is not None
        free = evolve(late, before=evolve(late.before, cards={"card-1": evolve(card, blocking=False)}))
        assert broken("I5.5", free) is None

    def test_answering_a_replaced_card_exercises_it(self) -> None:
        """While its case has not moved; not an open one, nor one that an edit invalidated."""
        desk = Watched()
        desk.write(BLOCKING)
        assert not applies("I5.5", desk.moment(answer("card-1")))
        desk.write(REPLACING)
        assert applies("I5.5", desk.moment(answer("card-1")))
        assert not applies("I5.5", desk.moment(answer("card-99")))
        assert not applies("I5.5", desk.moment(get("card-1")))
        desk.edit()
        assert not applies("I5.5", desk.moment(answer("card-1")))

    def test_a_replaced_card_of_no_revision_exercises_it_for_ever(self) -> None:
        """An independent card is over because it was replaced, wherever its case has moved."""
        desk = Watched()
        desk.write(present(blocking=True, independent=True))
        desk.write(REPLACING)
        desk.edit()
        assert applies("I5.5", desk.moment(answer("card-1", revision=None)))


class TestSlots:
    """I5.2, I5.4, I5.6, I5.7, I5.9: who takes the slot, and who needs none."""

    def test_an_occupied_slot_exercises_the_refusals(self) -> None:
        """I5.2 by refusing, I5.4 by a card in flight that is to be replaced."""
        desk = Watched()
        desk.write(BLOCKING)
        assert applies("I5.2", desk.moment(BLOCKING))
        assert not applies("I5.2", desk.moment(REPLACING))
        desk.accept("card-1")
        assert applies("I5.4", desk.moment(REPLACING))
        assert not applies("I5.4", desk.moment(BLOCKING))

    def test_a_slot_that_is_taken_elsewhere_exercises_i5_6(self) -> None:
        """Another case has an open blocking card, and this one has none."""
        desk = Watched()
        desk.perform(open_case(OTHER))
        assert not applies("I5.6", desk.moment(BLOCKING))
        desk.write(present(blocking=True, key=OTHER))
        assert applies("I5.6", desk.moment(BLOCKING))
        assert not applies("I5.6", desk.moment(present()))
        assert not applies("I5.6", desk.moment(present(blocking=True, key=OTHER)))
        assert not applies("I5.6", desk.moment(edit_case()))

    def test_a_card_beside_the_question_exercises_i5_7(self) -> None:
        """It neither takes nor needs the slot that is taken."""
        desk = Watched()
        assert not applies("I5.7", desk.moment(present()))
        desk.write(BLOCKING)
        assert applies("I5.7", desk.moment(present()))
        assert not applies("I5.7", desk.moment(BLOCKING))
        assert not applies("I5.7", desk.moment(edit_case()))

    @pytest.mark.parametrize("end", ["no", "later", "pick", "record"])
    def test_the_card_after_one_that_ended_exercises_i5_9(self, end: str) -> None:
        """The slot was given back; without a card before there was nothing to give."""
        desk = Watched()
        assert not applies("I5.9", desk.moment(BLOCKING))
        desk.write(BLOCKING)
        assert not applies("I5.9", desk.moment(BLOCKING))
        desk.perform(answer("card-1", end))
        assert applies("I5.9", desk.moment(BLOCKING))
        assert not applies("I5.9", desk.moment(present()))
        assert not applies("I5.9", desk.moment(edit_case()))
