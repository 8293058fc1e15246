"""`pytest --keyturn SYSTEM`, in a real pytest of its own: one test a requirement, selectable, with reasons."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from keyturn_specs.catalogue import REQUIREMENTS

SCENARIOS = ("--keyturn-engine", "scenarios")
"""For a test that needs some verdicts of a run, and not everything that a run asks: two seconds."""

EVERY = (*SCENARIOS, "--keyturn-engine", "races", "--keyturn-examples", "1")
"""For a test that needs the verdict of every requirement."""


def ran(folder: Path, *arguments: str, cache: bool = False) -> "subprocess.CompletedProcess[str]":
    """Run pytest in an empty folder."""
    command = [sys.executable, "-m", "pytest", *([] if cache else ["-p", "no:cacheprovider"]), *arguments]
    hidden = ("PYTEST_", "COV_", "COVERAGE_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False)


def test_one_test_a_requirement_passes_on_the_reference(tmp_path: Path) -> None:
    """The reference passes one test for each requirement, and one of the run as a whole."""
    done = ran(tmp_path, "--keyturn", "reference", "-q")
    assert done.returncode == 0, done.stdout
    assert f"{len(REQUIREMENTS) + 1} passed" in done.stdout


def test_a_requirement_can_be_selected(tmp_path: Path) -> None:
    """`-k` selects by the id."""
    done = ran(tmp_path, "--keyturn", "mutant:stranger-answers", *EVERY, "-k", "I14 or I13", "-q")
    assert done.returncode == 0, done.stdout
    chosen = [each for each in REQUIREMENTS if "I14" in each.id or "I13" in each.id]
    assert f"{len(chosen)} passed" in done.stdout


def test_a_failure_tells_its_story(tmp_path: Path) -> None:
    """A failing requirement shows the sentence and the steps, and no traceback."""
    done = ran(tmp_path, "--keyturn", "mutant:stranger-answers", *SCENARIOS, "-k", "I19.1", "-q")
    assert done.returncode == 1
    assert "A foreign account or conversation" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert "admissible" in done.stdout


def test_a_system_that_cannot_be_opened_fails_with_the_reason(tmp_path: Path) -> None:
    """An adapter that names nothing fails each test with what to write instead."""
    done = ran(tmp_path, "--keyturn", "refrence", "-k", "A1", "-q")
    assert done.returncode == 1
    assert "reference" in done.stdout
    assert "nothing was judged" in done.stdout


def test_without_the_option_nothing_of_ours_is_imported(tmp_path: Path) -> None:
    """A project that does not use the plugin does not pay for it."""
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n\ndef test_it():\n    assert not any(each.startswith('keyturn') for each in sys.modules)\n"
    )
    done = ran(tmp_path, "-q", "test_it.py")
    assert done.returncode == 0, done.stdout


STORES = """
import os
from pathlib import Path

from keyturn.operations import CardRespond
from keyturn.store import ReferenceStore


class Counted(ReferenceStore):
    def __init__(self):
        super().__init__()
        with Path("made").open("a") as made:
            made.write(f"{os.getpid()}\\n")


class Crashes(ReferenceStore):
    answers = 0

    def perform(self, operation):
        self.answers += isinstance(operation, CardRespond)
        if self.answers == 300:
            raise RuntimeError("out of order")
        return super().perform(operation)
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with stores in it."""
    (tmp_path / "stores.py").write_text(STORES, "utf-8")
    return tmp_path


class TestSelection:
    """Tests are found by node id, by marker and by what failed last, and collecting asks nothing."""

    def test_node_ids(self, place: Path) -> None:
        """`keyturn::I14.1` is a test of its own, beside those of files."""
        (place / "test_it.py").write_text("def test_it():\n    pass\n\ndef test_other():\n    pass\n", "utf-8")
        ids = ("keyturn::I14.1", "test_it.py::test_it", "keyturn::L2")
        done = ran(place, "--keyturn", "python:stores:Counted", *ids, "--collect-only", "-q")
        assert done.returncode == 0, done.stdout
        assert [each for each in done.stdout.splitlines() if "::" in each] == [
            "test_it.py::test_it",
            "keyturn::L2",
            "keyturn::I14.1",
        ]
        assert not (place / "made").exists()

    def test_markers(self, place: Path) -> None:
        """A family, everything of ours, and everything else; the marker is registered."""
        (place / "test_it.py").write_text("def test_it():\n    pass\n", "utf-8")
        for expression, count in (
            ("keyturn(family='I14')", sum(each.family == "I14" for each in REQUIREMENTS)),
            ("keyturn", len(REQUIREMENTS) + 1),
            ("not keyturn", 1),
        ):
            done = ran(place, "--keyturn", "reference", "-m", expression, "--co", "-q", "--strict-markers")
            assert len([each for each in done.stdout.splitlines() if "::" in each]) == count, done.stdout

    def test_last_failed_and_junit(self, place: Path) -> None:
        """What failed is run again alone, `-x` ends at it, and pytest's own report names it."""
        system = ("--keyturn", "mutant:stranger-answers", *SCENARIOS)
        done = ran(place, *system, "keyturn::I19.1", "keyturn::I14.1", "--junitxml", "report.xml", cache=True)
        assert done.returncode == 1
        assert "FAILED keyturn::I19.1" in done.stdout
        names = {
            (each.get("classname"), each.get("name")): len(each)
            for each in ET.parse(place / "report.xml").iter("testcase")  # noqa: S314  # it is pytest's own
        }
        assert names == {("keyturn", "I14.1"): 0, ("keyturn", "I19.1"): 1}
        again = ran(place, *system, "--lf", "-x", "-v", cache=True)
        assert "keyturn::I19.1 FAILED" in again.stdout
        assert "1 failed" in again.stdout
        assert "passed" not in again.stdout


