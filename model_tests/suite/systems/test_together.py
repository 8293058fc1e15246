"""Calls at the same moment: they really overlap, each lane keeps its order, and nothing that goes wrong is waited for."""

import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from math import comb
from pathlib import Path
from typing import ClassVar

import pytest

from keyturn.errors import OperationFailed, Unsupported
from keyturn.values import Json
from keyturn_testing.systems.adapters import open_system
from keyturn_testing.systems.base import (
    Answered,
    Breakdown,
    Choice,
    NotOffered,
    Request,
    Schedule,
    System,
    Together,
    WentWrong,
)
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.systems.together import next_schedule

KEYTURN = Path(sys.executable).parent / "keyturn"
NOW = {"now": "2026-01-01T00:00:00Z"}
CASE: Mapping[str, Json] = {"account": "acme", "workflow": "trip", "case": "case-1"}
EDIT = Request("case.edit", CASE)


def outcomes(done: Together) -> list[list[object]]:
    """What was answered, lane by lane."""
    return [
        [each.reply.result if isinstance(each.reply, Answered) else each.reply for each in lane] for lane in done.lanes
    ]


def revisions(done: Together) -> list[int]:
    """The revisions that edits answered with, in the order of the numbers."""
    found = []
    for lane in done.lanes:
        for each in lane:
            assert isinstance(each.reply, Answered)
            assert isinstance(each.reply.result, dict)
            revision = each.reply.result["revision"]
            assert isinstance(revision, int)
            found.append(revision)
    return sorted(found)


def prepared(system: System) -> None:
    """Forget everything, and open the case."""
    system.call("reset", NOW)
    system.call("case.open", CASE)


class Slow:
    """An object whose calls take a moment, and which notes how many of them ran at once."""

    def __init__(self, seconds: float = 0.02) -> None:
        self.seconds, self.running, self.most, self.threads = seconds, 0, 0, set[int]()
        self.lock = threading.Lock()

    def case_edit(self, **case: str) -> Mapping[str, Json]:
        """Take a moment."""
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
            self.threads.add(threading.get_ident())
        time.sleep(self.seconds)
        with self.lock:
            self.running -= 1
        return {"revision": 1, "invalidated": []}

    def case_open(self, **case: str) -> Mapping[str, Json]:
        """Answer at once."""
        return {"revision": 1}


