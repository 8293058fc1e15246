"""Watching what a system really answered: each example of a run as a list of calls, with the questions that a test asks of it.

A freedom of the text is only believed to be used where an answer shows it, so the questions are about answers alone.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from attrs import field, frozen, mutable

from keyturn.values import Json
from keyturn_testing.systems.base import Answered, Reply, WentWrong
from keyturn_testing.systems.in_process import InProcessSystem


@frozen
class Said:
    """One call and its answer; nothing stands for a reply that was lost."""

    method: str
    params: Mapping[str, Any]
    answer: Mapping[str, Any] | None

    @property
    def kind(self) -> str:
        """The outcome, with its code if it has one: what was decided, in a word or two."""
        told = self.answer or {}
        return " ".join(str(told[each]) for each in ("outcome", "code") if told.get(each) is not None)

    @property
    def card(self) -> str | None:
        """The id of the card that was answered, dismissed or read."""
        response = self.params.get("response")
        named = response.get("interaction_id") if isinstance(response, Mapping) else self.params.get("card")
        return named if isinstance(named, str) else None

    @property
    def option(self) -> object:
        """The option that was chosen."""
        response = self.params.get("response")
        return response.get("option_id") if isinstance(response, Mapping) else None


Decision: TypeAlias = tuple[Said, Mapping[str, Any], Mapping[str, Any]]
"""An answer to a card, and the card as it was last read before and next after."""


@mutable(slots=False)
class Example:
    """Everything that was said between two resets; it is only looked at when it is over."""

    said: list[Said] = field(factory=list)

    def of(self, *methods: str) -> Iterator[Said]:
        """The calls of these methods, in order, where a reply came."""
        return (each for each in self.said if each.method in methods and each.answer is not None)

    def answers(self, method: str) -> Iterator[Mapping[str, Any]]:
        """What was answered to a method."""
        return (each.answer for each in self.of(method) if each.answer is not None)

    def decided(self, *kinds: str) -> Iterator[Decision]:
        """The answers and dismissals that got one of these; all refusals for `rejected` alone."""
        return (each for each in self._decisions if each[0].kind in kinds or each[0].kind.split()[:1] == [*kinds])

    @cached_property
    def _decisions(self) -> list[Decision]:
        read: dict[str, Mapping[str, Any]] = {}
        before: list[tuple[int, Said, Mapping[str, Any]]] = []
        reads: dict[str, list[tuple[int, Mapping[str, Any]]]] = {}
        for place, each in enumerate(self.said):
            if each.card is None or each.answer is None:
                continue
            if each.kind == "found":
                read[each.card] = each.answer["card"]
                reads.setdefault(each.card, []).append((place, read[each.card]))
            elif each.method in ("card.respond", "card.dismiss"):
                before.append((place, each, read.get(each.card, {})))
        return [
            (said, earlier, next((view for at, view in reads.get(str(said.card), ()) if at > place), {}))
            for place, said, earlier in before
        ]

    @cached_property
    def views(self) -> list[Mapping[str, Any]]:
        """Every card that was shown, each time that it was."""
        told = (each.answer for each in self.said if each.answer is not None)
        return [each["card"] for each in told if isinstance(each.get("card"), Mapping)]

    @cached_property
    def presented(self) -> dict[str, Mapping[str, Any]]:
        """What each card was presented with, by its id."""
        return {
            each.answer["card"]["id"]: each.params
            for each in self.of("card.present")
            if each.answer is not None and each.kind == "presented"
        }


Used = Callable[[Example], bool]
"""Whether an example shows that a freedom was used."""


class Watched(InProcessSystem):
    """A system in process whose answers are looked at, one example after the other."""

    def __init__(self, make: Callable[[], object], freedoms: Mapping[str, Used]) -> None:
        super().__init__(make)
        self.unused, self.example = dict(freedoms), Example()
        self.asked: set[str] = set()
        self.owners: set[tuple[Json, Json]] = set()
        self.kinds: set[Json] = set()

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Call, and remember what was answered."""
        if method == "reset":
            self.look()
        reply = super().call(method, params)
        self.asked.add(method)
        if "conversation" in params:
            self.owners.add((params.get("account"), params["conversation"]))
        if method == "card.present":
            self.kinds.add(params.get("kind"))
        if isinstance(reply, Answered | WentWrong):
            answer = reply.result if isinstance(reply, Answered) and isinstance(reply.result, Mapping) else None
            self.example.said.append(Said(method, params, answer))
        return reply

    def look(self) -> None:
        """Look at the example that is over."""
        self.unused = {name: used for name, used in self.unused.items() if not used(self.example)}
        self.example = Example()
