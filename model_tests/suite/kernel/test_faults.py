"""The table of faults: which operation each hits, what may come back then, and that it hits once."""

from collections.abc import Callable

import pytest
from attrs import evolve, frozen

from keyturn import operations as ops
from keyturn.branches import Branch
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.faults import OF_A_CARD, FaultKind
from keyturn.responses import Accepted
from keyturn.status import InteractionEvent
from keyturn.values import CardId, CaseKey, Untrusted
from keyturn.world import TAKES, World

from . import builders, test_gate
from .builders import UNORDERED, WITHOUT_REVISIONS, Desk, answer, present, respond, sent, settle
from .test_gate import EXPIRED, FORBIDDEN, MALFORMED, NOT_ANSWERABLE, NOT_FOUND, STALE, UNKNOWN

UNVERIFIABLE, UNAVAILABLE = "rejected: unverifiable", "rejected: unavailable"
OWNERSHIP, REVISION, PAYLOAD = sorted(OF_A_CARD, key=list(FaultKind).index)
NOWHERE = CaseKey("acme", "claims", "case-9")


def arm(desk: Desk, fault: FaultKind, card: str | None = None) -> None:
    """Arm a fault, which must be possible."""
    desk.expect(ops.Done, ops.FaultArm(fault=fault, card=None if card is None else CardId(card)))


def unarmed(world: World) -> World:
    """A world without the faults that wait in it."""
    return evolve(world, armed=())


def takes(branch: Branch) -> bool:
    """Whether an answer is taken, or something runs."""
    return any(isinstance(each, ops.Effect) or each.event in TAKES for each in branch.happened)


@frozen
class Row:
    """A response to a card, and what may be answered for each of the three faults that hit it.

    The outcomes are those with `ordered_checks`, the reference's first; `besides` are admissible without the claim.
    """

    situation: str
    prepare: Callable[[Desk], ops.CardRespond]
    ownership: tuple[str, ...]
    revision: tuple[str, ...]
    payload: tuple[str, ...]
    besides: tuple[str, ...] = ()

    def admits(self, fault: FaultKind, claims: Claims) -> tuple[str, ...]:
        """The outcomes that are admissible."""
        named = dict(zip((OWNERSHIP, REVISION, PAYLOAD), (self.ownership, self.revision, self.payload), strict=True))
        more = () if Capability.ORDERED_CHECKS in claims or fault is OWNERSHIP else self.besides
        return (*named[fault], *more)


ONLY = (UNVERIFIABLE,)
to, active = test_gate.to, test_gate.active
ROWS = (
    Row("valid, authorising", to(active), ONLY, ONLY, ONLY),
    Row("valid, answering", to(active, "pick"), ONLY, ONLY, ONLY),
    Row("valid, declining", to(active, "no"), ONLY, ONLY, ONLY),
    Row("valid, recording", to(active, "record"), ONLY, ONLY, ONLY),
    Row("valid, dismissing", to(active, "later"), ONLY, ONLY, ONLY),
    Row("independent", to(test_gate.independent, revision=None), ONLY, (*ONLY, "accepted"), ONLY),
    Row("an unknown option", to(active, "never"), ONLY, (UNKNOWN,), (UNKNOWN,), ONLY),
    Row("another revision", to(active, revision=2), ONLY, ONLY, (STALE,), (STALE, *ONLY)),
    Row("unknown and stale", to(active, "never", revision=2), ONLY, (UNKNOWN,), (UNKNOWN,), (STALE, *ONLY)),
    Row("a case that moved", to(test_gate.restored_on_a_moved_case), ONLY, ONLY, (STALE,), (STALE, *ONLY)),
    Row("a text where none is taken", to(active, text="why"), ONLY, ONLY, ONLY, (FORBIDDEN,)),
    Row("overdue", to(test_gate.overdue), ONLY, (EXPIRED, NOT_ANSWERABLE), (EXPIRED, NOT_ANSWERABLE), ONLY),
    Row("resolved", to(test_gate.resolved), ONLY, ("replayed",), ("replayed",), ONLY),
    Row("resolving", to(test_gate.resolving), ONLY, ("in_flight",), ("in_flight",), ONLY),
    Row("invalidated", to(test_gate.invalidated), ONLY, (NOT_ANSWERABLE,), (NOT_ANSWERABLE,), (STALE, *ONLY)),
    Row("declined, the same option", to(test_gate.closed("no"), "no"), ONLY,
        *(2 * ((NOT_ANSWERABLE, "declined", "replayed"),)), ONLY),
    Row("another account", lambda desk: respond(sent(active(desk)), account="other"),
        (NOT_FOUND, *ONLY), (NOT_FOUND,), (NOT_FOUND,)),
    Row("another conversation", lambda desk: respond(sent(active(desk), "never", revision=9), conversation="chat-2"),
        (NOT_FOUND, *ONLY), (NOT_FOUND,), (NOT_FOUND,)),
    Row("no revision on a bound card", to(active, revision=None), (MALFORMED, *ONLY), (MALFORMED,), (MALFORMED,), ONLY),
    Row("a whole fraction", to(active, revision=1.0), *(3 * ((MALFORMED, *ONLY),))),
    Row("an extra field", lambda desk: respond(sent(active(desk), action="pay")), *(3 * ((*ONLY, MALFORMED),))),
)  # fmt: skip


