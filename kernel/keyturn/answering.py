"""What answering a card gives: the gate, check by check, and then the stored action.

Shape and ownership come first and dominate: a stranger gets exactly what an id that never existed gets (I19.1). After
them a system may name any check that really fails, or exactly the first where it claims `ordered_checks`. Only a response
that passes every check moves the card, and what it does then is what the server stored (I7.1).
"""

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from keyturn.branches import Branch, branch, refuse
from keyturn.capabilities import Capability, Claims
from keyturn.cards import ActionClass, DeclineAndRecord, Interaction, InteractionKind, InteractionOption, Result
from keyturn.operations import CardDismiss, CardRespond, Cause
from keyturn.responses import (
    NEVER_ON_RESOLVED,
    Accepted,
    Declined,
    Dismissed,
    InFlight,
    Refusal,
    RefusalCode,
    Rejected,
    Replayed,
    Resolved,
    Response,
    alike,
    failing_checks,
    failing_to_dismiss,
    has_more,
    options_of,
    policy_of,
    readings,
    texts,
    with_text,
)
from keyturn.settling import settlements, swept
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import LARGEST_INTEGER, CardId, CommandId, IdempotencyKey
from keyturn.world import Command, Settlement, Unfolding, World


def owned(world: World, card: str, account: str, conversation: str) -> Interaction | None:
    """Return the interaction if this account and conversation own it; a stranger's is as good as none (I19.1)."""
    interaction = world.interaction(card)
    if interaction is None or (interaction.key.account, interaction.conversation) != (account, conversation):
        return None
    return interaction


def respond(world: World, operation: CardRespond, claims: Claims) -> Iterator[Branch]:
    """`card.respond`: every admissible outcome, in the order of the checks."""
    nobody = {"I19.7"} if "" in (operation.account, operation.conversation) else set()
    more = {"I7.3"} if has_more(operation.response) else set()
    for each in _responses(world, operation, claims):
        yield evolve(each, because=each.because | nobody | more)


def _responses(world: World, operation: CardRespond, claims: Claims) -> Iterator[Branch]:
    start = Unfolding(world)
    for response in _readings(operation.response, claims):
        if response is None:
            yield refuse(start, RefusalCode.MALFORMED, "I19.6")
            continue
        interaction = owned(world, response.interaction_id, operation.account, operation.conversation)
        if interaction is None:
            near = {"I7.7"} if _is_near(world, response.interaction_id) else set()
            yield refuse(start, RefusalCode.NOT_FOUND, "I19.1", *near)
            # What is no id of the system's own form may be malformed; only the card tells what else a response must name.
            if near or None in (response.expected_case_revision, response.option_id):
                yield refuse(start, RefusalCode.MALFORMED, "I19.6", *near)
            continue
        if response.chosen_of(interaction.kind) is None:
            yield refuse(start, RefusalCode.MALFORMED, "I19.6")
            continue
        bound = Capability.REVISIONS in claims and interaction.case_revision is not None
        if bound and response.expected_case_revision is None:
            yield refuse(start, RefusalCode.MALFORMED, "I19.6")
            continue
        policy = policy_of(interaction, response)
        for text in (response.freeform_input,) if policy is None else texts(policy, response):
            yield from _by_status(start, interaction, with_text(response, text), claims)


def _is_near(world: World, sent: str) -> bool:
    """Whether an id that is nobody's is like a card's, to a comparison that is not exact (I7.7)."""
    return world.interaction(sent) is None and any(alike(each.id, sent) for each in world.interactions)


