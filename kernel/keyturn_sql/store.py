"""A durable store: it loads the slice of an operation, asks the kernel, and writes the difference in one transaction.

The rules exist once, in the kernel: this store takes the first branch, as the reference store does, and so does all
that the reference does, with the same ids. A change owns the store from its first look to its commit, so that a
decision never rests on what another process has changed since; a read is of one moment. How that is done on SQLite and
on PostgreSQL, and why so, is said in `keyturn_sql.dialects`. The database guards I5.1 and I14.1 a second time, and an
operation that a guard or a condition refuses has not happened. What cannot be read is not guessed (`unverifiable`), and
what cannot be written is said (`unavailable`).

Where the database takes a transaction back for the sake of another one, or the connection is lost before the commit,
nothing has happened, and the operation is begun again, a few times. Where the connection is lost during the commit,
nobody knows whether it has happened: the operation is not begun again, and its failure is not definite.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Literal, NoReturn, TypeAlias, cast

from attrs import evolve
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from keyturn.admissible import admissible
from keyturn.branches import Branch, Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.errors import Crashed, OperationFailed, Unsupported
from keyturn.faults import Armed, FaultKind
from keyturn.handshake import describe
from keyturn.operations import CardDismiss, CardRespond, FaultArm, Operation, Reset, Restart
from keyturn.port import OperationMethods
from keyturn.responses import RefusalCode, Rejected
from keyturn.values import Json
from keyturn.version import VERSION
from keyturn.wire import is_sendable_operation
from keyturn.world import World
from keyturn_sql import afflicting, reading, schema, writing
from keyturn_sql.database import Database, Environment, Place, Synchronous
from keyturn_sql.dialects import begin, constraint_of, is_busy, is_taken_back, refusing_to_write, said_by
from keyturn_sql.files import SqliteFile
from keyturn_sql.rows import Damaged

Decide: TypeAlias = Callable[[World, Operation, Claims], tuple[Branch, ...]]
"""What may happen when an operation meets a world; the first branch is taken."""

PATIENCE = 5.0
"""How many seconds a change waits for the change of another process."""

TRIES = 4
"""How often an operation is begun before it is given up, where nothing of it has happened."""


class _NotDone(Exception):
    """The database could not read or write, so the operation is refused and the transaction taken back."""

    def __init__(self, code: RefusalCode) -> None:
        super().__init__(code.value)
        self.code = code


def _has_refusals(operation: Operation) -> bool:
    return operation.changes and Rejected in operation.results


class _TakenBack(Exception):
    """Nothing has happened, and the operation can be begun again; `said` is why it was not done."""

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


def _can_be_begun_again(error: SQLAlchemyError, *, committing: bool) -> bool:
    """Whether nothing has happened for certain, for a reason that may be gone at the next try."""
    if not isinstance(error, DBAPIError):
        return False
    return is_taken_back(error) or (error.connection_invalidated and not committing)


def _given_up(operation: Operation, error: _TakenBack) -> Outcome:
    """Say that an operation was begun in vain too often: refused, where it has a refusal, and failed for certain else."""
    if _has_refusals(operation):
        return Rejected(code=RefusalCode.UNAVAILABLE)
    raise OperationFailed(f"{error.said}; nothing happened, and it can be tried again", definite=True) from error


@contextmanager
def _refused(operation: Operation, can_be: bool, code: RefusalCode) -> Iterator[None]:
    """Turn what the database could not do into a refusal, where the operation has one; a guard's own refusal stays.

    Nothing may rest on a row that was changed from outside: an answer to it is refused (I19.4), anything else fails.
    """
    try:
        yield
    except Damaged as error:
        if can_be:
            raise _NotDone(code) from error
        raise OperationFailed(f"{operation.method}: {error}; nothing was done", definite=True) from error
    except DBAPIError as error:
        again = _can_be_begun_again(error, committing=False)
        if not can_be or again or isinstance(error, IntegrityError) or is_busy(error):
            raise
        raise _NotDone(code) from error


Phase: TypeAlias = Literal["reading", "writing", "committing", "committed"]
"""Where an operation is: it looks, it changes rows, it asks the database to commit, and then only the answer is missing."""


Watch: TypeAlias = Callable[[Phase], None]
"""Is told how far an operation is."""

Crash: TypeAlias = Callable[[FaultKind], NoReturn]
"""Ends the process, where a fault is armed that does."""


def unwatched(phase: Phase) -> None:
    """Where nobody asks how far an operation is."""


def end_in_process(moment: FaultKind) -> NoReturn:
    """Stand for the end of the process, where the store is an object in somebody else's."""
    raise Crashed(f"the process ended, as it was asked to: {moment}")


