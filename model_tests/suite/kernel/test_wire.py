"""The edge between values and JSON: what reads back, what is refused and how it is said."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.cards import ReviewEntry
from keyturn.errors import Unreadable
from keyturn.responses import Accepted, Declined, Dismissed, Found, Rejected, Replayed, Resolved
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import CardId, Instant, Json, document
from keyturn.wire import read_operation, read_outcome, write, write_outcome

from . import builders
from .builders import Desk, present

PRESENT: dict[str, Any] = {
    "account": "acme",
    "workflow": "claims",
    "case": "case-1",
    "conversation": "chat-1",
    "kind": "review_changes",
    "blocking": True,
    "revision_independent": False,
    "on_occupied": "replace",
    "payload": {
        "title": "T",
        "options": [
            {
                "id": "yes",
                "label": "Yes",
                "action": {"kind": "confirm_commands", "command_refs": ["a", "b"]},
                "freeform": {"kind": "optional", "max_length": 3},
            }
        ],
        "review_entries": [{"field": "amount", "label": "Amount", "before": 1, "after": {"new": [1.5, None]}}],
    },
    "expires_in": 1,
    "text_resolution": {"kind": "exact_aliases", "aliases": {"yes": ["ok"]}},
}


def changed(path: tuple[str | int, ...], new: object, *, of: Mapping[str, Any] = PRESENT) -> dict[str, Any]:
    """A copy of a JSON object with another value at a path; `...` leaves it out."""
    copy: dict[str, Any] = deepcopy(dict(of))
    holder: Any = copy
    *parents, last = path
    for each in parents:
        holder = holder[each]
    if new is ...:
        del holder[last]
    else:
        holder[last] = new
    return copy


class TestNames:
    """The wire names are the contract."""

    def test_a_ledger_entry_says_from_and_to(self) -> None:
        """Python's own words do not stand in the way of `from`."""
        entry = ops.LedgerEntry(
            seq=2, at=Instant(0), card=CardId("card-1"), from_status=InteractionStatus.ACTIVE,
            event=InteractionEvent.ACCEPT, to_status=InteractionStatus.RESOLVING, cause=ops.Cause(option="yes"),
        )  # fmt: skip
        assert write(entry) == {
            "seq": 2,
            "at": "1970-01-01T00:00:00.000Z",
            "card": "card-1",
            "from": "active",
            "event": "accept",
            "to": "resolving",
            "cause": {"option": "yes"},
        }
        assert "from" not in str(write(evolve(entry, from_status=None)))

    @pytest.mark.parametrize(
        ("outcome", "name"),
        [
            (Accepted, "accepted"), (Resolved, "resolved"), (Declined, "declined"), (Dismissed, "dismissed"),
            (Replayed, "replayed"), (Found, "found"), (Rejected, "rejected"),
        ],
    )  # fmt: skip
    def test_an_outcome_is_called_by_its_name(self, outcome: type[Accepted | Rejected], name: str) -> None:
        """Outcomes that have a name carry it first, as `outcome`."""
        assert outcome.outcome == name

    def test_a_plain_result_has_no_name(self) -> None:
        """Other results are their fields only."""
        assert write_outcome(ops.Done()) == {}
        assert write_outcome(ops.ClockAdvanced(now=Instant(1))) == {"now": "1970-01-01T00:00:00.001Z"}

    def test_a_named_result_says_its_name_first(self) -> None:
        """A reader knows at once what it reads."""
        assert next(iter(write_outcome(Desk().perform(builders.get("card-99"))))) == "outcome"


class TestAbsent:
    """In results null and absent are the same; objects may carry fields that the text does not name."""

    def test_what_is_absent_is_left_out(self) -> None:
        """Writing says only what is there."""
        written = write(present())
        assert isinstance(written, dict)
        assert {"expires_in", "text_resolution", "confirms_risk"}.isdisjoint(written)

    @pytest.mark.parametrize("name", ["expires_in", "text_resolution", "confirms_risk"])
    def test_null_is_the_same_as_absent(self, name: str) -> None:
        """Both read as the default."""
        without = {key: value for key, value in PRESENT.items() if key != name}
        assert read_operation("card.present", {**without, name: None}) == read_operation("card.present", without)

    def test_null_stays_inside_documents(self) -> None:
        """A member that is null is part of a JSON value."""
        asked = read_operation("card.present", PRESENT)
        assert isinstance(asked, ops.CardPresent)
        assert asked.payload.review_entries == (
            ReviewEntry(field="amount", label="Amount", before=document(1), after=document({"new": [1.5, None]})),
        )

    @pytest.mark.parametrize("path", [(), ("payload",), ("payload", "options", 0), ("payload", "options", 0, "action")])
    def test_unknown_fields_are_ignored(self, path: tuple[str | int, ...]) -> None:
        """At any depth, whatever they hold."""
        more = changed((*path, "more"), {"deep": [None]})
        assert read_operation("card.present", more) == read_operation("card.present", PRESENT)

    def test_a_result_without_a_name_may_have_a_null_one(self) -> None:
        """A plain result says no outcome, and null says none either."""
        assert read_outcome(ops.CardExpireDue, {"outcome": None, "expired": []}) == ops.CardsExpired(expired=())


