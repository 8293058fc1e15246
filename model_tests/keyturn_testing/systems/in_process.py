"""A Python object as a system under test, with one method an operation.

Object and suite share one process, so what crosses between them is copied and checked on the way: arguments, so that
the system cannot rewrite the step that is being judged, and results, which must be plain JSON of bounded size. Whatever
the object raises is turned into a reply or a breakdown. A call that does not return is interrupted by a timer, where
the process has one to give: on the main thread, and only when nobody else uses it. An asynchronous object gets an event
loop of its own, which lives as long as the system and also limits its calls on other threads.
"""

import asyncio
import inspect
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import FrameType
from typing import NoReturn, cast

from attrs import has

from keyturn.errors import OperationFailed, Unsupported
from keyturn.values import Json
from keyturn_testing.systems.base import (
    Answered,
    Breakdown,
    Killed,
    Lanes,
    NotOffered,
    Reply,
    Request,
    Schedule,
    Together,
    WentWrong,
)
from keyturn_testing.systems.crossing import NotJson, TooMuch, arguments, plain
from keyturn_testing.systems.interleaving import Ask, in_turns, interleaved
from keyturn_testing.systems.saying import described, escaped, place_of, traceback_of
from keyturn_testing.systems.together import Ways

_CLOSING_SECONDS = 2.0


class Late(BaseException):
    """A call took longer than its time limit; no `Exception`, so that the system does not handle it by mistake."""


# ---- Calls, and how long they may take ------------------------------------------------------------------------------


class _Alarm:
    """The one real-time timer of the process, used only while nobody else uses it or its signal."""

    # After the first ring it rings on: a system with a bare `except` goes on as if nothing had been.
    _AGAIN_SECONDS = 0.1

    def __init__(self) -> None:
        self.systems = 0
        self._armed = self.rang = False
        self._handler = self._ring  # kept, because a bound method is another object each time

    def _ring(self, _: int, __: FrameType | None) -> None:
        if self._armed:
            self.rang = True
            raise Late("the time limit is over")

    def arm(self, seconds: float) -> bool:
        """Start the timer; false when the process has none to give."""
        if threading.current_thread() is not threading.main_thread():
            return False
        handler = signal.getsignal(signal.SIGALRM)
        if handler is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, self._handler)
        elif handler is not self._handler:
            return False
        self._armed, self.rang = True, False
        remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds, self._AGAIN_SECONDS)
        if remaining:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, remaining, interval)
        return self._armed

    def disarm(self) -> None:
        """Stop the timer."""
        self._armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Interrupt what takes longer, where that can be done."""
        armed = self.arm(seconds)
        try:
            yield
        finally:
            if armed:
                self.disarm()

    def forget(self) -> None:
        """Give the signal back when the last system has closed."""
        self.systems -= 1
        on_main = threading.current_thread() is threading.main_thread()
        if self.systems == 0 and on_main and signal.getsignal(signal.SIGALRM) is self._handler:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)


_ALARM = _Alarm()


class Caller:
    """Calls the methods of one object by their names in the protocol, and waits for what is awaitable.

    Raises whatever the object raises, `Unsupported` for a method that it does not have, `NotJson` and `TooMuch` for its
    results, and `Late` when an awaitable takes longer than `time_limit` seconds.
    """

    def __init__(self, make: Callable[[], object], time_limit: float | None = None) -> None:
        self._time_limit = time_limit
        self._loop: asyncio.AbstractEventLoop | None = None
        try:
            self.target = self._settled(make())
        except BaseException:
            self._close_loop()
            raise
        takes_turns = getattr(self.target, "takes_turns", False) is True
        self._turn: AbstractContextManager[object] = threading.Lock() if takes_turns else nullcontext()

    def call(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        """Call one operation and return its result as fresh plain JSON."""
        with self._turn:
            result = self._begun(method, params)
        return _fresh(result if type(result) is dict else self._settled(result))

    async def call_in_turns(self, request: Request, turn: Callable[[], Awaitable[None]]) -> dict[str, Json]:
        """Call one operation on the event loop, and await a turn before each of its steps but the first."""
        result = self._begun(request.method, request.params)
        return _fresh(await in_turns(result, turn) if inspect.isawaitable(result) else result)

    def together(self, lanes: Lanes, schedule: Schedule, ask: Ask) -> Together:
        """Make the calls of all lanes on the event loop."""
        return cast(Together, self._wait_for(interleaved(lanes, schedule, ask)))

    @property
    def is_asynchronous(self) -> bool:
        """Whether anything that the object gave had to be awaited."""
        return self._loop is not None

    def _begun(self, method: str, params: Mapping[str, Json]) -> object:
        function = getattr(self.target, method.replace(".", "_"), None)
        if function is None:
            raise Unsupported(f"there is no method for {method}")
        begun: object = function(**arguments(params))
        return begun

    def close(self) -> None:
        """Call the object's own `close`, if it has one, and end the event loop with what still runs on it."""
        try:
            if callable(close := getattr(self.target, "close", None)):
                self._settled(close())
        finally:
            self._close_loop()

    def _settled(self, result: object) -> object:
        return self._wait_for(result) if inspect.isawaitable(result) else result

    def _wait_for(self, awaitable: Awaitable[object]) -> object:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        task = asyncio.ensure_future(awaitable, loop=self._loop)
        timer = None if self._time_limit is None else self._loop.call_later(self._time_limit, self._loop.stop)
        try:
            return self._loop.run_until_complete(task)
        except RuntimeError:
            # The loop says so when it was stopped first; the task would have its own error.
            if task.done() or timer is None or self._loop.time() < timer.when():
                raise
            raise Late("the time limit is over") from None
        finally:
            if timer is not None:
                timer.cancel()

    def _close_loop(self) -> None:
        loop, self._loop = self._loop, None
        if loop is None:
            return
        try:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            if left:
                loop.run_until_complete(asyncio.wait(left, timeout=_CLOSING_SECONDS / 2))
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


