"""Cards, operations and a store for the tests of the kernel and of the specifications, in few words."""

from collections.abc import Mapping
from typing import Literal, TypeVar

from hypothesis import settings

from keyturn import operations as ops
from keyturn.branches import Branch, Outcome, Unheard
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.cards import (
    NO_TEXT,
    ApplyOperation,
    ConfirmCommands,
    Decline,
    DeclineAndRecord,
    Dismiss,
    FreeformKind,
    FreeformPolicy,
    Interaction,
    InteractionKind,
    InteractionOption,
    InteractionPayload,
    SelectTarget,
    StoredAction,
)
from keyturn.operations import Effect, LedgerEntry
from keyturn.responses import Accepted, Presented
from keyturn.status import InteractionStatus
from keyturn.store import ReferenceStore, State, possibilities
from keyturn.values import CardId, CaseKey, CommandId, Instant, Revision, Untrusted, document

T = TypeVar("T")

# Every run of a property draws the same examples, so that a failure is the same failure everywhere.
FEW = settings(max_examples=50, deadline=None, database=None, derandomize=True)

CASE = CaseKey("acme", "claims", "case-1")
CHAT = "chat-1"
NOON = "2026-01-01T12:00:00Z"
NOON_INSTANT = Instant(1_767_268_800_000)

UNORDERED = ALL_CLAIMS - {Capability.ORDERED_CHECKS}
AT_ONCE = ALL_CLAIMS - {Capability.DEFERRED}
WITHOUT_REPLAY = ALL_CLAIMS - {Capability.REPLAY}
WITHOUT_REVISIONS = ALL_CLAIMS - {Capability.REVISIONS, Capability.INDEPENDENT}

LONGEST_TEXT = 5
PAY = ApplyOperation(operation="pay", arguments=document({"amount": 5}))
EXPLAIN = ApplyOperation(operation="pay", arguments=document({"reason": None}), freeform_argument="/reason")
BOTH = ConfirmCommands(command_refs=("mail", "file"))
TARGET = SelectTarget(case="case-9")


def takes_text(kind: FreeformKind = FreeformKind.OPTIONAL) -> FreeformPolicy:
    """A policy that takes up to `LONGEST_TEXT` code points."""
    return FreeformPolicy(kind=kind, max_length=LONGEST_TEXT)


def option(name: str, action: StoredAction, freeform: FreeformPolicy = NO_TEXT) -> InteractionOption:
    """An option with a label that says nothing."""
    return InteractionOption(id=name, label="Label", action=action, freeform=freeform)


# One option of every class, so that a test only has to name the one that it chooses.
YES = option("yes", PAY)
NO = option("no", Decline(), takes_text())
OPTIONS = (
    YES,
    option("both", BOTH),
    option("explain", EXPLAIN, takes_text(FreeformKind.REQUIRED)),
    option("pick", TARGET),
    NO,
    option("record", DeclineAndRecord(operation="note_refusal")),
    option("later", Dismiss()),
)


def payload(*options: InteractionOption, prompt: str | None = None) -> InteractionPayload:
    """A payload with these options, or with one of every class."""
    return InteractionPayload(title="Title", options=options or OPTIONS, freeform_prompt=prompt)


def present(
    *options: InteractionOption,
    kind: InteractionKind = InteractionKind.SINGLE_SELECT,
    blocking: bool = False,
    independent: bool = False,
    key: CaseKey = CASE,
    conversation: str = CHAT,
    expires_in: float | None = None,
    on_occupied: Literal["refuse", "replace"] = "refuse",
    for_revision: int | None = None,
) -> ops.CardPresent:
    """The presenting of a card, by default a bound one with an option of every class that does not block."""
    return ops.CardPresent(
        account=key.account,
        workflow=key.workflow,
        case=key.case,
        conversation=conversation,
        kind=kind,
        blocking=blocking,
        revision_independent=independent,
        for_revision=None if for_revision is None else Revision(for_revision),
        payload=payload(*options),
        expires_in=expires_in,
        on_occupied=on_occupied,
    )


def respond(sent: object, *, account: str = CASE.account, conversation: str = CHAT) -> ops.CardRespond:
    """A response of any shape, by default from the owner of the cards."""
    return ops.CardRespond(account=account, conversation=conversation, response=Untrusted(sent))


def sent(
    card: str, chosen: str = "yes", *, revision: object = 1, text: object = None, **more: object
) -> Mapping[str, object]:
    """What a client sends, by default against the first revision."""
    body: dict[str, object] = {"interaction_id": card, "option_id": chosen, **more}
    if revision is not None:
        body["expected_case_revision"] = revision
    if text is not None:
        body["freeform_input"] = text
    return body


def answer(card: str, chosen: str = "yes", *, revision: object = 1, text: object = None) -> ops.CardRespond:
    """A well-formed response of the owner."""
    return respond(sent(card, chosen, revision=revision, text=text))