class TestThreads:
    """An object that is not asynchronous is called from several threads."""

    def test_calls_overlap(self) -> None:
        """All lanes at once, and the calls of a lane one after the other."""
        slow = Slow()
        system = InProcessSystem(lambda: slow)
        done = system.together([[EDIT, EDIT], [EDIT], [EDIT], [EDIT]])
        system.close()
        assert slow.most == 4
        assert done.choices is None
        first, second = done.lanes[0]
        assert first.ended <= second.began
        assert not first.overlaps(second)
        assert all(first.overlaps(lane[0]) for lane in done.lanes[1:])

    def test_an_object_that_takes_turns(self) -> None:
        """It is called by one thread at a time, and the calls wait for each other."""
        slow = Slow()
        slow.takes_turns = True  # type: ignore[attr-defined]  # that is how an object says it
        system = InProcessSystem(lambda: slow)
        done = system.together([[EDIT], [EDIT]])
        system.close()
        assert slow.most == 1
        assert done.lanes[0][0].overlaps(done.lanes[1][0])

    def test_an_object_with_others_beside_it(self) -> None:
        """Each lane but the first has one of its own, which is kept until the system restarts or is closed."""

        class Client(Slow):
            opened: ClassVar[list["Client"]] = []
            closed = 0

            def beside(self) -> "Client":
                self.opened.append(Client())
                return self.opened[-1]

            def restart(self) -> Mapping[str, Json]:
                return {}

            def close(self) -> None:
                Client.closed += 1

        first = Client()
        system = InProcessSystem(lambda: first)
        for _ in range(2):
            system.together([[EDIT], [EDIT], [EDIT]])
        assert (len(Client.opened), first.most) == (2, 1)
        assert system.restart() == Answered({})
        assert Client.closed == 2
        system.together([[EDIT], [EDIT]])
        system.close()
        assert (len(Client.opened), Client.closed) == (3, 4)

    @pytest.mark.parametrize(
        ("error", "reply"),
        [
            (Unsupported("no"), NotOffered()),
            (OperationFailed("the disk is full", definite=True), WentWrong(True, "the disk is full")),
            (OperationFailed("who knows", definite=False), WentWrong(False, "who knows")),
        ],
    )
    def test_what_is_no_answer(self, error: Exception, reply: object) -> None:
        """It is a reply like any other."""

        class Refusing(Slow):
            def case_open(self, **case: str) -> Mapping[str, Json]:
                raise error

        system = InProcessSystem(Refusing)
        done = system.together([[EDIT], [Request("case.open", CASE)]])
        system.close()
        assert outcomes(done)[1] == [reply]

    def test_a_lane_that_raises(self) -> None:
        """It breaks the conversation down, with the place that raised it."""

        class Broken(Slow):
            def case_open(self, **case: str) -> Mapping[str, Json]:
                raise ValueError("torn")

        system = InProcessSystem(Broken)
        with pytest.raises(
            Breakdown, match=r"case\.open raised ValueError: torn \(.*test_together\.py:\d+\)"
        ) as raised:
            system.together([[EDIT], [Request("case.open", CASE)]])
        assert raised.value.kind == "crashed"
        system.close()

    def test_a_lane_that_does_not_come_back(self) -> None:
        """It is left behind, and said to hang, in bounded time."""
        system = InProcessSystem(lambda: Slow(30), time_limit=0.2)
        start = time.monotonic()
        with pytest.raises(
            Breakdown, match=r"no answer to case\.edit, which ran beside other calls, within 0\.2 s"
        ) as raised:
            system.together([[Request("case.open", CASE)], [EDIT]])
        assert raised.value.kind == "hung"
        assert time.monotonic() - start < 5
        system.close()


class TestOtherWays:
    """A command has more processes, and a server more connections."""

    @pytest.mark.parametrize("adapter", ["sqlite", f"stdio:{KEYTURN} serve sqlite --stdio"])
    def test_one_store(self, adapter: str, tmp_path: Path) -> None:
        """However it is reached, edits at the same moment are each a revision."""
        system = open_system(adapter, data=tmp_path, time_limit=20)
        try:
            prepared(system)
            seen: Counter[bool] = Counter()
            for turn in range(5):
                done = system.together([[EDIT, EDIT], [EDIT], [EDIT]])
                assert revisions(done) == [turn * 4 + number for number in (2, 3, 4, 5)]
                seen[done.lanes[0][0].overlaps(done.lanes[1][0])] += 1
            assert seen[True] > 0
            system.restart()
            assert revisions(system.together([[EDIT], [EDIT]])) == [22, 23]
        finally:
            system.close()


class Stepping:
    """An asynchronous object whose calls have a number of awaits, and which notes who ran when."""

    def __init__(self, awaits: int = 1) -> None:
        self.awaits, self.ran = awaits, ""
        self.lock: asyncio.Lock | None = None

    async def describe(self) -> Mapping[str, Json]:
        """Make the object known to be asynchronous."""
        return {}

    async def case_edit(self, *, case: str, **rest: str) -> Mapping[str, Json]:
        """Run on, await by await."""
        self.ran += case
        for _ in range(self.awaits):
            await asyncio.sleep(0)
            self.ran += case
        return {"ran": self.ran}

    async def case_close(self, *, case: str, **rest: str) -> Mapping[str, Json]:
        """Run on behind a lock, which others have to wait for."""
        self.lock = self.lock or asyncio.Lock()
        async with self.lock:
            return await self.case_edit(case=case)

    async def case_open(self, **case: str) -> Mapping[str, Json]:
        """Wait for what never comes."""
        await asyncio.Event().wait()
        return {}


