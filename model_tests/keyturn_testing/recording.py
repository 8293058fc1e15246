"""What an exploration passes, recorded: for each state that was expanded, every step that leaves it and where it leads.

An exploration keeps its states and not what lies between them. A recording stands in for the model that is explored and watches
its steps go by; it numbers states by the same keys in the same order, so that its numbers are those of the exploration.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from attrs import evolve, frozen

from keyturn.explore import Model

S = TypeVar("S", bound=Hashable)
A = TypeVar("A")
T = TypeVar("T")


@frozen
class Left(Generic[T]):
    """One step that leaves a state: what is told of it, and the number of the state that it leads to."""

    told: T
    end: int


class Recording(Generic[S, A, T]):
    """Explore `model`, and then read `steps`: one entry for each state that was expanded, by its number.

    `told` makes what is kept of a step: of the action, the state that it really led to, and the one that was found first of
    all that are the same as that. Steps of one state that are told alike and lead to the same are one.
    """

    def __init__(self, model: Model[S, A], told: Callable[[A, S, S], T], *, symmetry: bool) -> None:
        self.steps: list[tuple[Left[T], ...]] = []
        self.model = evolve(model, initial=self._initial, steps=self._watched)
        self._model, self._told = model, told
        self._key = model.symmetric if symmetry else model.key
        self._found: dict[Hashable, tuple[int, S]] = {}
        self._same: dict[Left[T], Left[T]] = {}

    def step(self, before: S, action: A, after: S) -> tuple[int, int]:
        """Return the number of a state, and the place of one of its steps among those that leave it."""
        number, _ = self._place(before)
        end, first = self._place(after)
        return number, self.steps[number].index(Left(self._told(action, after, first), end))

    def _initial(self) -> Iterable[S]:
        for start in self._model.initial():
            self._place(start)
            yield start

    def _watched(self, before: S) -> Iterator[tuple[A, S]]:
        number, first = self._place(before)
        leaving: dict[Left[T], None] = {}
        for action, after in self._model.steps(before):
            end, same = (number, first) if after is before else self._place(after)
            left = Left(self._told(action, after, same), end)
            leaving[self._same.setdefault(left, left)] = None
            yield action, after
        self.steps.append(tuple(leaving))

    def _place(self, state: S) -> tuple[int, S]:
        alike = state if self._key is None else self._key(state)
        return self._found.setdefault(alike, (len(self._found), state))
