"""The audit: what must be true of a store whatever its workers did at the same time, one check for each sentence.

A check reads the evidence and gives every breach that it finds, with where it is and what is wrong there. It takes the status
machine from the kernel's table and nothing from the rules that decided.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from evidence import Card, Evidence, Told
from keyturn.errors import IllegalTransition
from keyturn.evidence import LedgerEntry, Metrics
from keyturn.status import UNWRITTEN
from keyturn.table import OPEN, STATUS_TABLE
from keyturn.values import CaseKey
from lanes import UNKNOWN


@frozen
class Breach:
    """One thing that must not be: which sentence it breaks, where, and what is there."""

    check: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.check}: {self.where}: {self.what}"


Found = Iterator[tuple[str, str]]
"""Where something is wrong, and what."""


# ---- What the ledger says -------------------------------------------------------------------------------------------


def ledger_replays(evidence: Evidence) -> Found:
    """Replayed by the table, the ledger of each card leads to its stored status (L1, L2, E1)."""
    for card in evidence.cards.values():
        entries = evidence.ledger.get(card.id, ())
        reached, wrong = _replayed(entries)
        if wrong is None and reached != card.status:
            wrong = f"its ledger leads to {reached}, and its status is {card.status}"
        if wrong is not None:
            yield f"card {card.id}", wrong


def _replayed(entries: Sequence[LedgerEntry]) -> tuple[str, str | None]:
    status = UNWRITTEN
    for entry in entries:
        before = UNWRITTEN if entry.from_status is None else str(entry.from_status)
        try:
            after = STATUS_TABLE.step(status, entry.event)
        except IllegalTransition as error:
            return status, f"entry {entry.seq} cannot be: {error}"
        if (before, str(entry.to_status)) != (status, after):
            said = f"{before} to {entry.to_status}, and {entry.event} leads from {status} to {after}"
            return status, f"entry {entry.seq} says {said}"
        status = after
    return status, None


def counters_agree(evidence: Evidence) -> Found:
    """The counters are what the ledger has, and as many refusals as stale as were told (E3)."""
    to = Counter(str(entry.to_status) for entries in evidence.ledger.values() for entry in entries)
    present = sum(entry.event == "present" for entries in evidence.ledger.values() for entry in entries)
    stale = sum(each.answer.get("code") == "stale_revision" for each in _gate(evidence.told))
    # Whether the reply of an operation that nobody heard was one of these, nobody knows.
    unheard = sum(each.outcome == UNKNOWN for each in evidence.told)
    counters = evidence.counters
    if stale <= counters.stale <= stale + unheard:
        stale = counters.stale
    due = Metrics(created=present, resolved=to["resolved"], stale=stale, failed=to["failed"])
    if counters != due:
        yield "the counters", f"they are {_in_words(counters)}, and the ledger and the answers make {_in_words(due)}"


def _gate(told: Sequence[Told]) -> Iterator[Told]:
    return (each for each in told if each.outcome == "rejected")


def _in_words(counters: Metrics) -> str:
    return f"created {counters.created}, resolved {counters.resolved}, stale {counters.stale}, failed {counters.failed}"


# ---- What is there now ----------------------------------------------------------------------------------------------


def effects_are_of_one_command(evidence: Evidence) -> Found:
    """A card has the effects of one command of one of its options, each once, or none (I14.1, I14.9, L9)."""
    for card in evidence.cards.values():
        effects = evidence.effects.get(card.id, ())
        commands = {each.command for each in effects}
        result = card.result or {}
        due = list(result.get("effects", ()))
        if len(commands) > 1:
            yield f"card {card.id}", f"{len(commands)} of its commands ran: {', '.join(sorted(commands))}"
        elif [str(each.id) for each in effects] != due:
            has = ", ".join(each.id for each in effects) or "none"
            yield f"card {card.id}", f"its result names the effects {', '.join(due) or 'none'}, and it has {has}"
        elif len(due) != (expected := _effects_of(card)):
            yield (
                f"card {card.id}",
                f"it has {len(due)} effects, and its option {card.resolved_option} makes {expected}",
            )


_EFFECTS_OF: Mapping[tuple[str, str], Callable[[Mapping[str, Any]], int]] = {
    ("resolved", "apply_operation"): lambda action: 1,
    ("resolved", "confirm_commands"): lambda action: len(action["command_refs"]),
    ("declined", "decline_and_record"): lambda action: 1,
}
"""How many effects a stored action has on a card that it brought to an end."""


def _effects_of(card: Card) -> int:
    chosen = [each["action"] for each in card.payload["options"] if each["id"] == card.resolved_option]
    counts = (_EFFECTS_OF.get((card.status, action["kind"])) for action in chosen)
    return sum(count(action) for count, action in zip(counts, chosen, strict=True) if count is not None)


def one_open_blocking_card(evidence: Evidence) -> Found:
    """A case has at most one blocking card that is open (I5.1)."""
    holding = [each for each in evidence.cards.values() if each.blocking and each.status in OPEN]
    for case, count in Counter(each.case for each in holding).items():
        if count > 1:
            named = ", ".join(each.id for each in holding if each.case == case)
            yield _named(case), f"{count} blocking cards are open: {named}"


def revisions_grew_by_what_was_committed(evidence: Evidence) -> Found:
    """Each revision of a case was made by one commit or by one edit that was told, and none by nothing (I13.9)."""
    made: dict[CaseKey, Counter[int]] = {case: Counter() for case in evidence.cases}
    unheard: Counter[CaseKey] = Counter()
    for told in evidence.told:
        if told.method == "case.edit":
            made[told.case].update([told.answer["revision"]] if "revision" in told.answer else [])
            unheard[told.case] += told.outcome == UNKNOWN
    for card, effects in evidence.effects.items():
        made[evidence.cards[card].case].update({each.command: each.case_revision for each in effects}.values())
    for case, revision in evidence.cases.items():
        due = Counter(range(2, revision + 1))
        twice = sorted((made[case] - due).elements())
        missing = sorted((due - made[case]).elements())
        if twice or len(missing) > unheard[case]:
            said = f"made twice or not there: {twice}; made by nothing: {missing}"
            yield _named(case), f"it is at revision {revision}; {said}"


def _named(case: CaseKey) -> str:
    return f"case {case.account}/{case.workflow}/{case.case}"


# ---- What somebody was told -----------------------------------------------------------------------------------------


def answers_are_there(evidence: Evidence) -> Found:
    """What a worker was told is there: the card, the command, the result, the settlement (A3, I6.1, I14.2, L5)."""
    for told in evidence.told:
        look = _LOOKS.get((told.method, told.outcome)) or _LOOKS.get(told.outcome)
        wrong = None if look is None else look(evidence, told)
        for name in told.answer.get("invalidated", ()):
            card = evidence.cards.get(name)
            if card is None or card.status != "invalidated":
                wrong = f"it invalidated {name}, which is {'not there' if card is None else card.status}"
        if wrong is not None:
            yield str(told), wrong


def _presented(evidence: Evidence, told: Told) -> str | None:
    offered = told.answer["card"]
    card = evidence.cards.get(offered["id"])
    if card is None:
        return f"there is no card {offered['id']}"
    return None if card.payload_hash == offered["payload_hash"] else f"{card.id} has another payload"


def _in_flight(evidence: Evidence, told: Told) -> str | None:
    command = evidence.commands.get(told.answer["command"])
    if command is None:
        return f"there is no command {told.answer['command']}"
    return None if command.card == told.card else f"{command.id} is of {command.card}"


def _accepted(evidence: Evidence, told: Told) -> str | None:
    wrong, chosen = _in_flight(evidence, told), told.asked["response"]["option_id"]
    if wrong is None and evidence.commands[told.answer["command"]].option != chosen:
        return f"{told.answer['command']} is of another option than {chosen}"
    return wrong


def _ended(evidence: Evidence, told: Told) -> str | None:
    result = told.answer["result"]
    card = evidence.cards.get(result["card"])
    stored = None if card is None else card.result
    return None if stored == result else f"the result was {result}, and what is stored is {stored}"


def _settled(evidence: Evidence, told: Told) -> str | None:
    command = evidence.commands.get(told.asked["command"])
    stored = None if command is None else command.reply
    return None if stored == told.answer else f"the reply was {dict(told.answer)}, and what is stored is {stored}"


_LOOKS: Mapping[str | tuple[str, str], Callable[[Evidence, Told], str | None]] = {
    "presented": _presented,
    "accepted": _accepted,
    "in_flight": _in_flight,
    **dict.fromkeys(("resolved", "declined", "dismissed", "replayed"), _ended),
    **{("command.settle", outcome): _settled for outcome in ("resolved", "failed", "restored")},
}
"""How it is seen that an answer is there, by its outcome, or by its operation and its outcome."""


def ids_were_given_once(evidence: Evidence) -> Found:
    """No two workers were told that the same card, or the same command, is theirs (I6.7)."""
    told = Counter(
        str(each.answer["card"]["id"] if each.outcome == "presented" else each.answer["command"])
        for each in evidence.told
        if each.outcome in {"presented", "accepted"}
    )
    for name, count in told.items():
        if count > 1:
            yield name, f"it was given to {count} workers"


CHECKS: Mapping[str, Callable[[Evidence], Found]] = {
    "the ledger replays to the status": ledger_replays,
    "a card's commands run at most once": effects_are_of_one_command,
    "no answer is lost": answers_are_there,
    "one open blocking card a case": one_open_blocking_card,
    "the counters agree": counters_agree,
    "revisions grow by what was committed": revisions_grew_by_what_was_committed,
    "an id is given once": ids_were_given_once,
}
"""The checks by their sentences."""


def audit(evidence: Evidence) -> list[Breach]:
    """Return everything that is wrong."""
    return [Breach(name, where, what) for name, check in CHECKS.items() for where, what in check(evidence)]
