"""What a host keeps of a pending card: who gets it, and that restoring it neither makes nor moves a card."""

from collections.abc import Callable
from typing import cast

import pytest

from keyturn import operations as ops
from keyturn.responses import Resolved
from keyturn.values import CardId, Json, Untrusted

from . import builders, test_gate
from .builders import Desk, answer, present, settle
from .test_gate import MALFORMED, NOT_ANSWERABLE, NOT_FOUND

UNVERIFIABLE = "rejected: unverifiable"


def export(card: str, *, account: str = "acme", conversation: str = "chat-1") -> ops.StateExport:
    """The reading of what a host keeps."""
    return ops.StateExport(account=account, conversation=conversation, card=CardId(card))


def restore(state: object) -> ops.StateImport:
    """The restoring of a state."""
    return ops.StateImport(state=Untrusted(state))


def kept(desk: Desk, card: str) -> dict[str, object]:
    """What a host keeps of a card."""
    return cast(dict[str, object], desk.expect(ops.Exported, export(card)).state)


ENDED: dict[str, Callable[[Desk], str]] = {
    "resolved": test_gate.resolved,
    "declined": test_gate.closed("no"),
    "dismissed": test_gate.closed("later"),
    "invalidated": test_gate.invalidated,
    "expired": test_gate.expired,
    "failed": test_gate.failed,
}
ANSWERED = {"resolving": test_gate.resolving, **ENDED}
TAMPERED: dict[str, Callable[[dict[str, object]], object]] = {
    "nothing": lambda state: None,
    "a list": lambda state: [state],
    "a text": lambda state: "card-1",
    "an empty object": lambda state: {},
    "a number for a card": lambda state: {**state, "card": 1},
    "an unknown card": lambda state: {**state, "card": "card-99"},
    "another hash": lambda state: {**state, "payload_hash": "0" * 64},
    "no hash": lambda state: {"card": state["card"]},
    "another card": lambda state: {**state, "card": "card-2"},
}


class TestExport:
    """`state.export` gives what a host keeps of a pending card; never effects."""

    @pytest.mark.parametrize("make", [test_gate.active, test_gate.resolving, test_gate.independent])
    def test_an_open_card_has_a_state(self, make: Callable[[Desk], str]) -> None:
        """It is read by its owner, and nothing changes."""
        desk = Desk()
        card = make(desk)
        [branch] = desk.may(export(card))
        assert builders.wording(branch.outcome) == "Exported"
        assert (branch.world, branch.happened) == (desk.state.world, ())

    @pytest.mark.parametrize("status", ENDED)
    def test_of_an_ended_card_there_may_be_nothing(self, status: str) -> None:
        """A host may keep it, or have let it go."""
        desk = Desk()
        card = ENDED[status](desk)
        assert desk.status(card) == status
        assert desk.outcomes(export(card)) == ("Exported", NOT_ANSWERABLE, NOT_FOUND)

    def test_a_stranger_gets_what_an_unknown_card_gets(self) -> None:
        """I19.1: the same code, and no state."""
        desk = Desk()
        card = desk.write()
        strangers = (export(card, account="other"), export(card, conversation="chat-2"), export("card-99"))
        assert {desk.outcomes(each) for each in strangers} == {(NOT_FOUND,)}

    def test_a_state_holds_no_stored_action(self) -> None:
        """It names the card and its payload, and no more is needed."""
        desk = Desk()
        card = desk.write()
        assert kept(desk, card) == {"card": card, "payload_hash": desk.interaction(card).payload_hash}


class TestImport:
    """I14.8: What a host keeps of a pending card, restored twice and answered twice, gives one effect."""

    def test_restoring_changes_nothing(self) -> None:
        """The card is the server's: it is what it has become since, and an answer runs once."""
        desk = Desk()
        card = desk.write()
        state = kept(desk, card)
        for _ in range(2):
            before = desk.state
            desk.expect(ops.Done, restore(state))
            assert desk.state == before
            desk.perform(answer(card))
        desk.expect(Resolved, settle(desk.state.world.commands[-1].id))
        desk.expect(ops.Done, restore(state))
        assert desk.outcomes(answer(card)) == ("replayed",)
        assert len(desk.effects_of_case()) == 1

    @pytest.mark.parametrize("make", [test_gate.active, test_gate.independent, test_gate.restored_on_a_moved_case])
    def test_an_active_card_is_restored(self, make: Callable[[Desk], str]) -> None:
        """Whether its case has moved is for the answer to find out."""
        desk = Desk()
        assert desk.outcomes(restore(kept(desk, make(desk)))) == ("Done",)

    @pytest.mark.parametrize("status", ANSWERED)
    def test_an_answered_card_may_be_refused(self, status: str) -> None:
        """L2: restoring it never brings it back to life; a system may say so, or let it be."""
        desk = Desk()
        state = kept(desk, ANSWERED[status](desk))
        before = desk.state
        assert desk.outcomes(restore(state)) == ("Done", NOT_ANSWERABLE)
        assert {each.world for each in desk.may(restore(state))} == {before.world}

    @pytest.mark.parametrize("how", TAMPERED)
    def test_a_state_that_is_not_what_was_kept_is_refused(self, how: str) -> None:
        """I19.4: unknown or tampered with, it is refused in one of three ways, and nothing happens."""
        desk = Desk()
        state = kept(desk, desk.write())
        desk.write(present(builders.NO))
        before = desk.state.world
        branches = desk.may(restore(TAMPERED[how](state)))
        assert builders.wordings(branches) == (MALFORMED, NOT_FOUND, UNVERIFIABLE)
        assert all("I19.4" in each.because and each.world == before for each in branches)

    @pytest.mark.parametrize("state", ["a\0", {"card": "\ud800"}, {"a\udfff": 1}])
    def test_a_state_that_no_client_may_send_is_malformed(self, state: Json) -> None:
        """Strings with U+0000 or lone surrogates are `malformed` anywhere."""
        assert Desk().state_import(state=state) == {"outcome": "rejected", "code": "malformed"}

    def test_a_state_outlives_a_restart(self) -> None:
        """What a host stored before is still what it can restore."""
        desk = Desk()
        state = kept(desk, desk.write())
        desk.perform(ops.Restart())
        assert desk.state_import(state=cast(Json, state)) == {}
