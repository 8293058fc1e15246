"""When to kill a process that carries out a call: moments all over it, and more often where few kills have been."""

from collections import Counter

from attrs import field, mutable

from keyturn_testing.systems.base import Killed

_FIRST_GUESS_SECONDS = 0.005
_BEYOND = 1.1
_GOLDEN = 0.6180339887498949
_NEAR = 0.04


@mutable
class Moments:
    """When to kill: a part of what a call is known to take, spread evenly, and more often where a phase was rarely hit."""

    durations: dict[str, float] = field(factory=dict)
    phases: Counter[str] = field(factory=Counter)
    hits: dict[str, list[float]] = field(factory=dict)
    number: int = 0
    part: float = 0.0

    def next(self, method: str) -> float:
        """Return after how many seconds to kill the process in a call of this operation."""
        self.number += 1
        self.part = self.number * _GOLDEN % 1 * _BEYOND
        if self.number % 2 and len(self.hits) > 1:
            rarest = min(sorted(self.hits), key=lambda phase: self.phases[phase])
            near = self.hits[rarest][self.number % len(self.hits[rarest])]
            self.part = max(0.0, near + (self.number * _GOLDEN % 1 - 0.5) * _NEAR)
        return self.part * self.durations.get(method, _FIRST_GUESS_SECONDS)

    def learn(self, method: str, killed: Killed, phase: str) -> None:
        """Note what a kill hit, and how long the call took, as far as that can be told."""
        known = self.durations.get(method, _FIRST_GUESS_SECONDS)
        if killed.reply is not None:
            self.durations[method] = (known + killed.seconds) / 2
        elif self.part > 1:
            self.durations[method] = known * _BEYOND
        self.phases[phase] += 1
        self.hits.setdefault(phase, []).append(self.part)
