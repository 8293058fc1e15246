"""The compiled table of the status machine against the engine of the library that declares it."""

from functools import partial

from keyturn.status import UNWRITTEN, InteractionEvent, InteractionStatusMachine
from keyturn.table import STATUS_TABLE
from measuring import IN_TURNS, Table, in_turns, per_second, timed

ROUND = (InteractionEvent.ACCEPT, InteractionEvent.RESTORE)


def step_the_table(rounds: int) -> int:
    """Take a card through its rounds on the compiled table."""
    state = STATUS_TABLE.step(UNWRITTEN, InteractionEvent.PRESENT)
    for _ in range(rounds):
        for event in ROUND:
            state = STATUS_TABLE.step(state, event)
    return 1 + rounds * len(ROUND)


def step_the_engine(rounds: int) -> int:
    """Take a card through its rounds on the library's engine."""
    machine = InteractionStatusMachine()
    machine.send(InteractionEvent.PRESENT)
    for _ in range(rounds):
        for event in ROUND:
            machine.send(event)
    return 1 + rounds * len(ROUND)


def of_the_table() -> Table:
    """Measure transitions."""
    engine, ours = "python-statemachine", "the compiled table"
    cost = in_turns(
        {engine: lambda: timed(partial(step_the_engine, 1000)), ours: lambda: timed(partial(step_the_table, 50_000))}
    )
    return Table(
        "The compiled table",
        "One transition of the status machine, on the engine of the library that declares it and on the table compiled from it. "
        f"{IN_TURNS}",
        ("what", "transitions a second", "ratio"),
        [(name, per_second(each), f"{cost[engine] / each:,.0f}") for name, each in cost.items()],
    )
