"""The audit finds nothing in what is right, and what is wrong it names: each of its checks is broken, by SQL behind the store."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from socket import AF_UNIX, SOCK_DGRAM, socketpair
from typing import Any

import pytest
from attrs import evolve

from auditing import CHECKS, audit
from evidence import Evidence, Told, gather
from keyturn.capabilities import ALL_CLAIMS
from keyturn.cards import InteractionKind
from keyturn_sql import schema
from keyturn_sql.database import Place
from keyturn_sql.dialects import begin
from keyturn_sql.store import SqlStore
from keyturn_testing.payloads import payload
from lanes import UNKNOWN, Lane
from loading import Heard
from loading_lane import asker_of, key_of

from ..sql.shells import shell

CASE: dict[str, Any] = dict(key_of(0))
ASKER: dict[str, Any] = dict(asker_of(0))


class Desk:
    """One lane that is asked by hand, and what it said."""

    def __init__(self, store: SqlStore) -> None:
        self.heard = Heard()
        ends = socketpair(AF_UNIX, SOCK_DGRAM)
        self.lane = Lane(0, store, {}, threading.Event(), *ends, lambda line: self.heard(0, line))
        self.cards = 0

    def present(self, *, blocking: bool, number: int = 0) -> dict[str, Any]:
        """Present a card and return it."""
        self.cards += 1
        kind = InteractionKind.CONFIRM_COMMAND
        card: dict[str, Any] = {
            **key_of(number),
            "kind": kind.value,
            "blocking": blocking,
            "payload": payload(kind, self.cards, text=False),
            "revision_independent": False,
            "on_occupied": "replace",
            "conversation": asker_of(number)["conversation"],
        }
        shown: dict[str, Any] = self.lane.ask("card.present", **card)["card"]
        return shown

    def click(self, card: Mapping[str, Any], option: str) -> dict[str, Any]:
        """Answer a card at the revision that it was made from."""
        response = {"interaction_id": card["id"], "option_id": option, "expected_case_revision": card["case_revision"]}
        return self.lane.ask("card.respond", **ASKER, response=response)

    def settle(self, accepted: Mapping[str, Any], result: str) -> None:
        """Say how a command ended, twice."""
        for _ in range(2):
            self.lane.ask("command.settle", command=accepted["command"], result=result)


def a_day(desk: Desk) -> None:
    """A bit of everything, in two cases: answers of every kind, each twice, and what is left open."""
    for number in range(2):
        desk.lane.store.case_open(**key_of(number))
    for option, result in (("accept", "committed"), ("run_both", "committed"), ("accept", "failed")):
        card = desk.present(blocking=True)
        accepted = desk.click(card, option)
        desk.click(card, "decline")
        desk.settle(accepted, result)
        desk.click(card, "later")
    for option in ("keep", "decline", "later"):
        card = desk.present(blocking=False)
        for _ in range(2):
            desk.click(card, option)
    desk.click({**desk.present(blocking=False), "case_revision": 1}, "accept")
    desk.lane.ask("case.edit", **CASE)
    desk.click(desk.present(blocking=True), "accept")
    desk.present(blocking=False)
    desk.present(blocking=True, number=1)


@pytest.fixture
def store(place: Place) -> Iterator[SqlStore]:
    """A store on each database."""
    with closing(SqlStore.open_test(place, ALL_CLAIMS, synchronous="normal")) as opened:
        yield opened


@pytest.fixture
def told(store: SqlStore) -> Sequence[Told]:
    """What was told in a day."""
    desk = Desk(store)
    a_day(desk)
    for each in (desk.lane.inbox, desk.lane.outbox):
        each.close()
    return desk.heard.told


def names(evidence: Evidence) -> set[str]:
    """The checks that are broken."""
    return {each.check for each in audit(evidence)}


RAN_AGAIN = (
    "INSERT INTO effects (position, id, command, ordinal, idempotency_key, card, option, action, payload_hash, case_revision) "
    "SELECT 100, 'again', 'another', 9, idempotency_key, card, option, action, payload_hash, case_revision FROM effects "
    "WHERE position = 1"
)
BROKEN: Mapping[str, tuple[str, ...]] = {
    "the ledger replays to the status": (
        "DELETE FROM ledger WHERE event = 'accept'",
        "UPDATE ledger SET to_status = 'expired' WHERE event = 'dismiss'",
        "UPDATE interactions SET status = 'expired' WHERE status = 'active'",
        "DELETE FROM ledger",
    ),
    "a card's commands run at most once": (
        RAN_AGAIN,
        RAN_AGAIN.replace("'another'", "command"),
        "DELETE FROM effects WHERE ordinal = 1",
        "DELETE FROM effects",
        "UPDATE interactions SET resolved_option = 'accept' WHERE resolved_option = 'run_both'",
    ),
    "no answer is lost": (
        "DELETE FROM commands",
        "UPDATE commands SET card = (SELECT id FROM interactions WHERE status = 'active' AND blocking)",
        "UPDATE commands SET option = 'keep'",
        "UPDATE commands SET reply = '{}' WHERE reply IS NOT NULL",
        "UPDATE interactions SET result = '{}' WHERE status = 'declined'",
        "UPDATE interactions SET payload_hash = 'another'",
        "UPDATE interactions SET status = 'active' WHERE status = 'invalidated' AND NOT blocking",
    ),
    "one open blocking card a case": (
        "DROP INDEX one_open_blocking_card; UPDATE interactions SET blocking = true WHERE status IN ('active', 'resolving')",
    ),
    "the counters agree": (
        "UPDATE meta SET created = created + 1",
        "UPDATE meta SET resolved = resolved + 1",
        "UPDATE meta SET stale = stale + 1",
        "UPDATE meta SET failed = failed - 1",
    ),
    "revisions grow by what was committed": (
        "UPDATE cases SET revision = revision + 1",
        "UPDATE cases SET revision = revision - 1 WHERE revision > 1",
        "UPDATE effects SET case_revision = 2",
    ),
}
"""What is done behind the store, by the check that must name it."""


def test_nothing_is_wrong_in_a_day(store: SqlStore, told: Sequence[Told]) -> None:
    """What a store did by itself passes every check, and there was something to check."""
    evidence = gather(store, told)
    assert audit(evidence) == []
    assert {"resolved", "declined", "dismissed", "failed", "resolving", "invalidated", "active"} == {
        each.status for each in evidence.cards.values()
    }
    assert {"accepted", "in_flight", "replayed", "case.edit", "rejected"} <= {each.outcome for each in told}
    assert evidence.counters.stale == 1


@contextmanager
def changed(place: Place, store: SqlStore, statements: str) -> Iterator[None]:
    """Change rows behind the store, and put everything back as it was."""
    tables = [*reversed(schema.CHILDREN_FIRST), schema.meta]
    with store.database.engine.connect() as connection:
        kept = {table: [dict(row) for row in connection.execute(table.select()).mappings()] for table in tables}
    with shell(place) as opened:
        for each in statements.split("; "):
            opened.execute(each)
    yield
    with store.database.engine.connect() as connection, begin(connection, changes=True):
        for table in reversed(tables):
            connection.execute(table.delete())
        for table, rows in kept.items():
            connection.execute(table.insert(), rows)


def test_each_check_can_fail(store: SqlStore, told: Sequence[Told], place: Place) -> None:
    """Rows that are wrong are named by the check that is for them."""
    unseen = []
    for check, ways in BROKEN.items():
        for statements in ways:
            with changed(place, store, statements):
                if check not in names(gather(store, told)):
                    unseen.append(f"{check}: {statements}")
    assert unseen == []


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_an_id_that_two_were_given_is_found(store: SqlStore, told: Sequence[Told]) -> None:
    """That two workers were told the same is seen in what they were told: no row could say it."""
    assert names(gather(store, [*told, *told])) >= {"an id is given once"}
    assert {*BROKEN, "an id is given once"} == set(CHECKS)


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_nobody_heard_may_have_happened_or_not(store: SqlStore, told: Sequence[Told]) -> None:
    """An edit and a refusal that were not heard explain one revision more, and one refusal more, and no two."""
    nobody = Told("case.edit", CASE, {"outcome": UNKNOWN})
    evidence = gather(store, told)
    more = {
        count: evolve(
            evidence,
            told=[*told, nobody],
            cases={key: number + count * (key.case == CASE["case"]) for key, number in evidence.cases.items()},
            counters=evolve(evidence.counters, stale=evidence.counters.stale + count),
        )
        for count in (0, 1, 2)
    }
    found = {count: names(each) for count, each in more.items()}
    both = {"the counters agree", "revisions grow by what was committed"}
    assert found == {0: set(), 1: set(), 2: both}
