"""Programs for two stores: steps that name cards and commands by when they were seen, so that any order of them makes sense.

A step becomes an operation when it meets what was seen so far. Steps are drawn so that most answers are right, because only
what is taken leads further, and every kind of wrong answer is among the rest.
"""

from collections.abc import Callable
from typing import Literal, Protocol, cast

from attrs import field, frozen
from hypothesis import strategies as st

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.cards import CardView
from keyturn.responses import Accepted, Presented
from keyturn.values import CardId, CommandId, Instant, Json, Revision, Untrusted
from keyturn.wire import read_operation

NOW = Instant(1_767_225_600_000)
ACCOUNTS, CONVERSATIONS, CASES = ("anna", "bert"), ("phone", "desk"), ("trip", "visa")
KEYS = tuple((account, "travel", case) for account in ACCOUNTS for case in CASES)
BIG_TEXT = "a text that is too long"

NOTE: dict[str, Json] = {"kind": "optional", "max_length": 8}
PAY: dict[str, Json] = {
    "kind": "apply_operation",
    "operation": "pay",
    "arguments": {"sum": 1.5, "to": ["é"]},
    "freeform_argument": "/note",
}
PAYLOADS: dict[str, tuple[str, dict[str, Json]]] = {
    "confirm": (
        "confirm_command",
        {
            "title": "Pay?",
            "body": "Once.",
            "options": [
                {"id": "pay", "label": "Pay", "action": PAY, "freeform": NOTE},
                {"id": "both", "label": "Both", "action": {"kind": "confirm_commands", "command_refs": ["one", "two"]}},
                {"id": "no", "label": "No", "action": {"kind": "decline"}, "freeform": NOTE},
                {"id": "never", "label": "Never", "action": {"kind": "decline_and_record", "operation": "remember"}},
                {"id": "later", "label": "Later", "action": {"kind": "dismiss"}},
            ],
        },
    ),
    "choose": (
        "single_select",
        {
            "title": "Which?",
            "options": [
                {"id": "pay", "label": "This", "action": {"kind": "select_target", "case": "trip"}},
                {
                    "id": "both",
                    "label": "That",
                    "action": {"kind": "custom", "key": "k", "payload": {"deep": [None, True]}},
                },
                {
                    "id": "no",
                    "label": "Other",
                    "action": {"kind": "resolve_clarification", "answer_key": "other"},
                    "freeform": {"kind": "required", "max_length": 8},
                },
            ],
        },
    ),
    "review": (
        "review_changes",
        {
            "title": "Change?",
            "review_entries": [{"field": "seat", "label": "Seat", "before": 1, "after": {"row": "A"}}],
            "options": [
                {
                    "id": "pay",
                    "label": "Do",
                    "action": {"kind": "apply_operation", "operation": "move", "arguments": [1]},
                },
                {"id": "later", "label": "Later", "action": {"kind": "dismiss"}},
            ],
        },
    ),
    "several": (
        "multi_select",
        {
            "title": "Which ones?",
            "options": [
                {"id": each, "label": each, "action": {"kind": "resolve_clarification", "answer_key": each}}
                for each in ("pay", "both", "no")
            ],
        },
    ),
    "unanswerable": ("boolean", {"title": "?", "options": []}),
}

MALFORMED: tuple[object, ...] = (
    None,
    3,
    [],
    {},
    "yes",
    {"interaction_id": 3},
    {"interaction_id": "\ud800", "option_id": "pay"},
)


@frozen
class Seen:
    """What the outcomes of a program have named so far."""

    cards: list[tuple[ops.CardPresent, CardView]] = field(factory=list)
    commands: list[CommandId] = field(factory=list)
    states: list[Untrusted] = field(factory=list)

    def note(self, operation: ops.Operation, outcome: Outcome) -> None:
        """Remember the ids of an outcome."""
        if isinstance(operation, ops.CardPresent) and isinstance(outcome, Presented):
            self.cards.append((operation, outcome.card))
        if isinstance(outcome, Accepted):
            self.commands.append(outcome.command)
        if isinstance(outcome, ops.Exported):
            self.states.append(outcome.state)


class Step(Protocol):
    """A step of a program."""

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the operation that it is after what was seen."""
        ...


@frozen
class Plain:
    """A step that is the same whatever was seen."""

    operation: ops.Operation

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the operation."""
        return self.operation


