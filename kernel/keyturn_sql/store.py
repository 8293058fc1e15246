"""A durable store: it loads the slice of an operation, asks the kernel, and writes the difference in one transaction.

The rules exist once, in the kernel: this store takes the first branch, as the reference store does, and so does all
that the reference does, with the same ids. A change owns the database from its first look to its commit, so that a
decision never rests on what another process has changed since; a read is of one moment. The database guards I5.1 and
I14.1 a second time, and an operation that a guard or a condition refuses has not happened.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from keyturn.admissible import admissible
from keyturn.branches import Branch, Outcome
from keyturn.capabilities import ALL_CLAIMS, Claims
from keyturn.errors import OperationFailed, Unsupported
from keyturn.handshake import describe
from keyturn.operations import CardDismiss, CardRespond, Operation, Reset, Restart
from keyturn.port import OperationMethods
from keyturn.responses import RefusalCode, Rejected
from keyturn.values import Json
from keyturn.version import VERSION
from keyturn.wire import is_sendable_operation
from keyturn.world import World
from keyturn_sql import reading, schema, writing
from keyturn_sql.dialects import Synchronous, begin, constraint_of, is_busy
from keyturn_sql.files import SqliteFile
from keyturn_sql.rows import Damaged

Decide: TypeAlias = Callable[[World, Operation, Claims], tuple[Branch, ...]]
"""What may happen when an operation meets a world; the first branch is taken."""

PATIENCE = 5.0
"""How many seconds a change waits for the change of another process."""


class SqlStore(OperationMethods):
    """The contract on a database: durable, and shared by every process that opens the same one.

    Each operation is one transaction. `OperationFailed` with `definite=True` says that nothing happened; only an error
    of the commit itself is not definite. A store can be used from several threads; after a fork open another one.
    """

    def __init__(self, database: SqliteFile, claims: Claims = ALL_CLAIMS, *, decide: Decide = admissible) -> None:
        """Serve an open database; `claims` and `decide` as for the reference store and `admissible`."""
        self.database = database
        self.claims = claims
        self._decide = decide

    @classmethod
    def open(
        cls,
        path: Path,
        claims: Claims = ALL_CLAIMS,
        *,
        decide: Decide = admissible,
        synchronous: Synchronous = "full",
        patience: float = PATIENCE,
    ) -> "SqlStore":
        """Open the SQLite file of a service, or make it; `reset` is not offered there. Raise `NotOurs` for other files.

        With `synchronous="full"` an answer is on the disk before it is given: durability over speed.
        """
        file = SqliteFile(path, "service", synchronous=synchronous, patience=patience)
        return cls(file, claims, decide=decide)

    @classmethod
    def open_test(
        cls,
        path: Path,
        claims: Claims = ALL_CLAIMS,
        *,
        decide: Decide = admissible,
        synchronous: Synchronous = "full",
        patience: float = PATIENCE,
    ) -> "SqlStore":
        """Open a test store that was made before, or make one; leave anything else as it is and raise `NotOurs`."""
        file = SqliteFile(path, "test", synchronous=synchronous, patience=patience)
        return cls(file, claims, decide=decide)

    def describe(self) -> dict[str, Json]:
        """`describe`: what the store says of itself; only a test store says that it is one."""
        said = describe(self.database.name, VERSION, self.claims)
        if self.database.environment != "test":
            del said["environment"]
        return said

    def close(self) -> None:
        """Close every connection; the rows stay."""
        self.database.close()

    def perform(self, operation: Operation) -> Outcome:
        """Perform one operation in one transaction and return its outcome.

        Raise `OperationFailed` when the database could not do it, `Unsupported` for a reset outside a test store.
        """
        if isinstance(operation, Reset) and self.database.environment != "test":
            raise Unsupported("this is the store of a service: it is never wiped; open a test store instead")
        if not is_sendable_operation(operation):
            return Rejected(code=RefusalCode.MALFORMED)
        if isinstance(operation, Restart):
            self.database.restart()
        try:
            return self._in_one_transaction(operation)
        except Damaged as error:
            # Nothing may rest on a row that was changed from outside: an answer to it is refused (I19.4).
            if isinstance(operation, CardRespond | CardDismiss):
                return Rejected(code=RefusalCode.UNVERIFIABLE)
            raise OperationFailed(f"{operation.method}: {error}; nothing was done", definite=True) from error

    def _in_one_transaction(self, operation: Operation) -> Outcome:
        committing = False
        try:
            with self.database.engine.connect() as connection:
                transaction = begin(connection, changes=operation.changes)
                outcome = self._outcome(connection, operation)
                committing = operation.changes
                transaction.commit()
                return outcome
        except SQLAlchemyError as error:
            said = f"{operation.method}: {self._why(error)}"
            raise OperationFailed(said, definite=not committing) from error

    def _outcome(self, connection: Connection, operation: Operation) -> Outcome:
        tell = reading.HISTORIES.get(type(operation))
        if tell is not None:
            return tell(connection, operation)
        before = reading.SLICES[type(operation)](connection, operation)
        chosen = self._decide(before, operation, self.claims)[0]
        if isinstance(operation, Reset):
            writing.forget(connection)
        if operation.changes:
            writing.write(connection, before, chosen)
        return chosen.outcome

    def _why(self, error: SQLAlchemyError) -> str:
        if isinstance(error, IntegrityError):
            name = constraint_of(error, schema.metadata)
            guard = f"{name}: {schema.GUARDS[name]}" if name in schema.GUARDS else name
            return f"the database's own guard refused it ({guard}); nothing was written"
        if isinstance(error, DBAPIError) and is_busy(error):
            held = f"another process held {self.database.path} for more than {self.database.patience:g} s"
            return f"{held}; nothing happened, and it can be tried again"
        return f"the database could not do it: {getattr(error, 'orig', error)}"
