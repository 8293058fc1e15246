"""Programs in which things go wrong: faults are armed and met, hosts keep and restore states, and sets are answered.

The steps stand beside those of `programs`, and are drawn among them; every fault may be armed at any time, also several.
"""

from typing import Literal

from attrs import frozen
from hypothesis import strategies as st

from keyturn import operations as ops
from keyturn.faults import OF_A_CARD, FaultKind
from keyturn.values import CardId, Untrusted

from . import programs as sound
from .programs import COMMIT, EDIT, LATER, RESTORE, Answer, Close, Plain, Seen, Step, presents


@frozen
class Arm:
    """A fault that is armed, for a card that was seen where it needs one."""

    fault: FaultKind
    back: int = 0

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the arming, for the card that was seen `back` cards ago."""
        known = self.fault in OF_A_CARD and self.back < len(seen.cards)
        return ops.FaultArm(fault=self.fault, card=seen.cards[-1 - self.back][1].id if known else None)


@frozen(kw_only=True)
class Keep:
    """The export of what a host keeps of a card, for its owner or for somebody else."""

    back: int = 0
    account: str | None = None

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the export of the card that was seen `back` cards ago."""
        if self.back >= len(seen.cards):
            return ops.StateExport(account="anna", conversation="phone", card=CardId(f"card-{10**9}"))
        operation, card = seen.cards[-1 - self.back]
        account = self.account or operation.account
        return ops.StateExport(account=account, conversation=operation.conversation, card=card.id)


