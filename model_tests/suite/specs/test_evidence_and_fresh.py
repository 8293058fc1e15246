"""E, I13 and A: the ledger tells what happened, and only a fresh answer is taken."""

from collections.abc import Callable

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import CardId, CaseKey
from keyturn_specs.observations import Observation

from ..kernel.builders import (
    BOTH,
    CASE,
    answer,
    close_case,
    edit_case,
    get,
    open_case,
    option,
    present,
    settle,
    withdraw,
)
from .observing import Watched, applies, broken, with_cards, with_ledger, with_status

S, E = InteractionStatus, InteractionEvent
OTHER = CaseKey("acme", "claims", "case-2")


def committed(chosen: str = "yes") -> Observation:
    """The commit of the only card's command."""
    desk = Watched()
    return desk.watch(settle(desk.accept(desk.write(), chosen)))


class TestLedger:
    """E1: Every transition is in the ledger once, in order, with its cause; replaying the ledger gives the stored statuses."""

    def test_the_ledger_of_the_reference_tells_it_all(self) -> None:
        """Any story, step by step."""
        desk = Watched()
        card = desk.write(present(expires_in=1))
        steps = (answer(card), present(), settle("command-2", "failed", "restore"), answer(card, "record"), edit_case())
        assert [broken("E1", desk.watch(each)) for each in steps] == [None] * 5

    @pytest.mark.parametrize("chosen", ["pick", "no", "later"])
    def test_an_answer_without_a_command_names_none(self, chosen: str) -> None:
        """It is taken, and committed or closed, by no command."""
        desk = Watched()
        assert broken("E1", desk.watch(answer(desk.write(), chosen))) is None

    def test_a_changed_past_is_named(self) -> None:
        """Entries that were there before are there for ever, in their place."""
        seen = committed()
        ledger = seen.after.ledger[CASE]
        says = "entries of the ledger of the case case-1 were changed, moved or removed"
        assert broken("E1", with_ledger(seen, *ledger[1:])) == says
        assert broken("E1", with_ledger(seen, ledger[1], ledger[0], ledger[2])) == says
        assert broken("E1", with_ledger(seen)) == says

    def test_an_entry_from_another_status_is_named(self) -> None:
        """The card was in another status, or not written at all."""
        seen = committed()
        *known, last = seen.after.ledger[CASE]
        says = "the ledger says commit of the card card-1 from active, and it was resolving"
        assert broken("E1", with_ledger(seen, *known, evolve(last, from_status=S.ACTIVE))) == says
        says = "the ledger says commit of the card card-9 from resolving, and it was unwritten"
        assert broken("E1", with_ledger(seen, *known, evolve(last, card=CardId("card-9")))) == says

    def test_an_entry_that_is_no_row_of_the_table_is_named(self) -> None:
        """Its event does not lead where it says, or does not happen there."""
        seen = committed()
        *known, last = seen.after.ledger[CASE]
        says = "the ledger says that commit led the card card-1 from resolving to failed"
        assert broken("E1", with_ledger(seen, *known, evolve(last, to_status=S.FAILED))) == says
        says = "the ledger says that accept led the card card-1 from resolving to resolved"
        assert broken("E1", with_ledger(seen, *known, evolve(last, event=E.ACCEPT))) == says

    def test_an_entry_that_is_there_twice_is_named(self) -> None:
        """Once: the second time the card is not where it was."""
        seen = committed()
        ledger = seen.after.ledger[CASE]
        says = "the ledger says commit of the card card-1 from resolving, and it was resolved"
        assert broken("E1", with_ledger(seen, *ledger, ledger[-1])) == says

    def test_a_missing_entry_is_named(self) -> None:
        """The card reads what no entry tells."""
        seen = committed()
        says = "the card card-1 reads resolved, and replaying the ledger gives resolving"
        assert broken("E1", with_ledger(seen, *seen.after.ledger[CASE][:-1])) == says
        desk = Watched()
        written = with_ledger(desk.watch(present()))
        assert broken("E1", written) == "the card card-1 reads active, and replaying the ledger gives nothing"

    def test_a_status_that_the_ledger_does_not_tell_is_named(self) -> None:
        """A card that cannot be read tells nothing, and is not judged."""
        seen = committed()
        says = "the card card-1 reads failed, and replaying the ledger gives resolved"
        assert broken("E1", with_status(seen, "card-1", S.FAILED)) == says
        assert broken("E1", with_cards(seen, card_1=None)) is None

    @pytest.mark.parametrize("result", ["committed", "failed"])
    def test_an_end_without_its_command_is_named(self, result: str) -> None:
        """Commit and fail name their command, which the card's chosen option authorised."""
        desk = Watched()
        command = desk.accept(desk.write())
        seen = desk.watch(settle(command, "committed" if result == "committed" else "failed"))
        *known, last = seen.after.ledger[CASE]
        nameless = evolve(last, cause=evolve(last.cause, command=None))
        says = f"the ledger's {last.event} of the card card-1 does not name its command"
        assert broken("E1", with_ledger(seen, *known, nameless)) == says

    def test_an_acceptance_without_its_command_is_named(self) -> None:
        """With the option in its cause or, without it, on the card; unknown cards and answers need none."""
        desk = Watched()
        desk.write()
        seen = desk.watch(answer("card-1"))
        *known, last = seen.after.ledger[CASE]
        says = "the ledger's accept of the card card-1 does not name its command"
        for cause in (ops.Cause(option="yes"), ops.Cause()):
            assert broken("E1", with_ledger(seen, *known, evolve(last, cause=cause))) == says
        nameless = with_ledger(seen, *known, evolve(last, cause=ops.Cause()))
        assert broken("E1", evolve(nameless, asked={})) is None
        assert broken("E1", with_cards(nameless, card_1=None)) is None

    def test_a_restore_without_its_command_is_named(self) -> None:
        """Accept, commit, fail and restore name their command."""
        desk = Watched()
        seen = desk.watch(settle(desk.accept(desk.write()), "failed", "restore"))
        *known, last = seen.after.ledger[CASE]
        assert broken("E1", with_ledger(seen, *known, evolve(last, cause=ops.Cause()))) is not None

    def test_only_the_events_of_a_command_name_one(self) -> None:
        """A card that is given back on a moved case is invalidated in the same step, by no command."""
        desk = Watched()
        command = desk.accept(desk.write())
        desk.edit()
        seen = desk.watch(settle(command, "failed", "restore"))
        assert [each.event for each in seen.new_entries()] == [E.RESTORE, E.INVALIDATE]
        assert broken("E1", seen) is None

    def test_a_card_of_a_lost_reply_is_where_its_ledger_left_it(self) -> None:
        """Its `present` was read before, so that the edit that invalidates it is in order."""
        desk = Watched()
        desk.write()
        seen = desk.watch(edit_case())
        unseen = evolve(seen, before=evolve(seen.before, cards={}), after=evolve(seen.after, cards={}))
        assert broken("E1", unseen) is None

    def test_a_system_without_a_ledger_is_not_judged(self) -> None:
        """What is not claimed is an empty mapping."""
        seen = committed()
        assert broken("E1", evolve(seen, after=evolve(seen.after, ledger={}))) is None

    def test_moving_a_card_exercises_it(self) -> None:
        """Any branch with an entry."""
        desk = Watched()
        card = desk.write()
        assert applies("E1", desk.moment(answer(card)))
        assert not applies("E1", desk.moment(get(card)))


