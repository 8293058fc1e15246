"""The card world as a model to explore: a few cards, cases and accounts, and everything that can happen to them (D2, D3).

The steps are what `admissible` says and nothing else, every branch of it. Faults are actions: an operation whose write fails,
whose reply is lost, or in which the process ends, is a step beside the one that goes well; the same answer twice, answers in
any order, edits and restarts between any two steps and jumps of the clock to each deadline are steps as well. The bounds are
how many cards, cases, accounts and attempts there are; revisions and times need none, because only what they are compared with
counts.
"""

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from attrs import evolve, field, frozen

from keyturn import operations as ops
from keyturn.admissible import admissible
from keyturn.branches import Branch, Unheard
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.cards import (
    ApplyOperation,
    Decline,
    Interaction,
    InteractionKind,
    InteractionOption,
    InteractionPayload,
)
from keyturn.explore import Model
from keyturn.faults import OF_A_CARD, Armed, FaultKind
from keyturn.status import InteractionStatus
from keyturn.table import OPEN
from keyturn.values import CardId, CaseKey, Instant, Revision, Untrusted, document
from keyturn.world import Command, World

SPAN_SECONDS = 60
"""How long a card can be answered, where there is a clock."""

RUN, KEEP = "run", "keep"
PAYLOAD = InteractionPayload(
    title="Run it?",
    options=(
        InteractionOption(id=RUN, label="Run it", action=ApplyOperation(operation="run", arguments=document({}))),
        InteractionOption(id=KEEP, label="Keep it", action=Decline()),
    ),
)
"""What every card asks: one option that becomes a command, and one that runs nothing."""

FAULTS = tuple(each for each in FaultKind if each not in OF_A_CARD)
"""The faults that can hit any operation that changes something."""


@frozen(kw_only=True)
class CardBounds:
    """How large the world is: cards that are ever presented, cases, accounts, and commands that one card ever becomes.

    `expiry`, `faults` and `administrative` say whether cards have deadlines, whether operations are hit by faults, and
    whether cases are closed and cards withdrawn.
    """

    cards: int = 2
    cases: int = 1
    accounts: int = 1
    attempts: int = 1
    expiry: bool = True
    faults: bool = True
    administrative: bool = False


@frozen(kw_only=True)
class Happening:
    """One step of the card world: the operation, the fault that it meets, and what came of it; `kind` is what it is about."""

    kind: str
    operation: ops.Operation
    fault: FaultKind | None = None
    branch: Branch = field(eq=False, repr=False)

    @property
    def name(self) -> str:
        """What it is about, and the fault that it meets."""
        return self.kind if self.fault is None else f"{self.kind} ({self.fault})"


Happens: TypeAlias = Callable[[World, ops.Operation], tuple[Branch, ...]]
"""What may happen when an operation meets a world."""


def card_model(
    bounds: CardBounds, claims: Claims = ALL_CLAIMS, happens: Happens | None = None
) -> Model[World, Happening]:
    """Return the model of the card world within bounds; `happens` stands in for what is admissible, to explore a fault."""
    keys = _case_keys(bounds)
    branches = partial(admissible, claims=claims) if happens is None else happens

    def steps(world: World) -> Iterator[tuple[Happening, World]]:
        for kind, operation in _operations(world, bounds, keys, claims):
            changes = False
            for branch in branches(world, operation):
                changes = changes or branch.world is not world
                yield Happening(kind=kind, operation=operation, branch=branch), branch.world
            if changes and bounds.faults:
                yield from _faulty(kind, operation, world, branches)

    return Model(
        initial=lambda: (World(),),
        steps=steps,
        key=_key,
        symmetric=symmetric_key,
        name=attrgetter("name"),
    )


def _case_keys(bounds: CardBounds) -> tuple[CaseKey, ...]:
    """The cases, dealt to the accounts in turn."""
    return tuple(
        CaseKey(f"account-{number % bounds.accounts + 1}", "workflow", f"case-{number + 1}")
        for number in range(bounds.cases)
    )


