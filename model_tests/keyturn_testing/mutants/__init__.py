"""Systems that are wrong in exactly one way, each named for its fault (D6).

A mutant is the reference store with one distortion: a pure function from what the reference would do to what the faulty
system does instead. It describes itself like the reference, and disarmed it is the reference. A requirement without a mutant
that it kills by its id is not believed.
"""

from collections.abc import Callable, Mapping

from keyturn_testing.mutants.base import Mutant, MutantStore
from keyturn_testing.mutants.breakdowns import BREAKDOWNS
from keyturn_testing.mutants.first import FIRST
from keyturn_testing.mutants.lifecycle import LIFECYCLE
from keyturn_testing.mutants.meaning import MEANING
from keyturn_testing.mutants.outcomes import OUTCOMES

__all__ = ["MUTANTS", "Mutant", "MutantStore", "mutant_factory"]

MUTANTS: Mapping[str, Mutant] = {each.name: each for each in (*FIRST, *LIFECYCLE, *MEANING, *OUTCOMES, *BREAKDOWNS)}
"""Every mutant, by its name."""


def mutant_factory(name: str, armed: bool) -> Callable[[], MutantStore]:
    """Return what makes a mutant; raise `KeyError` for a name that there is not."""
    mutant = MUTANTS[name]
    return lambda: MutantStore(mutant, armed=armed)
