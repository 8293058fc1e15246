"""Several processes on one file, and processes that are killed: what one was told, all others see, for ever."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from keyturn import operations as ops
from keyturn.responses import Presented
from keyturn.values import Json
from keyturn.wire import read_operation, write_outcome
from keyturn_sql.database import Place, Postgres
from keyturn_sql.store import SqlStore

from .conftest import DATABASES
from .programs import PAYLOADS, THE_CASE, Seen, presents, start
from .tables import rows_of

WORKER = Path(__file__).with_name("worker.py")
KIND, PAYLOAD = PAYLOADS["confirm"]
CARD = {
    "conversation": "phone",
    "kind": KIND,
    "payload": PAYLOAD,
    "revision_independent": False,
    "on_occupied": "refuse",
}


class Worker:
    """One process that serves the store."""

    def __init__(self, place: Place) -> None:
        self.place = place
        words = [str(place)] if isinstance(place, Path) else [place.dsn, str(place.schema)]
        command = [sys.executable, str(WORKER), *words]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait(self) -> None:
        """Wait until the store is open."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def send(self, method: str, **params: object) -> None:
        """Ask without waiting."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([method, params]) + "\n")
        self.process.stdin.flush()

    def reply(self) -> dict[str, Any]:
        """Wait for the reply to what was asked first."""
        assert self.process.stdout is not None
        said: dict[str, Any] = json.loads(self.process.stdout.readline())
        return said

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Ask and wait."""
        self.send(method, **params)
        return self.reply()

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


Start = Callable[[], Worker]


@pytest.fixture
def worker(place: Place) -> Iterator[Start]:
    """Starts processes on the file that can be killed, and ends them after the test."""
    with ExitStack() as started:

        def begin() -> Worker:
            one = Worker(place)
            started.callback(one.kill)
            one.wait()
            return one

        yield begin


@pytest.fixture(scope="module", params=DATABASES)
def workers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Worker]]:
    """Three processes that make one store at the same time, and share it."""
    place: Place = tmp_path_factory.mktemp("shared") / "cards.db"
    if request.param == "postgresql":
        place = Postgres(request.getfixturevalue("postgres"), "shared")
    started = [Worker(place) for _ in range(3)]
    for each in started:
        each.wait()
    yield started
    for each in started:
        each.kill()


def answer(card: str, option: str, revision: int) -> dict[str, Json]:
    """The parameters of an answer."""
    response: Json = {"interaction_id": card, "option_id": option, "expected_case_revision": revision}
    return {"account": "anna", "conversation": "phone", "response": response}


def test_two_processes_see_each_others_cards_and_effects(workers: list[Worker]) -> None:
    """What one presents the other answers, settles and reads back; ids never collide."""
    first, second, _ = workers
    first.call("reset", now="2026-01-01T00:00:00Z")
    assert second.call("case.open", **THE_CASE) == {"revision": 1}
    card = first.call("card.present", **THE_CASE, **CARD, blocking=True)["card"]
    assert second.call("card.list", account="anna", conversation="phone") == {"cards": [card]}
    assert second.call("card.present", **THE_CASE, **CARD, blocking=True)["code"] == "slot_occupied"
    command = second.call("card.respond", **answer(card["id"], "both", 1))["command"]
    assert first.call("card.respond", **answer(card["id"], "pay", 1))["command"] == command
    resolved = first.call("command.settle", command=command, result="committed")
    replayed = second.call("card.respond", **answer(card["id"], "pay", 1))
    assert (replayed["outcome"], replayed["result"]) == ("replayed", resolved["result"])
    effects = second.call("effects", **THE_CASE)["effects"]
    assert [each["id"] for each in effects] == resolved["result"]["effects"]
    assert second.call("case.open", **THE_CASE) == {"revision": 2}
    other = second.call("card.present", **THE_CASE, **CARD, blocking=True)["card"]
    assert len({card["id"], other["id"], command, *(each["id"] for each in effects)}) == 5
    ledger = first.call("ledger", **THE_CASE)["entries"]
    assert [each["seq"] for each in ledger] == [1, 2, 3, 4]


def test_processes_that_write_at_once_lose_nothing(workers: list[Worker]) -> None:
    """Many presentations at the same time: each is written, with an id of its own, in one order for all."""
    workers[0].call("reset", now="2026-01-01T00:00:00Z")
    workers[0].call("case.open", **THE_CASE)
    for each in workers:
        for _ in range(20):
            each.send("card.present", **THE_CASE, **CARD, blocking=False)
    names = [each.reply()["card"]["id"] for each in workers for _ in range(20)]
    listed = [card["id"] for card in workers[1].call("card.list", account="anna", conversation="phone")["cards"]]
    assert len(set(names)) == 60
    assert sorted(listed) == sorted(names)


