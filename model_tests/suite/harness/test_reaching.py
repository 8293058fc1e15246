"""The generator goes to the interesting places on purpose: each of them is counted in a run, within what a system claims.

The source of chance is a plain one. What a step reached is read from the model's own explanation of it.
"""

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.store import ReferenceStore
from keyturn.world import World
from keyturn_testing.dealing import Dealer, Left, Table
from keyturn_testing.drawing import presentable_kinds
from keyturn_testing.driver import Driver
from keyturn_testing.intents import draw
from keyturn_testing.situation import situation
from keyturn_testing.systems.in_process import InProcessSystem

from .places import PLACES, Taken
from .systems import QUICK, described

C = Capability

CLAIMS: Mapping[str, Claims] = {
    "everything": ALL_CLAIMS,
    "at once, any order": ALL_CLAIMS - {C.DEFERRED, C.ORDERED_CHECKS},
    "no revisions, no replay": ALL_CLAIMS - {C.REVISIONS, C.INDEPENDENT, C.FOR_REVISION, C.REPLAY},
    "no owners, no clock, no text": ALL_CLAIMS - {C.OWNERS, C.CLOCK, C.FREEFORM},
    "only cards": frozenset({C.CARDS}),
}


def reached(claims: Claims, seed: int) -> Counter[str]:
    """Return how often a `quick` run of the reference reaches each place."""
    counts: Counter[str] = Counter()
    left: Left = {}
    system = InProcessSystem(lambda: ReferenceStore(claims))
    description, _ = described(system)
    kinds = presentable_kinds(description.offered_kinds(), claims, None)
    for example in range(QUICK.examples):
        driver = Driver(system, claims, ())
        restarted: World | None = None
        for step in range(QUICK.steps):
            dealer = Dealer(Random(f"{seed}-{example}-{step}"), left)
            moment = driver.call(draw(situation(driver, kinds, None), dealer, {})).moment
            taken = Taken(dealt=tuple(dealer.dealt), moment=moment, restarted=restarted)
            counts.update(name for name, each in PLACES.items() if each.needs <= claims and each.reached(taken))
            if isinstance(moment.operation, ops.Restart):
                restarted = moment.state.world
    system.close()
    return counts


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)
def test_a_run_reaches_every_place(claims: Claims) -> None:
    """Whatever can be reached with these claims is reached in one `quick` run; what one seed misses, the next have."""
    due = [name for name, each in PLACES.items() if each.needs <= claims]
    for seed in (1, 2, 3, 4):
        counts = reached(claims, seed)
        due = [name for name in due if not counts[name]]
        if not due:
            break
    assert due == []


class TestDealing:
    """A table is dealt to its end before any entry comes again, and by chance alone otherwise."""

    TABLE = Table("letters", {each: each for each in "abcdefgh"})

    def test_every_entry_comes_once(self) -> None:
        """Each round brings all of the table, in an order of its own, whatever source each step has."""
        left: Left = {}
        rounds = [[Dealer(Random(f"{turn}-{step}"), left)(self.TABLE) for step in range(8)] for turn in range(3)]
        assert [sorted(each) for each in rounds] == [sorted("abcdefgh")] * 3
        assert rounds[0] != rounds[1] != rounds[2]

    def test_the_same_chance_deals_the_same(self) -> None:
        """What is dealt follows from the sources of chance alone."""
        lefts: tuple[Left, Left] = ({}, {})
        first, second = ([Dealer(Random(step), each)(self.TABLE) for step in range(20)] for each in lefts)
        assert first == second

    def test_what_is_no_table_is_left_to_chance(self) -> None:
        """A sequence is chosen from as the source itself would."""
        assert [Dealer(Random(each))("xyz") for each in range(9)] == [Random(each).choice("xyz") for each in range(9)]
        assert self.TABLE[0] == "a"
        assert self.TABLE[1:3] == ("b", "c")
