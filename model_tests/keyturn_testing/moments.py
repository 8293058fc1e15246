"""When to kill a process that carries out a call: moments all over it, and more often where something is done.

A call begins late, because the request has to arrive, and ends early, because the answer has to come back. Both are learnt from
the kills themselves: one that came too early finds the process idle and no answer, and one that came too late finds the answer.
Two of three kills go to where something is done, between the looking and the answer, because that can be torn.
"""

from attrs import field, mutable

from keyturn_testing.systems.base import Killed
from keyturn_testing.systems.phases import IDLE

ANSWERED = "answered"
"""The word for a call whose reply had come."""

BEFORE_COMMIT = "before_commit"
"""Our word for a call that has done nothing that could be seen, where the process has none."""

_NOTHING_YET = frozenset({IDLE, "reading", BEFORE_COMMIT})
_FIRST_GUESS_SECONDS = 0.01
_LATE = 0.7
_FURTHER = 1.25
_GOLDEN = 0.6180339887498949
_BEYOND = 0.1
_WEIGHT = 0.3
_MOST_REMEMBERED = 40


@mutable
class _Call:
    """What is known of the calls of one operation: from when to when they run, in seconds, and what was hit when."""

    begins: float = 0.0
    ends: float = _FIRST_GUESS_SECONDS
    hits: list[tuple[float, str]] = field(factory=list)

    def at_work(self) -> tuple[float, float] | None:
        """Between which moments something is done: from where it mostly had not begun, to where the answer mostly was there."""
        early = sorted(after for after, phase in self.hits if phase in _NOTHING_YET)
        late = sorted(after for after, phase in self.hits if phase == ANSWERED)
        if not early or not late:
            return None
        first, last = early[len(early) * 3 // 4], late[len(late) // 4]
        return (first, last) if first < last else None


@mutable
class Moments:
    """Chooses when to kill, and learns from what was hit."""

    _calls: dict[str, _Call] = field(factory=dict)
    _number: int = 0
    _after: float = 0.0

    def next(self, method: str) -> float:
        """Return after how many seconds to kill the process in a call of this operation."""
        self._number += 1
        call = self._calls.setdefault(method, _Call())
        spread = self._number * _GOLDEN % 1
        at_work = call.at_work() if self._number % 3 else None
        first, last = at_work or (call.begins, call.ends)
        beyond = _BEYOND * (last - first)
        self._after = max(0.0, first - beyond + spread * (last - first + 2 * beyond))
        return self._after

    def learn(self, method: str, killed: Killed, phase: str) -> None:
        """Note what a kill hit, and what follows of when the call runs."""
        call = self._calls.setdefault(method, _Call())
        if killed.reply is not None:
            call.ends += _WEIGHT * (killed.seconds - call.ends)
        elif phase == IDLE:
            call.begins += _WEIGHT * (self._after - call.begins)
        elif self._after > _LATE * call.ends:
            call.ends *= _FURTHER
        call.ends = max(call.ends, call.begins * (1 + _BEYOND), _FIRST_GUESS_SECONDS / 10)
        call.hits = [*call.hits, (self._after, phase if killed.reply is None else ANSWERED)][-_MOST_REMEMBERED:]
