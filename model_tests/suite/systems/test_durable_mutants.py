"""A durable mutant is the SQL store to a client who asks alone while nothing breaks, wherever and however it is opened."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import get_args

import click
import pytest
from attrs import evolve
from click.testing import CliRunner

from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_specs.scenario import scenarios
from keyturn_sql.database import Place, Postgres
from keyturn_sql.store import SqlStore
from keyturn_testing.commands.serving import target_of
from keyturn_testing.main import keyturn
from keyturn_testing.mutants import MUTANTS
from keyturn_testing.mutants.durable import (
    ALL_MUTANTS,
    DURABLE_MUTANTS,
    NEEDS_IN_WORDS,
    SECTION,
    FoundBy,
    durable_store,
)
from keyturn_testing.mutants.durable_commits import LockPerProcess
from keyturn_testing.replaying import replay
from keyturn_testing.systems.adapters import DATABASE_NAME, open_system
from keyturn_testing.systems.base import System, Unusable
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.systems.phases import marker_of
from keyturn_testing.traces import Call, trace_of

from ..harness.systems import SHORT, held
from .desks import Desk

FEW = evolve(SHORT, name="few", examples=3)
"""A budget that takes a second."""

QUIET = frozenset({Capability.FAULTS, Capability.RESTART})
"""What is not claimed where nothing is to break."""

SCENARIOS: Mapping[str, str] = {
    "idempotency-in-memory": "settled-after-a-restart",
    "key-anew-after-restart": "settled-after-a-restart",
    "pending-with-the-host": "a-restart-forgets-nothing",
    "wrong-definite": "nobody-heard-the-answer-at-once",
}
"""Where one client who restarts the system, or arms a fault, finds each mutant that is found so."""

by_name = pytest.mark.parametrize("name", DURABLE_MUTANTS)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[..., SqlStore]]:
    """Makes durable stores, each on a new place, and closes them."""
    with ExitStack() as stack:
        numbers = iter(range(1000))

        def make(
            name: str, *, armed: bool = True, without: Claims = frozenset(), place: Place | None = None
        ) -> SqlStore:
            at = place or tmp_path / f"{next(numbers)}.db"
            database = stack.enter_context(closing(SqlStore.open_test(at, synchronous="normal"))).database
            store = stack.enter_context(closing(durable_store(name, database, armed=armed)))
            store.claims -= without
            return store

        yield make


def walked(make: Callable[[], object]) -> list[object]:
    """Open what is made, walk through everything, and close it."""
    with closing(InProcessSystem(make)) as system:
        return _walked(system)


def _walked(system: System) -> list[object]:
    """What a client reads and hears who walks once through everything, without the idempotency keys."""
    desk = Desk(system)
    first = desk.card()
    heard: list[object] = [desk.present(), desk.status(first), desk.listed()]
    command = desk.answer(first)["command"]
    heard += [
        command,
        desk.answer(first)["outcome"],
        desk.status(first),
        desk.settle(command),
        desk.answer(first, "both"),
    ]
    heard += [desk.status(first), [each["id"] for each in desk.effects()], desk.events(), desk.ask("metrics")]
    desk.ask("case.close", desk.key)
    return [*heard, desk.listed(), desk.events()]


class TestTable:
    """The durable mutants are one table beside the others."""

    def test_names_are_told_apart(self) -> None:
        """No durable mutant has the name of another mutant."""
        assert len(ALL_MUTANTS) == len(MUTANTS) + len(DURABLE_MUTANTS)

    def test_every_way_of_being_found_has_a_mutant(self) -> None:
        """There is a mutant for races, for crashes, for restarts and for faults, and words for each."""
        assert {each.found_by for each in DURABLE_MUTANTS.values()} == set(get_args(FoundBy)) == set(NEEDS_IN_WORDS)

    def test_what_they_break_is_known(self) -> None:
        """Each breaks a requirement, and none that there is not."""
        assert all(each.breaks for each in DURABLE_MUTANTS.values())
        assert {each for mutant in DURABLE_MUTANTS.values() for each in mutant.breaks} <= set(BY_ID)


class TestAlone:
    """A client who asks alone does not find the fault, or needs what the table says."""

    @by_name
    def test_nothing_is_seen_while_nothing_breaks(self, made: Callable[..., SqlStore], name: str) -> None:
        """Without restarts and faults every requirement holds."""
        record = held(lambda: made(name, without=QUIET), profile=FEW, engines=("stateful",))
        assert record.failures == []
        assert record.breakdown is None

    @pytest.mark.parametrize("name", SCENARIOS)
    def test_a_restart_or_a_failure_brings_it_out(self, made: Callable[..., SqlStore], name: str) -> None:
        """Where the table says so, one client who restarts the system, or arms a fault, finds what it breaks."""
        [scenario] = [each for each in scenarios() if each.name == SCENARIOS[name]]
        calls = (Call(operation=each.operation, params=each.params, label=each.label) for each in scenario.steps)
        with closing(InProcessSystem(lambda: made(name))) as system:
            finding = replay(system, ALL_CLAIMS, REQUIREMENTS, trace_of(calls).steps).finding
        assert finding is not None
        assert set(DURABLE_MUTANTS[name].breaks) <= {each.requirement for each in finding.broken}

    @by_name
    def test_it_walks_as_the_sql_store(self, made: Callable[..., SqlStore], name: str) -> None:
        """Disarmed it is the SQL store; armed it describes itself like it, and one walk through everything gives the same."""
        armed, disarmed = made(name), made(name, armed=False)
        assert type(disarmed) is SqlStore
        assert armed.describe() == disarmed.describe()
        assert walked(lambda: armed) == walked(lambda: disarmed)

    def test_on_a_server_too(self, made: Callable[..., SqlStore], postgres: str) -> None:
        """Each is made on a schema of PostgreSQL as well."""
        walks = {
            name: walked(lambda name=name: made(name, place=Postgres(postgres)))  # type: ignore[misc]
            for name in DURABLE_MUTANTS
        }
        sound = walked(lambda: made("check-then-act", armed=False, place=Postgres(postgres)))
        assert [name for name, walk in walks.items() if walk != sound] == []


class TestOpening:
    """An adapter string opens it on a file of the run."""

    @pytest.mark.parametrize("ending", ["", ":disarmed"])
    def test_in_the_folder_of_the_run(self, tmp_path: Path, ending: str) -> None:
        """The file is that of the run, and the next system of the same run finds what was written."""
        for case, expected in (("case-1", 1), ("case-2", 2)):
            system = open_system(f"mutant:lagging-replica{ending}", data=tmp_path / "data", time_limit=20)
            desk = Desk(system, case)
            assert desk.ask("describe")["system"]["name"] == "sqlite"
            desk.card()
            assert len(desk.listed()) == expected
            system.close()
        assert (tmp_path / "data" / DATABASE_NAME).is_file()

    @pytest.mark.parametrize("is_killed", [True, False])
    def test_served(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool) -> None:
        """It is served on a file in KEYTURN_DATA, and claims that it can be restarted also where the suite kills it for that."""
        monkeypatch.setenv("KEYTURN_DATA", str(tmp_path))
        for ending, kind in (("", LockPerProcess), (":disarmed", SqlStore)):
            target = target_of(f"mutant:lock-per-process{ending}", is_killed=is_killed, watch=marker_of({}))
            assert type(target) is kind
            assert isinstance(target, SqlStore)
            assert Capability.RESTART in target.claims
            target.close()

    def test_served_without_a_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without KEYTURN_DATA it is said what is missing."""
        monkeypatch.delenv("KEYTURN_DATA", raising=False)
        with pytest.raises(click.UsageError, match="set KEYTURN_DATA to a folder"):
            target_of("mutant:lock-per-process", is_killed=True, watch=marker_of({}))

    def test_completed_and_told(self) -> None:
        """The shell, the lists and the explanations know it as they know the other mutants, and a slip is answered."""
        runner = CliRunner(
            env={"_KEYTURN_COMPLETE": "bash_complete", "COMP_WORDS": "keyturn check mutant:lock-", "COMP_CWORD": "2"}
        )
        assert "mutant:lock-per-process" in runner.invoke(keyturn, prog_name="keyturn").output
        listed = CliRunner().invoke(keyturn, ["list", "mutants"]).output
        assert listed.index(f"{SECTION}:") < listed.index("lock-per-process")
        assert "same moment" in CliRunner().invoke(keyturn, ["explain", "lock-per-process"]).output
        with pytest.raises(Unusable, match="did you mean 'lock-per-process'"):
            open_system("mutant:lock-per-proces", data=Path(), time_limit=20)
