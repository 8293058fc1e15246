"""What a system costs that is not an object in memory: the same steps on each."""

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from generating import run_engine
from keyturn.capabilities import ALL_CLAIMS
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.systems.adapters import open_system
from keyturn_testing.systems.base import System
from keyturn_testing.traces import Step
from measuring import IN_TURNS, Table, in_turns, microseconds, timed

ROOT = Path(__file__).resolve().parents[2]


def replay_all(system: System, examples: Sequence[Sequence[Step]]) -> int:
    """Take the same steps on a system, and judge them; return how many."""
    counts = Counts()
    for steps in examples:
        driver = Driver(system, ALL_CLAIMS, REQUIREMENTS, counts)
        for step in steps:
            driver.step(step)
    return counts.steps


def adapters() -> Mapping[str, str]:
    """The systems that are compared, as a user would write them, with the adapter string that opens each."""
    serve = f"{Path(sys.executable).parent / 'keyturn'} serve reference --stdio"
    named = {each: each for each in ("reference", "sqlite")} | {
        "stdio:keyturn serve reference --stdio": f"stdio:{serve}"
    }
    if shutil.which("node"):
        node = "docs/examples/node/server.mjs"
        named[f"stdio:node {node}"] = f"stdio:node {ROOT / node}"
    return named


def of_the_systems() -> Table:
    """Measure the same steps on each system."""
    examples: list[list[Step]] = []
    run_engine(0, examples)
    # A restart of a process is another thing than a step and is not averaged into it, and neither is a process that ends.
    examples = [[each for each in one if each.calls[0].operation not in {"restart", "fault.arm"}] for one in examples]
    with tempfile.TemporaryDirectory() as folder:
        opened = {
            name: open_system(adapter, data=Path(folder) / str(number), time_limit=30)
            for number, (name, adapter) in enumerate(adapters().items())
        }
        try:
            measured = {name: partial(timed, partial(replay_all, each, examples)) for name, each in opened.items()}
            cost = in_turns(measured)
        finally:
            for each in opened.values():
                each.close()
    base = cost["reference"]
    rows = [
        (f"`{name}`", microseconds(each), f"{microseconds(each - base)}" if each != base else "", f"{each / base:.1f}")
        for name, each in cost.items()
    ]
    return Table(
        "What a system costs",
        f"The same {sum(map(len, examples))} steps on each system, restarts and faults left out. A step is one call and the "
        "reads that follow it. What is over the reference in process is what the system, and the way to it, adds. "
        f"{IN_TURNS}",
        ("system", "cost of a step", "over the reference", "ratio"),
        rows,
    )
