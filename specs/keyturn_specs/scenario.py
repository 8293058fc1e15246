"""Scenarios: the witnesses of the requirements, as language-neutral traces.

Each is one JSON file in `scenarios/`. Its steps name operations and params, with references to earlier answers; what is
admissible at each step is written by the model and a test fails when the two differ. Ids in `admissible` are the model's.
"""

import json
from functools import lru_cache
from importlib.resources import files
from typing import cast

from attrs import field, frozen

from keyturn.capabilities import Capability, Claims
from keyturn.errors import Unreadable
from keyturn.values import Json
from keyturn.wire import read, write


@frozen(kw_only=True)
class ScenarioStep:
    """One call of a scenario; `admissible` is every outcome that the model allows there.

    Calls one after the other that name a `lane` overlap: those of one lane follow each other, and those of different lanes run
    at the same moment. Then `admissible` is every outcome in any order of them.
    """

    operation: str
    params: dict[str, object] = field(factory=dict)
    label: str | None = None
    lane: int | None = None
    admissible: tuple[object, ...] = ()


@frozen(kw_only=True)
class Scenario:
    """A named trace, the requirements that it witnesses, and what a system must claim for it to run."""

    name: str
    says: str
    witnesses: tuple[str, ...]
    claims: tuple[Capability, ...]
    steps: tuple[ScenarioStep, ...]

    @property
    def needs(self) -> Claims:
        """The capabilities that the scenario needs."""
        return frozenset(self.claims)

    @property
    def is_race(self) -> bool:
        """Whether some of its calls overlap."""
        return any(each.lane is not None for each in self.steps)


def read_scenario(text: str, name: str) -> Scenario:
    """Read one scenario; raise `Unreadable` with every problem."""
    try:
        value = cast(Json, json.loads(text))
    except json.JSONDecodeError as error:
        raise Unreadable(name, (f"{error.lineno}:{error.colno}: {error.msg}",)) from None
    return read(Scenario, value, name)


def write_scenario(scenario: Scenario) -> str:
    """Return a scenario as its file holds it."""
    return json.dumps(write(scenario), indent=1, ensure_ascii=True) + "\n"


@lru_cache(maxsize=1)
def scenarios() -> tuple[Scenario, ...]:
    """Return every scenario that ships, in the order of the files' names."""
    folder = files("keyturn_specs") / "scenarios"
    found = sorted((each for each in folder.iterdir() if each.name.endswith(".json")), key=lambda each: each.name)
    return tuple(read_scenario(each.read_text("utf-8"), each.name) for each in found)
