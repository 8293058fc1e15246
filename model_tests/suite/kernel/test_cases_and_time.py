"""Cases, reads, the clock, restarts and resets: what changes around the cards."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.admissible import MOST_LAZY_CARDS, RULES, admissible
from keyturn.capabilities import ALL_CLAIMS
from keyturn.responses import Found
from keyturn.values import LAST_INSTANT, CaseKey, Instant, Revision
from keyturn.world import Case, World

from . import builders
from .builders import CASE, CHAT, Desk, answer, edit_case, get, open_case, present, settle

SWEEP = ops.CardExpireDue()
LIST = ops.CardList(account=CASE.account, conversation=CHAT)


class TestOpen:
    """`case.open` is idempotent and returns the current revision, 1 at first."""

    def test_a_case_opens_at_revision_one(self) -> None:
        """A new case has seen no change."""
        assert Desk().perform(open_case(CaseKey("acme", "claims", "new"))) == ops.CaseOpened(revision=Revision(1))

    def test_opening_again_finds_it_as_it_is(self) -> None:
        """The revision stays, and nothing else changes."""
        desk = Desk()
        desk.edit()
        before = desk.state
        assert desk.perform(open_case()) == ops.CaseOpened(revision=Revision(2))
        assert desk.state == before

    @pytest.mark.parametrize(
        "near",
        [CaseKey("ACME", "claims", "case-1"), CaseKey("acme", "claims ", "case-1"), CaseKey("acme", "claims", "")],
    )
    def test_a_case_is_keyed_by_its_three_parts_exactly(self, near: CaseKey) -> None:
        """Accounts, workflows and cases compare exactly."""
        desk = Desk()
        desk.edit()
        assert desk.perform(open_case(near)) == ops.CaseOpened(revision=Revision(1))


class TestEdit:
    """I13.3: it reads Invalidated when the operation that moved the revision has answered."""

    def test_an_edit_sweeps_active_bound_cards_only(self) -> None:
        """Resolving cards (I13.5), independent ones (I13.4) and ended ones are spared, and other cases too."""
        desk = Desk()
        other = CaseKey("acme", "claims", "case-2")
        desk.perform(open_case(other))
        bound, blocking, flying, free, ended = (
            desk.write(each)
            for each in (present(), present(blocking=True), present(), present(independent=True), present())
        )
        theirs = desk.write(present(key=other))
        desk.accept(flying)
        desk.perform(answer(ended, "no"))
        edited = desk.edit()
        assert edited == ops.CaseEdited(revision=Revision(2), invalidated=(bound, blocking))
        statuses = [desk.status(each) for each in (bound, blocking, flying, free, ended, theirs)]
        assert statuses == ["invalidated", "invalidated", "resolving", "active", "declined", "active"]
        assert {each.cause for each in desk.state.history.batches[-1]} == {
            ops.Cause(reason="revision_changed", new_revision=Revision(2))
        }

    def test_an_independent_card_can_still_be_answered(self) -> None:
        """I13.4: it survives."""
        desk = Desk()
        card = desk.write(present(independent=True))
        desk.edit()
        assert desk.outcomes(answer(card, revision=None)) == ("accepted",)

    def test_each_edit_moves_the_revision_by_one(self) -> None:
        """The revision grows strictly with every committed change."""
        desk = Desk()
        assert [desk.edit().revision for _ in range(3)] == [2, 3, 4]

    def test_an_unknown_case_is_not_found(self) -> None:
        """Nothing is opened by editing it."""
        desk = Desk()
        [branch] = desk.may(edit_case(CaseKey("acme", "claims", "new")))
        assert builders.wording(branch.outcome) == "rejected: not_found"
        assert branch.because >= {"I19.1"}
        assert branch.world == desk.state.world


class TestGet:
    """I19.1: A foreign account gets exactly what an id that never existed gets; reads may cross conversations."""

    def test_the_owner_finds_the_card(self) -> None:
        """And nothing else may happen."""
        desk = Desk()
        card = desk.write()
        assert desk.outcomes(get(card)) == ("found",)

    @pytest.mark.parametrize("account", ["other", "", "ACME"])
    def test_another_account_finds_nothing(self, account: str) -> None:
        """Exactly what an id that never existed gets."""
        desk = Desk()
        foreign = desk.may(get(desk.write(), account=account))
        assert foreign == desk.may(get("card-99", account=account))
        assert builders.wordings(foreign) == ("rejected: not_found",)

    @pytest.mark.parametrize("conversation", ["chat-2", ""])
    def test_another_conversation_may_see_the_card(self, conversation: str) -> None:
        """For reads, another conversation of the same account may see a card; the reference shows it to none."""
        desk = Desk()
        assert desk.outcomes(get(desk.write(), conversation=conversation)) == ("rejected: not_found", "found")

    def test_reading_changes_nothing(self) -> None:
        """Whatever a read may answer, the world stays."""
        desk = Desk()
        card = desk.write()
        for operation in (get(card), get("card-99"), get(card, conversation="chat-2"), LIST):
            assert {each.world for each in desk.may(operation)} == {desk.state.world}


class TestList:
    """L8: Reads list each open card of the conversation exactly once and no other, by creation time."""

    def listed(self, desk: Desk) -> list[str]:
        """The ids that the conversation lists."""
        return [each.id for each in desk.expect(ops.Cards, LIST).cards]

    def test_open_cards_are_listed_oldest_first(self) -> None:
        """Active and Resolving cards are open; cards of one instant keep one order."""
        desk = Desk()
        cards = [desk.write() for _ in range(3)]
        desk.advance(1)
        cards.append(desk.write(present(independent=True)))
        desk.accept(cards[1])
        assert self.listed(desk) == cards
        desk.perform(answer(cards[0], "no"))
        assert self.listed(desk) == cards[1:]

    def test_other_conversations_and_accounts_are_not_listed(self) -> None:
        """`card.list` lists its own conversation only, of every case and workflow."""
        desk = Desk()
        foreign, elsewhere = CaseKey("other", "claims", "case-1"), CaseKey("acme", "refunds", "case-7")
        for key in (foreign, elsewhere):
            desk.perform(open_case(key))
        desk.write(present(conversation="chat-2"))
        desk.write(present(key=foreign))
        mine = desk.write(present(key=elsewhere))
        assert self.listed(desk) == [mine]

    def test_a_list_shows_the_cards_as_they_read(self) -> None:
        """Each is the view that its owner gets."""
        desk = Desk()
        card = desk.write()
        assert desk.expect(ops.Cards, LIST).cards == (desk.expect(Found, get(card)).card,)


class TestExpiry:
    """L7: Expiry is inclusive (`expires_at <= now`) and happens once; a card without a deadline never expires."""

    @pytest.mark.parametrize(("seconds", "expired"), [(0.999, False), (1, True), (1.001, True)])
    def test_a_card_expires_at_its_exact_instant(self, seconds: float, expired: bool) -> None:
        """A millisecond before its deadline it does not."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        desk.advance(seconds)
        assert desk.perform(SWEEP) == ops.CardsExpired(expired=(card,) if expired else ())
        assert desk.status(card) == ("expired" if expired else "active")
        assert (desk.outcomes(answer(card))[0] == "accepted") is not expired

    def test_a_sweep_happens_once(self) -> None:
        """The second sweep finds nothing, and the card has one `expire` without a cause."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        desk.advance(5)
        desk.perform(SWEEP)
        assert desk.perform(SWEEP) == ops.CardsExpired(expired=())
        assert desk.events(card) == ["present", "expire"]
        assert desk.entries(card)[-1].cause == ops.Cause()

    def test_only_active_cards_with_a_deadline_expire(self) -> None:
        """A card in flight, an ended one and one without a deadline are spared; the sweep crosses cases."""
        desk = Desk()
        other = CaseKey("other", "claims", "case-1")
        desk.perform(open_case(other))
        flying, ended, due = (desk.write(present(expires_in=1)) for _ in range(3))
        endless, theirs = desk.write(), desk.write(present(key=other, expires_in=1))
        desk.accept(flying)
        desk.perform(answer(ended, "later"))
        desk.advance(1)
        assert desk.perform(SWEEP) == ops.CardsExpired(expired=(due, theirs))
        assert [desk.status(each) for each in (flying, ended, endless)] == ["resolving", "dismissed", "active"]

    def test_expiring_runs_nothing(self) -> None:
        """I7.9: there is no effect behind an expiry."""
        desk = Desk()
        desk.write(present(expires_in=1))
        desk.advance(1)
        [branch, lazily] = desk.may(SWEEP)
        assert branch.because >= {"L7"}
        assert {each.event for each in branch.happened if isinstance(each, ops.LedgerEntry)} == {"expire"}
        assert (lazily.outcome, lazily.world) == (ops.CardsExpired(expired=()), branch.world)

    def test_a_restored_card_may_be_overdue(self) -> None:
        """In flight its time goes on, and given back it has passed (I19.5)."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        command = desk.accept(card)
        desk.advance(2)
        desk.perform(settle(command, "failed", "restore"))
        assert desk.outcomes(answer(card)) == ("rejected: expired", "rejected: not_answerable")


