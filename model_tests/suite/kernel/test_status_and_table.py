"""The status machine: its nine rows, the engine that declares them, and the table that steps them."""

from itertools import product

import pytest
from statemachine.exceptions import TransitionNotAllowed

from keyturn.errors import IllegalTransition
from keyturn.status import UNWRITTEN, InteractionEvent, InteractionStatus, InteractionStatusMachine
from keyturn.table import OPEN, STATUS_TABLE, TERMINAL, compile_table

# The table of the specification, written out: from, event, to.
ROWS = (
    ("unwritten", "present", "active"),
    ("active", "accept", "resolving"),
    ("resolving", "commit", "resolved"),
    ("resolving", "fail", "failed"),
    ("resolving", "restore", "active"),
    ("active", "decline", "declined"),
    ("active", "dismiss", "dismissed"),
    ("active", "invalidate", "invalidated"),
    ("active", "expire", "expired"),
)
LEGAL = {(state, event): target for state, event, target in ROWS}
ENDED = ("declined", "dismissed", "expired", "failed", "invalidated", "resolved")
STATES = ("unwritten", "active", "resolving", *ENDED)
EVENTS = ("present", "accept", "commit", "fail", "restore", "decline", "dismiss", "invalidate", "expire")
EVERY_CELL = tuple(product(STATES, EVENTS))


class TestRows:
    """L1: Only the rows above happen; the table itself has no other row."""

    def test_the_table_has_exactly_the_rows_of_the_text(self) -> None:
        """The nine rows are there, and no tenth."""
        found = {(state, event, target) for state, row in STATUS_TABLE.rows.items() for event, target in row.items()}
        assert found == set(ROWS)

    def test_every_state_has_a_row(self) -> None:
        """A state without exits has an empty row, and is not missing."""
        assert set(STATUS_TABLE.rows) == set(STATES)
        assert all(STATUS_TABLE.rows[state] == {} for state in ENDED)

    def test_a_card_begins_unwritten(self) -> None:
        """Nothing is written before `present`."""
        assert STATUS_TABLE.initial == UNWRITTEN == "unwritten"

    def test_the_names_are_those_of_the_wire(self) -> None:
        """The statuses and the events are the names of the text, in lower case."""
        assert {UNWRITTEN, *InteractionStatus} == set(STATES)
        assert tuple(InteractionEvent) == EVENTS
        assert STATUS_TABLE.events == set(EVENTS)

    @pytest.mark.parametrize(("state", "event"), EVERY_CELL)
    def test_a_step_is_a_row_or_is_refused(self, state: str, event: str) -> None:
        """Every cell steps to the target of its row, or raises and says machine, state and event."""
        if (state, event) in LEGAL:
            assert STATUS_TABLE.step(state, event) == LEGAL[state, event]
            return
        with pytest.raises(IllegalTransition, match=f"{event!r} is not legal in the state {state!r}") as raised:
            STATUS_TABLE.step(state, event)
        assert (raised.value.machine, raised.value.state, raised.value.event) == (
            "InteractionStatusMachine",
            state,
            event,
        )


class TestEngine:
    """L1: every other (status, event) pair that can be tried is refused and changes nothing."""

    @pytest.mark.parametrize(("state", "event"), EVERY_CELL)
    def test_the_table_is_the_engine(self, state: str, event: str) -> None:
        """The declared machine, run by its own engine, does in every cell what the table does."""
        machine = InteractionStatusMachine(start_value=state)
        target = STATUS_TABLE.rows[state].get(event)
        if target is None:
            with pytest.raises(TransitionNotAllowed):
                machine.send(event)
            target = state
        else:
            machine.send(event)
        assert set(machine.configuration_values) == {target}

    def test_the_engine_begins_where_the_table_begins(self) -> None:
        """A machine that is told nothing starts in the initial state of the table."""
        assert set(InteractionStatusMachine().configuration_values) == {STATUS_TABLE.initial}

    def test_the_engine_calls_the_same_states_final(self) -> None:
        """The states that the machine declares final are those with an empty row."""
        assert {state.id for state in InteractionStatusMachine.states if state.final} == STATUS_TABLE.final

    def test_compiling_again_gives_the_same_table(self) -> None:
        """A table depends on its declaration only."""
        assert compile_table(InteractionStatusMachine) == STATUS_TABLE


class TestTerminal:
    """L2: Terminal statuses are never left. Open = Active or Resolving. Terminal = the other six."""

    def test_open_and_terminal_share_the_statuses(self) -> None:
        """Two statuses are open, six are terminal."""
        assert {"active", "resolving"} == OPEN
        assert set(ENDED) == TERMINAL == STATUS_TABLE.final

    @pytest.mark.parametrize("status", sorted(TERMINAL))
    def test_no_event_leaves_a_terminal_status(self, status: InteractionStatus) -> None:
        """Each event is refused in each terminal status."""
        for event in InteractionEvent:
            with pytest.raises(IllegalTransition):
                STATUS_TABLE.step(status, event)

    def test_a_card_that_is_not_written_can_only_be_presented(self) -> None:
        """No status stands for the state before the first one."""
        assert STATUS_TABLE.step(UNWRITTEN, InteractionEvent.PRESENT) == InteractionStatus.ACTIVE
        with pytest.raises(IllegalTransition):
            STATUS_TABLE.step(UNWRITTEN, InteractionEvent.ACCEPT)

    @pytest.mark.parametrize("event", InteractionEvent)
    @pytest.mark.parametrize("status", InteractionStatus)
    def test_what_is_allowed_can_be_stepped(self, status: InteractionStatus, event: InteractionEvent) -> None:
        """An event is allowed in a status exactly where the table has a row for it."""
        allowed = event in STATUS_TABLE.rows[status]
        assert STATUS_TABLE.allows(status, event) is allowed