class TestChecksThatCannotBeMade:
    """I19.2, I19.3, I19.4: what a check needs and cannot be read is `unverifiable`, and nothing runs."""

    @pytest.mark.parametrize("row", ROWS, ids=lambda row: row.situation)
    @pytest.mark.parametrize("fault", [OWNERSHIP, REVISION, PAYLOAD])
    @pytest.mark.parametrize("claims", [ALL_CLAIMS, UNORDERED], ids=["ordered", "any order"])
    def test_each_situation_has_its_outcomes(self, row: Row, fault: FaultKind, claims: Claims) -> None:
        """The checks that come before are answered; without `ordered_checks` whichever really fails."""
        desk = Desk(claims)
        operation = row.prepare(desk)
        arm(desk, fault, desk.state.world.interactions[0].id)
        branches = desk.may(operation)
        assert set(builders.wordings(branches)) == set(row.admits(fault, claims))
        assert builders.wording(branches[0].outcome) == row.admits(fault, claims)[0]
        # Where no revision is compared none has to be read.
        spared = fault is REVISION and row.situation == "independent"
        assert spared or not any(takes(each) for each in branches)

    @pytest.mark.parametrize("row", ROWS, ids=lambda row: row.situation)
    @pytest.mark.parametrize("fault", [OWNERSHIP, REVISION, PAYLOAD])
    def test_a_fault_that_is_told_is_spent(self, row: Row, fault: FaultKind) -> None:
        """`unverifiable` uses it up and changes nothing else; where another check answers, nobody can tell whether it did."""
        desk = Desk(UNORDERED)
        operation = row.prepare(desk)
        arm(desk, fault, desk.state.world.interactions[0].id)
        waits = desk.state.world.armed
        spent: dict[str, set[bool]] = {}
        for each in desk.may(operation):
            spent.setdefault(builders.wording(each.outcome), set()).add(each.world.armed != waits)
            if builders.wording(each.outcome) == UNVERIFIABLE:
                assert {"A2", {OWNERSHIP: "I19.2", REVISION: "I19.3", PAYLOAD: "I19.4"}[fault]} == each.because
                assert [entry.event for entry in each.happened if isinstance(entry, ops.LedgerEntry)] in (
                    [], [InteractionEvent.EXPIRE],
                )  # fmt: skip
        assert spent.pop(UNVERIFIABLE, {True}) == {True}
        assert all(found == {True, False} for found in spent.values())

    @pytest.mark.parametrize("fault", [OWNERSHIP, REVISION, PAYLOAD])
    def test_another_card_is_spared(self, fault: FaultKind) -> None:
        """It hits the next response to that card, and no other one."""
        desk = Desk()
        card, other = desk.write(), desk.write(present())
        arm(desk, fault, other)
        assert desk.outcomes(answer(card)) == ("accepted",)
        assert desk.outcomes(respond({"interaction_id": other})) == (MALFORMED,)
        desk.perform(answer(card))
        assert desk.outcomes(answer(other)) == (UNVERIFIABLE,)

    @pytest.mark.parametrize("fault", [OWNERSHIP, REVISION, PAYLOAD])
    def test_it_hits_once(self, fault: FaultKind) -> None:
        """The same answer again is taken, unless another one was armed: two that are alike hit twice."""
        desk = Desk()
        card = desk.write()
        for _ in range(2):
            arm(desk, fault, card)
        assert [builders.wording(desk.perform(answer(card))) for _ in range(3)] == [*2 * ONLY, "accepted"]

    @pytest.mark.parametrize(
        ("fault", "operation", "expected"),
        [
            (OWNERSHIP, builders.dismiss("card-1"), ONLY),
            (REVISION, builders.dismiss("card-1"), ONLY),
            (PAYLOAD, builders.dismiss("card-1"), ONLY),
            (OWNERSHIP, builders.dismiss("card-1", account="other"), (NOT_FOUND, *ONLY)),
            (PAYLOAD, builders.dismiss("card-1", account="other"), (NOT_FOUND,)),
            (REVISION, builders.dismiss("card-1", revision=2), ONLY),
            (PAYLOAD, builders.dismiss("card-1", revision=2), (STALE,)),
            (OWNERSHIP, builders.dismiss("card-1", revision=None), (MALFORMED, *ONLY)),
            (PAYLOAD, builders.dismiss("card-1", revision=0), (MALFORMED, STALE)),
            (PAYLOAD, builders.dismiss("card-2"), (NOT_FOUND,)),
        ],
    )
    def test_a_dismissal_follows_the_same_table(
        self, fault: FaultKind, operation: ops.Operation, expected: tuple[str, ...]
    ) -> None:
        """`card.dismiss` is checked as a response is, without option and free text."""
        desk = Desk()
        arm(desk, fault, desk.write())
        assert desk.outcomes(operation) == expected

    def test_a_stranger_hears_what_an_unknown_card_gets(self) -> None:
        """I19.1: what cannot be read of a card is no hint to a stranger that it exists, also where any order is right."""
        for fault in (REVISION, PAYLOAD):
            desk = Desk(UNORDERED)
            arm(desk, fault, desk.write())
            assert desk.outcomes(respond(sent("card-1"), account="other")) == desk.outcomes(answer("card-99"))

    def test_without_revisions_none_has_to_be_read(self) -> None:
        """Without `revisions` no revision is judged: a system that reads none takes the answer, one that does may not."""
        desk = Desk(WITHOUT_REVISIONS)
        arm(desk, REVISION, desk.write())
        assert desk.outcomes(answer("card-1")) == (UNVERIFIABLE, "accepted")