class TestLazilyExpired:
    """L7: An overdue card that no sweep has reached may be found Active or Expired by any operation."""

    def overdue(self, count: int) -> tuple[Desk, list[str]]:
        """A store with this many overdue cards."""
        desk = Desk()
        cards: list[str] = [desk.write(present(expires_in=1)) for _ in range(count)]
        desk.advance(1)
        return desk, cards

    @pytest.mark.parametrize(
        "operation",
        [
            *(
                open_case(),
                edit_case(),
                present(),
                get("card-99"),
                LIST,
                answer("card-99"),
                ops.ClockAdvance(seconds=1),
            ),
            *(settle("command-99"), ops.CommandNext(result="failed"), ops.Restart()),
        ],
        ids=lambda operation: operation.method,
    )
    def test_any_operation_may_find_it_expired(self, operation: ops.Operation) -> None:
        """Besides what it does itself, the expiry is in what happened, before the rest."""
        desk, [card] = self.overdue(1)
        found = desk.may(operation)
        lazily = [each for each in found if each.happened and getattr(each.happened[0], "event", None) == "expire"]
        assert lazily
        assert not any(getattr(each, "event", None) == "expire" for each in found[0].happened)
        for branch in lazily:
            stored = branch.world.interaction(card)
            assert stored is not None
            assert stored.status == "expired"

    def test_the_ledger_may_tell_of_it_too(self) -> None:
        """Reading the ledger is an operation like any other."""
        desk, _ = self.overdue(1)
        told = [each.outcome for each in desk.may(ops.ReadLedger(account="acme", workflow="claims", case="case-1"))]
        assert "expire" in [entry.event for each in told if isinstance(each, ops.Ledger) for entry in each.entries]

    def test_any_of_several_may_have_expired(self) -> None:
        """Each subset of the overdue cards is a world of its own."""
        for count in range(1, MOST_LAZY_CARDS + 1):
            desk, cards = self.overdue(count)
            found = [frozenset(each.world.overdue()) for each in desk.may(LIST)]
            assert len(found) == len(set(found)) == 2 ** len(cards)

    def test_of_many_one_all_or_none_have_expired(self) -> None:
        """Past the limit the branches grow with the cards, and no faster."""
        desk, cards = self.overdue(MOST_LAZY_CARDS + 1)
        left = [len(each.world.overdue()) for each in desk.may(LIST)]
        assert left == [len(cards), *[len(cards) - 1] * len(cards), 0]

    def test_of_many_the_one_that_is_read_may_have_expired(self) -> None:
        """However many cards are overdue, an operation may find the one that it names Expired, and leave the others."""
        desk, cards = self.overdue(MOST_LAZY_CARDS + 1)
        assert len(cards) - 1 in [len(each.world.overdue()) for each in desk.may(get(cards[0]))]

    def test_a_reset_finds_nothing(self) -> None:
        """What is forgotten cannot expire."""
        desk, _ = self.overdue(1)
        assert len(desk.may(ops.Reset(now=Instant(0)))) == 1


