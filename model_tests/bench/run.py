"""Measures how fast Keyturn is, as ratios of things that are measured side by side in one run.

A number of one machine says little about another, so each figure stands beside what it is compared with, and both are the
medians of repetitions that take turns. `--write` puts the tables into `docs/benchmarks.md`, with what the machine is and the
command that makes them. A number never fails anything.
"""

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from keyturn.capabilities import ALL_CLAIMS
from keyturn.cards import InteractionKind
from keyturn.handshake import read_description
from keyturn.status import UNWRITTEN, InteractionEvent, InteractionStatusMachine
from keyturn.store import ReferenceStore
from keyturn.table import STATUS_TABLE
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.engines.stateful import Plan, run_batch
from keyturn_testing.mutants import MUTANTS, Mutant, MutantStore
from keyturn_testing.payloads import payload
from keyturn_testing.running import PROFILES, Record, Run
from keyturn_testing.systems.adapters import open_system
from keyturn_testing.systems.base import System
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.traces import Step

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
COMMAND = "python3 noxfile.py -s bench -- --write"

REPETITIONS, SEEDS = 5, (0, 1, 2)
EXAMPLES, STEPS = 25, 30
KINDS = tuple(each for each in InteractionKind if each is not InteractionKind.MULTI_SELECT)

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


# ---- The table against the engine -----------------------------------------------------------------------------------

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
        "One transition of the status machine, on the engine of the library that declares it and on the table compiled from it.",
        ("what", "transitions a second", "ratio"),
        [(name, per_second(each), f"{cost[engine] / each:,.0f}") for name, each in cost.items()],
    )


# ---- The stateful engine against bare Hypothesis --------------------------------------------------------------------


