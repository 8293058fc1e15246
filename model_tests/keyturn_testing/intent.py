"""One intent of the generator: what a step may be about, when it is possible, and which drawing makes its call."""

from collections.abc import Callable

from attrs import frozen

from keyturn.capabilities import Capability
from keyturn_testing.drawing import Drawn
from keyturn_testing.situation import Situation


@frozen(kw_only=True)
class Intent:
    """One thing that a step may be about."""

    name: str
    weight: int
    needs: frozenset[Capability] = frozenset()
    aims: frozenset[str] = frozenset()
    possible: Callable[[Situation], bool] = lambda situation: True
    draw: Drawn
