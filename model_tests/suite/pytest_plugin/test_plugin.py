"""`pytest --keyturn SYSTEM`, in a real pytest of its own: one test a requirement, selectable, with reasons."""

import subprocess
import sys
from pathlib import Path

from keyturn_specs.catalogue import REQUIREMENTS


def ran(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run pytest in an empty folder."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_one_test_a_requirement_passes_on_the_reference(tmp_path: Path) -> None:
    """The reference passes one test for each requirement."""
    done = ran(tmp_path, "--keyturn", "reference", "-q")
    assert done.returncode == 0, done.stdout
    assert f"{len(REQUIREMENTS)} passed" in done.stdout


def test_a_requirement_can_be_selected(tmp_path: Path) -> None:
    """`-k` selects by the id."""
    done = ran(tmp_path, "--keyturn", "mutant:stranger-answers", "-k", "I14 or I13", "-q")
    assert done.returncode == 0, done.stdout
    chosen = [each for each in REQUIREMENTS if "I14" in each.id or "I13" in each.id]
    assert f"{len(chosen)} passed" in done.stdout


def test_a_failure_tells_its_story(tmp_path: Path) -> None:
    """A failing requirement shows the sentence and the steps, and no traceback."""
    done = ran(tmp_path, "--keyturn", "mutant:stranger-answers", "-k", "I19.1", "-q")
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
