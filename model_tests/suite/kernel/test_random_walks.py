"""What holds after any operations whatever: short random walks over the whole kernel, along every kind of branch."""

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeVar

from attrs import fields, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Claims
from keyturn.cards import DeclineAndRecord, Interaction
from keyturn.responses import Rejected
from keyturn.settling import effect_count, option_of
from keyturn.status import UNWRITTEN
from keyturn.store import State
from keyturn.table import OPEN, STATUS_TABLE, TERMINAL
from keyturn.values import CaseKey

from . import builders
from .builders import AT_ONCE, CASE, CHAT, UNORDERED, WITHOUT_REPLAY, Desk

T = TypeVar("T")

KEYS = (CASE, CaseKey("acme", "claims", "case-2"))
CHATS = (CHAT, "chat-2")
NOBODY = 7
CHOICES = ("yes", "yes", "both", "explain", "pick", "no", "record", "later", "never")


@frozen
class Draw:
    """The numbers of one step; each operation reads of them what it needs."""

    act: int
    card: int
    choice: int
    flags: int
    revision: int
    branch: int

    def flag(self, bit: int) -> bool:
        """One of the flags."""
        return bool(self.flags >> bit & 1)


DRAWS = st.builds(
    Draw,
    act=st.sampled_from(range(17)),
    card=st.sampled_from((0, 0, 0, 1, 1, 2, 3, NOBODY)),
    choice=st.sampled_from(range(len(CHOICES))),
    flags=st.sampled_from(range(32)),
    revision=st.sampled_from(range(4)),
    branch=st.sampled_from((0, 0, 0, 1, 2, 5)),
)
WALKS = st.lists(DRAWS, min_size=20, max_size=25)
CLAIMS = st.sampled_from([ALL_CLAIMS, UNORDERED, AT_ONCE, WITHOUT_REPLAY])


def latest(found: tuple[T, ...], draw: Draw) -> T | None:
    """One of the latest of them, or none."""
    return found[-1 - draw.card % len(found)] if found and draw.card != NOBODY else None


def card_of(state: State, draw: Draw) -> Interaction | None:
    """One of the latest cards, or none."""
    return latest(state.world.interactions, draw)


def respond(state: State, draw: Draw) -> ops.CardRespond:
    """An answer, more often right than wrong."""
    card = card_of(state, draw)
    bound = 1 if card is None else card.case_revision
    current = None if card is None else state.world.revision(card.key)
    chosen = CHOICES[draw.choice]
    body = builders.sent(
        "card-99" if card is None else card.id,
        chosen,
        revision=(bound, bound, bound, current)[draw.revision] if draw.flags < 31 else 99,
        text="why" if (chosen == "explain") != (draw.flags > 27) else None,
    )
    chat = CHAT if card is None or draw.flags == 0 else card.conversation
    return builders.respond(body, conversation=chat)


def settle(state: State, draw: Draw) -> ops.CommandSettle:
    """A settlement of one of the latest commands, or of none."""
    command = latest(state.world.commands, draw)
    name = "command-99" if command is None else command.id
    return builders.settle(name, "failed" if draw.flag(0) else "committed", "restore" if draw.flag(1) else "record")


def present(state: State, draw: Draw) -> ops.CardPresent:
    """A card with every option, for one of the cases."""
    return builders.present(
        key=KEYS[draw.flag(0)],
        blocking=draw.flag(1),
        independent=draw.flag(2),
        on_occupied="replace" if draw.flag(3) else "refuse",
        conversation=CHATS[draw.flag(4)],
        expires_in=(None, None, 1, 2)[draw.revision],
        for_revision=(None, None, 1, 2)[draw.choice % 4],
    )


def read(state: State, draw: Draw) -> ops.Operation:
    """A read of a card or of a list."""
    card = card_of(state, draw)
    return ops.CardList(account="acme", conversation=CHAT) if card is None else builders.get(card.id)


def close(state: State, draw: Draw) -> ops.Operation:
    """A dismissal from outside, more often right than wrong; or time passes."""
    card = card_of(state, draw)
    if card is None or draw.flag(0):
        return ops.ClockAdvance(seconds=1)
    return builders.dismiss(
        card.id, revision=card.case_revision if draw.revision else 99, conversation=card.conversation
    )


