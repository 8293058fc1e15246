"""What the database holds by itself, when what stands above it is wrong, and what a store says when it cannot act."""

import resource
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.admissible import admissible
from keyturn.branches import Branch, Outcome
from keyturn.capabilities import Claims
from keyturn.errors import OperationFailed, Unsupported
from keyturn.responses import Accepted, Presented, RefusalCode, Rejected, Replayed, Resolved
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import CardId, EffectId, Instant
from keyturn.world import Settlement, World
from keyturn_sql.database import Place
from keyturn_sql.schema import SCHEMA_VERSION, interactions
from keyturn_sql.store import Decide, SqlStore

from . import shells
from .programs import COMMIT, KEYS, Answer, Close, Seen, Step, presents, start
from .shells import VIOLATIONS, held, shell
from .tables import rows_of

ACTIVE = InteractionStatus.ACTIVE


def run(store: SqlStore, *steps: Step, seen: Seen | None = None) -> list[Outcome]:
    """Perform steps and return their outcomes; what they name is noted in `seen`."""
    seen, outcomes = seen or Seen(), []
    for step in steps:
        operation = step.meet(seen)
        outcomes.append(store.perform(operation))
        seen.note(operation, outcomes[-1])
    return outcomes


def refused(place: Place, decide: Decide, operation: ops.Operation, says: str) -> None:
    """Hold that a store that decides like this is refused by the database, and that nothing was written."""
    with closing(SqlStore.open_test(place, decide=decide, synchronous="normal")) as broken:
        before = rows_of(broken)
        with pytest.raises(OperationFailed, match=says) as failure:
            broken.perform(operation)
        assert failure.value.definite
        assert rows_of(broken) == before


def with_cards(change: Callable[[World], World]) -> Decide:
    """The kernel, which is shown another world than there is."""
    return lambda world, operation, claims: admissible(change(world), operation, claims)


def reopened(world: World) -> World:
    """A world in which every card is Active and no command has ended: where the gate forgets."""
    active = tuple(evolve(each, status=ACTIVE, resolved_option=None, result=None) for each in world.interactions)
    return evolve(world, interactions=active)


def unsettled(world: World) -> World:
    """A world in which every command is in flight, and so is its card."""
    resolving = tuple(evolve(each, status=InteractionStatus.RESOLVING, result=None) for each in world.interactions)
    commands = tuple(evolve(each, settlement=None, reply=None) for each in world.commands)
    return evolve(world, interactions=resolving, commands=commands)


class TestOneOpenBlockingCard:
    """I5.1: at every observable moment a case has at most one blocking card that is open."""

    def test_a_second_one_is_refused_by_the_database(self, store: SqlStore, place: Place) -> None:
        """A gate that overlooks the occupant cannot write a second card."""
        run(store, presents("confirm"))
        blind = with_cards(lambda world: evolve(world, interactions=()))
        refused(place, blind, presents("review").meet(Seen()), r"one_open_blocking_card: .*I5\.1")

    def test_a_resolving_card_holds_the_slot_too(self, store: SqlStore, place: Place) -> None:
        """A gate that overlooks a card in flight cannot write a second card either."""
        run(store, presents("confirm"), Answer(back=0, option="pay"))
        blind = with_cards(lambda world: evolve(world, interactions=()))
        refused(place, blind, presents("review").meet(Seen()), r"I5\.1")

    def test_plain_sql_is_refused(self, store: SqlStore, place: Place) -> None:
        """The guard is in the file: a shell that copies the card is refused as well."""
        run(store, presents("confirm"))
        names = ", ".join(each.name for each in interactions.columns if each.name not in ("position", "id"))
        copy = f"INSERT INTO interactions (position, id, {names}) SELECT 2, 'copy', {names} FROM interactions"  # noqa: S608
        says = r"interactions\.account, interactions\.workflow|one_open_blocking_card"
        with shell(place) as opened, pytest.raises(VIOLATIONS, match=says):
            opened.execute(copy)

    def test_other_cases_have_their_own_slot(self, store: SqlStore) -> None:
        """The slot belongs to (account, workflow, case), compared exactly (I5.6)."""
        account, workflow, case = KEYS[0]
        for each in (case.upper(), f"{case} ", ""):
            store.perform(ops.CaseOpen(account=account, workflow=workflow, case=each))
            (outcome,) = run(store, presents("confirm", case=each))
            assert isinstance(outcome, Presented)


