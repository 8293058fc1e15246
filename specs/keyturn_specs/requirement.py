"""A requirement as a value: its sentence, why it matters, when it applies, and its one judge.

A requirement is judged in exactly one place. Either a *branch* of the model demands it, and a system that did something
else is blamed with it; or an *invariant*, a pure function of what was observed, finds it broken without any model; or it is
about a *race*, calls that overlapped, and is broken when no order of them explains what was answered and can be read.
`applies` is its antecedent: it counts how often a run exercised the requirement, and masks it after a failure.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeAlias

from attrs import frozen

from keyturn.capabilities import Capability, Claims
from keyturn_specs.observations import Moment, Observation, Race


class Family(StrEnum):
    """The families of requirements, by the first part of their ids, with their short names for people."""

    LIFECYCLE = "L"
    ONE_QUESTION = "I5"
    STORED_FIRST = "I6"
    SERVERS_MEANING = "I7"
    FRESH = "I13"
    ONCE = "I14"
    CLOSED = "I19"
    ANSWERED = "A"
    EVIDENCE = "E"


class Area(StrEnum):
    """Where a system differed from the model; earlier areas are blamed first: effects decide, replies second (D4)."""

    EFFECTS = "effects"
    STATUS = "status"
    REPLY = "reply"
    CODE = "code"
    REVISION = "revision"
    CARD = "card"
    LEDGER = "ledger"
    METRICS = "metrics"


Antecedent: TypeAlias = Callable[[Moment], bool]
Invariant: TypeAlias = Callable[[Observation], str | None]


@frozen
class ByBranch:
    """Judged by the model: blamed when a branch demands it and the system differs in one of these areas."""

    concerns: frozenset[Area] = frozenset({Area.REPLY, Area.STATUS})


@frozen
class ByInvariant:
    """Judged by a pure function of an observation, which says in words what is broken, or nothing.

    `of_many` says that it asks nothing of the operation, so that it can be judged of several that overlapped as well.
    """

    broken: Invariant
    of_many: bool = False


@frozen
class ByRace:
    """Judged by the orders of calls that overlapped: of the races that it is about, one must explain everything."""

    about: Callable[[Race], bool]


@frozen(kw_only=True)
class Requirement:
    """One statement of the contract; `needs` are the capabilities without which it is not claimed."""

    id: str
    family: Family
    says: str
    why: str
    source: str
    needs: Claims = frozenset({Capability.CARDS})
    applies: Antecedent
    judged_by: ByBranch | ByInvariant | ByRace


def demanded(requirement_id: str) -> Antecedent:
    """The antecedent of a requirement that exactly its own branches exercise."""
    return lambda moment: requirement_id in moment.branch.because


def by_no_single_call(moment: Moment) -> bool:
    """The antecedent of a requirement that is about races alone: no call by itself exercises it."""
    return False
