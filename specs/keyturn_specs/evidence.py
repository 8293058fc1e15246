"""E, evidence: the ledger tells what happened, whole and in order, and the counters count it.

Both are judged against what the cards read and what was answered. Replaying the entries gives the statuses; where the ledger
is claimed, E1 thus holds it to the cards, and counters that agree with the cards (E3) agree with the ledger too.
"""

from keyturn.capabilities import Capability
from keyturn.cards import ActionClass
from keyturn.operations import NOTHING_COUNTED, LedgerEntry
from keyturn.responses import Declined, Replayed, Resolved
from keyturn.status import UNWRITTEN, InteractionEvent, InteractionStatus
from keyturn.store import counted
from keyturn.table import STATUS_TABLE
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import chosen_option
from keyturn_specs.requirement import ByInvariant, Family, Requirement

_OF_A_COMMAND = (
    InteractionEvent.ACCEPT,
    InteractionEvent.COMMIT,
    InteractionEvent.FAIL,
    InteractionEvent.RESTORE,
)


def _moves_a_card(moment: Moment) -> bool:
    return any(isinstance(each, LedgerEntry) for each in moment.branch.happened)


def _nameless(seen: Observation, entry: LedgerEntry) -> bool:
    views = (seen.after.cards.get(entry.card), seen.before.cards.get(entry.card))
    options = (entry.cause.option, *(view.resolved_option for view in views if view is not None))
    stored = chosen_option(seen, entry.card, next(filter(None, options), None))
    authorises = stored is not None and stored.action.action_class is ActionClass.AUTHORISES
    return authorises and entry.event in _OF_A_COMMAND and entry.cause.command is None


def _held_before(seen: Observation) -> dict[str, str]:
    """What each card was before the step: as it read, or as the ledger left it where nobody could read it."""
    replayed: dict[str, str] = {
        entry.card: entry.to_status for entries in seen.before.ledger.values() for entry in entries
    }
    return replayed | {card: view.status for card, view in seen.before.cards.items() if view is not None}


def _ledger_and_cards_disagree(seen: Observation) -> str | None:
    statuses = _held_before(seen)
    for key, entries in seen.after.ledger.items():
        known = seen.before.ledger.get(key, ())
        if entries[: len(known)] != known:
            return f"entries of the ledger of the case {key.case} were changed, moved or removed"
        for entry in entries[len(known) :]:
            held = statuses.get(entry.card, UNWRITTEN)
            if (entry.from_status or UNWRITTEN) != held:
                return f"the ledger says {entry.event} of the card {entry.card} from {entry.from_status}, and it was {held}"
            if STATUS_TABLE.rows[held].get(entry.event) != entry.to_status:
                return f"the ledger says that {entry.event} led the card {entry.card} from {held} to {entry.to_status}"
            if _nameless(seen, entry):
                return f"the ledger's {entry.event} of the card {entry.card} does not name its command"
            statuses[entry.card] = entry.to_status
    for card, view in seen.after.cards.items():
        if seen.after.ledger and view is not None and statuses.get(card) != view.status:
            return (
                f"the card {card} reads {view.status}, and replaying the ledger gives {statuses.get(card, 'nothing')}"
            )
    return None


def _tells_of_effects(moment: Moment) -> bool:
    outcome = moment.branch.outcome
    return isinstance(outcome, Resolved | Replayed | Declined) and bool(outcome.result.effects)


def _cites_what_is_not_there(seen: Observation) -> str | None:
    if not isinstance(seen.outcome, Resolved | Replayed | Declined):
        return None
    result = seen.outcome.result
    there = {each.id for effects in seen.after.effects.values() for each in effects}
    missing = next((each for each in result.effects if each not in there), None)
    if missing is not None:
        return f"the result of {result.card} cites the effect {missing}, and it cannot be read"
    option = chosen_option(seen, result.card, result.option)
    authorises = option is not None and option.action.action_class is ActionClass.AUTHORISES
    return (
        f"the result of {result.card} is a success that cites no effect" if authorises and not result.effects else None
    )


def _counts_something(moment: Moment) -> bool:
    return counted(moment.branch.happened, moment.branch.outcome) != NOTHING_COUNTED


def _due_counts(seen: Observation) -> dict[str, int]:
    """How far each counter must have moved; of a lost reply nobody knows whether it wrote a card or refused one."""
    now = {card: view.status for card, view in seen.after.cards.items() if view is not None}
    ended = [status for card, status in now.items() if seen.before.status(card) != status]
    due = {each.value: ended.count(each) for each in (InteractionStatus.RESOLVED, InteractionStatus.FAILED)}
    if seen.outcome is not None:
        due["created"] = sum(seen.before.cards.get(card) is None for card in now)
    if seen.outcome is not None and Capability.CODED_REFUSALS in seen.claims:
        due["stale"] = counted((), seen.outcome).stale
    return due


def _counters_disagree(seen: Observation) -> str | None:
    if seen.after.metrics is None:
        return None
    before = seen.before.metrics or NOTHING_COUNTED
    for name, due in sorted(_due_counts(seen).items()):
        moved = getattr(seen.after.metrics, name) - getattr(before, name)
        if moved != due:
            return f"the counter `{name}` moved by {moved}, and what was answered and what the cards read make it {due}"
    return None


EVIDENCE: tuple[Requirement, ...] = (
    Requirement(
        id="E1",
        family=Family.EVIDENCE,
        says="Every transition is in the ledger once, in order, with its cause (accept, commit, fail and restore name "
        "their command); replaying the ledger gives the stored statuses.",
        why="Without it nobody can say afterwards who decided what.",
        source="persistent interactions, Error outcomes: every transition is written to the EventLedger",
        needs=frozenset({Capability.LEDGER}),
        applies=_moves_a_card,
        judged_by=ByInvariant(_ledger_and_cards_disagree, of_many=True),
    ),
    Requirement(
        id="E2",
        family=Family.EVIDENCE,
        says="A success result of an authorising option cites committed effects, and they exist.",
        why="A receipt that cites nothing, or something else, proves nothing.",
        source="persistent interactions, Text and click: the receipt is generated from the committed events",
        applies=_tells_of_effects,
        judged_by=ByInvariant(_cites_what_is_not_there),
    ),
    Requirement(
        id="E3",
        family=Family.EVIDENCE,
        says="The counters created (cards written), resolved and failed (terminal status by settling; a restore counts "
        "nowhere) and stale (refusals with stale_revision) agree with the ledger and the outcomes.",
        why="Whoever watches a deployment sees the counters first, and only they show that people answer stale cards.",
        source="persistent interactions, Error outcomes: the counters of interactions",
        needs=frozenset({Capability.METRICS}),
        applies=_counts_something,
        judged_by=ByInvariant(_counters_disagree),
    ),
)
