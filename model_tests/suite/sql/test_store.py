"""The durable store does what the reference store does: same outcomes, same ids, same rows, same history."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import attrs
import pytest
from hypothesis import HealthCheck, given, settings

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.errors import Crashed, OperationFailed
from keyturn.responses import FailureCode, RefusalCode
from keyturn.status import InteractionStatus
from keyturn.store import ReferenceStore
from keyturn.world import World
from keyturn_sql import reading, rows
from keyturn_sql.database import Place, Postgres
from keyturn_sql.store import SqlStore

from . import breakdowns
from . import programs as directed
from .programs import CONVERSATIONS, KEYS, PAYLOADS, Perform, Seen, Step, presents, programs, start
from .shells import dialect_of
from .tables import world_of

DIRECTED = {**directed.DIRECTED, **breakdowns.DIRECTED}

Pair: TypeAlias = tuple[ReferenceStore, SqlStore]

CLAIMS = {
    "all": ALL_CLAIMS,
    "at once": ALL_CLAIMS - {Capability.DEFERRED},
    "any order": ALL_CLAIMS - {Capability.ORDERED_CHECKS, Capability.REPLAY},
    "no revisions": ALL_CLAIMS - {Capability.REVISIONS, Capability.INDEPENDENT},
}


# What is claimed is the kernel's to look at: one set of claims shows that the other database says the same.
PAIRS = [*(("sqlite", each) for each in CLAIMS), ("postgresql", "all")]


@pytest.fixture(scope="module", params=PAIRS, ids=" ".join)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A reference store and a durable one of the same claims; both count ids from where they are."""
    database, claims = request.param[0], CLAIMS[request.param[1]]
    place: Place = tmp_path_factory.mktemp("equality") / "cards.db"
    if database == "postgresql":
        place = Postgres(request.getfixturevalue("postgres"), "equality")
    store = SqlStore.open_test(place, claims, synchronous="normal")
    yield ReferenceStore(claims), store
    store.close()


def told(perform: Perform, operation: ops.Operation) -> Outcome | str:
    """What an operation answers, or what is raised where nobody hears it; a store that has crashed is started again."""
    try:
        return perform(operation)
    except OperationFailed as error:
        return f"failed, definite={error.definite}: {error}"
    except Crashed as error:
        perform(ops.Restart())
        return f"crashed: {error}"


def agree(reference: ReferenceStore, store: SqlStore, program: Iterable[Step]) -> list[Outcome]:
    """Run a program on both stores, hold that all that can be seen of them is equal, and return the outcomes."""
    seen, outcomes = Seen(), []
    start(reference.perform)
    start(store.perform)
    for step in program:
        operation = step.meet(seen)
        said = told(reference.perform, operation)
        assert told(store.perform, operation) == said
        if not isinstance(said, str):
            outcomes.append(said)
            seen.note(operation, said)
    world = reference.state.world
    assert world_of(store) == attrs.evolve(world, cases=tuple(sorted(world.cases, key=lambda case: case.key)))
    reads: list[ops.Operation] = [ops.ReadMetrics()]
    for account, workflow, case in KEYS:
        reads += [kind(account=account, workflow=workflow, case=case) for kind in (ops.ReadEffects, ops.ReadLedger)]
        reads += [ops.CardList(account=account, conversation=each) for each in CONVERSATIONS]
    for read in reads:
        assert store.perform(read) == reference.perform(read)
    return outcomes


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=programs)
def test_the_durable_store_does_what_the_reference_does(pair: Pair, program: list[Step]) -> None:
    """Any program gives literally the same outcomes, rows, effects and ledgers in both stores."""
    agree(*pair, program)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(program=breakdowns.programs)
def test_what_goes_wrong_goes_wrong_alike(pair: Pair, program: list[Step]) -> None:
    """Faults that happen for real give what the model says that they give, and leave the same rows; so do snapshots."""
    agree(*pair, program)


@pytest.mark.parametrize("program", DIRECTED.values(), ids=DIRECTED)
def test_directed_programs_agree_too(pair: Pair, program: tuple[Step, ...]) -> None:
    """The programs that were written for one situation each give the same in both stores."""
    agree(*pair, program)


