"""The interaction record: what a client sees of it, where free text lands, and what counts as text."""

import json

import pytest
from attrs import evolve, fields
from hypothesis import given
from hypothesis import strategies as st

from keyturn import cards
from keyturn.cards import (
    WHITE_SPACE,
    ActionClass,
    ApplyOperation,
    CardView,
    ConfirmCommands,
    Custom,
    Decline,
    DeclineAndRecord,
    Dismiss,
    InteractionOption,
    OptionView,
    ResolveClarification,
    ReviewEntry,
    RiskClass,
    SelectTarget,
    StoredAction,
    final_arguments,
    is_blank,
    place_text,
    view,
)
from keyturn.operations import CardList
from keyturn.status import InteractionStatus
from keyturn.values import Instant, Json, document
from keyturn.wire import write, write_outcome

from . import builders
from .builders import Desk, answer, get, option, present, settle

TOKEN = "only-the-server-knows"

TOLD = st.text("ab/", max_size=3).map(lambda text: f"{text}{TOKEN}")
TOLD_JSON = st.fixed_dictionaries({"kept": TOLD}, optional={"more": st.lists(TOLD, max_size=2)})
ACTIONS: st.SearchStrategy[StoredAction] = st.one_of(
    st.builds(ConfirmCommands, command_refs=st.lists(TOLD, min_size=1, max_size=3).map(tuple)),
    st.builds(ApplyOperation, operation=TOLD, arguments=TOLD_JSON.map(document), freeform_argument=st.just(f"/{TOKEN}")),
    st.builds(SelectTarget, case=TOLD),
    st.builds(ResolveClarification, answer_key=TOLD),
    st.builds(Custom, key=TOLD, payload=TOLD_JSON.map(document)),
    st.just(Decline()),
    st.builds(DeclineAndRecord, operation=TOLD),
    st.just(Dismiss()),
)  # fmt: skip


class TestView:
    """I7.5: What a client is shown never contains a stored action."""

    @given(st.lists(ACTIONS, min_size=1, max_size=4))
    @builders.FEW
    def test_no_reply_shows_a_stored_action(self, actions: list[StoredAction]) -> None:
        """A token that stands in every stored action stands in nothing that a client gets."""
        desk = Desk()
        options = [option(f"option-{number}", action) for number, action in enumerate(actions)]
        card = desk.write(present(*options))
        replies: list[object] = [view(desk.interaction(card)), desk.may(get(card))[0].outcome]
        for number in range(len(actions)):
            taken = desk.perform(answer(card, f"option-{number}"))
            replies.extend((taken, desk.perform(CardList(account="acme", conversation="chat-1"))))
            command = getattr(taken, "command", None)
            if command is not None:
                replies.extend((desk.perform(settle(command)), desk.perform(answer(card, f"option-{number}"))))
        assert TOKEN in repr(desk.interaction(card)) or set(actions) <= {Decline(), Dismiss()}
        assert TOKEN not in repr(replies)
        assert TOKEN not in json.dumps([write(each) for each in replies])

    def test_an_option_is_shown_without_its_action_only(self) -> None:
        """All else of an option is shown."""
        shown = {each.name for each in fields(OptionView)}
        assert shown == {each.name for each in fields(InteractionOption)} - {"action"}

    def test_the_view_says_the_rest_of_the_record(self) -> None:
        """Ids, binding, times, payload and hash are those of the stored card."""
        desk = Desk()
        stored = desk.interaction(desk.write(present(expires_in=60)))
        shown = view(stored)
        assert (shown.workflow, shown.case, shown.conversation) == ("claims", "case-1", "chat-1")
        assert (shown.case_revision, shown.revision_independent) == (1, False)
        assert shown.expires_at == stored.created_at + 60_000
        names = {each.name for each in fields(CardView)} - {"workflow", "case", "revision_independent", "payload"}
        assert all(getattr(shown, name) == getattr(stored, name) for name in names)

    def test_the_payload_is_shown_but_for_the_actions(self) -> None:
        """Title, body, prompt and proposed changes are what the user reads."""
        change = ReviewEntry(field="amount", label="Amount", before=document(4), after=document(5))
        stored = evolve(builders.payload(prompt="Why?"), body="Body", review_entries=(change,))
        desk = Desk()
        shown = view(desk.interaction(desk.write(evolve(present(), payload=stored)))).payload
        for name in ("title", "body", "freeform_prompt", "review_entries"):
            assert getattr(shown, name) == getattr(stored, name)
        assert [(each.id, each.label, each.freeform) for each in shown.options] == [
            (each.id, each.label, each.freeform) for each in stored.options
        ]

    def test_an_independent_card_shows_no_revision(self) -> None:
        """`case_revision` is the bound revision, absent when independent."""
        desk = Desk()
        shown = view(desk.interaction(desk.write(present(independent=True))))
        assert (shown.case_revision, shown.revision_independent) == (None, True)
        assert "case_revision" not in str(write_outcome(desk.may(get(shown.id))[0].outcome))


