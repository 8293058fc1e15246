"""An object in process is limited in time, closed in order, and quoted with care."""

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from keyturn.store import ReferenceStore
from keyturn.values import Json
from keyturn_testing.systems import in_process
from keyturn_testing.systems.base import Answered, Breakdown, NotOffered
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.systems.saying import escaped, legible, quoted

from .programs import CASE, OpenObject, breakdown_of


def _spin(**_: object) -> object:
    while True:
        pass


def _swallow(**_: object) -> object:
    for _attempt in range(3):
        with contextlib.suppress(BaseException):
            time.sleep(60)
    return {}


async def _await(**_: object) -> object:
    await asyncio.sleep(60)
    return {}


class TestHang:
    """A call that does not return is ended where the process can do that, and the suite goes on."""

    @pytest.mark.parametrize(
        "answer", [_spin, lambda **_: time.sleep(60), _await, _swallow], ids=["spins", "sleeps", "awaits", "swallows"]
    )
    def test_a_hang_is_ended(self, open_object: OpenObject, answer: Callable[..., object]) -> None:
        """Spinning, sleeping, awaiting and swallowing the end itself are all ended soon after the limit."""
        began = time.monotonic()
        breakdown = breakdown_of(open_object(answer, time_limit=0.1))
        assert breakdown.kind == "hung"
        assert time.monotonic() - began < 5
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)

    def test_the_message_says_how_long_and_where(self, open_object: OpenObject) -> None:
        """The limit and the line that did not come to an end are named."""
        breakdown = breakdown_of(open_object(_spin, time_limit=0.1))
        assert breakdown.message.startswith("no answer to case.open within 0.1 s (it was at ")
        assert "test_in_process_limits.py:" in breakdown.message

    def test_making_the_object_is_limited_too(self) -> None:
        """An object that is not made in time has not started."""
        with pytest.raises(Breakdown, match="the time limit is over") as caught:
            InProcessSystem(lambda: time.sleep(60), time_limit=0.1)
        assert caught.value.kind == "not_started"
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL

    def test_an_asynchronous_hang_is_ended_on_any_thread(self, open_object: OpenObject) -> None:
        """Where there is no timer, the event loop ends what awaits for ever."""
        found: list[Breakdown] = []
        system = open_object(_await, time_limit=0.1)
        thread = threading.Thread(target=lambda: found.append(breakdown_of(system)))
        thread.start()
        thread.join(5)
        assert [each.kind for each in found] == ["hung"]

    def test_a_timer_in_use_is_left_alone(self, open_object: OpenObject) -> None:
        """Somebody else's timer goes on as if nothing had been, and the call is then not limited."""
        signal.setitimer(signal.ITIMER_REAL, 50)
        try:
            assert open_object(lambda **_: {}).call("case.open", CASE) == Answered({})
            assert signal.getitimer(signal.ITIMER_REAL)[0] > 40
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def test_a_handler_in_use_is_left_alone(self, open_object: OpenObject) -> None:
        """Somebody else's handler stays, and the call is then not limited."""

        def ring(*_: object) -> None:
            """Do nothing."""

        before = signal.signal(signal.SIGALRM, ring)
        try:
            assert open_object(lambda **_: {}).call("case.open", CASE) == Answered({})
            assert signal.getsignal(signal.SIGALRM) is ring
        finally:
            signal.signal(signal.SIGALRM, before)

    def test_the_signal_is_given_back(self) -> None:
        """After the last system has closed, the signal is as it was."""
        systems = [InProcessSystem(ReferenceStore) for _ in range(2)]
        for system in systems:
            system.call("describe", {})
        systems[0].close()
        assert signal.getsignal(signal.SIGALRM) is not signal.SIG_DFL
        systems[1].close()
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


class TestLife:
    """A system is restarted and closed by its own methods, when it has them."""

    def test_restart_calls_the_object(self) -> None:
        """A restart is the object's own, and is not offered without one."""

        class Store:
            def restart(self) -> dict[str, Json]:
                return {"again": True}

        assert InProcessSystem(Store).restart() == Answered({"again": True})
        assert InProcessSystem(object).restart() == NotOffered()

    def test_close_calls_the_object_once(self) -> None:
        """Closing twice closes once."""
        closed = []

        class Store:
            async def close(self) -> None:
                closed.append(True)

        system = InProcessSystem(Store)
        system.close()
        system.close()
        assert closed == [True]

    def test_close_never_raises_and_ends_the_loop(self) -> None:
        """What goes wrong at the end is not told, and tasks that still run are ended."""
        ended = []

        class Store:
            async def case_open(self, **_: object) -> dict[str, Json]:
                async def background() -> None:
                    try:
                        await asyncio.sleep(60)
                    finally:
                        ended.append(True)

                self.task = asyncio.ensure_future(background())
                await asyncio.sleep(0)
                return {}

            def close(self) -> Awaitable[None]:
                raise SystemExit(3)

        system = InProcessSystem(Store)
        system.call("case.open", CASE)
        system.close()
        assert ended == [True]

    def test_close_never_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A `close` that does not return is given up (after two seconds; here sooner)."""
        monkeypatch.setattr(in_process, "_CLOSING_SECONDS", 0.2)

        class Store:
            def close(self) -> None:
                time.sleep(60)

        began = time.monotonic()
        InProcessSystem(Store).close()
        assert time.monotonic() - began < 8


class TestQuoting:
    """Hostile texts are shown short, on one line, and without reaching the terminal."""

    def test_quotes_are_short_printable_ascii(self) -> None:
        """Whatever goes in, at most the limit and an ellipsis comes out, in ASCII."""
        for text in ("\x1b[2J\u202e" * 300, b"\xff\x00" * 3000, "é" * 500, "'\"" * 200, "\\" * 500):
            shown = quoted(text, 50)
            assert len(shown) <= 55
            assert shown.isascii()
            assert shown.isprintable()

    def test_short_texts_are_whole(self) -> None:
        """A text within the limit is not cut."""
        assert escaped("a" * 200) == "a" * 200
        assert quoted(b"abc") == "'abc'"

    def test_logs_keep_their_lines(self) -> None:
        """A log keeps lines, tabs and letters; what moves the cursor is escaped, and only the end is kept."""
        assert legible("a\tb\né\x1b[0m".encode() + b"\xff") == "a\tb\né\\x1b[0m\\xff"
        assert len(legible("x" * 10**6)) == 65_536
