"""How a run goes: it is reproducible, goes on after a failure, and says what stayed out of reach."""

from collections.abc import Callable, Mapping

import pytest

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.handshake import Offers
from keyturn.store import ReferenceStore
from keyturn.values import Json
from keyturn_specs.catalogue import BY_ID
from keyturn_specs.scenario import scenarios
from keyturn_testing.engines.scenarios import claimed_scenarios
from keyturn_testing.mutants import MUTANTS, MutantStore, mutant_factory
from keyturn_testing.record import claimable
from keyturn_testing.replaying import replay
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.traces import Step

from .systems import SHORT, described, exercised, held

C = Capability


class EverySecondClickDoubles(MutantStore):
    """A system with one very frequent fault: every second answer to a resolved card runs its command again."""

    def __init__(self) -> None:
        super().__init__(MUTANTS["double-click-pays-twice"], armed=False)
        self.clicks = 0

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation; arm the fault for every second answer."""
        self.clicks += isinstance(operation, ops.CardRespond)
        self.armed = self.clicks % 2 == 0
        return super().perform(operation)


class TestReproducible:
    """D10: the same seed against the same system gives the same run; another seed another one."""

    def test_the_same_seed_gives_the_same_run(self) -> None:
        """Counts, digests and failures are equal, to the last trace."""
        first, second = (held(mutant_factory("stranger-answers", True), seed=7) for _ in range(2))
        assert first.digest == second.digest
        assert first.counts == second.counts
        assert [each.trace for each in first.failures] == [each.trace for each in second.failures]

    def test_ten_seeds_give_ten_different_sets_of_traces(self) -> None:
        """What is generated differs from seed to seed."""
        digests = {held(ReferenceStore, seed=seed, engines=("stateful",)).digest for seed in range(10)}
        assert len(digests) == 10


class TestGoingOn:
    """D5: after a failure the run goes on with steps that avoid the failed requirement's antecedent."""

    def test_one_frequent_fault_leaves_the_others_judged(self) -> None:
        """The doubling click is named, and every other requirement still gets its verdict."""
        record = held(EverySecondClickDoubles)
        assert set(record.failed) == {"I14.1"}
        assert [each.id for each in record.requirements if not exercised(record).get(each.id)] == []

    def test_the_budget_is_spent_in_examples(self) -> None:
        """A failing run makes as many examples as a passing one, up to the batch that a failure cuts short."""
        assert held(mutant_factory("double-click-pays-twice", True)).examples >= SHORT.examples


class TestReplaying:
    """A recorded trace is judged afresh."""

    @pytest.mark.parametrize("name", MUTANTS)
    def test_a_trace_shows_the_same_on_its_system_and_nothing_on_the_reference(self, name: str) -> None:
        """Replay with the recorded answers blanked breaks the same requirement, and none on the reference."""
        for failure in held(mutant_factory(name, True)).failures:
            steps = failure.trace.blanked().steps
            assert shown(mutant_factory(name, True), steps) == failure.finding.signature
            assert shown(ReferenceStore, steps) is None


def shown(make: Callable[[], object], steps: tuple[Step, ...]) -> tuple[str, str] | None:
    """Replay steps on a system and return the signature of what they show."""
    system = InProcessSystem(make)
    try:
        _, claims = described(system)
        finding = replay(system, claims, tuple(BY_ID.values()), steps).finding
        return None if finding is None else finding.signature
    finally:
        system.close()


SUBSETS: Mapping[str, Claims] = {
    "only cards": frozenset({C.CARDS}),
    "at once": ALL_CLAIMS - {C.DEFERRED},
    "no revisions": ALL_CLAIMS - {C.REVISIONS, C.INDEPENDENT},
    "no blocking": ALL_CLAIMS - {C.BLOCKING, C.REFUSE, C.REPLACE},
    "no replacement": ALL_CLAIMS - {C.REPLACE},
    "only replacement": ALL_CLAIMS - {C.REFUSE},
    "no owners": ALL_CLAIMS - {C.OWNERS},
    "no codes": ALL_CLAIMS - {C.CODED_REFUSALS, C.ORDERED_CHECKS},
    "any order": ALL_CLAIMS - {C.ORDERED_CHECKS},
    "no ledger, no lists": ALL_CLAIMS - {C.LEDGER, C.LIST},
    "no replay": ALL_CLAIMS - {C.REPLAY},
    "no clock, no text": ALL_CLAIMS - {C.CLOCK, C.FREEFORM},
    "no restart": ALL_CLAIMS - {C.RESTART},
}


class TestClaims:
    """What is not claimed is never judged, and what is claimed always is."""

    @pytest.mark.parametrize("claims", SUBSETS.values(), ids=SUBSETS)
    def test_a_sound_system_holds_whatever_it_claims(self, claims: Claims) -> None:
        """The reference with fewer claims holds, and every requirement that is left was exercised."""
        record = held(lambda: ReferenceStore(claims))
        assert record.failures == []
        assert [each.id for each in record.requirements if not exercised(record).get(each.id)] == []

    def test_what_is_not_claimed_has_a_reason(self) -> None:
        """A requirement without its capability says which capability is missing."""
        record = held(lambda: ReferenceStore(SUBSETS["no replay"]))
        reason = claimable(BY_ID["I14.2"], record.description, record.claims)
        assert reason == "the system does not claim `replay`"

    def test_one_requirement_can_be_un_claimed(self) -> None:
        """An un-claimed requirement is neither judged nor blamed, and its reason is shown."""

        class Unclaiming(MutantStore):
            def describe(self) -> dict[str, Json]:
                return {**super().describe(), "not_claimed": {"I19.1": "strangers are kept out elsewhere"}}

        record = held(lambda: Unclaiming(MUTANTS["stranger-answers"]))
        assert "I19.1" not in record.failed
        assert claimable(BY_ID["I19.1"], record.description, record.claims) == "strangers are kept out elsewhere"

    def test_scenarios_stay_within_what_is_offered(self) -> None:
        """A system that offers two actions and one kind is presented no card with another."""
        offered = Offers(kinds=("confirm_command",), actions=("apply_operation", "decline"))
        names = {each.name for each in claimed_scenarios(ALL_CLAIMS, offered)}
        assert "a-double-click" in names
        assert names.isdisjoint(
            {"a-recorded-decline-runs-its-record", "every-class-of-answer", "two-commands-together"}
        )
        every = [each.name for races in (False, True) for each in claimed_scenarios(ALL_CLAIMS, Offers(), races=races)]
        assert sorted(every) == sorted(each.name for each in scenarios())
