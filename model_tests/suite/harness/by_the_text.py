"""What two systems without the kernel share: the table of kinds, the shape of a response and the rule of a text.

Written down from the text once more and in another way, so that a mistake of the kernel is not made twice.
"""

from typing import Any

AUTHORISING, CLOSING = ("confirm_commands", "apply_operation"), ("decline", "decline_and_record", "dismiss")
AUTHORISED_KINDS = ("confirm_command", "review_changes", "reauthenticate", "external_signature")
PLAIN_KINDS = ("boolean", "single_select", "freeform", "select_target", "resolve_validation_error")
WHITE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
FIELDS = {"interaction_id", "option_id", "expected_case_revision", "freeform_input"}


def fits(kind: str, payload: dict[str, Any]) -> bool:
    """Whether a card of this kind can be answered."""
    options, prompt = payload["options"], payload.get("freeform_prompt")
    ids = [each["id"] for each in options]
    kinds = {each["action"]["kind"] for each in options}
    required = any(policy(each)["kind"] == "required" for each in options)
    runs, ends = kinds & {*AUTHORISING}, kinds & {*CLOSING}
    return (
        kind in (*AUTHORISED_KINDS, *PLAIN_KINDS)
        and bool(ids)
        and "" not in ids
        and len(ids) == len(set(ids))
        and (kind != "boolean" or len(ids) == 2)
        and (kind != "freeform" or (required and prompt is not None))
        and (kind not in AUTHORISED_KINDS or bool(runs))
        and (kind not in ("confirm_command", "review_changes") or bool(ends))
        and (kind != "review_changes" or bool(payload.get("review_entries")))
        and (prompt is None or bool(prompt.strip(WHITE_SPACE)))
        and all(_can_run(each) for each in options)
    )


def _can_run(option: dict[str, Any]) -> bool:
    action, allowed = option["action"], policy(option)
    try:
        placed(action.get("arguments"), action.get("freeform_argument"), "")
    except LookupError:
        return False
    bounded = allowed["kind"] == "forbidden" or (allowed.get("max_length") or 0) >= 1
    return bounded and action.get("command_refs") != []


def policy(option: dict[str, Any]) -> dict[str, Any]:
    """The free-text policy of an option: what is left out is forbidden."""
    return option.get("freeform") or {"kind": "forbidden"}


def placed(arguments: Any, pointer: str | None, text: str | None) -> Any:
    """The arguments with a text at its pointer; raise `LookupError` where there is no such place."""
    if pointer is None or text is None:
        return arguments
    if not pointer.startswith("/") or not isinstance(arguments, dict):
        raise LookupError(pointer)
    head, slash, rest = pointer[1:].partition("/")
    name = head.replace("~1", "/").replace("~0", "~")
    return {**arguments, name: placed(arguments[name], f"/{rest}", text) if slash else text}


def is_clean(sent: Any) -> bool:
    """Whether no text or name in something has a U+0000 or half of a surrogate pair."""
    if isinstance(sent, str):
        return not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in sent)
    if isinstance(sent, dict):
        return all(is_clean(each) for pair in sent.items() for each in pair)
    return all(map(is_clean, sent)) if isinstance(sent, list) else True


def is_response(sent: Any, *, more: bool = False) -> bool:
    """Whether something is a well-formed response; `more` says whether it may have other fields."""
    if not isinstance(sent, dict) or not (more or sent.keys() <= FIELDS) or not is_clean(sent):
        return False
    named = (sent.get("interaction_id"), sent.get("option_id"))
    revision, text = sent.get("expected_case_revision"), sent.get("freeform_input")
    return (
        all(isinstance(each, str) and each for each in named)
        and (revision is None or (type(revision) is int and 1 <= revision < 2**53))
        and isinstance(text, str | None)
    )


def text_problems(allowed: dict[str, Any], text: str | None) -> list[str]:
    """What is wrong with a text, by the policy of the option."""
    if text is None:
        return ["freeform_required"] if allowed["kind"] == "required" else []
    if allowed["kind"] == "forbidden":
        return ["freeform_forbidden"]
    return ["freeform_too_long"] if len(text) > allowed["max_length"] else []
