"""What a client may send, what it gets back, and the gate between the two.

A client names an option of a card and the revision that it saw; it never says what the option does (I7). The gate is the
list of checks of the guide in their order: shape, ownership, status, expiry, option, revision, free text. Where the text
leaves room (a blank text, a `1.0`, an empty id), the gate gives every reading that it allows, the strict one first.
"""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar, TypeAlias
from unicodedata import normalize

from attrs import evolve, field, frozen

from keyturn.cards import (
    NO_TEXT,
    CardView,
    FreeformKind,
    FreeformPolicy,
    Interaction,
    InteractionKind,
    InteractionOption,
    Result,
    is_blank,
)
from keyturn.status import InteractionStatus
from keyturn.values import LARGEST_INTEGER, CardId, CommandId, IdempotencyKey, Revision, is_sendable


class RefusalCode(StrEnum):
    """Why an operation was refused (the guide, "Error outcomes")."""

    MALFORMED = "malformed"
    NOT_FOUND = "not_found"
    UNKNOWN_OPTION = "unknown_option"
    STALE_REVISION = "stale_revision"
    NOT_ANSWERABLE = "not_answerable"
    EXPIRED = "expired"
    UNVERIFIABLE = "unverifiable"
    UNAVAILABLE = "unavailable"
    SLOT_OCCUPIED = "slot_occupied"
    INVALID_CARD = "invalid_card"
    FREEFORM_FORBIDDEN = "freeform_forbidden"
    FREEFORM_REQUIRED = "freeform_required"
    FREEFORM_TOO_LONG = "freeform_too_long"
    CONFLICT = "conflict"


class FailureCode(StrEnum):
    """Why a command that was accepted did not commit."""

    COMMAND_FAILED = "command_failed"
    REVISION_CONFLICT = "revision_conflict"


@frozen(kw_only=True)
class Presented:
    """The card is written, and can be mentioned (I6.1); `invalidated` is a set."""

    outcome: ClassVar[str] = "presented"
    card: CardView
    invalidated: tuple[CardId, ...] = field(metadata={"unordered": True})


@frozen(kw_only=True)
class Found:
    """The card that was asked for."""

    outcome: ClassVar[str] = "found"
    card: CardView


@frozen(kw_only=True)
class Accepted:
    """The answer was taken; its command is in flight."""

    outcome: ClassVar[str] = "accepted"
    command: CommandId
    idempotency_key: IdempotencyKey | None = field(default=None, metadata={"lenient": True})


@frozen(kw_only=True)
class InFlight:
    """An answer was taken before, and its command has not ended (I14.3)."""

    outcome: ClassVar[str] = "in_flight"
    command: CommandId
    idempotency_key: IdempotencyKey | None = field(default=None, metadata={"lenient": True})


@frozen(kw_only=True)
class Resolved:
    """The answer was taken and its command committed, or it needed none."""

    outcome: ClassVar[str] = "resolved"
    result: Result


@frozen(kw_only=True)
class Declined:
    """The card was declined."""

    outcome: ClassVar[str] = "declined"
    result: Result


@frozen(kw_only=True)
class Dismissed:
    """The card was closed without deciding."""

    outcome: ClassVar[str] = "dismissed"
    result: Result


@frozen(kw_only=True)
class Replayed:
    """A card that was resolved before answers with its original result (I14.2)."""

    outcome: ClassVar[str] = "replayed"
    result: Result


@frozen(kw_only=True)
class Failed:
    """The command did not commit, and policy recorded that."""

    outcome: ClassVar[str] = "failed"
    code: FailureCode


@frozen(kw_only=True)
class Restored:
    """The command did not commit, and policy lets the user try again."""

    outcome: ClassVar[str] = "restored"
    code: FailureCode


@frozen(kw_only=True)
class Rejected:
    """A refusal: nothing ran. `current_card` may name an open card that the asker can read (I6.1)."""

    outcome: ClassVar[str] = "rejected"
    code: RefusalCode
    current_card: CardId | None = field(default=None, metadata={"mention": True})


Settled: TypeAlias = Resolved | Failed | Restored