def test_directed_programs_reach_every_outcome() -> None:
    """Together they reach every status and every code, so that the equality above is not one of refusals only."""
    reached: Counter[str] = Counter()
    for program in DIRECTED.values():
        reference, seen = ReferenceStore(), Seen()
        start(reference.perform)
        for step in program:
            operation = step.meet(seen)
            outcome = told(reference.perform, operation)
            if isinstance(outcome, str):
                reached[outcome.partition(":")[0]] += 1
                continue
            seen.note(operation, outcome)
            reached.update((str(getattr(outcome, "outcome", "")), str(getattr(outcome, "code", ""))))
        reached.update(each.status for each in reference.state.world.interactions)
    unheard = {"crashed", "failed, definite=False"}
    outcomes = {
        "presented",
        "accepted",
        "in_flight",
        "resolved",
        "declined",
        "dismissed",
        "replayed",
        "failed",
        "restored",
    }
    assert {*outcomes, *InteractionStatus, *FailureCode, *RefusalCode, *unheard} <= set(reached)


def test_every_field_of_every_record_is_kept() -> None:
    """A field that the kernel adds to a record must get a column, or it would be lost in silence."""
    for shape in (
        rows.CASE,
        rows.INTERACTION,
        rows.COMMAND,
        rows.EFFECT,
        rows.LEDGER_ENTRY,
        rows.CAUSE,
        rows.CASE_KEY,
        rows.METRICS,
    ):
        assert set(shape.fields) == {each.name for each in attrs.fields(shape.kind)}
    slices, machine = {"cases", "interactions", "commands"}, {"table"}
    assert set(rows.WORLD.fields) | slices | machine == {each.name for each in attrs.fields(World)}


def test_every_operation_has_a_slice_or_a_history() -> None:
    """An operation that the kernel adds must be given its slice."""
    assert {*reading.SLICES, *reading.HISTORIES} == set(ops.OPERATIONS)


def test_the_methods_of_the_port_are_there(place: Place) -> None:
    """A client in Python sees the protocol: `describe` names the database, results are JSON."""
    store = SqlStore.open_test(place)
    said = store.describe()
    assert (said["system"], said["environment"]) == (
        {"name": dialect_of(place), "version": "0.1.0", "language": "python"},
        "test",
    )
    assert store.reset(now="2026-01-01T00:00:00Z") == {}
    assert store.case_open(account="a", workflow="w", case="c") == {"revision": 1}
    assert store.restart() == {}
    assert store.card_list(account="a", conversation="v") == {"cards": []}
    store.close()


PLANS = (
    (reading.OCCUPANT, "one_open_blocking_card"),
    (reading.OPEN_CARDS_OF_CASE, "open_cards_of_a_case"),
    (reading.OPEN_CARDS_OF_CONVERSATION, "open_cards_of_a_conversation"),
    (reading.OVERDUE, "deadlines"),
    (reading.EFFECTS, "cards_of_a_case"),
    (reading.LEDGER, "cards_of_a_case"),
    (reading.OWNED_CARD, "(id=?)"),
    (reading.COMMANDS_OF_CARD, "(card=?)"),
)


@pytest.mark.parametrize(("query", "index"), PLANS, ids=range(len(PLANS)))
def test_no_operation_reads_a_whole_table(query: reading.Query, index: str, tmp_path: Path) -> None:
    """Each query of a slice finds its rows by an index, however many cards there are."""
    store = SqlStore.open_test(tmp_path / "cards.db")
    with store.database.engine.connect() as connection:
        compiled = query.compile(connection)
        sent = tuple(["x"] * len(compiled.params))
        plan = [str(each) for each in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", sent)]
    store.close()
    assert any(index in each for each in plan)
    assert not any("SCAN interactions" in each or "SCAN ledger" in each or "SCAN effects" in each for each in plan)


def test_a_card_that_was_read_is_equal_to_the_one_that_was_written(place: Place) -> None:
    """The kernel's own value comes back, field by field, also when it is written by one store and read by another."""
    reference = ReferenceStore()
    first, second = (SqlStore.open_test(place) for _ in range(2))
    start(reference.perform)
    start(first.perform)
    for name in PAYLOADS:
        operation = presents(name, blocking=False).meet(Seen())
        assert first.perform(operation) == reference.perform(operation)
    assert world_of(second).interactions == reference.state.world.interactions != ()
    for store in (first, second):
        store.close()