@frozen(kw_only=True)
class Restore:
    """The import of a state that was kept, as it was or tampered with."""

    back: int = 0
    how: Literal["kept", "hash", "card", "nothing"] = "kept"

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the import of the state that was kept `back` exports ago."""
        state = seen.states[-1 - self.back] if self.back < len(seen.states) else Untrusted({})
        kept = state if isinstance(state, dict) else {}
        changed = {"kept": state, "hash": {**kept, "payload_hash": "0"}, "card": {**kept, "card": 7}, "nothing": None}
        return ops.StateImport(state=Untrusted(changed[self.how]))


@frozen(kw_only=True)
class Choose:
    """An answer with a set of options to a card that was seen."""

    ids: tuple[str, ...]
    back: int = 0
    text: str | None = None

    def meet(self, seen: Seen) -> ops.Operation:
        """Return the answer to the card that was seen `back` cards ago."""
        operation, card = seen.cards[-1 - self.back] if self.back < len(seen.cards) else (None, None)
        response = {
            "interaction_id": "card-0" if card is None else card.id,
            "option_ids": list(self.ids),
            "expected_case_revision": 1 if card is None else card.case_revision or 1,
            "freeform_input": self.text,
        }
        account = "anna" if operation is None else operation.account
        conversation = "phone" if operation is None else operation.conversation
        return ops.CardRespond(account=account, conversation=conversation, response=Untrusted(response))


arms = st.builds(Arm, st.sampled_from(FaultKind), st.integers(0, 3))
exports = st.builds(Keep, back=st.integers(0, 3), account=st.sampled_from([None, None, None, "nobody"]))
imports = st.builds(Restore, back=st.integers(0, 2), how=st.sampled_from(["kept", "kept", "hash", "card", "nothing"]))
sets = st.builds(
    Choose,
    ids=st.lists(st.sampled_from(["pay", "both", "no", "missing", ""]), max_size=3).map(tuple),
    back=st.integers(0, 2),
    text=st.sampled_from([None, None, " ", "short"]),
)
several: st.SearchStrategy[Step] = st.just(presents("several"))
among: tuple[st.SearchStrategy[Step], ...] = (arms, arms, exports, imports, sets, several)
steps: st.SearchStrategy[Step] = st.booleans().flatmap(
    lambda sound_step: sound.steps if sound_step else st.sampled_from(among).flatmap(lambda chosen: chosen)
)
programs = st.lists(steps, min_size=10, max_size=50)

OWNERSHIP, REVISION, CORRUPT = (
    Arm(each) for each in (FaultKind.OWNERSHIP_UNREADABLE, FaultKind.REVISION_UNREADABLE, FaultKind.PAYLOAD_CORRUPT)
)
WRITE, FAIL_COMMIT, LOSE = (Arm(each) for each in (FaultKind.WRITE_FAILS, FaultKind.COMMIT_FAILS, FaultKind.REPLY_LOST))
BEFORE, AFTER = (Arm(each) for each in (FaultKind.CRASH_BEFORE_COMMIT, FaultKind.CRASH_AFTER_COMMIT))
PAY, NO, STRANGER = (
    Answer(back=0, option="pay"),
    Answer(back=0, option="no"),
    Answer(back=0, option="pay", owner="account"),
)
CONFIRM = presents("confirm")
RESET = Plain(ops.Reset(now=sound.NOW))

DIRECTED: dict[str, tuple[Step, ...]] = {
    **{
        f"unread {each.fault}": (
            *(OWNERSHIP, CONFIRM, each, STRANGER, PAY, each, Close(back=0), each, Answer(back=0, option="missing")),
            *(Answer(back=0, option="pay", revision="next"), PAY, PAY, each, PAY, COMMIT, each, PAY, PAY),
            *(presents("choose", revision_independent=True), each, EDIT, PAY, PAY),
        )
        for each in (OWNERSHIP, REVISION, CORRUPT)
    },
    "a write that fails": (
        *(WRITE, CONFIRM, CONFIRM, WRITE, PAY, PAY, WRITE, PAY, COMMIT, COMMIT, WRITE, COMMIT, EDIT, EDIT),
        *(presents("confirm", expires_in=60), LATER, WRITE, PAY, PAY, CONFIRM, WRITE, Close(back=0), Close(back=0)),
        *(CONFIRM, WRITE, Answer(back=0, option="never"), Answer(back=0, option="never")),
    ),
    "a commit that fails": (
        *(FAIL_COMMIT, CONFIRM, PAY, COMMIT, COMMIT, CONFIRM, PAY, FAIL_COMMIT, RESTORE, NO),
        *(CONFIRM, PAY, EDIT, COMMIT, CONFIRM, PAY, COMMIT),
    ),
    "a lost reply": (LOSE, CONFIRM, CONFIRM, LOSE, PAY, PAY, LOSE, COMMIT, COMMIT, PAY, LOSE, EDIT, EDIT),
    "a crash before the commit": (BEFORE, CONFIRM, CONFIRM, BEFORE, PAY, PAY, BEFORE, COMMIT, COMMIT, PAY),
    "a crash after the commit": (AFTER, CONFIRM, CONFIRM, AFTER, PAY, PAY, AFTER, COMMIT, COMMIT, PAY),
    "several at once": (
        *(CONFIRM, WRITE, WRITE, PAY, PAY, PAY, FAIL_COMMIT, LOSE, BEFORE, COMMIT, COMMIT, EDIT, EDIT),
        *(FAIL_COMMIT, BEFORE, CONFIRM, CONFIRM, LOSE, LOSE, EDIT, EDIT, EDIT, WRITE, OWNERSHIP, RESET, CONFIRM),
    ),
    "restored twice": (
        *(Keep(), CONFIRM, Keep(), Keep(account="nobody"), Restore(), PAY, Keep(), Restore(), PAY, COMMIT),
        *(Restore(), PAY, Restore(how="hash"), Restore(how="card"), Restore(how="nothing"), Keep(), Restore(back=9)),
    ),
    "sets": (
        *(presents("several"), Choose(ids=("pay", "missing")), Choose(ids=("no", "pay")), Choose(ids=("pay", "no"))),
        *(Choose(ids=()), presents("several"), Choose(ids=()), Choose(ids=()), PAY),
        *(presents("several"), Choose(ids=("pay",), text="why"), CORRUPT, Choose(ids=("pay",)), Choose(ids=("pay",))),
    ),
}
"""Programs that let every fault hit each kind of operation that it can."""
