"""Scenarios: each file reads, says what it shows, and together they witness every requirement."""

import json
from importlib.resources import files
from pathlib import PurePath

import pytest
from attrs import evolve

from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.errors import Unreadable
from keyturn.operations import BY_METHOD
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_specs.scenario import Scenario, ScenarioStep, read_scenario, scenarios, write_scenario

NAMES = sorted(each.name for each in (files("keyturn_specs") / "scenarios").iterdir() if each.name.endswith(".json"))
SMALL = Scenario(
    name="small",
    says="Nothing \u00e9lse.",
    witnesses=("L2",),
    claims=(Capability.CARDS, Capability.LIST),
    steps=(
        ScenarioStep(
            operation="case.open", params={"account": "a", "deep": [None]}, label="open", admissible=({"x": 1},)
        ),
        ScenarioStep(operation="restart"),
    ),
)


class TestReading:
    """A scenario is a trace as language-neutral JSON."""

    def test_what_is_written_reads_back(self) -> None:
        """Whatever its params and answers hold."""
        text = write_scenario(SMALL)
        assert read_scenario(text, "small") == SMALL
        assert text.isascii()
        assert text.endswith("}\n")

    def test_what_is_left_out_is_empty(self) -> None:
        """A step needs an operation, and nothing else."""
        assert json.loads(write_scenario(SMALL))["steps"][1] == {"operation": "restart"}
        assert SMALL.needs == {Capability.CARDS, Capability.LIST}

    def test_all_problems_are_named(self) -> None:
        """With their paths, in the name of the file."""
        wrong = {
            "name": 1,
            "witnesses": [],
            "claims": ["cards", "magic"],
            "steps": [{"label": "x"}, {"operation": "restart", "params": []}],
        }
        with pytest.raises(Unreadable, match=r"^wrong\.json cannot be read: ") as raised:
            read_scenario(json.dumps(wrong), "wrong.json")
        assert [problem.rpartition(" @ ")[2] for problem in raised.value.problems] == [
            "wrong.json.name",
            "wrong.json.says",
            "wrong.json.claims[1]",
            "wrong.json.steps[0].operation",
            "wrong.json.steps[1].params",
        ]

    @pytest.mark.parametrize("text", ["[]", "1", "null"])
    def test_a_scenario_is_an_object(self, text: str) -> None:
        """Any other JSON is one problem."""
        with pytest.raises(Unreadable, match="expected an object"):
            read_scenario(text, "x")

    def test_what_is_no_json_is_unreadable(self) -> None:
        """Every problem of a file is said in the same way."""
        with pytest.raises(Unreadable):
            read_scenario("{", "x")


class TestFiles:
    """A failure that is worth keeping becomes a scenario; a system that says another answer than its own is found by it."""

    def test_every_file_reads_once(self) -> None:
        """In the order of their names."""
        assert [f"{each.name}.json" for each in scenarios()] == NAMES
        assert scenarios() is scenarios()

    @pytest.mark.parametrize("name", NAMES)
    def test_a_file_is_as_it_is_written(self, name: str) -> None:
        """Byte for byte, so that writing it again changes nothing."""
        text = (files("keyturn_specs") / "scenarios" / name).read_text("utf-8")
        scenario = read_scenario(text, name)
        assert scenario.name == PurePath(name).stem
        assert write_scenario(scenario) == text

    @pytest.mark.parametrize("scenario", scenarios(), ids=lambda each: each.name)
    def test_a_scenario_can_be_run(self, scenario: Scenario) -> None:
        """It says in a sentence what it shows, and asks for operations that there are, with answers to each."""
        assert scenario.says.endswith(".")
        assert scenario.steps
        assert {each.operation for each in scenario.steps} <= set(BY_METHOD)
        assert all(each.admissible for each in scenario.steps)
        labels = [each.label for each in scenario.steps if each.label is not None]
        assert len(labels) == len(set(labels))

    @pytest.mark.parametrize("scenario", scenarios(), ids=lambda each: each.name)
    def test_a_scenario_claims_what_it_needs(self, scenario: Scenario) -> None:
        """They suffice for its operations and for the requirements that it witnesses."""
        for witnessed in scenario.witnesses:
            assert BY_ID[witnessed].needs <= scenario.needs
        assert {BY_METHOD[each.operation].needs for each in scenario.steps} <= scenario.needs <= ALL_CLAIMS
        assert evolve(scenario, claims=()).needs == set()

    @pytest.mark.skipif(not NAMES, reason="no scenario ships")
    @pytest.mark.parametrize("requirement", [each.id for each in REQUIREMENTS])
    def test_every_requirement_has_a_witness(self, requirement: str) -> None:
        """Every requirement has at least one scenario that exercises it."""
        assert [each.name for each in scenarios() if requirement in each.witnesses]
