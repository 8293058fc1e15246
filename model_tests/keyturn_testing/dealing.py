"""Tables that are dealt: over a run each entry comes up once before any comes up again.

Chance alone leaves gaps: of thirty entries, a hundred draws miss one more often than not. A dealer shuffles a table, deals it to
its end, and shuffles it again; whatever is no table is left to chance. What is still to be dealt is kept by the run, so that
its examples share it, and all of it follows from the chance of the steps (D10).
"""

from collections.abc import Mapping, MutableMapping, Sequence
from random import Random
from typing import Generic, TypeVar, overload

from attrs import field, frozen, mutable

T = TypeVar("T")


@frozen(eq=False)
class Table(Sequence[T], Generic[T]):
    """Named things to choose from; where a plain source of chance picks from it, it is a sequence like any other."""

    name: str
    entries: Mapping[str, T]

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[T, ...]: ...
    def __getitem__(self, place: int | slice) -> T | tuple[T, ...]:
        """Return what stands at a place, or a part of the table."""
        return tuple(self.entries.values())[place]

    def __len__(self) -> int:
        """How many entries there are."""
        return len(self.entries)


Left = MutableMapping[str, list[str]]
"""The entries that are still to be dealt, by their names, for each table."""


@mutable
class Dealer:
    """Picks by chance, and deals from tables; `dealt` are the tables and entries of this step."""

    chance: Random
    left: Left = field(factory=dict)
    dealt: list[tuple[str, str]] = field(factory=list)

    def __call__(self, choices: Sequence[T]) -> T:
        """Return one of the choices; of a table, one that has not come up for longest."""
        if not isinstance(choices, Table):
            return self.chance.choice(choices)
        left = self.left.setdefault(choices.name, [])
        if not left:
            left.extend(choices.entries)
            self.chance.shuffle(left)
        name = left.pop()
        self.dealt.append((choices.name, name))
        entry: T = choices.entries[name]
        return entry
