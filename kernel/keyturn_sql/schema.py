"""The tables of a durable store, to be read by people as well: typed columns, and JSON only for what is a tree.

The kernel decides what happens; the tables repeat the rules whose breach would do harm, so that a bug above them still
cannot. A partial unique index holds one open blocking card a case (I5.1), a unique constraint holds one commit a card
(I14.1), another index one command in flight a card (I14.3). Times are milliseconds since 1970-01-01T00:00:00Z; the
shell shows them with `datetime(created_at / 1000, 'unixepoch')`.
"""

from collections.abc import Iterable, Mapping

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    MetaData,
    Table,
    UniqueConstraint,
)

from keyturn.cards import InteractionKind, RiskClass
from keyturn.responses import FailureCode
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.table import OPEN
from keyturn_sql.dialects import EXACT_TEXT, WHOLE_NUMBER, next_number, partial_index

SCHEMA_VERSION = 4
"""Grows with every change of the tables; a store of another version is not opened."""

_RESULTS, _POLICIES = ("committed", "failed"), ("record", "restore")
_REASONS = ("revision_changed", "superseded", "case_closed", "administrative")


def _in_words(values: Iterable[str]) -> str:
    return ", ".join(f"'{each}'" for each in sorted(values))


def _one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({_in_words(values)})", name=f"known_{column}")


def _at_least(column: str, least: int) -> CheckConstraint:
    return CheckConstraint(f"{column} >= {least}", name=f"least_{column}")


IS_OPEN = f"status IN ({_in_words(OPEN)})"
"""The condition of the open cards. Literal, because a partial index serves only a query that says the same."""

OCCUPIES = f"blocking AND {IS_OPEN}"
"""The condition of the cards that hold the slot of their case (I5)."""

CAN_EXPIRE = f"status = '{InteractionStatus.ACTIVE}' AND expires_at IS NOT NULL"
"""The condition of the cards that a sweep may find overdue (L7)."""

COUNTERS = ("created", "resolved", "stale", "failed")
"""The columns of the counters; each moves in the transaction that does what it counts (E3)."""

metadata = MetaData(
    naming_convention={
        "ix": "%(table_name)s_by_%(column_0_name)s",
        "pk": "key_of_%(table_name)s",
        "fk": "%(table_name)s_of_%(referred_table_name)s",
        "uq": "one_%(table_name)s_%(column_0_N_name)s",
        "ck": "%(table_name)s_%(constraint_name)s",
    }
)
"""All tables of a store."""

meta = Table(
    "meta",
    metadata,
    Column("id", WHOLE_NUMBER, CheckConstraint("id = 1", name="one_row"), primary_key=True, autoincrement=False),
    Column("mark", EXACT_TEXT, nullable=False),
    Column("schema_version", WHOLE_NUMBER, nullable=False),
    Column("now", WHOLE_NUMBER, nullable=False),
    Column("issued", WHOLE_NUMBER, _at_least("issued", 0), nullable=False),
    Column("next_result", EXACT_TEXT, _one_of("next_result", _RESULTS), nullable=False),
    Column("next_on_failure", EXACT_TEXT, _one_of("next_on_failure", _POLICIES), nullable=False),
    Column("armed", EXACT_TEXT, nullable=False),
    *(Column(each, WHOLE_NUMBER, _at_least(each, 0), nullable=False, default=0) for each in COUNTERS),
)
"""One row: whose file this is, the clock, how many ids were ever given out (I6.7), what is to come, and the counters (E3)."""

cases = Table(
    "cases",
    metadata,
    Column("account", EXACT_TEXT, primary_key=True),
    Column("workflow", EXACT_TEXT, primary_key=True),
    Column("case_id", EXACT_TEXT, primary_key=True),
    Column("revision", WHOLE_NUMBER, _at_least("revision", 1), nullable=False),
    Column("closed", Boolean(create_constraint=True, name="known_closed"), nullable=False),
)
"""The cases and their revisions, and whether each is closed (I13)."""

interactions = Table(
    "interactions",
    metadata,
    Column("position", WHOLE_NUMBER, primary_key=True, default=next_number("interactions", "position")),
    Column("id", EXACT_TEXT, unique=True, nullable=False),
    Column("account", EXACT_TEXT, nullable=False),
    Column("workflow", EXACT_TEXT, nullable=False),
    Column("case_id", EXACT_TEXT, nullable=False),
    Column("conversation", EXACT_TEXT, nullable=False),
    Column("status", EXACT_TEXT, _one_of("status", InteractionStatus), nullable=False),
    Column("kind", EXACT_TEXT, _one_of("kind", InteractionKind), nullable=False),
    Column("blocking", Boolean(create_constraint=True, name="known_blocking"), nullable=False),
    Column("case_revision", WHOLE_NUMBER, _at_least("case_revision", 1)),
    Column("created_at", WHOLE_NUMBER, nullable=False),
    Column("expires_at", WHOLE_NUMBER),
    Column("resolved_at", WHOLE_NUMBER),
    Column("resolved_option", EXACT_TEXT),
    Column("result", EXACT_TEXT),
    Column("confirms_risk", EXACT_TEXT, _one_of("confirms_risk", RiskClass), nullable=False),
    Column("text_resolution", EXACT_TEXT, nullable=False),
    Column("payload_hash", EXACT_TEXT, nullable=False),
    Column("payload", EXACT_TEXT, nullable=False),
    ForeignKeyConstraint(["account", "workflow", "case_id"], [cases.c.account, cases.c.workflow, cases.c.case_id]),
    CheckConstraint(
        "(status IN ('resolved', 'declined', 'dismissed')) = (result IS NOT NULL)", name="result_of_an_answer"
    ),
)
"""The cards, in the order in which they were presented; the stored actions are in the payload (I6.5, I7)."""