@frozen(kw_only=True)
class Response:
    """All that a client may send: the InteractionResponse of the guide; a `multi_select` card takes `option_ids`."""

    interaction_id: str
    option_id: str | None = None
    option_ids: tuple[str, ...] | None = None
    expected_case_revision: int | None = None
    freeform_input: str | None = None

    def chosen_of(self, kind: InteractionKind) -> tuple[str, ...] | None:
        """Return the ids that were chosen of a card of this kind; nothing when the response has none for it."""
        if kind is InteractionKind.MULTI_SELECT:
            return self.option_ids
        return None if self.option_id is None else (self.option_id,)


_OF_EVERY_RESPONSE = frozenset(("interaction_id", "expected_case_revision", "freeform_input"))


LARGEST_RESPONSE = 64 * 1024
"""Past so many bytes a system may take a response for malformed (the protocol, "Details")."""


def _is_too_large(sent: object) -> bool:
    return len(json.dumps(sent, ensure_ascii=False).encode()) > LARGEST_RESPONSE


DEEPEST_RESPONSE = 64
"""Past so many objects and lists inside each other a system need not read a response."""


def need_not_be_read(sent: object) -> bool:
    """Whether a response is beyond what a system must be able to read: an error of the conversation is as good as a refusal."""
    return not is_sendable(sent) or _is_too_large(sent) or _is_too_deep(sent)


def _is_too_deep(sent: object) -> bool:
    level: list[object] = [sent]
    for _ in range(DEEPEST_RESPONSE + 1):
        nested = [each for each in level if isinstance(each, Mapping | list | tuple)]
        level = [inner for each in nested for inner in (each.values() if isinstance(each, Mapping) else each)]
        if not nested:
            return False
    return True


def readings(sent: object) -> tuple[Response | None, ...]:
    """Return every admissible reading of what a client sent, the strictest first; nothing stands for `malformed`.

    A clear response has one reading and a clearly malformed one has the reading `None`; extra fields, an empty id, `1.0`
    and a revision out of range have both (I7.3, I19.6).
    """
    if not isinstance(sent, Mapping):
        return (None,)
    card, option, options = sent.get("interaction_id"), sent.get("option_id"), sent.get("option_ids")
    revision, text = sent.get("expected_case_revision"), sent.get("freeform_input")
    number = int(revision) if isinstance(revision, float) and revision.is_integer() else revision
    if isinstance(number, bool) or not (number is None or isinstance(number, int)):
        return (None,)
    if not (isinstance(card, str) and isinstance(option, str | None) and isinstance(text, str | None)):
        return (None,)
    chosen = _set_of_ids(options)
    if (option is None and chosen is None) or not is_sendable(sent):
        return (None,)
    read = Response(
        interaction_id=card,
        option_id=option,
        option_ids=chosen,
        expected_case_revision=number,
        freeform_input=text,
    )
    out_of_range = number is not None and not 1 <= number <= LARGEST_INTEGER
    if "" in (card, option, *(chosen or ())) or isinstance(revision, float) or out_of_range:
        return (None, read)
    return (read,) if not has_more(sent) and not _is_too_large(sent) else (read, None)


def named_card(sent: object) -> str | None:
    """Return the id of the card that something sent names, in every reading of it; nothing when it is malformed."""
    return next((each.interaction_id for each in readings(sent) if each is not None), None)


def _set_of_ids(sent: object) -> tuple[str, ...] | None:
    """Return the ids of a set, possibly empty; nothing for what is no list of ids, or names one twice."""
    if not isinstance(sent, list | tuple) or not all(isinstance(each, str) for each in sent):
        return None
    return tuple(sent) if len(set(sent)) == len(sent) else None


def has_more(sent: object) -> bool:
    """Whether a client sent more than the fields of a response, of which either names options (I7.3)."""
    if not isinstance(sent, Mapping):
        return False
    named = "option_ids" if sent.get("option_id") is None else "option_id"
    return not sent.keys() <= _OF_EVERY_RESPONSE | {named, "option_id"}


def alike(stored: str, sent: str) -> bool:
    """Whether two different ids could be taken for the same by a comparison that is not exact (I7.7)."""
    one, other = (normalize("NFKC", each).casefold().strip() for each in (stored, sent))
    return one == other or (bool(other) and one.startswith(other))


def policy_of(interaction: Interaction, response: Response) -> FreeformPolicy | None:
    """Return what free text a response may bring: that of the option, none with a set; nothing for unknown options."""
    chosen = options_of(interaction, response)
    if chosen is None:
        return None
    return NO_TEXT if interaction.kind is InteractionKind.MULTI_SELECT else chosen[0].freeform