class TestIndependent:
    """I13.4: A revision-independent card survives and can still be answered."""

    SAYS = "the card card-1 declares revision independence, and a change of the record invalidated it"

    @staticmethod
    def swept(*, independent: bool = True, status: InteractionStatus = S.INVALIDATED) -> Observation:
        """An edit after which the only card reads this status."""
        desk = Watched()
        desk.write(present(independent=independent))
        return with_status(desk.watch(edit_case()), "card-1", status)

    def test_a_sweep_that_takes_it_is_named(self) -> None:
        """Its meaning does not depend on the record."""
        assert broken("I13.4", self.swept()) == self.SAYS

    def test_a_commit_that_takes_it_is_named(self) -> None:
        """A commit invalidates other bound cards, and no others."""
        desk = Watched()
        desk.write(present(independent=True))
        seen = desk.watch(settle(desk.accept(desk.write())))
        assert broken("I13.4", with_status(seen, "card-1", S.INVALIDATED)) is not None

    @pytest.mark.parametrize("status", sorted({S.ACTIVE, S.EXPIRED}))
    def test_what_an_edit_may_find_is_as_it_should_be(self, status: InteractionStatus) -> None:
        """It stays, or is found overdue."""
        assert broken("I13.4", self.swept(status=status)) is None

    def test_other_cards_and_other_ends_are_not_judged(self) -> None:
        """A bound card is swept, an ended one stays, and replacing is no edit."""
        desk = Watched()
        desk.write(present(blocking=True, independent=True))
        assert broken("I13.4", self.swept(independent=False)) is None
        assert broken("I13.4", desk.watch(present(blocking=True, on_occupied="replace"))) is None
        assert broken("I13.4", desk.watch(edit_case())) is None
        seen = self.swept()
        assert broken("I13.4", evolve(seen, before=evolve(seen.before, cards={"card-1": None}))) is None

    def test_an_edit_around_one_exercises_it(self) -> None:
        """It must be Active, in this case, and independent."""
        desk = Watched()
        desk.perform(open_case(OTHER))
        desk.write()
        assert not applies("I13.4", desk.moment(edit_case()))
        card = desk.write(present(independent=True))
        assert applies("I13.4", desk.moment(edit_case()))
        assert not applies("I13.4", desk.moment(edit_case(OTHER)))
        assert not applies("I13.4", desk.moment(get(card)))
        desk.perform(answer(card, "no"))
        assert not applies("I13.4", desk.moment(edit_case()))