partial_index(
    "one_open_blocking_card",
    *(interactions.c.account, interactions.c.workflow, interactions.c.case_id),
    where=OCCUPIES,
    unique=True,
)
partial_index(
    "open_cards_of_a_case",
    *(interactions.c.account, interactions.c.workflow, interactions.c.case_id, interactions.c.position),
    where=IS_OPEN,
)
partial_index(
    "open_cards_of_a_conversation",
    *(interactions.c.account, interactions.c.conversation, interactions.c.position),
    where=IS_OPEN,
)
Index("cards_of_a_case", interactions.c.account, interactions.c.workflow, interactions.c.case_id)
partial_index("deadlines", interactions.c.expires_at, where=CAN_EXPIRE)

commands = Table(
    "commands",
    metadata,
    Column("position", WHOLE_NUMBER, primary_key=True, default=next_number("commands", "position")),
    Column("id", EXACT_TEXT, unique=True, nullable=False),
    Column("idempotency_key", EXACT_TEXT, unique=True, nullable=False),
    Column("card", EXACT_TEXT, ForeignKey(interactions.c.id), index=True, nullable=False),
    Column("option", EXACT_TEXT, nullable=False),
    Column("freeform", EXACT_TEXT),
    Column("accepted_at_revision", WHOLE_NUMBER, _at_least("accepted_at_revision", 1), nullable=False),
    Column("settled_result", EXACT_TEXT, _one_of("settled_result", _RESULTS)),
    Column("settled_on_failure", EXACT_TEXT, _one_of("settled_on_failure", _POLICIES)),
    Column("reply", EXACT_TEXT),
    CheckConstraint("(settled_result IS NULL) = (reply IS NULL)", name="reply_of_a_settlement"),
    CheckConstraint("(settled_result IS NULL) = (settled_on_failure IS NULL)", name="whole_settlement"),
)
"""What authorising options became: one row an attempt, with how it ended and what was answered (L5, I14.7)."""

partial_index("one_command_in_flight", commands.c.card, where="settled_result IS NULL", unique=True)

effects = Table(
    "effects",
    metadata,
    Column("position", WHOLE_NUMBER, primary_key=True, default=next_number("effects", "position")),
    Column("id", EXACT_TEXT, unique=True, nullable=False),
    # No foreign key: the command of a recorded decline is over in the step that makes it, and is never stored.
    Column("command", EXACT_TEXT, nullable=False),
    Column("idempotency_key", EXACT_TEXT, nullable=False),
    Column("card", EXACT_TEXT, ForeignKey(interactions.c.id), nullable=False),
    Column("option", EXACT_TEXT, nullable=False),
    Column("ordinal", WHOLE_NUMBER, _at_least("ordinal", 0), nullable=False),
    Column("action", EXACT_TEXT, nullable=False),
    Column("arguments", EXACT_TEXT),
    Column("freeform", EXACT_TEXT),
    Column("payload_hash", EXACT_TEXT, nullable=False),
    Column("case_revision", WHOLE_NUMBER, _at_least("case_revision", 1), nullable=False),
    UniqueConstraint("card", "ordinal", name="one_commit_a_card"),
)
"""What commands did, in commit order; `ordinal` counts from 0 in each commit, so that a second one collides (I14.1)."""

ledger = Table(
    "ledger",
    metadata,
    Column("seq", WHOLE_NUMBER, primary_key=True, default=next_number("ledger", "seq")),
    Column("at", WHOLE_NUMBER, nullable=False),
    Column("card", EXACT_TEXT, ForeignKey(interactions.c.id), index=True, nullable=False),
    Column("from_status", EXACT_TEXT, _one_of("from_status", InteractionStatus)),
    Column("event", EXACT_TEXT, _one_of("event", InteractionEvent), nullable=False),
    Column("to_status", EXACT_TEXT, _one_of("to_status", InteractionStatus), nullable=False),
    Column("option", EXACT_TEXT),
    Column("command", EXACT_TEXT),
    Column("reason", EXACT_TEXT, _one_of("reason", _REASONS)),
    Column("code", EXACT_TEXT),
    Column("superseded_by", EXACT_TEXT),
    Column("new_revision", WHOLE_NUMBER),
    # Why a command did not commit is one of a few words; why cards were withdrawn is what whoever did it says.
    CheckConstraint(
        f"code IN ({_in_words(FailureCode)}) OR coalesce(reason, '') = 'administrative'", name="known_code"
    ),
)
"""Every transition of every card, with its cause; `seq` grows over the whole store (E1)."""

CHILDREN_FIRST: tuple[Table, ...] = (ledger, effects, commands, interactions, cases)
"""The tables that a reset empties, in an order that the foreign keys admit."""

GUARDS: Mapping[str, str] = {
    "one_open_blocking_card": "a case has at most one open blocking card (I5.1)",
    "one_commit_a_card": "the commands of a card run at most once (I14.1)",
    "one_command_in_flight": "a card waits for one command at a time (I14.3)",
}
"""What the guards that stand for a requirement say; the others are named as the database names them."""
