"""Armed faults, for real: the database itself is made to fail, inside the transaction that the fault hits.

The kernel says which operation an armed fault hits; here it is made to happen, with the means of the database: a column
that cannot be read, a payload that was changed behind the store's back, a connection that refuses to write. The transaction
is taken back afterwards, so that nothing of the damage stays. That the fault has hit is written before, by itself: it hits
once, also when the process ends.
"""

from collections.abc import Callable, Mapping

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
    spent = next((each for each in before.armed if each not in after.armed), None)
    return None if spent is None or spent.fault is FaultKind.COMMIT_FAILS else spent


def disarm(connection: Connection, world: World, armed: Armed) -> None:
    """Write that a fault has hit."""
    connection.execute(_DISARM, {"left": rows.armed_text(world.disarmed(armed).armed)})


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
