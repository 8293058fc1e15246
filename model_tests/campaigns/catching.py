"""How surely the durable mutants are caught: each is asked by several seeds, until a requirement that it breaks fails."""

import time
from collections.abc import Mapping
from statistics import median

from attrs import evolve, frozen

from asking import KEYTURN, held
from keyturn_testing.mutants.durable import DURABLE_MUTANTS, DurableMutant
from keyturn_testing.record import PROFILES
from telling import Progress, Report

ENGINES: Mapping[str, tuple[str, ...]] = {
    "races": ("races",),
    "crashes": ("crashes",),
    "restarts": ("scenarios", "crashes"),
    "faults": ("scenarios",),
}
"""The engines that find a mutant, by what must happen for its fault to be seen."""


@frozen(kw_only=True)
class Catching:
    """How often each mutant is asked, and with how many kills at most."""

    runs: int = 20
    kills: int = 200


def catch(mutant: DurableMutant, seed: int, wanted: Catching) -> tuple[str | None, int, float]:
    """Ask one mutant by one seed; return by which requirement it was caught, after how many steps, and in how many seconds."""
    start = time.monotonic()
    record = held(
        f"stdio:{KEYTURN} serve mutant:{mutant.name} --stdio",
        evolve(PROFILES["standard"], crashes=wanted.kills),
        seed,
        ENGINES[mutant.found_by],
        until=mutant.breaks[:1],
    )
    caught = next((each for each in mutant.breaks if each in record.failed), None)
    return caught, record.counts.steps, time.monotonic() - start


def run_catching(name: str, wanted: Catching, progress: Progress) -> Report:
    """Ask one mutant by as many seeds as is wanted."""
    mutant = DURABLE_MUTANTS[name]
    runs = []
    for seed in range(wanted.runs):
        progress(f"{name}: run {seed + 1} of {wanted.runs}")
        runs.append(catch(mutant, seed, wanted))
    progress.clear()
    caught = [each for each in runs if each[0] is not None]
    ids = sorted({str(each[0]) for each in caught})
    steps, seconds = median(each[1] for each in runs), median(each[2] for each in runs)
    return Report(
        title=f"mutants: {name}",
        facts=(
            ("caught", f"in {len(caught)} of {wanted.runs} runs, by {', '.join(ids) or 'nothing'}"),
            ("after", f"{steps:,.0f} steps, {seconds:.1f} s (medians)"),
        ),
        figures={"runs": wanted.runs, "caught": len(caught), "by": ids, "steps": steps, "seconds": seconds},
        wrong=[] if caught else [f"nothing of {', '.join(mutant.breaks)} failed in any run"],
        good="caught",
    )
