"""The interaction record: what a card asks, what each answer does, and whether anybody could answer it.

A card is a row that the server writes before anything mentions it. Its payload never changes, its options hold the
action that choosing them runs, and that action is never sent to a client or taken from one (I7). Whether a card can be
answered at all is a table: each kind names what its options must hold (A4).
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, TypeAlias

from attrs import field, frozen

from keyturn.status import InteractionStatus
from keyturn.values import (
    CardId,
    CaseKey,
    CommandId,
    Document,
    EffectId,
    Instant,
    Json,
    PayloadHash,
    Revision,
    document,
)


class InteractionKind(StrEnum):
    """The shapes that a question can take (the guide, "Kinds")."""

    BOOLEAN = "boolean"
    SINGLE_SELECT = "single_select"
    MULTI_SELECT = "multi_select"
    FREEFORM = "freeform"
    REVIEW_CHANGES = "review_changes"
    CONFIRM_COMMAND = "confirm_command"
    SELECT_TARGET = "select_target"
    RESOLVE_VALIDATION_ERROR = "resolve_validation_error"
    REAUTHENTICATE = "reauthenticate"
    EXTERNAL_SIGNATURE = "external_signature"


class ActionClass(StrEnum):
    """What family of answer a stored action is (the guide, "Stored options")."""

    AUTHORISES = "authorises"
    ANSWERS = "answers"
    DECLINES = "declines"
    DISMISSES = "dismisses"


class RiskClass(StrEnum):
    """How much harm the confirmed command could do, least first."""

    READ_ONLY = "read_only"
    REVERSIBLE_LOW_RISK = "reversible_low_risk"
    SENSITIVE_DATA_CHANGE = "sensitive_data_change"
    DESTRUCTIVE = "destructive"
    IRREVERSIBLE = "irreversible"
    EXTERNAL_REGULATED = "external_regulated"


class FreeformKind(StrEnum):
    """Whether an option may, must or must not come with free text (I7.4)."""

    FORBIDDEN = "forbidden"
    OPTIONAL = "optional"
    REQUIRED = "required"


class TextResolutionKind(StrEnum):
    """Whether typed text may answer a card (T1, T2)."""

    NEVER = "never"
    MODEL_INTERPRETED_LOW_RISK = "model_interpreted_low_risk"
    EXACT_ALIASES = "exact_aliases"


@frozen(kw_only=True)
class ConfirmCommands:
    """Runs the commands that were compiled with the card, together or not at all (I14.9)."""

    kind: ClassVar[str] = "confirm_commands"
    action_class: ClassVar[ActionClass] = ActionClass.AUTHORISES
    command_refs: tuple[str, ...]


@frozen(kw_only=True)
class ApplyOperation:
    """Compiles and runs one operation; free text lands at `freeform_argument` (RFC 6901) and nowhere else (I7.4)."""

    kind: ClassVar[str] = "apply_operation"
    action_class: ClassVar[ActionClass] = ActionClass.AUTHORISES
    operation: str
    arguments: Document
    freeform_argument: str | None = None


@frozen(kw_only=True)
class SelectTarget:
    """Says which case was meant; runs no command."""

    kind: ClassVar[str] = "select_target"
    action_class: ClassVar[ActionClass] = ActionClass.ANSWERS
    case: str


@frozen(kw_only=True)
class ResolveClarification:
    """Answers a question of understanding; runs no command."""

    kind: ClassVar[str] = "resolve_clarification"
    action_class: ClassVar[ActionClass] = ActionClass.ANSWERS
    answer_key: str


@frozen(kw_only=True)
class Custom:
    """A product's own answer; runs no command."""

    kind: ClassVar[str] = "custom"
    action_class: ClassVar[ActionClass] = ActionClass.ANSWERS
    key: str
    payload: Document


@frozen(kw_only=True)
class Decline:
    """Closes the card as Declined."""

    kind: ClassVar[str] = "decline"
    action_class: ClassVar[ActionClass] = ActionClass.DECLINES


