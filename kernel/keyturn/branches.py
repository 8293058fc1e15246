"""One admissible thing that may happen, as a value.

A branch is an outcome, the world after it, what happened on the way, and the ids of the requirements that demand it. Rules
build branches from an unfolding; nothing else does. An answer that nobody hears is an outcome too: of it only the world tells.
"""

from typing import TypeAlias

from attrs import frozen

from keyturn import operations as ops
from keyturn import responses as res
from keyturn.faults import FaultKind
from keyturn.world import Unfolding, World

Outcome: TypeAlias = (
    res.Presented
    | res.Found
    | res.Accepted
    | res.InFlight
    | res.Resolved
    | res.Declined
    | res.Dismissed
    | res.Replayed
    | res.Failed
    | res.Restored
    | res.Rejected
    | ops.Done
    | ops.CaseOpened
    | ops.CaseEdited
    | ops.CardsInvalidated
    | ops.Cards
    | ops.CardsExpired
    | ops.ClockAdvanced
    | ops.Effects
    | ops.Ledger
    | ops.Metrics
    | ops.Exported
)
"""Everything that an operation can answer."""


@frozen
class Unheard:
    """The reply was lost, or the process ended (JSON-RPC -32000, not definite, or nothing at all).

    `answer` is what nobody heard, and nothing where the process ended before anything was done.
    """

    fault: FaultKind
    answer: Outcome | None


@frozen
class Branch:
    """An outcome, the world that it leads to, what happened, and the requirements that demand it."""

    outcome: Outcome | Unheard
    world: World
    happened: tuple[ops.LedgerEntry | ops.Effect, ...]
    because: frozenset[str]


def branch(unfolding: Unfolding, outcome: Outcome | Unheard, *because: str) -> Branch:
    """Return the branch that ends an unfolding with an outcome."""
    return Branch(outcome, unfolding.world, unfolding.happened, frozenset(because))


def refuse(unfolding: Unfolding, code: res.RefusalCode, *because: str) -> Branch:
    """Return the branch that refuses; A2 demands that its code names a check that really fails."""
    return branch(unfolding, res.Rejected(code=code), "A2", *because)
