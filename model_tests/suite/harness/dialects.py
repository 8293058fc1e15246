"""Four sound systems that stand on the kernel, and speak and choose as differently as the text allows.

Each takes another admissible branch than the reference wherever the text leaves a choice, and a dialect stands between it and
whoever asks: its own ids, its own hashes, revisions in jumps, and another form of the same answers. What is understood is
turned back before it is performed, so that the store behind a dialect knows nothing of it.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha512, shake_128
from typing import Any, ClassVar

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.errors import OperationFailed
from keyturn.responses import RefusalCode, Rejected, Replayed, Resolved
from keyturn.status import InteractionEvent
from keyturn.store import Possibility, ReferenceStore, heard, possibilities
from keyturn.values import LARGEST_INTEGER, Json

C = Capability

IDS = frozenset({"card", "command", "idempotency_key", "superseded_by", "current_card"})
REVISIONS = frozenset({"revision", "case_revision", "new_revision", "for_revision", "expected_case_revision"})
AS_IT_IS = frozenset({"payload", "action", "arguments", "options", "state"})


def happened(possibility: Possibility, event: InteractionEvent) -> int:
    """How many cards had this happen to them."""
    entries = (each for each in possibility.branch.happened if isinstance(each, ops.LedgerEntry))
    return sum(each.event is event for each in entries)


def refusal(possibility: Possibility) -> RefusalCode | None:
    """The code of a refusal, if it is one."""
    outcome = possibility.branch.outcome
    return outcome.code if isinstance(outcome, Rejected) else None


class Dialect(ReferenceStore):
    """A store with a choice of its own and a dialect of its own; every subclass fills in the two."""

    name: ClassVar[str]
    without: ClassVar[Claims]
    jump: ClassVar[int] = 1
    more: ClassVar[Mapping[str, Json]] = {}

    def __init__(self) -> None:
        super().__init__(ALL_CLAIMS - self.without)
        self.meant: dict[str, str] = {}

    def describe(self) -> dict[str, Json]:
        """Say what the reference says, under another name."""
        return {**super().describe(), "system": {"name": self.name, "version": "1"}, **self.more}

    # The choice.

    def choose(self, operation: ops.Operation, every: Sequence[Possibility]) -> Possibility:
        """Choose one of everything that is admissible."""
        return every[0]

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform one operation in the way that was chosen."""
        chosen = self.choose(operation, possibilities(self.state, operation, self.claims))
        self.state = chosen.state
        return heard(chosen.branch)

    # The dialect.

    def id_of(self, name: str) -> str:
        """What an id is in this dialect."""
        return name

    def hash_of(self, card: str, digest: str) -> str:
        """What a hash is in this dialect."""
        return digest

    def form(self, method: str, answer: dict[str, Any]) -> Mapping[str, Json]:
        """Give an answer its form."""
        return answer

    def _call(self, method: str, params: Mapping[str, object]) -> Any:
        answer = super()._call(method, self._understood(params))
        return self.form(method, self._spoken(answer, ""))

    def _named(self, name: str) -> str:
        spoken = self.id_of(name)
        self.meant[spoken] = name
        return spoken

    def _understood(self, params: Mapping[str, object]) -> dict[str, object]:
        """Turn what was asked back: what is no id of this dialect stays one that nothing ever had."""
        turned = dict(params)
        for name, value in params.items():
            if name in (*IDS, "interaction_id") and isinstance(value, str) and value:
                turned[name] = self.meant.get(value, f"nobody's {value}")
            elif name in REVISIONS and isinstance(value, int | float) and not isinstance(value, bool):
                turned[name] = self._counted(value)
            elif name == "response" and isinstance(value, Mapping):
                turned[name] = self._understood(value)
        return turned

    def _counted(self, revision: float) -> float:
        """Turn a revision back: one that this dialect never shows is one that no case ever has."""
        if not (1 <= revision <= LARGEST_INTEGER and revision == int(revision)):
            return revision
        steps, beside = divmod(int(revision) - 1, self.jump)
        return type(revision)(LARGEST_INTEGER if beside else steps + 1)

    def _spoken(self, value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            return {
                each: inner if each in AS_IT_IS else self._field(value, each, inner) for each, inner in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._named(each) if isinstance(each, str) else self._spoken(each, name) for each in value]
        return value

    def _field(self, record: Mapping[str, Any], name: str, value: Any) -> Any:
        if name == "payload_hash":
            # A view of a card holds its own id, an effect that of its card.
            return self.hash_of(str(record.get("card", record.get("id"))), str(value))
        if isinstance(value, str):
            return self._named(value) if name in (*IDS, "id") else value
        if name in REVISIONS:
            return None if value is None else 1 + (value - 1) * self.jump
        return self._spoken(value, name)


class SweepsLazily(Dialect):
    """Touches an overdue card only when it is told to sweep, and loses a reply now and then.

    What was given back to a case that has moved stays Active until somebody answers it, and an independent card's command is
    refused where the case has moved.
    """

    name, without, jump = "sweeps-lazily", frozenset({C.ORDERED_CHECKS}), 3
    changes = 0

    def choose(self, operation: ops.Operation, every: Sequence[Possibility]) -> Possibility:
        """Choose what touches the fewest cards; a command that need not commit on a moved case does not."""
        settles = isinstance(operation, ops.CommandSettle)

        def touched(each: Possibility) -> tuple[int, bool, int]:
            commits = settles and isinstance(each.branch.outcome, Resolved)
            spared = happened(each, InteractionEvent.INVALIDATE) if settles else 0
            return happened(each, InteractionEvent.EXPIRE), commits, spared

        return every[0] if isinstance(operation, ops.CardExpireDue) else min(every, key=touched)

    def id_of(self, name: str) -> str:
        """An id looks like a token."""
        return f"tok_{shake_128(name.encode()).hexdigest(8)}"

    def form(self, method: str, answer: dict[str, Any]) -> Mapping[str, Json]:
        """Lose every thirteenth reply, whatever it was."""
        if method in ("card.present", "card.respond", "command.settle"):
            self.changes += 1
            if self.changes % 13 == 0:
                raise OperationFailed("the line went dead", definite=False)
        return answer


class SaysItAgain(Dialect):
    """Answers whoever asks again with what was answered before, also of a card that was declined or dismissed."""

    name, without, jump = "says-it-again", frozenset({C.RESTART, C.REFUSE}), 10
    again = 0

    def choose(self, operation: ops.Operation, every: Sequence[Possibility]) -> Possibility:
        """Choose the original result where there is one, in both ways by turns; of an Expired card say that it is late."""
        if refusal(every[0]) is not RefusalCode.NOT_ANSWERABLE:
            return every[0]
        if results := [each for each in every if refusal(each) is None]:
            self.again += 1
            return results[self.again % len(results)]
        return next((each for each in every if refusal(each) is RefusalCode.EXPIRED), every[0])

    def hash_of(self, card: str, digest: str) -> str:
        """Another algorithm, and a salt for each card."""
        return sha512(f"{card} {digest}".encode()).hexdigest()[:48]

    def form(self, method: str, answer: dict[str, Any]) -> Mapping[str, Json]:
        """Keep the idempotency key to itself, and give every set backwards."""
        told = {name: value for name, value in answer.items() if name != "idempotency_key"}
        return {name: value[::-1] if name in ("invalidated", "expired") else value for name, value in told.items()}


class NamesOtherCodes(Dialect):
    """Reads a response in the last way that the text allows, and names the last check that fails."""

    name, without, jump = "names-other-codes", frozenset({C.ORDERED_CHECKS, C.FOR_REVISION}), 2

    def choose(self, operation: ops.Operation, every: Sequence[Possibility]) -> Possibility:
        """Choose the last that is admissible."""
        return every[-1] if isinstance(operation, ops.CardRespond | ops.CardDismiss) else every[0]


class ReplacesNothing(Dialect):
    """Has one question a case and keeps it, runs commands at once, never answers twice; it has no list, ledger or counters."""

    name, jump = "replaces-nothing", 1000
    without = frozenset(
        {
            C.REPLACE,
            C.REPLAY,
            C.LEDGER,
            C.METRICS,
            C.LIST,
            C.DEFERRED,
            C.CLOCK,
            C.CODED_REFUSALS,
            C.ORDERED_CHECKS,
            C.DISMISS,
        }
    )
    more: ClassVar[Mapping[str, Json]] = {
        "not_claimed": {"I5.7": "here every question needs the attention of its case"}
    }

    def choose(self, operation: ops.Operation, every: Sequence[Possibility]) -> Possibility:
        """Refuse whoever answers a Resolved card again."""
        return every[-1] if isinstance(every[0].branch.outcome, Replayed) else every[0]

    def form(self, method: str, answer: dict[str, Any]) -> Mapping[str, Json]:
        """Leave out what an effect was called with: its action says it."""
        if method != "effects":
            return answer
        return {"effects": [{name: each[name] for name in each if name != "arguments"} for each in answer["effects"]]}


DIALECTS: tuple[type[Dialect], ...] = (SweepsLazily, SaysItAgain, NamesOtherCodes, ReplacesNothing)