class TestActionClasses:
    """Stored actions: what class each is decides what choosing it does."""

    @pytest.mark.parametrize(
        ("action", "kind", "action_class"),
        [
            (builders.BOTH, "confirm_commands", ActionClass.AUTHORISES),
            (builders.PAY, "apply_operation", ActionClass.AUTHORISES),
            (builders.TARGET, "select_target", ActionClass.ANSWERS),
            (ResolveClarification(answer_key="first"), "resolve_clarification", ActionClass.ANSWERS),
            (Custom(key="other", payload=document(None)), "custom", ActionClass.ANSWERS),
            (Decline(), "decline", ActionClass.DECLINES),
            (DeclineAndRecord(operation="note"), "decline_and_record", ActionClass.DECLINES),
            (Dismiss(), "dismiss", ActionClass.DISMISSES),
        ],
        ids=lambda value: str(getattr(value, "kind", value)),
    )
    def test_an_action_has_its_class(self, action: StoredAction, kind: str, action_class: ActionClass) -> None:
        """Each row of the table of stored actions, by its name on the wire."""
        assert (action.kind, action.action_class) == (kind, action_class)

    def test_risks_are_ordered_least_first(self) -> None:
        """The risks are listed in the order in which the protocol ranks them."""
        ranked = "read_only reversible_low_risk sensitive_data_change destructive irreversible external_regulated"
        assert list(RiskClass) == ranked.split()


class TestOptionIds:
    """I7.7: Option ids compare exactly: no case folding, trimming, normalisation, coercion or prefix match."""

    @pytest.mark.parametrize("near", ["YES", " yes", "yes ", "ye", "yes1", "\uff59es", "", "ye\u0073\u0301", "yes\0"])
    def test_a_near_miss_is_another_id(self, near: str) -> None:
        """An id that only looks like a stored one finds nothing."""
        assert builders.payload().option(near) is None

    def test_the_exact_id_finds_its_option(self) -> None:
        """The stored id finds the stored option, whatever comes before it."""
        assert builders.payload().option("no") is builders.NO


class TestOverdue:
    """L7: Expiry is inclusive (`expires_at <= now`); a card without a deadline never expires."""

    @pytest.mark.parametrize(("late", "expected"), [(-1, False), (0, True), (1, True)])
    def test_the_deadline_itself_is_past(self, late: int, expected: bool) -> None:
        """A card is overdue from the exact instant of its deadline."""
        desk = Desk()
        stored = desk.interaction(desk.write(present(expires_in=1)))
        assert stored.overdue(Instant(stored.created_at + 1000 + late)) is expected

    def test_a_card_without_a_deadline_is_never_overdue(self) -> None:
        """No moment is late enough."""
        desk = Desk()
        assert not desk.interaction(desk.write()).overdue(Instant(10**15))

    def test_only_an_active_card_is_overdue(self) -> None:
        """A card in flight has been answered in time."""
        desk = Desk()
        card = desk.write(present(expires_in=1))
        desk.accept(card)
        stored = desk.interaction(card)
        assert stored.status is InteractionStatus.RESOLVING
        assert not stored.overdue(Instant(stored.created_at + 2000))


class TestBlankText:
    """I7.4: Blank text (only Unicode White_Space) is no text."""

    POINTS = (
        *(0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0x85, 0xA0, 0x1680),
        *(0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A),
        *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
    )

    def test_the_property_has_its_25_code_points(self) -> None:
        """White_Space as PropList.txt lists it."""
        assert sorted(map(ord, WHITE_SPACE)) == sorted(self.POINTS)
        assert len(self.POINTS) == 25

    @pytest.mark.parametrize("point", [0x00, 0x1C, 0x1D, 0x1E, 0x1F, 0x180E, 0x200B, 0x200D, 0x2060, 0x3164, 0xFEFF])
    def test_what_only_looks_empty_is_text(self, point: int) -> None:
        """Separators that `str.isspace` takes, and invisible characters, are no White_Space."""
        assert not is_blank(chr(point))

    @pytest.mark.parametrize(
        ("text", "expected"), [("", True), (" \u3000\n", True), (" x ", False), ("\u2003.", False)]
    )
    def test_a_text_is_blank_when_all_of_it_is(self, text: str, expected: bool) -> None:
        """One character that is no White_Space makes it a text."""
        assert is_blank(text) is expected


