"""Draws about ends: how a command in flight ends, again, and late; and a card that is closed from outside.

They stand beside the draws of `keyturn_testing.drawing`, and pick from the situation in the same way.
"""

from keyturn.capabilities import Capability
from keyturn.responses import Restored
from keyturn.table import OPEN
from keyturn_testing.drawing import READS_ALIKE, Pick, expected_revision, fresh_cards, like, strangers
from keyturn_testing.situation import KnownCommand, Situation
from keyturn_testing.traces import Call


def waiting_commands(situation: Situation) -> list[KnownCommand]:
    """The commands in flight."""
    return [each for each in situation.commands if each.believed.settlement is None]


def ended_commands(situation: Situation) -> list[KnownCommand]:
    """The commands of which it was said how they ended."""
    return [each for each in situation.commands if each.believed.settlement is not None]


def settle(situation: Situation, pick: Pick) -> Call:
    """Say how a command in flight ended."""
    return settling(pick(waiting_commands(situation)), pick)


def settling(command: KnownCommand, pick: Pick) -> Call:
    """Return the settlement of one command, in any way."""
    ends = ({"result": "committed"}, {"result": "committed"}, {"result": "failed"})
    end: dict[str, object] = {**pick(ends), "on_failure": pick(("record", "restore", "restore"))}
    return Call(operation="command.settle", params={"command": command.id, **end})


def settle_again(situation: Situation, pick: Pick) -> Call:
    """Say again how a command ended: the same way, with another end, or with another policy."""
    command = pick(ended_commands(situation))
    settlement = command.believed.settlement
    assert settlement is not None
    same = {"result": settlement.result, "on_failure": settlement.on_failure}
    other = {
        "result": "failed" if settlement.result == "committed" else "committed",
        "on_failure": settlement.on_failure,
    }
    policy = {**same, "on_failure": "record" if settlement.on_failure == "restore" else "restore"}
    return Call(operation="command.settle", params={"command": command.id, **pick((same, same, other, policy))})


def late_commands(situation: Situation) -> list[KnownCommand]:
    """The commands that ended by giving their card back, while the card is still open."""
    return [
        each
        for each in situation.commands
        if isinstance(each.believed.reply, Restored)
        and (card := situation.world.interaction(each.believed.card)) is not None
        and card.status in OPEN
    ]


def settle_late(situation: Situation, pick: Pick) -> Call:
    """Say that an attempt that was given back has committed after all."""
    command = pick(late_commands(situation))
    params = {"command": command.id, "result": "committed", "on_failure": "record"}
    return Call(operation="command.settle", params=params)


def set_next_end(situation: Situation, pick: Pick) -> Call:
    """Say how the next command ends."""
    return Call(
        operation="command.next",
        params={"result": pick(("committed", "failed")), "on_failure": pick(("record", "restore"))},
    )


def dismiss(situation: Situation, pick: Pick) -> Call:
    """Close a card without deciding: rightly, at another revision, by an id that looks alike, or where it cannot be."""
    card = pick((fresh_cards(situation) or list(situation.cards)) if pick((True, True, False)) else situation.cards)
    key = card.believed.key
    owner = card.owner
    if situation.claimed(Capability.OWNERS) and pick((False,) * 7 + (True,)):
        owner |= strangers(card, pick)
    current = {"$revision": [key.account, key.workflow, key.case], "plus": pick((0, 0, 0, 1)), "else": 1}
    expected = pick((expected_revision(card), expected_revision(card), current))
    identity = like(card, pick(READS_ALIKE)) if pick((False,) * 5 + (True,)) else card.id
    return Call(operation="card.dismiss", params={**owner, "card": identity, "expected_case_revision": expected})
