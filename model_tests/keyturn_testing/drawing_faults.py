"""Draws about what goes wrong: a fault is armed, something meets it, and a client that heard nothing tries again.

Also what a host keeps of a pending card, restored and answered again. They stand beside the draws of `keyturn_testing.drawing`,
and pick from the situation in the same way.
"""

from collections.abc import Sequence

from keyturn.capabilities import Capability
from keyturn.cards import ActionClass, InteractionOption
from keyturn.faults import CRASHES, OF_A_CARD, FaultKind
from keyturn.status import InteractionStatus
from keyturn_testing import drawing
from keyturn_testing.drawing import Drawn, Pick, fresh_cards
from keyturn_testing.drawing_commands import settling, waiting_commands
from keyturn_testing.situation import KnownCard, KnownCommand, Situation
from keyturn_testing.traces import Call


def can_arm(situation: Situation) -> bool:
    """Whether nothing is armed, and there is a card that a fault could hit."""
    return not situation.world.armed and bool(fresh_cards(situation))


def arm(situation: Situation, pick: Pick) -> Call:
    """Arm a fault; of those that end the process only where the system can be started again."""
    restarts = situation.claimed(Capability.RESTART)
    every = [each for each in FaultKind if restarts or each not in CRASHES]
    unread = [] if situation.claimed(Capability.REVISIONS) else [FaultKind.REVISION_UNREADABLE]
    often = [FaultKind.WRITE_FAILS, FaultKind.REPLY_LOST, *sorted(OF_A_CARD)]
    fault = pick([each for each in (*every, *often) if each not in unread])
    params: dict[str, object] = {"fault": fault.value}
    if fault in OF_A_CARD:
        params["card"] = pick(fresh_cards(situation)).id
    return Call(operation="fault.arm", params=params)


def _authorising(card: KnownCard) -> list[InteractionOption]:
    return [each for each in card.believed.payload.options if each.action.action_class is ActionClass.AUTHORISES]


def _authorise(situation: Situation, pick: Pick) -> Call | None:
    """Choose an option that authorises, where the fault is to hit its commit."""
    able = [(card, option) for card in fresh_cards(situation) for option in _authorising(card)]
    if not able:
        return None
    card, option = pick(able)
    return drawing.response_to(card, option.id, **drawing.text_for(option, pick))


def _authorise_or_answer(situation: Situation, pick: Pick) -> Call:
    return _authorise(situation, pick) or drawing.answer(situation, pick)


def _meetings(situation: Situation) -> Sequence[Drawn]:
    """What the armed fault can hit, in this situation."""
    fault = situation.world.armed[0].fault
    commits = situation.claimed(Capability.DEFERRED) and waiting_commands(situation)
    found: list[Drawn] = [_settle_well] if commits else []
    if fault is FaultKind.COMMIT_FAILS:
        return found
    found += [drawing.answer, drawing.answer_first] * 2 if fresh_cards(situation) else []
    found += [_authorise_or_answer] * 4 if fresh_cards(situation) and fault is not FaultKind.WRITE_FAILS else []
    presenting = 20 if fault is FaultKind.WRITE_FAILS else 2
    found += [drawing.present_card] * presenting if drawing.presentable(situation) else []
    revisions = situation.claimed(Capability.REVISIONS) and situation.cases
    return [*found, drawing.edit_case] if revisions else found


def _settle_well(situation: Situation, pick: Pick) -> Call:
    command = pick(waiting_commands(situation))
    end = {"result": "committed", "on_failure": pick(("record", "restore", "restore"))}
    return Call(operation="command.settle", params={"command": command.id, **end})


def _aimed_at(situation: Situation) -> KnownCard | None:
    card = situation.world.armed[0].card
    return next((each for each in situation.cards if each.believed.id == card), None)


def can_meet(situation: Situation) -> bool:
    """Whether a fault is armed and something can meet it."""
    if not situation.world.armed:
        return False
    return _aimed_at(situation) is not None or bool(_meetings(situation)) or bool(fresh_cards(situation))


def meet(situation: Situation, pick: Pick) -> Call:
    """Do what the armed fault hits: answer its card, or change something."""
    card = _aimed_at(situation)
    if card is not None:
        return drawing.rightly(card, pick)
    meetings = _meetings(situation)
    if meetings:
        return pick(meetings)(situation, pick)
    return _authorise_or_answer(situation, pick)


def given_back(situation: Situation) -> list[KnownCard]:
    """The cards that can be answered once more because an attempt was given back."""
    tried = {each.card for each in situation.world.commands}
    return [each for each in fresh_cards(situation) if each.believed.id in tried]


def answer_given_back(situation: Situation, pick: Pick) -> Call:
    """Answer a card that was given back, most often with an option that authorises."""
    card = pick(given_back(situation))
    able = _authorising(card)
    often = bool(able) and pick((True, True, True, False))
    option = pick(able if often else card.believed.payload.options)
    return drawing.response_to(card, option.id, **drawing.text_for(option, pick))


def unheard_cards(situation: Situation) -> list[KnownCard]:
    """The cards of which an answer's reply was lost."""
    return [each for each in situation.cards if each.believed.id in situation.memory.unheard]


def answer_unheard(situation: Situation, pick: Pick) -> Call:
    """Answer a card again whose answer nobody heard, as a client does that heard nothing."""
    return _again(pick(unheard_cards(situation)), pick)


def _again(card: KnownCard, pick: Pick) -> Call:
    chosen = card.chosen
    if chosen is None or pick((False,) * 3 + (True,)):
        return drawing.rightly(card, pick)
    return drawing.response_to(card, chosen.id, **drawing.text_for(chosen, pick))


def export(situation: Situation, pick: Pick) -> Call:
    """Take what a host keeps of a card, most often of one that waits for its answer."""
    waiting = situation.with_status(InteractionStatus.ACTIVE, InteractionStatus.RESOLVING)
    often = bool(waiting) and pick((True,) * 7 + (False,))
    card = pick(waiting if often else situation.cards)
    return Call(operation="state.export", params={**card.owner, "card": card.id})


def restore(situation: Situation, pick: Pick) -> Call:
    """Restore what a host kept of a card, most often of one that was answered since."""
    answered = [each for each in situation.states if each.believed.status is not InteractionStatus.ACTIVE]
    often = bool(answered) and pick((True, True, False))
    return Call(operation="state.import", params={"state": pick(answered if often else situation.states).state})


def restored_cards(situation: Situation) -> list[KnownCard]:
    """The cards that were restored from what a host kept, and that have been answered."""
    return [
        each
        for each in situation.cards
        if each.believed.id in situation.memory.restored and each.believed.status is not InteractionStatus.ACTIVE
    ]


def answer_restored(situation: Situation, pick: Pick) -> Call:
    """Answer a card that was restored and answered before."""
    return _again(pick(restored_cards(situation)), pick)


def _survivors(situation: Situation) -> list[KnownCommand]:
    return [each for each in waiting_commands(situation) if each.believed.id in situation.memory.survived]


def survived(situation: Situation) -> bool:
    """Whether a command waits that did so when the system was restarted (L11)."""
    return bool(_survivors(situation))


def settle_survivor(situation: Situation, pick: Pick) -> Call:
    """Say how a command ended that waited when the system was restarted."""
    return settling(pick(_survivors(situation)), pick)
