"""Draws about commands: how one in flight ends, ends again, and ends late.

They stand beside the draws of `keyturn_testing.drawing`, and pick from the situation in the same way.
"""

from keyturn.responses import Restored
from keyturn.table import OPEN
from keyturn_testing.drawing import Pick
from keyturn_testing.situation import KnownCommand, Situation
from keyturn_testing.traces import Call


def settle(situation: Situation, pick: Pick) -> Call:
    """Say how a command in flight ended."""
    command = pick([each for each in situation.commands if each.believed.settlement is None])
    ends = ({"result": "committed"}, {"result": "committed"}, {"result": "failed"})
    end: dict[str, object] = {**pick(ends), "on_failure": pick(("record", "restore"))}
    return Call(operation="command.settle", params={"command": command.id, **end})


def settle_again(situation: Situation, pick: Pick) -> Call:
    """Say again how a command ended, the same way or another."""
    command = pick([each for each in situation.commands if each.believed.settlement is not None])
    settlement = command.believed.settlement
    assert settlement is not None
    same = {"result": settlement.result, "on_failure": settlement.on_failure}
    other = {
        "result": "failed" if settlement.result == "committed" else "committed",
        "on_failure": settlement.on_failure,
    }
    return Call(operation="command.settle", params={"command": command.id, **pick((same, same, other))})


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