class TestPlaceText:
    """`freeform_argument` is an RFC 6901 pointer whose parent exists; free text lands there and nowhere else (I7.4)."""

    @pytest.mark.parametrize(
        ("arguments", "pointer", "expected"),
        [
            ({}, "/a", {"a": "x"}),
            ({"a": 1, "b": 2}, "/a", {"a": "x", "b": 2}),
            ({"a": {"b": [1], "c": 2}}, "/a/b", {"a": {"b": "x", "c": 2}}),
            ({}, "/", {"": "x"}),
            ({"": {}}, "//", {"": {"": "x"}}),
            ({}, "/a~1b", {"a/b": "x"}),
            ({}, "/m~0n", {"m~n": "x"}),
            ({}, "/~01", {"~1": "x"}),
            ({}, "/\u00e9 \n", {"\u00e9 \n": "x"}),
            ({"a~/": {}}, "/a~0~1/b", {"a~/": {"b": "x"}}),
            ({"-": 1}, "/-", {"-": "x"}),
            ({"01": 1}, "/01", {"01": "x"}),
            ([1, 2], "/0", ["x", 2]),
            ([1, 2], "/1", [1, "x"]),
            ([1, 2], "/2", [1, 2, "x"]),
            ([1, 2], "/-", [1, 2, "x"]),
            ([], "/-", ["x"]),
            ([{"a": 1}], "/0/a", [{"a": "x"}]),
            ([[1], [2]], "/1/-", [[1], [2, "x"]]),
        ],
    )
    def test_the_text_lands_at_the_pointer(self, arguments: Json, pointer: str, expected: Json) -> None:
        """One place of the arguments is the text afterwards, and every other is as it was."""
        before = json.dumps(arguments)
        assert place_text(arguments, pointer, "x") == expected
        assert json.dumps(arguments) == before

    @pytest.mark.parametrize(
        ("arguments", "pointer"),
        [
            ({}, ""),
            ({}, "a"),
            ({}, "a/b"),
            ({}, "/~"),
            ({}, "/~2"),
            ({}, "/a~"),
            ({}, "/a/b"),
            ({"a": 1}, "/a/b"),
            ({"a": None}, "/a/b"),
            ({"a": "text"}, "/a/0"),
            ([1], "/01"),
            ([1], "/3"),
            ([1], "/-1"),
            ([1], "/+0"),
            ([1], "/a"),
            ([1], "/1.0"),
            ([1], "/\u0661"),
            ([1], "/"),
            ([[1]], "/-/0"),
            ([[1]], "/1/0"),
            (1, "/a"),
            ("text", "/0"),
        ],
    )
    def test_a_pointer_without_a_place_is_refused(self, arguments: Json, pointer: str) -> None:
        """Text is never put where no parent exists, and no parent is made for it."""
        with pytest.raises(LookupError):
            place_text(arguments, pointer, "x")

    def test_an_endless_index_is_refused_like_any_other(self) -> None:
        """The length of an index does not change how it is refused."""
        with pytest.raises(LookupError):
            place_text([1], "/" + "9" * 5000, "x")

    @given(st.dictionaries(st.text("~/a-0", max_size=3), st.integers(0, 9), max_size=3), st.text("~/a-0", max_size=3))
    @builders.FEW
    def test_a_name_is_escaped_and_unescaped(self, arguments: dict[str, int], name: str) -> None:
        """Any member name can be pointed at, with `~` and `/` escaped."""
        pointer = "/" + name.replace("~", "~0").replace("/", "~1")
        assert place_text(arguments, pointer, "x") == {**arguments, name: "x"}


class TestFinalArguments:
    """I7.1: The command that runs is the stored action of the chosen option, with the stored arguments."""

    def test_without_text_they_are_the_stored_ones(self) -> None:
        """No text changes no argument, also where a place for it is stored."""
        assert final_arguments(builders.EXPLAIN, None) == document({"reason": None})

    def test_text_without_a_place_changes_nothing(self) -> None:
        """An operation that names no place gets its arguments as they are stored."""
        assert final_arguments(builders.PAY, "text") == document({"amount": 5})

    def test_text_lands_at_its_place(self) -> None:
        """The text is kept whole."""
        assert final_arguments(builders.EXPLAIN, " a text ") == document({"reason": " a text "})

    @pytest.mark.parametrize("action", [builders.BOTH, builders.TARGET, Decline(), DeclineAndRecord(operation="note")])
    def test_other_actions_have_none(self, action: StoredAction) -> None:
        """Only an operation has arguments."""
        assert final_arguments(action, "text") is None


def test_every_action_is_in_the_table() -> None:
    """The union of stored actions holds each action record of the module, once."""
    records = {each for each in vars(cards).values() if isinstance(each, type) and "action_class" in vars(each)}
    assert set(StoredAction.__args__) == records
