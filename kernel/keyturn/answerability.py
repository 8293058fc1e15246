"""Whether a card can be answered at all: the table of kinds, and what every card must hold (A4).

A card that nobody could answer, or whose answer could not run, is refused when it is presented and nothing is written.
All problems are named at once.
"""

from collections.abc import Callable, Mapping

from attrs import frozen

from keyturn.cards import (
    ActionClass,
    ConfirmCommands,
    FreeformKind,
    InteractionKind,
    InteractionOption,
    InteractionPayload,
    final_arguments,
    is_blank,
)
from keyturn.values import LARGEST_INTEGER

Condition = Callable[[InteractionPayload], bool]


@frozen
class Need:
    """One thing that a card of a kind must have, in words and as a predicate."""

    says: str
    holds: Condition


def _has(*classes: ActionClass) -> Condition:
    return lambda payload: any(option.action.action_class in classes for option in payload.options)


AN_OPTION = Need("at least one option", lambda payload: bool(payload.options))
TWO_OPTIONS = Need("exactly two options", lambda payload: len(payload.options) == 2)
A_PROMPT = Need("a prompt that is not blank", lambda payload: payload.freeform_prompt is not None)
A_TEXT = Need(
    "an option that requires free text",
    lambda payload: any(option.freeform.kind is FreeformKind.REQUIRED for option in payload.options),
)
A_CHANGE = Need("a change entry", lambda payload: bool(payload.review_entries))
AN_AUTHORISING = Need("an authorising option", _has(ActionClass.AUTHORISES))
A_WAY_OUT = Need("an option that declines or dismisses", _has(ActionClass.DECLINES, ActionClass.DISMISSES))
ONLY_ANSWERS = Need(
    "only options that answer without a command",
    lambda payload: all(option.action.action_class is ActionClass.ANSWERS for option in payload.options),
)

NO_FREE_TEXT = Need(
    "options that take no free text",
    lambda payload: all(option.freeform.kind is FreeformKind.FORBIDDEN for option in payload.options),
)

NEEDS_OF_KIND: Mapping[InteractionKind, tuple[Need, ...]] = {
    InteractionKind.BOOLEAN: (TWO_OPTIONS,),
    InteractionKind.SINGLE_SELECT: (AN_OPTION,),
    InteractionKind.MULTI_SELECT: (AN_OPTION, ONLY_ANSWERS, NO_FREE_TEXT),
    InteractionKind.FREEFORM: (A_PROMPT, A_TEXT),
    InteractionKind.REVIEW_CHANGES: (A_CHANGE, AN_AUTHORISING, A_WAY_OUT),
    InteractionKind.CONFIRM_COMMAND: (AN_AUTHORISING, A_WAY_OUT),
    InteractionKind.SELECT_TARGET: (AN_OPTION,),
    InteractionKind.RESOLVE_VALIDATION_ERROR: (AN_OPTION,),
    InteractionKind.REAUTHENTICATE: (AN_AUTHORISING,),
    InteractionKind.EXTERNAL_SIGNATURE: (AN_AUTHORISING,),
}
"""The table of kinds (the guide, "Kinds, and when a card of that kind can be answered")."""


def _text_has_a_place(option: InteractionOption) -> bool:
    try:
        final_arguments(option.action, "")
    except LookupError:
        return False
    return True


def _length_fits(option: InteractionOption) -> bool:
    if option.freeform.kind is FreeformKind.FORBIDDEN:
        return True
    return option.freeform.max_length is not None and 1 <= option.freeform.max_length <= LARGEST_INTEGER


OPTION_NEEDS: tuple[tuple[str, Callable[[InteractionOption], bool]], ...] = (
    ("its id must not be empty", lambda option: option.id != ""),
    ("its free text needs a max_length of at least 1", _length_fits),
    ("its freeform_argument must point into its arguments", _text_has_a_place),
    (
        "it must name at least one command",
        lambda o: not isinstance(o.action, ConfirmCommands) or bool(o.action.command_refs),
    ),
)


def problems_of(kind: InteractionKind, payload: InteractionPayload) -> tuple[str, ...]:
    """Return, in words, everything that keeps a card of this kind from being answered; empty when it can be (A4)."""
    ids = [option.id for option in payload.options]
    return (
        *(f"a {kind} card needs {need.says}" for need in NEEDS_OF_KIND[kind] if not need.holds(payload)),
        *(f"the option {each!r} is there more than once" for each in dict.fromkeys(ids) if ids.count(each) > 1),
        *(
            f"option {option.id!r}: {says}"
            for option in payload.options
            for says, fits in OPTION_NEEDS
            if not fits(option)
        ),
        *(
            ("the prompt is blank",)
            if payload.freeform_prompt is not None and is_blank(payload.freeform_prompt)
            else ()
        ),
    )