@frozen(kw_only=True)
class Answer:
    """An answer to a card that was seen, or to one that was not, in the ways that people and machines get them wrong."""

    back: int
    option: str
    revision: Literal["bound", "next", "none", "zero", "true", "float", "text"] = "bound"
    text: str | None = None
    owner: Literal["own", "account", "conversation"] = "own"
    extra: bool = False

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the answer to the card that was seen `back` cards ago."""
        if self.back >= len(seen.cards):
            response: dict[str, object] = {"interaction_id": f"card-{10**9}", "option_id": self.option}
            return ops.CardRespond(account="anna", conversation="phone", response=Untrusted(response))
        operation, card = seen.cards[-1 - self.back]
        bound = card.case_revision or 1
        revisions = {"bound": bound, "next": bound + 1, "none": None, "zero": 0, "true": True, "float": float(bound)}
        response = {"interaction_id": card.id, "option_id": self.option}
        response |= {"expected_case_revision": revisions.get(self.revision, "1"), "freeform_input": self.text}
        response |= {"action": {"kind": "dismiss"}} if self.extra else {}
        account = "nobody" if self.owner == "account" else operation.account
        conversation = "nowhere" if self.owner == "conversation" else operation.conversation
        return ops.CardRespond(account=account, conversation=conversation, response=Untrusted(response))


@frozen(kw_only=True)
class Look:
    """A read of a card that was seen, by its owner or by somebody else."""

    back: int
    account: str | None = None

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the read of the card that was seen `back` cards ago."""
        operation, card = seen.cards[-1 - self.back % len(seen.cards)] if seen.cards else (None, None)
        owner = operation.account if operation is not None else "anna"
        conversation = operation.conversation if operation is not None else "phone"
        name = card.id if card is not None else "card-0"
        return read_operation(
            "card.get", {"account": self.account or owner, "conversation": conversation, "card": name}
        )


@frozen(kw_only=True)
class Close:
    """A dismissal of a card that was seen, or of one that was not."""

    back: int
    revision: Literal["bound", "next", "none", "zero"] = "bound"
    owner: Literal["own", "account", "conversation"] = "own"

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the dismissal of the card that was seen `back` cards ago."""
        if self.back >= len(seen.cards):
            return ops.CardDismiss(account="anna", conversation="phone", card=CardId(f"card-{10**9}"))
        operation, card = seen.cards[-1 - self.back]
        bound = card.case_revision or 1
        revision = {"bound": bound, "next": bound + 1, "none": None, "zero": 0}[self.revision]
        return ops.CardDismiss(
            account="nobody" if self.owner == "account" else operation.account,
            conversation="nowhere" if self.owner == "conversation" else operation.conversation,
            card=card.id,
            expected_case_revision=None if revision is None else Revision(revision),
        )


@frozen(kw_only=True)
class Settle:
    """A settlement of a command that was seen, or of one that was not."""

    back: int
    result: Literal["committed", "failed"]
    on_failure: Literal["record", "restore"]

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the settlement of the command that was seen `back` commands ago."""
        name = seen.commands[-1 - self.back] if self.back < len(seen.commands) else CommandId("command-0")
        return ops.CommandSettle(command=name, result=self.result, on_failure=self.on_failure)


owners = st.fixed_dictionaries({"account": st.sampled_from(ACCOUNTS), "conversation": st.sampled_from(CONVERSATIONS)})
KEY_PARAMS = [dict(zip(("account", "workflow", "case"), key, strict=True)) for key in KEYS]
keys = st.sampled_from(KEY_PARAMS)
THE_CASE: dict[str, Json] = {"account": "anna", "workflow": "travel", "case": "trip"}
# Most cards of a program are of one case.
likely_keys = st.sampled_from([THE_CASE, THE_CASE, THE_CASE, *KEY_PARAMS])


def presents(name: str, **params: Json) -> Step:
    """A card to present, blocking and bound unless it is said otherwise."""
    kind, payload = PAYLOADS[name]
    rest: dict[str, Json] = {
        "blocking": True,
        "revision_independent": False,
        "on_occupied": "replace",
        "conversation": "phone",
    }
    return Plain(read_operation("card.present", {**THE_CASE, **rest, "kind": kind, "payload": payload, **params}))


