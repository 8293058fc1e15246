"""The suite on itself: every branch of the contract that a run meets is named by a requirement.

It is held with a few sets of claims, because no system claims everything and its opposite.
"""

import pytest

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.store import Possibility, ReferenceStore, State, possibilities
from keyturn_specs.catalogue import BY_ID
from keyturn_testing import oracle

from .systems import QUICK, held

C = Capability

CLAIMS: dict[str, Claims] = {
    "everything": ALL_CLAIMS,
    "any order": ALL_CLAIMS - {C.ORDERED_CHECKS},
    "at once, no replay": ALL_CLAIMS - {C.DEFERRED, C.REPLAY, C.ORDERED_CHECKS},
    "no revisions, no sets": ALL_CLAIMS - {C.REVISIONS, C.INDEPENDENT, C.FOR_REVISION, C.MULTI_SELECT},
}


@pytest.mark.parametrize("claims", CLAIMS.values(), ids=CLAIMS)
def test_every_branch_is_named_by_a_requirement(claims: Claims, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is admissible anywhere in a run is demanded, or at least allowed, by a requirement of the catalogue."""
    nameless: set[tuple[str, str]] = set()

    def noting(state: State, operation: ops.Operation, claimed: Claims) -> tuple[Possibility, ...]:
        found = possibilities(state, operation, claimed)
        nameless.update(
            (operation.method, type(each.branch.outcome).__name__)
            for each in found
            if not each.branch.because & BY_ID.keys()
        )
        return found

    monkeypatch.setattr(oracle, "possibilities", noting)
    assert held(lambda: ReferenceStore(claims), profile=QUICK).failures == []
    assert nameless == set()
