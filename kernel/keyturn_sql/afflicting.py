"""Armed faults, for real: the database itself is made to fail, inside the transaction that the fault hits.

The kernel says which operation an armed fault hits; here it is made to happen, with the means of the database: a column
that cannot be read, a payload that was changed behind the store's back, a connection that refuses to write. The transaction
is taken back afterwards, so that nothing of the damage stays. That the fault has hit is written before, by itself: it hits
once, also when the process ends.
"""

from collections.abc import Callable, Mapping

from attrs import evolve
from sqlalchemy import Connection, bindparam, text

from keyturn.faults import Armed, FaultKind
from keyturn.world import World
from keyturn_sql import rows, schema

_DISARM = schema.meta.update().values(armed=bindparam("left"))
_UNREADABLE = {
    FaultKind.OWNERSHIP_UNREADABLE: "ALTER TABLE interactions RENAME COLUMN conversation TO lost",
    FaultKind.REVISION_UNREADABLE: "ALTER TABLE cases RENAME COLUMN revision TO lost",
}
_CORRUPT = (
    schema.interactions.update()
    .where(schema.interactions.c.id == bindparam("card"))
    .values(payload=schema.interactions.c.payload + text("' '"))
)


class Hit(Exception):
    """An armed fault hits the operation that is under way; the transaction is taken back, and begun again with it."""

    def __init__(self, armed: Armed) -> None:
        super().__init__(armed.fault.value)
        self.armed = armed


def hit(before: World, after: World) -> Armed | None:
    """Return the fault that the kernel's choice has used up, unless it is one that the kernel itself makes happen."""
    left = list(after.armed)
    for each in before.armed:
        if each in left:
            left.remove(each)
        elif each.fault is not FaultKind.COMMIT_FAILS:
            return each
    return None


def disarm(connection: Connection, world: World, armed: Armed) -> bool:
    """Write that a fault has hit; return whether it was still there to do so, and not hit in another process."""
    if armed not in world.armed:
        return False
    connection.execute(_DISARM, {"left": rows.armed_text(world.disarmed(armed).armed)})
    return True


def sparing(before: World) -> World:
    """Return the world in which no other fault hits than one of a commit: an operation meets one, and the kernel's own."""
    return evolve(before, armed=tuple(each for each in before.armed if each.fault is FaultKind.COMMIT_FAILS))


def spared(before: World, after: World) -> World:
    """Return the world that was decided without the other faults with those that were armed, as `sparing` left them out."""
    commits = sparing(before).armed
    left = before if len(after.armed) == len(commits) else before.disarmed(commits[0])
    return evolve(after, armed=left.armed)


def _unreadable(connection: Connection, armed: Armed) -> None:
    connection.exec_driver_sql(_UNREADABLE[armed.fault])


def _corrupt(connection: Connection, armed: Armed) -> None:
    connection.execute(_CORRUPT, {"card": armed.card})


def _spare(connection: Connection, armed: Armed) -> None:
    """What hits later than the reading."""


BEFORE_READING: Mapping[FaultKind, Callable[[Connection, Armed], None]] = {
    **dict.fromkeys(FaultKind, _spare),
    **dict.fromkeys(_UNREADABLE, _unreadable),
    FaultKind.PAYLOAD_CORRUPT: _corrupt,
}
"""What is done to the database before the operation reads it."""
