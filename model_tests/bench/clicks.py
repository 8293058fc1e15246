"""A click on the durable stores, against the bare statement that every store must do which is right.

Whoever takes a click once has to change one row on the condition that it is still as it was, and to write down what was done, in
one transaction that is on the disk before it is answered. That is done here with the driver alone, beside the store.
"""

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import psycopg

from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.cards import InteractionKind
from keyturn.values import Json
from keyturn_sql.database import Place, Postgres
from keyturn_sql.store import SqlStore
from keyturn_testing.payloads import payload
from keyturn_testing.postgres_server import DURABLE, server
from measuring import IN_TURNS, Table, Timed, in_turns, microseconds, per_second

CLICKS = 200
DISK = "the disk alone"
CLAIMS = ALL_CLAIMS - {Capability.DEFERRED}
TABLES = (
    "CREATE TABLE cards (id TEXT PRIMARY KEY, status TEXT NOT NULL)",
    "CREATE TABLE ran (card TEXT PRIMARY KEY, option TEXT NOT NULL)",
)


class Statements(Protocol):
    """A connection of a driver, on which every statement is sent by itself."""

    def execute(self, statement: Any, given: Any = (), /) -> Any:
        """Run a statement."""


# ---- What is timed --------------------------------------------------------------------------------------------------


def of_the_store(place: Place) -> Timed:
    """Clicks on the store: each on a card of its own, whose command runs at once."""
    numbers = count()

    def run() -> tuple[int, float]:
        with closing(SqlStore.open_test(place, CLAIMS, synchronous="normal")) as preparing:
            cards = [_presented(preparing, next(numbers)) for _ in range(CLICKS)]
        with closing(SqlStore.open_test(place, CLAIMS, synchronous="full")) as store:
            store.metrics()
            start = time.perf_counter()
            for conversation, card in cards:
                response: Json = {"interaction_id": card, "option_id": "accept", "expected_case_revision": 1}
                answer = store.card_respond(account="acme", conversation=conversation, response=response)
                if answer["outcome"] != "resolved":
                    raise SystemExit(f"a click was answered {answer}")
            return CLICKS, time.perf_counter() - start

    return run


def _presented(store: SqlStore, number: int) -> tuple[str, str]:
    case: dict[str, Any] = {"account": "acme", "workflow": "travel", "case": f"trip-{number}"}
    store.case_open(**case)
    kind = InteractionKind.CONFIRM_COMMAND
    how: dict[str, Any] = {"blocking": True, "revision_independent": False, "on_occupied": "refuse"}
    conversation = f"chat-{number}"
    shown: Any = store.card_present(
        **case, **how, conversation=conversation, kind=kind.value, payload=payload(kind, number, text=False)
    )
    return conversation, shown["card"]["id"]


def of_the_statements(connection: Statements, mark: str) -> Timed:
    """The bare statements; `mark` stands for a value in the words of the driver."""
    numbers = count()
    take = f"UPDATE cards SET status = 'resolved' WHERE id = {mark} AND status = 'active'"  # noqa: S608  # a mark only
    write = f"INSERT INTO ran (card, option) VALUES ({mark}, {mark})"  # noqa: S608  # as above
    present = f"INSERT INTO cards (id, status) VALUES ({mark}, 'active')"  # noqa: S608  # as above

    def run() -> tuple[int, float]:
        cards = [f"card-{next(numbers)}" for _ in range(CLICKS)]
        connection.execute("BEGIN")
        for card in cards:
            connection.execute(present, (card,))
        connection.execute("COMMIT")
        start = time.perf_counter()
        for card in cards:
            connection.execute("BEGIN")
            if connection.execute(take, (card,)).rowcount != 1:
                raise SystemExit(f"{card} was not active")
            connection.execute(write, (card, "accept"))
            connection.execute("COMMIT")
        return CLICKS, time.perf_counter() - start

    return run


def of_the_disk(path: Path) -> Timed:
    """What a commit waits for: a page that is written at the end of a file and synced."""

    def run() -> tuple[int, float]:
        with path.open("ab", buffering=0) as file:
            start = time.perf_counter()
            for _ in range(CLICKS):
                file.write(bytes(4096))
                os.fsync(file.fileno())
            return CLICKS, time.perf_counter() - start

    return run


# ---- Where ----------------------------------------------------------------------------------------------------------


@contextmanager
def _sqlite() -> Iterator[tuple[Timed, Timed]]:
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        connection = sqlite3.connect(folder / "bare.sqlite3", isolation_level=None)
        opened.enter_context(closing(connection))
        for each in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = full", *TABLES):
            connection.execute(each)
        yield of_the_statements(connection, "?"), of_the_store(folder / "cards.sqlite3")


@contextmanager
def _postgresql() -> Iterator[tuple[Timed, Timed]]:
    with server(DURABLE) as dsn:
        place = Postgres(f"{dsn}&dbname=postgres", "clicks")
        with psycopg.connect(place.dsn, autocommit=True) as connection:
            for each in TABLES:
                connection.execute(each)
            yield of_the_statements(connection, "%s"), of_the_store(place)


PLACES: Mapping[str, Callable[[], Any]] = {"SQLite": _sqlite, "PostgreSQL": _postgresql}


def of_clicks() -> Table:
    """Measure clicks on both databases."""
    measured: dict[str, Timed] = {}
    with ExitStack() as opened:
        measured[DISK] = of_the_disk(Path(opened.enter_context(tempfile.TemporaryDirectory()), "page"))
        for name, place in PLACES.items():
            measured[f"{name}, the bare statements"], measured[f"{name}, the store"] = opened.enter_context(place())
        cost = in_turns(measured)
    rows = []
    for name, each in cost.items():
        bare = cost.get(f"{name.partition(',')[0]}, the bare statements")
        rows.append((name, per_second(each), microseconds(each), "" if bare is None else f"{each / bare:.1f}"))
    return Table(
        "A click on the durable stores",
        f"One answer after the other on one connection, {CLICKS} in a repetition, each to a card of its own: the store reads the "
        "card and what is around it, asks the kernel, and writes the card, its command, the effect, the ledger and the counters. "
        "The bare statements are what no store that is right can leave out, one conditional `UPDATE` and one `INSERT` in one "
        "transaction, by sqlite3 and by psycopg. On both a commit waits for the disk (WAL with `synchronous=full`; `fsync=on`), "
        "and how long a disk takes to sync one page stands beside them. "
        f"{IN_TURNS}",
        ("what", "clicks a second", "cost of a click", "ratio"),
        rows,
    )