class TestMadeFromARevision:
    """I13.10: if the case has moved by the time of the write, nothing answerable is written (stale_revision)."""

    def test_presenting_old_content_exercises_it(self) -> None:
        """On a case that has moved; not of the current revision, of none, or where no revision counts."""
        desk = Watched()
        assert not applies("I13.10", desk.moment(present(for_revision=1)))
        desk.edit()
        assert applies("I13.10", desk.moment(present(for_revision=1)))
        spared = (
            present(for_revision=2),
            present(),
            present(for_revision=1, independent=True),
            present(option("", BOTH)),
        )
        assert [applies("I13.10", desk.moment(each)) for each in spared] == [False] * 4


class TestClosing:
    """I13.11: Closing a case invalidates its Active cards; withdrawing them does too; Resolving ones are spared."""

    @pytest.mark.parametrize("clear", [close_case, withdraw])
    def test_clearing_a_case_with_an_open_card_exercises_it(self, clear: Callable[..., ops.Operation]) -> None:
        """One that ends, or one in flight that is spared; not a case where nothing is open, or another operation."""
        desk = Watched()
        desk.perform(open_case(OTHER))
        assert not applies("I13.11", desk.moment(clear()))
        card = desk.write()
        assert applies("I13.11", desk.moment(clear()))
        assert not applies("I13.11", desk.moment(clear(OTHER)))
        assert not applies("I13.11", desk.moment(edit_case()))
        command = desk.accept(card)
        assert applies("I13.11", desk.moment(clear()))
        desk.perform(settle(command))
        assert not applies("I13.11", desk.moment(clear()))

    def test_a_case_that_is_not_found_does_not(self) -> None:
        """A closed case has nothing Active, and a system may not know it any more."""
        desk = Watched()
        desk.accept(desk.write())
        desk.perform(close_case())
        assert [applies("I13.11", desk.moment(close_case(), each)) for each in (0, 1)] == [True, False]


class TestFresh:
    """I13.3: From the moment the new revision can be read no answer to a card bound to an older one is taken."""

    def test_a_sweep_and_a_late_answer_exercise_it(self) -> None:
        """An edit or a commit that invalidates a card, and an answer to one; not those that meet nothing stale."""
        watched = Watched()
        card, other = watched.write(), watched.write()
        command = watched.accept(card)
        assert applies("I13.3", watched.moment(edit_case()))
        assert applies("I13.3", watched.moment(settle(command)))
        assert not applies("I13.3", watched.moment(settle(command, "failed")))
        assert not applies("I13.3", watched.moment(present(blocking=True)))
        alone = Watched()
        assert not applies("I13.3", alone.moment(settle(alone.accept(alone.write()))))
        watched.perform(settle(command))
        assert applies("I13.3", watched.moment(answer(other)))
        assert not applies("I13.3", watched.moment(edit_case()))
        assert not applies("I13.3", Watched().moment(edit_case()))
        assert not applies("I13.3", watched.moment(answer(watched.write(), revision=2)))

    def test_a_replaced_card_is_not_stale(self) -> None:
        """Superseding is no change of the record."""
        desk = Watched()
        desk.write(present(blocking=True))
        assert not applies("I13.3", desk.moment(present(blocking=True, on_occupied="replace")))

    @pytest.mark.parametrize(
        ("requirement", "revision", "expected"),
        [("I13.1", 1, False), ("I13.1", 2, True), ("I13.2", 2, False), ("A1", 1, True), ("A1", 2, False)],
    )
    def test_others_are_demanded_by_their_branches(self, requirement: str, revision: int, expected: bool) -> None:
        """I13.1 by a wrong revision, I13.2 only on a case that moved, A1 by an answer that is taken."""
        desk = Watched()
        assert applies(requirement, desk.moment(answer(desk.write(), revision=revision))) is expected

    def test_echoing_the_current_revision_exercises_its_own(self) -> None:
        """I13.2: the card was drawn for another state."""
        desk = Watched()
        card = desk.write()
        desk.edit()
        assert applies("I13.2", desk.moment(answer(card, revision=2)))
        assert not applies("I13.2", desk.moment(answer(card)))

    def test_an_option_of_another_card_exercises_its_own(self) -> None:
        """I7.2: also when another card stores it."""
        desk = Watched()
        desk.write()
        card = desk.write(present(option("a", BOTH)))
        assert applies("I7.2", desk.moment(answer(card, "yes")))
        assert not applies("I7.2", desk.moment(answer(card, "a")))