def dismiss(world: World, operation: CardDismiss, claims: Claims) -> Iterator[Branch]:
    """`card.dismiss`: the same table of checks, without option and free text."""
    start = Unfolding(world)
    expected, revisions = operation.expected_case_revision, Capability.REVISIONS in claims
    if operation.card == "" or (expected is not None and not 1 <= expected <= LARGEST_INTEGER):
        yield refuse(start, RefusalCode.MALFORMED, "I19.6")
    interaction = owned(world, operation.card, operation.account, operation.conversation)
    if interaction is None:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1")
    if expected is None and (interaction is None or (revisions and interaction.case_revision is not None)):
        yield refuse(start, RefusalCode.MALFORMED, "I19.6")
        return
    if interaction is None:
        return
    current = world.revision(interaction.key)
    failing = failing_to_dismiss(interaction, expected, current, world.now, revisions=revisions)
    if not failing and world.may(interaction, InteractionEvent.DISMISS):
        result = Result(card=interaction.id, effects=(), case_revision=current)
        unfolding = start.move(interaction.id, InteractionEvent.DISMISS, result=result)
        yield branch(unfolding, Dismissed(result=result), "A1", "A3")
        return
    yield from _refused(start, interaction, _Asked(None, expected), failing, claims)


@frozen
class _Asked:
    """What was asked of a card: which options, none for a dismissal, at which revision."""

    options: frozenset[str] | None
    revision: int | None

    def is_again(self, interaction: Interaction) -> bool:
        """Whether a card that was answered is asked for the very same."""
        return self.options == _decided(interaction)


def _decided(interaction: Interaction) -> frozenset[str] | None:
    result = interaction.result
    if result is not None and result.options is not None:
        return frozenset(result.options)
    return None if interaction.resolved_option is None else frozenset({interaction.resolved_option})


_FIELDS_OF: Mapping[Capability, str] = {
    Capability.REVISIONS: "expected_case_revision",
    Capability.FREEFORM: "freeform_input",
}
"""The fields of a response that mean nothing to a system without the capability: whatever stands there may be ignored."""


def _readings(sent: object, claims: Claims) -> tuple[Response | None, ...]:
    """Return the readings of a response, also those of a system that ignores the fields which it does not know (I7.3)."""
    if not isinstance(sent, Mapping):
        return readings(sent)
    known = [sent]
    for capability, field in _FIELDS_OF.items():
        if capability not in claims:
            known += [{name: value for name, value in each.items() if name != field} for each in known]
    return tuple(dict.fromkeys(reading for each in known for reading in readings(each)))


def _by_status(start: Unfolding, interaction: Interaction, response: Response, claims: Claims) -> Iterator[Branch]:
    failing = failing_checks(
        interaction,
        response,
        start.world.revision(interaction.key),
        start.world.now,
        revisions=Capability.REVISIONS in claims,
    )
    options = options_of(interaction, response)
    if options is not None and not failing and start.world.may(interaction, _event_of(interaction, options)):
        yield from _take(start, interaction, options, response.freeform_input, claims)
        return
    chosen = response.chosen_of(interaction.kind) or ()
    asked = _Asked(frozenset(chosen), response.expected_case_revision)
    yield from _refused(start, interaction, asked, failing, claims)


def _refused(
    start: Unfolding, interaction: Interaction, asked: _Asked, failing: tuple[Refusal, ...], claims: Claims
) -> Iterator[Branch]:
    """Answer what is not taken: the first check that fails, or any of them where their order is not claimed."""
    ordered = Capability.ORDERED_CHECKS in claims
    if interaction.status is InteractionStatus.ACTIVE and failing:
        for refusal in failing[:1] if ordered else failing:
            yield from _refusals(start, interaction, refusal)
        return
    yield from _not_active(start, interaction, asked, claims)
    if not ordered:
        resolved = interaction.status is InteractionStatus.RESOLVED
        for refusal in failing:
            if not (resolved and refusal.code in NEVER_ON_RESOLVED):
                yield refuse(start, refusal.code, *refusal.because)


def _refusals(start: Unfolding, interaction: Interaction, refusal: Refusal) -> Iterator[Branch]:
    """Refuse an Active card; where it is overdue, or its case has moved, it may end at once."""
    if refusal.code is RefusalCode.EXPIRED:
        yield refuse(start.move(interaction.id, InteractionEvent.EXPIRE), refusal.code, *refusal.because)
    stale = interaction.case_revision is not None and interaction.case_revision != start.world.revision(interaction.key)
    if refusal.code is RefusalCode.STALE_REVISION and stale:
        cause = Cause(reason="revision_changed", new_revision=start.world.revision(interaction.key))
        yield refuse(start.move(interaction.id, InteractionEvent.INVALIDATE, cause), refusal.code, *refusal.because)
    yield refuse(start, refusal.code, *refusal.because)


