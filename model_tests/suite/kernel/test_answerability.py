"""The table of kinds: which card can be answered, and what is said of one that cannot."""

import pytest
from attrs import evolve, frozen

from keyturn.answerability import NEEDS_OF_KIND, problems_of
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.cards import (
    ApplyOperation,
    ConfirmCommands,
    Custom,
    Dismiss,
    FreeformKind,
    FreeformPolicy,
    InteractionKind,
    InteractionOption,
    InteractionPayload,
    ReviewEntry,
)
from keyturn.responses import Presented, Rejected
from keyturn.values import document

from . import builders
from .builders import NO, YES, Desk, option, payload, present, takes_text

PICK = option("pick", builders.TARGET)
LATER = option("later", Dismiss())
SAY = option("say", builders.TARGET, takes_text(FreeformKind.REQUIRED))
CHANGE = ReviewEntry(field="amount", label="Amount", before=document(4), after=document(5))
K = InteractionKind

ANSWERABLE: dict[InteractionKind, tuple[InteractionPayload, ...]] = {
    K.BOOLEAN: (payload(YES, NO), payload(PICK, LATER)),
    K.SINGLE_SELECT: (payload(PICK), payload(YES, PICK, NO)),
    K.MULTI_SELECT: (payload(PICK), payload(PICK, option("other", builders.TARGET))),
    K.FREEFORM: (payload(SAY, prompt="Why?"), payload(NO, SAY, prompt="Why?")),
    K.REVIEW_CHANGES: (
        evolve(payload(YES, NO), review_entries=(CHANGE,)),
        evolve(payload(YES, LATER), review_entries=(CHANGE, CHANGE)),
    ),
    K.CONFIRM_COMMAND: (payload(YES, NO), payload(LATER, option("run", builders.BOTH))),
    K.SELECT_TARGET: (payload(PICK), payload(NO)),
    K.RESOLVE_VALIDATION_ERROR: (payload(PICK), payload(YES)),
    K.REAUTHENTICATE: (payload(YES), payload(YES, NO)),
    K.EXTERNAL_SIGNATURE: (payload(YES), payload(PICK, YES)),
}


@frozen
class Lack:
    """A card that misses one thing, and what is said of it."""

    kind: InteractionKind
    payload: InteractionPayload
    says: str


# `payload()` without options has the default ones, so that no options are written out.
NO_OPTIONS = evolve(payload(YES), options=())
AN_OPTION = "at least one option"
AUTHORISING = "an authorising option"
WAY_OUT = "an option that declines or dismisses"
LACKS = (
    Lack(K.BOOLEAN, NO_OPTIONS, "exactly two options"),
    Lack(K.BOOLEAN, payload(YES), "exactly two options"),
    Lack(K.BOOLEAN, payload(YES, NO, LATER), "exactly two options"),
    Lack(K.SINGLE_SELECT, NO_OPTIONS, AN_OPTION),
    Lack(K.MULTI_SELECT, NO_OPTIONS, AN_OPTION),
    Lack(K.MULTI_SELECT, payload(PICK, YES), "only options that answer without a command"),
    Lack(K.MULTI_SELECT, payload(PICK, LATER), "only options that answer without a command"),
    Lack(K.MULTI_SELECT, payload(PICK, SAY), "options that take no free text"),
    Lack(K.FREEFORM, payload(SAY), "a prompt that is not blank"),
    Lack(K.FREEFORM, payload(PICK, prompt="Why?"), "an option that requires free text"),
    Lack(K.FREEFORM, payload(NO, prompt="Why?"), "an option that requires free text"),
    Lack(K.REVIEW_CHANGES, payload(YES, NO), "a change entry"),
    Lack(K.REVIEW_CHANGES, evolve(payload(PICK, NO), review_entries=(CHANGE,)), AUTHORISING),
    Lack(K.REVIEW_CHANGES, evolve(payload(YES, PICK), review_entries=(CHANGE,)), WAY_OUT),
    Lack(K.CONFIRM_COMMAND, payload(PICK, NO), AUTHORISING),
    Lack(K.CONFIRM_COMMAND, payload(YES, PICK), WAY_OUT),
    Lack(K.SELECT_TARGET, NO_OPTIONS, AN_OPTION),
    Lack(K.RESOLVE_VALIDATION_ERROR, NO_OPTIONS, AN_OPTION),
    Lack(K.REAUTHENTICATE, payload(PICK, NO), AUTHORISING),
    Lack(K.EXTERNAL_SIGNATURE, payload(NO), AUTHORISING),
)


