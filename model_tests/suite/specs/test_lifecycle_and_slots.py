"""L and I5: what a status may become, what Resolved stands for, and the one open question of a case."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.responses import Resolved, Restored
from keyturn.status import InteractionStatus
from keyturn.table import OPEN, TERMINAL
from keyturn.values import CaseKey

from ..kernel.builders import (
    CASE,
    answer,
    close_case,
    dismiss,
    edit_case,
    get,
    open_case,
    present,
    settle,
    settled,
    withdraw,
)
from .observing import Watched, applies, broken, shown, with_cards, with_effects, with_ledger, with_status

S = InteractionStatus
SWEEP = ops.CardExpireDue()


class TestTerminalStatuses:
    """L2: Terminal statuses are never left."""

    @pytest.mark.parametrize("status", sorted(S))
    def test_a_terminal_card_that_reads_anything_else_is_named(self, status: S) -> None:
        """Another status, terminal or not, breaks it."""
        desk = Watched()
        card = desk.write()
        desk.perform(answer(card, "no"))
        says = broken("L2", with_status(desk.watch(edit_case()), card, status))
        if status is S.DECLINED:
            assert says is None
        else:
            assert says == f"the card {card} was declined, which is terminal, and now reads {status}"

    def test_a_terminal_card_that_cannot_be_read_is_named(self) -> None:
        """A card that is over is still there."""
        desk = Watched()
        card = desk.write()
        desk.perform(answer(card, "later"))
        says = broken("L2", with_cards(desk.watch(edit_case()), card_1=None))
        assert says == f"the card {card} was dismissed, which is terminal, and now reads as not found"

    def test_a_card_that_could_not_be_read_before_may_read_anything(self) -> None:
        """Nothing is known of what it was."""
        desk = Watched()
        desk.perform(answer(desk.write(), "later"))
        seen = desk.watch(edit_case())
        blind = evolve(seen, before=evolve(seen.before, cards={"card-1": None}))
        assert broken("L2", with_status(blind, "card-1", S.ACTIVE)) is None
        assert broken("L2", with_ledger(blind, *blind.after.ledger[CASE], blind.after.ledger[CASE][-1])) is None

    def test_a_ledger_that_goes_on_is_named(self) -> None:
        """No entry follows the one that ended a card, also where it leads back to the same status."""
        desk = Watched()
        card = desk.write()
        desk.perform(answer(card, "no"))
        seen = desk.watch(edit_case())
        again = with_ledger(seen, *seen.after.ledger[CASE], seen.after.ledger[CASE][-1])
        assert (
            broken("L2", again) == f"the card {card} was declined, which is terminal, and the ledger says decline of it"
        )

    @pytest.mark.parametrize("chosen", ["no", "later", "pick", "yes", "record"])
    def test_an_open_card_may_end(self, chosen: str) -> None:
        """What was open before may read anything that the table allows."""
        desk = Watched()
        card = desk.write()
        assert broken("L2", desk.watch(answer(card, chosen))) is None

    def test_meeting_a_terminal_card_exercises_it(self) -> None:
        """By an answer, a settlement, an edit of its case or a sweep; other operations do not meet it."""
        desk = Watched()
        other = CaseKey("acme", "claims", "case-2")
        desk.perform(open_case(other))
        card = desk.write()
        command = desk.accept(card)
        operations = [answer(card), dismiss(card), settle(command), edit_case(), close_case(), withdraw(), SWEEP]
        assert [applies("L2", desk.moment(each)) for each in operations] == [False] * 7
        desk.perform(settle(command))
        assert [applies("L2", desk.moment(each)) for each in operations] == [True] * 7
        spared = (edit_case(other), answer("card-99"), settle("command-99"), get(card), present())
        assert [applies("L2", desk.moment(each)) for each in spared] == [False] * 5


class TestResolved:
    """L3: Resolved only after the command committed; a failed command never yields a success result."""

    def test_a_failure_that_is_answered_as_success_is_named(self) -> None:
        """The answer itself is the lie."""
        desk = Watched()
        command = desk.accept(desk.write())
        other = desk.expect(Resolved, answer(desk.write(), "pick"))
        lie = evolve(other, result=evolve(other.result, card=desk.interaction("card-1").id))
        seen = evolve(desk.watch(settle(command, "failed")), outcome=lie)
        assert broken("L3", seen) == f"the command {command} failed and the answer says that it is resolved"

    def test_a_failure_said_of_a_resolved_card_may_be_answered_with_its_result(self) -> None:
        """The command committed before, and its result is no lie."""
        desk = Watched()
        command = settled(desk, desk.write())
        result = desk.perform(settle(command))
        assert broken("L3", evolve(desk.watch(settle(command, "failed")), outcome=result)) is None

    def test_a_resolved_card_without_its_effect_is_named(self) -> None:
        """Its events are readable when it reads Resolved."""
        desk = Watched()
        card = desk.write()
        seen = with_effects(desk.watch(settle(desk.accept(card))))
        assert broken("L3", seen) == f"the card {card} reads resolved, and no effect of its command can be read"

    def test_a_committed_command_is_none(self) -> None:
        """With its effect, and a failure that is told as one."""
        desk = Watched()
        first, second = desk.accept(desk.write(present(independent=True))), desk.accept(desk.write())
        assert broken("L3", desk.watch(settle(first))) is None
        assert broken("L3", desk.watch(settle(second, "failed"))) is None

    def test_a_card_that_needs_no_effect_is_none(self) -> None:
        """It was answered without a command, or was Resolved before, or nobody knows what it stores."""
        desk = Watched()
        card, unknown = desk.write(), desk.write(present(independent=True))
        assert broken("L3", desk.watch(answer(card, "pick"))) is None
        seen = with_effects(desk.watch(settle(desk.accept(unknown))))
        assert broken("L3", evolve(seen, asked={})) is None
        assert broken("L3", with_effects(desk.watch(get(card)))) is None
        assert broken("L3", with_cards(desk.watch(get(card)), card_1=None)) is None

    def test_the_end_of_a_command_exercises_it(self) -> None:
        """Resolved, failed or restored; a refusal and an acceptance are no end."""
        desk = Watched()
        card, other = desk.write(), desk.write(present(independent=True))
        command = desk.accept(card)
        ends = (settle(command), settle(command, "failed"), settle(command, "failed", "restore"), answer(other, "pick"))
        assert [applies("L3", desk.moment(each)) for each in ends] == [True] * 4
        assert [applies("L3", desk.moment(each)) for each in (answer(other), settle("x"), get(card))] == [False] * 3
        assert isinstance(desk.moment(ends[2]).branch.outcome, Restored)


class TestOneOpenQuestion:
    """I5.1: At every observable moment a case has at most one blocking card that is open."""

    def two(self, **changes: object) -> str | None:
        """What is said when a card stands open beside the blocking card of its case, changed like this."""
        desk = Watched()
        desk.write(present(blocking=True))
        seen = desk.watch(present(blocking=True, on_occupied="replace"))
        first = evolve(shown(seen, "card-1"), status=S.ACTIVE)
        return broken("I5.1", with_cards(seen, card_1=evolve(first, **changes)))  # type: ignore[arg-type]

    @pytest.mark.parametrize("status", sorted(OPEN))
    def test_two_open_blocking_cards_are_counted(self, status: S) -> None:
        """A card in flight still occupies its slot."""
        assert self.two(status=status) == "the case case-1 of claims has 2 open blocking cards at once"

    @pytest.mark.parametrize("status", sorted(TERMINAL))
    def test_an_ended_card_is_not_counted(self, status: S) -> None:
        """It holds no slot."""
        assert self.two(status=status) is None

    @pytest.mark.parametrize("changes", [{"case": "case-2"}, {"workflow": "refunds"}, {"blocking": False}], ids=str)
    def test_another_slot_is_another_count(self, changes: dict[str, object]) -> None:
        """Other cases and workflows have their own, and a card that does not block has none."""
        assert self.two(**changes) is None

    def test_another_account_is_another_count(self) -> None:
        """A case of the same name belongs to somebody else."""
        desk = Watched()
        theirs = CaseKey("other", "claims", "case-1")
        desk.perform(open_case(theirs))
        desk.write(present(blocking=True, key=theirs))
        assert broken("I5.1", desk.watch(present(blocking=True))) is None

    def test_a_card_that_cannot_be_read_is_not_counted(self) -> None:
        """Nothing is known of it."""
        desk = Watched()
        desk.write(present(blocking=True))
        assert broken("I5.1", with_cards(desk.watch(present(blocking=True)), card_1=None)) is None

    def test_a_card_that_nobody_asked_for_breaks_nothing(self) -> None:
        """A reply may name a card whose own presenting was never answered."""
        desk = Watched()
        desk.write(present(blocking=True))
        assert broken("I5.1", evolve(desk.watch(get("card-1")), asked={})) is None

    def test_asking_for_an_occupied_slot_exercises_it(self) -> None:
        """A second blocking card of the case, whatever is asked for; not the first, and no other."""
        desk = Watched()
        blocking = present(blocking=True)
        assert not applies("I5.1", desk.moment(blocking))
        desk.write(blocking)
        assert applies("I5.1", desk.moment(blocking))
        assert applies("I5.1", desk.moment(present(blocking=True, on_occupied="replace")))
        assert not applies("I5.1", desk.moment(present()))
        assert not applies("I5.1", desk.moment(edit_case()))

    def test_replacing_exercises_its_own_requirement(self) -> None:
        """I5.3 is demanded by the branch that replaces, and by no other."""
        desk = Watched()
        desk.write(present(blocking=True))
        assert applies("I5.3", desk.moment(present(blocking=True, on_occupied="replace")))
        assert not applies("I5.3", desk.moment(present(blocking=True)))
