"""The records of the kernel as rows, and rows as records: one small mechanism, and a table for each record.

A field is *kept* in one or more cells: as it is, as the name of a member of an enumeration, as canonical JSON, or as
the fields of a record of its own. A shape lists how every field of a record is kept; writing and reading follow from
it. A payload is only read back when it still has the hash that was taken when it was presented (I6.5, I19.4).
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Generic, TypeAlias, TypeVar, cast

from attrs import field, frozen

from keyturn.cards import (
    Interaction,
    InteractionKind,
    InteractionPayload,
    Result,
    RiskClass,
    StoredAction,
    TextResolutionPolicy,
)
from keyturn.faults import Armed
from keyturn.operations import Cause, CommandSettle, Effect, LedgerEntry, Metrics
from keyturn.responses import Settled
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import CaseKey, Document, Json, document
from keyturn.wire import read, read_outcome, write, write_outcome
from keyturn.world import Case, Command, Settlement, World

Record = TypeVar("Record")

Cell: TypeAlias = str | int | None
"""What one column of one row holds; a boolean is an integer to Python, and whatever the database makes of it."""

Cells: TypeAlias = Sequence[Cell]
"""Some columns of one row, in a known order."""


class Damaged(Exception):
    """A stored row is not what was written: it was changed from outside, and nothing may rest on it (I19.4)."""


@frozen
class Kept:
    """How one value is kept: the columns that it takes, and the ways there and back."""

    columns: tuple[str, ...]
    to_cells: Callable[[object], Cells]
    to_value: Callable[[Cells], object]

    def or_nothing(self) -> "Kept":
        """Return the same for a value that may be absent, which is NULL in every column."""
        absent = (None,) * len(self.columns)
        return Kept(
            self.columns,
            lambda value: absent if value is None else self.to_cells(value),
            lambda cells: None if tuple(cells) == absent else self.to_value(cells),
        )


def _as_it_is(column: str) -> Kept:
    return Kept((column,), lambda value: (cast(Cell, value),), lambda cells: cells[0])


def _by_name(column: str, kind: type[StrEnum]) -> Kept:
    return Kept((column,), lambda value: (str(value),), lambda cells: kind(str(cells[0])))


def _as_text(column: str, to_text: Callable[[Record], str], of_text: Callable[[str], Record]) -> Kept:
    return Kept((column,), lambda value: (to_text(cast(Record, value)),), lambda cells: of_text(str(cells[0])))


@frozen
class Shape(Generic[Record]):
    """How the fields of a record are kept in one row, in the order of its columns."""

    kind: type[Record]
    fields: Mapping[str, Kept]
    _cuts: tuple[tuple[str, Kept, slice], ...] = field(init=False)

    @_cuts.default
    def _cut(self) -> tuple[tuple[str, Kept, slice], ...]:
        cuts, start = [], 0
        for name, kept in self.fields.items():
            stop = start + len(kept.columns)
            cuts.append((name, kept, slice(start, stop)))
            start = stop
        return tuple(cuts)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the record takes."""
        return tuple(column for kept in self.fields.values() for column in kept.columns)

    def part(self, *names: str) -> "Shape[Record]":
        """Return the shape of some of the fields: what is written when the others stay."""
        return Shape(self.kind, {name: self.fields[name] for name in names})

    def row(self, record: Record) -> dict[str, Cell]:
        """Return the cells of a record by their columns."""
        return {
            column: cell
            for name, kept, _ in self._cuts
            for column, cell in zip(kept.columns, kept.to_cells(getattr(record, name)), strict=True)
        }

    def record(self, cells: Cells) -> Record:
        """Return the record that these cells are, in the order of the columns; raise `Damaged` when they are none."""
        try:
            return self.kind(**{name: kept.to_value(cells[cut]) for name, kept, cut in self._cuts})
        except (ValueError, LookupError, RecursionError) as error:
            raise Damaged(f"a stored {self.kind.__name__} cannot be read: {error}") from error

    def kept(self) -> Kept:
        """Return the same for a record inside another: its columns stand among those of the other."""
        return Kept(self.columns, lambda value: tuple(self.row(cast(Record, value)).values()), self.record)


# ---- What the wire does not do: values of a union need their tag, and text is text -----------------------------------


@frozen
class _Holder:
    """A stored action on its own carries no tag on the wire; as a field it does."""

    action: StoredAction


def _write_action(action: StoredAction) -> str:
    return document(cast(Mapping[str, Json], write(_Holder(action)))["action"]).text


def _read_action(text: str) -> StoredAction:
    return read(_Holder, {"action": Document(text).value}, "a stored action").action


def _write_reply(reply: Settled) -> str:
    return document(write_outcome(reply)).text


