"""Explored graphs to make pages of: the contract itself within small bounds, and contracts that are wrong in one way."""

from collections.abc import Callable

from attrs import evolve

from keyturn import operations as ops
from keyturn.admissible import admissible
from keyturn.branches import Branch
from keyturn.capabilities import ALL_CLAIMS
from keyturn.card_properties import liveness, safety
from keyturn.card_world import CardBounds, card_model
from keyturn.explore import Bounds, explore
from keyturn.responses import RefusalCode, Rejected
from keyturn.world import World
from keyturn_testing.reports.graph_page import Found, Recorded, graph_page, recording_of

Spoil = Callable[[World, ops.Operation, Branch], Branch]


def explored(
    bounds: CardBounds, *, symmetry: bool = False, states: int | None = None, spoil: Spoil | None = None
) -> tuple[Recorded, Found]:
    """Explore and record; a wrong contract is one in which each branch is spoiled."""

    def happens(world: World, operation: ops.Operation) -> tuple[Branch, ...]:
        assert spoil is not None
        return tuple(spoil(world, operation, each) for each in admissible(world, operation, ALL_CLAIMS))

    model = card_model(bounds, happens=None if spoil is None else happens)
    recorded = recording_of(model, symmetry=symmetry)
    properties = safety() if symmetry else (*safety(), *liveness())
    return recorded, explore(recorded.model, properties, symmetry=symmetry, bounds=Bounds(states=states))


def waits_while_closed(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    """A command of a closed case cannot end: who closes and opens a case for ever keeps its card waiting for ever."""
    closed = any(each.closed for each in world.cases)
    if isinstance(operation, ops.CommandSettle) and closed:
        return evolve(branch, outcome=Rejected(code=RefusalCode.CONFLICT), world=world, happened=())
    return branch


def one_card() -> str:
    """One card, with everything that can happen to it: 28 states."""
    return graph_page(*explored(CardBounds(cards=1)), "1 card")


def two_cards() -> str:
    """Two cards that may change places, without deadlines."""
    return graph_page(*explored(CardBounds(cards=2, faults=False, expiry=False), symmetry=True), "2 cards")


def broken() -> str:
    """A contract in which a card may wait for ever, with a cycle that goes round and round."""
    bounds = CardBounds(cards=1, faults=False, expiry=False, administrative=True)
    return graph_page(*explored(bounds, spoil=waits_while_closed), "a wrong contract")


def incomplete() -> str:
    """A part of a graph: some of its states were not looked beyond."""
    return graph_page(*explored(CardBounds(cards=1), states=20), "a part")
