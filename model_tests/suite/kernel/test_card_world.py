"""The card world, explored: how many states there are, that nothing is lost by symmetry, and that every property can break."""

import os
from collections.abc import Callable

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.admissible import admissible
from keyturn.branches import Branch, Outcome, Unheard
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.card_properties import liveness, safety
from keyturn.card_world import CardBounds, Happening, card_model, outcome_of, symmetric_key
from keyturn.cards import Interaction, Result
from keyturn.explore import Bounds, Exploration, explore
from keyturn.faults import FaultKind
from keyturn.responses import Accepted, Dismissed, RefusalCode, Rejected
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.world import World

C, S = Capability, InteractionStatus

PINNED = {
    CardBounds(cards=1): 28,
    CardBounds(cards=1, attempts=2): 44,
    CardBounds(cards=1, administrative=True): 51,
    CardBounds(cards=1, cases=2, accounts=2, faults=False): 108,
    CardBounds(cards=2, faults=False): 441,
}
"""The distinct states without symmetry, by the bounds."""

REDUCED = {
    CardBounds(cards=1, cases=2, accounts=2, faults=False): 55,
    CardBounds(cards=2, faults=False): 306,
    CardBounds(cards=2, cases=2, faults=False): 962,
}
"""The distinct states with symmetry."""

LARGE = {CardBounds(cards=3, cases=2): 11_942}
"""The distinct states with symmetry of what takes minutes: the session `exploration` takes them, with every fault."""

IN_TIME = REDUCED | (LARGE if os.environ.get("KEYTURN_EXPLORE") == "all" else {})
"""What there is time for."""


class TestCounts:
    """The numbers of states are pinned: whatever changes the contract changes them."""

    @pytest.mark.parametrize(("bounds", "states"), PINNED.items(), ids=str)
    def test_every_state(self, bounds: CardBounds, states: int) -> None:
        """All of them are visited, and everything holds in them, also what must happen at last."""
        found = explore(card_model(bounds), (*safety(), *liveness()))
        assert (len(found.states), found.complete, found.broken) == (states, True, ())

    @pytest.mark.parametrize(("bounds", "states"), IN_TIME.items(), ids=str)
    def test_every_class_of_states(self, bounds: CardBounds, states: int) -> None:
        """With symmetry there are as many as classes among all states, where those are counted too."""
        found = explore(card_model(bounds), safety(), symmetry=True)
        assert (len(found.states), found.complete, found.broken) == (states, True, ())
        if bounds in PINNED:
            assert len({symmetric_key(each) for each in explore(card_model(bounds)).states}) == states

    def test_what_is_not_claimed_does_not_happen(self) -> None:
        """A system with nothing but cards has no clock, no revisions, no blocking cards and nothing to dismiss."""
        found = explore(card_model(CardBounds(administrative=True, faults=False), frozenset({C.CARDS, C.DEFERRED})))
        assert set(found.taken) == {
            *(
                "open a case",
                "present",
                "answer: run it",
                "answer: keep it",
                "answer: no such option",
                "settle: committed",
            ),
            *("settle: committed, else give it back", "settle: failed", "settle: failed, give it back"),
        }

    def test_faults_are_actions(self) -> None:
        """Each is met by some operation, and is counted by itself."""
        taken = explore(card_model(CardBounds(cards=1))).taken
        faults = ("write_fails", "commit_fails", "reply_lost", "crash_before_commit", "crash_after_commit")
        assert all(any(name.endswith(f"({fault})") for name in taken) for fault in faults)


Spoil = Callable[[World, ops.Operation, Branch], Branch]


def spoiled(spoil: Spoil) -> Exploration[World, Happening]:
    """Explore a contract in which one kind of branch is wrong; a wrong contract need not end."""

    def happens(world: World, operation: ops.Operation) -> tuple[Branch, ...]:
        return tuple(spoil(world, operation, each) for each in admissible(world, operation, ALL_CLAIMS))

    model = card_model(CardBounds(cards=2), happens=happens)
    return explore(model, safety(), symmetry=True, bounds=Bounds(states=150))


def with_status(branch: Branch, status: InteractionStatus, *which: InteractionStatus) -> Branch:
    """The branch with every card that has one of these statuses in another one."""

    def moved(card: Interaction) -> Interaction:
        return evolve(card, status=status) if card.status in which else card

    return evolve(branch, world=evolve(branch.world, interactions=tuple(map(moved, branch.world.interactions))))