def options_of(interaction: Interaction, response: Response) -> tuple[InteractionOption, ...] | None:
    """Return the stored options that a response chooses, in stored order; nothing when one is not stored (I7.2)."""
    ids = response.chosen_of(interaction.kind)
    options = interaction.payload.options
    if ids is None or not {each.id for each in options}.issuperset(ids):
        return None
    return tuple(each for each in options if each.id in ids)


def texts(policy: FreeformPolicy, response: Response) -> tuple[str | None, ...]:
    """Return the admissible readings of the free text: blank text is no text, but may be refused (I7.4)."""
    text = response.freeform_input
    if text is None or not is_blank(text):
        return (text,)
    return (None, text) if policy.kind is FreeformKind.FORBIDDEN else (None,)


def refusal_of_text(policy: FreeformPolicy, text: str | None) -> RefusalCode | None:
    """Return why a policy does not take this text, or nothing; length counts code points (I7.4)."""
    if policy.kind is FreeformKind.FORBIDDEN:
        return None if text is None else RefusalCode.FREEFORM_FORBIDDEN
    if text is None:
        return RefusalCode.FREEFORM_REQUIRED if policy.kind is FreeformKind.REQUIRED else None
    if policy.max_length is not None and len(text) > policy.max_length:
        return RefusalCode.FREEFORM_TOO_LONG
    return None


@frozen
class Refusal:
    """A check that fails: its code, and the requirements that demand it."""

    code: RefusalCode
    because: frozenset[str]


def failing_checks(
    interaction: Interaction, response: Response, current: Revision, now: int, *, revisions: bool
) -> tuple[Refusal, ...]:
    """Return every check after ownership and status that fails, in the order of the text.

    `current` is the case's revision; `revisions` says whether revisions are judged at all.
    """
    policy = policy_of(interaction, response)
    refused = None if policy is None else refusal_of_text(policy, response.freeform_input)
    return (
        *_late(interaction, now),
        *(() if policy is not None else (_unknown(interaction, response),)),
        *_stale(interaction, response.expected_case_revision, current, revisions=revisions),
        *(() if refused is None else (Refusal(refused, frozenset({"I7.4"})),)),
    )


def failing_to_dismiss(
    interaction: Interaction, expected: int | None, current: Revision, now: int, *, revisions: bool
) -> tuple[Refusal, ...]:
    """Return every check of a dismissal that fails: those of a response, without option and free text."""
    return (*_late(interaction, now), *_stale(interaction, expected, current, revisions=revisions))


def _unknown(interaction: Interaction, response: Response) -> Refusal:
    sent = response.chosen_of(interaction.kind) or ()
    stored = {each.id for each in interaction.payload.options}
    near = any(alike(each, other) for each in stored for other in sent if other not in stored)
    return Refusal(RefusalCode.UNKNOWN_OPTION, frozenset({"I7.2", "I7.7"} if near else {"I7.2"}))


def _late(interaction: Interaction, now: int) -> tuple[Refusal, ...]:
    late = interaction.expires_at is not None and interaction.expires_at <= now
    return (Refusal(RefusalCode.EXPIRED, frozenset({"I19.5"})),) if late else ()


def _stale(
    interaction: Interaction, expected: int | None, current: Revision, *, revisions: bool
) -> tuple[Refusal, ...]:
    bound = interaction.case_revision
    if not revisions or bound is None or expected == current == bound:
        return ()
    ids = {"I13.1"} if expected != bound else set()
    ids |= {"I13.3"} if current != bound else set()
    ids |= {"I13.6"} if current != bound and interaction.status is InteractionStatus.ACTIVE else set()
    ids |= {"I13.2"} if expected == current != bound else set()
    return (Refusal(RefusalCode.STALE_REVISION, frozenset(ids)),)


def with_text(response: Response, text: str | None) -> Response:
    """Return the response with its free text as it was read."""
    return evolve(response, freeform_input=text)


NEVER_ON_RESOLVED = frozenset({RefusalCode.EXPIRED, RefusalCode.STALE_REVISION})
"""Codes that a second answer to a Resolved card never gets: its own commit moved the revision (I14.2)."""
