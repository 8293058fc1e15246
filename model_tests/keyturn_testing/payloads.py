"""Cards to present: a small stock of payloads that covers every kind and every stored action.

Each is answerable by the table of kinds. The generator picks within what a system offers; titles and arguments differ from
card to card, so that a mix-up of two cards shows. Every stored action that can hold a text holds a mark, which no client is
ever to see (I7.5). A card may have twins, two options whose ids differ by so little that a comparison which is not exact takes
them for one; each has an action of its own (I7.7).
"""

from collections.abc import Mapping, Sequence

from keyturn.cards import FreeformKind, InteractionKind, InteractionOption, InteractionPayload
from keyturn.values import Json
from keyturn_specs.servers_meaning import STORED
from keyturn_testing.alike import FORMS

LONGEST_TEXT = 12
"""The usual length limit of a free text in the stock, in code points."""

LONG_TEXT = 63 * 1024
"""The other limit: nearly all that a response can carry."""

TWIN_LABEL = "The other one"
"""The label of the second of two twins, which stands last; the first of them stands first."""

TWIN_FORMS = ("case", "leading_space", "trailing_space", "normal_form", "prefix", "zero_width")
"""The ways in which the id of a twin differs from that of the first option."""


def _option(
    option: str, action: Mapping[str, Json], text: FreeformKind | None = None, longest: int = LONGEST_TEXT
) -> dict[str, Json]:
    written: dict[str, Json] = {"id": option, "label": option.replace("_", " ").capitalize(), "action": action}
    if text is not None:
        written["freeform"] = {"kind": text.value, "max_length": longest}
    return written


def _apply(number: int, text: FreeformKind | None = None) -> dict[str, Json]:
    action: dict[str, Json] = {
        "kind": "apply_operation",
        "operation": "trip.rebook",
        "arguments": {"number": number, "notes": {"kept": STORED}},
    }
    if text is not None:
        action["freeform_argument"] = "/notes/reason"
    return action


def authorising(number: int, *, text: bool, longest: int = LONGEST_TEXT) -> tuple[dict[str, Json], ...]:
    """Options that authorise a command: one operation, two commands at once, and one with free text."""
    options = (
        _option("accept", _apply(number)),
        _option(
            "run_both",
            {"kind": "confirm_commands", "command_refs": [f"{STORED} first-{number}", f"{STORED} second-{number}"]},
        ),
    )
    explain = _option("explain", _apply(number, FreeformKind.REQUIRED), FreeformKind.REQUIRED, longest)
    return (*options, explain) if text else options


def answering(number: int) -> tuple[dict[str, Json], ...]:
    """Options that answer without a command."""
    return (
        _option("this_one", {"kind": "select_target", "case": f"{STORED} target-{number}"}),
        _option("the_first", {"kind": "resolve_clarification", "answer_key": f"{STORED} key-{number}"}),
        _option("something_else", {"kind": "custom", "key": "other", "payload": {"number": number, "note": STORED}}),
    )


def closing(*, text: bool, longest: int = LONGEST_TEXT) -> tuple[dict[str, Json], ...]:
    """Options that decline or dismiss."""
    reason = FreeformKind.OPTIONAL if text else None
    return (
        _option("decline", {"kind": "decline"}, reason, longest),
        _option("keep", {"kind": "decline_and_record", "operation": f"trip.keep {STORED}"}),
        _option("later", {"kind": "dismiss"}),
    )


_AUTHORISING_KINDS = (
    InteractionKind.REVIEW_CHANGES,
    InteractionKind.CONFIRM_COMMAND,
    InteractionKind.REAUTHENTICATE,
    InteractionKind.EXTERNAL_SIGNATURE,
)


def payload(
    kind: InteractionKind,
    number: int,
    *,
    text: bool,
    offered: frozenset[str] | None = None,
    longest: int = LONGEST_TEXT,
    twin: str | None = None,
) -> dict[str, Json]:
    """Return a payload of a kind within the offered actions; where they make no answerable one it is not answerable.

    `longest` limits its texts, in code points; `twin` is the form in which the id of one more option is like the first's.
    """
    authorise, close = authorising(number, text=text, longest=longest), closing(text=text, longest=longest)
    options: Sequence[dict[str, Json]] = (*authorise, *answering(number), *close)
    if kind in _AUTHORISING_KINDS:
        options = (*authorise, *close)
    if kind is InteractionKind.MULTI_SELECT:
        options = answering(number)
    if offered is not None:
        options = [each for each in options if kind_of(each) in offered]
    if twin is not None and options:
        options = _with_twin(options, twin)
    written: dict[str, Json] = {"title": f"Question {number % 3}?", "options": list(options)}
    if kind is InteractionKind.BOOLEAN:
        pair = [each for each in options if each["id"] in ("accept", "decline")]
        written["options"] = pair if twin is None else [options[0], options[-1]]
    if kind is InteractionKind.FREEFORM:
        written["freeform_prompt"] = "Why?"
    if kind is InteractionKind.REVIEW_CHANGES:
        written["review_entries"] = [{"field": "seat", "label": "Seat", "before": "12A", "after": number}]
    return written


def twins(card: InteractionPayload) -> tuple[InteractionOption, ...]:
    """Return the two options of a card whose ids are alike, or none."""
    return (card.options[0], card.options[-1]) if card.options[-1].label == TWIN_LABEL else ()


_ANOTHER: Mapping[str, Mapping[str, Json]] = {
    "apply_operation": {"arguments": {"notes": {"kept": f"{STORED} for the other one"}}},
    "confirm_commands": {"command_refs": [f"{STORED} the-other-one"]},
    "select_target": {"case": "the-other-one"},
    "resolve_clarification": {"answer_key": "the-other-one"},
    "custom": {"payload": {"kept": f"{STORED} for the other one"}},
    "decline_and_record": {"operation": "trip.keep_both"},
}
"""What the action of the second twin has otherwise; declining and dismissing have nothing that could differ."""


def _with_twin(options: Sequence[dict[str, Json]], form: str) -> Sequence[dict[str, Json]]:
    first = options[0]
    if form == "normal_form":
        first = {**first, "id": f"{first['id']}\u00e9"}
    action = first["action"]
    assert isinstance(action, Mapping)
    other: dict[str, Json] = {
        **first,
        "id": str(FORMS[form](str(first["id"]))),
        "label": TWIN_LABEL,
        "action": {**action, **_ANOTHER.get(str(action["kind"]), {})},
    }
    return (first, *options[1:], other)


def kind_of(option: Mapping[str, Json]) -> str:
    """Return the kind of an option's action."""
    action = option["action"]
    return str(action["kind"]) if isinstance(action, Mapping) else ""
