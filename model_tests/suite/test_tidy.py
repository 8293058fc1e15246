"""The sources keep the project's own rules, and each rule is shown to catch what it is for."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from . import tidy

ROOT = Path(__file__).resolve().parents[2]

# Files over 400 lines and functions over 60, with their present length. They may only shrink, and the entry with them:
# "kernel/keyturn/example.py": 412, "kernel/keyturn/example.py::Class.method": 71.
LONGER: Mapping[str, int] = {}

# Put together here, so that this file does not mention what it looks for.
OUTSIDE = tuple(f"{parent}/{'shared'}" for parent in ("..", "/work"))

Plant = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    """Writes a small tree of files, and gives its root."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


def none_of(problems: list[tidy.Problem]) -> None:
    """Fails once, with every problem on a line of its own."""
    if problems:
        pytest.fail(f"{len(problems)} to mend:\n" + "\n".join(map(str, problems)), pytrace=False)


class TestRepository:
    """The repository keeps the rules."""

    def test_there_is_something_to_check(self) -> None:
        """Every source root has modules, and git or the file system lists them."""
        assert all(tidy.modules(ROOT, folder) for folder in ("kernel/keyturn", *tidy.SOURCE_ROOTS))

    def test_imports_run_one_way(self) -> None:
        """Each package imports only what it may."""
        none_of(tidy.import_problems(ROOT))

    def test_the_kernel_is_pure(self) -> None:
        """No module of the kernel reads a clock, draws a number, opens a file or starts anything."""
        none_of(tidy.purity_problems(ROOT))

    def test_files_and_functions_are_short(self) -> None:
        """Files have up to 400 lines and functions up to 60, or no more than their exception says."""
        none_of(tidy.size_problems(ROOT, LONGER))

    def test_modules_open_with_their_theory(self) -> None:
        """Every module of the kernel and the specifications says what it is about."""
        none_of(tidy.docstring_problems(ROOT))

    def test_nothing_points_outside(self) -> None:
        """No file sends its reader to a place that is not part of the project."""
        none_of(tidy.mention_problems(ROOT, OUTSIDE))


class TestImports:
    """An import against the direction is found, wherever it stands."""

    @pytest.mark.parametrize(
        ("path", "line"),
        [
            ("kernel/keyturn/a.py", "import keyturn_sql"),
            ("kernel/keyturn/a.py", "from keyturn_specs import Requirement"),
            ("kernel/keyturn/a.py", "import sqlalchemy"),
            ("kernel/keyturn/runs/a.py", "import hypothesis.strategies"),
            ("kernel/keyturn/a.py", "def f():\n    import rich"),
            ("kernel/keyturn/a.py", "import importlib\nimportlib.import_module('click')"),
            ("kernel/keyturn_sql/a.py", "import keyturn_specs"),
            ("kernel/keyturn_sql/a.py", "from keyturn_testing import driver"),
            ("kernel/keyturn_sql/a.py", "import click"),
            ("specs/keyturn_specs/a.py", "from keyturn_sql.store import Store"),
            ("specs/keyturn_specs/a.py", "import keyturn_testing.driver"),
            ("specs/keyturn_specs/a.py", "import hypothesis"),
            ("model_tests/keyturn_testing/a.py", "from suite.tidy import modules"),
            ("model_tests/keyturn_testing/a.py", "import bench.run"),
            ("model_tests/keyturn_testing/a.py", "from .. import suite"),
            ("model_tests/_keyturn_pytest.py", "import keyturn"),
            ("model_tests/_keyturn_pytest.py", "try:\n    from keyturn_testing import driver\nfinally:\n    pass"),
            ("model_tests/bench/run.py", "from model_tests.suite import tidy"),
            ("noxfile.py", "import suite"),
        ],
    )
    def test_a_wrong_import_is_found(self, plant: Plant, path: str, line: str) -> None:
        """One import against the direction is one problem, in its file and at its line."""
        [problem] = tidy.import_problems(plant({path: f'"""A module."""\n{line}\n'}))
        assert problem.path == path
        assert 1 < problem.line <= 2 + line.count("\n")

    @pytest.mark.parametrize(
        ("path", "line"),
        [
            ("kernel/keyturn/a.py", "import json, attrs, attr, cattrs, rfc8785, statemachine, keyturn.status"),
            ("kernel/keyturn/runs/a.py", "from . import events\nfrom ..cards import Card"),
            ("kernel/keyturn_sql/a.py", "import keyturn, sqlalchemy.sql, sqlite3"),
            ("specs/keyturn_specs/a.py", "from keyturn.world import World"),
            ("model_tests/keyturn_testing/a.py", "import keyturn, keyturn_sql, keyturn_specs, click, rich, suites"),
            ("model_tests/_keyturn_pytest.py", "import pytest\ndef f():\n    import keyturn_testing"),
            ("model_tests/_keyturn_pytest.py", "if TYPE_CHECKING:\n    import keyturn_testing"),
            ("model_tests/suite/kernel/test_a.py", "import keyturn_testing\nfrom .. import tidy"),
        ],
    )
    def test_a_right_import_is_left_alone(self, plant: Plant, path: str, line: str) -> None:
        """What the direction allows is no problem."""
        assert not tidy.import_problems(plant({path: f"{line}\n"}))