presentations = st.builds(
    lambda name, key, params: presents(name, **key, **params),
    st.sampled_from(["confirm", *PAYLOADS]),
    likely_keys,
    st.fixed_dictionaries(
        {
            "conversation": st.sampled_from(CONVERSATIONS),
            "blocking": st.sampled_from([True, False]),
            "revision_independent": st.sampled_from([False, False, True]),
            "for_revision": st.sampled_from([None, None, None, 1, 2]),
            "expires_in": st.sampled_from([None, None, 0.0, 0.5, 60]),
            "on_occupied": st.sampled_from(["replace", "refuse"]),
            "confirms_risk": st.sampled_from([None, "read_only"]),
            "text_resolution": st.sampled_from([None, {"kind": "exact_aliases", "aliases": {"pay": ["ok"]}}]),
        }
    ),
)


def _plain(method: str, params: st.SearchStrategy[object]) -> st.SearchStrategy[Step]:
    return params.map(lambda given: Plain(read_operation(method, cast(Json, given))))


options = st.sampled_from(["pay", "both", "no", "never", "later"])
answers = st.builds(Answer, back=st.integers(0, 1), option=options)
wrong_answers = st.builds(
    Answer,
    back=st.integers(0, 4),
    option=st.one_of(options, st.sampled_from(["Pay", "missing", ""])),
    revision=st.sampled_from(["bound", "next", "none", "zero", "true", "float", "text"]),
    text=st.sampled_from([None, "", " ", "short", BIG_TEXT]),
    owner=st.sampled_from(["own", "own", "account", "conversation"]),
    extra=st.booleans(),
)
closes = st.builds(
    Close,
    back=st.integers(0, 3),
    revision=st.sampled_from(["bound", "bound", "next", "none", "zero"]),
    owner=st.sampled_from(["own", "own", "account", "conversation"]),
)
malformed = st.sampled_from(MALFORMED).map(
    lambda sent: Plain(ops.CardRespond(account="anna", conversation="phone", response=Untrusted(sent)))
)
results = st.sampled_from(["committed", "committed", "failed"])
policies = st.sampled_from(["record", "restore"])
settlements = st.builds(Settle, back=st.integers(0, 2), result=results, on_failure=policies)
next_results = st.fixed_dictionaries({"result": results, "on_failure": policies})
looks = st.builds(Look, back=st.integers(0, 6), account=st.sampled_from([None, None, "nobody"]))
seconds = st.sampled_from([0.4, 0.6, 61]).map(lambda each: Plain(ops.ClockAdvance(seconds=each)))
withdrawals = _plain(
    "card.withdraw", st.sampled_from([{**key, "code": "a copy"} for key in [*KEY_PARAMS[:1] * 3, *KEY_PARAMS]])
)
# Drawn in two steps, because `one_of` dissolves what it is given, and the many rare steps would outweigh the few likely ones.
rest: tuple[st.SearchStrategy[Step], ...] = (
    *(_plain(method, keys) for method in ("case.open", "case.edit", "effects", "ledger")),
    *(_plain("card.list", owners), _plain("command.next", next_results), malformed, seconds),
    *(st.just(Plain(each)) for each in (ops.CardExpireDue(), ops.Restart(), ops.ReadMetrics())),
    *(_plain("case.close", likely_keys), _plain("case.open", likely_keys), withdrawals),
    *(looks, closes, wrong_answers, wrong_answers, _plain("case.edit", likely_keys)),
)
likely: tuple[st.SearchStrategy[Step], ...] = (presentations, answers, settlements)
steps: st.SearchStrategy[Step] = st.sampled_from([likely, likely, rest]).flatmap(
    lambda among: st.sampled_from(among).flatmap(lambda chosen: chosen)
)
programs = st.lists(steps, min_size=10, max_size=50)

Perform = Callable[[ops.Operation], Outcome]


def start(perform: Perform) -> None:
    """Begin anew: the clock, and three open cases."""
    perform(ops.Reset(now=NOW))
    for account, workflow, case in KEYS[:3]:
        perform(ops.CaseOpen(account=account, workflow=workflow, case=case))


def _answer(option: str, **how: str) -> Answer:
    return Answer(back=0, option=option, **how)  # type: ignore[arg-type]  # the literals are checked by what they do


def _settle(result: Literal["committed", "failed"], on_failure: Literal["record", "restore"] = "record") -> Settle:
    return Settle(back=0, result=result, on_failure=on_failure)


