"""Which files a store opens: those that were made here, and no others, which stay byte for byte as they are."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from keyturn import operations as ops
from keyturn.responses import Presented
from keyturn_sql import files, schema
from keyturn_sql.database import NotOurs
from keyturn_sql.dialects import APPLICATION_ID
from keyturn_sql.store import SqlStore

from .programs import Seen, presents, start
from .tables import rows_of


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file of a folder with its bytes."""
    return {str(each.relative_to(folder)): each.read_bytes() if each.is_file() else None for each in folder.rglob("*")}


def database(path: Path, *statements: str) -> None:
    """Make an SQLite database that is not a store."""
    with closing(sqlite3.connect(path)) as made:
        for each in statements:
            made.execute(each)
        made.commit()


def store_with(statement: str, path: Path) -> None:
    """Make a store and change it from outside."""
    SqlStore.open_test(path).close()
    database(path, statement)


Make = Callable[[Path], object]

STRANGERS: dict[str, tuple[Make, str]] = {
    "a text file": (lambda path: path.write_text("dear diary"), "not an SQLite database that can be read"),
    "an empty file": (lambda path: path.touch(), "an empty file"),
    "a folder": (lambda path: path.mkdir(), "no regular file"),
    "a link to nothing": (lambda path: path.symlink_to("nowhere"), "no regular file"),
    "a short file": (lambda path: path.write_bytes(b"SQLite format 3\0"), "not an SQLite database that can be read"),
    "another database": (lambda path: database(path, "CREATE TABLE notes (text)"), "of another application"),
    "another database with a log": (
        lambda path: database(path, "PRAGMA journal_mode = WAL", "CREATE TABLE notes (text)"),
        "of another application",
    ),
    "our mark on something else": (
        lambda path: database(path, f"PRAGMA application_id = {APPLICATION_ID}", "CREATE TABLE notes (text)"),
        "cannot be read",
    ),
    "a service's store": (lambda path: SqlStore.open(path).close(), "it is a Keyturn store, and this would have to be"),
    "a store of the future": (
        lambda path: store_with("UPDATE meta SET schema_version = 99", path),
        "its tables are of version 99",
    ),
    "left-overs": (lambda path: Path(f"{path}-wal").write_bytes(b"frames"), "of a file that was here before"),
}


@pytest.mark.parametrize(("make", "says"), STRANGERS.values(), ids=STRANGERS)
def test_what_was_not_made_here_is_left_alone(make: Make, says: str, tmp_path: Path) -> None:
    """The message says what, where, why and what to do; the file and its neighbours stay byte for byte."""
    path = tmp_path / "cards.db"
    make(path)
    before = tree(tmp_path)
    with pytest.raises(NotOurs, match=says) as refusal:
        SqlStore.open_test(path)
    assert str(path) in str(refusal.value)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("name", ["missing/cards.db", "file/cards.db"])
def test_where_no_file_can_be_made_none_is_made(name: str, tmp_path: Path) -> None:
    """A folder that is not there, or that is none."""
    (tmp_path / "file").write_text("not a folder")
    before = tree(tmp_path)
    with pytest.raises(NotOurs, match=r"no file can be made there.*Name a folder that exists"):
        SqlStore.open_test(tmp_path / name)
    assert tree(tmp_path) == before


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions do not hold for root, so the refusal of the system is played here."""

    def refuse(path: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(files, "TemporaryDirectory", lambda dir, prefix: refuse(dir))  # noqa: A006
    with pytest.raises(NotOurs, match="Permission denied"):
        SqlStore.open_test(tmp_path / "cards.db")
    assert tree(tmp_path) == {}


def test_a_look_at_a_file_takes_no_lock_away(tmp_path: Path) -> None:
    """A process that opens a store again and again keeps the locks of the one that it has open.

    A plain `open` and `close` of the file would drop them, and the next process to close the file would take it for its
    own and delete the log.
    """
    path = tmp_path / "cards.db"
    with closing(SqlStore.open_test(path)) as store:
        start(store.perform)
        with pytest.raises(NotOurs):
            SqlStore.open(path)
        looks = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM meta'); c.close()"
        subprocess.run([sys.executable, "-c", looks, str(path)], check=True)
        assert Path(f"{path}-wal").exists()
        assert isinstance(store.perform(presents("confirm").meet(Seen())), Presented)
        assert len(rows_of(store)["interactions"]) == 1


def test_a_race_for_a_new_file_has_one_winner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When another process makes the file in the meantime, that one is opened, and nothing else is left behind."""
    path = tmp_path / "cards.db"
    link = os.link

    def late(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        with closing(SqlStore.open_test(path)) as winner:
            winner.perform(ops.CaseOpen(account="a", workflow="w", case="c"))
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with closing(SqlStore.open_test(path)) as store:
        assert store.case_edit(account="a", workflow="w", case="c") == {"revision": 2, "invalidated": []}
    assert list(tree(tmp_path)) == ["cards.db"]


def test_a_store_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is there after closing and opening; a relative path means the same file after a change of folder."""
    monkeypatch.chdir(tmp_path)
    with closing(SqlStore.open_test(Path("cards.db"))) as store:
        start(store.perform)
        presented = store.perform(presents("confirm").meet(Seen()))
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir("elsewhere")
        store.restart()
        cards = store.perform(ops.CardList(account="anna", conversation="phone"))
    with closing(SqlStore.open_test(tmp_path / "cards.db")) as again:
        assert again.perform(ops.CardList(account="anna", conversation="phone")) == cards
    assert [presented.card] == list(cards.cards)  # type: ignore[union-attr]
    assert (tmp_path / "cards.db").read_bytes()[68:72] == b"Keyt"


@pytest.mark.parametrize(("options", "level"), [({}, 2), ({"synchronous": "normal"}, 1)], ids=["default", "normal"])
def test_a_commit_is_on_the_disk_before_it_is_reported(options: dict[str, str], level: int, tmp_path: Path) -> None:
    """Durability over speed is the default (`FULL`, 2), also after a restart; a test may ask for less."""
    with closing(SqlStore.open_test(tmp_path / "cards.db", **options)) as store:  # type: ignore[arg-type]
        store.restart()
        with store.database.engine.connect() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_restart_never_makes_a_new_file(tmp_path: Path) -> None:
    """A new file would issue old ids again (I6.7)."""
    path = tmp_path / "cards.db"
    with closing(SqlStore.open_test(path)) as store:
        path.rename(tmp_path / "moved.db")
        with pytest.raises(NotOurs, match="no regular file"):
            store.restart()
    assert not path.exists()


def test_the_schema_is_versioned() -> None:
    """A change of the tables must come with a new version: this is what version 4 looks like."""
    assert schema.SCHEMA_VERSION == 4
    assert {name: len(table.columns) for name, table in schema.metadata.tables.items()} == {
        "meta": 12,
        "cases": 5,
        "interactions": 19,
        "commands": 10,
        "effects": 12,
        "ledger": 12,
    }
