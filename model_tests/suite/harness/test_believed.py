"""Every requirement is believed only because of what it catches: a witness that exercises it, a mutant that it kills."""

import os

import pytest

from keyturn.capabilities import ALL_CLAIMS
from keyturn.operations import BY_METHOD, CaseOpen
from keyturn.store import ReferenceStore
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_specs.requirement import ByRace
from keyturn_specs.scenario import Scenario, scenarios
from keyturn_testing.mutants import MUTANTS, Mutant, mutant_factory
from keyturn_testing.mutants.durable import ALL_MUTANTS
from keyturn_testing.record import Profile
from keyturn_testing.scenario_source import exercised_by, with_admissible
from keyturn_testing.traces import Step

from .systems import QUICK, exercised, held

SEEDS = range(int(os.environ.get("KEYTURN_SEEDS", "2")))
"""The seeds of every run of the tests; the session `mutants` takes twenty."""

TRIES = range(4)
"""The seeds of which one at least must find what the generator looks for alone."""

FEW = Profile(name="few", examples=3, steps=25)
"""A budget that is enough to see that nothing is distorted."""

by_name = pytest.mark.parametrize("mutant", MUTANTS.values(), ids=lambda mutant: mutant.name)


def _changes(step: Step) -> bool:
    operation = BY_METHOD[step.calls[0].operation]
    return operation.changes and operation is not CaseOpen


class TestWitnesses:
    """Every requirement has at least one scenario that exercises it."""

    @pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
    def test_a_scenario_exercises_what_it_says(self, scenario: Scenario) -> None:
        """A scenario's steps really meet the antecedent of each requirement that it witnesses."""
        counts = exercised_by(scenario)
        assert [each for each in scenario.witnesses if not counts.get(each)] == []

    @pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)
    def test_a_scenario_is_not_stale(self, scenario: Scenario) -> None:
        """What a scenario calls admissible is what the model writes."""
        assert with_admissible(scenario) == scenario

    def test_every_requirement_has_a_witness(self) -> None:
        """No requirement is without a scenario."""
        witnessed = {each for scenario in scenarios() for each in scenario.witnesses}
        assert witnessed == set(BY_ID)


class TestMutants:
    """Every requirement kills at least one mutant, by its id, and no mutant when it is disarmed."""

    def test_every_requirement_has_a_mutant(self) -> None:
        """No requirement is without a mutant, and no mutant breaks what there is not."""
        assert {each for mutant in ALL_MUTANTS.values() for each in mutant.breaks} == set(BY_ID)

    @by_name
    @pytest.mark.parametrize("seed", SEEDS)
    def test_an_armed_mutant_dies_by_its_id(self, mutant: Mutant, seed: int) -> None:
        """A run with `quick` finds the fault, and blames it rightly."""
        record = held(mutant_factory(mutant.name, True), seed=seed, profile=QUICK, until=mutant.breaks)
        assert set(mutant.breaks) <= set(record.failed)
        assert record.breakdown is None

    @by_name
    def test_the_scenarios_find_it_too(self, mutant: Mutant) -> None:
        """The witnesses alone find the fault, whatever the generator draws."""
        record = held(mutant_factory(mutant.name, True), engines=("scenarios",), until=mutant.breaks)
        assert set(mutant.breaks) <= set(record.failed)

    @by_name
    def test_the_generator_finds_it_alone(self, mutant: Mutant) -> None:
        """Generated steps alone find the fault in one of a few runs with `quick`, and blame it rightly."""
        for seed in TRIES:
            make = mutant_factory(mutant.name, True)
            record = held(make, seed=seed, profile=QUICK, engines=("stateful",), until=mutant.breaks)
            assert record.breakdown is None
            if set(mutant.breaks) <= set(record.failed):
                return
        pytest.fail(f"{mutant.name} lived through {len(TRIES)} runs")

    @by_name
    def test_its_traces_are_short(self, mutant: Mutant) -> None:
        """A shrunk trace of a mutant has at most six steps that change anything, opening the case aside."""
        record = held(mutant_factory(mutant.name, True), engines=("stateful",))
        lengths = [sum(map(_changes, each.trace.steps)) for each in record.failures]
        assert [each for each in lengths if each > 6] == []

    @by_name
    def test_a_disarmed_mutant_is_the_reference(self, mutant: Mutant) -> None:
        """Disarmed it describes itself like the reference and holds."""
        store = mutant_factory(mutant.name, False)()
        assert store.describe() == ReferenceStore().describe()
        assert held(mutant_factory(mutant.name, False), profile=FEW).failures == []


class TestTheReference:
    """The reference store holds everything that this version judges."""

    @pytest.mark.parametrize("seed", SEEDS)
    def test_it_holds_and_everything_was_exercised(self, seed: int) -> None:
        """No requirement fails, and none of them passes vacuously, with the stateful engine alone; races are another's."""
        record = held(ReferenceStore, seed=seed, profile=QUICK, engines=("stateful",))
        assert record.failures == []
        assert [each.id for each in record.requirements if not exercised(record).get(each.id)] == []
        left_out = [each for each in REQUIREMENTS if each not in record.requirements]
        assert all(isinstance(each.judged_by, ByRace) for each in left_out)
        assert record.claims == ALL_CLAIMS