# ---- What can happen ------------------------------------------------------------------------------------------------


def _faulty(kind: str, operation: ops.Operation, world: World, branches: Happens) -> Iterator[tuple[Happening, World]]:
    """The branches of one operation in which a fault has hit it; one that cannot hit it stays armed."""
    for fault in FAULTS:
        for branch in branches(evolve(world, armed=(Armed(fault=fault),)), operation):
            if not branch.world.armed:
                yield Happening(kind=kind, operation=operation, fault=fault, branch=branch), branch.world


def _operations(
    world: World, bounds: CardBounds, keys: tuple[CaseKey, ...], claims: Claims
) -> Iterator[tuple[str, ops.Operation]]:
    for key in keys:
        account = {"account": key.account, "workflow": key.workflow, "case": key.case}
        case = world.case(key)
        if case is None or case.closed:
            yield "open a case", ops.CaseOpen(**account)
        if case is None:
            continue
        if Capability.REVISIONS in claims:
            yield "edit the record", ops.CaseEdit(**account)
        if bounds.administrative and Capability.ADMINISTRATIVE in claims:
            yield "close the case", ops.CaseClose(**account)
            yield "withdraw the cards", ops.CardWithdraw(**account, code="withdrawn")
        if len(world.interactions) < bounds.cards:
            yield from _presenting(key, bounds, claims)
    for card in world.interactions:
        yield from _answering(world, card, bounds, claims)
    for command in world.commands:
        yield from _settling(world, command)
    if bounds.expiry and Capability.CLOCK in claims:
        yield from _time(world)
    if Capability.RESTART in claims:
        yield "restart", ops.Restart()


def _presenting(key: CaseKey, bounds: CardBounds, claims: Claims) -> Iterator[tuple[str, ops.Operation]]:
    asked = ops.CardPresent(
        account=key.account,
        workflow=key.workflow,
        case=key.case,
        conversation="chat",
        kind=InteractionKind.CONFIRM_COMMAND,
        blocking=False,
        revision_independent=False,
        payload=PAYLOAD,
        expires_in=SPAN_SECONDS if bounds.expiry and Capability.CLOCK in claims else None,
        on_occupied="refuse",
    )
    yield "present", asked
    if Capability.BLOCKING in claims:
        yield "present a blocking card", evolve(asked, blocking=True)
    if Capability.REPLACE in claims:
        yield "present in its place", evolve(asked, blocking=True, on_occupied="replace")


def _answering(
    world: World, card: Interaction, bounds: CardBounds, claims: Claims
) -> Iterator[tuple[str, ops.Operation]]:
    """What is sent about one card: right and wrong answers, again and again."""
    revision = card.case_revision
    may_run = len(_commands_of(world, card.id)) < bounds.attempts or card.status is not InteractionStatus.ACTIVE

    def answer(option: str, account: str = card.key.account, expected: int | None = revision) -> ops.CardRespond:
        sent = {"interaction_id": card.id, "option_id": option, "expected_case_revision": expected}
        return ops.CardRespond(account=account, conversation=card.conversation, response=Untrusted(sent))

    if may_run:
        yield "answer: run it", answer(RUN)
    yield "answer: keep it", answer(KEEP)
    yield "answer: no such option", answer("nothing of the kind")
    if Capability.OWNERS in claims:
        yield "answer as a stranger", answer(RUN, "somebody else")
    if Capability.REVISIONS in claims and revision is not None:
        yield "answer for another revision", answer(RUN, expected=revision + 1)
    if Capability.DISMISS in claims:
        yield (
            "dismiss",
            ops.CardDismiss(
                account=card.key.account,
                conversation=card.conversation,
                card=card.id,
                expected_case_revision=card.case_revision,
            ),
        )


