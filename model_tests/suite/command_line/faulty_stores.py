"""Stores that go wrong in the ways that the command line must tell apart; copied to where the command runs."""

import os
import sys
import time
from pathlib import Path

from attrs import evolve

from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.operations import CardRespond, CaseOpen, Operation
from keyturn.responses import Replayed
from keyturn.store import ReferenceStore, State
from keyturn.values import EffectId, Json


class PaysTwice(ReferenceStore):
    """Runs the command once more when a resolved card is answered again."""

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation, wrongly."""
        outcome = super().perform(operation)
        if isinstance(operation, CardRespond) and isinstance(outcome, Replayed) and outcome.result.effects:
            history = self.state.history
            again = evolve(history.effects[-1], id=EffectId(f"{history.effects[-1].id}-again"))
            self.state = State(self.state.world, evolve(history, effects=(*history.effects, again)))
        return outcome


class ClaimsLittle(ReferenceStore):
    """Does everything that it claims, and does not claim to hold back a second question."""

    def __init__(self) -> None:
        super().__init__(ALL_CLAIMS - {Capability.BLOCKING, Capability.REFUSE, Capability.REPLACE})


class Crashes(ReferenceStore):
    """Fails at the twentieth answer, with a message that attacks the terminal."""

    answers = 0

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation, or fail."""
        self.answers += isinstance(operation, CardRespond)
        if self.answers == 20:
            raise RuntimeError("\x1b[31mred\u202e")
        return super().perform(operation)


class Prints(ReferenceStore):
    """Writes to standard output, in both ways that there are."""

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation, noisily."""
        sys.stdout.write("noise\n")
        os.write(1, b"more noise\n")
        return super().perform(operation)


class IsNoTest(ReferenceStore):
    """Does not say that it may be wiped, and would tell when it was."""

    def describe(self) -> dict[str, Json]:
        """Say too little, and twice something wrong."""
        said = {**super().describe(), "claims": ["cards", "ledgr"], "not_claimed": {"I7.9": "it is hard"}}
        del said["environment"]
        return said

    def perform(self, operation: Operation) -> Outcome:
        """Tell that it was asked for more than its handshake."""
        Path("wiped").touch()
        return super().perform(operation)


class BreaksTheSuite(ReferenceStore):
    """Reaches into the suite and breaks it: what follows is no fault of a system."""

    def describe(self) -> dict[str, Json]:
        """Break the suite."""
        from keyturn_testing.running import Run

        def fail(_: Run) -> None:
            raise AssertionError("the suite is wrong")

        Run.run = fail  # type: ignore[method-assign, assignment]
        return super().describe()


class BreaksARequest(ReferenceStore):
    """Reaches into the suite and changes what it asks: a request that breaks its schema is no fault of a system."""

    def describe(self) -> dict[str, Json]:
        """Break every answer that the suite is about to give to a card."""
        from keyturn_testing.traces import Context

        resolve = Context.resolve

        def wrongly(context: Context, value: object) -> object:
            resolved = resolve(context, value)
            return {**resolved, "account": 5} if isinstance(resolved, dict) and "response" in resolved else resolved

        Context.resolve = wrongly  # type: ignore[method-assign, assignment]
        return super().describe()


class AnswersAnotherShape(ReferenceStore):
    """Answers the right things in the wrong shape, once it is asked in earnest."""

    calls = 0

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation; after the smoke test a revision is a text that attacks the terminal."""
        self.calls += 1
        outcome = super().perform(operation)
        return {"revision": "\x1b[31mred"} if self.calls > 60 and isinstance(operation, CaseOpen) else outcome  # type: ignore[return-value]


class Hangs(ReferenceStore):
    """Answers some calls, then says where it is and answers no more; served as a process of its own."""

    calls = 0

    def __init__(self) -> None:
        super().__init__(ALL_CLAIMS - {Capability.RESTART})

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation, or hang."""
        self.calls += 1
        if self.calls == 200:
            Path("hanging").write_text(str(os.getpid()), encoding="utf-8")
            time.sleep(600)
        return super().perform(operation)


if __name__ == "__main__":
    from keyturn_testing.serve import serve_stdio

    serve_stdio(Hangs(), sys.stdin.buffer, sys.stdout.buffer)
