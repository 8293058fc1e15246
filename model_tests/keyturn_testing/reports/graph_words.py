"""A state of the card world in words, and a step: no more than the future depends on, so that equal states read alike.

Revisions and times are told by what they are compared with, and cards by their place: ids and numbers are those of one way among
many that lead to a state. A card that has ended is told by its status alone, because nothing else of it counts.
"""

from collections.abc import Callable, Mapping

from attrs import frozen

from keyturn import operations as ops
from keyturn.branches import Unheard
from keyturn.card_world import Happening, outcome_of
from keyturn.cards import Interaction
from keyturn.faults import FaultKind
from keyturn.responses import Rejected, named_card
from keyturn.status import UNWRITTEN, InteractionStatus
from keyturn.table import OPEN
from keyturn.values import CaseKey, Instant
from keyturn.world import World
from keyturn_testing.wording import counted

WHEN: Mapping[FaultKind, str] = {
    FaultKind.OWNERSHIP_UNREADABLE: "the owner cannot be read",
    FaultKind.REVISION_UNREADABLE: "the revision cannot be read",
    FaultKind.PAYLOAD_CORRUPT: "what the card asks cannot be read",
    FaultKind.WRITE_FAILS: "the write fails",
    FaultKind.COMMIT_FAILS: "the commit fails",
    FaultKind.REPLY_LOST: "the reply is lost",
    FaultKind.CRASH_BEFORE_COMMIT: "the process ends before the commit",
    FaultKind.CRASH_AFTER_COMMIT: "the process ends after the commit",
}
"""What a fault does, in words that stand beside the action that it hits."""

_PLACES = ("the first", "the second", "the third", "the fourth")


@frozen
class CardInWords:
    """A card by its place: its case's place, its status, and what else its future depends on."""

    case: int
    status: str
    facts: tuple[str, ...] = ()


@frozen
class StateInWords:
    """A state: each case with its account and whether it is open, and the cards as they were presented."""

    cases: tuple[tuple[str, str, str], ...]
    cards: tuple[CardInWords, ...]


@frozen
class Renamed:
    """Who is who in another state that is the same but for names: the new place of each card, and what has changed in words."""

    cards: tuple[int, ...]
    says: tuple[str, ...]


@frozen
class StepInWords:
    """A step: what is done, and to what; the fault that hits it; what comes back, and why; and what happened on the way.

    `moves` are the transitions of cards, by their places. `renamed` says who is who afterwards, where names have changed.
    """

    kind: str
    subject: str
    fault: str
    outcome: str
    refused: bool
    because: tuple[str, ...]
    moves: tuple[tuple[int, str, str, str], ...]
    effects: int
    renamed: Renamed | None = None


# ---- States ---------------------------------------------------------------------------------------------------------


def state_in_words(world: World) -> StateInWords:
    """Return what the future of a world depends on."""
    cases = sorted(world.cases, key=lambda each: each.key)
    keys = [each.key for each in cases]
    dated = (each.expires_at for each in world.interactions if each.status in OPEN)
    deadlines = sorted({each for each in dated if each is not None and each > world.now})
    return StateInWords(
        cases=tuple(
            (_case(each.key), _spelled(each.key.account), "closed" if each.closed else "open") for each in cases
        ),
        cards=tuple(
            CardInWords(keys.index(each.key), each.status.value, tuple(_facts(world, each, deadlines)))
            for each in world.interactions
        ),
    )


def _case(key: CaseKey) -> str:
    return _spelled(key.case)


def _spelled(name: str) -> str:
    return name.replace("-", " ")


def _facts(world: World, card: Interaction, deadlines: list[Instant]) -> list[str]:
    if card.status not in OPEN:
        return []
    facts = ["blocking" if card.blocking else "not blocking"]
    if card.case_revision is not None:
        facts.append("fresh" if card.case_revision == world.revision(card.key) else "stale")
    if card.expires_at is not None:
        is_past = card.expires_at <= world.now
        when = "past" if is_past else f"{_PLACES[deadlines.index(card.expires_at)]} to come"
        facts.append(f"its deadline is {when}")
    commands = [each for each in world.commands if each.card == card.id]
    in_flight = [each for each in commands if each.settlement is None]
    if card.status is InteractionStatus.RESOLVING:
        current = world.revision(card.key)
        facts.extend(
            f"its command is in flight{'' if each.accepted_at == current else ', and the record has moved'}"
            for each in in_flight
        )
        if not in_flight:
            facts.append("it waits for no command")
    if len(commands) > len(in_flight):
        facts.append(f"{counted(len(commands) - len(in_flight), 'command')} given back")
    return facts