def _fresh(result: object) -> dict[str, Json]:
    if not isinstance(result, Mapping) and not has(type(result)):
        raise NotJson(f"is a {type(result).__qualname__[:80]}, not a mapping (also {{}}) or an attrs value")
    return cast(dict[str, Json], plain(result))


# An exit too: it must not end the suite, least of all with success. Not Ctrl-C, which is ours.
_WHAT_A_SYSTEM_RAISES = (Exception, SystemExit, asyncio.CancelledError, Late)


class InProcessSystem:
    """A system in this process: the object that `make` returns, or that the awaitable which it returns gives.

    A failing `make` is a breakdown, `not_started`. `time_limit` is in seconds, for each call. Calls that overlap take turns on
    the event loop where the object is asynchronous. Otherwise each lane has a thread, and the same object or, where it has a
    method `beside`, another one that this returns, on the same data; an object that says `takes_turns = True` is called by one
    of them at a time.
    """

    def __init__(self, make: Callable[[], object], *, time_limit: float = 10.0) -> None:
        self._time_limit = time_limit
        self._closed = False
        self._ways: Ways | None = None
        _ALARM.systems += 1
        try:
            with _ALARM.within(time_limit):
                self._caller = Caller(make, time_limit)
        except _WHAT_A_SYSTEM_RAISES as error:
            _ALARM.forget()
            raise Breakdown("not_started", f"making it raised {described(error)}", log=traceback_of(error)) from None

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Call the method of one operation."""
        armed = _ALARM.arm(self._time_limit)
        try:
            try:
                result = self._caller.call(method, params)
                if armed and _ALARM.rang:
                    raise Late  # the system went on as if nothing had been
                return Answered(result)
            finally:
                if armed:
                    _ALARM.disarm()
        except _WHAT_A_SYSTEM_RAISES as error:
            if armed:
                _ALARM.disarm()  # it may have rung just before it was stopped
            return self._reply_to(method, error)

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Call several methods at the same moment."""
        if self._caller.is_asynchronous:
            try:
                with _ALARM.within(self._time_limit):
                    return self._caller.together(lanes, schedule, self._ask)
            except Late as late:
                self._break_down(" and ".join(sorted({each.method for lane in lanes for each in lane})), late)
        if self._ways is None:
            beside = getattr(self._caller.target, "beside", None)
            another = None if beside is None else lambda: InProcessSystem(beside, time_limit=self._time_limit)
            self._ways = Ways(self, another, self._time_limit)
        return self._ways.together(lanes)

    can_be_killed = False

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Raise: there is no process but ours."""
        raise RuntimeError("there is no process but ours")

    def restart(self) -> Reply:
        """Call the object's own `restart`, which stands for a crash and a new start."""
        self._close_ways()
        return self.call("restart", {})

    def close(self) -> None:
        """Call the object's own `close`, if it has one, for two seconds; what it does then is not judged."""
        if self._closed:
            return
        self._closed = True
        self._close_ways()
        with suppress(*_WHAT_A_SYSTEM_RAISES), _ALARM.within(_CLOSING_SECONDS):
            self._caller.close()
        _ALARM.forget()

    async def _ask(self, request: Request, turn: Callable[[], Awaitable[None]]) -> Reply:
        try:
            return Answered(await self._caller.call_in_turns(request, turn))
        except _WHAT_A_SYSTEM_RAISES as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # it is being ended by us, because another lane has broken down
            return self._reply_to(request.method, error)

    def _close_ways(self) -> None:
        if self._ways is not None:
            self._ways.close()

    def _reply_to(self, method: str, error: BaseException) -> Reply:
        if isinstance(error, Unsupported):
            return NotOffered()
        if isinstance(error, OperationFailed):
            return WentWrong(bool(error.definite), escaped(str(error)))
        return self._break_down(method, error)

    def _break_down(self, method: str, error: BaseException) -> NoReturn:
        if isinstance(error, NotJson):
            raise Breakdown("garbage", f"{method} returned what is not plain JSON: {error}") from None
        if isinstance(error, TooMuch):
            raise Breakdown("too_much", f"{method} returned {error}") from None
        log, place = traceback_of(error), place_of(error)
        if isinstance(error, Late):
            said = f"no answer to {method} within {self._time_limit:g} s{f' (it was at {place})' if place else ''}"
            raise Breakdown("hung", said, log=log) from None
        raise Breakdown("crashed", f"{method} raised {described(error)}", log=log) from None
