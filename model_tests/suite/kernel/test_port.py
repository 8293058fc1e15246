"""The operations as Python methods: exactly one for each, with the names and the defaults of the protocol."""

from inspect import Parameter, getmembers, isfunction, signature

import pytest
from attrs import NOTHING, Attribute, fields

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.errors import Unreadable
from keyturn.port import OperationMethods, Port
from keyturn.store import ReferenceStore, State
from keyturn.values import Json
from keyturn.wire import read_operation, write_outcome

from .builders import Desk, get

METHODS = {operation.method.replace(".", "_"): operation for operation in ops.OPERATIONS}
PARAMS: dict[str, dict[str, Json]] = {
    "reset": {"now": "2026-01-01T12:00:00Z", "settings": {}},
    "case.open": {"account": "a", "workflow": "w", "case": "c"},
    "case.edit": {"account": "a", "workflow": "w", "case": "c"},
    "case.close": {"account": "a", "workflow": "w", "case": "c"},
    "card.withdraw": {"account": "a", "workflow": "w", "case": "c", "code": "duplicate"},
    "card.present": {
        "account": "a",
        "workflow": "w",
        "case": "c",
        "conversation": "v",
        "kind": "boolean",
        "blocking": True,
        "revision_independent": False,
        "for_revision": 3,
        "payload": {"title": "T", "options": []},
        "expires_in": 1.5,
        "text_resolution": {"kind": "never"},
        "confirms_risk": "read_only",
        "on_occupied": "replace",
    },
    "card.get": {"account": "a", "conversation": "v", "card": "card-1"},
    "card.list": {"account": "a", "conversation": "v"},
    "card.respond": {"account": "a", "conversation": "v", "response": {"any": [1]}},
    "card.dismiss": {"account": "a", "conversation": "v", "card": "card-1", "expected_case_revision": 2},
    "card.expire_due": {},
    "clock.advance": {"seconds": 2.5},
    "command.settle": {"command": "c", "result": "failed", "on_failure": "restore"},
    "command.next": {"result": "failed", "on_failure": "restore"},
    "effects": {"account": "a", "workflow": "w", "case": "c"},
    "ledger": {"account": "a", "workflow": "w", "case": "c"},
    "metrics": {},
    "state.export": {"account": "a", "conversation": "v", "card": "card-1"},
    "state.import": {"state": {"any": [1]}},
    "restart": {},
    "fault.arm": {"fault": "payload_corrupt", "card": "card-1"},
}


