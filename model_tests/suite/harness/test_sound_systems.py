"""Six sound systems, each as far from the reference as the text allows: all of them hold, and every freedom was really used.

Two of them were written from the text alone and know nothing of the kernel. The text lets a system wait instead of answering
`in_flight`; in a sequence of calls that is a system which runs its commands at once, because whoever comes next comes after.
"""

import ast
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attrs import has

from keyturn.capabilities import Capability, Claims
from keyturn.operations import BY_METHOD
from keyturn.store import ReferenceStore
from keyturn_testing.driver import Driver
from keyturn_testing.engines import ENGINES
from keyturn_testing.record import Profile, Record
from keyturn_testing.running import Run
from keyturn_testing.smoke import smoke
from keyturn_testing.systems.in_process import InProcessSystem

from .counter_desk import CounterDesk
from .dialects import DIALECTS
from .edges import edges
from .freedoms import FREEDOMS
from .night_queue import Effect, Ended, Found, NightQueue, Pending, Presented
from .systems import QUICK, SHORT, described, exercised
from .test_believed import SEEDS
from .watching import Used, Watched

SYSTEMS: Mapping[str, Callable[[], object]] = {
    "counter-desk": CounterDesk,
    "night-queue": NightQueue,
    **{each.name: each for each in DIALECTS},
}


def watched(
    make: Callable[[], object], seed: int, freedoms: Mapping[str, Used], profile: Profile = QUICK
) -> tuple[Watched, Record]:
    """Hold a system to what it claims, first at the edges of the text, and look at every answer."""
    system = Watched(make, freedoms)
    try:
        description, claims = described(system)
        # What is watched is one answer after the other, so no calls overlap.
        engines = tuple(each for each in ENGINES if each != "races")
        run = Run(system, description, claims, profile=profile, seed=seed, engines=engines)
        driver = Driver(system, claims, run.requirements)
        for call in edges(claims, description):
            driver.call(call)
        record = run.run()
        system.look()
        return system, record
    finally:
        system.close()


def claims_of(make: Callable[[], object]) -> Claims:
    """What a system claims."""
    system = InProcessSystem(make)
    try:
        return described(system)[1]
    finally:
        system.close()


def freedoms_of(name: str) -> dict[str, Used]:
    """The rows of the table that name a system."""
    return {each.says: each.used for each in FREEDOMS if each.system == name}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_sound_system_holds_and_uses_its_freedoms(name: str) -> None:
    """With both engines nothing fails; all that is claimed is exercised, nothing unclaimed is asked, each freedom is used."""
    unused = set(freedoms_of(name))
    for seed in SEEDS:
        system, record = watched(SYSTEMS[name], seed, freedoms_of(name))
        assert record.breakdown is None
        assert [(each.finding.broken, each.trace.steps) for each in record.failures] == []
        assert [each.id for each in record.requirements if not exercised(record).get(each.id)] == []
        assert {BY_METHOD[each].needs for each in system.asked - {"describe"}} <= record.claims
        unused &= set(system.unused)
    assert unused == set()


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_sound_system_is_fit(name: str) -> None:
    """The smoke test finds nothing wrong with a system that differs harmlessly."""
    system = InProcessSystem(SYSTEMS[name])
    assert smoke(system).problems == ()
    system.close()


class TestTheTable:
    """Nothing in the table of freedoms is there for nothing."""

    def test_every_system_uses_some(self) -> None:
        """Each of the six has rows of its own, and no row names a seventh."""
        assert {each.system for each in FREEDOMS} == set(SYSTEMS)
        assert len({each.says for each in FREEDOMS}) == len(FREEDOMS)

    def test_the_reference_uses_hardly_any(self) -> None:
        """A predicate that the reference meets too would prove no distance from it: only these choices are its own."""
        system, _ = watched(ReferenceStore, 0, {each.says: each.used for each in FREEDOMS}, SHORT)
        assert {each.says for each in FREEDOMS} - set(system.unused) == ALSO_OF_THE_REFERENCE

    def test_every_capability_is_left_out_by_one(self) -> None:
        """Each capability but `cards` is missing somewhere among the six, and claimed somewhere."""
        every = [claims_of(make) for make in SYSTEMS.values()]
        assert frozenset.intersection(*every) == {Capability.CARDS}
        assert frozenset.union(*every) == set(Capability)

    @pytest.mark.parametrize("module", ["counter_desk.py", "night_queue.py", "by_the_text.py"])
    def test_two_know_nothing_of_the_kernel(self, module: str) -> None:
        """The two that were written from the text import nothing of ours but their own table."""
        tree = ast.parse((Path(__file__).parent / module).read_text(encoding="utf-8"))
        names = [each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names]
        names += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert [each for each in names if each.startswith("keyturn")] == []

    def test_a_system_without_owners_is_one_conversation(self) -> None:
        """Without `owners` nobody else ever asks, and of what a system does not offer no card is presented."""
        system, _ = watched(NightQueue, 0, {}, SHORT)
        assert system.owners == {("acme", "chat-1")}
        assert system.kinds == {"confirm_command", "single_select"}

    def test_one_answers_asynchronously_with_records(self) -> None:
        """A method may be a coroutine, and its answer an attrs value."""
        assert inspect.iscoroutinefunction(NightQueue.card_respond)
        assert all(has(each) for each in (Presented, Found, Pending, Ended, Effect))


ALSO_OF_THE_REFERENCE = frozenset(
    {
        "null and absent are the same: absent",
        "a refusal may name the current card",
        "an overdue card may be found Expired by any operation",
        "an overdue card may become Expired at once",
        "on an Expired card `not_answerable` is admissible",
        "a closed case may be changed",
        "or may not",
        "what else a client sends may be ignored",
        "blank text may be ignored where text is forbidden",
        "`1.0` may be malformed",
        "a number out of range may be malformed",
        "an empty id may be malformed",
        "a response beyond 64 KiB may be read",
        # A fault that was armed takes the reply away, and options that are named twice are one way too many.
        "an error that is not definite may have happened",
        "what else a client sends may be refused as malformed",
        "a missing revision of an unknown card may be malformed",
        "an empty owner may be an owner like any other",
        "`refuse` alone: a second blocking card is refused",
        "`replace` alone: a second blocking card takes the slot",
    }
)
"""The sides of a choice that the reference takes too; somebody else takes the other side, or takes this one alone."""
