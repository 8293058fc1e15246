"""An adapter string opens a system, or says everything that is wrong with it, why, and what to write instead."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from keyturn_testing.mutants import MUTANTS
from keyturn_testing.systems.adapters import ADAPTERS, DATABASE_NAME, open_system
from keyturn_testing.systems.base import Answered, System, Unusable

from .programs import PRELUDE, STEADY

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes a file of a user's project, which is the current folder; in the end nothing of it stays imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    # Modules are written and imported within one second, and may have the size of those before.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    yield write_file
    for name in set(sys.modules) - before:
        if name.startswith("users_"):
            del sys.modules[name]


def opened(adapter: str, data: Path) -> System:
    """The system of an adapter string, in time for any machine."""
    return open_system(adapter, data=data, time_limit=20)


def problems_of(adapter: str, data: Path, time_limit: float = 20) -> tuple[str, ...]:
    """What is wrong with an adapter string; each problem on one line."""
    with pytest.raises(Unusable) as caught:
        open_system(adapter, data=data, time_limit=time_limit)
    assert all("\n" not in each and "Traceback" not in each for each in caught.value.problems)
    return caught.value.problems


def name_of(system: System) -> object:
    """What a system calls itself."""
    reply = system.call("describe", {})
    system.close()
    assert isinstance(reply, Answered)
    assert isinstance(reply.result, dict)
    return reply.result["system"]["name"]


class TestTable:
    """The kinds are one table, for opening, for help and for the documentation."""

    def test_every_kind_says_what_it_is(self) -> None:
        """Each entry has a form and an example that begin with its name, and one line about it."""
        for name, kind in ADAPTERS.items():
            assert kind.name == name
            assert kind.form.startswith(name)
            assert kind.example.partition(":")[0] == name
            assert kind.says
            assert "\n" not in kind.says

    def test_the_example_of_a_mutant_is_there(self) -> None:
        """The mutant that the help shows can be opened."""
        assert ADAPTERS["mutant"].example.partition(":")[2] in MUTANTS

    def test_an_unknown_kind_gets_the_nearest_name(self, tmp_path: Path) -> None:
        """A slip of the fingers is answered with the name that was meant, and with all of them."""
        [problem] = problems_of("sqllite:x", tmp_path)
        assert "did you mean `sqlite`?" in problem
        assert all(kind.form in problem for kind in ADAPTERS.values())

    def test_all_problems_come_at_once(self, tmp_path: Path) -> None:
        """A wrong kind does not hide a wrong time limit, and terminal codes do not reach the terminal."""
        problems = problems_of("\x1b[2J", tmp_path, time_limit=float("nan"))
        assert len(problems) == 2
        assert all(each.isprintable() for each in problems)

    @pytest.mark.parametrize("time_limit", [0, -1, float("inf")])
    def test_a_time_limit_is_a_number_of_seconds(self, tmp_path: Path, time_limit: float) -> None:
        """Nothing may run for ever, and nothing can be answered in no time."""
        [problem] = problems_of("reference", tmp_path, time_limit=time_limit)
        assert "time limit" in problem


class TestBuiltIn:
    """The stores that ship are opened by their name."""

    def test_reference(self, tmp_path: Path) -> None:
        """The reference store takes nothing after its name."""
        assert name_of(opened("reference", tmp_path)) == "reference"
        assert "takes nothing after it" in problems_of("reference:x", tmp_path)[0]

    def test_sqlite_in_the_data_folder(self, tmp_path: Path) -> None:
        """Without a path the file is the run's own, and the next run of the same folder finds it."""
        data = tmp_path / "data"
        for _ in range(2):
            assert name_of(opened("sqlite", data)) == "sqlite"
        assert (data / DATABASE_NAME).is_file()

    def test_sqlite_at_a_path(self, tmp_path: Path) -> None:
        """A path is made, and taken again."""
        for _ in range(2):
            assert name_of(opened(f"sqlite:{tmp_path / 'mine.sqlite3'}", tmp_path / "data")) == "sqlite"

    def test_sqlite_does_not_take_what_it_did_not_make(self, tmp_path: Path) -> None:
        """A file of somebody else is refused, and left as it is."""
        file = tmp_path / "notes.txt"
        file.write_text("notes", encoding="utf-8")
        [problem] = problems_of(f"sqlite:{file}", tmp_path)
        assert problem.startswith("sqlite: ")
        assert "notes.txt" in problem
        assert file.read_text(encoding="utf-8") == "notes"

    def test_sqlite_needs_a_path_that_can_be(self, tmp_path: Path) -> None:
        """A colon needs a path, and a path a folder."""
        assert "no path after the colon" in problems_of("sqlite:", tmp_path)[0]
        assert "is not there" in problems_of(f"sqlite:{tmp_path}/no/such/file", tmp_path)[0]
        assert "cannot be opened" in problems_of("sqlite:a\0b", tmp_path)[0]

    def test_sqlite_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the extra is missing, the message names it."""
        monkeypatch.setitem(sys.modules, "keyturn_sql.store", None)
        assert "keyturn[sql]" in problems_of("sqlite", tmp_path)[0]

    def test_postgres_has_a_schema_of_its_own(self, tmp_path: Path, postgres: str) -> None:
        """It is made for the run, and dropped when the run ends."""
        assert name_of(opened(f"postgres:{postgres}", tmp_path)) == "postgresql"
        with psycopg.connect(postgres) as server:
            left = server.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'keyturn%'").fetchall()
        assert left == []

    def test_postgres_needs_a_dsn_that_leads_somewhere(self, tmp_path: Path, postgres: str) -> None:
        """What is wrong is said soon, and without the password."""
        for adapter in ("postgres", "postgres:"):
            assert "needs a DSN" in problems_of(adapter, tmp_path)[0]
        secret = "s3cret"
        for dsn, says in (
            (f"postgresql://anna:{secret}@127.0.0.1:1/cards", "refused"),
            (f"postgresql://anna:{secret}@[::1/cards", "libpq cannot read the DSN"),
            (f"host=h pass word={secret}", "libpq cannot read the DSN"),
            (f"{postgres.replace('dbname=postgres', 'dbname=none')}&password={secret}", "does not exist"),
        ):
            [problem] = problems_of(f"postgres:{dsn}", tmp_path)
            assert problem.startswith("postgres: ")
            assert says in problem
            assert secret not in problem

    def test_postgres_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the driver is missing, the message names the extra that brings it."""
        monkeypatch.delitem(sys.modules, "keyturn_sql.postgres", raising=False)
        monkeypatch.setitem(sys.modules, "psycopg", None)
        assert "pip install 'keyturn[postgres]'" in problems_of("postgres:postgresql:///x", tmp_path)[0]

    def test_mutants(self, tmp_path: Path) -> None:
        """A mutant describes itself like the reference, armed or not."""
        name = next(iter(MUTANTS))
        assert name_of(opened(f"mutant:{name}", tmp_path)) == "reference"
        assert name_of(opened(f"mutant:{name}:disarmed", tmp_path)) == "reference"

    def test_an_unknown_mutant(self, tmp_path: Path) -> None:
        """A name that there is not gets the nearest one, and a wrong ending is told in the same breath."""
        name = next(iter(MUTANTS))
        problems = problems_of(f"mutant:{name}s:unarmed", tmp_path)
        assert f"did you mean {name!r}?" in problems[0]
        assert "disarmed" in problems[1]
        assert "no mutant called ''" in problems_of("mutant", tmp_path)[0]