@frozen(kw_only=True)
class DeclineAndRecord:
    """Closes the card as Declined and records that with one bookkeeping operation, in the same step."""

    kind: ClassVar[str] = "decline_and_record"
    action_class: ClassVar[ActionClass] = ActionClass.DECLINES
    operation: str


@frozen(kw_only=True)
class Dismiss:
    """Closes the card as Dismissed: closed without deciding."""

    kind: ClassVar[str] = "dismiss"
    action_class: ClassVar[ActionClass] = ActionClass.DISMISSES


StoredAction: TypeAlias = (
    ConfirmCommands
    | ApplyOperation
    | SelectTarget
    | ResolveClarification
    | Custom
    | Decline
    | DeclineAndRecord
    | Dismiss
)


@frozen(kw_only=True)
class FreeformPolicy:
    """What free text an option takes; `max_length` counts Unicode code points (I7.4)."""

    kind: FreeformKind
    max_length: int | None = None


NO_TEXT = FreeformPolicy(kind=FreeformKind.FORBIDDEN)
"""The policy of an option that says nothing of free text."""


@frozen(kw_only=True)
class TextResolutionPolicy:
    """Whether typed text may answer; aliases are hints for a reader and are never matched as strings (T2)."""

    kind: TextResolutionKind
    aliases: Document | None = None


NEVER_BY_TEXT = TextResolutionPolicy(kind=TextResolutionKind.NEVER)
"""The policy of a card that says nothing of typed text (T3)."""


@frozen(kw_only=True)
class InteractionOption:
    """One legal answer: an id, a label, the stored action, and the free-text policy."""

    id: str
    label: str
    action: StoredAction
    freeform: FreeformPolicy = NO_TEXT


@frozen(kw_only=True)
class OptionView:
    """What a client sees of an option: never its action (I7.5)."""

    id: str
    label: str
    freeform: FreeformPolicy = NO_TEXT


@frozen(kw_only=True)
class ReviewEntry:
    """One proposed change on a review card."""

    field: str
    label: str
    before: Document | None = None
    after: Document | None = None


@frozen(kw_only=True)
class InteractionPayload:
    """What the card says and stores; it never changes after first display (I6.5)."""

    title: str
    body: str | None = None
    options: tuple[InteractionOption, ...]
    review_entries: tuple[ReviewEntry, ...] = ()
    freeform_prompt: str | None = None

    def option(self, option_id: str) -> InteractionOption | None:
        """Return the stored option with exactly this id, or nothing (I7.2, I7.7)."""
        return next((option for option in self.options if option.id == option_id), None)


@frozen(kw_only=True)
class PayloadView:
    """What a client sees of a payload."""

    title: str
    body: str | None = None
    options: tuple[OptionView, ...]
    review_entries: tuple[ReviewEntry, ...] = ()
    freeform_prompt: str | None = None


@frozen(kw_only=True)
class Result:
    """What a resolution gave: the same for ever, field by field (I14.2).

    `options` are those that were chosen of a `multi_select` card, in stored order; such a result has no `option`.
    """

    card: CardId
    option: str | None = None
    options: tuple[str, ...] | None = None
    command: CommandId | None = field(default=None, metadata={"lenient": True})
    effects: tuple[EffectId, ...]
    case_revision: Revision
    freeform: str | None = None


@frozen(kw_only=True, cache_hash=True)
class Interaction:
    """One durable decision that a user was asked to make (the guide, "The interaction record")."""

    id: CardId
    key: CaseKey
    conversation: str
    kind: InteractionKind
    blocking: bool
    case_revision: Revision | None
    payload: InteractionPayload
    payload_hash: PayloadHash
    text_resolution: TextResolutionPolicy
    confirms_risk: RiskClass
    created_at: Instant
    expires_at: Instant | None = None
    status: InteractionStatus = InteractionStatus.ACTIVE
    resolved_at: Instant | None = None
    resolved_option: str | None = None
    result: Result | None = None

    def overdue(self, now: Instant) -> bool:
        """Whether the card is Active past its deadline; the deadline itself is past (L7)."""
        return self.status is InteractionStatus.ACTIVE and self.is_past(now)

    def is_past(self, now: Instant) -> bool:
        """Whether the card has a deadline, and it is past."""
        return self.expires_at is not None and self.expires_at <= now


