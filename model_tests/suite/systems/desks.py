"""One desk at which a system is asked by hand, and clients that ask it at the same moment.

A desk knows one case and one conversation. What it is answered is plain JSON, whichever way the system is reached.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import Any, TypeVar

from attrs import frozen

from keyturn.values import Json
from keyturn_testing.systems.base import Answered, System

from ..sql.programs import PAYLOADS

OWNER: dict[str, Json] = {"account": "anna", "conversation": "phone"}

Came = TypeVar("Came")


@frozen
class Desk:
    """A system, and the case about which it is asked."""

    system: System
    case: str = "case-1"

    @property
    def key(self) -> dict[str, Json]:
        """The key of the case."""
        return {"account": "anna", "workflow": "travel", "case": self.case}

    def ask(self, method: str, params: Mapping[str, Json] | None = None) -> dict[str, Any]:
        """Ask for one operation, which must be answered."""
        reply = self.system.call(method, params or {})
        assert isinstance(reply, Answered), reply
        assert isinstance(reply.result, dict)
        return reply.result

    def open(self) -> None:
        """Open the case."""
        self.ask("case.open", self.key)

    def present(self) -> dict[str, Any]:
        """Present a blocking card."""
        kind, payload = PAYLOADS["confirm"]
        card: dict[str, Json] = {"kind": kind, "payload": payload, "blocking": True, "on_occupied": "refuse"}
        return self.ask("card.present", {**self.key, **card, "conversation": "phone", "revision_independent": False})

    def card(self) -> str:
        """Open the case, and present a card."""
        self.open()
        return str(self.present()["card"]["id"])

    def answer(self, card: str, option: str = "pay") -> dict[str, Any]:
        """Answer a card of the first revision."""
        response: Json = {"interaction_id": card, "option_id": option, "expected_case_revision": 1}
        return self.ask("card.respond", {**OWNER, "response": response})

    def settle(self, command: str) -> dict[str, Any]:
        """Let a command take effect."""
        return self.ask("command.settle", {"command": command, "result": "committed"})

    def status(self, card: str) -> str | None:
        """How a card reads, nothing for none."""
        found = self.ask("card.get", {**OWNER, "card": card})
        return str(found["card"]["status"]) if "card" in found else None

    def effects(self) -> list[dict[str, Any]]:
        """The effects of the case."""
        return list(self.ask("effects", self.key)["effects"])

    def events(self) -> list[str]:
        """The events in the ledger of the case."""
        return [each["event"] for each in self.ask("ledger", self.key)["entries"]]

    def listed(self) -> list[str]:
        """The open cards of the conversation."""
        return [each["id"] for each in self.ask("card.list", OWNER)["cards"]]


def at_once(calls: Sequence[Callable[[], Came]]) -> list[Came]:
    """What comes of calls that begin at the same moment."""
    barrier = Barrier(len(calls))

    def begin(call: Callable[[], Came]) -> Came:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as clients:
        return list(clients.map(begin, calls))


def two_answers(desks: Sequence[Desk]) -> list[str]:
    """The commands that two answers to one card at the same moment are told to have become."""
    card = desks[0].card()
    options = ("pay", "both")
    said = at_once([partial(each.answer, card, option) for each, option in zip(desks, options, strict=True)])
    return [each["command"] for each in said if each["outcome"] == "accepted"]


def two_questions(desks: Sequence[Desk]) -> list[str]:
    """The cards that two presentations at the same moment are told to be open, of a case with one slot."""
    desks[0].open()
    said = at_once([each.present for each in desks])
    return [each["card"]["id"] for each in said if each["outcome"] == "presented"]


def two_settlements(desks: Sequence[Desk]) -> list[str]:
    """The effects of a command that is settled twice at the same moment."""
    command = desks[0].answer(desks[0].card())["command"]
    at_once([partial(each.settle, command) for each in desks])
    return [each["id"] for each in desks[0].effects()]
