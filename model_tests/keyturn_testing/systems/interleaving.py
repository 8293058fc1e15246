"""Overlapping calls on an event loop: one lane goes on at a time, and a schedule says which.

Between two of its awaits a coroutine runs undisturbed, so that which lane goes on at each await is all that can differ. Every
lane asks for its turn before it goes on; when nothing else is left to happen on the loop, the schedule gives the turn to one of
those that ask. What a lane waits for by itself (a lock, another task, a socket) is left to the loop. The same schedule on a
system without threads and sockets gives the same replies, so that every way of taking turns can be tried once.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from types import coroutine
from typing import TypeAlias

from keyturn_testing.systems.base import Choice, Lanes, Reply, Request, Schedule, Timed, Together

_QUIET = 6
"""How many turns of the loop go by without news before a lane is given the turn."""


class Turns:
    """Who may go on: gives the turn to one lane at a time, by a schedule, and remembers the choices; `now` counts them."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self.choices: list[Choice] = []
        self.now = 0
        self._asking: dict[int, asyncio.Future[None]] = {}
        self._asked = asyncio.Event()

    async def turn(self, lane: int) -> None:
        """Wait until this lane may go on."""
        waiting = self._asking[lane] = asyncio.get_running_loop().create_future()
        self._asked.set()
        await waiting
        self.now += 1

    async def give(self) -> None:
        """Give turns for ever; the task is cancelled when every lane has ended."""
        while True:
            await self._asked.wait()
            quiet, known = 0, dict(self._asking)
            while quiet < _QUIET:
                await asyncio.sleep(0)
                quiet, known = (quiet + 1, known) if known == self._asking else (0, dict(self._asking))
            self._give_one()

    def _give_one(self) -> None:
        lanes = sorted(self._asking)
        chosen = 0
        if len(lanes) > 1:
            place = len(self.choices)
            chosen = self._schedule[place] if place < len(self._schedule) else 0
            # A system that does not always do the same may leave fewer lanes than the schedule knew.
            chosen = min(chosen, len(lanes) - 1)
            self.choices.append(Choice(chosen, len(lanes)))
        waiting = self._asking.pop(lanes[chosen])
        if not self._asking:
            self._asked.clear()
        if not waiting.done():
            waiting.set_result(None)


@coroutine
def in_turns(awaited: Awaitable[object], ask: Callable[[], Awaitable[None]]) -> Generator[object, object, object]:
    """Await something so that each of its steps after the first is taken only in turn."""
    steps = awaited.__await__()
    error: BaseException | None = None
    while True:
        try:
            waits_for = steps.send(None) if error is None else steps.throw(error)
        except StopIteration as ended:
            return ended.value
        error = None
        try:
            # What it waits for is handed to the loop as it is, and so is what ends the waiting.
            yield waits_for
            yield from ask().__await__()
        except BaseException as raised:  # noqa: BLE001  # a cancellation is its own to handle
            error = raised


Ask: TypeAlias = Callable[[Request, Callable[[], Awaitable[None]]], Awaitable[Reply]]
"""Makes one call, given what is awaited before each of its steps but the first."""


async def interleaved(lanes: Lanes, schedule: Schedule, ask: Ask) -> Together:
    """Make the calls of all lanes, in the turns of the schedule; what `ask` raises ends all of them."""
    turns = Turns(schedule)

    async def run(number: int) -> tuple[Timed, ...]:
        replies = []
        for request in lanes[number]:
            await turns.turn(number)
            began = turns.now
            reply = await ask(request, lambda: turns.turn(number))
            turns.now += 1
            replies.append(Timed(reply, began, turns.now))
        return tuple(replies)

    giving = asyncio.ensure_future(turns.give())
    running = [asyncio.ensure_future(run(number)) for number in range(len(lanes))]
    try:
        done = await asyncio.gather(*running)
    finally:
        for task in (giving, *running):
            task.cancel()
        await asyncio.gather(giving, *running, return_exceptions=True)
    return Together(tuple(done), tuple(turns.choices))
