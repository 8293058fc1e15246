"""Stores on a real database that are wrong in how they use it: in what is one transaction, and in what survives a process.

A client who asks alone, while nothing breaks, gets the answers of the SQL store. Two at the same moment, a process that ends in
the middle, a restart or a failure bring the fault out. Like the other mutants they describe themselves like the store that
they are made from, and disarmed they are that store. Those that use two transactions pause for one to three milliseconds
between them: without the pause the fault is the same, and shows too seldom to be waited for.
"""

from collections.abc import Callable, Mapping
from random import SystemRandom
from time import sleep
from typing import Literal, TypeAlias

from attrs import frozen

from keyturn import operations as ops
from keyturn.branches import Branch
from keyturn_sql.database import Database
from keyturn_sql.store import Crash, SqlStore, Watch, end_in_process, unwatched
from keyturn_testing.mutants import MUTANTS, Mutant
from keyturn_testing.mutants.durable_commits import (
    ANSWERS,
    CHANGES_OF_CARDS,
    Around,
    CheckThenAct,
    LockPerProcess,
    TwoCommits,
    Window,
)
from keyturn_testing.mutants.durable_memory import (
    IsTooSure,
    KeepsWhatIsPending,
    MakesKeysAnew,
    ReadsFromACopy,
    RemembersAnswers,
)
from keyturn_testing.mutants.durable_rows import (
    NO_SECOND_COMMAND,
    NO_SECOND_QUESTION,
    Write,
    effects_of,
    write_effects,
    write_ledger,
    write_rows,
)

FoundBy: TypeAlias = Literal["races", "crashes", "restarts", "faults"]
"""What must happen for a fault to be seen."""

NEEDS_IN_WORDS: Mapping[FoundBy, str] = {
    "races": "two calls at the same moment, or in two processes right after each other",
    "crashes": "a process that ends in the middle of a call",
    "restarts": "a restart between two calls, or a second process",
    "faults": "a failure that was armed",
}
"""The same in words."""

SECTION = "Wrong in how they use the database"
"""The heading under which these mutants stand wherever mutants are listed."""

Make: TypeAlias = Callable[[Database, Around], SqlStore]
"""Makes the store on an open database: with what ends its process, and whatever else surrounds it."""


@frozen(kw_only=True)
class DurableMutant:
    """One fault in the use of a database: its name, the sentence that describes it, and how the store is made.

    `breaks` are the requirements that it breaks, first the one by which it is expected to be killed; `found_by` is what must
    happen for it to be seen.
    """

    name: str
    fault: str
    breaks: tuple[str, ...]
    found_by: FoundBy
    make: Make


def pause() -> None:
    """Wait for one to three milliseconds, as between two transactions of a busy service."""
    sleep(SystemRandom().uniform(0.001, 0.003))


def _has_effects(branch: Branch) -> bool:
    return any(effects_of(branch))


def _checking_then_acting(kind: type[CheckThenAct], own: tuple[type[ops.Operation], ...], *without: str) -> Make:
    return lambda database, around: kind(database, around, own=own, without=without)


def _in_two_commits(
    own: tuple[type[ops.Operation], ...],
    first: tuple[Write, ...],
    then: tuple[Write, ...],
    cuts: Callable[[Branch], bool] = lambda branch: True,
) -> Make:
    return lambda database, around: TwoCommits(database, around, own=own, first=first, then=then, cuts=cuts)


_MUTANTS = (
    DurableMutant(
        name="check-then-act",
        fault="It decides on what it read in one transaction, and writes in another one without looking again.",
        breaks=("I14.5", "I13.8"),
        found_by="races",
        make=_checking_then_acting(CheckThenAct, ANSWERS, NO_SECOND_COMMAND),
    ),
    DurableMutant(
        name="lock-per-process",
        fault="Checking and acting are held together by a lock that the threads of one process share, and no other one.",
        breaks=("I14.5", "I13.8"),
        found_by="races",
        make=_checking_then_acting(LockPerProcess, ANSWERS, NO_SECOND_COMMAND),
    ),
    DurableMutant(
        name="index-missing",
        fault="No index holds the one open blocking card of a case, and presenting looks and writes in two transactions.",
        breaks=("I5.1",),
        found_by="races",
        make=_checking_then_acting(CheckThenAct, (ops.CardPresent,), NO_SECOND_QUESTION),
    ),
    DurableMutant(
        name="lagging-replica",
        fault="Reads come from a copy that learns up to 200 ms later what other processes changed.",
        breaks=("I6.1",),
        found_by="races",
        make=ReadsFromACopy,
    ),
    DurableMutant(
        name="effect-before-status",
        fault="An effect is committed by itself, before the status of its card; a retry after a crash runs it again.",
        breaks=("A3", "I14.1"),
        found_by="crashes",
        make=_in_two_commits(ANSWERS, (write_effects,), (write_rows, write_ledger), _has_effects),
    ),
    DurableMutant(
        name="status-before-effect",
        fault="The status of a card is committed by itself, before the effect; after a crash there is success without one.",
        breaks=("L3",),
        found_by="crashes",
        make=_in_two_commits(ANSWERS, (write_rows, write_ledger), (write_effects,), _has_effects),
    ),
    DurableMutant(
        name="ledger-afterwards",
        fault="The ledger is written after the commit of what it tells; a crash loses the entry.",
        breaks=("E1",),
        found_by="crashes",
        make=_in_two_commits(CHANGES_OF_CARDS, (write_rows, write_effects), (write_ledger,)),
    ),
    DurableMutant(
        name="idempotency-in-memory",
        fault="What was answered is remembered in a dictionary of the process, which a restart empties.",
        breaks=("I14.2",),
        found_by="restarts",
        make=RemembersAnswers,
    ),
    DurableMutant(
        name="key-anew-after-restart",
        fault="Idempotency keys are derived from the process, so that a restart tells another one for the same command.",
        breaks=("I14.7",),
        found_by="restarts",
        make=MakesKeysAnew,
    ),
    DurableMutant(
        name="pending-with-the-host",
        fault="What is pending lives in the memory of the host's process until it is answered; a kill loses it.",
        breaks=("I6.3",),
        found_by="restarts",
        make=KeepsWhatIsPending,
    ),
    DurableMutant(
        name="wrong-definite",
        fault="Of a failure whose change was committed it says that nothing happened.",
        breaks=("A1",),
        found_by="faults",
        make=IsTooSure,
    ),
)

DURABLE_MUTANTS: Mapping[str, DurableMutant] = {each.name: each for each in _MUTANTS}
"""Every durable mutant, by its name."""

ALL_MUTANTS: Mapping[str, Mutant | DurableMutant] = {**MUTANTS, **DURABLE_MUTANTS}
"""Every mutant by its name, those in memory first."""


def durable_store(
    name: str,
    database: Database,
    *,
    armed: bool = True,
    crash: Crash = end_in_process,
    watch: Watch = unwatched,
    window: Window = pause,
) -> SqlStore:
    """Return a durable mutant on an open database, or the SQL store itself when it is not armed.

    `window` is what is done between two transactions, where the mutant has two. Raise `KeyError` for a name that there is not.
    """
    mutant = DURABLE_MUTANTS[name]
    if not armed:
        return SqlStore(database, crash=crash, watch=watch)
    return mutant.make(database, Around(crash=crash, watch=watch, window=window))