OPTION = ("payload", "options", 0)
A_STRING, AN_INTEGER = "expected a string", "expected an integer"
AN_OBJECT, A_LIST = "expected an object", "expected a list"
NO_ACTION = (
    "is not one of confirm_commands, apply_operation, select_target, resolve_clarification, custom, decline, "
    "decline_and_record, dismiss"
)
NO_FORM = "this JSON value has no canonical form"
REFUSALS: tuple[tuple[tuple[str | int, ...], object, str], ...] = (
    (("account",), ..., "'account' is missing"),
    (("account",), None, "'account' is missing"),
    (("account",), 1, f"{A_STRING}, not int"),
    (("case",), ["x"], f"{A_STRING}, not list"),
    (("blocking",), 1, "expected true or false, not int"),
    (("blocking",), "true", "expected true or false, not str"),
    (("expires_in",), "1", "expected a number, not str"),
    (("expires_in",), True, "expected a number, not bool"),
    (("payload",), [], f"{AN_OBJECT}, not list"),
    (("payload", "title"), 5, f"{A_STRING}, not int"),
    (("payload", "options"), {}, f"{A_LIST}, not dict"),
    (("payload", "options"), "ab", f"{A_LIST}, not str"),
    ((*OPTION,), None, f"{AN_OBJECT}, not NoneType"),
    ((*OPTION, "id"), 1, f"{A_STRING}, not int"),
    ((*OPTION, "action"), [], f"{AN_OBJECT}, not list"),
    ((*OPTION, "action"), "decline", f"{AN_OBJECT}, not str"),
    ((*OPTION, "action", "command_refs", 0), 1, f"{A_STRING}, not int"),
    ((*OPTION, "freeform", "max_length"), 1.5, f"{AN_INTEGER}, not float"),
    ((*OPTION, "freeform", "max_length"), True, f"{AN_INTEGER}, not bool"),
    ((*OPTION, "freeform", "kind"), "maybe", "'maybe' is not one of forbidden, optional, required"),
    ((*OPTION, "freeform", "kind"), ["optional"], "['optional'] is not one of forbidden, optional, required"),
    (("payload", "review_entries", 0, "after"), float("nan"), f"{NO_FORM}: nan is not representable in JCS"),
)
PATHS = ["card.present" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path) for path, _, _ in REFUSALS]


