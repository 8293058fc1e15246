"""The suite on itself: it reaches every branch of the contract, and every branch is named by a requirement.

The contract is `admissible` with the modules that its rules are in. What `quick` reaches of it is measured while the suite holds
the reference store to it, with a few sets of claims, because no system claims everything and its opposite.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import keyturn
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

CONTRACT = ("admissible", "afflicting", "answering", "branches", "presenting", "settling")
"""The modules that say what may happen."""

_MEASURE = """
import json, sys
import coverage
measured = coverage.Coverage(branch=True, source_pkgs=["keyturn"], data_file=None)
measured.start()
from keyturn.capabilities import Capability
from keyturn.store import ReferenceStore
from suite.harness.systems import QUICK, held
for names in json.loads(sys.argv[1]):
    claims = frozenset(map(Capability, names))
    assert held(lambda: ReferenceStore(claims), profile=QUICK).failures == []
measured.stop()
measured.json_report(outfile=sys.argv[2])
"""


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


def test_every_branch_is_reached(tmp_path: Path) -> None:
    """The branch coverage of the contract is whole after `quick`, and a run that reaches less would show here."""
    report = tmp_path / "coverage.json"
    sets = json.dumps([sorted(claims) for claims in CLAIMS.values()])
    folder = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", _MEASURE, sets, str(report)], cwd=folder, check=True, timeout=600)
    files = json.loads(report.read_text())["files"]
    kernel = Path(keyturn.__file__).parent.name
    missed = {
        name: [*found["missing_lines"], *found["missing_branches"]]
        for name, found in files.items()
        if Path(name).parent.name == kernel and Path(name).stem in CONTRACT
    }
    assert {Path(name).stem for name in missed} == set(CONTRACT)
    assert {name: lines for name, lines in missed.items() if lines} == {}
