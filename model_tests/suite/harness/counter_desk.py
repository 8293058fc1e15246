"""A desk that serves one visitor after the other: a sound system that was written from the text alone, without the kernel.

It runs a command while the visitor waits. So nothing is ever in flight: whoever answers while an answer is being carried out
waits for its end, and in a sequence of calls that is a system without `deferred`. It sweeps before anything else, names the
last check that fails, counts revisions in jumps, salts its hashes card by card, and tells more than it must.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from hashlib import blake2b
from typing import Any
from uuid import UUID, uuid5

from attrs import define, field

from .by_the_text import AUTHORISING, CLOSING, WHITE_SPACE, fits, is_response, placed, policy, text_problems

Answer = dict[str, Any]

ZONE = timezone(timedelta(hours=2))
ROOT = UUID("6f0e7f3c-5d0b-4f0e-9a53-8f1f5f0c2c11")
JUMP = 5
"""How far a revision moves with each change."""

CLAIMS = (
    *("cards", "owners", "revisions", "independent", "blocking", "refuse", "replace", "list", "freeform", "replay"),
    *("dismiss", "clock", "administrative", "for_revision", "ledger", "metrics", "coded_refusals"),
)


@define
class Case:
    """A file on the desk."""

    revision: int = 1
    closed: bool = False
    effects: list[Answer] = field(factory=list)
    ledger: list[Answer] = field(factory=list)


@define
class Card:
    """A question, with what only the desk may know of it beside what its owner is shown."""

    account: str
    key: tuple[str, str, str]
    actions: dict[str, Answer]
    shown: Answer
    due: datetime | None
    result: Answer | None = None

    @property
    def status(self) -> str:
        """The status as its owner reads it."""
        return str(self.shown["status"])


def refused(code: str, **more: str) -> Answer:
    """A refusal, with a word for people that nobody has to read."""
    return {"code": code, "message": f"The desk cannot do that: {code}.", "outcome": "rejected", **more}


class CounterDesk:
    """The desk itself; what it does not claim it has no method for."""

    def describe(self) -> Answer:
        """Say what the desk does; a few requirements more or less are nobody's business here."""
        system = {"name": "counter-desk", "version": "7"}
        return {"claims": CLAIMS, "environment": "test", "protocol": 1, "system": system, "opening_hours": "9-17"}

    def reset(self, *, now: str, settings: object = None) -> Answer:
        """Empty the desk; the numbers that were given out stay given out."""
        self.now = datetime.fromisoformat(now)
        self.cases: dict[tuple[str, str, str], Case] = {}
        self.cards: dict[str, Card] = {}
        self.counts = {"created": 0, "resolved": 0, "stale": 0, "failed": 0}
        self.next = ("committed", "record")
        self.issued = getattr(self, "issued", 0)
        return {"cleared": True}

    def new_id(self) -> str:
        """An id that nobody ever had."""
        self.issued += 1
        return str(uuid5(ROOT, str(self.issued)))

    def time(self, moment: datetime) -> str:
        """A time as the clock on the wall shows it."""
        return moment.astimezone(ZONE).isoformat(timespec="milliseconds")

    def note(self, card: Card, event: str, to: str, **cause: object) -> None:
        """Move a card, and write it down."""
        before = card.shown["status"] if event != "present" else None
        card.shown["status"] = to
        entries = self.cases[card.key].ledger
        entries.append(
            {"seq": 10 * len(entries), "at": self.time(self.now), "card": card.shown["id"], "from": before}
            | {"event": event, "to": to, "cause": cause}
        )
        if to in ("resolved", "failed"):
            self.counts[to] += 1

    def end(self, cards: list[Card], event: str, to: str, **cause: object) -> list[str]:
        """End Active cards, the newest first."""
        ended = [each for each in reversed(cards) if each.status == "active"]
        for each in ended:
            self.note(each, event, to, **cause)
        return [str(each.shown["id"]) for each in ended]

    def of_case(self, key: tuple[str, str, str]) -> list[Card]:
        """The cards of a case."""
        return [each for each in self.cards.values() if each.key == key]

    def sweep(self) -> list[str]:
        """Nothing overdue is ever seen on this desk."""
        due = [each for each in self.cards.values() if each.due is not None and each.due <= self.now]
        return self.end(due, "expire", "expired")

    def move(self, key: tuple[str, str, str]) -> list[str]:
        """Move a revision, and end every question that was drawn from an older one."""
        case = self.cases[key]
        case.revision += JUMP
        bound = [each for each in self.of_case(key) if not each.shown["revision_independent"]]
        return self.end(bound, "invalidate", "invalidated", reason="revision_changed")

    # Cases.

    def case_open(self, *, account: str, workflow: str, case: str) -> Answer:
        """Open a case, or find it open."""
        found = self.cases.setdefault((account, workflow, case), Case())
        found.closed = False
        return {"revision": found.revision}

    def case_edit(self, *, account: str, workflow: str, case: str) -> Answer:
        """Change the record of a case; of a closed one there is nothing to change."""
        self.sweep()
        key = (account, workflow, case)
        if key not in self.cases or self.cases[key].closed:
            return refused("not_found")
        invalidated = self.move(key)
        return {"invalidated": invalidated, "revision": self.cases[key].revision}

    def case_close(self, *, account: str, workflow: str, case: str) -> Answer:
        """Close a case; a closed one is not there to be closed again."""
        return self.clear((account, workflow, case), True, reason="case_closed")

    def card_withdraw(self, *, account: str, workflow: str, case: str, code: str) -> Answer:
        """Take the questions of a case back."""
        return self.clear((account, workflow, case), False, reason="administrative", code=code)

    def clear(self, key: tuple[str, str, str], closes: bool, **cause: object) -> Answer:
        """End every question of a case."""
        self.sweep()
        if key not in self.cases or self.cases[key].closed:
            return refused("not_found")
        self.cases[key].closed = closes
        return {"invalidated": self.end(self.of_case(key), "invalidate", "invalidated", **cause)}

    def clock_advance(self, *, seconds: float) -> Answer:
        """Let time pass."""
        self.now += timedelta(milliseconds=round(seconds * 1000))
        return {"now": self.time(self.now)}

    def card_expire_due(self) -> Answer:
        """Sweep."""
        return {"expired": self.sweep()}

    def command_next(self, *, result: str, on_failure: str = "record") -> Answer:
        """Say how the next command ends."""
        self.next = (result, on_failure)
        return {}

    # Questions.

    def card_present(self, **asked: Any) -> Answer:
        """Put a question on the desk."""
        self.sweep()
        key = (asked["account"], asked["workflow"], asked["case"])
        if key not in self.cases or self.cases[key].closed:
            return refused("not_found")
        if not fits(asked["kind"], asked["payload"]):
            return refused("invalid_card")
        revision, bound = self.cases[key].revision, not asked["revision_independent"]
        if bound and asked.get("for_revision") not in (None, revision):
            self.counts["stale"] += 1
            return refused("stale_revision")
        others = [each for each in self.of_case(key) if each.status == "active" and each.shown["blocking"]]
        if asked["blocking"] and others and asked["on_occupied"] == "refuse":
            return refused("slot_occupied")
        card = self.drawn(asked, key, revision if bound else None)
        replaced = others if asked["blocking"] else []
        invalidated = self.end(
            replaced, "invalidate", "invalidated", reason="superseded", superseded_by=card.shown["id"]
        )
        self.cards[card.shown["id"]] = card
        self.note(card, "present", "active")
        self.counts["created"] += 1
        return {"invalidated": invalidated, "card": dict(card.shown), "outcome": "presented"}

    def drawn(self, asked: Answer, key: tuple[str, str, str], revision: int | None) -> Card:
        """Draw a card: what its owner is shown, and what choosing does."""
        name, payload = self.new_id(), asked["payload"]
        options = payload["options"]
        seconds = asked.get("expires_in")
        due = None if seconds is None else self.now + timedelta(milliseconds=round(seconds * 1000))
        shown = {
            **{each: asked[each] for each in ("conversation", "workflow", "case", "kind", "blocking")},
            "revision_independent": revision is None,
            "case_revision": revision,
            "id": name,
            "status": "active",
            "payload_hash": blake2b(json.dumps(payload).encode(), digest_size=16, salt=name[:16].encode()).hexdigest(),
            "created_at": self.time(self.now),
            "expires_at": None if due is None else self.time(due),
            "resolved_at": None,
            "resolved_option": None,
            "payload": {
                **{each: payload.get(each) for each in ("title", "body", "freeform_prompt")},
                "review_entries": payload.get("review_entries") or [],
                "options": [{"freeform": policy(each), "label": each["label"], "id": each["id"]} for each in options],
            },
        }
        actions = {each["id"]: each["action"] for each in options}
        return Card(account=asked["account"], key=key, actions=actions, shown=shown, due=due)

    def card_get(self, *, account: str, conversation: str, card: str) -> Answer:
        """Show a card to anybody of its account, in whichever conversation."""
        self.sweep()
        found = self.cards.get(card)
        if found is None or found.account != account:
            return refused("not_found")
        return {"outcome": "found", "card": dict(found.shown)}

    def card_list(self, *, account: str, conversation: str) -> Answer:
        """Show what waits in a conversation: of one instant, the last one first."""
        self.sweep()
        mine = [
            each
            for each in self.cards.values()
            if (each.account, each.shown["conversation"]) == (account, conversation)
        ]
        waiting = [dict(each.shown) for each in reversed(mine) if each.status == "active"]
        return {"cards": sorted(waiting, key=lambda each: str(each["created_at"]))}

    # Answers.

    def card_respond(self, *, account: str, conversation: str, response: Any) -> Answer:
        """Take an answer, or say why not."""
        self.sweep()
        if not is_response(response):
            return refused("malformed")
        card = self.cards.get(response["interaction_id"])
        if card is None or (card.account, card.shown["conversation"]) != (account, conversation):
            return refused("not_found")
        text = response.get("freeform_input")
        text = None if text is not None and not text.strip(WHITE_SPACE) else text
        option = next((each for each in card.shown["payload"]["options"] if each["id"] == response["option_id"]), None)
        if response.get("expected_case_revision") is None and not card.shown["revision_independent"]:
            return refused("malformed")
        if card.status != "active":
            return self.ended(card)
        failing = [*self.stale(card, response.get("expected_case_revision"))]
        failing += ["unknown_option"] if option is None else text_problems(option["freeform"], text)
        if failing or option is None:
            self.counts["stale"] += failing[-1] == "stale_revision"
            return refused(failing[-1])
        return self.take(card, response["option_id"], text)

    def card_dismiss(self, *, account: str, conversation: str, card: str, expected_case_revision: Any = None) -> Answer:
        """Put a question away."""
        self.sweep()
        found = self.cards.get(card)
        if found is None or (found.account, found.shown["conversation"]) != (account, conversation):
            return refused("not_found")
        if expected_case_revision is None and not found.shown["revision_independent"]:
            return refused("malformed")
        if found.status != "active":
            return self.ended(found)
        if failing := [*self.stale(found, expected_case_revision)]:
            self.counts["stale"] += 1
            return refused(failing[0])
        return self.closed(found, "dismissed", "dismiss", None, None)

    def stale(self, card: Card, expected: object) -> Iterator[str]:
        """Say whether a question was drawn from, or is answered for, another state of the record."""
        bound = card.shown["case_revision"]
        if bound is not None and not expected == bound == self.cases[card.key].revision:
            yield "stale_revision"

    def ended(self, card: Card) -> Answer:
        """Answer for a question that is over; the one that waits instead is named to whoever may read it."""
        if card.status == "resolved":
            return {"result": card.result, "outcome": "replayed"}
        mine = (card.account, card.shown["conversation"])
        waiting = [each for each in self.of_case(card.key) if each.status == "active"]
        named = [each.shown["id"] for each in waiting if (each.account, each.shown["conversation"]) == mine]
        return refused("not_answerable", **({"current_card": named[-1]} if named else {}))

    def take(self, card: Card, option: str, text: str | None) -> Answer:
        """Do what the option stores, now."""
        action = card.actions[option]
        if action["kind"] in AUTHORISING:
            return self.run(card, option, text)
        if action["kind"] == "decline_and_record":
            command, key = self.new_id(), card.key
            # The card leaves Active first, so that the new revision does not end it.
            result = self.closed(card, "declined", "decline", option, text)
            self.move(key)
            effects = self.commit(card, option, text, command)
            result["result"] |= {"effects": effects, "case_revision": self.cases[key].revision}
            return result
        if action["kind"] in CLOSING:
            outcome = ("declined", "decline") if action["kind"] == "decline" else ("dismissed", "dismiss")
            return self.closed(card, *outcome, option, text)
        self.note(card, "accept", "resolving")
        return self.closed(card, "resolved", "commit", option, text)

    def closed(self, card: Card, outcome: str, event: str, option: str | None, text: str | None) -> Answer:
        """Close a question that needs no command."""
        card.shown |= {"resolved_at": self.time(self.now), "resolved_option": option}
        self.note(card, event, outcome)
        revision = self.cases[card.key].revision
        card.result = {
            "freeform": text,
            "effects": [],
            "case_revision": revision,
            "option": option,
            "card": card.shown["id"],
        }
        return {"result": card.result, "outcome": outcome}

    def run(self, card: Card, option: str, text: str | None) -> Answer:
        """Carry a command out while everybody waits."""
        (result, on_failure), self.next = self.next, ("committed", "record")
        command = self.new_id()
        self.note(card, "accept", "resolving", command=command)
        if result == "failed" and on_failure == "restore":
            self.note(card, "restore", "active", command=command)
            return {"code": "command_failed", "outcome": "restored"}
        card.shown |= {"resolved_at": self.time(self.now), "resolved_option": option}
        if result == "failed":
            self.note(card, "fail", "failed", command=command)
            return {"code": "command_failed", "outcome": "failed"}
        self.move(card.key)
        effects, revision = self.commit(card, option, text, command), self.cases[card.key].revision
        self.note(card, "commit", "resolved", command=command)
        card.result = {
            "freeform": text,
            "effects": effects,
            "case_revision": revision,
            "option": option,
            "card": card.shown["id"],
        }
        return {"outcome": "resolved", "result": card.result}

    def commit(self, card: Card, option: str, text: str | None, command: str) -> list[str]:
        """Let the effects of a command happen, all of them."""
        action, case = card.actions[option], self.cases[card.key]
        effect = {
            "action": action,
            "card": card.shown["id"],
            "case_revision": case.revision,
            "command": command,
            "freeform": text,
            "idempotency_key": f"once-{command}",
            "option": option,
            "payload_hash": card.shown["payload_hash"],
        }
        if action["kind"] == "apply_operation":
            effect["arguments"] = placed(action["arguments"], action.get("freeform_argument"), text)
        made = [{**effect, "id": self.new_id()} for _ in action.get("command_refs", ("one",))]
        case.effects += made
        return [str(each["id"]) for each in made]

    # Evidence.

    def effects(self, *, account: str, workflow: str, case: str) -> Answer:
        """Show what was done."""
        found = self.cases.get((account, workflow, case))
        return {"effects": [] if found is None else list(found.effects)}

    def ledger(self, *, account: str, workflow: str, case: str) -> Answer:
        """Show everything that happened."""
        self.sweep()
        found = self.cases.get((account, workflow, case))
        return {"entries": [] if found is None else list(found.ledger)}

    def metrics(self) -> Answer:
        """Show the counters."""
        self.sweep()
        return dict(self.counts)