def clear(state: State, draw: Draw) -> ops.Operation:
    """A case is opened, most often, or closed, or its cards are withdrawn."""
    key = KEYS[draw.flag(0)]
    return (builders.open_case, builders.open_case, builders.close_case, builders.withdraw)[draw.revision](key)


ACTS: tuple[Callable[[State, Draw], ops.Operation], ...] = (
    *(present,) * 3,
    *(respond,) * 5,
    *(settle,) * 3,
    read,
    lambda state, draw: builders.edit_case(KEYS[draw.flag(0)]),
    clear,
    close,
    lambda state, draw: ops.CardExpireDue(),
    lambda state, draw: ops.Restart() if draw.flag(0) else ops.CommandNext(result="failed", on_failure="restore"),
)


def walk(claims: Claims, draws: Iterable[Draw]) -> Iterable[tuple[Desk, State, ops.Operation]]:
    """Take one branch after the other; give the store, the state before the step, and the operation."""
    desk = Desk(claims)
    desk.perform(builders.open_case(KEYS[1]))
    for number in range(3):
        desk.write(builders.present(blocking=number == 0, independent=number == 1))
    for draw in draws:
        before = desk.state
        operation = ACTS[draw.act](before, draw)
        branches = desk.may(operation)
        desk.take(branches[draw.branch] if draw.branch < len(branches) else branches[0])
        yield desk, before, operation


def cards(state: State) -> dict[str, Interaction]:
    """The cards by their ids."""
    return {each.id: each for each in state.world.interactions}


class TestEveryStep:
    """What holds between one moment and the next, whichever admissible branch comes true."""

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_a_case_has_one_open_question(self, claims: Claims, draws: list[Draw]) -> None:
        """I5.1: At every observable moment a case has at most one blocking card that is open."""
        for desk, _, _ in walk(claims, draws):
            blocking = Counter(
                each.key for each in desk.state.world.interactions if each.blocking and each.status in OPEN
            )
            assert all(count == 1 for count in blocking.values())

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_terminal_statuses_are_never_left(self, claims: Claims, draws: list[Draw]) -> None:
        """L2: and nothing else about such a card changes; its result stays for ever (I14.2)."""
        for desk, before, _ in walk(claims, draws):
            after = cards(desk.state)
            assert all(after[each.id] == each for each in before.world.interactions if each.status in TERMINAL)

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_a_payload_never_changes(self, claims: Claims, draws: list[Draw]) -> None:
        """I6.5: one id, one hash, for ever; only status, choice and result of a card change."""
        for desk, before, _ in walk(claims, draws):
            after = cards(desk.state)
            for card in before.world.interactions:
                moved = after[card.id]
                may_change = {"status", "resolved_at", "resolved_option", "result"}
                names = [each.name for each in fields(Interaction) if each.name not in may_change]
                assert [getattr(moved, name) for name in names] == [getattr(card, name) for name in names]

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_revisions_grow(self, claims: Claims, draws: list[Draw]) -> None:
        """A revision never falls, and grows with every effect and every edit, by one a step."""
        for desk, before, operation in walk(claims, draws):
            for key in KEYS:
                grown = desk.revision(key) - before.world.revision(key)
                ran = len(desk.state.effects_of(key)) > len(before.effects_of(key))
                edited = isinstance(operation, ops.CaseEdit) and operation.key == key
                assert grown == int(ran or edited)

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_active_bound_cards_are_fresh(self, claims: Claims, draws: list[Draw]) -> None:
        """I13.3: a step that moves the revision leaves no Active card that is bound to an older one."""
        for desk, before, _ in walk(claims, draws):
            for card in desk.state.world.interactions:
                if card.status == "active" and desk.revision(card.key) != before.world.revision(card.key):
                    assert card.case_revision in {None, desk.revision(card.key)}

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_a_refusal_runs_nothing(self, claims: Claims, draws: list[Draw]) -> None:
        """I19.9: a refusal has no effect behind it, and I19.8: no event but an expiry or an invalidation."""
        for desk, before, operation in walk(claims, draws):
            for branch in Desk.may(desk_at(desk, before), operation):
                if isinstance(branch.outcome, Rejected):
                    events = {each.event if isinstance(each, ops.LedgerEntry) else each for each in branch.happened}
                    assert events <= {"expire", "invalidate"}


