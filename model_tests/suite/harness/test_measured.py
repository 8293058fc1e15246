"""The suite on itself: it reaches every branch of the contract, and every branch is named by a requirement.

The contract is `admissible` with the modules that its rules are in. What a run reaches of it is measured while the suite holds
the reference store to it: with `quick` as it claims everything, and with less for a few other sets of claims, because no system
claims everything and its opposite, and for one that sweeps when it likes, because the reference sweeps at once.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import keyturn
from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.faults import FaultKind
from keyturn.responses import Rejected
from keyturn.store import Possibility, ReferenceStore, State, possibilities
from keyturn_specs.catalogue import BY_ID
from keyturn_testing import oracle
from keyturn_testing.driver import Driver
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.traces import Call

from .dialects import SweepsLazily
from .systems import QUICK, SHORT, held

C = Capability

CLAIMS: dict[str, Claims] = {
    "everything": ALL_CLAIMS,
    "any order": ALL_CLAIMS - {C.ORDERED_CHECKS},
    "at once, no replay": ALL_CLAIMS - {C.DEFERRED, C.REPLAY, C.ORDERED_CHECKS},
    "no revisions, no sets": ALL_CLAIMS - {C.REVISIONS, C.INDEPENDENT, C.FOR_REVISION, C.MULTI_SELECT},
}

CONTRACT = ("admissible", "afflicting", "answering", "branches", "presenting", "settling")
"""The modules that say what may happen."""

NOT_ASKED: tuple[Call, ...] = (
    Call(operation="clock.advance", params={"seconds": 0}),
    Call(operation="fault.arm", params={"fault": FaultKind.PAYLOAD_CORRUPT.value}),
    Call(operation="fault.arm", params={"fault": FaultKind.PAYLOAD_CORRUPT.value, "card": "no card of yours"}),
)
"""What only the suite could get wrong: the contract refuses it, and no system is asked."""

_MEASURE = """
import coverage, json, sys
measured = coverage.Coverage(branch=True, source_pkgs=["keyturn"], data_file=sys.argv[1])
measured.start()
from model_tests.suite.harness.test_measured import held_as_every_system
nameless = held_as_every_system()
measured.stop()
measured.save()
measured.json_report(outfile=sys.argv[2])
print(json.dumps(nameless))
"""


def held_as_every_system() -> list[tuple[str, str]]:
    """Hold all of them, ask what no system is asked, and return what was admissible anywhere without being named."""
    nameless: set[tuple[str, str]] = set()

    def noting(state: State, operation: ops.Operation, claimed: Claims) -> tuple[Possibility, ...]:
        found = possibilities(state, operation, claimed)
        nameless.update(
            (operation.method, type(each.branch.outcome).__name__)
            for each in found
            if not each.branch.because & BY_ID.keys()
        )
        return found

    stores: dict[str, Callable[[], object]] = {name: partial(ReferenceStore, each) for name, each in CLAIMS.items()}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(oracle, "possibilities", noting)
        for name, make in {**stores, SweepsLazily.name: SweepsLazily}.items():
            assert held(make, profile=QUICK if name == "everything" else SHORT).failures == []
        system = InProcessSystem(ReferenceStore)
        driver = Driver(system, ALL_CLAIMS, ())
        for call in NOT_ASKED:
            assert isinstance(driver.call(call).moment.branch.outcome, Rejected)
        system.close()
    return sorted(nameless)


def test_every_branch_is_reached_and_named(tmp_path: Path) -> None:
    """The branch coverage of the contract is whole after these runs, and whatever is admissible is so by a requirement's id."""
    report = tmp_path / "coverage.json"
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-c", _MEASURE, str(tmp_path / "coverage"), str(report)]
    done = subprocess.run(command, cwd=root, check=True, timeout=900, capture_output=True, text=True)
    assert json.loads(done.stdout) == []
    kernel = Path(keyturn.__file__).parent.name
    missed = {
        Path(name).stem: [*found["missing_lines"], *found["missing_branches"]]
        for name, found in json.loads(report.read_text("utf-8"))["files"].items()
        if Path(name).parent.name == kernel and Path(name).stem in CONTRACT
    }
    assert missed == {name: [] for name in CONTRACT}