class Recording(OperationMethods):
    """A store that only remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ops.Operation] = []

    def perform(self, operation: ops.Operation) -> Outcome:
        """Remember the operation, and say that it was done."""
        self.asked.append(operation)
        return ops.Done()


def public(kind: type) -> set[str]:
    """The methods of a class that are not private."""
    return {name for name, _ in getmembers(kind, isfunction) if not name.startswith("_")}


def may_be_left_out(attribute: "Attribute[object]") -> bool:
    """Whether a field of an operation has a default."""
    return attribute.default is not NOTHING


class TestMethods:
    """In process: a Python object with one method per operation."""

    def test_the_port_has_exactly_one_method_an_operation(self) -> None:
        """No operation is missing, and nothing else can be asked."""
        assert public(Port) == set(METHODS)
        assert len(METHODS) == len(ops.OPERATIONS) == len(ops.BY_METHOD)

    def test_the_base_of_stores_has_the_same(self) -> None:
        """Besides them it has only the method that a store brings itself."""
        assert public(OperationMethods) == {*METHODS, "perform"}

    @pytest.mark.parametrize("kind", [Port, OperationMethods])
    @pytest.mark.parametrize("name", METHODS)
    def test_a_method_takes_the_fields_of_its_operation(self, kind: type, name: str) -> None:
        """By keyword only, in their order; what may be left out has the default `None`."""
        _, *parameters = signature(getattr(kind, name)).parameters.values()
        declared = fields(METHODS[name])
        assert [each.name for each in parameters] == [each.name for each in declared]
        assert {each.kind for each in parameters} <= {Parameter.KEYWORD_ONLY}
        defaults = [None if may_be_left_out(each) else Parameter.empty for each in declared]
        assert [each.default for each in parameters] == defaults

    @pytest.mark.parametrize("kind", [Port, OperationMethods])
    @pytest.mark.parametrize("name", METHODS)
    def test_a_method_says_what_its_operation_says(self, kind: type, name: str) -> None:
        """Its one sentence is that of the declaration, with the name on the wire."""
        operation = METHODS[name]
        assert getattr(kind, name).__doc__ == f"`{operation.method}`: {operation.__doc__}"


class TestCalls:
    """A method reads its arguments as the operation, and writes what the store answers."""

    @pytest.mark.parametrize("method", PARAMS)
    def test_a_call_is_the_operation_that_it_names(self, method: str) -> None:
        """Each argument arrives in its field."""
        store = Recording()
        assert getattr(store, method.replace(".", "_"))(**PARAMS[method]) == {}
        assert store.asked == [read_operation(method, PARAMS[method])]

    def test_every_operation_is_called_here(self) -> None:
        """None is left out of the table of params."""
        assert set(PARAMS) == set(ops.BY_METHOD)

    def test_what_is_left_out_is_the_default(self) -> None:
        """`on_failure` left out = `record`; settings left out = none; risk left out = irreversible."""
        store = Recording()
        store.command_settle(command="c", result="committed")
        store.command_next(result="failed")
        store.reset(now="2026-01-01T12:00:00Z")
        settled, following, reset = store.asked
        assert isinstance(settled, ops.CommandSettle)
        assert isinstance(following, ops.CommandNext)
        assert isinstance(reset, ops.Reset)
        assert (settled.on_failure, following.on_failure) == ("record", "record")
        assert reset.settings == ops.Settings(allow_text_resolution_for_low_risk=False)

    def test_arguments_of_the_wrong_shape_never_reach_the_store(self) -> None:
        """They raise, with their path."""
        store = Recording()
        with pytest.raises(Unreadable, match=r"@ clock\.advance\.seconds"):
            store.clock_advance(seconds="soon")  # type: ignore[arg-type]
        assert store.asked == []

    def test_a_string_that_no_client_may_send_is_malformed(self) -> None:
        """Strings with U+0000 or lone surrogates are `malformed` anywhere in a request from a client."""
        store = ReferenceStore()
        malformed = {"outcome": "rejected", "code": "malformed"}
        assert store.card_get(account="a", conversation="v", card="card\0") == malformed
        assert store.card_respond(account="a", conversation="\ud800", response={}) == malformed
        assert store.card_respond(account="a", conversation="v", response={"deep": [{"\0": 1}]}) == malformed
        assert store.state == State()

    def test_what_a_method_answers_is_admissible(self) -> None:
        """One function says all that may happen: the answer of the reference is one of its branches."""
        desk = Desk()
        answered = desk.card_get(account="acme", conversation="chat-1", card="card\0")
        assert answered in [write_outcome(each.outcome) for each in desk.may(get("card\0"))]


class TestDeclarations:
    """Every operation is declared once, with all that is derived from it."""

    @pytest.mark.parametrize("operation", ops.OPERATIONS, ids=lambda operation: operation.method)
    def test_a_declaration_is_whole(self, operation: type[ops.Operation]) -> None:
        """It has a sentence and at least one result."""
        assert operation.__doc__ is not None
        assert operation.__doc__.endswith(".")
        assert operation.results

    @pytest.mark.parametrize(
        ("method", "changes"),
        [(each, False) for each in ("card.get", "card.list", "effects", "ledger", "metrics", "state.export")],
    )
    def test_only_reads_change_nothing(self, method: str, changes: bool) -> None:
        """The six reads, and no other operation, say that they change nothing."""
        assert ops.BY_METHOD[method].changes is changes
        assert sum(not each.changes for each in ops.OPERATIONS) == 6

    @pytest.mark.parametrize(
        ("method", "capability"),
        [
            ("case.edit", "revisions"),
            ("card.list", "list"),
            ("card.dismiss", "dismiss"),
            ("card.withdraw", "administrative"),
            ("case.close", "administrative"),
            ("card.expire_due", "clock"),
            ("clock.advance", "clock"),
            ("command.settle", "deferred"),
            ("command.next", "cards"),
            ("ledger", "ledger"),
            ("metrics", "metrics"),
            ("restart", "restart"),
            ("state.export", "snapshot"),
            ("state.import", "snapshot"),
            ("fault.arm", "faults"),
            ("effects", "cards"),
        ],
    )
    def test_an_operation_needs_the_capability_that_adds_it(self, method: str, capability: str) -> None:
        """The table of capabilities says which operations each adds."""
        assert ops.BY_METHOD[method].needs == capability