def first_found(world: World) -> str:
    """Return the numbers of a world, which are those of the way on which it was first found."""
    revisions = ", ".join(f"{_case(each.key)} at revision {each.revision}" for each in world.cases)
    return f"{world.now / 1000:g} s on the clock{', ' if revisions else ''}{revisions}"


# ---- Steps ----------------------------------------------------------------------------------------------------------


def step_in_words(happening: Happening, after: World, renamed: Renamed | None) -> StepInWords:
    """Return a step in words; `after` is the world that it leads to, in which its cards have their places."""
    outcome, moved = happening.branch.outcome, happening.branch.happened
    cards = [each.id for each in after.interactions]
    return StepInWords(
        kind=happening.kind,
        subject=_subject(happening.operation, after),
        fault="" if happening.fault is None else WHEN[happening.fault],
        outcome="nobody hears the answer" if isinstance(outcome, Unheard) else outcome_of(happening),
        refused=isinstance(outcome, Rejected),
        because=tuple(sorted(happening.branch.because)),
        moves=tuple(
            (cards.index(each.card), (each.from_status or UNWRITTEN), each.event.value, each.to_status.value)
            for each in moved
            if isinstance(each, ops.LedgerEntry)
        ),
        effects=sum(isinstance(each, ops.Effect) for each in moved),
        renamed=renamed,
    )


def _subject(operation: ops.Operation, world: World) -> str:
    """What an operation is about, by its place."""
    match operation:
        case ops.CaseOperation():
            return _case(CaseKey(operation.account, operation.workflow, operation.case))
        case ops.CardRespond():
            return _card(world, named_card(operation.response))
        case ops.CardDismiss():
            return _card(world, operation.card)
        case ops.CommandSettle():
            return _command(world, operation.command)
        case _:
            return ""


def _card(world: World, name: str | None) -> str:
    return next((f"card {place}" for place, each in enumerate(world.interactions, 1) if each.id == name), "no card")


def _command(world: World, name: str) -> str:
    card = next(each.card for each in world.commands if each.id == name)
    attempts = [str(each.id) for each in world.commands if each.card == card]
    which = "" if len(attempts) == 1 else f", attempt {attempts.index(name) + 1}"
    return f"{_card(world, card)}{which}"


def renamed_between(after: World, first: World, same: Callable[[World, World], bool]) -> Renamed | None:
    """Return who of a world is who in another that is the same but for names; nothing where nobody has another name.

    `same` says whether two worlds are the same with their names.
    """
    if after is first or same(after, first):
        return None
    here, there = state_in_words(after), state_in_words(first)
    cards, says = [0] * len(here.cards), list[str]()
    for (case, mine), (other_case, others) in zip(_by_looks(here), _by_looks(there), strict=True):
        if here.cases[case] != there.cases[other_case]:
            says.append(f"{here.cases[case][0]} is called {there.cases[other_case][0]}")
        for card, other in zip(mine, others, strict=True):
            cards[card] = other
    says.extend(f"card {card + 1} is called card {other + 1}" for card, other in enumerate(cards) if card != other)
    return Renamed(tuple(cards), tuple(says))


def _by_looks(state: StateInWords) -> list[tuple[int, list[int]]]:
    """The cases, each with its cards, in an order in which names make no difference."""

    def looks(card: int) -> tuple[str, tuple[str, ...]]:
        return state.cards[card].status, state.cards[card].facts

    found = []
    for case, (_, _, is_open) in enumerate(state.cases):
        cards = sorted((place for place, each in enumerate(state.cards) if each.case == case), key=looks)
        found.append((is_open, [looks(each) for each in cards], case, cards))
    return [(case, cards) for _, _, case, cards in sorted(found)]
