"""What the way to a system costs, beyond the system's own time: the same cheap call in process, over stdio and over HTTP."""

import sys
import tempfile
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

from keyturn_testing.systems.adapters import open_system
from keyturn_testing.systems.base import Answered, System
from measuring import IN_TURNS, Table, in_turns, microseconds, per_second, timed

CALLS, FEW_CALLS = 1000, 50
NAIVE_SERVER = Path(__file__).resolve().parent / "naive_server.py"
KEYTURN = Path(sys.executable).parent / "keyturn"
IN_PROCESS, NAIVE = "in process", "a naive HTTP server"


def call(system: System, calls: int) -> int:
    """Read the counters of an empty system, again and again; return how often."""
    for _ in range(calls):
        if not isinstance(reply := system.call("metrics", {}), Answered):
            raise SystemExit(f"the counters were answered {reply}")
    return calls


def of_the_transports() -> Table:
    """Measure each way to the reference."""
    with ExitStack() as opened:
        data = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        adapters = {
            IN_PROCESS: "reference",
            "`keyturn serve reference --stdio`": f"stdio:{KEYTURN} serve reference --stdio",
            "`keyturn serve reference --http`": f"served:{KEYTURN} serve reference --http --port 0",
            NAIVE: f"served:{sys.executable} {NAIVE_SERVER}",
        }
        systems = {
            name: opened.enter_context(closing(open_system(adapter, data=data, time_limit=30)))
            for name, adapter in adapters.items()
        }
        # The naive server is so slow that fewer calls say the same.
        calls = {name: FEW_CALLS if name == NAIVE else CALLS for name in systems}
        cost = in_turns({name: partial(timed, partial(call, each, calls[name])) for name, each in systems.items()})
    own = cost[IN_PROCESS]
    rows = [
        (name, per_second(each), microseconds(each), "" if name == IN_PROCESS else microseconds(each - own))
        for name, each in cost.items()
    ]
    return Table(
        "What the way to a system costs",
        f"One call after the other, {CALLS} in a repetition ({FEW_CALLS} of the naive server): `metrics`, the cheapest operation "
        "of the reference store. What is over the call in process is what the codec, the pipe or the connection, and the "
        "switch of processes add. The naive server is what the standard library gives: it writes the head and the body of an "
        "answer apart and leaves Nagle's algorithm on, so that each body waits for the acknowledgement of its head. "
        f"{IN_TURNS}",
        ("the reference", "calls a second", "cost of a call", "over the call in process"),
        rows,
    )