def desk_at(desk: Desk, state: State) -> Desk:
    """The same store at an earlier moment."""
    earlier = Desk(desk.claims)
    earlier.state = state
    return earlier


class TestEveryWalk:
    """What holds of the whole history, whichever admissible branches came true."""

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_the_ledger_replays_to_the_statuses(self, claims: Claims, draws: list[Draw]) -> None:
        """E1: Every transition is in the ledger once, in order; replaying the ledger gives the stored statuses."""
        desk, _, _ = list(walk(claims, draws))[-1]
        replayed: dict[str, str] = {}
        for number, entry in enumerate(desk.entries(), start=1):
            held = replayed.get(entry.card, UNWRITTEN)
            assert entry.seq == number
            assert (entry.from_status or UNWRITTEN) == held
            assert STATUS_TABLE.step(held, entry.event) == entry.to_status
            replayed[entry.card] = entry.to_status
        assert replayed == {each.id: each.status for each in desk.state.world.interactions}
        assert all(one.at <= other.at for one, other in pairwise(desk.entries()))

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_effects_are_there_at_most_once(self, claims: Claims, draws: list[Draw]) -> None:
        """I14.1: The commands of a card's option run at most once, ever; L9: a card with an effect is at its end."""
        desk, _, _ = list(walk(claims, draws))[-1]
        for card in desk.state.world.interactions:
            effects = [each for each in desk.state.history.effects if each.card == card.id]
            if not effects:
                assert card.result is None or card.result.effects == ()
                continue
            chosen = option_of(card, effects[0].option)
            assert len(effects) == effect_count(chosen)
            assert len({(each.command, each.idempotency_key, each.option) for each in effects}) == 1
            assert card.status == ("declined" if isinstance(chosen.action, DeclineAndRecord) else "resolved")
            assert card.result is not None
            assert card.result.effects == tuple(each.id for each in effects)

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_ids_are_issued_once(self, claims: Claims, draws: list[Draw]) -> None:
        """I6.7: An id (card, command, effect) is issued once for ever; and so is an idempotency key (I14.7)."""
        desk, _, _ = list(walk(claims, draws))[-1]
        world, history = desk.state.world, desk.state.history
        commands = {each.command for each in history.effects} | {each.id for each in world.commands}
        keys = {each.idempotency_key for each in history.effects} | {each.idempotency_key for each in world.commands}
        issued = [*(each.id for each in world.interactions), *(each.id for each in history.effects)]
        assert len(set(issued)) == len(issued)
        assert len(commands) == len(keys)
        assert len({*issued, *commands, *keys}) == len(issued) + len(commands) + len(keys)

    @given(CLAIMS, WALKS)
    @builders.FEW
    def test_two_walks_with_the_same_inputs_are_the_same(self, claims: Claims, draws: list[Draw]) -> None:
        """E4: Two runs with the same inputs, ids and clock give the same ledger, byte for byte."""
        one, other = (list(walk(claims, draws))[-1][0] for _ in range(2))
        assert one.state == other.state
        assert one.ledger(account="acme", workflow="claims", case="case-1") == other.ledger(
            account="acme", workflow="claims", case="case-1"
        )


class TestWalks:
    """The walks go where the contract is."""

    def test_walks_meet_every_status(self) -> None:
        """A walk can reach each of the eight statuses, so that the properties above are about something."""
        met: set[str] = set()

        @given(CLAIMS, WALKS)
        @settings(builders.FEW, max_examples=100)
        def look(claims: Claims, draws: list[Draw]) -> None:
            for desk, _, _ in walk(claims, draws):
                met.update(each.status.value for each in desk.state.world.interactions)

        look()
        assert met == {*OPEN, *TERMINAL}
