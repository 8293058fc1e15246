"""I6 and I19: a card exists before anything mentions it and outlives a restart; a refusal leaves everything as it was."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import CardView
from keyturn.responses import RefusalCode, Rejected
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.table import OPEN, TERMINAL
from keyturn.values import CardId, CaseKey, EffectId, PayloadHash, Revision
from keyturn_specs.memory import NOTHING_REMEMBERED, remembered
from keyturn_specs.observations import Observation

from ..kernel import builders
from ..kernel.builders import CASE, answer, edit_case, get, present, respond, sent, settle, settled
from .observing import Watched, applies, broken, only, shown, with_cards, with_effects, with_ledger, with_status

S = InteractionStatus
RESTART = ops.Restart()


def retitled(card: CardView) -> CardView:
    """The card with another title."""
    return evolve(card, payload=evolve(card.payload, title="Another"))


class TestOffered:
    """I6.1: Every card that a reply offers can be read by its owner at that moment, open, with the same payload and hash."""

    def test_an_offered_card_that_cannot_be_read_is_named(self) -> None:
        """It was mentioned and is not there, or was never read."""
        seen = Watched().watch(present())
        says = "the card card-1 was offered, and its owner reads nothing"
        assert broken("I6.1", with_cards(seen, card_1=None)) == says
        assert broken("I6.1", evolve(seen, after=evolve(seen.after, cards={}))) == says

    @pytest.mark.parametrize("status", sorted(TERMINAL))
    def test_an_offered_card_that_is_over_is_named(self, status: S) -> None:
        """Nobody can answer what was just offered."""
        says = broken("I6.1", with_status(Watched().watch(present()), "card-1", status))
        assert says == f"the card card-1 was offered, and its owner reads {status}"

    def test_an_offered_card_that_reads_otherwise_is_named(self) -> None:
        """With another payload, or another hash."""
        seen = Watched().watch(present())
        card = shown(seen, "card-1")
        says = "the card card-1 was offered with another payload or hash than it reads"
        assert broken("I6.1", with_cards(seen, card_1=retitled(card))) == says
        assert broken("I6.1", with_cards(seen, card_1=evolve(card, payload_hash=PayloadHash("other")))) == says

    @pytest.mark.parametrize("status", sorted(OPEN))
    def test_an_offered_card_that_is_open_is_as_it_should_be(self, status: S) -> None:
        """Active, or in flight already."""
        assert broken("I6.1", with_status(Watched().watch(present()), "card-1", status)) is None

    def mentioned(self) -> tuple[Watched, Observation]:
        """A refusal that names the current card, the second one."""
        desk = Watched()
        desk.write(present(blocking=True))
        desk.write(present(blocking=True, on_occupied="replace"))
        seen = desk.watch(answer("card-1"))
        assert isinstance(seen.outcome, Rejected)
        assert seen.outcome.current_card == "card-2"
        return desk, seen

    def test_a_current_card_that_cannot_be_answered_is_named(self) -> None:
        """It is not there, or it is over."""
        _, seen = self.mentioned()
        says = "the card card-2 was named as the current one, and its owner reads"
        assert broken("I6.1", with_cards(seen, card_2=None)) == f"{says} nothing"
        assert broken("I6.1", with_status(seen, "card-2", S.DECLINED)) == f"{says} declined"
        assert broken("I6.1", seen) is None

    def test_a_reply_that_offers_nothing_is_as_it_should_be(self) -> None:
        """Whatever can be read."""
        desk = Watched()
        desk.write()
        assert broken("I6.1", with_cards(desk.watch(answer("card-99")), card_1=None)) is None
        assert broken("I6.1", evolve(desk.watch(present()), outcome=None)) is None

    def test_a_reply_that_offers_a_card_exercises_it(self) -> None:
        """A card that is presented or named as current, and no other reply."""
        desk, _ = self.mentioned()
        assert applies("I6.1", desk.moment(present()))
        assert applies("I6.1", desk.moment(answer("card-1")))
        assert not applies("I6.1", desk.moment(answer("card-99")))
        assert not applies("I6.1", desk.moment(get("card-2")))


class TestRestarted:
    """I6.3: After a restart every card that was ever offered reads back with the same id, payload, hash and status."""

    @staticmethod
    def restarted() -> Observation:
        """A restart with two open cards, the second of which has a deadline."""
        desk = Watched()
        desk.write()
        desk.write(present(expires_in=5))
        return desk.watch(RESTART)

    def test_a_forgotten_card_is_named(self) -> None:
        """It read Active, and now nothing."""
        says = "the card card-1 read active before the restart and nothing after it"
        assert broken("I6.3", with_cards(self.restarted(), card_1=None)) == says

    @pytest.mark.parametrize("status", sorted(set(S) - {S.ACTIVE}))
    def test_a_card_of_another_status_is_named(self, status: S) -> None:
        """A restart decides nothing; this card has no deadline either."""
        says = broken("I6.3", with_status(self.restarted(), "card-1", status))
        assert says is not None
        assert says.startswith(f"the card card-1 read active before the restart and {status}, or")

    def test_a_card_that_reads_otherwise_is_named(self) -> None:
        """Anything that changed shows, on a card that may have expired too."""
        seen = self.restarted()
        assert broken("I6.3", with_cards(seen, card_1=retitled(shown(seen, "card-1")))) is not None
        changed = evolve(retitled(shown(seen, "card-2")), status=S.EXPIRED)
        says = broken("I6.3", with_cards(seen, card_2=changed))
        assert says is not None
        assert says.startswith("the card card-2 read active before the restart and expired, or something else")

    def test_a_card_may_expire_meanwhile(self) -> None:
        """Time goes on, and an overdue card may be found Expired by any operation (L7)."""
        seen = self.restarted()
        assert broken("I6.3", seen) is None
        assert broken("I6.3", with_status(seen, "card-2", S.EXPIRED)) is None

    def test_a_card_that_was_answered_does_not_expire(self) -> None:
        """In flight or over it keeps its status, whatever its deadline was."""
        seen = self.restarted()
        flying = evolve(shown(seen, "card-2"), status=S.RESOLVING)
        before = evolve(seen, before=evolve(seen.before, cards={**seen.before.cards, "card-2": flying}))
        assert broken("I6.3", with_status(before, "card-2", S.RESOLVING)) is None
        assert broken("I6.3", with_status(before, "card-2", S.EXPIRED)) is not None

    def test_a_card_that_could_not_be_read_before_is_not_missed(self) -> None:
        """Nor one that is seen for the first time."""
        seen = self.restarted()
        before = evolve(seen.before, cards={**seen.before.cards, "card-1": None})
        assert broken("I6.3", with_cards(evolve(seen, before=before), card_1=None)) is None

    def test_other_operations_are_no_restart(self) -> None:
        """What they change is judged elsewhere."""
        desk = Watched()
        desk.write()
        assert broken("I6.3", with_cards(desk.watch(edit_case()), card_1=None)) is None

    def test_a_restart_with_cards_exercises_it(self) -> None:
        """Without a card there is nothing to forget."""
        desk = Watched()
        assert not applies("I6.3", desk.moment(RESTART))
        desk.write()
        assert applies("I6.3", desk.moment(RESTART))
        assert not applies("I6.3", desk.moment(edit_case()))


class TestRefused:
    """I19.8: A refusal leaves the system as it was, save for the transitions that the text names (expire, invalidate)."""

    @staticmethod
    def refused() -> tuple[Watched, Observation]:
        """A refusal while card-2 is in flight, card-3 Resolved with its effect, and card-4 Active."""
        desk = Watched()
        for independent in (False, True, True, True):
            desk.write(present(independent=independent))
        desk.accept("card-2")
        settled(desk, "card-3")
        return desk, desk.watch(answer("card-4", "never", revision=2))

    def test_a_refusal_that_changes_nothing_is_as_it_should_be(self) -> None:
        """Everything reads as before."""
        assert broken("I19.8", self.refused()[1]) is None

    def test_an_effect_behind_a_refusal_is_named(self) -> None:
        """It has already acted."""
        _, seen = self.refused()
        effect = only(seen.after.effects)
        more = with_effects(seen, effect, evolve(effect, id=EffectId("effect-99")))
        assert broken("I19.8", more) == "the operation was refused and the effect effect-99 appeared"

    @pytest.mark.parametrize("status", sorted(set(S) - {S.ACTIVE, S.EXPIRED, S.INVALIDATED}))
    def test_a_status_behind_a_refusal_is_named(self, status: S) -> None:
        """An Active card may only expire or be invalidated."""
        says = broken("I19.8", with_status(self.refused()[1], "card-4", status))
        assert says == f"the operation was refused and the card card-4 went from active to {status}"

    @pytest.mark.parametrize("status", [S.EXPIRED, S.INVALIDATED])
    def test_an_active_card_may_end(self, status: S) -> None:
        """Those are the transitions that the text names; a card in flight may not take them."""
        _, seen = self.refused()
        assert broken("I19.8", with_status(seen, "card-4", status)) is None
        says = broken("I19.8", with_status(seen, "card-2", status))
        assert says == f"the operation was refused and the card card-2 went from resolving to {status}"

    def test_a_card_that_is_gone_is_named(self) -> None:
        """One that could not be read before is not missed."""
        _, seen = self.refused()
        says = "the operation was refused and the card card-4 went from active to not found"
        assert broken("I19.8", with_cards(seen, card_4=None)) == says
        blind = evolve(seen, before=evolve(seen.before, cards={"card-4": None}))
        assert broken("I19.8", with_cards(blind, card_4=None)) is None

    def test_a_revision_behind_a_refusal_is_named(self) -> None:
        """Nothing was committed."""
        _, seen = self.refused()
        moved = evolve(seen, after=evolve(seen.after, revisions={CASE: Revision(3)}))
        says = "the operation was refused and the case case-1 went from revision 2 to another"
        assert broken("I19.8", moved) == says

    def test_a_card_that_appears_is_named(self) -> None:
        """Nothing is written behind a refusal, also where nobody listed before."""
        _, seen = self.refused()
        for owner in (("acme", "chat-1"), ("acme", "chat-7")):
            new = evolve(shown(seen, "card-4"), id=CardId("card-99"))
            more = {**seen.after.lists, owner: (*seen.after.lists.get(owner, ()), new)}
            says = broken("I19.8", evolve(seen, after=evolve(seen.after, lists=more)))
            assert says == "the operation was refused and the card card-99 appeared"

    def test_an_entry_behind_a_refusal_is_named(self) -> None:
        """An event of a card that did not end; the entry of one that did is part of its end."""
        _, seen = self.refused()
        ledger = seen.after.ledger[CASE]
        entry = evolve(ledger[-1], event=InteractionEvent.EXPIRE, card=CardId("card-4"))
        more = with_ledger(seen, *ledger, entry)
        assert broken("I19.8", more) == "the operation was refused and the ledger says expire of the card card-4"
        assert broken("I19.8", with_status(more, "card-4", S.EXPIRED)) is None

    def test_what_is_not_refused_may_change_things(self) -> None:
        """Also where the reply was lost."""
        desk = Watched()
        desk.write()
        assert broken("I19.8", desk.watch(edit_case())) is None
        assert broken("I19.8", evolve(desk.watch(edit_case()), outcome=None)) is None

    def test_a_refused_change_exercises_it(self) -> None:
        """A refused read does not, and neither does what is taken."""
        desk = Watched()
        card = desk.write()
        assert applies("I19.8", desk.moment(answer(card, "never")))
        assert applies("I19.8", desk.moment(settle("command-99")))
        assert applies("I19.8", desk.moment(edit_case(CaseKey("acme", "claims", "case-9"))))
        assert not applies("I19.8", desk.moment(get("card-99")))
        assert not applies("I19.8", desk.moment(answer(card)))


class TestStrangers:
    """I19.1: A foreign account or conversation gets exactly what an id that never existed gets."""

    def test_a_stranger_who_names_a_card_exercises_it(self) -> None:
        """With an answer or a read of a card that exists; not its owner, and not an id that never existed."""
        desk = Watched()
        card = desk.write()
        assert applies("I19.1", desk.moment(respond(sent(card), account="other")))
        assert applies("I19.1", desk.moment(respond(sent(card), conversation="chat-2")))
        assert applies("I19.1", desk.moment(get(card, account="other")))
        for operation in (get(card), answer(card), answer("card-99"), get("card-99"), respond(1), settle("command-9")):
            assert not applies("I19.1", desk.moment(operation))
        assert not applies("I19.1", desk.moment(edit_case(CaseKey("acme", "claims", "case-9"))))


class TestCrashes:
    """A process that crashed is judged like a restart, save for what it may have done before (I6.3, I19.10)."""

    @staticmethod
    def crashed() -> Observation:
        """An answer to the first of two cards, in a step in which the process ended and was started again."""
        desk = Watched()
        desk.write()
        desk.write(present(independent=True))
        return evolve(desk.watch(answer("card-1")), outcome=None, restarted=True)

    def test_what_was_asked_for_may_have_happened(self) -> None:
        """The card that was answered may have moved, and nothing else is wrong with it."""
        assert broken("I6.3", self.crashed()) is None
        assert broken("I19.10", self.crashed()) is None

    def test_a_card_that_is_gone_is_named(self) -> None:
        """A crash is no reason to forget a card."""
        says = "the card card-2 read active before the restart and nothing after it"
        assert broken("I6.3", with_cards(self.crashed(), card_2=None)) == says

    def test_a_card_that_nobody_answered_is_named(self) -> None:
        """Whatever the process was asked, it was not asked to answer another card."""
        says = "nobody answered the card card-2 in this step, and it went to declined"
        assert broken("I19.10", with_status(self.crashed(), "card-2", InteractionStatus.DECLINED)) == says

    def test_a_dismissal_may_have_happened(self) -> None:
        """A card that was dismissed in the step is one that somebody closed."""
        desk = Watched()
        card = desk.write()
        seen = evolve(desk.watch(builders.dismiss(card)), outcome=None, restarted=True)
        assert broken("I19.10", seen) is None

    def test_a_card_that_nobody_heard_of_is_not_judged(self) -> None:
        """After a lost `card.present` there may be a card whose id nobody knows, and a refusal may name it (I6.1)."""
        desk = Watched()
        desk.write()
        named = evolve(
            desk.watch(edit_case()), outcome=Rejected(code=RefusalCode.NOT_ANSWERABLE, current_card=CardId("card-9"))
        )
        lost = remembered(NOTHING_REMEMBERED, present(), None, restarted=False)
        assert broken("I6.1", named) is not None
        assert broken("I6.1", evolve(named, memory=lost)) is None
