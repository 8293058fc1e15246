"""Calls that overlapped, explained by an order: what was answered and can be read must be what some order gives (D2).

An order may be any that does not turn around what really followed one another: a call that had ended before another one
began comes before it. The search goes through the sets of calls that may have come first, smallest first, and keeps for each
set the hypotheses that explain every answer so far; those that are equal are one. Calls on different cases do not touch each
other, so the cases are gone through one after the other. In the end an order must also explain everything that was read
afterwards. The search is bounded, and says when it gave up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

from attrs import evolve, field, frozen, mutable

from keyturn.branches import Outcome
from keyturn.capabilities import Claims
from keyturn.operations import Operation
from keyturn.store import lazily_swept
from keyturn.values import CaseKey
from keyturn_specs.memory import Memory, remembered
from keyturn_specs.observations import Moment, Snapshot
from keyturn_testing.matching import Matching, Mismatch
from keyturn_testing.oracle import (
    Difference,
    Failure,
    Hypothesis,
    chances_of,
    compare_snapshot,
    distinct,
    ranked,
    scope_of,
    translate,
)

MOST_TRIED = 20_000
"""How many ways of taking one call after others are looked at before the search gives up: a budget in steps, never in seconds."""


Reached = TypeVar("Reached")


@frozen(kw_only=True)
class Heard:
    """One call of a history: what was asked, what came back (nothing where that is unknown), and from when to when."""

    operation: Operation
    outcome: Outcome | Failure | None
    began: int
    ended: int

    def precedes(self, other: "Heard") -> bool:
        """Whether this call had ended before the other one began; one that nobody heard of may still be going on."""
        return self.outcome is not None and self.ended < other.began


Taken: TypeAlias = tuple[tuple[int, Moment], ...]
"""The calls of an order so far, by their numbers in the history, and the moment that each of them was."""


@frozen
class Explained:
    """A hypothesis, and one order that leads to it."""

    hypothesis: Hypothesis
    taken: Taken = ()


@frozen(kw_only=True)
class Orders:
    """What the orders of a history explain.

    `hypotheses` are those that explain everything, and `taken` is one order of theirs. Where there is none, `taken` is the
    order that went furthest, `failing` the number of the call that it could not explain (nothing where every call was, and what
    was read afterwards was not), and `moment` and `differences` say what was due instead. `unknown` says that the search gave up.
    """

    hypotheses: tuple[Hypothesis, ...] = ()
    taken: Taken = ()
    failing: int | None = None
    moment: Moment | None = None
    differences: tuple[Difference, ...] = ()
    unknown: bool = False
    tried: int = 0


class _GaveUp(Exception):
    """The budget of the search is spent."""


@mutable
class _Search:
    """One search: the calls, what is known before them, and the best that was found so far."""

    history: Sequence[Heard]
    claims: Claims
    memory: Memory
    budget: int
    tried: int = 0
    furthest: Orders = field(factory=Orders)

    def after(self, explained: Explained, number: int) -> Iterator[Explained]:
        """Yield what explains the answer to one more call; what does not is remembered, where it went further than anything."""
        heard, hypothesis = self.history[number], explained.hypothesis
        operation = translate(heard.operation, hypothesis, self.memory)
        if heard.outcome is None:
            unheard = remembered(hypothesis.memory, operation, None, restarted=False)
            yield Explained(Hypothesis(hypothesis.state, hypothesis.binding, unheard), explained.taken)
        for _, moment, possibility in chances_of(hypothesis, operation, self.claims):
            self.tried += 1
            if self.tried > self.budget:
                raise _GaveUp
            matching = Matching(
                hypothesis.binding, possibility.state.world, self.claims, scope=scope_of(heard.operation)
            )
            if heard.outcome is not None:
                matching.compare(("reply",), possibility.branch.outcome, heard.outcome)
            if matching.mismatches:
                self.note(explained.taken, number, moment, matching.mismatches)
                continue
            told = None if heard.outcome is None else possibility.branch.outcome
            memory = remembered(hypothesis.memory, operation, told, restarted=False)
            yield Explained(
                Hypothesis(possibility.state, matching.binding, memory), (*explained.taken, (number, moment))
            )

    def note(self, taken: Taken, failing: int | None, moment: Moment, mismatches: list[Mismatch]) -> None:
        """Remember what could not be explained, where the order went further than any before it."""
        known = self.furthest
        if known.moment is None or len(taken) > len(known.taken) or (failing is None and known.failing is not None):
            self.furthest = Orders(taken=taken, failing=failing, moment=moment, differences=ranked(mismatches))

    def through(self, block: Sequence[int], starts: list[Explained]) -> list[Explained]:
        """Return what explains the calls of a block, in every order that time allows."""
        before = {
            number: frozenset(other for other in block if self.history[other].precedes(self.history[number]))
            for number in block
        }
        reached = starts
        for every, number, reached in _ways(block, before, starts):
            for explained in every:
                for each in self.after(explained, number):
                    if all(each.hypothesis != other.hypothesis for other in reached):
                        reached.append(each)
        return reached

    def settled(self, found: list[Explained], after: Snapshot) -> Iterator[Explained]:
        """Yield those that explain what was read afterwards as well."""
        for explained in found:
            for state in (explained.hypothesis.state, *lazily_swept(explained.hypothesis.state)):
                matching = Matching(explained.hypothesis.binding, state.world, self.claims)
                compare_snapshot(matching, state, after)
                if not matching.mismatches:
                    hypothesis = Hypothesis(state, matching.binding, explained.hypothesis.memory)
                    yield Explained(hypothesis, explained.taken)
                    break
                if explained.taken:
                    self.note(explained.taken, None, explained.taken[-1][1], matching.mismatches)


def orders_of(
    history: Sequence[Heard],
    after: Snapshot,
    hypotheses: Sequence[Hypothesis],
    *,
    claims: Claims,
    memory: Memory,
    case_of: Callable[[Operation], CaseKey | None] = lambda operation: None,
    budget: int = MOST_TRIED,
) -> Orders:
    """Return what the orders of a history explain; `after` is what was read when all of its calls had ended.

    `case_of` says which case an operation is about, and nothing for one that may be about several.
    """
    search = _Search(history, claims, memory, budget)
    found = [Explained(each) for each in hypotheses]
    try:
        for block in _blocks(history, case_of):
            found = search.through(block, found)
    except _GaveUp:
        return Orders(unknown=True, tried=search.tried)
    settled = list(search.settled(found, after))
    if not settled:
        return evolve(search.furthest, tried=search.tried)
    explaining = distinct([each.hypothesis for each in settled])
    return Orders(hypotheses=explaining, taken=settled[0].taken, tried=search.tried)


def moments_of(
    operations: Sequence[Operation], hypothesis: Hypothesis, *, claims: Claims, memory: Memory, budget: int = MOST_TRIED
) -> Iterator[Moment]:
    """Yield each moment that a call may be in some order of them all, as the reference would take it, without making any.

    Sets of calls are gone through as `orders_of` does; where the budget is spent, no more moments are yielded.
    """
    for every, number, reached in _ways(range(len(operations)), {}, [hypothesis]):
        for each in every:
            budget -= 1
            if budget < 0:
                return
            operation = translate(operations[number], each, memory)
            _, moment, possibility = next(chances_of(each, operation, claims))
            yield moment
            after = remembered(each.memory, operation, possibility.branch.outcome, restarted=False)
            new = Hypothesis(possibility.state, each.binding, after)
            if new not in reached:
                reached.append(new)


def _ways(
    numbers: Sequence[int], before: Mapping[int, frozenset[int]], starts: list[Reached]
) -> Iterator[tuple[list[Reached], int, list[Reached]]]:
    """Go through the sets of calls that may have come first, smallest first; the last one is that of all calls.

    Yields what is reached after a set, a call that may come next, and what is reached after it too: whoever takes the call adds
    to that. `before` says which calls come before a call for sure.
    """
    frontier: dict[frozenset[int], list[Reached]] = {frozenset(): starts}
    for _ in numbers:
        following: dict[frozenset[int], list[Reached]] = {}
        for done, every in frontier.items():
            for number in numbers:
                if number not in done and before.get(number, frozenset()) <= done:
                    yield every, number, following.setdefault(done | {number}, [])
        frontier = following


def _blocks(history: Sequence[Heard], case_of: Callable[[Operation], CaseKey | None]) -> list[list[int]]:
    """Return the numbers of the calls, case by case; all together where one of them may be about several."""
    blocks: dict[CaseKey, list[int]] = {}
    for number, heard in enumerate(history):
        key = case_of(heard.operation)
        if key is None:
            return [list(range(len(history)))]
        blocks.setdefault(key, []).append(number)
    return list(blocks.values())