def ways(awaits: int, lanes: int, method: str = "case.edit") -> list[str]:
    """Everything that a number of lanes can do, one way of taking turns after the other."""
    seen: list[str] = []
    following: Schedule | None = ()
    while following is not None:
        stepping = Stepping(awaits)
        system = InProcessSystem(lambda: stepping)  # noqa: B023  # it is made at once
        system.call("describe", {})
        requests = [[Request(method, {**CASE, "case": "abcd"[lane]})] for lane in range(lanes)]
        done = system.together(requests, following)
        system.close()
        assert done.choices is not None
        seen.append(stepping.ran)
        following = next_schedule(done.choices)
    return seen


class TestInterleavings:
    """An asynchronous object is taken in every way in which its calls can take turns."""

    @pytest.mark.parametrize("awaits", [0, 1, 2, 3])
    def test_every_way_once(self, awaits: int) -> None:
        """Two lanes of n steps can be merged in as many ways as n places can be chosen out of twice as many."""
        seen = ways(awaits, 2)
        steps = awaits + 1
        assert len(seen) == len(set(seen)) == comb(2 * steps, steps)
        assert all(each.count("a") == each.count("b") == steps for each in seen)

    def test_three_lanes(self) -> None:
        """Two steps of each of three lanes: ninety ways."""
        assert len(set(ways(1, 3))) == len(ways(1, 3)) == 90

    def test_a_lock_leaves_fewer(self) -> None:
        """Only who comes first is left to choose."""
        assert set(ways(2, 2, "case.close")) == {"aaabbb", "bbbaaa"}

    def test_times_are_those_of_the_turns(self) -> None:
        """Calls that take turns overlap, and those that follow each other do not."""
        for schedule, overlapping in (((0, 0), False), ((0, 1), True), ((1, 1), False)):
            system = InProcessSystem(Stepping)
            system.call("describe", {})
            one, two = system.together([[EDIT], [EDIT]], schedule).lanes
            system.close()
            assert one[0].overlaps(two[0]) is overlapping, schedule

    def test_a_call_that_never_ends(self) -> None:
        """The whole is bounded by the time limit, and the system can be closed."""
        system = InProcessSystem(Stepping, time_limit=0.3)
        system.call("describe", {})
        with pytest.raises(Breakdown, match=r"no answer to case\.edit and case\.open within 0\.3 s") as raised:
            system.together([[EDIT], [Request("case.open", CASE)]])
        assert raised.value.kind == "hung"
        system.close()

    def test_what_is_raised(self) -> None:
        """In a lane as anywhere: a reply, or a breakdown that ends all lanes."""

        class Raising(Stepping):
            error: BaseException = OperationFailed("who knows", definite=False)

            async def case_open(self, **case: str) -> Mapping[str, Json]:
                await asyncio.sleep(0)
                raise self.error

        system = InProcessSystem(Raising)
        system.call("describe", {})
        lanes = [[EDIT], [Request("case.open", CASE), Request("card.list", {})]]
        assert outcomes(system.together(lanes))[1] == [WentWrong(False, "who knows"), NotOffered()]
        errors: tuple[BaseException, ...] = (ValueError("torn"), SystemExit(3), asyncio.CancelledError())
        for error in errors:
            Raising.error = error
            with pytest.raises(Breakdown) as raised:
                system.together(lanes)
            assert raised.value.kind == "crashed"
        system.close()


def test_the_next_way_of_taking_turns() -> None:
    """The last place that has another choice takes it, and what comes after begins anew."""
    assert next_schedule([]) is None
    assert next_schedule([Choice(1, 2), Choice(2, 3)]) is None
    assert next_schedule([Choice(0, 2), Choice(2, 3)]) == (1,)
    assert next_schedule([Choice(0, 2), Choice(1, 3), Choice(1, 2)]) == (0, 2)
