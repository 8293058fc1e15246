"""The load: many processes with many connections each do on one store what a service does all day, and then it is audited."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from attrs import define, field, frozen

from auditing import CHECKS, audit
from crew import Orders, run_crew
from evidence import Evidence, Told, gather
from keyturn.capabilities import ALL_CLAIMS
from keyturn_sql.database import Place
from lanes import BUSY, UNKNOWN
from loading_lane import key_of
from places import RIGHT, durability, name_of, open_store
from telling import Progress, Report, in_words, machine, spread

NO_COMMIT = "nothing was ever committed, so that the audit says nothing: ask for more time"


@frozen(kw_only=True)
class Load:
    """How much is asked of one store."""

    seconds: float
    processes: int
    connections: int
    seed: int

    @property
    def cases(self) -> int:
        """Few enough that lanes meet, and enough that they do something else too."""
        return max(4, self.processes * self.connections)


@define
class Heard:
    """What the workers said of their answers, and when the first was asked for and the last was there."""

    told: list[Told] = field(factory=list)
    took: dict[str, list[int]] = field(factory=dict)
    first: int | None = None
    last: int = 0

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return 0.0 if self.first is None else (self.last - self.first) / 1e9

    def __call__(self, _worker: int, line: Mapping[str, Any]) -> None:
        """Take down one answer."""
        self.told.append(Told(line["method"], line["asked"], line["answer"]))
        self.took.setdefault(line["method"], []).append(line["end"] - line["start"])
        self.first = line["start"] if self.first is None else min(self.first, line["start"])
        self.last = max(self.last, line["end"])


def run_load(place: Place, load: Load, progress: Progress) -> Report:
    """Put a store under load and audit it."""
    with closing(open_store(place, RIGHT, ALL_CLAIMS)) as store:
        for number in range(load.cases):
            store.case_open(**key_of(number))
    heard, before = Heard(), machine()

    def hear(worker: int, line: Mapping[str, Any]) -> None:
        heard(worker, line)
        progress(f"{heard.seconds:.0f} of {load.seconds:.0f} s, {len(heard.told):,} answers")

    interrupted = run_crew(_orders(place, load), hear)
    progress("auditing")
    with closing(open_store(place, RIGHT, ALL_CLAIMS)) as store:
        evidence = gather(store, heard.told)
    wrong = [str(each) for each in audit(evidence)]
    if not interrupted and not any(
        each.outcome == "resolved" and each.method == "command.settle" for each in heard.told
    ):
        wrong.append(NO_COMMIT)
    progress.clear()
    return _report(place, load, heard, evidence, before, wrong, interrupted=interrupted)


def _orders(place: Place, load: Load) -> Orders:
    return Orders(
        job="load",
        place=place,
        store=RIGHT,
        claims=ALL_CLAIMS,
        processes=load.processes,
        connections=load.connections,
        settings={"seconds": load.seconds, "seed": load.seed, "cases": load.cases},
    )


_TOGETHER = ("accepted", "in_flight", "resolved", "replayed", "declined", "dismissed", "failed", "restored", "rejected")


def _audited(counts: Mapping[str, int], cases: int) -> str:
    stored = f"{counts['cards']:,} cards, {counts['commands']:,} commands, {counts['effects']:,} effects"
    return f"{stored}, {counts['ledger_entries']:,} entries of the ledger, {cases:,} cases, by {len(CHECKS)} checks"


def _report(
    place: Place,
    load: Load,
    heard: Heard,
    evidence: Evidence,
    on: str,
    wrong: Sequence[str],
    *,
    interrupted: bool,
) -> Report:
    outcomes = Counter(each.outcome for each in heard.told)
    times = {method: spread(each) for method, each in sorted(heard.took.items())}
    counts = {
        "answers": len(heard.told),
        "cards": len(evidence.cards),
        "commands": len(evidence.commands),
        "effects": sum(map(len, evidence.effects.values())),
        "ledger_entries": sum(map(len, evidence.ledger.values())),
        "edits": sum(each.outcome == "case.edit" for each in heard.told),
        "busy": outcomes[BUSY],
        "unknown": outcomes[UNKNOWN],
    }
    seconds = heard.seconds
    rate = round(len(heard.told) / seconds, 1) if seconds else 0.0
    named = ", ".join(f"{outcomes[each]:,} {each}" for each in _TOGETHER if outcomes[each])
    facts = [
        ("machine", on),
        ("durability", durability(place)),
        ("time", f"{seconds:,.0f} s{', interrupted' * interrupted}"),
        ("answers", f"{len(heard.told):,}, {rate:,.0f} a second: {named}"),
        ("said to be busy", f"{outcomes[BUSY]:,}; of {outcomes[UNKNOWN]:,} nobody knows"),
        *((method, f"{len(heard.took[method]):,}: {in_words(each)}") for method, each in times.items()),
        ("audited", _audited(counts, len(evidence.cases))),
    ]
    database = name_of(place)
    who = f"{load.processes} processes with {load.connections} connections each"
    return Report(
        title=f"load on {database}: {who}",
        facts=facts,
        figures={
            "database": database,
            "processes": load.processes,
            "connections": load.connections,
            "machine": on,
            "durability": durability(place),
            "seconds": round(seconds, 1),
            "a_second": rate,
            **counts,
            "outcomes": dict(outcomes),
            "times": times,
        },
        wrong=wrong,
        interrupted=interrupted,
    )