STORE = "class Store:\n    def describe(self):\n        return {'system': {'name': 'mine'}}\n"


class TestPython:
    """A factory in a module of the user is found from the current folder, or what is missing is said."""

    @pytest.mark.parametrize("factory", ["Store", "make", "make_later", "Holder.make", "partial"])
    def test_a_factory(self, write: Write, tmp_path: Path, factory: str) -> None:
        """A class, a function, a coroutine function, a method of a class and any other callable are factories."""
        write("users_package/__init__.py", "")
        text = "import functools\ndef make(): return Store()\nasync def make_later(): return Store()\n"
        text += "class Holder: make = staticmethod(make)\npartial = functools.partial(make)\n"
        write("users_package/stores.py", STORE + text)
        assert name_of(opened(f"python:users_package.stores:{factory}", tmp_path)) == "mine"

    @pytest.mark.parametrize(
        "rest", ["", "users_store", "users_store:", ":make", "users store:make", "a..b:c", "a:b:c"]
    )
    def test_what_is_no_name(self, tmp_path: Path, rest: str) -> None:
        """Anything but a module and a factory is told how to write them."""
        assert "write `python:package.module:factory`" in problems_of(f"python:{rest}", tmp_path)[0]

    def test_a_missing_module(self, write: Write, tmp_path: Path) -> None:
        """The name that was meant is found among what is in the current folder, which is named."""
        write("users_store.py", STORE)
        [problem] = problems_of("python:users_stare:Store", tmp_path)
        assert "there is no module 'users_stare'" in problem
        assert str(tmp_path) in problem
        assert "did you mean 'users_store'?" in problem

    def test_a_missing_submodule(self, write: Write, tmp_path: Path) -> None:
        """How far the name leads is said, where that is, and what is there."""
        package = write("users_package/__init__.py", "")
        write("users_package/stores.py", STORE)
        [problem] = problems_of("python:users_package.store:Store", tmp_path)
        assert f"the package 'users_package' ({package}) has no module 'store'" in problem
        assert "did you mean 'stores'?" in problem
        [problem] = problems_of("python:users_package.stores.deeper:Store", tmp_path)
        assert "'users_package.stores'" in problem
        assert "is no package" in problem

    def test_a_missing_factory(self, write: Write, tmp_path: Path) -> None:
        """The module was found, and the message says where and what it has."""
        file = write("users_store.py", STORE + "def _private(): pass\nnumber = 7\n")
        [problem] = problems_of("python:users_store:Stor", tmp_path)
        assert f"the module 'users_store' ({file}) has no attribute 'Stor'" in problem
        assert "did you mean 'Store'? There is 'Store'" in problem
        assert "_private" not in problem
        assert "'Store' has no attribute 'make'" in problems_of("python:users_store:Store.make", tmp_path)[0]
        assert "is of type int, and cannot be called" in problems_of("python:users_store:number", tmp_path)[0]

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("\nimport users_missing\n", "ModuleNotFoundError: No module named"),
            ("\nraise ValueError('not\\nso')\n", "ValueError: not\\\\nso (users_store.py:2)"),
            ("\ndef broken(:\n", "SyntaxError: "),
            ("\nraise SystemExit(0)\n", "SystemExit: 0 (users_store.py:2)"),
        ],
        ids=["import", "error", "syntax", "exit"],
    )
    def test_a_module_that_fails(self, write: Write, tmp_path: Path, text: str, said: str) -> None:
        """What a module raises when it is imported is shown with its line, and without a traceback."""
        write("users_store.py", text)
        [problem] = problems_of("python:users_store:Store", tmp_path)
        assert problem.startswith("python: importing users_store raised ")
        assert said.replace("\\\\", "\\") in problem
        assert "users_store.py:2" in problem

    def test_a_package_that_imports_itself_in_vain(self, write: Write, tmp_path: Path) -> None:
        """A package that fails over its own missing part is not there any more, and that is no failure of ours."""
        write("users_package/__init__.py", "import users_package.part\n")
        [problem] = problems_of("python:users_package.part:Store", tmp_path)
        assert "'users_package.part'" in problem

    def test_a_factory_that_fails(self, write: Write, tmp_path: Path) -> None:
        """A factory that raises is shown with its line, and one that returns nothing is told what to return."""
        write("users_store.py", "def make():\n    return 1 / 0\ndef forget():\n    pass\n")
        [problem] = problems_of("python:users_store:make", tmp_path)
        assert "ZeroDivisionError: division by zero (users_store.py:2)" in problem
        assert "must return the object" in problems_of("python:users_store:forget", tmp_path)[0]


class TestStdio:
    """A command line is started; one that cannot be is said before anything is asked."""

    def test_a_command(self, write: Write, tmp_path: Path) -> None:
        """The command runs in the current folder."""
        write("server.py", PRELUDE + STEADY)
        system = opened(f"stdio:{sys.executable} server.py", tmp_path / "data")
        assert isinstance(system.call("describe", {}), Answered)
        system.close()

    @pytest.mark.parametrize(
        ("adapter", "said"),
        [
            ("stdio", "there is no command"),
            ("stdio:", "there is no command"),
            ("stdio:no-such-command-anywhere", "was not found"),
            ("stdio:echo 'a", "No closing quotation"),
        ],
    )
    def test_no_command(self, tmp_path: Path, adapter: str, said: str) -> None:
        """Nothing, a name that leads nowhere, and a quote without its end."""
        [problem] = problems_of(adapter, tmp_path)
        assert problem.startswith("stdio: ")
        assert said in problem
