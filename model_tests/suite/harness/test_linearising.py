"""Calls that overlapped are explained by an order, or by none; what is unknown is said to be unknown."""

from collections.abc import Sequence
from itertools import permutations
from random import Random

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.branches import Outcome, Unheard
from keyturn.capabilities import ALL_CLAIMS
from keyturn.responses import Accepted, InFlight
from keyturn.store import State, possibilities
from keyturn.values import CaseKey
from keyturn_specs.memory import NOTHING_REMEMBERED
from keyturn_specs.observations import Snapshot
from keyturn_testing.linearising import Heard, Orders, moments_of, orders_of
from keyturn_testing.matching import Binding
from keyturn_testing.oracle import Hypothesis

from ..kernel.builders import CASE, Desk, answer, edit_case, present
from ..specs.observing import Watched


def bound(desk: Desk) -> Hypothesis:
    """The hypothesis that a store is in the state that it is in, its names being the model's."""
    binding = Binding()
    for each in desk.state.world.interactions:
        binding = binding.with_pair("card", None, each.id, each.id)
    for case in desk.state.world.cases:
        binding = binding.with_pair("revision", case.key, case.revision, case.revision)
    return Hypothesis(desk.state, binding)


def explained(
    history: Sequence[Heard], after: Snapshot, before: Hypothesis, *, by_case: bool = False, budget: int = 20_000
) -> Orders:
    """What the orders of a history explain."""

    def case_of(operation: ops.Operation) -> CaseKey | None:
        return CASE if by_case else None

    return orders_of(
        history, after, [before], claims=ALL_CLAIMS, memory=NOTHING_REMEMBERED, case_of=case_of, budget=budget
    )


def heard(operation: ops.Operation, outcome: Outcome | None, began: int = 0, ended: int = 10) -> Heard:
    """One call; all of them overlap, unless it is said when they ran."""
    return Heard(operation=operation, outcome=outcome, began=began, ended=ended)


class TestTwoClicks:
    """One of two answers to a card is taken."""

    def test_whichever_came_first(self) -> None:
        """The order is found from the answers, whatever order the calls are listed in."""
        desk = Watched()
        card = desk.write()
        before = bound(desk)
        first, second = desk.perform(answer(card)), desk.perform(answer(card))
        assert isinstance(first, Accepted)
        assert isinstance(second, InFlight)
        for outcomes, order in (((first, second), [0, 1]), ((second, first), [1, 0])):
            found = explained([heard(answer(card), each) for each in outcomes], desk.snapshot(), before)
            assert [number for number, _ in found.taken] == order
            assert len(found.hypotheses) == 1
            assert found.hypotheses[0].state == desk.state

    def test_both_taken(self) -> None:
        """No order explains it, and the furthest one says at which call."""
        desk = Watched()
        card = desk.write()
        before = bound(desk)
        taken = desk.perform(answer(card))
        found = explained([heard(answer(card), taken), heard(answer(card), taken)], desk.snapshot(), before)
        assert not found.hypotheses
        assert not found.unknown
        assert [number for number, _ in found.taken] == [0]
        assert found.failing == 1
        assert found.moment is not None
        assert "I14.3" in found.moment.branch.because
        assert found.differences[0].mismatch.path == ("reply",)

    def test_what_was_read_afterwards_counts(self) -> None:
        """Answers that an order explains, and a card that reads otherwise."""
        desk = Watched()
        card = desk.write()
        before, unanswered = bound(desk), desk.snapshot()
        first, second = desk.perform(answer(card)), desk.perform(answer(card))
        found = explained([heard(answer(card), first), heard(answer(card), second)], unanswered, before)
        assert not found.hypotheses
        assert (len(found.taken), found.failing) == (2, None)


class TestTime:
    """What had ended before something began came before it."""

    def test_an_order_that_time_forbids(self) -> None:
        """Each answer is that of the other call."""
        desk = Watched()
        card = desk.write()
        before = bound(desk)
        first, second = desk.perform(answer(card)), desk.perform(answer(card))
        late = [heard(answer(card), second, 0, 4), heard(answer(card), first, 5, 9)]
        assert not explained(late, desk.snapshot(), before).hypotheses
        touching = [late[0], evolve(late[1], began=4)]
        assert explained(touching, desk.snapshot(), before).hypotheses

    @pytest.mark.parametrize("happened", [True, False])
    def test_what_nobody_heard(self, happened: bool) -> None:
        """It happened at any time, or never."""
        desk = Watched()
        card = desk.write()
        before = bound(desk)
        if happened:
            desk.perform(answer(card))
        outcome = desk.perform(edit_case())
        found = explained([heard(answer(card), None), heard(edit_case(), outcome)], desk.snapshot(), before)
        assert [each.state for each in found.hypotheses] == [desk.state]

    def test_what_nobody_heard_may_happen_late(self) -> None:
        """After a call that began when it seemed to have ended."""
        desk = Watched()
        card = desk.write()
        before = bound(desk)
        moved = desk.perform(edit_case())
        desk.perform(answer(card))
        history = [heard(answer(card), None, 0, 1), heard(edit_case(), moved, 5, 9)]
        assert explained(history, desk.snapshot(), before).hypotheses


