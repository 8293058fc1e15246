"""L, step by step: which statuses follow which, what a settlement leaves, and what a list shows."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.status import InteractionStatus
from keyturn.table import STATUS_TABLE
from keyturn.values import CardId, CaseKey, Instant
from keyturn_specs.observations import Observation

from ..kernel.builders import CASE, CHAT, answer, edit_case, get, open_case, present, settle, settled
from .observing import Watched, applies, broken, only, shown, with_cards, with_effects, with_status

S = InteractionStatus
SWEEP = ops.CardExpireDue()
LIST = ops.CardList(account=CASE.account, conversation=CHAT)
IN_TWO_ROWS = {("active", "resolved"), ("active", "failed"), ("resolving", "invalidated"), ("resolving", "expired")}
ROWS = {(before, after) for before, row in STATUS_TABLE.rows.items() for after in row.values()} | IN_TWO_ROWS


def read(before: InteractionStatus, after: InteractionStatus) -> Observation:
    """An observation in which the only card read one status before and another one after."""
    desk = Watched()
    desk.write()
    seen = with_status(desk.watch(get("card-1")), "card-1", after)
    card = evolve(shown(seen, "card-1"), status=before)
    return evolve(seen, before=evolve(seen.before, cards={"card-1": card}))


class TestRows:
    """L1: Only the rows of the status table happen."""

    @pytest.mark.parametrize("before", S)
    @pytest.mark.parametrize("after", S)
    def test_a_step_that_is_no_row_is_named(self, before: S, after: S) -> None:
        """One row, or two that one operation can take: run at once, or give back a card that has to end."""
        says = broken("L1", read(before, after))
        if before is after or (before.value, after.value) in ROWS:
            assert says is None
        else:
            assert says == f"the card card-1 went from {before} to {after}, and the table has no such row"

    def test_a_card_that_cannot_be_read_is_not_judged(self) -> None:
        """Neither before nor after."""
        seen = read(S.RESOLVED, S.ACTIVE)
        assert broken("L1", with_cards(seen, card_1=None)) is None
        assert broken("L1", evolve(seen, before=evolve(seen.before, cards={"card-1": None}))) is None

    def test_meeting_a_card_that_is_not_active_exercises_it(self) -> None:
        """By an operation that could change it."""
        desk = Watched()
        card = desk.write()
        assert not applies("L1", desk.moment(answer(card)))
        command = desk.accept(card)
        assert applies("L1", desk.moment(answer(card)))
        assert applies("L1", desk.moment(settle(command)))
        assert not applies("L1", desk.moment(get(card)))
        assert not applies("L1", desk.moment(edit_case()))


class TestInFlight:
    """L4: Resolving is observable: between accept and settle a read shows it."""

    def test_an_accepted_card_that_reads_otherwise_is_named(self) -> None:
        """It still looks Active, or resolved already."""
        desk = Watched()
        seen = desk.watch(answer(desk.write()))
        assert broken("L4", seen) is None
        for status in (S.ACTIVE, S.RESOLVED):
            says = f"the answer to card-1 was accepted, and it reads {status}"
            assert broken("L4", with_status(seen, "card-1", status)) == says

    def test_other_answers_and_operations_are_not_judged(self) -> None:
        """An answer that was refused or needed no command, and what is no answer at all."""
        desk = Watched()
        card = desk.write()
        for operation in (answer(card, "never"), answer(card, "pick"), edit_case()):
            assert broken("L4", desk.watch(operation)) is None

    def test_an_acceptance_exercises_it(self) -> None:
        """And nothing else."""
        desk = Watched()
        card = desk.write()
        assert applies("L4", desk.moment(answer(card)))
        assert not applies("L4", desk.moment(answer(card, "pick")))


class TestGivenBack:
    """L6: A restore clears the chosen option, so that the card can be answered again."""

    @staticmethod
    def restored() -> Observation:
        """A command that failed and gave its card back."""
        desk = Watched()
        return desk.watch(settle(desk.accept(desk.write()), "failed", "restore"))

    def test_a_choice_that_stays_is_named(self) -> None:
        """The card is offered again, and looks as if it had been decided."""
        seen = self.restored()
        kept = evolve(shown(seen, "card-1"), resolved_option="yes")
        assert broken("L6", seen) is None
        says = "the card card-1 was given back and still shows the option 'yes'"
        assert broken("L6", with_cards(seen, card_1=kept)) == says

    def test_only_the_card_that_was_given_back_is_judged(self) -> None:
        """Not one that ended instead or cannot be read, nor after another outcome."""
        seen = self.restored()
        kept = evolve(shown(seen, "card-1"), resolved_option="yes")
        assert broken("L6", with_cards(seen, card_1=evolve(kept, status=S.INVALIDATED))) is None
        assert broken("L6", with_cards(seen, card_1=None)) is None
        assert broken("L6", with_cards(evolve(seen, outcome=None), card_1=kept)) is None
        blind = evolve(seen, before=evolve(seen.before, cards={"card-1": None}))
        assert broken("L6", with_cards(blind, card_1=kept)) is None

    def test_giving_back_exercises_it(self) -> None:
        """The first time; the same settlement again gives nothing back."""
        desk = Watched()
        operation = settle(desk.accept(desk.write()), "failed", "restore")
        assert applies("L6", desk.moment(operation))
        desk.perform(operation)
        assert not applies("L6", desk.moment(operation))
        assert applies("L5", desk.moment(operation))


class TestSweeps:
    """L7 and L10: expiry happens once, and a settlement settles only its own command."""

    def test_a_sweep_over_a_deadline_exercises_it(self) -> None:
        """Whether or not it is past; a card without one is never swept."""
        desk = Watched()
        desk.write()
        assert not applies("L7", desk.moment(SWEEP))
        desk.write(present(expires_in=1))
        assert applies("L7", desk.moment(SWEEP))
        assert not applies("L7", desk.moment(edit_case()))

    def test_a_late_outcome_exercises_its_own(self) -> None:
        """L10: another outcome for an attempt that was given back."""
        desk = Watched()
        first, failed = desk.accept(desk.write()), desk.accept(desk.write())
        assert not applies("L10", desk.moment(settle(first)))
        desk.perform(settle(first, "failed", "restore"))
        desk.perform(settle(failed, "failed"))
        assert applies("L10", desk.moment(settle(first)))
        assert not applies("L10", desk.moment(settle(first, "failed", "restore")))
        assert not applies("L10", desk.moment(settle(failed)))
        assert not applies("L10", desk.moment(settle("command-99")))
        assert not applies("L10", desk.moment(edit_case()))


class TestLists:
    """L8: Reads list each open card of the conversation exactly once and no other, by creation time."""

    WHERE = "the list of acme in chat-1"

    @staticmethod
    def listed() -> Observation:
        """Three cards, of which the second is in flight and the third is younger."""
        desk = Watched()
        for _ in range(2):
            desk.write(present(independent=True))
        desk.accept("card-2")
        desk.advance(1)
        desk.write()
        return desk.watch(LIST)

    @staticmethod
    def falsified(seen: Observation, *cards: str, claims: frozenset[Capability] = ALL_CLAIMS) -> str | None:
        """What is said when the list holds these cards."""
        lists = {("acme", CHAT): tuple(shown(seen, card) for card in cards)}
        return broken("L8", evolve(seen, claims=claims, after=evolve(seen.after, lists=lists)))

    def test_the_open_cards_in_their_order_are_as_they_should_be(self) -> None:
        """Cards of one instant keep any one order."""
        seen = self.listed()
        first, second, third = sorted(seen.after.cards)
        assert broken("L8", seen) is None
        assert self.falsified(seen, second, first, third) is None

    def test_a_wrong_list_is_named(self) -> None:
        """With what is missing, too many, over, or out of order."""
        seen = self.listed()
        first, second, third = sorted(seen.after.cards)
        assert self.falsified(seen, first, third) == f"{self.WHERE} lacks the open card {second}"
        twice = self.falsified(seen, first, second, second, third)
        assert twice == f"{self.WHERE} has the card {second} more than once"
        late = self.falsified(seen, third, first, second)
        assert late == f"{self.WHERE} is not in the order of creation"
        assert self.falsified(seen, third, first, second, claims=ALL_CLAIMS - {Capability.CLOCK}) is None

    def test_a_card_that_is_over_or_elsewhere_is_named(self) -> None:
        """It ended, or belongs to another conversation, or to nobody that is known."""
        seen = self.listed()
        first, *others = sorted(seen.after.cards)
        says = f"{self.WHERE} has the ended or unknown card {first}"
        ended = with_status(seen, first, S.DECLINED)
        assert self.falsified(ended, first, *others) == says
        elsewhere = evolve(shown(seen, first), conversation="chat-2")
        moved = evolve(seen, after=evolve(seen.after, cards={**seen.after.cards, first: elsewhere}))
        assert self.falsified(moved, first, *others) == says
        unknown = evolve(seen, asked={card: asked for card, asked in seen.asked.items() if card != first})
        assert self.falsified(unknown, first, *others) == says
        foreign = {**seen.asked, first: evolve(seen.asked[first], account="other")}
        assert self.falsified(evolve(seen, asked=foreign), first, *others) == says

    def test_a_card_that_cannot_be_read_is_not_missed(self) -> None:
        """Nobody knows whether it is open."""
        seen = self.listed()
        first, *others = sorted(seen.after.cards)
        blind = evolve(seen, after=evolve(seen.after, cards={**seen.after.cards, first: None}))
        lists = {("acme", CHAT): tuple(shown(seen, card) for card in others)}
        assert broken("L8", evolve(blind, after=evolve(blind.after, lists=lists))) is None

    def test_listing_ones_own_cards_exercises_it(self) -> None:
        """There must be one, open or not, in this conversation."""
        desk = Watched()
        desk.write(present(conversation="chat-2"))
        assert not applies("L8", desk.moment(LIST))
        card = desk.write()
        assert applies("L8", desk.moment(LIST))
        assert not applies("L8", desk.moment(get(card)))


class TestEffectsOfEndedCards:
    """L9: A card with an effect is Resolved, or Resolving until it settles, or Declined; never anything else."""

    @pytest.mark.parametrize("status", S)
    def test_an_effect_behind_another_status_is_named(self, status: S) -> None:
        """A card that says that nothing happened has no effect."""
        desk = Watched()
        seen = with_status(desk.watch(settle(desk.accept(desk.write()))), "card-1", status)
        effect = only(seen.after.effects)
        says = broken("L9", seen)
        if status in {S.RESOLVED, S.RESOLVING, S.DECLINED}:
            assert says is None
        else:
            assert says == f"the card card-1 reads {status}, and its effect {effect.id} exists"

    def test_an_effect_of_a_card_that_cannot_be_read_is_not_judged(self) -> None:
        """Its status is not known."""
        desk = Watched()
        seen = desk.watch(settle(desk.accept(desk.write())))
        strange = evolve(only(seen.after.effects), card=CardId("card-99"))
        assert broken("L9", with_effects(seen, strange)) is None
        assert broken("L9", with_cards(seen, card_1=None)) is None

    def test_the_end_of_a_command_exercises_it(self) -> None:
        """Also one that failed."""
        desk = Watched()
        command = desk.accept(desk.write())
        assert applies("L9", desk.moment(settle(command, "failed")))
        assert not applies("L9", desk.moment(edit_case()))


def test_cards_of_other_cases_are_listed_too() -> None:
    """L8 asks for the conversation, whatever the case."""
    desk = Watched()
    other = CaseKey("acme", "claims", "case-2")
    desk.perform(open_case(other))
    desk.write(present(key=other))
    settled(desk, desk.write())
    seen = desk.watch(LIST)
    assert broken("L8", seen) is None
    assert shown(seen, "card-1").created_at >= Instant(0)
