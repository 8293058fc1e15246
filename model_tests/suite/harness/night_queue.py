"""A queue that a night shift works off: a sound system that was written from the text alone, without the kernel.

It has no blocking cards, no owners, no revisions, no clock, no free text, no ledger and no counters; its numbers count up, and
every refusal is the same refusal. Commands wait for whoever carries them out. It answers asynchronously, with attrs values, and
offers two kinds of cards only.
"""

import asyncio
from hashlib import md5
from itertools import count
from typing import Any, ClassVar

from attrs import define, field, frozen

from .by_the_text import AUTHORISING, fits, is_clean

Refused = dict[str, str]

CLAIMS = ("cards", "list", "deferred", "dismiss", "restart")
NIGHT = "2001-02-03T04:05:06.789-11:30"
"""What the clock of the queue shows: it has stopped, and nobody asked for one."""


@frozen
class Option:
    """What is shown of an option."""

    id: str
    label: str


@frozen
class Payload:
    """What is shown of a question."""

    title: str
    options: tuple[Option, ...]


@define
class Card:
    """What is shown of a card."""

    id: str
    conversation: str
    workflow: str
    case: str
    kind: str
    payload: Payload
    payload_hash: str
    status: str = "active"
    resolved_option: str | None = None
    resolved_at: str | None = None
    created_at: str = NIGHT
    blocking: bool = False
    revision_independent: bool = False


@frozen
class Presented:
    """The card is there."""

    outcome: ClassVar[str] = "presented"
    card: Card
    invalidated: tuple[str, ...] = ()


@frozen
class Found:
    """This is the card."""

    outcome: ClassVar[str] = "found"
    card: Card


@frozen
class Pending:
    """A command waits: a new one, or the one that waited before."""

    outcome: str
    command: str
    idempotency_key: str


@frozen
class Result:
    """What came of a question."""

    card: str
    option: str | None
    effects: tuple[str, ...]
    case_revision: int = 1


@frozen
class Ended:
    """A question is over."""

    outcome: str
    result: Result


@frozen
class GivenUp:
    """A command did not commit."""

    outcome: str
    code: str = "command_failed"


@frozen
class Effect:
    """What a command did."""

    id: str
    command: str
    idempotency_key: str
    card: str
    option: str
    action: Any
    payload_hash: str
    case_revision: int = 1


@define
class Question:
    """A card, with what only the queue may know of it."""

    card: Card
    place: tuple[str, str]
    actions: dict[str, Any]
    pending: Pending | None = None


@define
class Command:
    """A command of a question, and how it ended."""

    question: Question
    option: str
    key: str
    ended: tuple[str, str] | None = None
    reply: Ended | GivenUp | None = None


@define
class Shelf:
    """What the queue keeps over a restart."""

    numbers: "count[int]" = field(factory=lambda: count(1000))
    questions: dict[str, Question] = field(factory=dict)
    commands: dict[str, Command] = field(factory=dict)
    effects: dict[tuple[str, str], list[Effect]] = field(factory=dict)


def refused() -> Refused:
    """The one refusal that there is; its code says nothing."""
    return {"outcome": "rejected", "code": "unavailable"}


