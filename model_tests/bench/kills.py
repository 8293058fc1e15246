"""How soon a run finds a fault: each mutant, by scenarios and by generated steps alone."""

import statistics
import time
from collections.abc import Iterator, Sequence

from attrs import frozen

from keyturn.capabilities import ALL_CLAIMS
from keyturn.handshake import read_description
from keyturn.store import ReferenceStore
from keyturn_testing.mutants import MUTANTS, Mutant, MutantStore
from keyturn_testing.record import PROFILES, Record
from keyturn_testing.running import Run
from keyturn_testing.systems.in_process import InProcessSystem
from measuring import Table

SEEDS = (0, 1, 2)


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
