"""The cells of the contract: where a card stands, what is tried, and under which condition.

The status table says what may happen; everything else that can be tried is refused, or answered without a change (L1). A cell
names one such case in words, and every step of a run falls into some: into one where it is about a card, and into one for each
card of the case where it is about a case. Which cells there are is not written here: it follows from the table and from what a
system claims, by exploration (`keyturn_testing.touring`).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from attrs import frozen

from keyturn import operations as ops
from keyturn.answerability import problems_of
from keyturn.capabilities import Capability
from keyturn.cards import DeclineAndRecord, Interaction, InteractionKind, InteractionOption
from keyturn.responses import RefusalCode, options_of, policy_of, readings, refusal_of_text
from keyturn.status import UNWRITTEN, InteractionStatus
from keyturn.table import OPEN
from keyturn.values import LARGEST_INTEGER, CaseKey
from keyturn.world import World
from keyturn_specs.observations import Moment


@frozen(kw_only=True, order=True)
class Cell:
    """The status of the card that is meant (`unwritten` where there is none), the operation, and the condition, in words."""

    status: str
    operation: str
    condition: str

    def __str__(self) -> str:
        """The three parts, for a report."""
        return f"{self.status}: {self.operation}, {self.condition}"


Found: TypeAlias = Iterator[tuple[str, str]]
"""Pairs of a status and a condition."""


def cells_of(moment: Moment) -> tuple[Cell, ...]:
    """Return the cells that a step falls into; none where it is about no card and no case."""
    named = (
        Cell(status=status, operation=moment.operation.method, condition=words) for status, words in _found(moment)
    )
    return tuple(dict.fromkeys(named))


def _found(moment: Moment) -> Found:
    world = moment.state.world
    match moment.operation:
        case ops.CardPresent() as present:
            return _presenting(world, present)
        case ops.CardRespond() as respond:
            return _responding(world, respond, moment)
        case ops.CardDismiss() as dismiss:
            return _dismissing(world, dismiss, moment)
        case ops.CommandSettle() as settle:
            return _settling(world, settle)
        case ops.CaseEdit() | ops.CaseClose() | ops.CardWithdraw() as of_case:
            return _clearing(world, of_case.key)
        case ops.CardExpireDue():
            return (
                (each.status, "past its deadline" if each.is_past(world.now) else "in time")
                for each in world.interactions
            )
        case ops.CardGet() | ops.StateExport() as read:
            return _reading(world, read)
        case _:
            return iter(())


# ---- Answers --------------------------------------------------------------------------------------------------------


@frozen
class _Asked:
    """What is asked of one card, and whether the card is bound to a revision that is compared."""

    operation: ops.CardRespond | ops.CardDismiss
    world: World
    card: Interaction
    revision: int | None
    is_bound: bool
    options: tuple[InteractionOption, ...] | None
    refused_text: RefusalCode | None

    @property
    def current(self) -> int:
        """The revision of the card's case."""
        return self.world.revision(self.card.key)


Condition: TypeAlias = tuple[str, Callable[[_Asked], bool]]

NO_CARD = "about no card that there is"
STRANGER: Condition = ("as another account", lambda asked: asked.card.key.account != asked.operation.account)
ELSEWHERE: Condition = (
    "from another conversation",
    lambda asked: asked.card.conversation != asked.operation.conversation,
)

_TEXTS: Mapping[RefusalCode, str] = {
    RefusalCode.FREEFORM_FORBIDDEN: "with a text where none may be",
    RefusalCode.FREEFORM_REQUIRED: "without the text that is due",
    RefusalCode.FREEFORM_TOO_LONG: "with too long a text",
}

WRONG: tuple[Condition, ...] = (
    STRANGER,
    ELSEWHERE,
    ("without a revision", lambda asked: asked.is_bound and asked.revision is None),
    ("past its deadline", lambda asked: asked.card.is_past(asked.world.now)),
    ("with an option that it does not have", lambda asked: asked.options is None),
    (
        "for an earlier revision",
        lambda asked: asked.is_bound and (asked.revision or 0) < (asked.card.case_revision or 0),
    ),
    ("for a later revision", lambda asked: asked.is_bound and (asked.revision or 0) > asked.current),
    (
        "for the current revision, which is not its own",
        lambda asked: asked.is_bound and asked.revision == asked.current != asked.card.case_revision,
    ),
    *((words, lambda asked, code=code: asked.refused_text is code) for code, words in _TEXTS.items()),
)
"""What can be wrong with an answer, or with its time; the first that holds names the condition."""


def _wrong(asked: _Asked) -> str | None:
    return next((words for words, holds in WRONG if holds(asked)), None)


def _rightly(world: World, card: Interaction, options: tuple[InteractionOption, ...]) -> str:
    """What is chosen, where nothing is wrong with it; of a card that was answered, whether it is chosen again."""
    result, chosen = card.result, {each.id for each in options}
    decided = {card.resolved_option} if result is None or result.options is None else set(result.options)
    if chosen == decided:
        return "with what it was answered with"
    if card.kind is InteractionKind.MULTI_SELECT:
        return "with no option" if not options else "with one option" if len(options) == 1 else "with several options"
    action = options[0].action
    if card.status is InteractionStatus.ACTIVE:
        return f"with {action.kind}" + (_company(world, card) if isinstance(action, DeclineAndRecord) else "")
    return f"with another option, which {action.action_class}"