class TestRefusals:
    """Reading is strict where it matters, and every problem is named with its path, all at once."""

    @pytest.mark.parametrize("number", range(len(REFUSALS)))
    def test_a_wrong_shape_is_named_with_its_path(self, number: int) -> None:
        """One wrong field is one problem, and the message says what could not be read."""
        path, new, problem = REFUSALS[number]
        with pytest.raises(Unreadable, match=r"^card\.present cannot be read: ") as raised:
            read_operation("card.present", changed(path, new))
        assert raised.value.problems == (f"{problem} @ {PATHS[number]}",)

    @pytest.mark.parametrize("kind", [..., None], ids=["absent", "null"])
    def test_an_action_says_its_kind(self, kind: object) -> None:
        """An action without a kind is no action."""
        with pytest.raises(Unreadable) as raised:
            read_operation("card.present", changed((*OPTION, "action", "kind"), kind))
        assert raised.value.problems == ("'kind' is missing @ card.present.payload.options[0].action",)

    @pytest.mark.parametrize("value", [None, 1, "text", [], [PRESENT]])
    def test_params_are_an_object(self, value: Json) -> None:
        """Anything else is one problem, at the root."""
        with pytest.raises(Unreadable) as raised:
            read_operation("case.open", value)
        assert raised.value.problems == (f"{AN_OBJECT}, not {type(value).__name__} @ case.open",)

    def test_a_choice_of_words_is_closed(self) -> None:
        """`on_occupied` is one of two words."""
        with pytest.raises(Unreadable, match=r"@ card\.present\.on_occupied"):
            read_operation("card.present", changed(("on_occupied",), "wait"))

    @pytest.mark.parametrize("kind", ["run_anything", "DECLINE", "", 5, ["decline"], {}], ids=repr)
    def test_the_set_of_actions_is_closed(self, kind: object) -> None:
        """An action of another kind is no action, and the message lists those that there are."""
        with pytest.raises(Unreadable) as raised:
            read_operation("card.present", changed((*OPTION, "action", "kind"), kind))
        assert raised.value.problems == (f"{kind!r} {NO_ACTION} @ card.present.payload.options[0].action",)

    def test_all_problems_are_named_at_once(self) -> None:
        """Nobody has to mend one field to hear of the next."""
        wrong = changed(("account",), 1, of=changed((*OPTION, "label"), None))
        wrong = changed(("kind",), "question", of=changed(("conversation",), ..., of=wrong))
        with pytest.raises(Unreadable) as raised:
            read_operation("card.present", wrong)
        assert {problem.rpartition(" @ ")[2] for problem in raised.value.problems} == {
            "card.present.account",
            "card.present.conversation",
            "card.present.kind",
            "card.present.payload.options[0].label",
        }

    def test_a_method_that_there_is_not_is_no_shape(self) -> None:
        """It is a `KeyError`, so that the caller can say that the capability is not there."""
        with pytest.raises(KeyError):
            read_operation("card.guess", {})

    @pytest.mark.parametrize("value", [1, 1.0, -1.0, 0.0])
    def test_a_whole_number_is_an_integer(self, value: float) -> None:
        """JSON has one kind of number; a fraction of nothing is read as an integer."""
        found = read_outcome(ops.CaseOpen, {"revision": value})
        assert isinstance(found, ops.CaseOpened)
        assert (found.revision, type(found.revision)) == (value, int)

    @pytest.mark.parametrize("value", [5, None, [], "noon", "2026-01-01T12:00:00", True])
    def test_a_time_is_a_time(self, value: Json) -> None:
        """A number is no time, and neither is a text without an offset."""
        with pytest.raises(Unreadable, match=r"@ reset\.now"):
            read_operation("reset", {"now": value})


class TestOutcomes:
    """An answer that breaks its schema is the system's fault, and the report says where."""

    @pytest.mark.parametrize("value", [None, 1, "accepted", []])
    def test_an_answer_is_an_object(self, value: Json) -> None:
        """Anything else is none of the results."""
        with pytest.raises(Unreadable, match=r"the result of card\.respond cannot be read: expected an object"):
            read_outcome(ops.CardRespond, value)

    @pytest.mark.parametrize("name", ["presented", "ACCEPTED", "", None, 1])
    def test_an_outcome_of_another_operation_is_refused(self, name: Json) -> None:
        """The message lists what the operation can answer."""
        with pytest.raises(Unreadable, match="is not one of 'accepted', 'in_flight', 'resolved'"):
            read_outcome(ops.CardRespond, {"outcome": name})

    def test_an_answer_without_an_outcome_is_refused_where_one_is_needed(self) -> None:
        """Every result of a response has a name."""
        with pytest.raises(Unreadable, match="the outcome None is not one of"):
            read_outcome(ops.CardRespond, {"command": "c"})

    def test_an_operation_without_named_results_has_none(self) -> None:
        """A name where none is known is refused."""
        with pytest.raises(Unreadable, match="'done' is not one of none"):
            read_outcome(ops.Restart, {"outcome": "done"})

    @pytest.mark.parametrize("name", [[], {}, ["accepted"]], ids=str)
    def test_an_outcome_of_any_shape_is_refused(self, name: Json) -> None:
        """What comes from a system is hostile: whatever stands there, it is the system that is wrong."""
        with pytest.raises(Unreadable):
            read_outcome(ops.CardRespond, {"outcome": name})

    def test_a_refusal_is_read_beside_a_plain_result(self) -> None:
        """Any operation may be refused with `not_found` where something named does not exist."""
        refused = {"outcome": "rejected", "code": "not_found"}
        for operation in (ops.CaseEdit, ops.CardGet, ops.CardList, ops.CardRespond, ops.CommandSettle):
            assert isinstance(read_outcome(operation, refused), Rejected)

    def test_a_long_outcome_is_cut_in_the_message(self) -> None:
        """A message stays readable whatever a system sends."""
        with pytest.raises(Unreadable) as raised:
            read_outcome(ops.CardRespond, {"outcome": "x" * 10_000})
        assert len(str(raised.value)) < 500
