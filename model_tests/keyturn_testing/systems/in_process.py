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
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import isfinite
from pathlib import Path
from types import FrameType
from typing import NoReturn, cast

from attrs import AttrsInstance, fields, has

from keyturn.branches import Outcome
from keyturn.errors import OperationFailed, Unsupported
from keyturn.values import Json
from keyturn.wire import write_outcome
from keyturn_testing.systems.base import Answered, Breakdown, NotOffered, Reply, WentWrong

DEEPEST = 200
"""How deep an answer may nest: far beyond any result of the protocol, far below what recursion can bear."""

LARGEST_ANSWER_VALUES = 250_000
"""How many values an answer may hold; shared parts count each time, as they would on a wire."""

LOG_BYTES = 65_536
"""How much of a system's own log is kept."""

_CLOSING_SECONDS = 2.0
_ATOMS = frozenset({str, int, bool, type(None)})


class NotJson(Exception):
    """A result holds something that is not plain JSON; `path` leads there, innermost part first."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.path: list[str | int] = []

    def __str__(self) -> str:
        """Where it is and what it is."""
        path = "".join(f"[{each if isinstance(each, int) else quoted(each, 40)}]" for each in reversed(self.path))
        return f"result{path if len(path) <= 300 else f'{path[:300]}...'} {self.args[0]}"


class TooMuch(Exception):
    """A result has more values than an answer may hold."""


class Late(BaseException):
    """A call took longer than its time limit; no `Exception`, so that the system does not handle it by mistake."""


# ---- What is said of a system ---------------------------------------------------------------------------------------


def escaped(text: str | bytes, limit: int = 200) -> str:
    """Return at most `limit` characters of a hostile text on one line, in printable ASCII only."""
    if isinstance(text, bytes):
        text = text[: 4 * limit].decode(errors="backslashreplace")
    written = ascii(text[:limit])[1:-1]
    return written if max(len(written), len(text)) <= limit else f"{written[:limit]}..."


def quoted(text: str | bytes, limit: int = 200) -> str:
    """Return the same in quotes."""
    return f"'{escaped(text, limit)}'"


def legible(log: bytes | str) -> str:
    """Return the end of a hostile log with its lines kept, and everything else that does not print escaped."""
    text = log.decode(errors="backslashreplace") if isinstance(log, bytes) else log
    return "".join(each if each.isprintable() or each in "\n\t" else ascii(each)[1:-1] for each in text[-LOG_BYTES:])


def described(error: BaseException) -> str:
    """Return an exception in one line: its type, its message, and the place that raised it."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  # the message is made by the system, which may fail at that too
        message = "(its message cannot be shown)"
    place = _place(error)
    said = f"{type(error).__name__[:80]}: {escaped(message)}" if message else type(error).__name__[:80]
    return f"{said} ({place})" if place else said


