"""Asking a system by hand: for tests that take their own steps, and want each of them judged.

A `SystemByHand` is an open system that has passed the smoke test. Each `start()` begins an example on it with `reset`; after
a breakdown the next one opens it anew. Its drivers judge every step, and what a step breaks is raised with its story.
"""

from itertools import count
from pathlib import Path

from keyturn.capabilities import Claims
from keyturn.handshake import Description
from keyturn.values import Json
from keyturn_specs.requirement import Requirement
from keyturn_testing.drawing import presentable_kinds
from keyturn_testing.driver import Driver
from keyturn_testing.judging import Finding, Violation, judged_requirements
from keyturn_testing.oracle import Explanation
from keyturn_testing.reports.page import page_for_files
from keyturn_testing.reports.text_report import show_story
from keyturn_testing.situation import Situation
from keyturn_testing.situation import situation as situation_of
from keyturn_testing.smoke import smoke
from keyturn_testing.systems.adapters import open_system
from keyturn_testing.systems.base import Breakdown, Schedule, System, Unusable
from keyturn_testing.traces import Call, Step


class JudgedDriver(Driver):
    """A driver that tells the story of what a step broke, as a note of the `Violation` that it raises."""

    def __init__(self, owner: "SystemByHand", system: System) -> None:
        self.owner = owner
        super().__init__(system, owner.claims, owner.requirements)

    def step(self, step: Step, schedule: Schedule = ()) -> Explanation:
        """Take one step and judge it; raise `Violation`, with the story of the example, when it breaks something."""
        try:
            return super().step(step, schedule)
        except Violation as found:
            found.add_note(self.story(found.finding))
            raise
        except Breakdown:
            self.owner.abandon()
            raise

    def ask(self, operation: str, /, **params: object) -> Json:
        """Take the step of one operation, judge it, and return what the system answered."""
        self.call(Call(operation=operation, params=params, label=f"s{len(self.steps) + 1}"))
        answered: Json = self.recorded[-1]  # type: ignore[assignment]  # what was decoded is JSON
        return answered

    def story(self, finding: Finding | None = None) -> str:
        """Return the steps of the example so far, and what the last one broke."""
        page = page_for_files()
        show_story(page, self.steps, self.recorded[1:], finding)
        return page.text()


class SystemByHand:
    """A system for tests that take their own steps; raises `Unusable` with every problem when it cannot be asked."""

    description: Description
    claims: Claims
    requirements: tuple[Requirement, ...]

    def __init__(self, adapter: str, folder: Path, time_limit: float) -> None:
        self.adapter, self.folder, self.time_limit = adapter, folder, time_limit
        self._numbers = count(1)
        self._system: System | None = None
        self._opened()

    def start(self) -> JudgedDriver:
        """Begin an example: everything in the system is forgotten, and the clock set."""
        try:
            return JudgedDriver(self, self._opened())
        except Breakdown:
            self.abandon()
            raise

    def situation(self, driver: Driver) -> Situation:
        """Return the situation of a driver, within what the system offers: what strategies draw from."""
        actions = self.description.offers.actions
        offered = None if actions is None else frozenset(actions)
        kinds = presentable_kinds(self.description.offered_kinds(), self.claims, offered)
        return situation_of(driver, kinds, offered)

    def abandon(self) -> None:
        """End the system; the next example opens it anew."""
        system, self._system = self._system, None
        if system is not None:
            system.close()

    def _opened(self) -> System:
        if self._system is None:
            self._system = open_system(
                self.adapter, data=self.folder / f"data-{next(self._numbers)}", time_limit=self.time_limit
            )
            try:
                found = smoke(self._system)
            except Breakdown as breakdown:
                self.abandon()
                raise Unusable(f"{breakdown.kind}: {breakdown.message}") from None
            if found.problems or found.description is None:
                self.abandon()
                raise Unusable(*found.problems)
            self.description, self.claims = found.description, found.claims
            self.requirements = judged_requirements(found.description, found.claims)
        return self._system
