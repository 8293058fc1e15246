"""Each durable mutant really has its fault: it is brought about by hand, without any engine, and read back.

What happens at the same moment is tried a bounded number of times, each time with a new card. What ends in the middle of a call
is a process of its own that is killed there.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import sleep

import pytest

from keyturn_sql.store import SqlStore
from keyturn_testing.mutants.durable import durable_store
from keyturn_testing.mutants.durable_memory import LAG_SECONDS
from keyturn_testing.systems.adapters import DATABASE_NAME
from keyturn_testing.systems.base import Breakdown, WentWrong
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.systems.stdio import StdioSystem

from .desks import Desk, two_answers, two_questions, two_settlements

TRIES = 40
"""How often two calls are made at the same moment until the fault shows; it does in most."""

SAFE_TRIES = 10
"""How often they are made where the fault must not show."""

Start = Callable[..., Desk]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Start]:
    """Starts processes that share the file of the run, each with a desk."""
    with ExitStack() as stack:

        def start(*command: str) -> Desk:
            system = StdioSystem([sys.executable, *command], tmp_path, time_limit=20)
            stack.callback(system.close)
            return Desk(system)

        yield start


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Start]:
    """Makes stores in this process on the file of the run, each with a desk."""
    with ExitStack() as stack:

        def make(name: str) -> Desk:
            opened = stack.enter_context(closing(SqlStore.open_test(tmp_path / DATABASE_NAME, synchronous="normal")))
            faulty = stack.enter_context(closing(durable_store(name, opened.database)))
            system = InProcessSystem(lambda: faulty, time_limit=20)
            stack.callback(system.close)
            return Desk(system)

        yield make


def tried(desks: tuple[Desk, Desk], once: Callable[[tuple[Desk, Desk]], list[str]], tries: int) -> list[str]:
    """What both of two calls at the same moment brought, in the first try in which both brought something."""
    for number in range(tries):
        won = once((Desk(desks[0].system, f"case-{number}"), Desk(desks[1].system, f"case-{number}")))
        assert won
        if len(won) > 1:
            return won
    return []


def ended_in_the_window(process: Start, name: str, last: Callable[[Desk], object]) -> None:
    """Present a card in a process that ends between its two transactions, at the latest in the last call."""
    desk = process(str(Path(__file__).with_name("ending_in_the_window.py")), name)
    with pytest.raises(Breakdown) as caught:
        last(desk)
    assert caught.value.kind == "crashed"
    desk.system.close()


def reads(desk: Desk, card: str, status: str) -> bool:
    """Whether a card reads so after a while, as long as a busy machine may need."""
    for _ in range(100):
        if desk.status(card) == status:
            return True
        sleep(LAG_SECONDS / 2)
    return False


class TestRaces:
    """What two calls at the same moment bring about."""

    def test_two_processes_take_two_answers(self, process: Start) -> None:
        """Both answers to one card are taken, and each has become a command of its own; a lock of one process is no help."""
        command = ("-m", "keyturn_testing.main", "serve", "mutant:lock-per-process", "--stdio")
        first, second = tried((process(*command), process(*command)), two_answers, TRIES)
        assert first != second

    def test_a_lock_serves_the_threads_of_its_process(self, store: Start) -> None:
        """Two threads, on two stores of one process, never take two answers."""
        desks = store("lock-per-process"), store("lock-per-process")
        assert tried(desks, two_answers, SAFE_TRIES) == []

    def test_threads_meet_where_nothing_is_locked(self, store: Start) -> None:
        """Two threads on one store are enough for it to take two answers."""
        desk = store("check-then-act")
        first, second = tried((desk, desk), two_answers, TRIES)
        assert first != second

    def test_two_settlements_may_both_have_their_effect(self, store: Start) -> None:
        """Two settlements of one command at the same moment both commit: the card has two effects (I14.1)."""
        assert len(tried((store("check-then-act"), store("check-then-act")), two_settlements, TRIES)) == 2

    def test_a_case_asks_two_questions(self, store: Start) -> None:
        """Two cards that need the slot of one case are both open (I5.1)."""
        desks = store("index-missing"), store("index-missing")
        both = tried(desks, two_questions, TRIES)
        assert len(both) == 2
        assert set(both) <= set(desks[0].listed())

    def test_a_copy_lags(self, store: Start) -> None:
        """What another one has changed is read late, and what oneself has changed is read at once."""
        first, second = store("lagging-replica"), store("lagging-replica")
        late = 0
        for number in range(TRIES):
            one, other = (Desk(each.system, f"case-{number}") for each in (first, second))
            card = one.card()
            assert reads(other, card, "active")
            one.answer(card)
            late += other.status(card) == "active"
            assert one.status(card) == "resolving"
            assert reads(other, card, "resolving")
            if late:
                return
        pytest.fail("nothing was read late")


class TestCrashes:
    """What a process leaves that is killed between its two transactions."""

    def test_an_effect_without_a_status(self, process: Start, store: Start) -> None:
        """The effect is there and the card still waits; who tries again runs it a second time (I14.1)."""
        ended_in_the_window(
            process, "effect-before-status", lambda desk: desk.settle(desk.answer(desk.card())["command"])
        )
        desk = store("effect-before-status")
        [card] = desk.listed()
        assert (desk.status(card), len(desk.effects())) == ("resolving", 1)
        assert desk.settle(desk.answer(card)["command"])["outcome"] == "resolved"
        assert len(desk.effects()) == 2

    def test_a_status_without_an_effect(self, process: Start, store: Start) -> None:
        """The card reads resolved, and its result cites an effect that does not exist (E2)."""
        ended_in_the_window(
            process, "status-before-effect", lambda desk: desk.settle(desk.answer(desk.card())["command"])
        )
        desk = store("status-before-effect")
        replayed = desk.answer("card-1")
        assert (replayed["outcome"], desk.status("card-1"), desk.effects()) == ("replayed", "resolved", [])
        assert len(replayed["result"]["effects"]) == 1

    def test_a_change_without_its_entry(self, process: Start, store: Start) -> None:
        """The card is there, and the ledger does not know of it (E1)."""
        ended_in_the_window(process, "ledger-afterwards", lambda desk: desk.card())
        desk = store("ledger-afterwards")
        [card] = desk.listed()
        assert (desk.status(card), desk.events()) == ("active", [])


class TestRestarts:
    """What a restart brings out, and a second process as well."""

    @pytest.mark.parametrize("is_another", [False, True], ids=["restarted", "another process"])
    def test_what_was_answered_is_taken_again(self, store: Start, is_another: bool) -> None:
        """A click that comes again has its effect again (I14.1)."""
        desk = store("idempotency-in-memory")
        card = desk.card()
        assert desk.settle(desk.answer(card)["command"])["outcome"] == "resolved"
        assert desk.answer(card)["outcome"] == "replayed"
        desk = after(desk, store, "idempotency-in-memory", is_another)
        assert desk.settle(desk.answer(card)["command"])["outcome"] == "resolved"
        assert len(desk.effects()) == 2

    @pytest.mark.parametrize("is_another", [False, True], ids=["restarted", "another process"])
    def test_a_key_is_made_anew(self, store: Start, is_another: bool) -> None:
        """The same command is told with another key (I14.7)."""
        desk = store("key-anew-after-restart")
        card = desk.card()
        accepted, again = desk.answer(card), desk.answer(card)
        assert accepted["idempotency_key"] == again["idempotency_key"]
        told = after(desk, store, "key-anew-after-restart", is_another).answer(card)
        assert told["command"] == accepted["command"]
        assert told["idempotency_key"] != accepted["idempotency_key"]

    @pytest.mark.parametrize("is_another", [False, True], ids=["restarted", "another process"])
    def test_what_waits_is_lost(self, store: Start, is_another: bool) -> None:
        """A card that waits is not there any more, one that was answered is, and the slot is free (I6.3)."""
        desk = store("pending-with-the-host")
        waiting, answered = desk.card(), Desk(desk.system, "case-2").card()
        desk.answer(answered)
        assert (desk.status(waiting), desk.status(answered)) == ("active", "resolving")
        desk = after(desk, store, "pending-with-the-host", is_another)
        assert (desk.status(waiting), desk.status(answered)) == (None, "resolving")
        assert desk.answer(waiting)["code"] == "not_found"
        assert desk.present()["outcome"] == "presented"


def after(desk: Desk, store: Start, name: str, is_another: bool) -> Desk:
    """The desk at which one goes on: of the system after a restart, or of another store on the same file."""
    if is_another:
        return store(name)
    desk.system.restart()
    return desk


def test_what_was_committed_is_called_undone(store: Start) -> None:
    """The reply of a commit is lost, and the failure says that nothing happened; it did (I14.6)."""
    desk = store("wrong-definite")
    command = desk.answer(desk.card())["command"]
    desk.ask("fault.arm", {"fault": "reply_lost"})
    reply = desk.system.call("command.settle", {"command": command, "result": "committed"})
    assert isinstance(reply, WentWrong)
    assert reply.definite
    assert len(desk.effects()) == 1