def _settling(world: World, command: Command) -> Iterator[tuple[str, ops.Operation]]:
    """What is said of one command: how it ended, and of one that has ended that it did so, and that it did otherwise."""
    if command is not world.command_of(command.card):
        yield "settle an attempt that is over", ops.CommandSettle(command=command.id, result="committed")
        return
    yield "settle: committed", ops.CommandSettle(command=command.id, result="committed")
    yield (
        "settle: committed, else give it back",
        ops.CommandSettle(command=command.id, result="committed", on_failure="restore"),
    )
    yield "settle: failed", ops.CommandSettle(command=command.id, result="failed")
    yield "settle: failed, give it back", ops.CommandSettle(command=command.id, result="failed", on_failure="restore")


def _time(world: World) -> Iterator[tuple[str, ops.Operation]]:
    yield "sweep", ops.CardExpireDue()
    to_come = [
        each.expires_at - world.now
        for each in world.interactions
        if each.status in OPEN and each.expires_at is not None and each.expires_at > world.now
    ]
    if to_come:
        yield "let time pass to the next deadline", ops.ClockAdvance(seconds=min(to_come) / 1000)


# ---- What is the same -----------------------------------------------------------------------------------------------

CardKey: TypeAlias = tuple[str, bool, bool, str, int, int]


def _commands_of(world: World, card: CardId) -> tuple[Command, ...]:
    return tuple(each for each in world.commands if each.card == card)


def _card_key(world: World, card: Interaction, deadlines: list[Instant], revision: Revision) -> CardKey:
    """What the future of a card depends on: its revision as fresh or stale, its deadline by its place among the others.

    What a card that has ended asked, and how an attempt ended that is over, is told to whoever asks again and changes nothing.
    """
    if card.status not in OPEN:
        return card.status.value, False, False, "", 0, 0
    commands = _commands_of(world, card.id)
    return (
        card.status.value,
        card.blocking,
        card.case_revision is not None and card.case_revision != revision,
        _in_flight(card, commands, revision),
        0 if card.expires_at is None else deadlines.index(max(card.expires_at, world.now)),
        len(commands),
    )


def _in_flight(card: Interaction, commands: tuple[Command, ...], revision: Revision) -> str:
    """Whether the command that a card waits for is there, and whether the record has moved since it was accepted (I13.5)."""
    if card.status is not InteractionStatus.RESOLVING:
        return ""
    waiting = [each for each in commands if each.settlement is None]
    return ", ".join("moved" if each.accepted_at != revision else "in flight" for each in waiting) or "nothing"


def _keys(world: World) -> Iterator[tuple[CaseKey, bool, list[CardKey]]]:
    deadlines = sorted(
        {world.now}
        | {max(each.expires_at, world.now) for each in world.interactions if each.status in OPEN and each.expires_at}
    )
    for case in world.cases:
        cards = [each for each in world.interactions if each.key == case.key]
        yield case.key, case.closed, [_card_key(world, each, deadlines, case.revision) for each in cards]


def _key(world: World) -> tuple[object, ...]:
    """The canonical form of a world (D3): ids by first use, revisions and times by what they are compared with."""
    of_cases = {key: (closed, iter(cards)) for key, closed, cards in _keys(world)}
    cases = tuple(sorted((key, closed) for key, (closed, _) in of_cases.items()))
    return cases, tuple((each.key, next(of_cases[each.key][1])) for each in world.interactions)


def symmetric_key(world: World) -> tuple[object, ...]:
    """The canonical form in which cards, and cases with their cards, have no names: each may stand for any other."""
    return tuple(sorted((closed, tuple(sorted(cards))) for _, closed, cards in _keys(world)))


# ---- In words -------------------------------------------------------------------------------------------------------


def outcome_of(happening: Happening) -> str:
    """What came of a step, in a word or two: the outcome, and the code of a refusal; or that nobody heard."""
    outcome = happening.branch.outcome
    if isinstance(outcome, Unheard):
        return f"unheard ({outcome.fault})"
    name = getattr(outcome, "outcome", None) or "done"
    code = getattr(outcome, "code", None)
    return name if code is None else f"{name} ({code})"