@frozen
class Write:
    """An operation that a failing write hits or spares: its outcomes, the reference's first, and those besides."""

    situation: str
    prepare: Callable[[Desk], ops.Operation]
    ordered: tuple[str, ...]
    besides: tuple[str, ...] = ()


def committed(desk: Desk) -> str:
    """A command that committed."""
    return builders.settled(desk, desk.write())


def in_flight(desk: Desk) -> str:
    """A command that waits."""
    return desk.accept(desk.write())


def beside(operation: ops.CardPresent) -> Callable[[Desk], ops.CardPresent]:
    """Present a card in a case with an open question."""

    def prepare(desk: Desk) -> ops.CardPresent:
        desk.write(present(blocking=True))
        return operation

    return prepare


LOST = (UNAVAILABLE,)
WRITES = (
    Write("a card", lambda desk: present(), LOST),
    Write("a card that replaces", beside(present(blocking=True, on_occupied="replace")), LOST),
    Write("a card beside another", beside(present(blocking=True)), ("rejected: slot_occupied",), LOST),
    Write("a card that nobody could answer", lambda desk: present(builders.option("", builders.PAY)),
          ("rejected: invalid_card",), LOST),
    Write("a card of another revision", lambda desk: present(for_revision=2), (STALE,), LOST),
    Write("a card of no case", lambda desk: present(key=NOWHERE), (NOT_FOUND,)),
    *(Write(f"an answer: {each}", to(active, each), LOST) for each in ("yes", "both", "pick", "no", "record", "later")),
    Write("an answer again", to(test_gate.resolved), ("replayed",), LOST),
    Write("an answer in flight", to(test_gate.resolving), ("in_flight",), LOST),
    Write("an unknown option", to(active, "never"), (UNKNOWN,), LOST),
    Write("another revision", to(active, revision=2), (STALE,), LOST),
    Write("a case that moved", to(test_gate.restored_on_a_moved_case), (UNAVAILABLE, STALE)),
    Write("an overdue card", to(test_gate.overdue), (UNAVAILABLE, EXPIRED, NOT_ANSWERABLE)),
    Write("a stranger", lambda desk: respond(sent(active(desk)), account="other"), (NOT_FOUND,)),
    Write("no response", lambda desk: respond(1), (MALFORMED,)),
    Write("a whole fraction", to(active, revision=1.0), (MALFORMED, UNAVAILABLE)),
    Write("an extra field", lambda desk: respond(sent(active(desk), action="pay")), (UNAVAILABLE, MALFORMED)),
    Write("a dismissal", lambda desk: builders.dismiss(active(desk)), LOST),
    Write("a commit", lambda desk: settle(in_flight(desk)), LOST),
    Write("a failure", lambda desk: settle(in_flight(desk), "failed"), LOST),
    Write("a restore", lambda desk: settle(in_flight(desk), "failed", "restore"), LOST),
    Write("a commit again", lambda desk: settle(committed(desk)), ("resolved",), LOST),
    Write("another settlement", lambda desk: settle(committed(desk), "failed"), ("rejected: conflict",), LOST),
    Write("an unknown command", lambda desk: settle("command-99"), (NOT_FOUND,)),
    Write("an edit", lambda desk: builders.edit_case(), LOST),
    Write("an edit of no case", lambda desk: builders.edit_case(NOWHERE), (NOT_FOUND,)),
)  # fmt: skip