class TestPurity:
    """What would make the kernel depend on more than its arguments is found."""

    @pytest.mark.parametrize(
        "line",
        [
            "import time",
            "from random import choice",
            "import os.path",
            "def f():\n    from pathlib import Path",
            "import concurrent.futures",
            "import sqlite3 as storage",
            "datetime.now(UTC)",
            "datetime.datetime.utcnow()",
            "field(factory=datetime.now)",
            "date.today()",
            "clock.now()",
            "moment.astimezone()",
            "open('notes.txt')",
            "print('hello')",
            "eval('1')",
            "__import__('cattrs')",
        ],
    )
    def test_an_impure_line_is_found(self, plant: Plant, line: str) -> None:
        """One impure line is at least one problem, at its line."""
        problems = tidy.purity_problems(plant({"kernel/keyturn/runs/a.py": f"{line}\n"}))
        assert {problem.line for problem in problems} == {1 + line.count("\n")}

    @pytest.mark.parametrize(
        "line",
        ["from datetime import datetime, timedelta", "world.now", "moment.astimezone(UTC)", "deadline <= datetime.max"],
    )
    def test_a_pure_line_is_left_alone(self, plant: Plant, line: str) -> None:
        """Times as values are no problem."""
        assert not tidy.purity_problems(plant({"kernel/keyturn/a.py": f"{line}\n"}))

    def test_only_the_kernel_is_asked(self, plant: Plant) -> None:
        """The stores beside the kernel may do what stores do."""
        assert not tidy.purity_problems(plant({"kernel/keyturn_sql/a.py": "import time, sqlite3\n"}))


class TestSizes:
    """Length is a ratchet that only tightens."""

    FILE = "kernel/keyturn/long.py"
    FUNCTION = "kernel/keyturn/cards.py::Card.render"

    def sources(self, file_lines: int, function_lines: int) -> dict[str, str]:
        """A file and a method of these lengths."""
        body = "        pass\n" * (function_lines - 1)
        return {
            self.FILE: "X = 1\n" * file_lines,
            "kernel/keyturn/cards.py": f"class Card:\n    def render(self):\n{body}",
        }

    def test_the_limits_themselves_are_allowed(self, plant: Plant) -> None:
        """400 and 60 lines are no problem."""
        assert not tidy.size_problems(plant(self.sources(400, 60)), {})

    def test_one_line_more_is_found(self, plant: Plant) -> None:
        """401 and 61 lines are two problems."""
        found = [str(problem) for problem in tidy.size_problems(plant(self.sources(401, 61)), {})]
        assert found == [
            "kernel/keyturn/cards.py:2: Card.render has 61 lines: the limit is 60; split it",
            "kernel/keyturn/long.py:1: kernel/keyturn/long.py has 401 lines: the limit is 400; split it",
        ]

    def test_an_exact_exception_is_allowed(self, plant: Plant) -> None:
        """An exception that says the present length is no problem."""
        assert not tidy.size_problems(plant(self.sources(401, 61)), {self.FILE: 401, self.FUNCTION: 61})

    @pytest.mark.parametrize(
        ("entry", "said"),
        [(410, "grew"), (430, "shrank"), (420, None)],
    )
    def test_an_exception_follows_the_file(self, plant: Plant, entry: int, said: str | None) -> None:
        """A file that grew or shrank since its entry was written is a problem."""
        found = [problem.what for problem in tidy.size_problems(plant(self.sources(420, 9)), {self.FILE: entry})]
        assert [said in what for what in found if said] == ([True] if said else [])
        assert len(found) == (1 if said else 0)

    def test_an_exception_that_is_not_needed_is_found(self, plant: Plant) -> None:
        """An entry for what is short again, or gone, is a problem."""
        found = tidy.size_problems(plant(self.sources(9, 9)), {self.FILE: 420, self.FUNCTION: 70, "gone.py::f": 80})
        assert [problem.advice.rpartition("; ")[2] for problem in found] == ["remove its entry"] * 3


class TestWords:
    """What must be written is missed, and what must not is found."""

    @pytest.mark.parametrize(
        "source",
        ["X = 1\n", '"""One sentence."""\n', '"""One sentence, e.g. this."""\n', '"""no end, no end"""\n', ""],
    )
    def test_a_bare_module_is_found(self, plant: Plant, source: str) -> None:
        """A module without two sentences at its top is a problem."""
        [problem] = tidy.docstring_problems(plant({"specs/keyturn_specs/a.py": source}))
        assert (problem.path, problem.line) == ("specs/keyturn_specs/a.py", 1)

    def test_two_sentences_are_enough(self, plant: Plant) -> None:
        """A first sentence and another are no problem, and tests are not asked."""
        files = {"kernel/keyturn/a.py": '"""What.\n\nHow (`x`.)\n"""\n', "model_tests/suite/test_a.py": "X = 1\n"}
        assert not tidy.docstring_problems(plant(files))

    @pytest.mark.parametrize("phrase", OUTSIDE)
    def test_a_mention_is_found(self, plant: Plant, phrase: str) -> None:
        """A file of any kind that points outside is a problem, at the line that does."""
        [problem] = tidy.mention_problems(plant({"docs/a.md": f"one\nsee {phrase}/x\n", ".ci/run": "ok\n"}), OUTSIDE)
        assert (problem.path, problem.line) == ("docs/a.md", 2)
