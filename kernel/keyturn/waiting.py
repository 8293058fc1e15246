"""What happens at last, on a finite graph: whether something can be waited for for ever, and by which fair way.

States are numbers here and a graph is what leaves each of them. A wait that never ends stays in one strongly connected component
of the states in which it is still waited; it is fair when no fair action is possible all along it and never taken.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

A = TypeVar("A")


def way_back(came: Callable[[int], tuple[int, A] | None], number: int) -> tuple[int, list[tuple[A, int]]]:
    """Return where the way to a state began, and its steps; `came` says from where, and by which action, a state was found."""
    steps: list[tuple[A, int]] = []
    while (last := came(number)) is not None:
        steps.append((last[1], number))
        number = last[0]
    return number, steps[::-1]


class Waiting(Generic[A]):
    """The part of the graph in which something is still waited for: from where the wait begins, as long as it lasts."""

    def __init__(self, edges: Sequence[Sequence[tuple[A, int]]], over: Sequence[bool], begins: Iterable[int]) -> None:
        self._edges, self._over = edges, over
        self._came: dict[int, tuple[int, A] | None] = {begin: None for begin in begins if not over[begin]}
        waiting = list(self._came)
        for number in waiting:  # it grows while it is walked
            for action, end in self._inside(number):
                if end not in self._came:
                    self._came[end] = (number, action)
                    waiting.append(end)

    def _inside(self, number: int) -> Iterator[tuple[A, int]]:
        return (edge for edge in self._edges[number] if not self._over[edge[1]])

    def way_in(self, number: int) -> tuple[int, list[tuple[A, int]]]:
        """Where the wait began that leads to a state, and the steps from there."""
        return way_back(self._came.__getitem__, number)

    def components(self) -> Iterator[list[int]]:
        """The strongly connected components (Tarjan's algorithm, with a stack of its own), each by its first state."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        place: dict[int, int] = {}  # of what is on the stack
        for root in self._came:
            if root in index:
                continue
            work = [(root, self._inside(root))]
            while work:
                number, ends = work[-1]
                if number not in index:
                    index[number] = low[number] = len(index)
                    place[number] = len(stack)
                    stack.append(number)
                child = next((end for _, end in ends if end not in index or end in place), None)
                if child is not None and child not in index:
                    work.append((child, self._inside(child)))
                elif child is not None:
                    low[number] = min(low[number], index[child])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[number])
                    if low[number] == index[number]:
                        component = stack[place[number] :]
                        del stack[place[number] :]
                        for each in component:
                            del place[each]
                        yield component

    def fair_needs(
        self, component: list[int], fair: Iterable[Callable[[A], bool]]
    ) -> list[int | tuple[int, A, int]] | None:
        """What a run that stays in a component for ever must pass to be fair: states and steps; nothing where none can be.

        A fair action must be impossible somewhere on the way, or taken on it. A run may also rest in one state.
        """
        inside = set(component)
        needs: list[int | tuple[int, A, int]] = []
        for is_fair in fair:
            without = next((n for n in component if not any(is_fair(action) for action, _ in self._edges[n])), None)
            steps = ((n, a, end) for n in component for a, end in self._edges[n] if end in inside and is_fair(a))
            need = next(steps, None) if without is None else without
            if need is None:
                return None
            needs.append(need)
        return needs

    def round_trip(self, component: list[int], needs: list[int | tuple[int, A, int]]) -> list[tuple[A, int]]:
        """A way from the first state of a component through everything that is needed and back."""
        inside, here, trip = set(component), component[0], list[tuple[A, int]]()
        for need in needs:
            start = need if isinstance(need, int) else need[0]
            trip += self._between(here, start, inside)
            here = start
            if not isinstance(need, int):
                trip.append((need[1], need[2]))
                here = need[2]
        return trip + self._between(here, component[0], inside)

    def _between(self, start: int, goal: int, inside: set[int]) -> list[tuple[A, int]]:
        came: dict[int, tuple[int, A] | None] = {start: None}
        waiting = deque([start])
        while goal not in came:
            number = waiting.popleft()
            for action, end in self._inside(number):
                if end in inside and end not in came:
                    came[end] = (number, action)
                    waiting.append(end)
        return way_back(came.__getitem__, goal)[1]
