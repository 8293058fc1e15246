"""The operations as Python methods: what an implementation in process offers.

Generated from `keyturn.operations`; do not edit: `python -m keyturn_testing.pages` writes it. A method is the operation's
name with an underscore, takes keyword arguments, and returns the result as a mapping or as an attrs value of the same
fields, at once or as an awaitable. What a system does not offer it leaves out, or raises `keyturn.errors.Unsupported`.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from typing import Protocol, TypeAlias, cast

from keyturn.branches import Outcome
from keyturn.operations import Operation
from keyturn.values import Json
from keyturn.wire import read_operation, write_outcome

Answer: TypeAlias = Mapping[str, Json] | object | Awaitable[Mapping[str, Json] | object]
"""What a method may return: a mapping, a record of the same fields, or an awaitable of one."""


class Port(Protocol):
    """What a system in process offers: one method an operation."""

    def reset(self, *, now: str, settings: Mapping[str, Json] | None = None) -> Answer:
        """`reset`: Forgets everything and sets the clock; only on a system that says it is a test environment."""
        ...

    def case_open(self, *, account: str, workflow: str, case: str) -> Answer:
        """`case.open`: Opens a case, or finds it open; returns the current revision, 1 at first; opens a closed case again."""
        ...

    def case_edit(self, *, account: str, workflow: str, case: str) -> Answer:
        """`case.edit`: Changes the record outside any card: the revision moves and bound cards are invalidated (I13.3)."""
        ...

    def case_close(self, *, account: str, workflow: str, case: str) -> Answer:
        """`case.close`: Closes a case: its Active cards are invalidated, and no card is presented until it is opened (I13.11)."""
        ...

    def card_present(
        self,
        *,
        account: str,
        workflow: str,
        case: str,
        conversation: str,
        kind: str,
        blocking: bool,
        revision_independent: bool,
        for_revision: int | None = None,
        payload: Mapping[str, Json],
        expires_in: float | None = None,
        text_resolution: Mapping[str, Json] | None = None,
        confirms_risk: str | None = None,
        on_occupied: str,
    ) -> Answer:
        """`card.present`: Writes a card before anything mentions it (I6); `expires_in` is in seconds."""
        ...

    def card_get(self, *, account: str, conversation: str, card: str) -> Answer:
        """`card.get`: Reads one card, by its id, as its owner."""
        ...

    def card_list(self, *, account: str, conversation: str) -> Answer:
        """`card.list`: Reads the open cards of one conversation, oldest first (L8)."""
        ...

    def card_respond(self, *, account: str, conversation: str, response: Json) -> Answer:
        """`card.respond`: Answers a card; `response` is whatever the client sent, for the system to read (I7.3, I19.6)."""
        ...

    def card_dismiss(
        self,
        *,
        account: str,
        conversation: str,
        card: str,
        expected_case_revision: int | None = None,
    ) -> Answer:
        """`card.dismiss`: Closes a card without deciding; checked like a response (I13.1, I19.1) without option and text."""
        ...

    def card_withdraw(self, *, account: str, workflow: str, case: str, code: str) -> Answer:
        """`card.withdraw`: Invalidates every Active card of a case, the independent ones too; `code` says why (I13.11)."""
        ...

    def card_expire_due(self) -> Answer:
        """`card.expire_due`: Sweeps: every overdue Active card becomes Expired (L7)."""
        ...

    def clock_advance(self, *, seconds: float) -> Answer:
        """`clock.advance`: Moves the system's clock forward by `seconds`, to the nearest millisecond."""
        ...

    def command_settle(self, *, command: str, result: str, on_failure: str | None = None) -> Answer:
        """`command.settle`: Says how a command in flight ended; `on_failure` left out = `record` (L5)."""
        ...

    def command_next(self, *, result: str, on_failure: str | None = None) -> Answer:
        """`command.next`: Sets how the next command ends, for a system that runs commands at once."""
        ...

    def effects(self, *, account: str, workflow: str, case: str) -> Answer:
        """`effects`: Reads the effects of a case, for the observer."""
        ...

    def ledger(self, *, account: str, workflow: str, case: str) -> Answer:
        """`ledger`: Reads the ledger of a case, for the observer (E1)."""
        ...

    def metrics(self) -> Answer:
        """`metrics`: Reads the counters, for the observer (E3)."""
        ...

    def state_export(self, *, account: str, conversation: str, card: str) -> Answer:
        """`state.export`: Returns what a host keeps of a pending card: a checkpoint, a run state; never effects."""
        ...

    def state_import(self, *, state: Json) -> Answer:
        """`state.import`: Restores what a host kept of a pending card; the card is what it has become since (I14.8)."""
        ...

    def restart(self) -> Answer:
        """`restart`: Stops the system and starts it again on its data."""
        ...

    def fault_arm(self, *, fault: str, card: str | None = None) -> Answer:
        """`fault.arm`: Makes the next operation that the fault can hit go wrong, once; some faults name a card (I19.2)."""
        ...