def _two_questions(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    cards = tuple(evolve(each, blocking=True) for each in branch.world.interactions)
    return evolve(branch, world=evolve(branch.world, interactions=cards))


def _stays_in_flight(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    return with_status(branch, S.RESOLVING, S.RESOLVED)


def _skips_the_ledger(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    return evolve(branch, happened=()) if isinstance(operation, ops.CardDismiss) else branch


def _writes_another_row(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    entries = [each for each in branch.happened if isinstance(each, ops.LedgerEntry)]
    if not isinstance(operation, ops.CardDismiss) or not entries:
        return branch
    return evolve(branch, happened=(evolve(entries[0], event=InteractionEvent.EXPIRE),))


def _expires_what_has_ended(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    return with_status(branch, S.EXPIRED, S.DECLINED) if isinstance(operation, ops.CardExpireDue) else branch


def _runs_twice(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    effects = tuple(each for each in branch.happened if isinstance(each, ops.Effect))
    return evolve(branch, happened=(*branch.happened, *effects))


def _runs_nothing(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    return evolve(branch, happened=tuple(each for each in branch.happened if not isinstance(each, ops.Effect)))


def _refuses_what_it_takes(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    taken = isinstance(branch.outcome, Accepted)
    return evolve(branch, outcome=Rejected(code=RefusalCode.UNAVAILABLE)) if taken else branch


def _dismisses_what_is_overdue(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    late = isinstance(branch.outcome, Rejected) and branch.outcome.code is RefusalCode.EXPIRED
    if not isinstance(operation, ops.CardDismiss) or not late:
        return branch
    result = Result(card=operation.card, effects=(), case_revision=world.cases[0].revision)
    return evolve(with_status(branch, S.DISMISSED, S.ACTIVE, S.EXPIRED), outcome=Dismissed(result=result))


def _runs_before_it_is_written(world: World, operation: ops.Operation, branch: Branch) -> Branch:
    crashed = isinstance(branch.outcome, Unheard) and branch.outcome.fault is FaultKind.CRASH_BEFORE_COMMIT
    whole = admissible(evolve(world, armed=()), operation, ALL_CLAIMS)[0] if crashed else branch
    return evolve(branch, happened=whole.happened)


SPOILED: tuple[tuple[str, Spoil], ...] = (
    ("I5.1", _two_questions),
    ("I14.3", _stays_in_flight),
    ("L1", _skips_the_ledger),
    ("L1", _writes_another_row),
    ("L2", _expires_what_has_ended),
    ("I14.1", _runs_twice),
    ("L9", _runs_nothing),
    ("I7.9", _refuses_what_it_takes),
    ("I13.1, I19.5", _dismisses_what_is_overdue),
    ("I6.2, I14.6", _runs_before_it_is_written),
)


class TestBreaking:
    """Each property is broken by a contract that is wrong in just that, and the way to it is short."""

    @pytest.mark.parametrize(("requirement", "spoil"), SPOILED, ids=lambda each: getattr(each, "__name__", each))
    def test_a_wrong_contract(self, requirement: str, spoil: Spoil) -> None:
        """The requirement is named, and the witness shows the step."""
        broken = {each.property.partition(":")[0]: each for each in spoiled(spoil).broken}
        assert requirement in broken
        witness = broken[requirement].witness
        assert witness is not None
        assert 2 <= len(witness.steps) <= 5


class TestWords:
    """What came of a step, for people."""

    @pytest.mark.parametrize(
        ("outcome", "said"),
        [
            (ops.Done(), "done"),
            (Rejected(code=RefusalCode.EXPIRED), "rejected (expired)"),
            (Unheard(FaultKind.REPLY_LOST, ops.Done()), "unheard (reply_lost)"),
        ],
        ids=["done", "refused", "unheard"],
    )
    def test_every_kind_of_outcome(self, outcome: Outcome | Unheard, said: str) -> None:
        """Done, a refusal with its code, and what nobody heard."""
        branch = Branch(outcome, World(), (), frozenset())
        assert outcome_of(Happening(kind="restart", operation=ops.Restart(), branch=branch)) == said
