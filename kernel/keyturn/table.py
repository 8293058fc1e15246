"""A declared machine, compiled to an immutable table.

The library's engine is for declaring and drawing; a table is for stepping, in a hundredth of the time. Every state has a
row, also those without exits: an empty row says *final*, a missing one would say *unknown*.
"""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen
from statemachine import StateMachine

from keyturn.errors import IllegalTransition
from keyturn.status import InteractionStatus, InteractionStatusMachine


@frozen
class TransitionTable:
    """The rows of one machine: for each state, which event leads to which state."""

    machine: str
    initial: str
    rows: Mapping[str, Mapping[str, str]]

    @property
    def events(self) -> frozenset[str]:
        """Every event that some row names."""
        return frozenset(event for row in self.rows.values() for event in row)

    @property
    def final(self) -> frozenset[str]:
        """The states that nothing leaves."""
        return frozenset(state for state, row in self.rows.items() if not row)

    def allows(self, state: str, event: str) -> bool:
        """Tell whether the machine has a row for this event in this state."""
        return event in self.rows[state]

    def step(self, state: str, event: str) -> str:
        """Return the next state; raise `IllegalTransition` where the machine has no row (L1)."""
        target = self.rows[state].get(event)
        if target is None:
            raise IllegalTransition(self.machine, state, event)
        return target


def compile_table(machine: type[StateMachine]) -> TransitionTable:
    """Compile a declared machine without guards into its table."""
    rows = {
        state.id: MappingProxyType(
            {event: transition.target.id for transition in state.transitions for event in transition.event.split()}
        )
        for state in machine.states
    }
    initial = next(state.id for state in machine.states if state.initial)
    return TransitionTable(machine.__name__, initial, MappingProxyType(rows))


STATUS_TABLE = compile_table(InteractionStatusMachine)
"""The compiled status machine: the only thing that moves an interaction, and says whether it may move."""

TERMINAL = frozenset(InteractionStatus(state) for state in STATUS_TABLE.final)
"""The statuses that are never left (L2)."""

OPEN = frozenset(InteractionStatus) - TERMINAL
"""Active and Resolving: the statuses that hold a blocking slot (I5)."""
