"""Sound systems that differ harmlessly from the reference: whatever the text admits, the suite admits.

A system that takes any admissible branch, chosen by chance, is as far from the reference as the text allows.
"""

import random
from collections.abc import Callable

import pytest

from keyturn import operations as ops
from keyturn.admissible import lazily_expired
from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.store import ReferenceStore, State, heard, possibilities

from .systems import exercised, held

C = Capability


class AnyBranch(ReferenceStore):
    """Takes any admissible branch, by chance; the chance begins anew at each reset."""

    def __init__(self, claims: Claims, seed: int) -> None:
        super().__init__(claims)
        self.seed = seed
        self.chance = random.Random(seed)

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation in any admissible way."""
        if isinstance(operation, ops.Reset):
            self.chance = random.Random(self.seed)
        every = possibilities(self.state, operation, self.claims)
        reads = not operation.changes or (isinstance(operation, ops.CaseOpen) and self._is_open(operation))
        chosen = every[0] if reads else self.chance.choice(every)
        self.state = chosen.state
        return heard(chosen.branch)

    def _is_open(self, operation: ops.CaseOpen) -> bool:
        return self.state.world.case(operation.key) is not None


class LastBranch(ReferenceStore):
    """Takes the last admissible branch: the one that the reference would take least."""

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation in the last admissible way."""
        chosen = possibilities(self.state, operation, self.claims)[-1]
        self.state = chosen.state
        return heard(chosen.branch)


class SweepsAtOnce(ReferenceStore):
    """Expires every overdue card before anything else can see it."""

    def perform(self, operation: ops.Operation) -> Outcome:
        """Sweep, perform, and sweep again."""
        self._sweep()
        outcome = super().perform(operation)
        self._sweep()
        return outcome

    def _sweep(self) -> None:
        for unfolding in list(lazily_expired(self.state.world))[-1:]:
            self.state = State(unfolding.world, self.state.history.after(unfolding.happened))


CLAIMS = {
    "everything": ALL_CLAIMS,
    "any order": ALL_CLAIMS - {C.ORDERED_CHECKS},
    "no codes, at once": ALL_CLAIMS - {C.ORDERED_CHECKS, C.CODED_REFUSALS, C.DEFERRED},
    "no replay": ALL_CLAIMS - {C.REPLAY, C.ORDERED_CHECKS},
}

MAKERS: dict[str, Callable[[Claims], Callable[[], object]]] = {
    "any branch, one seed": lambda claims: lambda: AnyBranch(claims, 1),
    "any branch, another seed": lambda claims: lambda: AnyBranch(claims, 2),
    "the last branch": lambda claims: lambda: LastBranch(claims),
    "sweeps at once": lambda claims: lambda: SweepsAtOnce(claims),
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)
def test_whatever_the_text_admits_holds(maker: Callable[[Claims], Callable[[], object]], claims: Claims) -> None:
    """A system that takes other admissible branches than the reference holds, and nothing is left unexercised."""
    record = held(maker(claims))
    assert [each.finding.broken for each in record.failures] == []
    assert [each.id for each in record.requirements if not exercised(record).get(each.id)] == []