class TestKinds:
    """A4: A card that does not fit the table of kinds is refused (`invalid_card`) and nothing is written."""

    def test_every_kind_is_in_the_tables_of_this_test(self) -> None:
        """No kind is left out, and each need of each kind is missed by some card."""
        assert set(ANSWERABLE) == set(NEEDS_OF_KIND) == set(InteractionKind)
        needed = {(kind, need.says) for kind, needs in NEEDS_OF_KIND.items() for need in needs}
        assert {(lack.kind, lack.says) for lack in LACKS} == needed

    @pytest.mark.parametrize("kind", InteractionKind)
    def test_a_card_that_has_what_its_kind_needs_can_be_answered(self, kind: InteractionKind) -> None:
        """Nothing is said of an answerable card, and it is written where the kind is offered."""
        for each in ANSWERABLE[kind]:
            assert problems_of(kind, each) == ()
            outcome = Desk().perform(evolve(present(kind=kind), payload=each))
            assert isinstance(outcome, Presented)

    @pytest.mark.parametrize("lack", LACKS, ids=[f"{number}-{lack.kind}" for number, lack in enumerate(LACKS)])
    def test_a_card_that_lacks_one_thing_is_refused_for_it(self, lack: Lack) -> None:
        """The one problem is named, and nothing is written."""
        assert problems_of(lack.kind, lack.payload) == (f"a {lack.kind} card needs {lack.says}",)
        desk = Desk()
        before = desk.state
        outcome = desk.expect(Rejected, evolve(present(kind=lack.kind), payload=lack.payload))
        assert builders.wording(outcome) == "rejected: invalid_card"
        assert desk.state == before

    def test_multi_select_needs_its_capability(self) -> None:
        """Without the capability presenting a `multi_select` card is `invalid_card`, however it is made."""
        asked = evolve(present(kind=K.MULTI_SELECT), payload=payload(PICK))
        assert Desk(ALL_CLAIMS - {Capability.MULTI_SELECT}).outcomes(asked) == ("rejected: invalid_card",)
        assert Desk().outcomes(asked) == ("presented",)


class TestOptions:
    """Option ids are unique and not empty; `max_length` is at least 1; a pointer has a place; `command_refs` is not empty."""

    @pytest.mark.parametrize(
        ("wrong", "says"),
        [
            (option("", builders.TARGET), "option '': its id must not be empty"),
            (
                option("say", builders.TARGET, FreeformPolicy(kind=FreeformKind.REQUIRED)),
                "option 'say': its free text needs a max_length of at least 1",
            ),
            (
                option("say", builders.TARGET, FreeformPolicy(kind=FreeformKind.OPTIONAL, max_length=0)),
                "option 'say': its free text needs a max_length of at least 1",
            ),
            (
                option("say", evolve(builders.EXPLAIN, freeform_argument="/reason/why")),
                "option 'say': its freeform_argument must point into its arguments",
            ),
            (
                option("say", evolve(builders.EXPLAIN, freeform_argument="reason")),
                "option 'say': its freeform_argument must point into its arguments",
            ),
            (option("run", ConfirmCommands(command_refs=())), "option 'run': it must name at least one command"),
        ],
        ids=["id", "no-length", "length-0", "no-parent", "no-pointer", "no-command"],
    )
    def test_an_option_that_cannot_run_is_named(self, wrong: InteractionOption, says: str) -> None:
        """What is wrong with one option is said, with its id, and only that."""
        assert problems_of(K.SINGLE_SELECT, payload(PICK, wrong)) == (says,)

    @pytest.mark.parametrize(
        "right",
        [
            option("say", builders.TARGET, FreeformPolicy(kind=FreeformKind.OPTIONAL, max_length=1)),
            option("say", builders.TARGET, FreeformPolicy(kind=FreeformKind.FORBIDDEN, max_length=0)),
            option("say", builders.EXPLAIN),
            option("say", ApplyOperation(operation="pay", arguments=document([]), freeform_argument="/-")),
            option("run", ConfirmCommands(command_refs=("mail", "mail"))),
            option("other", Custom(key="", payload=document({}))),
            option(" ", builders.TARGET),
            option("PICK", builders.TARGET),
        ],
        ids=["length-1", "forbidden", "place", "end", "same-command-twice", "custom", "space", "another-case"],
    )
    def test_an_option_at_the_limit_can_be_chosen(self, right: InteractionOption) -> None:
        """The least that is needed is enough."""
        assert problems_of(K.SINGLE_SELECT, payload(PICK, right)) == ()

    def test_an_id_that_is_there_twice_is_named_once(self) -> None:
        """Option ids are unique, also where the options are equal."""
        said = problems_of(K.SINGLE_SELECT, payload(PICK, YES, PICK, PICK, YES))
        assert said == (
            "the option 'pick' is there more than once",
            "the option 'yes' is there more than once",
        )

    @pytest.mark.parametrize("prompt", ["", " ", "\u3000\n"])
    def test_a_prompt_is_not_blank(self, prompt: str) -> None:
        """A prompt of White_Space asks nothing, on a card of any kind."""
        assert problems_of(K.SINGLE_SELECT, payload(PICK, prompt=prompt)) == ("the prompt is blank",)

    def test_all_problems_are_named_at_once(self) -> None:
        """A card with several problems is refused with all of them, in the order of the table."""
        wrong = evolve(payload(option("", ConfirmCommands(command_refs=())), PICK, PICK), freeform_prompt=" ")
        assert problems_of(K.BOOLEAN, wrong) == (
            "a boolean card needs exactly two options",
            "the option 'pick' is there more than once",
            "option '': its id must not be empty",
            "option '': it must name at least one command",
            "the prompt is blank",
        )

    def test_a_card_with_a_large_number_in_its_arguments_is_written(self) -> None:
        """A float is an argument like any other; presenting it does not raise."""
        large = ApplyOperation(operation="pay", arguments=document({"amount": 1e18}))
        assert isinstance(Desk().perform(present(option("pay", large))), Presented)
