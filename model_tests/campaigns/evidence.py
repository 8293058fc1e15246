"""What there is after a campaign: everything that is stored, and everything that somebody was told.

History is read with the operations that any observer has, what is stored now with SQL. Nothing is interpreted here, so that a row
that is wrong is found by an audit and not by a reader that stumbles over it.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen
from sqlalchemy import select

from keyturn.evidence import Effect, LedgerEntry, Metrics
from keyturn.operations import Effects, Ledger, ReadEffects, ReadLedger, ReadMetrics
from keyturn.values import CaseKey
from keyturn_sql import schema
from keyturn_sql.store import SqlStore


@frozen
class Told:
    """One answer that a worker got: what it had asked, in short, and what it was told."""

    method: str
    asked: Mapping[str, Any]
    answer: Mapping[str, Any]

    @property
    def outcome(self) -> str:
        """The name of the outcome; where an operation has one plain result, how it is called."""
        return str(self.answer.get("outcome", self.method))

    @property
    def card(self) -> str:
        """The card that was meant."""
        response = self.asked.get("response")
        return str(response["interaction_id"] if response is not None else self.asked.get("card"))

    @property
    def case(self) -> CaseKey:
        """The case that was meant."""
        return CaseKey(*(str(self.asked[name]) for name in ("account", "workflow", "case")))

    def __str__(self) -> str:
        about = self.asked.get("command") or self.asked.get("case") or self.card
        return f"{self.method} of {about}, answered {self.outcome}"


@frozen(kw_only=True)
class Card:
    """A stored card, as its row has it."""

    id: str
    case: CaseKey
    status: str
    blocking: bool
    payload_hash: str
    payload: Mapping[str, Any]
    resolved_option: str | None
    result: Mapping[str, Any] | None


@frozen(kw_only=True)
class Command:
    """A stored command."""

    id: str
    card: str
    option: str
    reply: Mapping[str, Any] | None


@frozen(kw_only=True)
class Evidence:
    """Everything that an audit looks at; the ledger and the effects by their card, in order."""

    cases: Mapping[CaseKey, int]
    cards: Mapping[str, Card]
    commands: Mapping[str, Command]
    ledger: Mapping[str, Sequence[LedgerEntry]]
    effects: Mapping[str, Sequence[Effect]]
    counters: Metrics
    told: Sequence[Told]


def gather(store: SqlStore, told: Iterable[Told]) -> Evidence:
    """Read everything that a store holds, when nobody changes it any more."""
    cases = _cases(store)
    ledger, effects = defaultdict(list), defaultdict(list)
    for key in cases:
        where = {"account": key.account, "workflow": key.workflow, "case": key.case}
        entries, ran = store.perform(ReadLedger(**where)), store.perform(ReadEffects(**where))
        for entry in entries.entries if isinstance(entries, Ledger) else ():
            ledger[str(entry.card)].append(entry)
        for effect in ran.effects if isinstance(ran, Effects) else ():
            effects[str(effect.card)].append(effect)
    counters = store.perform(ReadMetrics())
    if not isinstance(counters, Metrics):
        raise TypeError(f"the counters read {counters}")
    return Evidence(
        cases=cases,
        cards={str(row["id"]): _card(row) for row in _rows(store, "interactions")},
        commands={str(row["id"]): _command(row) for row in _rows(store, "commands")},
        ledger=ledger,
        effects=effects,
        counters=counters,
        told=list(told),
    )


def _rows(store: SqlStore, table: str) -> Sequence[Mapping[str, Any]]:
    with store.database.engine.connect() as connection:
        return [dict(row) for row in connection.execute(select(schema.metadata.tables[table])).mappings()]


def _cases(store: SqlStore) -> dict[CaseKey, int]:
    return {_key(row): int(row["revision"]) for row in _rows(store, "cases")}


def _key(row: Mapping[str, Any]) -> CaseKey:
    return CaseKey(*(str(row[name]) for name in ("account", "workflow", "case_id")))


def _card(row: Mapping[str, Any]) -> Card:
    return Card(
        id=str(row["id"]),
        case=_key(row),
        status=str(row["status"]),
        blocking=bool(row["blocking"]),
        payload_hash=str(row["payload_hash"]),
        payload=json.loads(row["payload"]),
        resolved_option=row["resolved_option"],
        result=None if row["result"] is None else json.loads(row["result"]),
    )


def _command(row: Mapping[str, Any]) -> Command:
    reply = None if row["reply"] is None else json.loads(row["reply"])
    return Command(id=str(row["id"]), card=str(row["card"]), option=str(row["option"]), reply=reply)
