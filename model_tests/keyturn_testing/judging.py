"""From a step that nothing explains to the requirements that it broke.

Invariants say in words what they saw. Branches are blamed where the model demanded another outcome, in the areas that the
requirement concerns. Effects come first, replies second (D4); in one step all broken ids are recorded, and the first by that
order is the primary one.
"""

from attrs import frozen

from keyturn.branches import Unheard
from keyturn.capabilities import Claims
from keyturn.handshake import Description
from keyturn.values import Json
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS, missing_claims
from keyturn_specs.observations import Moment, Observation, Race
from keyturn_specs.requirement import ByBranch, ByInvariant, ByRace, Family, Requirement
from keyturn_testing.linearising import Orders
from keyturn_testing.oracle import Difference, Explanation

UNATTRIBUTED = "unattributed"
"""Stands for a requirement where the model differs and no requirement of this version demands it."""


@frozen(kw_only=True)
class Broken:
    """One requirement that a step broke, and in words how."""

    requirement: str
    seen: str


@frozen(kw_only=True)
class Finding:
    """What one violating step showed: the broken requirements, the primary one first, and both sides of the step.

    `picture` draws how calls overlapped, a line each, where they did.
    """

    broken: tuple[Broken, ...]
    method: str
    differences: tuple[Difference, ...]
    moment: Moment
    answered: object
    admissible: tuple[Json, ...]
    picture: tuple[str, ...] = ()

    @property
    def primary(self) -> str:
        """The id that is blamed first."""
        return self.broken[0].requirement

    @property
    def signature(self) -> tuple[str, str]:
        """What a shrunk trace must still show: the primary requirement and the operation that broke it."""
        return self.primary, self.method

    def covers(self, other: "Finding") -> bool:
        """Whether this finding shows the same signature, and every requirement that the other one found broken."""
        mine, theirs = ({each.requirement for each in found.broken} for found in (self, other))
        return self.signature == other.signature and theirs <= mine


class Violation(Exception):
    """A step that the contract does not admit; each requirement has its own class, so that failures stay apart (D11)."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.primary}: {finding.broken[0].seen}")
        self.finding = finding


class NotJudged(Exception):
    """A step that only an un-claimed requirement refuses: the example ends here and nobody is blamed."""

    def __init__(self, requirements: tuple[str, ...]) -> None:
        super().__init__(", ".join(requirements))
        self.requirements = requirements


class Undecided(NotJudged):
    """A race with more orders than are looked at: it is unknown whether one of them explains it."""

    def __init__(self) -> None:
        super().__init__(())


_CLASSES: dict[str, type[Violation]] = {}


def violation(finding: Finding) -> Violation:
    """Return the violation of a finding, of the class of its primary requirement."""
    if finding.primary not in _CLASSES:
        name = "ViolationOf" + finding.primary.replace(".", "_")
        _CLASSES[finding.primary] = type(name, (Violation,), {"__doc__": f"A violation of {finding.primary}."})
    return _CLASSES[finding.primary](finding)


def judged_requirements(description: Description, claims: Claims) -> tuple[Requirement, ...]:
    """Return the requirements that a system with this handshake is held to."""
    return tuple(
        each for each in REQUIREMENTS if not missing_claims(each, claims) and each.id not in description.not_claimed
    )


def broken_by(seen: Observation, explanation: Explanation, requirements: tuple[Requirement, ...]) -> tuple[Broken, ...]:
    """Return what a step broke; empty when it holds. Raise `NotJudged` when only an un-claimed requirement refuses it."""
    found = _by_invariants(seen, requirements)
    if explanation.hypotheses:
        return _worst_first(found)
    because = explanation.moment.branch.because
    demanded = [each for each in requirements if isinstance(each.judged_by, ByBranch) and each.id in because]
    areas = {each.area for each in explanation.differences}
    concerned = [each for each in demanded if isinstance(each.judged_by, ByBranch) and each.judged_by.concerns & areas]
    words = in_words(explanation.differences)
    blamed = concerned or ([] if any(map(_is_of_the_deed, found)) else demanded)
    found += [Broken(requirement=each.id, seen=words) for each in blamed]
    return _worst_first(found) if found else (_unattributed(because, requirements, words),)


def broken_by_race(
    seen: Observation, race: Race, orders: Orders, requirements: tuple[Requirement, ...]
) -> tuple[Broken, ...]:
    """Return what a race broke; empty when an order of its calls explains it. Raise `NotJudged` as `broken_by` does.

    What is about such races is blamed first; what the model demanded of one of the calls only where nothing else is.
    """
    found = _by_invariants(seen, requirements, of_many=True)
    if orders.hypotheses:
        return _worst_first(found)
    said = f"no order of the calls explains what was answered: {in_words(orders.differences)}"
    races = [
        Broken(requirement=each.id, seen=said)
        for each in requirements
        if isinstance(each.judged_by, ByRace) and each.judged_by.about(race)
    ]
    if races or any(map(_is_of_the_deed, found)):
        return (*races, *_worst_first(found))
    because = frozenset[str]() if orders.moment is None else orders.moment.branch.because
    # Also what an invariant judges elsewhere: of one call among others nothing else can be said.
    found += [Broken(requirement=each.id, seen=said) for each in requirements if each.id in because]
    return _worst_first(found) if found else (_unattributed(because, requirements, said),)


def _by_invariants(seen: Observation, requirements: tuple[Requirement, ...], *, of_many: bool = False) -> list[Broken]:
    """Return what the invariants find broken; of several calls at once only those that can be asked of them."""
    return [
        Broken(requirement=each.id, seen=words)
        for each in requirements
        if isinstance(each.judged_by, ByInvariant)
        and (each.judged_by.of_many or not of_many)
        and (words := each.judged_by.broken(seen)) is not None
    ]


def _unattributed(because: frozenset[str], requirements: tuple[Requirement, ...], said: str) -> Broken:
    """Return what is broken where no requirement is to blame; raise `NotJudged` where one is that is not claimed."""
    judged = {each.id for each in requirements}
    unclaimed = tuple(sorted(each for each in because if each in BY_ID and each not in judged))
    if unclaimed:
        raise NotJudged(unclaimed)
    return Broken(requirement=UNATTRIBUTED, seen=said)


def _worst_first(found: list[Broken]) -> tuple[Broken, ...]:
    """Blame the trail of evidence last: where a card went wrong its ledger and its counters are wrong as well."""
    return tuple(sorted(found, key=_is_of_the_deed, reverse=True))


def _is_of_the_deed(broken: Broken) -> bool:
    return BY_ID[broken.requirement].family is not Family.EVIDENCE


def in_words(differences: tuple[Difference, ...]) -> str:
    """Return the worst differences in one line; what a list shows is said only where nothing else differs."""
    told = [each for each in differences if each.mismatch.path[0] != "list"] or differences
    shown = [
        f"{'.'.join(each.mismatch.path)} is {brief(each.mismatch.seen)} and should be {brief(each.mismatch.expected)}"
        for each in told[:3]
    ]
    more = len(told) - len(shown)
    return "; ".join(shown) + (f"; and {more} more differences" if more else "")


def brief(value: object) -> str:
    """Return a value in a few escaped words: whatever a system sent is hostile (D12)."""
    if isinstance(value, str):
        return value if value.isidentifier() else ascii(str(value))[:80]
    if isinstance(value, Unheard):
        return f"no answer ({value.fault})"
    outcome = getattr(type(value), "outcome", None)
    code = getattr(value, "code", None)
    if isinstance(outcome, str):
        return f"{outcome} ({code})" if code is not None else outcome
    return "nothing" if value is None else ascii(value)[:80]