class BareMachine(RuleBasedStateMachine):
    """What one would write first: rules that call the same operations of the same store, and read nothing back."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.store = ReferenceStore()
        self.store.reset(now="2026-01-01T00:00:00Z")
        self.case: dict[str, Any] = {"account": "acme", "workflow": "trip", "case": "case-1"}
        self.owner = {"account": "acme", "conversation": "chat-1"}
        self.store.case_open(**self.case)
        self.cards: list[Any] = []
        self.commands: list[str] = []

    @rule(kind=st.sampled_from(KINDS), blocking=st.booleans(), on_occupied=st.sampled_from(("refuse", "replace")))
    def present(self, kind: InteractionKind, blocking: bool, on_occupied: str) -> None:
        """Present a card of any kind."""
        BareMachine.steps += 1
        answer: Any = self.store.card_present(
            conversation="chat-1",
            kind=kind.value,
            blocking=blocking,
            revision_independent=False,
            payload=payload(kind, len(self.cards), text=True),
            on_occupied=on_occupied,
            **self.case,
        )
        if answer["outcome"] == "presented":
            self.cards.append(answer["card"])

    @rule(data=st.data())
    def respond(self, data: st.DataObject) -> None:
        """Answer one of the cards with one of its options."""
        if not self.cards:
            return
        BareMachine.steps += 1
        card = data.draw(st.sampled_from(self.cards))
        option = data.draw(st.sampled_from([each["id"] for each in card["payload"]["options"]]))
        response = {"interaction_id": card["id"], "option_id": option, "expected_case_revision": card["case_revision"]}
        answer = self.store.card_respond(**self.owner, response=response)
        if answer["outcome"] == "accepted":
            self.commands.append(str(answer["command"]))

    @rule(data=st.data(), result=st.sampled_from(("committed", "failed")))
    def settle(self, data: st.DataObject, result: str) -> None:
        """End one of the commands."""
        if self.commands:
            BareMachine.steps += 1
            command = data.draw(st.sampled_from(self.commands))
            self.store.command_settle(command=command, result=result, on_failure="restore")

    @rule()
    def edit(self) -> None:
        """Change the record."""
        BareMachine.steps += 1
        self.store.case_edit(**self.case)


def run_bare(number: int) -> int:
    """Run the bare machine once; return how many operations it called."""
    before = BareMachine.steps
    run_state_machine_as_test(
        seed(number)(BareMachine),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            phases=(Phase.generate,),
            verbosity=Verbosity.quiet,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return BareMachine.steps - before


def run_engine(number: int, taken: list[list[Step]] | None = None) -> int:
    """Run one batch of the stateful engine on the reference store; return how many steps it took and judged."""
    system, counts = InProcessSystem(ReferenceStore), Counts()

    def start() -> Driver:
        driver = Driver(system, ALL_CLAIMS, REQUIREMENTS, counts)
        if taken is not None:
            taken.append([])
            driver.on_step = taken[-1].append
        return driver

    try:
        batch = run_batch(start, Plan(examples=EXAMPLES, steps=STEPS, seed=number, kinds=KINDS))
    finally:
        system.close()
    if batch.ended is not None:
        raise batch.ended
    return counts.steps


def of_the_engine() -> Table:
    """Measure generated steps."""
    bare, ours = "bare `RuleBasedStateMachine`", "the stateful engine"
    cost = in_turns({bare: lambda: timed(partial(run_bare, 0)), ours: lambda: timed(partial(run_engine, 0))})
    return Table(
        "The stateful engine",
        "One generated step on the reference store in process. The bare machine calls operations of the same kind on the same "
        "store and reads nothing back. The engine aims its steps, reads everything that an observer can read after each, "
        "and judges it.",
        ("what", "steps a second", "cost of a step", "ratio"),
        [(name, per_second(each), microseconds(each), f"{each / cost[bare]:.1f}") for name, each in cost.items()],
    )


# ---- What a system costs --------------------------------------------------------------------------------------------


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
        "reads that follow it. What is over the reference in process is what the system, and the way to it, adds.",
        ("system", "cost of a step", "over the reference", "ratio"),
        rows,
    )


# ---- How soon a fault is found --------------------------------------------------------------------------------------


@frozen
class Kill:
    """When a run found a fault by its id: after how many judged steps, and how many seconds, before it was shrunk."""

    steps: int
    seconds: float


def kill(mutant: Mutant, number: int, engines: tuple[str, ...]) -> Kill | None:
    """Hold a mutant to the contract with the quick profile until it is caught by an id that it breaks."""
    system = InProcessSystem(lambda: MutantStore(mutant))
    description = read_description(ReferenceStore().describe())
    found: list[Kill] = []
    start = time.perf_counter()

    def watch(record: Record, doing: str) -> None:
        if any(each in mutant.breaks for each in record.failed):
            found.append(Kill(record.counts.steps, time.perf_counter() - start))
            raise KeyboardInterrupt  # which ends a run in good order

    run = Run(system, description, ALL_CLAIMS, profile=PROFILES["quick"], seed=number, engines=engines, progress=watch)
    try:
        run.run()
    finally:
        system.close()
    return found[0] if found else None


def of_the_mutants() -> Table:
    """Measure when each mutant is found."""
    rows = []
    for mutant in MUTANTS.values():
        cells = [f"`{mutant.name}`", ", ".join(mutant.breaks)]
        for engines in (("scenarios", "stateful"), ("stateful",)):
            kills = [each for number in SEEDS if (each := kill(mutant, number, engines)) is not None]
            cells += _when(kills)
        rows.append(cells)
    return Table(
        "How soon a mutant is found",
        f"Time and judged steps until the quick profile finds the fault by its id, before it is shrunk: the median and the "
        f"worst of {len(SEEDS)} seeds. On the left as a run goes, scenarios first; on the right by generated steps alone.",
        ("mutant", "id", "time", "worst", "steps", "worst", "generated: time", "worst", "steps", "worst"),
        rows,
    )


def _when(kills: Sequence[Kill]) -> Iterator[str]:
    if len(kills) < len(SEEDS):
        yield from (f"found for {len(kills)} of {len(SEEDS)} seeds", "", "", "")
        return
    seconds, steps = [each.seconds for each in kills], [each.steps for each in kills]
    yield from (f"{1000 * statistics.median(seconds):.0f} ms", f"{1000 * max(seconds):.0f} ms")
    yield from (str(statistics.median(steps)), str(max(steps)))


# ---- The page -------------------------------------------------------------------------------------------------------


def facts() -> str:
    """Say what machine this is, and how the tables are made."""
    return (
        f"Measured with `{COMMAND}` on {os.cpu_count()} cores ({os.getloadavg()[0]:.1f} busy before), {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}. Each cost is the median of {REPETITIONS} repetitions that "
        "take turns."
    )


def write_page(text: str) -> None:
    """Put the tables between the markers of the page."""
    before, begin, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} has no lines {BEGIN} and {END} to write between")
    PAGE.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", "utf-8")


def main() -> None:
    """Measure everything, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(ROOT)}")
    write = parser.parse_args().write
    parts = [facts()]
    print(parts[0], flush=True)
    for measure in (of_the_table, of_the_engine, of_the_systems, of_the_mutants):
        parts.append(str(measure()))
        print(f"\n{parts[-1]}", end="", flush=True)
    if write:
        write_page("\n\n".join(part.rstrip() for part in parts) + "\n")


if __name__ == "__main__":
    main()