def _database_at(place: Place, environment: Environment, *, synchronous: Synchronous, patience: float) -> Database:
    if isinstance(place, Path):
        return SqliteFile(place, environment, synchronous=synchronous, patience=patience)
    # Only who uses PostgreSQL needs its driver.
    from keyturn_sql.postgres import PostgresSchema  # noqa: PLC0415

    return PostgresSchema(place, environment, synchronous=synchronous, patience=patience)


class SqlStore(OperationMethods):
    """The contract on a database: durable, and shared by every process that opens the same one.

    Each operation is one transaction. `OperationFailed` with `definite=True` says that nothing happened; only an error
    of the commit itself is not definite. A store can be used from several threads; after a fork open another one.
    """

    def __init__(
        self,
        database: Database,
        claims: Claims = ALL_CLAIMS,
        *,
        decide: Decide = admissible,
        crash: Crash = end_in_process,
        watch: Watch = unwatched,
    ) -> None:
        """Serve an open database; `claims` and `decide` as for the reference store and `admissible`.

        `crash` ends the process when a fault is armed that does; in process it raises `Crashed`. `watch` is told how far each
        operation is, so that whoever ends the process can say where that was.
        """
        self.database = database
        self.claims = claims
        self._decide = decide
        self._crash = crash
        self._watch = watch

    @classmethod
    def open(
        cls,
        place: Place,
        claims: Claims = ALL_CLAIMS,
        *,
        decide: Decide = admissible,
        synchronous: Synchronous = "full",
        patience: float = PATIENCE,
    ) -> "SqlStore":
        """Open the store of a service, or make it; `reset` is not offered there. Raise `NotOurs` for what is not one.

        With `synchronous="full"` an answer is on the disk before it is given: durability over speed.
        """
        database = _database_at(place, "service", synchronous=synchronous, patience=patience)
        return cls(database, claims, decide=decide)

    @classmethod
    def open_test(
        cls,
        place: Place,
        claims: Claims = ALL_CLAIMS,
        *,
        decide: Decide = admissible,
        crash: Crash = end_in_process,
        watch: Watch = unwatched,
        synchronous: Synchronous = "full",
        patience: float = PATIENCE,
    ) -> "SqlStore":
        """Open a test store that was made before, or make one; leave anything else as it is and raise `NotOurs`."""
        database = _database_at(place, "test", synchronous=synchronous, patience=patience)
        return cls(database, claims, decide=decide, crash=crash, watch=watch)

    def describe(self) -> dict[str, Json]:
        """`describe`: what the store says of itself; only a test store says that it is one."""
        if self.database.environment == "test":
            return describe(self.database.name, VERSION, self.claims)
        # What is claimed is mandatory, and nobody can arm a fault in the store of a service.
        said = describe(self.database.name, VERSION, self.claims - {Capability.FAULTS})
        del said["environment"]
        return said

    def close(self) -> None:
        """Close every connection; the rows stay."""
        self.database.close()

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation in one transaction and return its outcome.

        Raise `OperationFailed` when the database could not do it, `Unsupported` for a reset outside a test store.
        """
        if isinstance(operation, Reset | FaultArm) and self.database.environment != "test":
            raise Unsupported("this is the store of a service: it is never wiped or harmed; open a test store instead")
        if not is_sendable_operation(operation):
            return Rejected(code=RefusalCode.MALFORMED)
        if isinstance(operation, Restart):
            self.database.restart()
        hit: Armed | None = None
        armed: Armed | None = None
        taken_back = 0
        while True:
            try:
                if hit is not None:
                    # Where another process was faster, the fault has hit there, and another one may hit here.
                    armed, hit = (hit if self._disarm(operation, hit) else None), None
                return self._in_one_transaction(operation, armed)
            except afflicting.Hit as another:
                hit = another.armed
            except _TakenBack as error:
                taken_back += 1
                if taken_back == TRIES:
                    return _given_up(operation, error)

    def _in_one_transaction(self, operation: Operation, armed: Armed | None) -> Outcome:
        committing = False
        can_be = _has_refusals(operation)
        try:
            with _refused(operation, can_be, RefusalCode.UNAVAILABLE):
                connection = self.database.engine.connect()
            with connection:
                with _refused(operation, can_be, RefusalCode.UNAVAILABLE):
                    transaction = begin(connection, changes=operation.changes)
                self._watch("reading")
                outcome = self._outcome(connection, operation, armed)
                self._may_end(FaultKind.CRASH_BEFORE_COMMIT, armed)
                committing = operation.changes
                self._watch("committing")
                transaction.commit()
            self._watch("committed")
        except SQLAlchemyError as error:
            raise self._failure(operation, error, committing=committing) from error
        except _NotDone as refused:
            return Rejected(code=refused.code)
        self._may_end(FaultKind.CRASH_AFTER_COMMIT, armed)
        if armed is not None and armed.fault is FaultKind.REPLY_LOST:
            raise OperationFailed("the reply was lost, as it was asked to be", definite=False)
        return outcome

    def _outcome(self, connection: Connection, operation: Operation, armed: Armed | None) -> Outcome:
        tell = reading.HISTORIES.get(type(operation))
        if tell is not None:
            return tell(connection, operation)
        if armed is not None:
            afflicting.BEFORE_READING[armed.fault](connection, armed)
        with _refused(operation, isinstance(operation, CardRespond | CardDismiss), RefusalCode.UNVERIFIABLE):
            before = reading.SLICES[type(operation)](connection, operation)
        if armed is None:
            chosen = self._decide(before, operation, self.claims)[0]
            # A reset forgets what was armed; nothing of it hits.
            spent = None if isinstance(operation, Reset) else afflicting.hit(before, chosen.world)
            if spent is not None:
                raise afflicting.Hit(spent)
        else:
            chosen = self._decide(afflicting.sparing(before), operation, self.claims)[0]
            chosen = evolve(chosen, world=afflicting.spared(before, chosen.world))
        if isinstance(operation, Reset):
            writing.forget(connection)
        fails = armed is not None and armed.fault is FaultKind.WRITE_FAILS
        with (
            _refused(operation, Rejected in operation.results, RefusalCode.UNAVAILABLE),
            refusing_to_write(connection) if fails else nullcontext(),
        ):
            if operation.changes:
                self._watch("writing")
                writing.write(connection, before, chosen)
        # What nobody hears is a fault that hits, and was caught above.
        return cast(Outcome, chosen.outcome)

    def _disarm(self, operation: Operation, armed: Armed) -> bool:
        try:
            with self.database.engine.connect() as connection, begin(connection, changes=True):
                return afflicting.disarm(connection, reading.clock(connection), armed)
        except SQLAlchemyError as error:
            raise self._failure(operation, error, committing=False) from error

    def _may_end(self, moment: FaultKind, armed: Armed | None) -> None:
        if armed is not None and armed.fault is moment:
            self._crash(moment)

    def _failure(self, operation: Operation, error: SQLAlchemyError, *, committing: bool) -> Exception:
        said = f"{operation.method}: {self._why(error)}"
        if _can_be_begun_again(error, committing=committing):
            return _TakenBack(said)
        return OperationFailed(said, definite=not committing)

    def _why(self, error: SQLAlchemyError) -> str:
        if isinstance(error, IntegrityError):
            name = constraint_of(error, schema.metadata)
            guard = f"{name}: {schema.GUARDS[name]}" if name in schema.GUARDS else name
            return f"the database's own guard refused it ({guard}); nothing was written"
        if isinstance(error, DBAPIError) and is_busy(error):
            held = f"another process held {self.database.place} for more than {self.database.patience:g} s"
            return f"{held}; nothing happened, and it can be tried again"
        return f"the database could not do it: {said_by(error) if isinstance(error, DBAPIError) else error}"
