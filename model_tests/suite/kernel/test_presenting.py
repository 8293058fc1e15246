"""How a card comes to be: the blocking slot, the refusals, and what is written."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.branches import Branch
from keyturn.capabilities import ALL_CLAIMS, Claims
from keyturn.cards import (
    NEVER_BY_TEXT,
    InteractionKind,
    InteractionPayload,
    RiskClass,
    TextResolutionKind,
    TextResolutionPolicy,
)
from keyturn.responses import Found, Presented, Rejected
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import LAST_INSTANT, CaseKey, Instant, document

from . import builders
from .builders import CASE, UNORDERED, WITHOUT_REVISIONS, Desk, answer, get, option, payload, present, settle

OCCUPIED = "rejected: slot_occupied"
REFUSE = present(blocking=True)
REPLACE = present(blocking=True, on_occupied="replace")
OTHER_CASES = (
    CaseKey("acme", "claims", "case-2"),
    CaseKey("acme", "refunds", "case-1"),
    CaseKey("other", "claims", "case-1"),
)


class TestWriting:
    """I6.1: Every card that a reply offers can be read by its owner at that moment, open, with the same payload and hash."""

    def test_the_card_reads_as_it_was_offered(self) -> None:
        """The offered view is the stored one."""
        desk = Desk()
        offered = desk.expect(Presented, present(expires_in=1.5)).card
        assert desk.expect(Found, get(offered.id)).card == offered
        assert (offered.status, offered.case_revision) == ("active", 1)
        assert (offered.created_at, offered.expires_at) == (builders.NOON_INSTANT, builders.NOON_INSTANT + 1500)

    def test_writing_is_one_entry_of_the_ledger(self) -> None:
        """`present` is an entry of the ledger with no `from`."""
        desk = Desk()
        card = desk.write()
        [entry] = desk.entries()
        assert entry == ops.LedgerEntry(
            seq=1,
            at=builders.NOON_INSTANT,
            card=card,
            event=InteractionEvent.PRESENT,
            to_status=InteractionStatus.ACTIVE,
            cause=ops.Cause(),
        )

    def test_a_card_is_bound_to_the_revision_of_the_moment(self) -> None:
        """I13: the bound revision is the one that the content was made from, none when it declares independence."""
        desk = Desk()
        desk.edit()
        assert desk.interaction(desk.write()).case_revision == 2
        assert desk.interaction(desk.write(present(independent=True))).case_revision is None

    def test_the_policies_are_stored(self) -> None:
        """What a card confirms, and whether text may answer it, is kept as it was said."""
        desk = Desk()
        low = TextResolutionPolicy(kind=TextResolutionKind.EXACT_ALIASES, aliases=document({"pick": ["that"]}))
        card = desk.write(evolve(present(), text_resolution=low, confirms_risk=RiskClass.READ_ONLY))
        assert (desk.interaction(card).text_resolution, desk.interaction(card).confirms_risk) == (low, "read_only")
        plain = desk.interaction(desk.write())
        assert (plain.text_resolution, plain.confirms_risk) == (NEVER_BY_TEXT, "irreversible")

    def test_ids_are_issued_once(self) -> None:
        """I6.7: an id (card, command, effect) is issued once for ever, also over a restart and a reset."""
        desk = Desk()
        issued: list[str] = []
        for _ in range(3):
            card = desk.write(present(blocking=True, on_occupied="replace"))
            accepted = desk.accept(card, "both", revision=desk.revision())
            desk.perform(settle(accepted))
            issued.extend((card, accepted, *(each.id for each in desk.effects_of_case()[-2:])))
            desk.perform(ops.Restart())
            desk.perform(ops.Reset(now=builders.NOON_INSTANT))
            desk.perform(builders.open_case())
        assert len(set(issued)) == len(issued) == 12


class TestHash:
    """I6.8: Cards that differ anywhere in the payload, stored actions included, differ in their hash."""

    BASE = payload(builders.YES, builders.NO)

    @pytest.mark.parametrize(
        "other",
        [
            evolve(BASE, title="title"),
            evolve(BASE, body=""),
            evolve(BASE, freeform_prompt="Why?"),
            evolve(BASE, options=(builders.NO, builders.YES)),
            evolve(BASE, options=(evolve(builders.YES, label="label"), builders.NO)),
            evolve(BASE, options=(evolve(builders.YES, freeform=builders.takes_text()), builders.NO)),
            evolve(BASE, options=(option("yes", evolve(builders.PAY, operation="Pay")), builders.NO)),
            evolve(BASE, options=(option("yes", evolve(builders.PAY, arguments=document({"amount": 6}))), builders.NO)),
            evolve(BASE, options=(option("yes", builders.BOTH), builders.NO)),
        ],
    )
    def test_a_difference_anywhere_shows(self, other: InteractionPayload) -> None:
        """One changed field gives another hash, and the same payload the same."""
        desk = Desk()
        first, same, different = (
            desk.expect(Presented, evolve(present(), payload=each)).card.payload_hash
            for each in (self.BASE, evolve(self.BASE), other)
        )
        assert first == same != different


class TestRefusals:
    """`card.present` refuses in the order not_found, invalid_card, stale_revision, slot_occupied, unavailable."""

    WRONG = present(option("", builders.TARGET), blocking=True)

    def test_an_unknown_case_comes_first(self) -> None:
        """A card for a case that nobody opened is not found, whatever else is wrong with it."""
        asked = evolve(self.WRONG, case="case-9")
        desk = Desk()
        assert desk.outcomes(asked) == ("rejected: not_found",)
        assert desk.may(asked)[0].world == desk.state.world

    def test_an_unanswerable_card_comes_before_the_slot(self) -> None:
        """A4: what cannot be answered is refused also where the slot is occupied."""
        desk = Desk()
        desk.write(REFUSE)
        assert desk.outcomes(self.WRONG) == ("rejected: invalid_card",)

    @pytest.mark.parametrize("seconds", [0, -1, -0.5])
    def test_a_deadline_is_in_the_future(self, seconds: float) -> None:
        """`expires_in` is greater than 0."""
        assert Desk().outcomes(present(expires_in=seconds)) == ("rejected: invalid_card",)

    @pytest.mark.parametrize("seconds", [0.001, 0.0006])
    def test_a_short_time_is_a_time(self, seconds: float) -> None:
        """Fractions are allowed, and round to the nearest millisecond."""
        desk = Desk()
        assert desk.interaction(desk.write(present(expires_in=seconds))).expires_at == builders.NOON_INSTANT + 1

    def test_a_deadline_can_be_the_last_instant(self) -> None:
        """And not be past it."""
        desk = Desk()
        desk.perform(ops.Reset(now=Instant(LAST_INSTANT - 2)))
        desk.perform(builders.open_case())
        assert desk.interaction(desk.write(present(expires_in=0.002))).expires_at == LAST_INSTANT
        assert desk.outcomes(present(expires_in=0.003)) == ("rejected: invalid_card",)

    def test_the_shortest_time_is_a_time_too(self) -> None:
        """Any `expires_in` greater than 0 can be presented; this card is overdue at once."""
        assert Desk().outcomes(present(expires_in=0.0004)) == ("presented",)

    @pytest.mark.parametrize("seconds", [1e300, 1e308])
    def test_a_deadline_after_the_end_of_time_is_an_answer(self, seconds: float) -> None:
        """A number that is too large is answered, and does not end the store."""
        written = Desk().card_present(
            account="acme",
            workflow="claims",
            case="case-1",
            conversation="chat-1",
            kind="single_select",
            blocking=False,
            revision_independent=False,
            payload={"title": "T", "options": [{"id": "a", "label": "A", "action": {"kind": "dismiss"}}]},
            expires_in=seconds,
            on_occupied="refuse",
        )
        assert written["outcome"] in {"presented", "rejected"}


class TestOccupiedSlot:
    """I5.1: At every observable moment a case has at most one blocking card that is open."""

    def test_a_second_blocking_card_is_refused(self) -> None:
        """I5.2: and nothing is written."""
        desk = Desk()
        desk.write(REFUSE)
        [branch] = desk.may(REFUSE)
        assert builders.wording(branch.outcome) == OCCUPIED
        assert branch.because >= {"I5.2"}
        assert (branch.world, branch.happened) == (desk.state.world, ())

    def test_an_active_occupant_is_replaced(self) -> None:
        """I5.3: it is invalidated, superseded by the new id, in the step that writes the new card."""
        desk = Desk()
        first = desk.write(REFUSE)
        assert ["I5.3" in each.because for each in desk.may(REPLACE)] == [True]
        presented = desk.expect(Presented, REPLACE)
        second = presented.card.id
        assert presented.invalidated == (first,)
        assert second != first
        assert (desk.status(first), desk.status(second)) == ("invalidated", "active")
        invalidated, written = desk.state.history.batches[-1]
        assert invalidated.cause == ops.Cause(reason="superseded", superseded_by=second)
        assert (invalidated.card, written.card) == (first, second)

    def test_a_replaced_card_is_never_answerable_again(self) -> None:
        """I5.5: and its refusal names the card that replaced it."""
        desk = Desk()
        first = desk.write(REFUSE)
        second = desk.write(REPLACE)
        refused = desk.expect(Rejected, answer(first))
        assert (refused.code, refused.current_card) == ("not_answerable", second)

    @pytest.mark.parametrize(("asked", "because"), [(REFUSE, {"I5.2"}), (REPLACE, {"I5.4"})], ids=["refuse", "replace"])
    def test_a_resolving_occupant_is_never_replaced(self, asked: ops.CardPresent, because: set[str]) -> None:
        """I5.4: nothing is written and the command goes on."""
        desk = Desk()
        command = desk.accept(desk.write(REFUSE))
        [branch] = desk.may(asked)
        assert builders.wording(branch.outcome) == OCCUPIED
        assert branch.because >= because
        assert branch.world == desk.state.world
        desk.perform(asked)
        assert desk.outcomes(settle(command)) == ("resolved",)

    @pytest.mark.parametrize("claims", [ALL_CLAIMS, UNORDERED], ids=["ordered", "unordered"])
    @pytest.mark.parametrize(
        ("asked", "otherwise"), [(REFUSE, OCCUPIED), (REPLACE, "presented")], ids=["refuse", "replace"]
    )
    def test_an_overdue_occupant_may_be_found_expired_or_active(
        self, asked: ops.CardPresent, otherwise: str, claims: Claims
    ) -> None:
        """L7: found Expired it holds no slot; found Active it does. The reference finds it Expired."""
        desk = Desk(claims)
        first = desk.write(present(blocking=True, expires_in=1))
        desk.advance(1)
        branches = desk.may(asked)
        found = [(builders.wording(each.outcome), statuses(each, first)) for each in branches]
        assert set(found) == {
            ("presented", "expired"),
            (otherwise, "active" if otherwise == OCCUPIED else "invalidated"),
        }
        assert found[0] == ("presented", "expired")
        presented = desk.expect(Presented, asked)
        assert presented.invalidated == ()
        assert desk.events(first) == ["present", "expire"]

    @pytest.mark.parametrize("end", ["yes", "no", "later", "pick", "record"])
    def test_a_card_that_has_ended_holds_no_slot(self, end: str) -> None:
        """I5.9: the next blocking card of the case is presented."""
        desk = Desk()
        card = desk.write(REFUSE)
        command = getattr(desk.perform(answer(card, end)), "command", None)
        if command is not None:
            desk.perform(settle(command))
        [branch] = desk.may(REFUSE)
        assert builders.wording(branch.outcome) == "presented"
        assert branch.because >= {"I5.9"}

    def test_a_restored_card_holds_its_slot_again(self) -> None:
        """Active again, it is the question of its case again."""
        desk = Desk()
        desk.perform(settle(desk.accept(desk.write(REFUSE)), "failed", "restore"))
        assert desk.outcomes(REFUSE) == (OCCUPIED,)


class TestOtherSlots:
    """I5.6: other cases, workflows and accounts have their own slot; other conversations of the same case do not."""

    @pytest.mark.parametrize("key", OTHER_CASES, ids=["case", "workflow", "account"])
    @pytest.mark.parametrize("asked", [REFUSE, REPLACE], ids=["refuse", "replace"])
    def test_another_case_has_its_own(self, key: CaseKey, asked: ops.CardPresent) -> None:
        """Its blocking card is written, and this one stays."""
        desk = Desk()
        desk.perform(builders.open_case(key))
        mine = desk.write(REFUSE)
        presented = desk.expect(Presented, evolve(asked, account=key.account, workflow=key.workflow, case=key.case))
        assert presented.invalidated == ()
        assert desk.status(mine) == "active"

    def test_another_conversation_of_the_case_has_not(self) -> None:
        """Two chats about one case share its question."""
        desk = Desk()
        desk.write(REFUSE)
        assert desk.outcomes(present(blocking=True, conversation="chat-2")) == (OCCUPIED,)

    @pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (False, False)])
    def test_a_card_that_does_not_block_neither_takes_nor_needs_it(self, first: bool, second: bool) -> None:
        """I5.7: only two blocking cards are one too many."""
        desk = Desk()
        desk.write(present(blocking=first))
        assert desk.outcomes(present(blocking=second, on_occupied="replace")) == ("presented",)
        desk.write(present(blocking=second, on_occupied="replace"))
        assert [each.status.value for each in desk.state.world.interactions] == ["active", "active"]
        assert "I5.3" not in desk.may(present(on_occupied="replace"))[0].because
        assert desk.state.world.occupant(CASE) is (
            next((each for each in desk.state.world.interactions if each.blocking), None)
        )


def test_a_card_that_needs_no_slot_is_not_demanded_by_a_free_one() -> None:
    """I5.9 speaks of the next blocking card; a card that does not block is presented because of I5.7."""
    assert "I5.9" not in Desk().may(present())[0].because


def statuses(branch: Branch, card: str) -> str | None:
    """The status of a card in the world of a branch."""
    found = branch.world.interaction(card)
    return None if found is None else found.status.value


class TestMadeFromARevision:
    """I13.10: A card is bound to the revision its content was made from; if the case has moved, nothing is written."""

    STALE = "rejected: stale_revision"

    def test_content_of_the_current_revision_is_bound_to_it(self) -> None:
        """As a card is that does not say what it was made from."""
        desk = Desk()
        desk.edit()
        for made in (None, 2):
            assert desk.expect(Presented, present(for_revision=made)).card.case_revision == 2

    @pytest.mark.parametrize("made", [1, 3], ids=["older", "never"])
    def test_content_of_another_revision_is_not_written(self, made: int) -> None:
        """Nothing answerable is written, and nothing else."""
        desk = Desk()
        desk.edit()
        [branch] = desk.may(present(for_revision=made))
        assert builders.wording(branch.outcome) == self.STALE
        assert branch.because >= {"I13.10"}
        assert branch.world == desk.state.world

    def test_it_comes_after_the_card_and_before_the_slot(self) -> None:
        """`card.present` refuses in the order not_found, invalid_card, stale_revision, slot_occupied."""
        desk = Desk()
        desk.edit()
        desk.write(present(blocking=True))
        unanswerable = present(kind=InteractionKind.BOOLEAN, blocking=True, for_revision=1)
        assert desk.outcomes(unanswerable) == ("rejected: invalid_card",)
        assert desk.outcomes(present(blocking=True, for_revision=1)) == (self.STALE,)
        assert desk.outcomes(present(blocking=True, for_revision=1, on_occupied="replace")) == (self.STALE,)
        assert desk.outcomes(present(blocking=True, for_revision=2)) == ("rejected: slot_occupied",)

    def test_an_independent_card_ignores_it(self) -> None:
        """Its content does not depend on the record."""
        desk = Desk()
        desk.edit()
        assert desk.expect(Presented, present(independent=True, for_revision=1)).card.case_revision is None

    def test_without_revisions_it_is_ignored(self) -> None:
        """No card is bound to one."""
        desk = Desk(WITHOUT_REVISIONS)
        assert desk.outcomes(present(for_revision=9)) == ("presented",)


class TestNobody:
    """I19.7: An empty account or conversation is refused or is an owner like any other; it never means "anyone"."""

    REFUSALS = ("rejected: malformed", "rejected: not_found", "rejected: invalid_card")

    def test_nobody_may_be_refused_where_something_would_be_written(self) -> None:
        """The reference takes it for an owner; a refusal writes nothing."""
        nobody = CaseKey("", "claims", "case-1")
        desk = Desk()
        assert desk.outcomes(builders.open_case(nobody)) == ("CaseOpened", *self.REFUSALS)
        desk.perform(builders.open_case(nobody))
        for operation in (present(key=nobody), present(conversation="")):
            branches = desk.may(operation)
            assert builders.wordings(branches) == ("presented", *self.REFUSALS)
            assert all("I19.7" in each.because and each.world == desk.state.world for each in branches[1:])

    def test_somebody_is_not_refused_for_it(self) -> None:
        """Every other name is one, also a blank one."""
        assert Desk().outcomes(present(conversation=" ")) == ("presented",)
