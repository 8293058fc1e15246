"""One worker of a service: looks at what is open in a conversation, and does one of the things that people and services do.

Cards are presented and answered, commands are settled, records are edited. Much of it is done twice: what one lane does is
often handed to another process, which does the same at about the same time, or contradicts it.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from keyturn.cards import InteractionKind
from keyturn_testing.payloads import payload
from lanes import Lane

KINDS = (InteractionKind.CONFIRM_COMMAND, InteractionKind.REVIEW_CHANGES, InteractionKind.SINGLE_SELECT)
MOST_OPEN = 6
"""With so many open cards a conversation is answered, and not asked more."""

Card = Mapping[str, Any]


def key_of(number: int) -> dict[str, str]:
    """The key of one of the cases."""
    return {"account": "acme", "workflow": "travel", "case": f"trip-{number}"}


def asker_of(number: int) -> dict[str, str]:
    """Who is asked about it."""
    return {"account": "acme", "conversation": f"chat-{number}"}


class Shift:
    """What one lane does, and the commands that it has to settle."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.draw = random.Random(f"{lane.settings['seed']} {lane.number}")
        self.commands: list[str] = []
        self.cards = 0

    def work(self) -> None:
        """Work until the time is over."""
        end = time.monotonic() + float(self.lane.settings["seconds"])
        names, weights = list(ACTIONS), [weight for weight, _ in ACTIONS.values()]
        while time.monotonic() < end and not self.lane.stop.is_set():
            handed = self.lane.handed()
            if handed is not None:
                self.ask(*handed)
                continue
            number = self.draw.randrange(self.lane.settings["cases"])
            (name,) = self.draw.choices(names, weights)
            _, action = ACTIONS[name]
            action(self, number)

    def ask(self, method: str, asked: dict[str, Any]) -> dict[str, Any]:
        """Ask, and remember the command that came of it."""
        answer = self.lane.ask(method, **asked)
        if answer.get("outcome") == "accepted":
            self.commands.append(str(answer["command"]))
        return answer

    def open_cards(self, number: int) -> list[Card]:
        """Look at a conversation; nothing is seen where the store is busy."""
        cards: list[Card] = self.ask("card.list", asker_of(number)).get("cards", [])
        return cards

    def a_card(self, number: int) -> Card | None:
        """Look at a conversation, and choose one of its cards, the oldest most often."""
        cards = self.open_cards(number)
        return None if not cards else cards[0] if self.draw.random() < 0.6 else self.draw.choice(cards)

    def present(self, number: int) -> None:
        """Ask something new, unless much is open already."""
        if len(self.open_cards(number)) >= MOST_OPEN:
            self.click(number)
            return
        self.cards += 1
        kind = self.draw.choice(KINDS)
        card = {
            "conversation": asker_of(number)["conversation"],
            "kind": kind.value,
            "blocking": self.draw.random() < 0.5,
            "revision_independent": self.draw.random() < 0.2,
            "payload": payload(kind, self.cards, text=False),
            "on_occupied": self.draw.choice(("refuse", "replace")),
        }
        self.ask("card.present", key_of(number) | card)

    def click(self, number: int) -> None:
        """Answer a card: alone, twice from two processes, or against somebody else's answer."""
        card = self.a_card(number)
        if card is None:
            return
        first, second = (self._answer(number, card) for _ in range(2))
        with_another = self.draw.random()
        if with_another < 0.6:
            self.lane.hand_on(["card.respond", first if with_another < 0.4 else second])
        self.ask("card.respond", first)

    def _answer(self, number: int, card: Card) -> dict[str, Any]:
        option = self.draw.choice(card["payload"]["options"])["id"]
        response = {"interaction_id": card["id"], "option_id": option}
        if card.get("case_revision") is not None:
            response["expected_case_revision"] = card["case_revision"]
        return asker_of(number) | {"response": response}

    def settle(self, _number: int) -> None:
        """Say how a command ended: alone, twice, or against somebody else."""
        if not self.commands:
            return
        command = self.commands.pop(self.draw.randrange(len(self.commands)))
        result = "committed" if self.draw.random() < 0.8 else "failed"
        how = {"command": command, "result": result, "on_failure": self.draw.choice(("record", "restore"))}
        with_another = self.draw.random()
        if with_another < 0.4:
            other = how if with_another < 0.3 else how | {"result": "failed"}
            self.lane.hand_on(["command.settle", other])
        self.ask("command.settle", how)

    def dismiss(self, number: int) -> None:
        """Close a card from outside."""
        card = self.a_card(number)
        if card is not None:
            revision = {name: card[name] for name in ("case_revision",) if card.get(name) is not None}
            expected = {f"expected_{name}": value for name, value in revision.items()}
            self.ask("card.dismiss", asker_of(number) | {"card": card["id"]} | expected)

    def edit(self, number: int) -> None:
        """Change the record."""
        self.ask("case.edit", key_of(number))

    def get(self, number: int) -> None:
        """Read one card."""
        card = self.a_card(number)
        if card is not None:
            self.ask("card.get", asker_of(number) | {"card": card["id"]})


ACTIONS: Mapping[str, tuple[int, Callable[[Shift, int], None]]] = {
    "present": (5, Shift.present),
    "click": (8, Shift.click),
    "settle": (6, Shift.settle),
    "dismiss": (1, Shift.dismiss),
    "edit": (1, Shift.edit),
    "get": (2, Shift.get),
}
"""What a lane does, and how often."""


def work(lane: Lane) -> None:
    """Work one shift."""
    Shift(lane).work()