def dismiss(
    card: str, *, revision: int | None = 1, account: str = CASE.account, conversation: str = CHAT
) -> ops.CardDismiss:
    """The dismissal of a card, by default by its owner against the first revision."""
    return ops.CardDismiss(
        account=account,
        conversation=conversation,
        card=CardId(card),
        expected_case_revision=None if revision is None else Revision(revision),
    )


def settle(
    command: str,
    result: Literal["committed", "failed"] = "committed",
    on_failure: Literal["record", "restore"] = "record",
) -> ops.CommandSettle:
    """How a command is said to end."""
    return ops.CommandSettle(command=CommandId(command), result=result, on_failure=on_failure)


def open_case(key: CaseKey = CASE) -> ops.CaseOpen:
    """The opening of a case."""
    return ops.CaseOpen(account=key.account, workflow=key.workflow, case=key.case)


def edit_case(key: CaseKey = CASE) -> ops.CaseEdit:
    """The editing of a case."""
    return ops.CaseEdit(account=key.account, workflow=key.workflow, case=key.case)


def close_case(key: CaseKey = CASE) -> ops.CaseClose:
    """The closing of a case."""
    return ops.CaseClose(account=key.account, workflow=key.workflow, case=key.case)


def withdraw(key: CaseKey = CASE, *, code: str = "duplicate") -> ops.CardWithdraw:
    """The withdrawal of the cards of a case."""
    return ops.CardWithdraw(account=key.account, workflow=key.workflow, case=key.case, code=code)


def get(card: str, *, account: str = CASE.account, conversation: str = CHAT) -> ops.CardGet:
    """The reading of a card, by default by its owner."""
    return ops.CardGet(account=account, conversation=conversation, card=CardId(card))


def wording(outcome: Outcome | Unheard) -> str:
    """An outcome as the tables of the specification write it."""
    name: str = getattr(outcome, "outcome", type(outcome).__name__)
    code: str | None = getattr(outcome, "code", None)
    return name if code is None else f"{name}: {code}"


def wordings(branches: tuple[Branch, ...]) -> tuple[str, ...]:
    """The outcomes of branches, each once, in their order."""
    return tuple(dict.fromkeys(wording(each.outcome) for each in branches))


class Desk(ReferenceStore):
    """A reference store with one open case, and short ways to do things and to look at them."""

    def __init__(self, claims: Claims = ALL_CLAIMS) -> None:
        super().__init__(claims)
        self.perform(ops.Reset(now=NOON_INSTANT))
        self.perform(open_case())

    def expect(self, kind: type[T], operation: ops.Operation) -> T:
        """Perform an operation that must end with this kind of outcome."""
        outcome = self.perform(operation)
        assert isinstance(outcome, kind), outcome
        return outcome

    def write(self, operation: ops.CardPresent | None = None) -> CardId:
        """Present a card that must be written, by default the plain one, and return its id."""
        return self.expect(Presented, operation or present()).card.id

    def accept(self, card: str, chosen: str = "yes", *, revision: object = 1) -> CommandId:
        """Answer a card so that a command is in flight, and return its id."""
        return self.expect(Accepted, answer(card, chosen, revision=revision)).command

    def edit(self, key: CaseKey = CASE) -> ops.CaseEdited:
        """Move the revision of a case."""
        return self.expect(ops.CaseEdited, edit_case(key))

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self.perform(ops.ClockAdvance(seconds=seconds))

    def may(self, operation: ops.Operation) -> tuple[Branch, ...]:
        """Everything that may happen now."""
        return tuple(each.branch for each in possibilities(self.state, operation, self.claims))

    def take(self, branch: Branch) -> None:
        """Let a branch come true, also one that the reference would not choose."""
        self.state = State(branch.world, self.state.history.after(branch.happened, branch.outcome))

    def outcomes(self, operation: ops.Operation) -> tuple[str, ...]:
        """Every outcome that may come now, in words, each once and in their order."""
        return wordings(self.may(operation))

    def interaction(self, card: str) -> Interaction:
        """The stored card."""
        found = self.state.world.interaction(card)
        assert found is not None
        return found

    def status(self, card: str) -> InteractionStatus:
        """The status of a stored card."""
        return self.interaction(card).status

    def revision(self, key: CaseKey = CASE) -> int:
        """The revision of a case."""
        return self.state.world.revision(key)

    def entries(self, card: str | None = None) -> tuple[LedgerEntry, ...]:
        """The ledger, or the entries of one card."""
        return tuple(
            each for batch in self.state.history.batches for each in batch if card is None or each.card == card
        )

    def events(self, card: str) -> list[str]:
        """What happened to a card."""
        return [each.event.value for each in self.entries(card)]

    def effects_of_case(self, key: CaseKey = CASE) -> tuple[Effect, ...]:
        """The effects of a case."""
        return self.state.effects_of(key)


def settled(desk: Desk, card: str, chosen: str = "yes", *, revision: object = 1) -> CommandId:
    """Answer a card and let its command commit."""
    command = desk.accept(card, chosen, revision=revision)
    desk.perform(settle(command))
    return command