class TestWorkers:
    """With pytest-xdist the run is made once, and the verdicts are the same."""

    @pytest.mark.parametrize("dist", ["load", "loadgroup"])
    def test_it_is_run_once(self, place: Path, dist: str) -> None:
        """However the tests are spread, one process makes one store."""
        done = ran(place, "--keyturn", "python:stores:Counted", *EVERY, "-n", "2", "--dist", dist, "-q")
        assert done.returncode == 0, done.stdout
        assert f"{len(REQUIREMENTS) + 1} passed" in done.stdout
        assert len((place / "made").read_text("utf-8").split()) == 1

    def test_a_failure_is_told_wherever_it_is_shown(self, place: Path) -> None:
        """A worker that only reads the results shows the story all the same."""
        system = ("--keyturn", "mutant:stranger-answers", *SCENARIOS)
        done = ran(place, *system, "-n", "2", "-k", "I19.1 or I14 or I13", "-q")
        assert done.returncode == 1
        assert "1 failed" in done.stdout
        assert "admissible" in done.stdout


class TestOptions:
    """What cannot be used is a usage error, all of it at once; the lists excuse what they name."""

    def test_all_problems_at_once(self, place: Path) -> None:
        """Exit 4 before anything is collected, and no traceback."""
        (place / "known.toml").write_text('[[known]]\nrequirement = "I0"\nreason = ""\n', "utf-8")
        wrong = ("--keyturn-profile", "fast", "--keyturn-seed", "-1", "--keyturn-time-limit", "soon")
        more = ("--keyturn-requirement", "I99", "--keyturn-known-failing", "known.toml", "--keyturn-flaky", ".")
        done = ran(place, "--keyturn", "python:stores:Counted", *wrong, *more, "keyturn::I0.0")
        assert done.returncode == 4
        said = done.stdout + done.stderr
        for each in (
            "'fast' is none",
            "'-1' is no seed",
            "'soon' is no time",
            "'I99' is no",
            "'I0' is no",
            "is a folder",
        ):
            assert each in said, each
        assert "'keyturn::I0.0': there is no such test" in said
        assert "Traceback" not in said
        assert not (place / "made").exists()

    def test_known_and_flaky(self, place: Path) -> None:
        """They are expected failures; another requirement that is known and passes is a failure."""
        (place / "known.toml").write_text(
            "".join(f'[[known]]\nrequirement = "{each}"\nreason = "since May"\n' for each in ("I19.1", "L2")), "utf-8"
        )
        (place / "flaky.toml").write_text('[[flaky]]\nrequirement = "I19.1"\nreason = "a race"\n', "utf-8")
        system = ("--keyturn", "mutant:stranger-answers", *SCENARIOS, "-k", "I19.1 or L2 or L4", "-rx")
        known = ran(place, *system, "--keyturn-known-failing", "known.toml")
        assert known.returncode == 1
        assert "XFAIL keyturn::I19.1 - known to fail: since May" in known.stdout
        assert "FAILED keyturn::L2" in known.stdout or "L2: it is a known failure, and it passed" in known.stdout
        flaky = ran(place, *system, "--keyturn-flaky", "flaky.toml")
        assert flaky.returncode == 0, flaky.stdout
        assert "XFAIL keyturn::I19.1 - flaky, and it failed: a race" in flaky.stdout

    def test_a_breakdown_fails_the_run_as_a_whole(self, place: Path) -> None:
        """Also when every requirement has passed before."""
        done = ran(place, "--keyturn", "python:stores:Crashes", "-q")
        assert done.returncode == 1
        assert "FAILED keyturn::run" in done.stdout
        assert "out of order" in done.stdout


def test_coverage_of_the_systems_own_package(tmp_path: Path) -> None:
    """`pytest --cov` counts what the run executes of it, and what importing it executes."""
    package = tmp_path / "theirs"
    package.mkdir()
    (package / "__init__.py").write_text("NAME = 'theirs'\n", "utf-8")
    (package / "store.py").write_text(
        "from keyturn.store import ReferenceStore\n\n\n"
        "class Store(ReferenceStore):\n"
        "    def perform(self, operation):\n"
        "        return super().perform(operation)\n\n"
        "    def never(self):\n"
        "        return 1\n",
        "utf-8",
    )
    for workers in ((), ("-n", "2")):
        arguments = ("--cov=theirs", "--cov-report=term-missing", "--keyturn", "python:theirs.store:Store")
        done = ran(tmp_path, *arguments, *SCENARIOS, "-k", "I14.1", "-q", *workers)
        assert done.returncode == 0, done.stdout + done.stderr
        lines = {each.split()[0]: each.split()[1:] for each in done.stdout.splitlines() if each.startswith("theirs")}
        assert lines["theirs/__init__.py"] == ["1", "0", "100%"]
        assert lines["theirs/store.py"] == ["6", "1", "83%", "9"]
