"""A server that is killed hundreds of times, in every phase of a call, and asked again; and one that does not bear it."""

from collections.abc import Mapping

from attrs import evolve, frozen

from asking import KEYTURN, held
from keyturn_testing.record import PROFILES, Record
from telling import Progress, Report

SYSTEMS: Mapping[str, str] = {
    "sqlite": f"stdio:{KEYTURN} serve sqlite --stdio",
    "http": f"served:{KEYTURN} serve sqlite --http --port 0",
    "effect-before-status": f"stdio:{KEYTURN} serve mutant:effect-before-status --stdio",
}
"""What is killed, by the name that it has here; the last one must be caught."""

CAUGHT = frozenset({"effect-before-status"})
PHASES = ("idle", "reading", "writing", "committing", "committed")
"""Where a process that we serve can be; each must have been hit."""


@frozen(kw_only=True)
class Kills:
    """How often each system is killed, and what is drawn."""

    kills: int = 500
    seed: int = 0


def run_kills(name: str, wanted: Kills, progress: Progress) -> Report:
    """Kill one system as often as is wanted, and hold it to everything that it claims each time."""
    # Some examples do not come to the call in which the process is to be killed.
    profile = evolve(PROFILES["deep"], crashes=wanted.kills * 5 // 4)

    def told(record: Record, doing: str) -> None:
        progress(f"{name}: {doing}, {record.kills.count} kills, {len(record.failures)} failures")

    try:
        record = held(SYSTEMS[name], profile, wanted.seed, ("crashes",), told=told)
    finally:
        progress.clear()
    return _report(name, record, wanted)


def _report(name: str, record: Record, wanted: Kills) -> Report:
    kills = record.kills
    broken = sorted({each.requirement for failure in record.failures for each in failure.finding.broken})
    wrong = [f"nothing was killed while it was {phase}" for phase in PHASES if not kills.phases[phase]]
    if record.breakdown is not None:
        wrong.append(f"it broke down: {record.breakdown.message}")
    if name in CAUGHT:
        wrong = [] if broken else [f"{kills.count} kills did not show that it is wrong"]
    else:
        wrong += [f"{failure.finding.primary}: {failure.finding.broken[0].seen}" for failure in record.failures]
    phases = ", ".join(f"{kills.phases[phase]} {phase}" for phase in PHASES)
    operations = ", ".join(f"{count} in {method}" for method, count in kills.operations.most_common())
    return Report(
        title=f"kills: {name}, seed {wanted.seed}",
        facts=(
            ("killed", f"{kills.count} times (SIGKILL), {kills.unheard} with a reply that nobody heard"),
            ("where", phases),
            ("in", operations),
            ("judged", f"{record.counts.steps} steps, {len(record.failures)} failures"),
            ("broken", ", ".join(broken) or "nothing"),
        ),
        figures={
            "kills": kills.count,
            "unheard": kills.unheard,
            "phases": {phase: kills.phases[phase] for phase in PHASES},
            "operations": dict(kills.operations),
            "steps": record.counts.steps,
            "broken": broken,
        },
        wrong=wrong,
        interrupted=record.interrupted,
        good="caught" if name in CAUGHT else "holds",
    )