def _not_active(start: Unfolding, interaction: Interaction, asked: _Asked, claims: Claims) -> Iterator[Branch]:
    """Answer for the status that the card has: the original result, the pending command, or a refusal."""
    status, result = interaction.status, interaction.result
    command = start.world.command_of(interaction.id)
    if status is InteractionStatus.RESOLVING and command is not None:
        yield branch(start, InFlight(command=command.id, idempotency_key=command.idempotency_key), "I14.3")
        return
    if status is InteractionStatus.RESOLVED and result is not None:
        ids = {"I14.2"} if asked.is_again(interaction) else {"I14.2", "I14.4"}
        yield branch(start, Replayed(result=result), *ids)
        if Capability.REPLAY in claims:
            return
    late = {"I19.5"} if status is InteractionStatus.EXPIRED else set()
    ids = {"L2", "A2"} | late | _because_stale(start.world, interaction, asked.revision)
    yield branch(
        start, Rejected(code=RefusalCode.NOT_ANSWERABLE, current_card=_current(start.world, interaction)), *ids
    )
    if status is InteractionStatus.EXPIRED:
        yield refuse(start, RefusalCode.EXPIRED, *ids)
    same = _SAME_AGAIN.get(status)
    if same is not None and result is not None and asked.is_again(interaction):
        yield branch(start, same(result=result), "L2")
        yield branch(start, Replayed(result=result), "L2")


_SAME_AGAIN: Mapping[InteractionStatus, type[Declined] | type[Dismissed]] = {
    InteractionStatus.DECLINED: Declined,
    InteractionStatus.DISMISSED: Dismissed,
}
"""The closed cards that may answer the same option again with their original result."""


def _because_stale(world: World, interaction: Interaction, expected: int | None) -> set[str]:
    """The requirements that refuse an ended card for being bound to an older revision, too."""
    current, bound = world.revision(interaction.key), interaction.case_revision
    if bound is None or bound == current or interaction.status is not InteractionStatus.INVALIDATED:
        return set()
    return {"I13.2", "I13.3"} if expected == current else {"I13.3"}


def _current(world: World, interaction: Interaction) -> CardId | None:
    """The open blocking card of the case, if whoever asked about this card owns that one too (I6.1)."""
    occupant = world.occupant(interaction.key)
    return occupant.id if occupant is not None and occupant.conversation == interaction.conversation else None


_EVENTS: Mapping[ActionClass, InteractionEvent] = {
    ActionClass.AUTHORISES: InteractionEvent.ACCEPT,
    ActionClass.ANSWERS: InteractionEvent.ACCEPT,
    ActionClass.DECLINES: InteractionEvent.DECLINE,
    ActionClass.DISMISSES: InteractionEvent.DISMISS,
}
"""By which event an answer is taken, by the class of the stored action."""


def _event_of(interaction: Interaction, options: tuple[InteractionOption, ...]) -> InteractionEvent:
    if interaction.kind is InteractionKind.MULTI_SELECT:
        return InteractionEvent.ACCEPT
    (option,) = options
    return _EVENTS[option.action.action_class]


def _take(
    start: Unfolding,
    interaction: Interaction,
    options: tuple[InteractionOption, ...],
    text: str | None,
    claims: Claims,
) -> Iterator[Branch]:
    """Take a response that passed every check (A1): the class of the stored action says what becomes of the card."""
    if interaction.kind is InteractionKind.MULTI_SELECT:
        yield _answer_with_a_set(start, interaction, options)
        return
    (option,) = options
    match option.action.action_class:
        case ActionClass.AUTHORISES:
            yield from _authorise(start, interaction, option, text, claims)
        case ActionClass.ANSWERS:
            yield _answer(start, interaction, option, text)
        case ActionClass.DECLINES:
            yield _decline(start, interaction, option, text, claims)
        case _:
            result = _result(start, interaction, option, text)
            unfolding = start.move(
                interaction.id, InteractionEvent.DISMISS, Cause(option=option.id), option=option.id, result=result
            )
            yield branch(unfolding, Dismissed(result=result), "A1", "A3")