class NightQueue:
    """The queue itself; what it does not claim it has no method for."""

    shelf = Shelf()

    async def describe(self) -> dict[str, Any]:
        """Say what the queue does."""
        offers = {
            "kinds": ["confirm_command", "single_select"],
            "actions": ["confirm_commands", "custom", "decline", "dismiss"],
        }
        system = {"name": "night-queue", "version": "2001", "language": None}
        return {
            "protocol": 1,
            "system": system,
            "claims": CLAIMS,
            "offers": offers,
            "environment": "test",
            "not_claimed": None,
        }

    async def reset(self, *, now: str, settings: object = None) -> dict[str, Any]:
        """Begin a new night; numbers go on."""
        self.shelf = Shelf(numbers=self.shelf.numbers)
        return {}

    async def restart(self) -> dict[str, Any]:
        """Wake up: what is on the shelf is still there, and nothing else was ever known."""
        shelf = self.shelf
        self.__dict__.clear()
        self.shelf = shelf
        return {}

    def number(self) -> str:
        """A number that nothing ever had."""
        return str(next(self.shelf.numbers))

    async def case_open(self, *, account: str, workflow: str, case: str) -> dict[str, Any]:
        """Open a case; there is nothing to know of it."""
        self.shelf.effects.setdefault((workflow, case), [])
        await asyncio.sleep(0)
        return {"revision": 1}

    async def card_present(
        self, *, workflow: str, case: str, kind: str, payload: Any, **asked: Any
    ) -> Presented | Refused:
        """Put a question into the queue."""
        if (workflow, case) not in self.shelf.effects or not fits(kind, payload):
            return refused()
        number = self.number()
        shown = Payload(payload["title"], tuple(Option(each["id"], each["label"]) for each in payload["options"]))
        card = Card(
            id=number,
            conversation=asked["conversation"],
            workflow=workflow,
            case=case,
            kind=kind,
            payload=shown,
            payload_hash=md5(f"{number}{payload}".encode(), usedforsecurity=False).hexdigest(),
        )
        actions = {each["id"]: each["action"] for each in payload["options"]}
        self.shelf.questions[number] = Question(card, (workflow, case), actions)
        return Presented(card)

    async def card_get(self, *, account: str, conversation: str, card: str) -> Found | Refused:
        """Show a card to whoever asks."""
        question = self.shelf.questions.get(card)
        return refused() if question is None else Found(question.card)

    async def card_list(self, *, account: str, conversation: str) -> dict[str, Any]:
        """Show what is open, to whoever asks."""
        every = [each.card for each in self.shelf.questions.values()]
        return {"cards": tuple(each for each in every if each.status in ("active", "resolving"))}

    async def card_respond(self, *, account: str, conversation: str, response: Any) -> object:
        """Take an answer, whatever else was sent with it."""
        if not isinstance(response, dict) or not is_clean(response):
            return refused()
        name, option = response.get("interaction_id"), response.get("option_id")
        question = self.shelf.questions.get(name) if isinstance(name, str) else None
        if question is None or not isinstance(option, str):
            return refused()
        if question.pending is not None:
            return question.pending
        if question.card.status != "active" or option not in question.actions:
            return refused()
        kind = question.actions[option]["kind"]
        if kind not in AUTHORISING:
            return self.close(question, {"decline": "declined", "dismiss": "dismissed"}.get(kind, "resolved"), option)
        command = self.number()
        self.shelf.commands[command] = Command(question, option, self.number())
        question.card.status, question.card.resolved_option, question.card.resolved_at = "resolving", option, NIGHT
        question.pending = Pending("in_flight", command, self.shelf.commands[command].key)
        return Pending("accepted", command, self.shelf.commands[command].key)

    async def card_dismiss(
        self, *, account: str, conversation: str, card: str, expected_case_revision: Any = None
    ) -> object:
        """Put a question away."""
        question = self.shelf.questions.get(card)
        if question is not None and question.pending is not None:
            return question.pending
        active = question is not None and question.card.status == "active"
        return self.close(question, "dismissed", None) if question is not None and active else refused()

    def close(self, question: Question, outcome: str, option: str | None, effects: tuple[str, ...] = ()) -> Ended:
        """End a question."""
        question.card.status, question.card.resolved_option, question.card.resolved_at = outcome, option, NIGHT
        question.pending = None
        return Ended(outcome, Result(question.card.id, option, effects))

    async def command_settle(self, *, command: str, result: str, on_failure: str = "record") -> object:
        """Hear how a command ended: once, and the same again as often as anybody likes."""
        found = self.shelf.commands.get(command)
        if found is None:
            return refused()
        if found.ended is not None:
            return found.reply if found.ended == (result, on_failure) else refused()
        found.ended, question = (result, on_failure), found.question
        if result == "committed":
            found.reply = self.close(question, "resolved", found.option, self.commit(command, found))
        elif on_failure == "record":
            question.card.status, question.pending = "failed", None
            found.reply = GivenUp("failed")
        else:
            question.card.status, question.pending = "active", None
            question.card.resolved_option = question.card.resolved_at = None
            found.reply = GivenUp("restored")
        return found.reply

    def commit(self, number: str, command: Command) -> tuple[str, ...]:
        """Do everything that a command says."""
        question, action = command.question, command.question.actions[command.option]
        made = [
            Effect(
                self.number(), number, command.key, question.card.id, command.option, action, question.card.payload_hash
            )
            for _ in action["command_refs"]
        ]
        self.shelf.effects[question.place] += made
        return tuple(each.id for each in made)

    async def effects(self, *, account: str, workflow: str, case: str) -> dict[str, Any]:
        """Show what was done."""
        return {"effects": tuple(self.shelf.effects.get((workflow, case), ()))}
