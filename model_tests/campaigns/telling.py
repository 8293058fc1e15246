"""What a campaign says: one moving line for the person who waits, and at the end a report as text or as JSON."""

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

EVERY_SECONDS = 0.2
MOST_SHOWN = 20
"""How many breaches a text shows; JSON has them all."""


def machine() -> str:
    """Say what machine this is, and how busy it was before."""
    busy = f"{os.cpu_count()} cores ({os.getloadavg()[0]:.1f} busy before)"
    return f"{busy}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


class Progress:
    """One line on standard error that changes, on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._last = 0.0

    def __call__(self, text: str) -> None:
        """Say how far it is, a few times a second at most."""
        now = time.monotonic()
        if self._shows and now - self._last > EVERY_SECONDS:
            self._last = now
            self._write(f"\r\x1b[2K{text[:100]}")

    def clear(self) -> None:
        """Take the line away."""
        if self._shows:
            self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


@frozen(kw_only=True)
class Report:
    """What came of one campaign on one store: facts in words, the same as figures, and everything that is wrong."""

    title: str
    facts: Sequence[tuple[str, str]]
    figures: Mapping[str, Any]
    wrong: Sequence[str]
    interrupted: bool = False
    good: str = "holds"

    @property
    def verdict(self) -> str:
        """In one word: `breached`, `interrupted`, or what is good."""
        return "breached" if self.wrong else "interrupted" if self.interrupted else self.good

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.facts)
        lines = [self.title, *(f"  {name:<{width}}  {said}" for name, said in self.facts)]
        lines += [f"  WRONG: {each}" for each in self.wrong[:MOST_SHOWN]]
        if len(self.wrong) > MOST_SHOWN:
            lines.append(f"  and {len(self.wrong) - MOST_SHOWN} more")
        return "\n".join([*lines, self.verdict, ""])


def as_json(reports: Sequence[Report]) -> str:
    """Write reports as JSON."""
    written = [
        {"campaign": each.title, "verdict": each.verdict, **each.figures, "wrong": list(each.wrong)} for each in reports
    ]
    return json.dumps(written, indent=2)


def percentile(sorted_values: Sequence[int], share: float) -> int:
    """Return the value below which this share of the values is."""
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))]


def milliseconds(nanoseconds: int) -> float:
    """Return milliseconds, to two digits after the point."""
    return round(nanoseconds / 1e6, 2)


def spread(nanoseconds: Sequence[int]) -> dict[str, float]:
    """Return the median, the 99th percentile and the longest, in milliseconds; nothing of nothing."""
    ordered = sorted(nanoseconds)
    shares = {"p50_milliseconds": 0.5, "p99_milliseconds": 0.99, "longest_milliseconds": 1.0}
    return {name: milliseconds(percentile(ordered, share)) for name, share in shares.items()} if ordered else {}


def in_words(times: Mapping[str, float]) -> str:
    """Say a spread."""
    named = ("p50", "p99", "longest")
    return ", ".join(f"{name} {value:,.1f} ms" for name, value in zip(named, times.values(), strict=bool(times)))
