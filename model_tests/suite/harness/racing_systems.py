"""Stores whose calls overlap, sound and unsound: on an event loop, where the suite decides how, and on threads."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from keyturn.branches import Outcome
from keyturn.operations import CardPresent, CardRespond, Operation
from keyturn.store import ReferenceStore, heard
from keyturn.values import Json


class Awaiting:
    """The reference store behind an await: sound, because nothing happens between looking and acting."""

    torn: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.store = ReferenceStore()

    def describe(self) -> dict[str, Json]:
        """What the reference says of itself."""
        return self.store.describe()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Mapping[str, Json]]]:
        function = getattr(self.store, name)

        async def call(**params: Json) -> Mapping[str, Json]:
            await asyncio.sleep(0)
            before = self.store.state
            answer: Mapping[str, Json] = function(**params)
            after = self.store.state
            if name in self.torn and after != before:
                # It looked, and acts on what it saw whatever has happened since.
                self.store.state = before
                await asyncio.sleep(0)
                self.store.state = after
            return answer

        return call


class AnswersTorn(Awaiting):
    """Looks whether a card waits, lets others go on, and then takes the answer."""

    torn = frozenset({"card_respond"})


class QuestionsTorn(Awaiting):
    """Looks whether a case is free, lets others go on, and then presents a card."""

    torn = frozenset({"card_present"})


class Locked(Awaiting):
    """The same gap, behind a lock that every call takes."""

    torn = frozenset({"card_respond", "card_present"})

    def __init__(self) -> None:
        super().__init__()
        self.lock = asyncio.Lock()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Mapping[str, Json]]]:
        unlocked = super().__getattr__(name)

        async def call(**params: Json) -> Mapping[str, Json]:
            async with self.lock:
                return await unlocked(**params)

        return call


class TornOnThreads(ReferenceStore):
    """Looks, waits a moment, and acts, on the thread that calls it."""

    takes_turns = False

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation on what was there some time ago."""
        chosen = self.pick(operation)
        if isinstance(operation, CardRespond | CardPresent):
            time.sleep(0.001)
        self.state = chosen.state
        return heard(chosen.branch)