class TestWritesThatFail:
    """I6.2: If the card cannot be written, no reply mentions it and the failure is reported; nothing happened."""

    @pytest.mark.parametrize("row", WRITES, ids=lambda row: row.situation)
    @pytest.mark.parametrize("claims", [ALL_CLAIMS, UNORDERED], ids=["ordered", "any order"])
    def test_nothing_is_written(self, row: Write, claims: Claims) -> None:
        """What would change something is `unavailable`; what changes nothing may be answered, whether it was hit or not."""
        desk = Desk(claims)
        operation = row.prepare(desk)
        arm(desk, FaultKind.WRITE_FAILS)
        before, branches = desk.state.world, desk.may(operation)
        besides = () if claims is ALL_CLAIMS else row.besides
        assert set(builders.wordings(branches)) == {*row.ordered, *besides}
        assert builders.wording(branches[0].outcome) == row.ordered[0]
        for each in branches:
            assert {entry.event for entry in each.happened if isinstance(entry, ops.LedgerEntry)} <= {"expire"}
            assert each.happened or unarmed(each.world) == unarmed(before)
            if builders.wording(each.outcome) == UNAVAILABLE:
                assert each.world.armed == ()
                assert "I6.2" in each.because or not isinstance(operation, ops.CardPresent)
        desk.perform(operation)
        assert builders.wording(desk.perform(operation)) != UNAVAILABLE

    def test_it_hits_once(self) -> None:
        """The card that could not be written is written when it is presented again, with an id that nobody has seen."""
        desk = Desk()
        arm(desk, FaultKind.WRITE_FAILS)
        assert builders.wording(desk.perform(present())) == UNAVAILABLE
        assert (desk.entries(), desk.state.world.interactions) == ((), ())
        assert desk.write() == "card-1"


OPERATIONS: dict[str, Callable[[Desk], ops.Operation]] = {
    "card.present": lambda desk: present(),
    "card.respond": to(active),
    "card.dismiss": lambda desk: builders.dismiss(active(desk)),
    "command.settle": lambda desk: settle(in_flight(desk)),
    "case.edit": lambda desk: builders.edit_case(),
    "case.close": lambda desk: builders.close_case(),
    "card.withdraw": lambda desk: builders.withdraw(),
    "card.expire_due": lambda desk: ops.CardExpireDue(),
    "case.open": lambda desk: builders.open_case(NOWHERE),
    "clock.advance": lambda desk: ops.ClockAdvance(seconds=1),
    "command.next": lambda desk: ops.CommandNext(result="failed"),
    "restart": lambda desk: ops.Restart(),
    "card.get": lambda desk: builders.get(active(desk)),
    "card.list": lambda desk: ops.CardList(account="acme", conversation="chat-1"),
    "state.export": lambda desk: ops.StateExport(account="acme", conversation="chat-1", card=active(desk)),
    "state.import": lambda desk: ops.StateImport(state=Untrusted(None)),
    "fault.arm": lambda desk: ops.FaultArm(fault=FaultKind.COMMIT_FAILS),
}
RESPONSES = ("card.respond", "card.dismiss")
WRITING = (*RESPONSES, "card.present", "command.settle", "case.edit")
CHANGING = (*WRITING, "case.close", "card.withdraw", "card.expire_due")
HITS: dict[FaultKind, tuple[str, ...]] = {
    **dict.fromkeys((OWNERSHIP, REVISION, PAYLOAD), RESPONSES),
    FaultKind.WRITE_FAILS: WRITING,
    FaultKind.COMMIT_FAILS: ("command.settle",),
    **dict.fromkeys((FaultKind.REPLY_LOST, FaultKind.CRASH_BEFORE_COMMIT, FaultKind.CRASH_AFTER_COMMIT), CHANGING),
}