EDIT, LATER = Plain(read_operation("case.edit", THE_CASE)), Plain(ops.ClockAdvance(seconds=61))
OPEN, CLOSE = (Plain(read_operation(f"case.{each}", THE_CASE)) for each in ("open", "close"))
WITHDRAW = Plain(read_operation("card.withdraw", {**THE_CASE, "code": "a copy"}))
COMMIT, FAIL, RESTORE = _settle("committed"), _settle("failed"), _settle("failed", "restore")

DIRECTED: dict[str, tuple[Step, ...]] = {
    "once": (presents("confirm"), _answer("both"), _answer("both"), COMMIT, COMMIT, RESTORE, _answer("pay")),
    "text": (
        *(
            presents("confirm"),
            _answer("pay", text=BIG_TEXT),
            _answer("both", text="no"),
            _answer("pay", text="a note"),
        ),
        *(COMMIT, presents("choose"), _answer("no"), _answer("no", text="else"), _answer("both")),
    ),
    "restored": (presents("confirm"), _answer("pay"), RESTORE, _answer("no"), _answer("no"), FAIL),
    "failed": (presents("confirm"), _answer("pay"), FAIL, _answer("pay")),
    "moved": (
        *(presents("confirm"), _answer("pay"), EDIT, COMMIT, presents("confirm"), _answer("pay"), EDIT),
        *(_settle("committed", "restore"), presents("review"), EDIT, _answer("pay"), _answer("pay", revision="next")),
    ),
    "declined": (
        presents("confirm"),
        presents("choose", blocking=False),
        _answer("pay"),
        presents("confirm"),
        _answer("never"),
    ),
    "dismissed": (presents("review"), _answer("later"), _answer("later"), _answer("pay")),
    "dismissed from outside": (
        *(presents("confirm"), Close(back=0, revision="next"), Close(back=0), Close(back=0), _answer("later")),
        *(presents("review"), _answer("pay"), Close(back=0), COMMIT, Close(back=0), presents("confirm"), EDIT),
        *(Close(back=0), presents("choose", revision_independent=True), EDIT, Close(back=0, revision="none")),
    ),
    "closed": (
        *(presents("confirm"), presents("review", blocking=False, revision_independent=True), CLOSE, CLOSE),
        *(presents("confirm"), _answer("later"), EDIT, WITHDRAW, OPEN, presents("confirm"), _answer("pay"), CLOSE),
        *(Plain(ops.Restart()), COMMIT, OPEN, presents("confirm"), WITHDRAW, presents("confirm"), _answer("pay")),
        *(CLOSE, RESTORE, presents("confirm"), OPEN, presents("choose", revision_independent=True), _answer("both")),
    ),
    "made from a revision": (
        *(presents("confirm", for_revision=1), EDIT, presents("confirm", for_revision=1)),
        *(presents("unanswerable", for_revision=1), presents("review", for_revision=1, revision_independent=True)),
        *(
            presents("confirm", for_revision=1, on_occupied="refuse"),
            presents("confirm", for_revision=2),
            _answer("pay"),
        ),
    ),
    "occupied": (presents("confirm"), presents("review"), presents("confirm", on_occupied="refuse"), _answer("pay")),
    "in flight": (presents("confirm"), _answer("pay"), presents("confirm"), Plain(ops.Restart()), COMMIT),
    "overdue": (
        *(presents("confirm", expires_in=60), LATER, _answer("pay"), presents("confirm", expires_in=60), LATER),
        *(Plain(ops.CardExpireDue()), _answer("pay"), Plain(ops.CardExpireDue())),
    ),
    "overdue to the moment": (presents("confirm", expires_in=61), LATER, Plain(ops.CardExpireDue())),
    "overdue, the younger first": (
        *(presents("confirm", expires_in=60, blocking=False), presents("review", expires_in=0.5, blocking=False)),
        *(LATER, Plain(ops.CardExpireDue())),
    ),
    "overdue occupant": (presents("confirm", expires_in=60), LATER, presents("review", expires_in=60), LATER, EDIT),
    "refused": (
        *(presents("unanswerable"), presents("confirm"), _answer("missing"), _answer("pay", revision="next")),
        *(_answer("pay", owner="account"), _answer("pay", owner="conversation"), _answer("pay", revision="true")),
    ),
    "at once": (
        *(Plain(read_operation("command.next", {"result": "failed", "on_failure": "restore"})), presents("confirm")),
        *(_answer("pay"), _answer("both"), _answer("pay")),
    ),
}
"""Programs that reach every status and every code on purpose; the drawn ones only happen to."""