class TestClock:
    """`clock.advance` moves the clock; the clock keeps its value over a restart."""

    def test_the_clock_moves_by_milliseconds(self) -> None:
        """Seconds round to the nearest millisecond."""
        desk = Desk()
        moved = desk.perform(ops.ClockAdvance(seconds=1.0006))
        assert moved == ops.ClockAdvanced(now=Instant(builders.NOON_INSTANT + 1001))
        desk.perform(ops.Restart())
        assert desk.state.world.now == builders.NOON_INSTANT + 1001

    @pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e12])
    def test_a_clock_moves_forward_within_the_calendar(self, seconds: float) -> None:
        """`seconds` is greater than 0, and the time after it can be written."""
        desk = Desk()
        [branch] = desk.may(ops.ClockAdvance(seconds=seconds))
        assert builders.wording(branch.outcome) == "rejected: malformed"
        assert branch.world == desk.state.world

    def test_the_clock_can_reach_the_last_instant(self) -> None:
        """And not go past it."""
        desk = Desk()
        desk.perform(ops.Reset(now=Instant(LAST_INSTANT - 2)))
        desk.perform(ops.ClockAdvance(seconds=0.002))
        assert desk.state.world.now == LAST_INSTANT
        assert desk.outcomes(ops.ClockAdvance(seconds=0.001)) == ("rejected: malformed",)

    def test_moving_the_clock_expires_nothing_by_itself(self) -> None:
        """The sweep settles it."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        desk.advance(9)
        assert desk.status(card) == "active"

    def test_the_end_of_time_is_an_answer(self) -> None:
        """A number that is too large does not end the store."""
        Desk().clock_advance(seconds=1e12)


class TestRestartAndReset:
    """I6.3: After a restart every card that was ever offered reads back; I6.7: an id is issued once for ever."""

    def test_a_restart_changes_nothing(self) -> None:
        """World and history are the same, whatever stands in them."""
        desk = Desk()
        flying, _ = desk.write(), desk.write(present(independent=True))
        desk.accept(flying)
        desk.command_next(result="failed")
        before = desk.state
        assert desk.perform(ops.Restart()) == ops.Done()
        assert desk.state == before

    def test_a_reset_forgets_everything_but_the_ids(self) -> None:
        """Cases, cards, commands and history are gone; the clock is set, and the counter of ids goes on."""
        desk = Desk()
        desk.perform(settle(desk.accept(desk.write())))
        issued = desk.state.world.issued
        assert desk.perform(ops.Reset(now=Instant(5))) == ops.Done()
        assert desk.state.world == World(now=Instant(5), issued=issued)
        assert (desk.state.history.effects, desk.state.history.batches) == ((), ())


class TestAdmissible:
    """One pure function is the definition: `admissible(world, operation, claims) -> (branch, …)`."""

    def test_every_operation_has_a_rule_or_reads_history(self) -> None:
        """Reads of history are answered by the store, and raise here."""
        assert set(ops.OPERATIONS) - set(RULES) == {ops.ReadEffects, ops.ReadLedger, ops.ReadMetrics}
        with pytest.raises(KeyError):
            admissible(World(), ops.ReadEffects(account="a", workflow="w", case="c"), ALL_CLAIMS)

    @pytest.mark.parametrize(
        "operation",
        [open_case(), edit_case(), present(), get("card-1"), answer("card-1"), settle("command-2"), LIST, SWEEP],
        ids=lambda operation: operation.method,
    )
    def test_asking_twice_gives_the_same(self, operation: ops.Operation) -> None:
        """Immutable values in, immutable values out: the same question has the same branches, and the world stays."""
        world = admissible(World(cases=(Case(key=CASE),)), present(), ALL_CLAIMS)[0].world
        kept = evolve(world)
        first = admissible(world, operation, ALL_CLAIMS)
        assert first
        assert first == admissible(world, operation, ALL_CLAIMS)
        assert world == kept
        assert hash(world) == hash(kept)