class OperationMethods(ABC):
    """The methods of the port for a store that performs operations as values."""

    @abstractmethod
    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation and return its outcome."""

    def _call(self, method: str, params: Mapping[str, object]) -> dict[str, Json]:
        return write_outcome(self.perform(read_operation(method, cast(Json, params))))

    def reset(self, *, now: str, settings: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """`reset`: Forgets everything and sets the clock; only on a system that says it is a test environment."""
        return self._call("reset", {"now": now, "settings": settings})

    def case_open(self, *, account: str, workflow: str, case: str) -> dict[str, Json]:
        """`case.open`: Opens a case, or finds it open; returns the current revision, 1 at first; opens a closed case again."""
        return self._call("case.open", {"account": account, "workflow": workflow, "case": case})

    def case_edit(self, *, account: str, workflow: str, case: str) -> dict[str, Json]:
        """`case.edit`: Changes the record outside any card: the revision moves and bound cards are invalidated (I13.3)."""
        return self._call("case.edit", {"account": account, "workflow": workflow, "case": case})

    def case_close(self, *, account: str, workflow: str, case: str) -> dict[str, Json]:
        """`case.close`: Closes a case: its Active cards are invalidated, and no card is presented until it is opened (I13.11)."""
        return self._call("case.close", {"account": account, "workflow": workflow, "case": case})

    def card_present(
        self,
        *,
        account: str,
        workflow: str,
        case: str,
        conversation: str,
        kind: str,
        blocking: bool,
        revision_independent: bool,
        for_revision: int | None = None,
        payload: Mapping[str, Json],
        expires_in: float | None = None,
        text_resolution: Mapping[str, Json] | None = None,
        confirms_risk: str | None = None,
        on_occupied: str,
    ) -> dict[str, Json]:
        """`card.present`: Writes a card before anything mentions it (I6); `expires_in` is in seconds."""
        params = {
            "account": account,
            "workflow": workflow,
            "case": case,
            "conversation": conversation,
            "kind": kind,
            "blocking": blocking,
            "revision_independent": revision_independent,
            "for_revision": for_revision,
            "payload": payload,
            "expires_in": expires_in,
            "text_resolution": text_resolution,
            "confirms_risk": confirms_risk,
            "on_occupied": on_occupied,
        }
        return self._call("card.present", params)

    def card_get(self, *, account: str, conversation: str, card: str) -> dict[str, Json]:
        """`card.get`: Reads one card, by its id, as its owner."""
        return self._call("card.get", {"account": account, "conversation": conversation, "card": card})

    def card_list(self, *, account: str, conversation: str) -> dict[str, Json]:
        """`card.list`: Reads the open cards of one conversation, oldest first (L8)."""
        return self._call("card.list", {"account": account, "conversation": conversation})

    def card_respond(self, *, account: str, conversation: str, response: Json) -> dict[str, Json]:
        """`card.respond`: Answers a card; `response` is whatever the client sent, for the system to read (I7.3, I19.6)."""
        return self._call("card.respond", {"account": account, "conversation": conversation, "response": response})

    def card_dismiss(
        self,
        *,
        account: str,
        conversation: str,
        card: str,
        expected_case_revision: int | None = None,
    ) -> dict[str, Json]:
        """`card.dismiss`: Closes a card without deciding; checked like a response (I13.1, I19.1) without option and text."""
        params = {
            "account": account,
            "conversation": conversation,
            "card": card,
            "expected_case_revision": expected_case_revision,
        }
        return self._call("card.dismiss", params)

    def card_withdraw(self, *, account: str, workflow: str, case: str, code: str) -> dict[str, Json]:
        """`card.withdraw`: Invalidates every Active card of a case, the independent ones too; `code` says why (I13.11)."""
        return self._call("card.withdraw", {"account": account, "workflow": workflow, "case": case, "code": code})

    def card_expire_due(self) -> dict[str, Json]:
        """`card.expire_due`: Sweeps: every overdue Active card becomes Expired (L7)."""
        return self._call("card.expire_due", {})

    def clock_advance(self, *, seconds: float) -> dict[str, Json]:
        """`clock.advance`: Moves the system's clock forward by `seconds`, to the nearest millisecond."""
        return self._call("clock.advance", {"seconds": seconds})

    def command_settle(self, *, command: str, result: str, on_failure: str | None = None) -> dict[str, Json]:
        """`command.settle`: Says how a command in flight ended; `on_failure` left out = `record` (L5)."""
        return self._call("command.settle", {"command": command, "result": result, "on_failure": on_failure})

    def command_next(self, *, result: str, on_failure: str | None = None) -> dict[str, Json]:
        """`command.next`: Sets how the next command ends, for a system that runs commands at once."""
        return self._call("command.next", {"result": result, "on_failure": on_failure})

    def effects(self, *, account: str, workflow: str, case: str) -> dict[str, Json]:
        """`effects`: Reads the effects of a case, for the observer."""
        return self._call("effects", {"account": account, "workflow": workflow, "case": case})

    def ledger(self, *, account: str, workflow: str, case: str) -> dict[str, Json]:
        """`ledger`: Reads the ledger of a case, for the observer (E1)."""
        return self._call("ledger", {"account": account, "workflow": workflow, "case": case})

    def metrics(self) -> dict[str, Json]:
        """`metrics`: Reads the counters, for the observer (E3)."""
        return self._call("metrics", {})

    def state_export(self, *, account: str, conversation: str, card: str) -> dict[str, Json]:
        """`state.export`: Returns what a host keeps of a pending card: a checkpoint, a run state; never effects."""
        return self._call("state.export", {"account": account, "conversation": conversation, "card": card})

    def state_import(self, *, state: Json) -> dict[str, Json]:
        """`state.import`: Restores what a host kept of a pending card; the card is what it has become since (I14.8)."""
        return self._call("state.import", {"state": state})

    def restart(self) -> dict[str, Json]:
        """`restart`: Stops the system and starts it again on its data."""
        return self._call("restart", {})

    def fault_arm(self, *, fault: str, card: str | None = None) -> dict[str, Json]:
        """`fault.arm`: Makes the next operation that the fault can hit go wrong, once; some faults name a card (I19.2)."""
        return self._call("fault.arm", {"fault": fault, "card": card})