class TestAtMostOnce:
    """I14.1: the commands of a card's option run at most once, ever."""

    def test_a_second_effect_is_refused_by_the_database(self, store: SqlStore, place: Place) -> None:
        """A gate that lets a command take effect again cannot write the effect."""
        *_, resolved = run(store, presents("confirm"), Answer(back=0, option="both"), COMMIT)
        assert isinstance(resolved, Resolved)
        account, workflow, case = KEYS[0]
        effects = store.perform(ops.ReadEffects(account=account, workflow=workflow, case=case))
        assert isinstance(effects, ops.Effects)
        assert [each.id for each in effects.effects] == list(resolved.result.effects)
        again = evolve(effects.effects[0], id=EffectId("effect-again"))

        def repeats(world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
            return (Branch(ops.Done(), world, (again,), frozenset()),)

        refused(place, repeats, ops.CardExpireDue(), r"one_commit_a_card: .*I14\.1")

    def test_a_second_commit_is_refused(self, store: SqlStore, place: Place) -> None:
        """A gate that forgets that a command was settled cannot settle it again: the rows say so."""
        _, accepted, _ = run(store, presents("confirm"), Answer(back=0, option="both"), COMMIT)
        assert isinstance(accepted, Accepted)
        settle = ops.CommandSettle(command=accepted.command, result="committed")
        refused(place, with_cards(unsettled), settle, r"interactions .* no longer as it was read")

    def test_a_second_settlement_is_refused(self, store: SqlStore, place: Place) -> None:
        """A gate that rewrites how a command ended cannot write it (L5)."""
        _, accepted, _ = run(store, presents("confirm"), Answer(back=0, option="pay"), COMMIT)
        assert isinstance(accepted, Accepted)

        def rewrites(world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
            commands = tuple(evolve(each, settlement=Settlement(result="failed")) for each in world.commands)
            return (Branch(ops.Done(), evolve(world, commands=commands), (), frozenset()),)

        settle = ops.CommandSettle(command=accepted.command, result="failed")
        refused(place, rewrites, settle, r"commands .* no longer as it was read")

    def test_a_second_command_in_flight_is_refused(self, store: SqlStore, place: Place) -> None:
        """A gate that takes an answer to a Resolving card cannot start a second command (I14.3)."""
        seen, answer = Seen(), Answer(back=0, option="pay")
        run(store, presents("confirm"), answer, seen=seen)
        refused(place, with_cards(reopened), answer.meet(seen), r"one_command_in_flight: .*I14\.3")

    def test_an_effect_of_no_card_is_refused(self, store: SqlStore, place: Place) -> None:
        """A guard without a requirement of its own is named as the database names it."""
        entry = ops.LedgerEntry(
            seq=0,
            at=Instant(0),
            card=CardId("card-none"),
            event=InteractionEvent.PRESENT,
            to_status=ACTIVE,
            cause=ops.Cause(),
        )
        invents: Decide = lambda world, operation, claims: (Branch(ops.Done(), world, (entry,), frozenset()),)  # noqa: E731
        refused(place, invents, ops.CardExpireDue(), "FOREIGN KEY constraint failed|ledger_of_interactions")


class TestConditionalChanges:
    """A change touches exactly the row that was read, or the whole operation is taken back."""

    def test_a_terminal_card_is_never_written(self, store: SqlStore, place: Place) -> None:
        """A gate that answers a declined card moves nothing (L2)."""
        seen = Seen()
        run(store, presents("confirm"), Answer(back=0, option="no"), seen=seen)
        refused(place, with_cards(reopened), Answer(back=0, option="later").meet(seen), "no longer as it was read")

    @pytest.mark.parametrize("table", ["meta", "cases", "interactions", "commands"])
    def test_a_row_that_does_not_move_takes_everything_back(self, store: SqlStore, place: Place, table: str) -> None:
        """Whichever row cannot be moved: no effect, no entry, no new revision."""
        _, accepted = run(store, presents("confirm"), Answer(back=0, option="both"))
        assert isinstance(accepted, Accepted)
        shells.run(place, shells.NEVER_MIND, table=table)
        settle = ops.CommandSettle(command=accepted.command, result="committed")
        refused(place, admissible, settle, f"{table} .* no longer as it was read")

    @pytest.mark.parametrize(
        ("table", "column", "value"),
        [
            ("interactions", "status", "'open'"),
            ("interactions", "kind", "'poll'"),
            ("interactions", "blocking", "2"),
            ("interactions", "result", "'{}'"),
            ("cases", "revision", "0"),
            ("meta", "issued", "-1"),
            ("meta", "id", "2"),
            ("ledger", "event", "'reopen'"),
            ("ledger", "code", "'because'"),
            ("cases", "closed", "2"),
        ],
    )
    def test_nonsense_is_refused(self, store: SqlStore, place: Place, table: str, column: str, value: str) -> None:
        """The checks of the tables hold against plain SQL."""
        run(store, presents("confirm"))
        with shell(place) as opened, pytest.raises(VIOLATIONS, match=r"CHECK|check|of type boolean"):
            opened.execute(f"UPDATE {table} SET {column} = {value}")  # noqa: S608


class TestWhatCannotBeDone:
    """A failure is definite when nothing happened, and not definite when only the commit itself went wrong."""

    def test_a_change_waits_only_so_long(self, store: SqlStore, place: Place) -> None:
        """While another process holds the store reads go on, and a change fails for certain after its patience."""
        with closing(SqlStore.open_test(place, patience=0.05)) as other:
            with held(place):
                with pytest.raises(OperationFailed, match=r"more than 0\.05 s; nothing happened") as failure:
                    other.perform(presents("confirm").meet(Seen()))
                assert failure.value.definite
                assert other.perform(ops.CardList(account="anna", conversation="phone")) == ops.Cards(cards=())
            assert isinstance(other.perform(presents("confirm").meet(Seen())), Presented)

    def test_a_commit_that_fails_is_not_definite(self, path: Path) -> None:
        """When the disk is full at the commit, what happened is not known until it is read again."""
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)

        def fills_the_disk(world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
            return admissible(world, operation, claims)

        with closing(SqlStore.open_test(path, decide=fills_the_disk)) as store:
            try:
                with pytest.raises(OperationFailed, match=r"case\.open: the database could not do it") as failure:
                    store.perform(ops.CaseOpen(account="a", workflow="w", case="c"))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert not failure.value.definite
            assert rows_of(store)["cases"] == []

    @pytest.mark.parametrize(
        "operation",
        [
            ops.CaseOpen(account="\ud800", workflow="w", case="c"),
            ops.CardGet(account="a", conversation="v", card=CardId("\udfff")),
            ops.CardGet(account="a\0", conversation="v", card=CardId("c")),
        ],
    )
    def test_what_a_database_cannot_hold_is_malformed(self, store: SqlStore, operation: ops.Operation) -> None:
        """Half a surrogate pair is no text, and U+0000 is none either: nothing happens."""
        before = rows_of(store)
        assert store.perform(operation) == Rejected(code=RefusalCode.MALFORMED)
        assert rows_of(store) == before

    def test_an_error_of_the_kernel_leaves_nothing(self, store: SqlStore, place: Place) -> None:
        """Whatever is raised while it is decided is raised on, after everything was taken back."""

        def fails(world: World, operation: ops.Operation, claims: Claims) -> tuple[Branch, ...]:
            raise ZeroDivisionError

        with closing(SqlStore.open_test(place, decide=fails)) as broken, pytest.raises(ZeroDivisionError):
            broken.perform(ops.ClockAdvance(seconds=1))
        assert isinstance(store.perform(ops.ClockAdvance(seconds=1)), ops.ClockAdvanced)

    def test_an_error_shows_no_stored_action(self, store: SqlStore, place: Place) -> None:
        """What a card stores is in no message, whatever the database says (I7.5)."""
        shells.run(place, shells.FAIL, table="interactions")
        with pytest.raises(OperationFailed, match="no room") as failure:
            store.perform(presents("confirm").meet(Seen()))
        assert "operation" not in str(failure.value)
        assert failure.value.definite


class TestDamage:
    """I19.4: a payload that no longer matches its hash is `unverifiable`, and nothing runs."""

    @pytest.fixture
    def damaged(self, store: SqlStore, place: Place) -> Seen:
        """A card whose stored sum was changed behind the store's back."""
        seen = Seen()
        operation = presents("confirm").meet(seen)
        seen.note(operation, store.perform(operation))
        with shell(place) as opened:
            opened.execute("UPDATE interactions SET payload = replace(payload, '1.5', '9.5')")
        return seen

    def test_an_answer_to_it_is_refused(self, store: SqlStore, damaged: Seen) -> None:
        """Its owner is told that it cannot be verified; the row stays as it is."""
        before = rows_of(store)
        assert store.perform(Answer(back=0, option="pay").meet(damaged)) == Rejected(code=RefusalCode.UNVERIFIABLE)
        assert rows_of(store) == before

    def test_a_dismissal_of_it_is_refused(self, store: SqlStore, damaged: Seen) -> None:
        """`card.dismiss` follows the same table: nothing rests on what was changed from outside."""
        assert store.perform(Close(back=0).meet(damaged)) == Rejected(code=RefusalCode.UNVERIFIABLE)

    def test_a_stranger_learns_nothing_of_it(self, store: SqlStore, damaged: Seen) -> None:
        """Ownership comes first: for a stranger there is no such card (I19.1)."""
        stranger = Answer(back=0, option="pay", owner="account").meet(damaged)
        assert store.perform(stranger) == Rejected(code=RefusalCode.NOT_FOUND)

    def test_it_is_not_shown(self, store: SqlStore, damaged: Seen) -> None:
        """A read of it fails for certain, instead of showing what nobody wrote."""
        with pytest.raises(OperationFailed, match="no longer matches its hash") as failure:
            store.perform(ops.CardGet(account="anna", conversation="phone", card=damaged.cards[0][1].id))
        assert failure.value.definite

    def test_a_row_that_cannot_be_read_is_damage_too(self, store: SqlStore, place: Place) -> None:
        """A result that is no JSON any more is never half understood."""
        presented, _, _, replayed = run(
            store, presents("choose"), *(Answer(back=0, option="pay"),) * 2, Answer(back=0, option="both")
        )
        assert isinstance(presented, Presented)
        assert isinstance(replayed, Replayed)
        with shell(place) as opened:
            opened.execute("UPDATE interactions SET result = '{'")
        with pytest.raises(OperationFailed, match="a stored Interaction cannot be read"):
            store.perform(ops.CardGet(account="anna", conversation="phone", card=presented.card.id))


class TestService:
    """The store of a service is not a test environment: nothing wipes it."""

    def test_it_cannot_be_reset(self, place: Place) -> None:
        """A reset is not offered, and the description does not say that this is a test store."""
        with closing(SqlStore.open(place)) as service:
            service.perform(ops.CaseOpen(account="a", workflow="w", case="c"))
            with pytest.raises(Unsupported, match="never wiped"):
                service.perform(ops.Reset(now=Instant(0)))
            assert "environment" not in service.describe()
            assert len(rows_of(service)["cases"]) == 1


def test_ids_are_issued_once_also_over_resets_and_restarts(store: SqlStore, place: Place) -> None:
    """I6.7: an old click never meets a new card, whatever happened to the old one."""
    names = []
    for _ in range(3):
        presented, _, _ = run(store, presents("confirm"), Answer(back=0, option="pay"), COMMIT)
        assert isinstance(presented, Presented)
        names.append(presented.card.id)
        start(store.perform)
        store.perform(ops.Restart())
    with closing(SqlStore.open_test(place)) as other:
        (presented,) = run(other, presents("confirm"))
        assert isinstance(presented, Presented)
        names.append(presented.card.id)
    assert len(set(names)) == 4


def test_a_reset_leaves_no_row_but_the_counter(store: SqlStore) -> None:
    """`reset` forgets everything, and the next settlement with it."""
    run(store, presents("confirm"), Answer(back=0, option="both"), COMMIT)
    store.perform(ops.CommandNext(result="failed"))
    store.perform(ops.Reset(now=Instant(7)))
    (meta,) = rows_of(store)["meta"]
    assert {name for name, rows in rows_of(store).items() if rows} == {"meta"}
    assert meta[3:] == (7, 5, "committed", "record", "{}", 0, 0, 0, 0)


def test_the_rows_can_be_read_by_a_person(file_store: SqlStore, path: Path) -> None:
    """The sqlite3 shell shows who was asked what, what came of it and why, without this package."""
    run(file_store, presents("confirm"), Answer(back=0, option="pay", text="a note"), COMMIT)
    with closing(sqlite3.connect(path)) as opened:
        card = opened.execute(
            "SELECT account, case_id, status, kind, blocking, resolved_option, datetime(created_at / 1000, 'unixepoch'),"
            " json_extract(payload, '$.title') FROM interactions"
        ).fetchall()
        ledger = opened.execute(
            'SELECT seq, from_status, event, to_status, "option" FROM ledger ORDER BY seq'
        ).fetchall()
        effects = opened.execute(
            "SELECT ordinal, json_extract(action, '$.operation'), json_extract(arguments, '$.note'), freeform, case_revision"
            " FROM effects"
        ).fetchall()
        mark = opened.execute("SELECT mark, schema_version FROM meta").fetchall()
    assert card == [("anna", "trip", "resolved", "confirm_command", 1, "pay", "2026-01-01 00:00:00", "Pay?")]
    assert ledger == [
        (1, None, "present", "active", None),
        (2, "active", "accept", "resolving", "pay"),
        (3, "resolving", "commit", "resolved", None),
    ]
    assert effects == [(0, "pay", "a note", "a note", 2)]
    assert mark == [("a Keyturn test store", SCHEMA_VERSION)]
