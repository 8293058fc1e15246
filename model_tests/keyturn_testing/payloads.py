"""Cards to present: a small stock of payloads that covers every kind and every stored action.

Each is answerable by the table of kinds. The generator picks within what a system offers; titles and arguments differ from
card to card, so that a mix-up of two cards shows. Every stored action that can hold a text holds a mark, which no client is
ever to see (I7.5).
"""

from collections.abc import Mapping, Sequence

from keyturn.cards import FreeformKind, InteractionKind
from keyturn.values import Json
from keyturn_specs.servers_meaning import STORED

LONGEST_TEXT = 12
"""The length limit of every free text in the stock, in code points."""


def _option(option: str, action: Mapping[str, Json], text: FreeformKind | None = None) -> dict[str, Json]:
    written: dict[str, Json] = {"id": option, "label": option.replace("_", " ").capitalize(), "action": action}
    if text is not None:
        written["freeform"] = {"kind": text.value, "max_length": LONGEST_TEXT}
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


def authorising(number: int, *, text: bool) -> tuple[dict[str, Json], ...]:
    """Options that authorise a command: one operation, two commands at once, and one with free text."""
    options = (
        _option("accept", _apply(number)),
        _option(
            "run_both",
            {"kind": "confirm_commands", "command_refs": [f"{STORED} first-{number}", f"{STORED} second-{number}"]},
        ),
    )
    return (
        (*options, _option("explain", _apply(number, FreeformKind.REQUIRED), FreeformKind.REQUIRED))
        if text
        else options
    )


def answering(number: int) -> tuple[dict[str, Json], ...]:
    """Options that answer without a command."""
    return (
        _option("this_one", {"kind": "select_target", "case": f"{STORED} target-{number}"}),
        _option("the_first", {"kind": "resolve_clarification", "answer_key": f"{STORED} key-{number}"}),
        _option("something_else", {"kind": "custom", "key": "other", "payload": {"number": number, "note": STORED}}),
    )


def closing(*, text: bool) -> tuple[dict[str, Json], ...]:
    """Options that decline or dismiss."""
    reason = FreeformKind.OPTIONAL if text else None
    return (
        _option("decline", {"kind": "decline"}, reason),
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
    kind: InteractionKind, number: int, *, text: bool, offered: frozenset[str] | None = None
) -> dict[str, Json]:
    """Return a payload of a kind within the offered actions; where they make no answerable one it is not answerable."""
    options: Sequence[dict[str, Json]] = (*authorising(number, text=text), *answering(number), *closing(text=text))
    if kind in _AUTHORISING_KINDS:
        options = (*authorising(number, text=text), *closing(text=text))
    if offered is not None:
        options = [each for each in options if _kind_of(each) in offered]
    written: dict[str, Json] = {"title": f"Question {number % 3}?", "options": list(options)}
    if kind is InteractionKind.BOOLEAN:
        written["options"] = [each for each in options if each["id"] in ("accept", "decline")]
    if kind is InteractionKind.FREEFORM:
        written["freeform_prompt"] = "Why?"
    if kind is InteractionKind.REVIEW_CHANGES:
        written["review_entries"] = [{"field": "seat", "label": "Seat", "before": "12A", "after": number}]
    return written


def _kind_of(option: Mapping[str, Json]) -> Json:
    action = option["action"]
    return action["kind"] if isinstance(action, Mapping) else None
