"""Every change of a single row of the status table, as data: dropped, redirected, or added.

A store with a changed table is the reference in all else. Where its table has no row it refuses and changes nothing, as a
system does that is built on a machine which raises. Whether a change can be seen is asked through operations; that a row is
never looked up at all is shown by exploration. The tables themselves are never compared.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.errors import IllegalTransition
from keyturn.responses import RefusalCode, Rejected
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.store import ReferenceStore, State
from keyturn.table import STATUS_TABLE, TransitionTable
from keyturn.world import World


@frozen(kw_only=True)
class TableMutant:
    """One cell of the table with another content: the status that an event leads to, or none where the row is dropped."""

    state: str
    event: str
    target: str | None

    @property
    def name(self) -> str:
        """What was done to which row."""
        known = self.event in STATUS_TABLE.rows[self.state]
        done = "dropped" if self.target is None else "redirected" if known else "added"
        return f"{done}: {self.state}, {self.event}, {self.target or 'nowhere'}"

    @property
    def table(self) -> TransitionTable:
        """The changed table."""
        row = {event: target for event, target in STATUS_TABLE.rows[self.state].items() if event != self.event}
        if self.target is not None:
            row[self.event] = self.target
        return evolve(STATUS_TABLE, rows={**STATUS_TABLE.rows, self.state: row})


def table_mutants() -> Iterator[TableMutant]:
    """Yield every change of a single row, in the order of the table."""
    for state, row in STATUS_TABLE.rows.items():
        for event in InteractionEvent:
            there = row.get(event)
            targets: tuple[str | None, ...] = tuple(each.value for each in InteractionStatus)
            for target in (*targets, *([None] if there else [])):
                if target != there:
                    yield TableMutant(state=state, event=event.value, target=target)


class TableStore(ReferenceStore):
    """The reference store on another table; what that has no row for is refused, and nothing happens."""

    def __init__(self, table: TransitionTable) -> None:
        super().__init__()
        self.state = State(World(table=table))

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation."""
        try:
            return super().perform(operation)
        except IllegalTransition:
            return Rejected(code=RefusalCode.NOT_ANSWERABLE)


class Consulted(Mapping[str, Mapping[str, str]]):
    """The rows of the status table, which note each (state, event) that is looked up."""

    def __init__(self) -> None:
        self.pairs: set[tuple[str, str]] = set()

    def __getitem__(self, state: str) -> "_Row":
        return _Row(state, self.pairs)

    def __iter__(self) -> Iterator[str]:
        return iter(STATUS_TABLE.rows)

    def __len__(self) -> int:
        return len(STATUS_TABLE.rows)


class _Row(Mapping[str, str]):
    def __init__(self, state: str, pairs: set[tuple[str, str]]) -> None:
        self._state, self._pairs = state, pairs

    def __getitem__(self, event: str) -> str:
        self._pairs.add((self._state, str(event)))
        return STATUS_TABLE.rows[self._state][event]

    def __iter__(self) -> Iterator[str]:
        return iter(STATUS_TABLE.rows[self._state])

    def __len__(self) -> int:
        return len(STATUS_TABLE.rows[self._state])