def _result(start: Unfolding, interaction: Interaction, option: InteractionOption, text: str | None) -> Result:
    current = start.world.revision(interaction.key)
    return Result(card=interaction.id, option=option.id, effects=(), case_revision=current, freeform=text)


def _command(
    start: Unfolding, interaction: Interaction, option: InteractionOption, text: str | None
) -> tuple[Command, Unfolding]:
    name, unfolding = start.issue("command")
    key, unfolding = unfolding.issue("key")
    command = Command(
        id=CommandId(name),
        idempotency_key=IdempotencyKey(key),
        card=interaction.id,
        option=option.id,
        freeform=text,
        accepted_at=start.world.revision(interaction.key),
    )
    return command, unfolding


def _authorise(
    start: Unfolding, interaction: Interaction, option: InteractionOption, text: str | None, claims: Claims
) -> Iterator[Branch]:
    """Put the command in flight; a system without `deferred` runs it in the same step."""
    command, unfolding = _command(start, interaction, option, text)
    unfolding = evolve(unfolding, world=evolve(unfolding.world, commands=(*unfolding.world.commands, command)))
    cause = Cause(option=option.id, command=command.id)
    unfolding = unfolding.move(interaction.id, InteractionEvent.ACCEPT, cause, option=option.id)
    if Capability.DEFERRED in claims:
        accepted = Accepted(command=command.id, idempotency_key=command.idempotency_key)
        yield branch(unfolding, accepted, "A1")
        return
    settlement = start.world.next_settlement
    unfolding = evolve(unfolding, world=evolve(unfolding.world, next_settlement=Settlement()))
    for each in settlements(unfolding, command, settlement, claims):
        yield evolve(each, because=each.because | {"A1"})


def _answer(start: Unfolding, interaction: Interaction, option: InteractionOption, text: str | None) -> Branch:
    """Resolve without a command: accept and commit in one step, no effect, no new revision."""
    result = _result(start, interaction, option, text)
    unfolding = start.move(interaction.id, InteractionEvent.ACCEPT, Cause(option=option.id), option=option.id)
    unfolding = unfolding.move(interaction.id, InteractionEvent.COMMIT, result=result)
    return branch(unfolding, Resolved(result=result), "A1", "A3")


def _answer_with_a_set(start: Unfolding, interaction: Interaction, options: tuple[InteractionOption, ...]) -> Branch:
    """Resolve a card that asks for a set, with the chosen options in stored order; none of them runs a command."""
    current = start.world.revision(interaction.key)
    chosen = tuple(each.id for each in options)
    result = Result(card=interaction.id, options=chosen, effects=(), case_revision=current)
    unfolding = start.move(interaction.id, InteractionEvent.ACCEPT)
    unfolding = unfolding.move(interaction.id, InteractionEvent.COMMIT, result=result)
    return branch(unfolding, Resolved(result=result), "A1", "A3")


def _decline(
    start: Unfolding, interaction: Interaction, option: InteractionOption, text: str | None, claims: Claims
) -> Branch:
    """Close as Declined; a recorded decline runs its one bookkeeping operation in the same step."""
    if not isinstance(option.action, DeclineAndRecord):
        result = _result(start, interaction, option, text)
        cause = Cause(option=option.id)
        unfolding = start.move(interaction.id, InteractionEvent.DECLINE, cause, option=option.id, result=result)
        return branch(unfolding, Declined(result=result), "A1", "A3")
    command, unfolding = _command(start, interaction, option, text)
    unfolding = unfolding.advance(interaction.key).run(command, interaction, option, 1)
    result = evolve(_result(unfolding, interaction, option, text), command=command.id, effects=unfolding.effects())
    cause = Cause(option=option.id, command=command.id)
    unfolding = unfolding.move(interaction.id, InteractionEvent.DECLINE, cause, option=option.id, result=result)
    return branch(swept(unfolding, interaction.key, claims), Declined(result=result), "A1", "A3", "I13.3", "I13.9")
