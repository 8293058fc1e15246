"""What a run is and what it has found: its budget, its failures, and the record that reports are made from."""

from collections.abc import Callable, Mapping

from attrs import evolve, field, frozen, mutable

from keyturn.capabilities import Claims
from keyturn.handshake import Description
from keyturn_specs.catalogue import missing_claims
from keyturn_specs.goals import Goal
from keyturn_specs.requirement import Requirement
from keyturn_testing.drawing import presentable_kinds
from keyturn_testing.driver import Counts
from keyturn_testing.engines.crashes import Kills
from keyturn_testing.engines.races import Tally
from keyturn_testing.judging import Finding
from keyturn_testing.systems.base import Breakdown
from keyturn_testing.traces import Trace
from keyturn_testing.tries import Terms


@frozen(kw_only=True)
class Profile:
    """A budget: how many examples the stateful engine makes and how many steps each has, and the same for races.

    `repetitions` is how often each race that ships is taken, and `races` how many more are generated; `crashes` is how often
    the process ends.
    """

    name: str
    examples: int
    steps: int
    repetitions: int = 6
    races: int = 20
    crashes: int = 20


PROFILES: Mapping[str, Profile] = {
    each.name: each
    for each in (
        Profile(name="quick", examples=80, steps=30),
        Profile(name="standard", examples=300, steps=40, repetitions=20, races=80, crashes=120),
        Profile(name="deep", examples=3000, steps=60, repetitions=100, races=800, crashes=500),
    )
}
"""The budgets that a run can have."""


def smaller(profile: Profile, examples: int | None, steps: int | None) -> Profile:
    """Return a budget cut to so many examples of so many steps, and to no more generated races and crashes than examples.

    The races that ship are taken as often as ever: one that never overlaps exercises nothing.
    """
    if examples is not None:
        races, crashes = min(examples, profile.races), min(examples, profile.crashes)
        profile = evolve(profile, examples=examples, races=races, crashes=crashes)
    return profile if steps is None else evolve(profile, steps=steps)


@frozen(kw_only=True)
class Failure:
    """One failure: what broke, the shrunk trace that shows it, and where it came from."""

    finding: Finding
    trace: Trace
    found_by: str


@mutable
class Record:
    """What a run has found so far; a report is made from it, also when the run was cut short.

    `last` is the example that a breakdown ended; `known` and `flaky` are the reasons of the known failures and of what is
    flaky, by requirement. `races` are the races that were taken, in their order, and `kills` how often the process ended.
    `toured` says that the cover engine was asked; `elsewhere` are the cells of which a step of the tour met another one, because
    the system had used a freedom that the text leaves it.
    """

    description: Description
    claims: Claims
    requirements: tuple[Requirement, ...]
    seed: int
    profile: Profile
    counts: Counts = field(factory=Counts)
    failures: list[Failure] = field(factory=list)
    breakdown: Breakdown | None = None
    last: Trace | None = None
    known: Mapping[str, str] = field(factory=dict)
    flaky: Mapping[str, str] = field(factory=dict)
    interrupted: bool = False
    examples: int = 0
    digest: str = ""
    toured: bool = False
    elsewhere: set[Goal] = field(factory=set)
    races: list[Tally] = field(factory=list)
    kills: Kills = field(factory=Kills)

    @property
    def terms(self) -> Terms:
        """What the system can be asked: what it claims, and what its cards can have."""
        offered = self.description.offers.actions
        actions = None if offered is None else frozenset(offered)
        kinds = presentable_kinds(self.description.offered_kinds(), self.claims, actions)
        return Terms(claims=self.claims, kinds=kinds, actions=actions)

    @property
    def failed(self) -> dict[str, list[Failure]]:
        """The failures by the ids that they broke."""
        found: dict[str, list[Failure]] = {}
        for failure in self.failures:
            for each in failure.finding.broken:
                found.setdefault(each.requirement, []).append(failure)
        return found


Progress = Callable[[Record, str], None]
"""Is told what a run is doing."""


def claimable(requirement: Requirement, description: Description, claims: Claims) -> str | None:
    """Return why a requirement is not judged, in words, or nothing when it is."""
    missing = missing_claims(requirement, claims)
    if missing:
        return "the system does not claim " + ", ".join(f"`{each}`" for each in sorted(missing))
    return description.not_claimed.get(requirement.id)
