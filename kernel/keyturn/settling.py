"""How a command ends: committed, failed, or restored.

A commit is the only thing that makes an effect. It runs against the revision that the command expects; on a case that has
moved it fails, or gives the card back, as `revision_conflict` (I13.5), and where a fault was armed as `command_failed`
(L3). The same settlement again gets the first reply again and another one is a conflict (L5).
"""

from collections.abc import Iterator

from attrs import evolve

from keyturn.branches import Branch, branch, refuse
from keyturn.capabilities import Capability, Claims
from keyturn.cards import ConfirmCommands, Interaction, InteractionOption, Result
from keyturn.faults import FaultKind
from keyturn.operations import Cause, CommandSettle
from keyturn.responses import Failed, FailureCode, RefusalCode, Resolved, Restored
from keyturn.status import InteractionEvent
from keyturn.values import CaseKey
from keyturn.world import Command, Settlement, Unfolding, World


def option_of(interaction: Interaction, option_id: str) -> InteractionOption:
    """Return an option that is known to be stored."""
    return next(option for option in interaction.payload.options if option.id == option_id)


def effect_count(option: InteractionOption) -> int:
    """How many effects choosing an authorising option has: one for an operation, one for each command ref."""
    return len(option.action.command_refs) if isinstance(option.action, ConfirmCommands) else 1


def swept(start: Unfolding, key: CaseKey, claims: Claims) -> Unfolding:
    """Invalidate the cards that a moved case leaves behind; without `revisions` no card is bound to one (I13.3)."""
    return start.sweep(key) if Capability.REVISIONS in claims else start


def _cleared(start: Unfolding, key: CaseKey) -> Unfolding:
    """Invalidate what was given back to a case that was closed meanwhile: nobody is asked there any more (I13.11)."""
    closed = any(case.closed for case in start.world.cases if case.key == key)
    return start.invalidate(key, Cause(reason="case_closed")) if closed else start


def commit(start: Unfolding, command: Command, settlement: Settlement, claims: Claims) -> Branch:
    """Let the command take effect: new revision, effects, Resolved, and every other bound card invalidated (I13.9)."""
    interaction = next(each for each in start.world.interactions if each.id == command.card)
    option = option_of(interaction, command.option)
    unfolding = start.advance(interaction.key).run(command, interaction, option, effect_count(option))
    result = Result(
        card=interaction.id,
        option=command.option,
        command=command.id,
        effects=unfolding.effects(),
        case_revision=unfolding.world.revision(interaction.key),
        freeform=command.freeform,
    )
    cause = Cause(command=command.id, new_revision=result.case_revision)
    unfolding = unfolding.move(interaction.id, InteractionEvent.COMMIT, cause, result=result)
    reply = Resolved(result=result)
    unfolding = swept(unfolding, interaction.key, claims)
    unfolding = unfolding.replace_command(evolve(command, settlement=settlement, reply=reply))
    return branch(unfolding, reply, "A3", "I13.3", "I13.9")


def fall_through(
    start: Unfolding, command: Command, settlement: Settlement, code: FailureCode, claims: Claims
) -> Iterator[Branch]:
    """Let the command end without effect: recorded as Failed, or restored so that the user can try again (L6)."""
    cause = Cause(command=command.id, code=code)
    key = next(each.key for each in start.world.interactions if each.id == command.card)
    if settlement.on_failure == "record":
        failed = Failed(code=code)
        unfolding = start.move(command.card, InteractionEvent.FAIL, cause)
        yield branch(unfolding.replace_command(evolve(command, settlement=settlement, reply=failed)), failed, "A3")
        return
    restored = Restored(code=code)
    unfolding = start.move(command.card, InteractionEvent.RESTORE, cause)
    unfolding = unfolding.replace_command(evolve(command, settlement=settlement, reply=restored))
    current = _cleared(swept(unfolding, key, claims), key)
    stale = () if current == unfolding else ("I13.6",)
    yield branch(current, restored, "A3", *stale)
    if stale:
        yield branch(unfolding, restored, "A3", *stale)


def settlements(start: Unfolding, command: Command, settlement: Settlement, claims: Claims) -> Iterator[Branch]:
    """Return what may become of a command in flight that is said to end this way (I13.5)."""
    interaction = next(each for each in start.world.interactions if each.id == command.card)
    moved = Capability.REVISIONS in claims and start.world.revision(interaction.key) != command.accepted_at
    if settlement.result == "failed":
        yield from fall_through(start, command, settlement, FailureCode.COMMAND_FAILED, claims)
        return
    fault = next((each for each in start.world.armed if each.fault is FaultKind.COMMIT_FAILS), None)
    if fault is not None:
        hit = evolve(start, world=start.world.disarmed(fault))
        yield from fall_through(hit, command, settlement, FailureCode.COMMAND_FAILED, claims)
        for spared in (start, hit) if moved else ():
            yield from fall_through(spared, command, settlement, FailureCode.REVISION_CONFLICT, claims)
        return
    if not moved or interaction.case_revision is None:
        yield commit(start, command, settlement, claims)
    for each in fall_through(start, command, settlement, FailureCode.REVISION_CONFLICT, claims) if moved else ():
        yield evolve(each, because=each.because | {"I13.5"})


def settle(world: World, operation: CommandSettle, claims: Claims) -> Iterator[Branch]:
    """`command.settle`: only the command itself, only once, and the same way again changes nothing (L5, L10)."""
    start = Unfolding(world)
    command = world.command(operation.command)
    settlement = Settlement(result=operation.result, on_failure=operation.on_failure)
    if command is None:
        yield refuse(start, RefusalCode.NOT_FOUND, "I19.1")
    elif command.settlement is None:
        yield from settlements(start, command, settlement, claims)
    elif command.settlement == settlement and command.reply is not None:
        yield branch(start, command.reply, "L5")
    else:
        yield refuse(start, RefusalCode.CONFLICT, "L5", "L10")