class TestWhatIsHit:
    """A fault hits the next operation that it can hit; reads are spared, and so is what only the suite does."""

    @pytest.mark.parametrize("fault", FaultKind)
    @pytest.mark.parametrize("method", OPERATIONS)
    def test_a_fault_waits_for_what_it_can_hit(self, fault: FaultKind, method: str) -> None:
        """The table of faults names it; all else leaves the fault armed, and has no more outcomes than without it."""
        desk = Desk()
        operation = OPERATIONS[method](desk)
        plain = desk.outcomes(operation)
        arm(desk, fault, desk.state.world.interactions[-1].id if desk.state.world.interactions else desk.write())
        waits = desk.state.world.armed
        if method in HITS[fault]:
            assert any(each.world.armed != waits for each in desk.may(operation))
        else:
            assert all(each.world.armed[:1] == waits for each in desk.may(operation))
            assert desk.outcomes(operation) == plain

    def test_the_table_is_whole(self) -> None:
        """Every operation that has a rule is in it, but the reset, which forgets what was armed."""
        histories = {"effects", "ledger", "metrics"}
        assert {*OPERATIONS, "reset", *histories} == set(ops.BY_METHOD)
        desk = Desk()
        arm(desk, FaultKind.WRITE_FAILS)
        desk.perform(ops.Reset(now=builders.NOON_INSTANT))
        assert desk.state.world.armed == ()

    def test_one_operation_is_hit_by_one_fault(self) -> None:
        """Of several that could hit, the first that was armed does; the others wait."""
        desk = Desk()
        card = desk.write()
        for fault, named in ((FaultKind.REPLY_LOST, None), (PAYLOAD, card), (FaultKind.WRITE_FAILS, None)):
            arm(desk, fault, named)
        taken = desk.may(answer(card))[0]
        assert builders.wording(taken.outcome) == "Unheard"
        assert [each.fault for each in taken.world.armed] == [PAYLOAD, FaultKind.WRITE_FAILS]
        desk.take(taken)
        assert desk.outcomes(answer(card)) == ("in_flight",)


class TestArming:
    """`fault.arm {fault, card?}`: some faults hit the next response to one card, which they name."""

    @pytest.mark.parametrize("fault", FaultKind)
    def test_a_fault_of_a_card_names_one(self, fault: FaultKind) -> None:
        """Without a card it is malformed, an unknown card is not found, and what needs no card forgets it."""
        desk = Desk()
        card = desk.write()
        named = fault in OF_A_CARD
        assert desk.outcomes(ops.FaultArm(fault=fault)) == ((MALFORMED,) if named else ("Done",))
        assert desk.outcomes(ops.FaultArm(fault=fault, card=CardId("card-99"))) == (NOT_FOUND,)
        arm(desk, fault, card)
        [armed] = desk.state.world.armed
        assert (armed.fault, armed.card) == (fault, card if named else None)


def test_an_unread_check_leaves_a_command_in_flight() -> None:
    """A fault that was armed before the answer was taken by another one hits nothing that was decided."""
    desk = Desk()
    card = desk.write()
    command = desk.expect(Accepted, answer(card)).command
    arm(desk, OWNERSHIP, card)
    assert builders.wording(desk.perform(answer(card))) == UNVERIFIABLE
    assert desk.outcomes(settle(command)) == ("resolved",)