def _moved(asked: _Asked) -> str:
    return ", after the record has moved" if asked.is_bound and asked.current != asked.card.case_revision else ""


def _company(world: World, card: Interaction) -> str:
    """Whether another card waits that the record takes with it when it moves (I13.9)."""
    others = (each for each in world.interactions if each.key == card.key and each is not card)
    waits = any(each.status is InteractionStatus.ACTIVE and each.case_revision is not None for each in others)
    return ", beside a bound card" if waits else ""


def _responding(world: World, operation: ops.CardRespond, moment: Moment) -> Found:
    sent = operation.response
    named = sent.get("interaction_id") if isinstance(sent, Mapping) else None
    card = world.interaction(named) if isinstance(named, str) else None
    response = readings(sent)[0]
    if card is None:
        yield UNWRITTEN, "malformed" if response is None else NO_CARD
    elif response is None or response.chosen_of(card.kind) is None:
        yield card.status, "malformed"
    else:
        policy = policy_of(card, response)
        asked = _Asked(
            operation,
            world,
            card,
            response.expected_case_revision,
            _is_bound(card, moment),
            options_of(card, response),
            None if policy is None else refusal_of_text(policy, response.freeform_input),
        )
        yield card.status, _wrong(asked) or _rightly(world, card, asked.options or ()) + _moved(asked)


def _dismissing(world: World, operation: ops.CardDismiss, moment: Moment) -> Found:
    card, expected = world.interaction(operation.card), operation.expected_case_revision
    if card is None:
        yield UNWRITTEN, NO_CARD
    elif expected is not None and not 1 <= expected <= LARGEST_INTEGER:
        yield card.status, "malformed"
    else:
        asked = _Asked(operation, world, card, expected, _is_bound(card, moment), (), None)
        yield card.status, _wrong(asked) or "rightly" + _moved(asked)


def _is_bound(card: Interaction, moment: Moment) -> bool:
    return Capability.REVISIONS in moment.claims and card.case_revision is not None


# ---- Everything else ------------------------------------------------------------------------------------------------


def _presenting(world: World, operation: ops.CardPresent) -> Found:
    """What the new card meets; a card that has ended holds no slot, and is left as it is (I5.9)."""
    case = world.case(operation.key)
    if case is None or case.closed:
        yield UNWRITTEN, "on a case that never was" if case is None else "on a closed case"
    elif problems_of(operation.kind, operation.payload):
        yield UNWRITTEN, "that nobody could answer"
    elif not operation.revision_independent and operation.for_revision not in {None, case.revision}:
        earlier = (operation.for_revision or 0) < case.revision
        yield UNWRITTEN, "for an earlier revision" if earlier else "for a later revision"
    else:
        mine = [each for each in world.interactions if each.key == operation.key]
        for each in mine:
            yield each.status, _beside(operation, each, world)
        if not mine:
            yield UNWRITTEN, "alone" if operation.blocking else "alone, without a slot"


def _beside(operation: ops.CardPresent, card: Interaction, world: World) -> str:
    """How a new card stands to one of its case: whether it wants its place, and from where it comes (I5.6)."""
    if not operation.blocking or not card.blocking:
        return "beside it"
    asked = {"refuse": "without taking its place", "replace": "to take its place"}[operation.on_occupied]
    elsewhere = ", from another conversation" if operation.conversation != card.conversation else ""
    late = ", past its deadline" if card.status in OPEN and card.is_past(world.now) else ""
    return asked + elsewhere + late


def _settling(world: World, operation: ops.CommandSettle) -> Found:
    """How a command is said to end, and what of that is known already (L5, L10, I13.5)."""
    command = world.command(operation.command)
    card = None if command is None else world.interaction(command.card)
    if command is None or card is None:
        yield UNWRITTEN, "of no command that there is"
        return
    said = f"as {operation.result}" + (", else to give it back" if operation.on_failure == "restore" else "")
    if command.settlement is None:
        moved = world.revision(card.key) != command.accepted_at
        yield card.status, f"{said}, after the record has moved" if moved else said + _company(world, card)
        return
    settled = command.settlement
    other = settled.result != operation.result, settled.on_failure != operation.on_failure
    which = "" if command is world.command_of(card.id) else " of an attempt that is over"
    yield card.status, _ENDS[other] + which


_ENDS: Mapping[tuple[bool, bool], str] = {
    (False, False): "with the same end again",
    (True, False): "with another end",
    (False, True): "with another policy",
    (True, True): "with another end and policy",
}
"""What is said of a command that has ended, by what differs: its end, or what was to happen on failure (L5)."""


def _clearing(world: World, key: CaseKey) -> Found:
    """What moves or closes a case, for each of its cards (I13.3, I13.4, I13.11)."""
    if world.case(key) is None:
        yield UNWRITTEN, "on a case that never was"
    for each in world.interactions:
        if each.key == key:
            bound = "bound to no revision" if each.case_revision is None else "bound to a revision"
            yield each.status, bound if each.blocking else f"{bound}, without a slot"


def _reading(world: World, operation: ops.CardGet | ops.StateExport) -> Found:
    card = world.interaction(operation.card)
    if card is None:
        yield UNWRITTEN, NO_CARD
    elif card.key.account != operation.account:
        yield card.status, STRANGER[0]
    else:
        yield card.status, ELSEWHERE[0] if card.conversation != operation.conversation else "as its owner"
