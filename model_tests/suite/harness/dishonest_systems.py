"""Systems that would like to be called sound without being it; copied to where the command runs.

Some are dishonest from the first call, and some only when the smoke test is over: it resets once, and each example once more.
"""

import time
from typing import Any

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.errors import Unsupported
from keyturn.handshake import describe
from keyturn.responses import RefusalCode, Rejected
from keyturn.store import ReferenceStore, State, heard, possibilities
from keyturn.values import Json
from keyturn.world import World

Answer = dict[str, Json]

READS = (ops.CardGet, ops.CardList, ops.ReadEffects, ops.ReadLedger, ops.ReadMetrics)
REFUSED = Rejected(code=RefusalCode.MALFORMED)


class AfterSmoke(ReferenceStore):
    """Is the reference until the smoke test is over, and then what its subclass makes of it."""

    resets = 0

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation, honestly or not."""
        self.resets += isinstance(operation, ops.Reset)
        return super().perform(operation) if self.resets < 2 else self.pretend(operation)

    def pretend(self, operation: ops.Operation) -> Outcome:
        """Perform one operation dishonestly."""
        raise NotImplementedError


class RefusesFromTheStart(ReferenceStore):
    """Refuses everything that can be refused, and is never wrong."""

    def perform(self, operation: ops.Operation) -> Outcome:
        """Refuse."""
        return REFUSED if Rejected in operation.results else super().perform(operation)


class RefusesEveryAnswer(AfterSmoke):
    """Presents every card, and refuses every answer to it: nothing can go wrong."""

    def pretend(self, operation: ops.Operation) -> Outcome:
        """Refuse what would decide anything."""
        refuses = isinstance(operation, ops.CardRespond | ops.CardDismiss)
        return REFUSED if refuses else super(AfterSmoke, self).perform(operation)


class RefusesEveryAnswerAtOnce(RefusesEveryAnswer):
    """The same, for whoever does not take the smoke test first."""

    resets = 1


class OnlyCards(ReferenceStore):
    """Does everything, and claims nothing but cards."""

    def __init__(self) -> None:
        super().__init__(frozenset({Capability.CARDS}))


class SaysNothing:
    """Claims everything and does nothing, successfully."""

    def describe(self) -> Answer:
        """Claim everything."""
        return describe("says-nothing", "1", ALL_CLAIMS)

    def __getattr__(self, name: str) -> Any:
        """Answer anything with nothing."""
        return lambda **asked: {}


class SaysNothingLater(ReferenceStore):
    """Claims everything, passes the smoke test, and does nothing from then on."""

    resets = 0

    def _call(self, method: str, params: Any) -> Answer:
        self.resets += method == "reset"
        return super()._call(method, params) if self.resets < 2 else {}


class StoresNothing(AfterSmoke):
    """Answers every change with success, from a memory that no read ever sees."""

    def pretend(self, operation: ops.Operation) -> Outcome:
        """Read from a store that has cases and nothing else."""
        if not isinstance(operation, READS):
            return super(AfterSmoke, self).perform(operation)
        world = self.state.world
        opened = State(World(now=world.now, cases=world.cases))
        return heard(possibilities(opened, operation, self.claims)[0].branch)


class ReadsTheFirst(AfterSmoke):
    """Changes what it is asked to change, and reads to everybody what it read at first."""

    first: dict[ops.Operation, Outcome]

    def pretend(self, operation: ops.Operation) -> Outcome:
        """Read what was read first in this example."""
        if isinstance(operation, ops.Reset):
            self.first = {}
        outcome = super(AfterSmoke, self).perform(operation)
        return self.first.setdefault(operation, outcome) if isinstance(operation, READS) else outcome


class ReadsTheFirstCards(ReadsTheFirst):
    """The same, with nothing to read but cards, lists and effects."""

    def __init__(self) -> None:
        super().__init__(ALL_CLAIMS - {Capability.LEDGER, Capability.METRICS})


class FallsSilent(AfterSmoke):
    """Answers no more as soon as it is really asked."""

    def pretend(self, operation: ops.Operation) -> Outcome:
        """Hang at the first answer."""
        if isinstance(operation, ops.CardRespond):
            time.sleep(600)
        return super(AfterSmoke, self).perform(operation)


class WithdrawsItsOffer(AfterSmoke):
    """Claims a ledger, and has none any more when it is really asked."""

    def pretend(self, operation: ops.Operation) -> Outcome:
        """Not offer what is claimed."""
        if isinstance(operation, ops.ReadLedger):
            raise Unsupported
        return super(AfterSmoke, self).perform(operation)
