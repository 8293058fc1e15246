"""A tour takes a system through everything that it can be asked for, is the same each time, and finds a single wrong cell."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import evolve

from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.cards import InteractionKind
from keyturn.operations import Operation
from keyturn.responses import Accepted, RefusalCode, Rejected, Replayed
from keyturn.status import InteractionEvent
from keyturn.store import ReferenceStore, State, heard, possibilities
from keyturn.table import STATUS_TABLE
from keyturn.values import CommandId, IdempotencyKey, Json
from keyturn.world import Command, Unfolding
from keyturn_specs.cells import Cell, cells_of
from keyturn_specs.goals import Goal, Reached, Succession, Transition
from keyturn_specs.observations import Moment
from keyturn_sql.store import SqlStore
from keyturn_testing.engines.cover import around
from keyturn_testing.mutants.tables import Consulted
from keyturn_testing.reports.covering import coverage_of
from keyturn_testing.touring import Tour, TourStep, cells_among, explored, tour_of
from keyturn_testing.traces import Call
from keyturn_testing.tries import Terms

from .counter_desk import CounterDesk
from .dialects import NamesOtherCodes, ReplacesNothing, SaysItAgain, SweepsLazily
from .night_queue import NightQueue
from .systems import held

C = Capability

EVERYTHING = Terms(claims=ALL_CLAIMS, kinds=tuple(InteractionKind))

CELLS = 481
"""How many cells a system that claims and offers everything can be asked for; the guide says it, too."""

LESS: dict[str, Claims] = {
    "cards and no more": frozenset({C.CARDS}),
    "at once": ALL_CLAIMS - {C.DEFERRED, C.REPLAY},
    "no revisions": ALL_CLAIMS - {C.REVISIONS, C.INDEPENDENT, C.FOR_REVISION},
    "no slot": ALL_CLAIMS - {C.BLOCKING, C.REFUSE, C.REPLACE},
    "only replacement invalidates": frozenset({C.CARDS, C.BLOCKING, C.REPLACE, C.DEFERRED}),
    "no clock, no strangers, no text": ALL_CLAIMS - {C.CLOCK, C.OWNERS, C.FREEFORM, C.DISMISS},
}


def goals(tour: Tour, sort: type[Goal]) -> set[Goal]:
    """The goals of one sort."""
    return {each for each in tour.goals if isinstance(each, sort)}


SOUND: dict[str, Callable[[], object]] = {
    each.__name__: each
    for each in (SweepsLazily, SaysItAgain, NamesOtherCodes, ReplacesNothing, CounterDesk, NightQueue)
}
"""Sound systems that are not the reference, and take other branches than it does."""


class ReplaysNothing(ReferenceStore):
    """The reference store, which refuses a second answer although it claims `replay`, and says that it does not hold that."""

    def describe(self) -> dict[str, Json]:
        """Un-claim what is said of second answers."""
        reason = "second answers are refused here"
        return {**super().describe(), "not_claimed": {"I14.2": reason, "I14.4": reason}}

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation."""
        outcome = super().perform(operation)
        return Rejected(code=RefusalCode.NOT_ANSWERABLE) if isinstance(outcome, Replayed) else outcome


class TestTheDenominator:
    """What can be asked for follows from the table and the claims."""

    def test_every_row_of_the_table(self) -> None:
        """With every claim it has each row of the status table, each status, and each pair of rows that meet."""
        tour = tour_of(EVERYTHING)
        rows = [(state, event, to) for state, row in STATUS_TABLE.rows.items() for event, to in row.items()]
        assert goals(tour, Transition) == {Transition(*row) for row in rows}
        assert goals(tour, Reached) == {Reached(to) for _, _, to in rows}
        pairs = {Succession(first, second) for _, first, to in rows for second in STATUS_TABLE.rows[to]}
        assert goals(tour, Succession) == pairs

    def test_every_cell(self) -> None:
        """There are as many cells as the guide says, and some of every status."""
        cells = cells_among(tour_of(EVERYTHING).goals)
        assert len(cells) == CELLS
        assert {each.status for each in cells} == set(STATUS_TABLE.rows)

    @pytest.mark.parametrize("claims", LESS.values(), ids=LESS)
    def test_less_is_claimed(self, claims: Claims) -> None:
        """What is not claimed takes goals away, and one that claims only cards is still asked."""
        cells = goals(tour_of(evolve(EVERYTHING, claims=claims)), Transition)
        assert cells
        assert cells <= goals(tour_of(EVERYTHING), Transition)

    def test_nothing_can_be_presented(self) -> None:
        """A system that offers no card that could be answered is asked for nothing."""
        assert tour_of(Terms(claims=ALL_CLAIMS, kinds=())).goals == frozenset()


