"""How fast calls that overlapped are judged: histories of one case, by how many calls they have and in how many lanes."""

from collections.abc import Sequence
from functools import partial
from random import Random

from keyturn import operations as ops
from keyturn.branches import Unheard
from keyturn.capabilities import ALL_CLAIMS
from keyturn.store import ReferenceStore, possibilities
from keyturn_specs.memory import NOTHING_REMEMBERED
from keyturn_specs.observations import Snapshot
from keyturn_testing.linearising import Heard, orders_of
from keyturn_testing.matching import Binding
from keyturn_testing.oracle import Hypothesis
from measuring import IN_TURNS, Table, in_turns, per_second, timed

SHAPES = ((1, 16), (2, 4), (2, 8), (2, 16), (3, 6), (3, 12), (4, 4), (4, 8))
"""Lanes, and calls in all of them together."""

HISTORIES = 20
CASE = {"account": "acme", "workflow": "trip", "case": "case-1"}


def history_of(lanes: int, calls: int, chance: Random) -> tuple[Hypothesis, Sequence[Heard], Snapshot]:
    """Let edits and readings of one case overlap on the reference: each lane calls again when its last call has ended."""
    store = ReferenceStore()
    store.perform(ops.CaseOpen(**CASE))
    binding = Binding().with_pair("revision", ops.CaseOpen(**CASE).key, 1, 1)
    before = Hypothesis(store.state, binding)
    ended = [0] * lanes
    history = []
    for number in range(calls):
        lane = number % lanes
        operation: ops.Operation = chance.choice((ops.CaseEdit(**CASE), ops.CaseOpen(**CASE)))
        chosen = possibilities(store.state, operation, ALL_CLAIMS)[0]
        store.state = chosen.state
        outcome = chosen.branch.outcome
        if isinstance(outcome, Unheard):
            raise TypeError("nothing was armed, and a reply was lost")
        at = max(ended[lane] + 1, number * 10)
        history.append(Heard(operation=operation, outcome=outcome, began=ended[lane] + 1, ended=at + 5))
        ended[lane] = at + 5
    key = ops.CaseOpen(**CASE).key
    return before, history, Snapshot(revisions={key: store.state.world.revision(key)})


def judge(histories: Sequence[tuple[Hypothesis, Sequence[Heard], Snapshot]]) -> int:
    """Judge every history, and return how many there were; each must be explained."""
    for before, history, after in histories:
        found = orders_of(history, after, [before], claims=ALL_CLAIMS, memory=NOTHING_REMEMBERED)
        if not found.hypotheses:
            raise RuntimeError("a history that really happened is not explained")
    return len(histories)


def of_the_orders() -> Table:
    """Measure how many histories are judged in a second."""
    chance = Random(0)
    drawn = {
        f"{lanes} {calls}": [history_of(lanes, calls, chance) for _ in range(HISTORIES)] for lanes, calls in SHAPES
    }
    cost = in_turns({name: partial(timed, partial(judge, each)) for name, each in drawn.items()})
    base = cost["1 16"] / 16
    rows = []
    for lanes, calls in SHAPES:
        seconds = cost[f"{lanes} {calls}"]
        rows.append((str(lanes), str(calls), per_second(seconds), f"{seconds / calls / base:.1f}"))
    return Table(
        "Judging calls that overlapped",
        "Edits and readings of one case, each lane calling again when its last call has ended, so that as many calls overlap as "
        "there are lanes. A history is judged by whether an order of its calls explains every answer and what was read "
        f"afterwards. The cost of a call stands beside that of a call in one lane, which has one order only. {IN_TURNS}",
        ("lanes", "calls", "histories a second", "cost of a call"),
        rows,
    )
