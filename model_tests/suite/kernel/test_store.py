"""The reference store: it takes the first branch, and keeps what branches emit."""

import json
from collections.abc import Callable, Mapping

import pytest
from attrs import astuple

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS
from keyturn.store import History, ReferenceStore, State, possibilities
from keyturn.values import CaseKey, Json
from keyturn.version import VERSION

from . import builders
from .builders import AT_ONCE, CASE, Desk, answer, dismiss, get, present, settle, settled

LEDGER = ops.ReadLedger(account=CASE.account, workflow=CASE.workflow, case=CASE.case)
EFFECTS = ops.ReadEffects(account=CASE.account, workflow=CASE.workflow, case=CASE.case)
OWNER: dict[str, str] = {"account": "acme", "conversation": "chat-1"}
KEY: dict[str, str] = {"account": "acme", "workflow": "claims", "case": "case-1"}


class TestHistory:
    """History is emitted by branches: effects in commit order, and the ledger as one batch an operation."""

    def test_nothing_that_happened_adds_nothing(self) -> None:
        """An operation that moves no card leaves no empty batch."""
        history = History()
        assert history.after(()) is history

    def test_entries_are_numbered_from_one(self) -> None:
        """Over all batches, in the order in which they were written."""
        desk = Desk()
        card, other = desk.write(), desk.write()
        settled(desk, card)
        assert [each.seq for each in desk.entries()] == [1, 2, 3, 4, 5]
        assert [len(batch) for batch in desk.state.history.batches] == [1, 1, 1, 2]
        assert {each.card for each in desk.state.history.batches[-1]} == {card, other}

    def test_effects_are_not_in_the_ledger(self) -> None:
        """What happened is kept apart by what it is."""
        desk = Desk()
        settled(desk, desk.write(), "both")
        assert len(desk.state.history.effects) == 2
        assert all(isinstance(each, ops.LedgerEntry) for each in desk.entries())

    def test_effects_alone_make_no_batch(self) -> None:
        """A batch holds at least one entry."""
        desk = Desk()
        settled(desk, desk.write())
        assert History().after(desk.state.history.effects) == History(desk.state.history.effects)

    def test_a_case_tells_only_its_own(self) -> None:
        """`effects` and `ledger` are scoped by case, also where one operation moved cards of two."""
        desk = Desk()
        other = CaseKey("acme", "claims", "case-2")
        desk.perform(builders.open_case(other))
        mine = desk.write(present(expires_in=1))
        theirs = desk.write(present(key=other, expires_in=1))
        settled(desk, desk.write(present(key=other, independent=True)))
        desk.advance(1)
        desk.perform(ops.CardExpireDue())
        assert desk.state.cards_of(CASE) == {mine}
        assert [each.card for batch in desk.state.batches_of(CASE) for each in batch] == [mine, mine]
        assert theirs in {each.card for batch in desk.state.batches_of(other) for each in batch}
        assert (desk.state.effects_of(CASE), len(desk.state.effects_of(other))) == ((), 1)


class TestMetrics:
    """E3: The counters agree with the ledger and the outcomes; a restore counts nowhere."""

    def counted(self, desk: Desk) -> tuple[int, ...]:
        """The counters, as they are read: created, resolved, stale, failed."""
        return astuple(desk.expect(ops.Metrics, ops.ReadMetrics()))

    def test_each_counter_counts_its_own(self) -> None:
        """Written cards, those that resolve or fail, and whatever is refused as stale; replays and restores count nowhere."""
        desk = Desk()
        assert self.counted(desk) == (0, 0, 0, 0)
        card, other = desk.write(), desk.write(present(independent=True))
        desk.perform(answer(card, revision=2))
        assert self.counted(desk) == (2, 0, 1, 0)
        desk.perform(settle(desk.accept(card), "failed", "restore"))
        assert self.counted(desk) == (2, 0, 1, 0)
        desk.perform(settle(desk.accept(card), "failed"))
        assert self.counted(desk) == (2, 0, 1, 1)
        desk.perform(answer(other, "pick"))
        desk.perform(answer(other, "pick"))
        desk.perform(answer(card))
        assert self.counted(desk) == (2, 1, 1, 1)

    def test_refused_presentations_and_dismissals_are_stale_too(self) -> None:
        """Whatever the operation was."""
        desk = Desk()
        card = desk.write()
        desk.perform(dismiss(card, revision=2))
        desk.perform(present(for_revision=2))
        assert self.counted(desk) == (1, 0, 2, 0)

    def test_a_reset_begins_anew(self) -> None:
        """Since the last reset, and a restart is none."""
        desk = Desk()
        desk.write()
        desk.perform(ops.Restart())
        assert desk.metrics() == {"created": 1, "resolved": 0, "stale": 0, "failed": 0}
        desk.perform(ops.Reset(now=builders.NOON_INSTANT))
        assert self.counted(desk) == (0, 0, 0, 0)


