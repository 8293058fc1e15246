"""Every change of a single row of the status table is seen through operations, or is in a row that nothing ever looks up."""

from collections.abc import Iterator
from functools import cache

import pytest
from attrs import evolve

from keyturn.capabilities import ALL_CLAIMS
from keyturn.card_world import CardBounds, card_model
from keyturn.cards import InteractionKind
from keyturn.explore import explore
from keyturn.table import STATUS_TABLE
from keyturn.world import World
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_specs.cells import Cell
from keyturn_testing.driver import Driver
from keyturn_testing.engines.cover import take_tour
from keyturn_testing.judging import Violation
from keyturn_testing.mutants.tables import Consulted, TableMutant, TableStore, table_mutants
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.touring import TourStep, TourTrace, explored, tour_of
from keyturn_testing.tries import Terms

EVERYTHING = Terms(claims=ALL_CLAIMS, kinds=tuple(InteractionKind))

MUTANTS, REACHED = 648, 328
"""How many changes there are, and how many of them are in a row that an operation looks up."""


@cache
def consulted() -> frozenset[tuple[str, str]]:
    """The (status, event) pairs that are looked up anywhere in the world of the tour: the others change nothing there."""
    rows = Consulted()
    explored(EVERYTHING, evolve(STATUS_TABLE, rows=rows))
    return frozenset(rows.pairs)


def test_the_card_world_looks_up_nothing_more() -> None:
    """What is never looked up in the world of the tour is not looked up in the card world either."""
    rows = Consulted()
    model = card_model(CardBounds(cards=1, attempts=2, administrative=True))
    explore(evolve(model, initial=lambda: (World(table=evolve(STATUS_TABLE, rows=rows)),)))
    assert rows.pairs <= consulted()


def traces_for(mutant: TableMutant) -> Iterator[TourTrace]:
    """The traces in which a card stands where the row was changed: the way through each, and what is tried there."""

    def is_there(step: TourStep) -> bool:
        return any(isinstance(each, Cell) and each.status == mutant.state for each in step.goals)

    for trace in tour_of(EVERYTHING).traces:
        if any(map(is_there, trace)):
            yield tuple(step for step in trace if is_there(step) or not step.stays)


def killed_by(mutant: TableMutant) -> str | None:
    """Take the tour on a store with the changed table; return the requirement that it first breaks."""
    system = InProcessSystem(lambda: TableStore(mutant.table))
    try:
        for trace in traces_for(mutant):
            driver = Driver(system, ALL_CLAIMS, REQUIREMENTS)
            for _ in take_tour(driver, trace, lambda moment: False):
                pass
    except Violation as found:
        return found.finding.primary
    finally:
        system.close()
    return None


def test_every_change_is_there() -> None:
    """Each cell of nine states and nine events has each other content: nine are dropped, the others lead elsewhere."""
    mutants = tuple(table_mutants())
    assert len({each.name for each in mutants}) == len(mutants) == MUTANTS
    done = [each.name.partition(":")[0] for each in mutants]
    assert {each: done.count(each) for each in done} == {"dropped": 9, "redirected": 63, "added": 576}
    assert sum((each.state, each.event) in consulted() for each in mutants) == REACHED


def test_the_table_itself_passes() -> None:
    """The store of the mutants, on the table as it is, breaks nothing."""
    event, target = next(iter(STATUS_TABLE.rows["active"].items()))
    assert killed_by(TableMutant(state="active", event=event, target=target)) is None


@pytest.mark.parametrize("state", STATUS_TABLE.rows)
def test_a_change_is_seen(state: str) -> None:
    """Each change of a row that is looked up breaks a requirement of this version."""
    mutants = [each for each in table_mutants() if each.state == state and (each.state, each.event) in consulted()]
    killed = {each.name: killed_by(each) for each in mutants}
    assert {name: broken for name, broken in killed.items() if broken not in BY_ID} == {}