def _read_reply(text: str) -> Settled:
    return cast(Settled, read_outcome(CommandSettle, Document(text).value))


def _json(column: str, kind: type[Record]) -> Kept:
    """Keep a record as canonical JSON; records are immutable, so that equal texts can share one, and the other way."""

    @lru_cache(maxsize=1024)
    def to_text(record: Record) -> str:
        return document(write(record)).text

    @lru_cache(maxsize=1024)
    def of_text(text: str) -> Record:
        return read(kind, Document(text).value, f"a stored {kind.__name__}")

    return _as_text(column, to_text, of_text)


@lru_cache(maxsize=1024)
def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@frozen
class _Faults:
    """The armed faults as a record, for the wire."""

    armed: tuple[Armed, ...] = ()


def armed_text(armed: tuple[Armed, ...]) -> str:
    """Return the armed faults as their column holds them."""
    return document(write(_Faults(armed))).text


def _armed(text: str) -> tuple[Armed, ...]:
    return read(_Faults, Document(text).value, "the armed faults").armed


# ---- The shapes ------------------------------------------------------------------------------------------------------


def _shape(kind: type[Record], /, *plain: str, **kept: Kept) -> Shape[Record]:
    return Shape(kind, {**{name: _as_it_is(name) for name in plain}, **kept})


def _settlement(prefix: str) -> Shape[Settlement]:
    names = ("result", "on_failure")
    return Shape(Settlement, {name: _as_it_is(f"{prefix}_{name}") for name in names})


CASE_KEY: Shape[CaseKey] = _shape(CaseKey, "account", "workflow", case=_as_it_is("case_id"))
"""A case key, wherever one is kept."""

WORLD: Shape[World] = _shape(
    World, "now", "issued", next_settlement=_settlement("next").kept(), armed=_as_text("armed", armed_text, _armed)
)
"""What of a world is neither a case nor a card nor a command: the row of `meta`."""

CASE: Shape[Case] = _shape(Case, "revision", "closed", key=CASE_KEY.kept())
"""The rows of `cases`."""

INTERACTION: Shape[Interaction] = _shape(
    Interaction,
    *("id", "conversation", "blocking", "case_revision", "created_at", "expires_at", "resolved_at", "resolved_option"),
    *("payload_hash",),
    key=CASE_KEY.kept(),
    kind=_by_name("kind", InteractionKind),
    status=_by_name("status", InteractionStatus),
    confirms_risk=_by_name("confirms_risk", RiskClass),
    text_resolution=_json("text_resolution", TextResolutionPolicy),
    result=_json("result", Result).or_nothing(),
    payload=_json("payload", InteractionPayload),
)
"""The rows of `interactions`."""

COMMAND: Shape[Command] = _shape(
    Command,
    *("id", "idempotency_key", "card", "option", "freeform"),
    accepted_at=_as_it_is("accepted_at_revision"),
    settlement=_settlement("settled").kept().or_nothing(),
    reply=_as_text("reply", _write_reply, _read_reply).or_nothing(),
)
"""The rows of `commands`."""

EFFECT: Shape[Effect] = _shape(
    Effect,
    *("id", "command", "idempotency_key", "card", "option", "freeform", "payload_hash", "case_revision"),
    action=_as_text("action", _write_action, _read_action),
    arguments=_as_text("arguments", lambda arguments: arguments.text, Document).or_nothing(),
)
"""The rows of `effects`, without the ordinal."""

CAUSE: Shape[Cause] = _shape(
    Cause,
    *("option", "command", "reason", "superseded_by", "new_revision"),
    code=_as_text("code", str, str).or_nothing(),
)
"""A cause, inside an entry of the ledger."""

LEDGER_ENTRY: Shape[LedgerEntry] = _shape(
    LedgerEntry,
    *("seq", "at", "card"),
    from_status=_by_name("from_status", InteractionStatus).or_nothing(),
    event=_by_name("event", InteractionEvent),
    to_status=_by_name("to_status", InteractionStatus),
    cause=CAUSE.kept(),
)
"""The rows of `ledger`."""

METRICS: Shape[Metrics] = _shape(Metrics, "created", "resolved", "stale", "failed")
"""The counters, in the row of `meta`."""

_PAYLOAD = INTERACTION.columns.index("payload")


def interaction(cells: Cells) -> Interaction:
    """Return the interaction that these cells are; raise `Damaged` when its payload no longer has its hash (I19.4)."""
    card = INTERACTION.record(cells)
    if _digest(str(cells[_PAYLOAD])) != card.payload_hash:
        raise Damaged(f"the stored payload of {card.id} no longer matches its hash")
    return card