class TestTheTour:
    """A minimal set of traces, the same for the same terms."""

    def test_it_is_the_same_again(self) -> None:
        """Planned again it has the same traces."""
        again = tour_of.__wrapped__(EVERYTHING)
        assert again.traces == tour_of(EVERYTHING).traces

    def test_no_trace_could_be_left_out(self) -> None:
        """Each trace covers something that no other does."""
        traces = tour_of(EVERYTHING).traces
        covered = [{goal for step in trace for goal in step.goals} for trace in traces]
        for number, mine in enumerate(covered):
            assert mine - set().union(*covered[:number], *covered[number + 1 :])

    def test_every_trace_ends_with_something_new(self) -> None:
        """No trace has steps at its end that cover nothing."""
        seen: set[Goal] = set()
        for trace in tour_of(EVERYTHING).traces:
            assert trace[-1].goals - seen - {goal for step in trace[:-1] for goal in step.goals}
            seen |= {goal for step in trace for goal in step.goals}

    @pytest.mark.parametrize("claims", [ALL_CLAIMS, *LESS.values()], ids=["everything", *LESS])
    def test_it_covers_everything_and_nothing_else(self, claims: Claims) -> None:
        """The reference meets every goal of its tour, and falls into no other one."""
        record = held(lambda: ReferenceStore(claims), engines=("cover",))
        assert not record.failures
        assert set(record.counts.covered) == tour_of(record.terms).goals
        assert [each.missing for each in coverage_of(record)] == [()] * 4


CANNOT_BE_TRIED: dict[str, tuple[str, tuple[str, ...]]] = {
    "an id is given out when a card is written, so no card that there is can be presented": (
        "present",
        tuple(state for state in STATUS_TABLE.rows if state != STATUS_TABLE.initial),
    ),
    **{
        f"only a card in flight has a command that could {event}": (
            event,
            tuple(state for state in STATUS_TABLE.rows if state != "resolving"),
        )
        for event in ("commit", "fail", "restore")
    },
    **{
        f"no card is there, and one that is Expired is refused for its deadline: {event}": (
            event,
            ("unwritten", "expired"),
        )
        for event in ("accept", "decline", "dismiss")
    },
    **{f"no card is there: {event}": (event, ("unwritten",)) for event in ("invalidate", "expire")},
}
"""The pairs of a status and an event that nobody can try, by the reason."""


def untried() -> Iterator[tuple[str, str]]:
    """The pairs that nobody can try."""
    for event, states in CANNOT_BE_TRIED.values():
        yield from ((state, event) for state in states)


class TestAsked:
    """L1: every other (status, event) pair that can be tried is tried."""

    def test_each_event_in_each_status(self) -> None:
        """With all else right, each event is tried in each status, save where nobody can."""
        consulted = Consulted()
        explored(EVERYTHING, evolve(STATUS_TABLE, rows=consulted))
        every = {(state, event.value) for state in STATUS_TABLE.rows for event in InteractionEvent}
        assert every - consulted.pairs == set(untried())


