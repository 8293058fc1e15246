"""The double clicks: two processes click the same option of the same card at the same moment, again and again.

The store runs the command of an option at once (it does not claim `deferred`), so that a click is the whole of it: of two, one
must run the command, and the other must be answered with what came of it. What happened is then counted in the store itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any

from attrs import field, frozen

from auditing import audit
from check_then_act import CheckThenActStore
from crew import Orders, run_crew
from evidence import Evidence, Told, gather
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.values import Json
from keyturn_sql.database import Place
from lanes import BUSY, UNKNOWN
from places import RIGHT, WRONG, durability, name_of, open_store
from telling import Progress, Report, in_words, machine, milliseconds, percentile, spread

CLAIMS = ALL_CLAIMS - {Capability.DEFERRED}
PROCESSES = 2
PAYLOAD: Mapping[str, Json] = {
    "title": "Pay?",
    "options": [
        {
            "id": "pay",
            "label": "Pay",
            "action": {"kind": "apply_operation", "operation": "pay", "arguments": {"sum": 1}},
        },
        {"id": "no", "label": "No", "action": {"kind": "decline"}},
    ],
}


@frozen(kw_only=True)
class Clicks:
    """How many cards are clicked twice, on how many connections of each process, and on which store."""

    pairs: int
    connections: int
    store: str = RIGHT


@frozen
class Click:
    """One click: when it began and ended on the clock of the machine, in nanoseconds, and what it was told."""

    start: int
    end: int
    outcome: str


@frozen
class Heard:
    """The clicks of each card, by the process that made them."""

    clicks: dict[str, dict[int, Click]] = field(factory=dict)
    told: list[Told] = field(factory=list)

    def __call__(self, worker: int, line: Mapping[str, Any]) -> None:
        """Take down one answer; of a click that was told to try again, the last one."""
        told = Told(line["method"], line["asked"], line["answer"])
        self.told.append(told)
        self.clicks.setdefault(told.card, {})[worker] = Click(line["start"], line["end"], told.outcome)


def run_double_clicks(place: Place, wanted: Clicks, progress: Progress) -> Report:
    """Click twice on each of many cards, and count what came of it."""
    cards = _prepare(place, wanted, progress)
    heard, before = Heard(), machine()

    def hear(worker: int, line: Mapping[str, Any]) -> None:
        heard(worker, line)
        progress(f"{len(heard.told):,} of {2 * wanted.pairs:,} clicks")

    interrupted = run_crew(_orders(place, wanted, cards), hear)
    progress("counting")
    with closing(open_store(place, wanted.store, CLAIMS)) as store:
        evidence = gather(store, heard.told)
    progress.clear()
    return _report(place, wanted, heard, evidence, before, interrupted=interrupted)


def _prepare(place: Place, wanted: Clicks, progress: Progress) -> Sequence[Mapping[str, str]]:
    """Present the cards, each in a case of its own; nothing is measured yet, so that no commit waits for the disk."""
    cards: list[Mapping[str, str]] = []
    with closing(open_store(place, wanted.store, CLAIMS, "normal")) as store:
        if isinstance(store, CheckThenActStore):
            store.drop_guards()
        for number in range(wanted.pairs):
            case: dict[str, Any] = {"account": "acme", "workflow": "travel", "case": f"trip-{number}"}
            store.case_open(**case)
            answer: Any = store.card_present(
                **case,
                conversation=f"chat-{number}",
                kind="confirm_command",
                blocking=True,
                revision_independent=False,
                payload=PAYLOAD,
                on_occupied="refuse",
            )
            cards.append({"id": answer["card"]["id"], "conversation": f"chat-{number}"})
            progress(f"{number + 1:,} of {wanted.pairs:,} cards presented")
    return cards


def _orders(place: Place, wanted: Clicks, cards: Sequence[Mapping[str, str]]) -> Orders:
    return Orders(
        job="double-clicks",
        place=place,
        store=wanted.store,
        claims=CLAIMS,
        processes=PROCESSES,
        connections=wanted.connections,
        settings={"cards": cards},
    )


# ---- What is counted ------------------------------------------------------------------------------------------------


def _pairs(heard: Heard) -> list[tuple[Click, Click]]:
    return [(each[0], each[1]) for each in heard.clicks.values() if len(each) == PROCESSES]


def _overlap(one: Click, other: Click) -> bool:
    return one.start < other.end and other.start < one.end


def _figures(heard: Heard, evidence: Evidence) -> dict[str, Any]:
    pairs = _pairs(heard)
    clicks = [click for pair in pairs for click in pair]
    commands = [len({each.command for each in evidence.effects.get(card, ())}) for card in heard.clicks]
    seconds = (max(each.end for each in clicks) - min(each.start for each in clicks)) / 1e9 if clicks else 0.0
    apart = sorted(abs(one.start - other.start) for one, other in pairs)
    outcomes = Counter(told.outcome for told in heard.told)
    return {
        "pairs": len(pairs),
        "effects": sum(map(len, evidence.effects.values())),
        "doubled": sum(count > 1 for count in commands),
        "lost": sum(count == 0 for count in commands),
        "overlapped": sum(_overlap(*pair) for pair in pairs),
        "apart_p50_milliseconds": milliseconds(percentile(apart, 0.5)) if apart else None,
        "seconds": round(seconds, 1),
        "clicks_a_second": round(len(clicks) / seconds, 1) if clicks else None,
        "click": spread([each.end - each.start for each in clicks]),
        "outcomes": dict(outcomes),
        "one_ran_it_and_one_was_answered": sum({one.outcome, other.outcome} == ONE_EACH for one, other in pairs),
        "busy": outcomes[BUSY],
        "unknown": outcomes[UNKNOWN],
    }


ONE_EACH = {"resolved", "replayed"}
"""What the two clicks of a pair are told: one runs the command, and one gets the original result (I14.2)."""


def _wrong_of_right(figures: Mapping[str, Any], evidence: Evidence) -> list[str]:
    wrong = [f"{figures[name]} clicks were {name}" for name in ("doubled", "lost") if figures[name]]
    pairs = figures["pairs"]
    if figures["effects"] != pairs:
        wrong.append(f"{pairs} pairs of clicks have {figures['effects']} effects")
    if figures["one_ran_it_and_one_was_answered"] != pairs:
        wrong.append(f"of {pairs} pairs, {figures['one_ran_it_and_one_was_answered']} were told {sorted(ONE_EACH)}")
    if 2 * figures["overlapped"] < pairs:
        wrong.append(f"only {figures['overlapped']} of {pairs} pairs overlapped, so that they were no double clicks")
    return wrong + [str(each) for each in audit(evidence)]


def _wrong_of_wrong(figures: Mapping[str, Any], evidence: Evidence) -> list[str]:
    nothing = (
        "no click was doubled on a store that checks and then acts, so that this load would not find one elsewhere"
    )
    return [] if figures["doubled"] or not figures["pairs"] else [nothing]


JUDGES: Mapping[str, Callable[[Mapping[str, Any], Evidence], list[str]]] = {
    RIGHT: _wrong_of_right,
    WRONG: _wrong_of_wrong,
}
"""What is wrong with the figures of a store: the one that must hold, and the one that must be caught."""


def _in_time(figures: Mapping[str, Any]) -> str:
    overlapped, pairs = figures["overlapped"], figures["pairs"]
    share = f"{overlapped:,} of {pairs:,} pairs ({overlapped / max(pairs, 1):.1%})"
    return f"{share}; half of them began within {figures['apart_p50_milliseconds']} ms of each other"


def _report(place: Place, wanted: Clicks, heard: Heard, evidence: Evidence, on: str, *, interrupted: bool) -> Report:
    figures = _figures(heard, evidence)
    wrong = JUDGES[wanted.store](figures, evidence)
    if figures["pairs"] != wanted.pairs and not interrupted:
        wrong.append(f"{wanted.pairs} pairs were asked for, and {figures['pairs']} were clicked")
    facts = [
        ("machine", on),
        ("durability", durability(place)),
        ("effects", f"{figures['effects']:,}: {figures['doubled']:,} doubled, {figures['lost']:,} lost"),
        ("overlapped", _in_time(figures)),
        ("a click", in_words(figures["click"])),
        ("speed", f"{figures['clicks_a_second']} clicks a second, for {figures['seconds']:,} s"),
        ("said to be busy", f"{figures['busy']:,}, and clicked again"),
    ]
    who = f"{PROCESSES} processes with {wanted.connections} connections each"
    named = {"database": name_of(place), "store": wanted.store, "connections": wanted.connections}
    return Report(
        title=f"double clicks on {named['database']}, store {wanted.store}: {wanted.pairs:,} cards, {who}",
        facts=facts,
        figures={**named, "machine": on, "durability": durability(place), **figures},
        wrong=wrong,
        interrupted=interrupted,
        good="holds" if wanted.store == RIGHT else "caught",
    )