def test_of_answers_at_once_exactly_one_is_taken(workers: list[Worker]) -> None:
    """I14.5: the others are answered for the status that they find, and there is one effect."""
    workers[0].call("reset", now="2026-01-01T00:00:00Z")
    workers[0].call("case.open", **THE_CASE)
    for revision in range(1, 6):
        card = workers[0].call("card.present", **THE_CASE, **CARD, blocking=True)["card"]
        for each, option in zip(workers, ("pay", "both", "pay"), strict=True):
            each.send("card.respond", **answer(card["id"], option, revision))
        replies = [each.reply() for each in workers]
        assert sorted(each["outcome"] for each in replies) == ["accepted", "in_flight", "in_flight"]
        assert len({each["command"] for each in replies}) == 1
        for each in workers:
            each.send("command.settle", command=replies[0]["command"], result="committed")
        assert len({json.dumps(each.reply()) for each in workers}) == 1


def test_a_killed_process_loses_nothing(worker: Start, place: Place) -> None:
    """SIGKILL between operations: everything that was answered is there, and a Resolving card can be settled (L11)."""
    first = worker()
    first.call("reset", now="2026-01-01T00:00:00Z")
    first.call("case.open", **THE_CASE)
    card = first.call("card.present", **THE_CASE, **CARD, blocking=True)["card"]
    command = first.call("card.respond", **answer(card["id"], "pay", 1))["command"]
    seen = first.call("card.get", account="anna", conversation="phone", card=card["id"])
    first.kill()
    second = worker()
    assert second.call("card.get", account="anna", conversation="phone", card=card["id"]) == seen
    assert seen["card"]["status"] == "resolving"
    resolved = second.call("command.settle", command=command, result="committed")
    second.kill()
    with closing(SqlStore.open_test(place)) as store:
        replayed = write_outcome(store.perform(read_operation("card.respond", answer(card["id"], "pay", 1))))
        assert replayed["result"] == resolved["result"]


def test_a_process_that_is_killed_while_it_writes_leaves_whole_operations(worker: Start, place: Place) -> None:
    """SIGKILL in the middle of many changes: what was answered is there, and what is there is whole."""
    first = worker()
    first.call("reset", now="2026-01-01T00:00:00Z")
    first.call("case.open", **THE_CASE)
    # No more than what the pipes hold, both ways.
    for _ in range(40):
        first.send("card.present", **THE_CASE, **CARD, blocking=False)
    answered = [first.reply()["card"]["id"] for _ in range(10)]
    first.kill()
    with closing(SqlStore.open_test(place)) as store:
        found = rows_of(store)
        names = [row[1] for row in found["interactions"]]
        assert names[:10] == answered
        assert [row[2] for row in found["ledger"]] == names
        (presented,) = [store.perform(presents("review").meet(Seen()))]
        assert isinstance(presented, Presented)
        assert presented.card.id not in names


def test_processes_that_make_the_file_at_once_share_it(workers: list[Worker]) -> None:
    """Whoever is first makes the store, whole; all others open that one, and nothing else is left in the folder."""
    workers[0].call("reset", now="2026-01-01T00:00:00Z")
    workers[1].call("case.open", **THE_CASE)
    assert workers[2].call("case.edit", **THE_CASE)["revision"] == 2
    place = workers[0].place
    if isinstance(place, Path):
        names = {each.name for each in place.parent.iterdir()}
        assert names <= {f"cards.db{suffix}" for suffix in ("", "-wal", "-shm")}


def test_threads_share_a_store(place: Place) -> None:
    """One store serves several threads: each operation is its own transaction."""
    with closing(SqlStore.open_test(place, synchronous="normal")) as store, ThreadPoolExecutor(4) as threads:
        start(store.perform)
        operation = presents("confirm", blocking=False).meet(Seen())
        outcomes = list(threads.map(store.perform, [operation] * 40))
        cards = store.perform(ops.CardList(account="anna", conversation="phone"))
        assert isinstance(cards, ops.Cards)
        assert {each.card.id for each in outcomes if isinstance(each, Presented)} == {each.id for each in cards.cards}
        assert len(cards.cards) == 40
