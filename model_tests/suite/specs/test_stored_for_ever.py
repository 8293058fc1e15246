"""I6: what was displayed stays as it was, ids are issued once, and a hash stands for one payload."""

from attrs import evolve

from keyturn.responses import Presented
from keyturn.values import CardId, CaseKey, PayloadHash

from ..kernel.builders import BOTH, CASE, YES, answer, edit_case, get, option, present, settle, settled
from .observing import Watched, applies, broken, only, shown, with_cards, with_effects


class TestPayloads:
    """I6.5: The payload never changes after first display: one id, one hash, for ever."""

    def test_a_payload_or_a_hash_that_changed_is_named(self) -> None:
        """Either of them, whatever the operation."""
        desk = Watched()
        desk.write()
        seen = desk.watch(edit_case())
        card = shown(seen, "card-1")
        says = "the payload or the hash of the card card-1 is not what was first displayed"
        retitled = evolve(card, payload=evolve(card.payload, title="Another"))
        assert broken("I6.5", seen) is None
        assert broken("I6.5", with_cards(seen, card_1=retitled)) == says
        assert broken("I6.5", with_cards(seen, card_1=evolve(card, payload_hash=PayloadHash("other")))) == says

    def test_a_card_that_cannot_be_read_is_not_judged(self) -> None:
        """Neither before nor after."""
        desk = Watched()
        desk.write()
        seen = desk.watch(edit_case())
        assert broken("I6.5", with_cards(seen, card_1=None)) is None
        assert broken("I6.5", evolve(seen, before=evolve(seen.before, cards={"card-1": None}))) is None

    def test_a_change_beside_a_card_exercises_it(self) -> None:
        """There must be a card, and something must be able to change."""
        desk = Watched()
        assert not applies("I6.5", desk.moment(edit_case()))
        card = desk.write()
        assert applies("I6.5", desk.moment(edit_case()))
        assert not applies("I6.5", desk.moment(get(card)))


class TestIds:
    """I6.7: An id (card, command, effect) is issued once for ever; an old click never meets a new card."""

    def test_a_card_with_a_used_id_is_named(self) -> None:
        """Also where the first one cannot be read any more."""
        desk = Watched()
        desk.write()
        seen = desk.watch(present())
        outcome = seen.outcome
        assert isinstance(outcome, Presented)
        again = evolve(seen, outcome=evolve(outcome, card=evolve(outcome.card, id=CardId("card-1"))))
        says = "the new card has the id card-1, which another card has had"
        assert broken("I6.7", seen) is None
        assert broken("I6.7", again) == says
        assert broken("I6.7", evolve(again, before=evolve(seen.before, cards={"card-1": None}))) == says

    def test_an_effect_with_a_used_id_is_named(self) -> None:
        """Under whatever case it stands."""
        desk = Watched()
        settled(desk, desk.write())
        seen = desk.watch(edit_case())
        effect = only(seen.after.effects)
        says = f"two effects have the id {effect.id}"
        assert broken("I6.7", seen) is None
        assert broken("I6.7", with_effects(seen, effect, effect)) == says
        assert broken("I6.7", with_effects(seen, effect, key=CaseKey("acme", "claims", "case-2"))) == says

    def test_another_card_exercises_it(self) -> None:
        """The first card of all can repeat nothing."""
        desk = Watched()
        for requirement in ("I6.7", "I6.8"):
            assert not applies(requirement, desk.moment(present()))
        desk.write()
        for requirement in ("I6.7", "I6.8"):
            assert applies(requirement, desk.moment(present()))
            assert not applies(requirement, desk.moment(edit_case()))


class TestHashes:
    """I6.8: Cards that differ anywhere in the payload, stored actions included, differ in their hash."""

    def test_one_hash_for_two_payloads_is_named(self) -> None:
        """They differ in a stored action only, which no client sees."""
        desk = Watched()
        desk.write(present(YES))
        seen = desk.watch(present(option("yes", BOTH)))
        same = evolve(shown(seen, "card-1"), payload_hash=shown(seen, "card-2").payload_hash)
        says = "the cards card-1 and card-2 store different payloads and have the same hash"
        assert broken("I6.8", seen) is None
        assert broken("I6.8", with_cards(seen, card_1=same)) == says
        assert broken("I6.8", evolve(with_cards(seen, card_1=same), asked={"card-2": seen.asked["card-2"]})) is None
        assert broken("I6.8", evolve(with_cards(seen, card_1=same), asked={"card-1": seen.asked["card-1"]})) is None
        assert broken("I6.8", evolve(with_cards(seen, card_1=same), outcome=None)) is None

    def test_one_hash_for_one_payload_is_as_it_should_be(self) -> None:
        """Two cards may ask the same; one that cannot be read is not compared."""
        desk = Watched()
        desk.write(present(YES))
        assert broken("I6.8", desk.watch(present(YES))) is None
        assert broken("I6.8", with_cards(desk.watch(present(option("yes", BOTH))), card_1=None)) is None


def test_a_story_keeps_all_three() -> None:
    """Answering, settling and presenting again change no payload, and repeat no id and no hash."""
    desk = Watched()
    steps = (present(), answer("card-1"), settle("command-2"), present(YES), edit_case())
    seen = [desk.watch(step) for step in steps]
    assert [broken(each, one) for one in seen for each in ("I6.5", "I6.7", "I6.8")] == [None] * 15
    assert len(seen[-1].after.effects[CASE]) == 1