class WrongInOneCell(ReferenceStore):
    """The reference store, which does something in a single cell that nobody asked for."""

    def __init__(self, cell: Cell) -> None:
        super().__init__()
        self.cell = cell

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation; in the cell a card has one more effect, and where there is none the answer is another."""
        chosen = possibilities(self.state, operation, self.claims)[0]
        moment = Moment(state=self.state, operation=operation, branch=chosen.branch, claims=self.claims)
        wrong = self.cell in cells_of(moment)
        self.state = _with_an_effect(chosen.state) if wrong else chosen.state
        if wrong and not chosen.state.world.interactions:
            return Rejected(code=RefusalCode.CONFLICT)
        return heard(chosen.branch)


def _with_an_effect(state: State) -> State:
    """Let a command take effect that nobody authorised, for the newest card."""
    unfolding = Unfolding(state.world)
    for card in state.world.interactions[-1:]:
        option = card.payload.options[0]
        command = Command(
            id=CommandId("command-0"),
            idempotency_key=IdempotencyKey("key-0"),
            card=card.id,
            option=option.id,
            freeform=None,
            accepted_at=state.world.revision(card.key),
        )
        unfolding = unfolding.run(command, card, option, 1)
    return State(unfolding.world, state.history.after(unfolding.happened))


def some_cells() -> tuple[Cell, ...]:
    """Every cell, or as many as the tests have time for: the session `mutants` takes all of them."""
    cells = cells_among(tour_of(EVERYTHING).goals)
    return cells if os.environ.get("KEYTURN_CELLS") == "all" else cells[::61]


def test_the_sqlite_store(tmp_path: Path) -> None:
    """The store that ships meets every cell, and nothing fails."""
    record = held(lambda: SqlStore.open_test(tmp_path / "cards.db"), engines=("cover",))
    assert not record.failures
    assert [each.missing for each in coverage_of(record)] == [()] * 4


@pytest.mark.parametrize("make", SOUND.values(), ids=SOUND)
def test_a_system_that_uses_its_freedoms(make: Callable[[], object]) -> None:
    """One that sweeps, refuses and repeats as it likes misses nothing, save what its own freedoms put out of reach."""
    record = held(make, engines=("cover",))
    assert not record.failures
    assert [each.missing for each in coverage_of(record)] == [()] * 4
    beyond = [cell for each in coverage_of(record) for cell in each.beyond]
    assert len(beyond) < CELLS / 20


class AcceptsNothing(ReferenceStore):
    """The reference store, which refuses whatever would authorise a command."""

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation."""
        chosen = possibilities(self.state, operation, self.claims)[0]
        if isinstance(chosen.branch.outcome, Accepted):
            return Rejected(code=RefusalCode.CONFLICT)
        return super().perform(operation)


def test_what_did_not_happen_is_not_covered() -> None:
    """A step that nothing explains was tried, so its cell counts; that its card moved along the table does not."""
    record = held(AcceptsNothing, engines=("cover",), until=("nothing",))
    assert record.failures
    assert Reached("resolving") not in record.counts.covered
    assert Transition("active", "accept", "resolving") not in record.counts.covered


def test_what_nobody_claims_costs_no_more_than_its_step() -> None:
    """Where only an un-claimed requirement refuses a step, the tour goes on behind it."""
    record = held(ReplaysNothing, engines=("cover",))
    assert not record.failures
    missing = [cell for each in coverage_of(record) for cell in each.missing]
    assert missing == []


class TestOneWrongCell:
    """A system with a single wrong cell fails with that cell."""

    @pytest.mark.parametrize("cell", some_cells(), ids=str)
    def test_it_fails_with_that_cell(self, cell: Cell) -> None:
        """Whatever fails was tried in the cell, and something does."""
        record = held(lambda: WrongInOneCell(cell), engines=("cover",), until=("nothing",))
        assert record.failures
        assert all(str(cell) in each.found_by for each in record.failures)

    def test_the_rest_of_the_trace_is_still_taken(self) -> None:
        """After a step that leaves everything as it is the tour goes on behind it; after another one its trace ends."""
        moves, stays, last = (
            TourStep(call=Call(operation=name), goals=frozenset(), stays=name != "moves")
            for name in ("moves", "stays", "last")
        )
        assert around((moves, stays, last), 1) == (moves, last)
        assert around((moves, stays, last), 0) == ()