def _place(error: BaseException) -> str:
    """The file and line of the innermost frame that is not ours, nor the machinery of imports."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    frames = [(file, line) for file, line in frames if file != __file__ and not file.startswith("<frozen ")]
    if isinstance(error, SyntaxError) and error.filename:
        frames.append((error.filename, error.lineno or 0))
    if not frames:
        return ""
    path, line, here = Path(frames[-1][0]), frames[-1][1], Path.cwd()
    return f"{escaped(str(path.relative_to(here) if path.is_relative_to(here) else path))}:{line}"


def _traceback_of(error: BaseException) -> str:
    return legible("".join(traceback.format_exception(error, limit=-20)))


# ---- What crosses ---------------------------------------------------------------------------------------------------


def plain(value: object) -> Json:
    """Return a result as fresh plain JSON; raise `NotJson` for what is none, and `TooMuch`."""
    return _plain(value, DEEPEST, [LARGEST_ANSWER_VALUES])


def _plain(value: object, depth: int, budget: list[int]) -> Json:
    kind = type(value)
    if kind in _ATOMS:
        return cast(Json, value)
    if kind is dict or isinstance(value, Mapping):
        return _plain_object(cast(Mapping[object, object], value), depth, budget)
    if kind is list or isinstance(value, list | tuple):
        return _plain_list(cast(list[object], value), depth, budget)
    # Enumerations of texts and numbers are written as what they hold.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise NotJson(f"is {float.__repr__(value)}, which JSON has no number for")
        return float.__float__(value)
    if has(kind):
        return _plain_object(_record(value), depth, budget)
    raise NotJson(f"is a {kind.__qualname__[:80]}, which is not plain JSON")


def _plain_object(value: Mapping[object, object], depth: int, budget: list[int]) -> dict[str, Json]:
    _spend(len(value), depth, budget)
    copy: dict[str, Json] = {}
    name: object = None
    try:
        for name, each in value.items():
            written = name if type(name) is str else _name(name)
            copy[written] = cast(Json, each) if type(each) in _ATOMS else _plain(each, depth - 1, budget)
    except NotJson as problem:
        problem.path.append(name if isinstance(name, str) else "?")
        raise
    return copy


def _name(name: object) -> str:
    if isinstance(name, str):
        return str.__str__(name)
    raise NotJson(f"is under a name that is a {type(name).__qualname__[:80]}, not a string")


def _plain_list(value: list[object], depth: int, budget: list[int]) -> list[Json]:
    _spend(len(value), depth, budget)
    copy: list[Json] = []
    try:
        for each in value:
            fresh = cast(Json, each) if type(each) in _ATOMS else _plain(each, depth - 1, budget)
            copy.append(fresh)
    except NotJson as problem:
        problem.path.append(len(copy))
        raise
    return copy


def _spend(count: int, depth: int, budget: list[int]) -> None:
    budget[0] -= count
    if budget[0] < 0:
        raise TooMuch(f"more than {LARGEST_ANSWER_VALUES:,} values")
    if depth == 0:
        raise NotJson(f"nests more than {DEEPEST} deep")


def _record(value: object) -> Mapping[object, object]:
    """The mapping of the same fields: as the protocol writes them for our own records, as they are for others."""
    kind = type(value)
    if kind.__module__.startswith("keyturn."):
        return cast(Mapping[object, object], write_outcome(cast(Outcome, value)))
    declared = fields(cast("type[AttrsInstance]", kind))
    written: dict[object, object] = {each.name: getattr(value, each.name) for each in declared}
    outcome = getattr(kind, "outcome", None)
    return {"outcome": outcome, **written} if isinstance(outcome, str) else written


def _argument(value: object, depth: int = DEEPEST) -> object:
    """A copy that the system may keep and change."""
    if type(value) is dict and depth:
        return {name: each if type(each) in _ATOMS else _argument(each, depth - 1) for name, each in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [_argument(each, depth - 1) for each in value]
    return value


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

    def call(self, method: str, params: Mapping[str, Json]) -> dict[str, Json]:
        """Call one operation and return its result as fresh plain JSON."""
        function = getattr(self.target, method.replace(".", "_"), None)
        if function is None:
            raise Unsupported(f"there is no method for {method}")
        result = function(**{name: each if type(each) in _ATOMS else _argument(each) for name, each in params.items()})
        if type(result) is not dict:
            result = self._settled(result)
            if not isinstance(result, Mapping) and not has(type(result)):
                raise NotJson(f"is a {type(result).__qualname__[:80]}, not a mapping (also {{}}) or an attrs value")
        return cast(dict[str, Json], plain(result))

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


# An exit too: it must not end the suite, least of all with success. Not Ctrl-C, which is ours.
_WHAT_A_SYSTEM_RAISES = (Exception, SystemExit, asyncio.CancelledError, Late)


class InProcessSystem:
    """A system in this process: the object that `make` returns, or that the awaitable which it returns gives.

    A failing `make` is a breakdown, `not_started`. `time_limit` is in seconds, for each call.
    """

    def __init__(self, make: Callable[[], object], *, time_limit: float = 10.0) -> None:
        self._time_limit = time_limit
        self._closed = False
        _ALARM.systems += 1
        try:
            with _ALARM.within(time_limit):
                self._caller = Caller(make, time_limit)
        except _WHAT_A_SYSTEM_RAISES as error:
            _ALARM.forget()
            raise Breakdown("not_started", f"making it raised {described(error)}", log=_traceback_of(error)) from None

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
        except Unsupported:
            return NotOffered()
        except OperationFailed as failure:
            return WentWrong(bool(failure.definite), escaped(str(failure)))
        except _WHAT_A_SYSTEM_RAISES as error:
            if armed:
                _ALARM.disarm()  # it may have rung just before it was stopped
            self._break_down(method, error)

    def restart(self) -> Reply:
        """Call the object's own `restart`, which stands for a crash and a new start."""
        return self.call("restart", {})

    def close(self) -> None:
        """Call the object's own `close`, if it has one, for two seconds; what it does then is not judged."""
        if self._closed:
            return
        self._closed = True
        with suppress(*_WHAT_A_SYSTEM_RAISES), _ALARM.within(_CLOSING_SECONDS):
            self._caller.close()
        _ALARM.forget()

    def _break_down(self, method: str, error: BaseException) -> NoReturn:
        if isinstance(error, NotJson):
            raise Breakdown("garbage", f"{method} returned what is not plain JSON: {error}") from None
        if isinstance(error, TooMuch):
            raise Breakdown("too_much", f"{method} returned {error}") from None
        log, place = _traceback_of(error), _place(error)
        if isinstance(error, Late):
            said = f"no answer to {method} within {self._time_limit:g} s{f' (it was at {place})' if place else ''}"
            raise Breakdown("hung", said, log=log) from None
        raise Breakdown("crashed", f"{method} raised {described(error)}", log=log) from None