@frozen(kw_only=True)
class CardView:
    """What a client sees of a card; `case_revision` is the bound one, absent when the card is independent."""

    id: CardId
    conversation: str
    workflow: str
    case: str
    case_revision: Revision | None = None
    kind: InteractionKind
    blocking: bool
    revision_independent: bool
    status: InteractionStatus
    payload: PayloadView
    payload_hash: PayloadHash
    created_at: Instant
    expires_at: Instant | None = None
    resolved_at: Instant | None = None
    resolved_option: str | None = None


def view(interaction: Interaction) -> CardView:
    """Return what a client may see of an interaction: everything but the stored actions (I7.5)."""
    payload = interaction.payload
    return CardView(
        id=interaction.id,
        conversation=interaction.conversation,
        workflow=interaction.key.workflow,
        case=interaction.key.case,
        case_revision=interaction.case_revision,
        kind=interaction.kind,
        blocking=interaction.blocking,
        revision_independent=interaction.case_revision is None,
        status=interaction.status,
        payload=PayloadView(
            title=payload.title,
            body=payload.body,
            options=tuple(OptionView(id=o.id, label=o.label, freeform=o.freeform) for o in payload.options),
            review_entries=payload.review_entries,
            freeform_prompt=payload.freeform_prompt,
        ),
        payload_hash=interaction.payload_hash,
        created_at=interaction.created_at,
        expires_at=interaction.expires_at,
        resolved_at=interaction.resolved_at,
        resolved_option=interaction.resolved_option,
    )


WHITE_SPACE = frozenset(
    map(
        chr,
        (*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
    )
)
"""The Unicode property White_Space; `str.isspace` differs from it (I7.4)."""


def is_blank(text: str) -> bool:
    """Whether a text says nothing: it holds only Unicode White_Space (I7.4)."""
    return all(character in WHITE_SPACE for character in text)


_POINTER = re.compile(r"(/([^/~]|~[01])*)+")
_INDEX = re.compile(r"0|[1-9][0-9]{0,8}")


def place_text(arguments: Json, pointer: str, text: str) -> Json:
    """Return the arguments with the text at an RFC 6901 pointer; raise `LookupError` when its parent does not exist."""
    if _POINTER.fullmatch(pointer) is None:
        raise LookupError(f"{pointer!r} is not a JSON pointer to a place inside the arguments")
    head, slash, rest = pointer[1:].partition("/")
    token = head.replace("~1", "/").replace("~0", "~")
    if isinstance(arguments, Mapping):
        inner = place_text(arguments[token], slash + rest, text) if slash else text
        return {**arguments, token: inner}
    if not isinstance(arguments, list) or not ((token == "-" and not slash) or _INDEX.fullmatch(token)):
        raise LookupError(f"the arguments have no place {token!r} to put the text")
    index = len(arguments) if token == "-" else int(token)
    inner = place_text(arguments[index], slash + rest, text) if slash else text
    if index > len(arguments):
        raise LookupError(f"the arguments have no place {token!r} to put the text")
    return [*arguments[:index], inner, *arguments[index + 1 :]]


def final_arguments(action: StoredAction, text: str | None) -> Document | None:
    """Return what an operation is called with: the stored arguments, with the free text at its pointer (I7.1, I7.4)."""
    if not isinstance(action, ApplyOperation):
        return None
    if text is None or action.freeform_argument is None:
        return action.arguments
    return document(place_text(action.arguments.value, action.freeform_argument, text))