class TestReads:
    """`effects` in commit order, `ledger` in order; those of an unknown case are empty lists."""

    def test_an_unknown_case_has_no_history(self) -> None:
        """It is not refused."""
        key = {"account": "acme", "workflow": "claims", "case": "case-9"}
        assert ReferenceStore().effects(**key) == {"effects": []}
        assert ReferenceStore().ledger(**key) == {"entries": []}

    def test_what_was_kept_is_told(self) -> None:
        """Each read has one answer, and changes nothing."""
        desk = Desk()
        settled(desk, desk.write())
        before = desk.state
        assert desk.perform(EFFECTS) == ops.Effects(effects=desk.effects_of_case())
        assert desk.perform(LEDGER) == ops.Ledger(entries=desk.entries())
        assert [(each.state, each.branch.happened) for each in possibilities(before, LEDGER, ALL_CLAIMS)] == [
            (before, ())
        ]
        assert desk.state == before


class TestReferenceStore:
    """The reference store takes the first branch, and answers in the JSON of the protocol."""

    def test_it_takes_the_first_branch(self) -> None:
        """Its next state is that of the first possibility."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        desk.advance(1)
        first, *others = possibilities(desk.state, answer(card), desk.claims)
        assert others
        assert desk.perform(answer(card)) == first.branch.outcome
        assert desk.state == first.state

    def test_it_describes_itself(self) -> None:
        """It claims all that there is, or what it was made with, and may be wiped."""
        described = ReferenceStore().describe()
        assert described["system"] == {"name": "reference", "version": VERSION, "language": "python"}
        assert described["claims"] == sorted(ALL_CLAIMS)
        assert (described["protocol"], described["environment"]) == (1, "test")
        assert ReferenceStore(AT_ONCE).describe()["claims"] == sorted(AT_ONCE)

    def test_a_new_store_is_empty(self) -> None:
        """Nothing has happened in it."""
        assert ReferenceStore().state == State()

    def test_a_whole_story_by_its_methods(self) -> None:
        """Every operation is a method with keyword arguments that returns the result as the protocol writes it."""
        store = ReferenceStore()
        assert store.reset(now=builders.NOON, settings={"allow_text_resolution_for_low_risk": True}) == {}
        assert store.case_open(**KEY) == {"revision": 1}
        body: dict[str, Json] = {"title": "T", "options": [
            {"id": "yes", "label": "Yes", "action": {"kind": "apply_operation", "operation": "pay", "arguments": {"n": 5}}},
            {"id": "no", "label": "No", "action": {"kind": "decline"}, "freeform": {"kind": "optional", "max_length": 9}},
        ]}  # fmt: skip
        written = store.card_present(
            **KEY, conversation="chat-1", kind="confirm_command", blocking=True, revision_independent=False, for_revision=None,
            payload=body, expires_in=60, text_resolution=None, confirms_risk="destructive", on_occupied="refuse",
        )  # fmt: skip
        card = written["card"]
        assert isinstance(card, Mapping)
        assert (written["outcome"], written["invalidated"]) == ("presented", [])
        assert (card["created_at"], card["expires_at"]) == ("2026-01-01T12:00:00.000Z", "2026-01-01T12:01:00.000Z")
        assert card["payload"] == {"title": "T", "options": [
            {"id": "yes", "label": "Yes"},
            {"id": "no", "label": "No", "freeform": {"kind": "optional", "max_length": 9}},
        ]}  # fmt: skip
        assert store.card_get(**OWNER, card="card-1") == {"outcome": "found", "card": card}
        assert store.card_list(**OWNER) == {"cards": [card]}
        response: Json = {"interaction_id": "card-1", "option_id": "yes", "expected_case_revision": 1}
        accepted = {"command": "command-2", "idempotency_key": "key-3"}
        assert store.card_respond(**OWNER, response=response) == {"outcome": "accepted", **accepted}
        assert store.card_respond(**OWNER, response=response) == {"outcome": "in_flight", **accepted}
        result = {
            "card": "card-1",
            "option": "yes",
            "command": "command-2",
            "effects": ["effect-4"],
            "case_revision": 2,
        }
        assert store.command_settle(command="command-2", result="committed") == {
            "outcome": "resolved",
            "result": result,
        }
        assert store.card_respond(**OWNER, response=response) == {"outcome": "replayed", "result": result}
        assert store.clock_advance(seconds=61.5) == {"now": "2026-01-01T12:01:01.500Z"}
        assert store.card_expire_due() == {"expired": []}
        assert store.case_edit(**KEY) == {"revision": 3, "invalidated": []}
        assert store.command_next(result="failed", on_failure="restore") == {}
        assert store.restart() == {}
        assert store.effects(**KEY) == {"effects": [{
            "id": "effect-4", **accepted, "card": "card-1", "option": "yes",
            "action": {"kind": "apply_operation", "operation": "pay", "arguments": {"n": 5}}, "arguments": {"n": 5},
            "payload_hash": card["payload_hash"], "case_revision": 2,
        }]}  # fmt: skip
        told = store.ledger(**KEY)["entries"]
        assert isinstance(told, list)
        assert told[0] == {"seq": 1, "at": builders.NOON.replace("Z", ".000Z"), "card": "card-1", "event": "present",
                           "to": "active", "cause": {}}  # fmt: skip
        assert told[-1]["from"] == "resolving"

    @pytest.mark.parametrize("sent", [1, "yes", [], {}, {"interaction_id": None}, {"deep": [[[[]]]]}])
    def test_any_json_is_an_answer_to_read(self, sent: Json) -> None:
        """I19.6: a malformed response is refused and the system goes on."""
        store = Desk()
        malformed = {"outcome": "rejected", "code": "malformed"}
        assert store.card_respond(**OWNER, response=sent) == malformed

    def test_null_is_an_answer_to_read(self) -> None:
        """I19.6: `response` is any JSON, and null is one that is malformed."""
        malformed = {"outcome": "rejected", "code": "malformed"}
        assert Desk().card_respond(**OWNER, response=None) == malformed


Act = Callable[[Desk], object]


class TestEvidence:
    """E4: Two runs with the same inputs, ids and clock give the same ledger, byte for byte."""

    ACTS: tuple[Act, ...] = (
        lambda desk: desk.write(present(blocking=True)),
        lambda desk: desk.write(present(blocking=True, on_occupied="replace", expires_in=3)),
        lambda desk: desk.perform(answer("card-2", "both")),
        lambda desk: desk.perform(settle("command-3", "failed", "restore")),
        lambda desk: desk.perform(answer("card-2", "record")),
        lambda desk: desk.write(present(expires_in=1)),
        lambda desk: desk.advance(2),
        lambda desk: desk.perform(answer("card-9")),
        lambda desk: desk.perform(ops.CardExpireDue()),
        lambda desk: desk.edit(),
        lambda desk: desk.perform(get("card-1")),
    )

    def told(self) -> bytes:
        """The ledger of one run, as it is written."""
        desk = Desk()
        for act in self.ACTS:
            act(desk)
        return json.dumps(desk.ledger(**KEY)).encode()

    def test_two_runs_give_the_same_ledger(self) -> None:
        """Nothing in it comes from anywhere but the inputs."""
        first = self.told()
        assert first == self.told()
        assert all(each in first for each in (b"superseded", b"restore", b"decline", b"expire"))
