"""Faulty systems, explored: the shortest way to the fault, and the driver blames the same requirement for it."""

import pytest
from attrs import evolve

from keyturn.capabilities import ALL_CLAIMS
from keyturn.card_world import CardBounds
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_testing.exploring import explore_mutant, steps_of
from keyturn_testing.mutants import MUTANTS, mutant_factory
from keyturn_testing.replaying import replay
from keyturn_testing.systems.in_process import InProcessSystem

ONE = CardBounds(cards=1, attempts=2, faults=False, administrative=True)
TWO = CardBounds(cards=2, faults=False)

FOUND_WITH: dict[str, tuple[CardBounds, int]] = {
    "ended-card-revives": (ONE, 4),
    "failed-reads-resolved": (ONE, 4),
    "two-questions-at-once": (TWO, 3),
    "replaced-card-lives-on": (TWO, 3),
    "guesses-the-option": (ONE, 3),
    "decline-runs-it": (ONE, 3),
    "any-revision-goes": (ONE, 3),
    "refreshed-stale-card": (ONE, 4),
    "edit-leaves-cards": (ONE, 3),
    "double-click-pays-twice": (ONE, 5),
    "replay-says-otherwise": (ONE, 5),
    "stranger-answers": (ONE, 3),
    "refusal-closes-the-card": (ONE, 3),
    "only-the-newest-answers": (TWO, 4),
    "ledger-without-accepts": (ONE, 3),
    "in-flight-card-declines": (ONE, 4),
    "any-end-will-do": (ONE, 5),
    "restore-keeps-the-choice": (ONE, 4),
    "sweep-misses-the-instant": (ONE, 4),
    "failed-command-ran": (ONE, 4),
    "late-outcome-counts": (ONE, 5),
    "second-question-beside": (TWO, 3),
    "replaces-in-flight": (TWO, 4),
    "replaced-card-answers": (TWO, 4),
    "everything-needs-the-slot": (TWO, 3),
    "edit-rewrites-cards": (ONE, 3),
    "ids-come-back": (TWO, 4),
    "cites-no-card": (ONE, 4),
    "newest-card-is-meant": (TWO, 4),
    "one-code-for-all": (ONE, 3),
    "commits-on-a-moved-case": (ONE, 5),
    "restores-as-fresh": (ONE, 5),
    "commit-moves-nothing": (ONE, 4),
    "second-click-second-command": (ONE, 4),
    "loser-reads-success": (ONE, 5),
    "overdue-card-answers": (ONE, 4),
    "refused-and-ran": (ONE, 3),
    "cites-what-never-was": (ONE, 4),
    "closed-case-keeps-asking": (ONE, 3),
    "key-made-anew": (ONE, 4),
    "one-key-a-card": (ONE, 5),
}
"""The faults that exploration finds, with the bounds that it needs, and how many steps the shortest way has."""


@pytest.mark.parametrize("name", FOUND_WITH)
def test_the_shortest_way_to_a_fault(name: str) -> None:
    """It is as long as it must be, and a real mutant that goes it fails by the id that it breaks."""
    bounds, steps = FOUND_WITH[name]
    [broken] = explore_mutant(MUTANTS[name], bounds).broken
    assert broken.witness is not None
    assert len(broken.witness.steps) == steps
    system = InProcessSystem(mutant_factory(name, True))
    finding = replay(system, ALL_CLAIMS, REQUIREMENTS, steps_of(broken.witness)).finding
    system.close()
    assert finding is not None
    assert set(MUTANTS[name].breaks) <= {each.requirement for each in finding.broken}


def test_there_are_enough() -> None:
    """Exploration finds at least twenty of the faults."""
    assert len(FOUND_WITH) >= 20


def test_the_contract_itself() -> None:
    """A fault that does nothing is never seen."""
    harmless = evolve(MUTANTS["edit-leaves-cards"], distort=lambda turn: turn.chosen)
    found = explore_mutant(harmless, CardBounds(cards=1, faults=False))
    assert (found.complete, found.broken) == (True, ())


def test_the_search_may_be_watched() -> None:
    """Whoever watches ends it, and then nothing is known."""
    found = explore_mutant(MUTANTS["edit-leaves-cards"], ONE, watch=lambda progress: "enough")
    assert (found.stopped, [each.holds for each in found.verdicts]) == ("enough", [None])