class TestBounds:
    """A search that grows too large says that it does not know."""

    def test_a_small_budget(self) -> None:
        """It gives up, and blames nobody."""
        desk = Watched()
        card = desk.write()
        before = bound(desk)
        history = [heard(answer(card), desk.perform(answer(card))) for _ in range(4)]
        found = explained(history, desk.snapshot(), before, budget=3)
        assert found.unknown
        assert not found.hypotheses
        assert explained(history, desk.snapshot(), before).hypotheses

    def test_cases_apart(self) -> None:
        """Calls on different cases are not put in order, so that many of them cost little more than one."""
        desk = Watched()
        keys = [CaseKey(CASE.account, CASE.workflow, f"case-{number}") for number in range(8)]
        edits = [
            ops.CaseEdit(account=key.account, workflow=key.workflow, case=key.case) for key in keys for _ in (1, 2)
        ]
        for key in keys:
            desk.perform(ops.CaseOpen(account=key.account, workflow=key.workflow, case=key.case))
        before = bound(desk)
        history = [heard(each, desk.perform(each)) for each in edits]
        apart = orders_of(
            history,
            desk.snapshot(),
            [before],
            claims=ALL_CLAIMS,
            memory=NOTHING_REMEMBERED,
            case_of=lambda operation: operation.key if isinstance(operation, ops.CaseOperation) else None,
        )
        assert apart.hypotheses
        assert apart.tried < 100
        assert explained(history, desk.snapshot(), before, budget=1000).unknown


class TestForeseen:
    """What a call may be, wherever it comes among the others, before any of them was made."""

    def test_an_edit_after_a_question_that_overlaps_it(self) -> None:
        """The edit ends a card that is there only where the question came first."""
        desk = Watched()
        desk.write()
        calls = [present(), edit_case()]
        moments = list(moments_of(calls, bound(desk), claims=ALL_CLAIMS, memory=NOTHING_REMEMBERED))
        ended = {len(each.branch.happened) for each in moments if each.operation == edit_case()}
        assert len(moments) == 4
        assert ended == {1, 2}

    def test_a_small_budget(self) -> None:
        """It stops, and has yielded what it came to."""
        desk = Watched()
        clicks = [answer(desk.write())] * 8
        before = bound(desk)
        moments = moments_of(clicks, before, claims=ALL_CLAIMS, memory=NOTHING_REMEMBERED, budget=5)
        assert len(list(moments)) == 5
        assert len(list(moments_of(clicks, before, claims=ALL_CLAIMS, memory=NOTHING_REMEMBERED))) > 5


def ran_at_once(state: State, operations: Sequence[ops.Operation], chance: Random) -> tuple[list[Heard], State]:
    """A history of operations that took effect in some order, each at an instant between its beginning and its end."""
    order = list(range(len(operations)))
    chance.shuffle(order)
    history: dict[int, Heard] = {}
    for place, number in enumerate(order):
        chosen = possibilities(state, operations[number], ALL_CLAIMS)[0]
        state = chosen.state
        began, ended = place * 10 - chance.randint(0, 15), place * 10 + chance.randint(1, 15)
        outcome = chosen.branch.outcome
        assert not isinstance(outcome, Unheard)
        history[number] = heard(operations[number], outcome, began, ended)
    return [history[number] for number in range(len(operations))], state


def some_order_explains(history: Sequence[Heard], before: Hypothesis, after: State) -> bool:
    """The same question, asked of every order, one by one, on a store that takes what the reference takes."""
    for order in permutations(range(len(history))):
        place = {number: at for at, number in enumerate(order)}
        pairs = [(a, b) for a in place for b in place if history[a].precedes(history[b])]
        if any(place[a] > place[b] for a, b in pairs):
            continue
        state = before.state
        for number in order:
            chosen = possibilities(state, history[number].operation, ALL_CLAIMS)[0]
            if chosen.branch.outcome != history[number].outcome:
                break
            state = chosen.state
        else:
            if state.world == after.world:
                return True
    return False


@pytest.mark.parametrize("seed", range(60))
def test_the_search_agrees_with_every_order_taken_by_hand(seed: int) -> None:
    """What really ran at once is explained, and answers that were exchanged are, exactly where some order gives them."""
    chance = Random(seed)
    desk = Watched()
    card, other = desk.write(), desk.write()
    choices = [answer(card), answer(card, "no"), answer(other), edit_case(), ops.CardExpireDue()]
    operations = [chance.choice(choices) for _ in range(chance.randint(2, 4))]
    before = bound(desk)
    history, state = ran_at_once(desk.state, operations, chance)
    desk.state = state
    assert explained(history, desk.snapshot(), before).hypotheses
    exchanged = list(history)
    for one, two in permutations(range(len(history)), 2):
        if type(operations[one]) is type(operations[two]) and chance.random() < 0.5:
            outcomes = exchanged[one].outcome, exchanged[two].outcome
            exchanged[one] = evolve(exchanged[one], outcome=outcomes[1])
            exchanged[two] = evolve(exchanged[two], outcome=outcomes[0])
    found = bool(explained(exchanged, desk.snapshot(), before).hypotheses)
    assert found is some_order_explains(exchanged, before, state)
