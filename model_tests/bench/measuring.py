"""What every measurement shares: a table of results, and medians of repetitions that take turns."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

REPETITIONS = 5
IN_TURNS = f"Each cost is the median of {REPETITIONS} repetitions that take turns."

Timed = Callable[[], tuple[int, float]]  # does something once; how many units it did, and in how many seconds


@frozen
class Table:
    """One table of results, with a sentence on what was measured."""

    title: str
    says: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        written = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        return f"## {self.title}\n\n{self.says}\n\n{written}\n"


def in_turns(measured: Mapping[str, Timed], repetitions: int = REPETITIONS) -> Mapping[str, float]:
    """Return the median seconds for one unit of each, after one turn that does not count; all take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    for turn in range(repetitions + 1):
        for name, run in measured.items():
            count, took = run()
            if turn:
                seconds[name].append(took / count)
    return {name: statistics.median(each) for name, each in seconds.items()}


def timed(run: Callable[[], int]) -> tuple[int, float]:
    """Run something that returns how many units it did; return them with the seconds that it took."""
    start = time.perf_counter()
    count = run()
    return count, time.perf_counter() - start


def per_second(seconds: float) -> str:
    """Write a cost as a rate, to two digits."""
    return f"{float(f'{1 / seconds:.2g}'):,.0f}"


def microseconds(seconds: float) -> str:
    """Write a cost in microseconds."""
    return f"{seconds * 1e6:,.0f} µs"
