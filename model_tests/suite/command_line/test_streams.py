"""Terminals, pipes and signals: what the command writes fits where it goes, and it ends when it is asked to."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .conftest import COMMAND, ONCE, SMALL, Keyturn, environment


def wait_for(file: Path, process: "subprocess.Popen[str]") -> str:
    """Wait until a file has something in it, and give it."""
    deadline = time.monotonic() + 30
    while not (file.exists() and file.read_text(encoding="utf-8")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_being_asked_to_end_while_a_call_hangs(place: Path, number: signal.Signals) -> None:
    """A run ends at once with what it has; exit 2, no traceback, no child and no folder left behind."""
    system = f"stdio:{sys.executable} faulty_stores.py"
    process = subprocess.Popen(
        [*COMMAND, "check", system, "--format", "json", "--time-limit", "600"],
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    child = int(wait_for(place / "hanging", process))
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 2
    report = json.loads(out)
    assert report["interrupted"] is True
    assert report["verdict"] == "unjudged"
    assert any(each["exercised"] for each in report["requirements"])
    assert "Traceback" not in err
    assert "keyturn: interrupted" in err
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
    assert not list((place / "temporary").iterdir())


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("check", "reference", *ONCE), 0),
        (("check", "python:faulty_stores:PaysTwice", *ONCE, "--format", "json"), 1),
        (("list", "scenarios"), 0),
        (("--help",), 0),
    ],
    ids=["check", "json", "list", "help"],
)
def test_a_reader_who_goes_away(place: Path, arguments: tuple[str, ...], code: int) -> None:
    """As in `| head -1`: no traceback, no complaint, and the verdict is still the exit code."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as nobody:
        ended = subprocess.run(
            [*COMMAND, *arguments],
            cwd=place,
            env=environment(place),
            stdout=nobody,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (code, b"")


def test_a_disk_that_is_full(place: Path) -> None:
    """A report that cannot be written is no verdict."""
    if not Path("/dev/full").exists():
        pytest.fail("this test needs /dev/full")
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [*COMMAND, "explain", "I14.1"],
            cwd=place,
            env=environment(place),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 2
    assert b"No space left" in ended.stderr
    assert b"bug" not in ended.stderr


def on_terminal(place: Path, *arguments: str, **variables: str) -> str:
    """Run the command on a terminal of 60 columns, and give everything that it writes there."""
    ours, theirs = pty.openpty()
    env = environment(place, TERM="xterm-256color", COLUMNS="60", **variables)
    process = subprocess.Popen([*COMMAND, *arguments], cwd=place, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            chunk = os.read(ours, 65_536)
        except OSError:  # Linux says so at the end of a terminal
            break
        if not chunk:
            break
        written += chunk
    os.close(ours)
    assert process.wait(20) == 0
    return written.decode()


def test_a_terminal_has_colours_and_a_bar(place: Path) -> None:
    """On a terminal there are colours and a line that moves."""
    written = on_terminal(place, "check", "reference", *SMALL[:-1])
    assert "\x1b[32mpassed" in written
    assert "2/2 examples" in written


def test_no_color(place: Path) -> None:
    """With NO_COLOR there is no escape sequence on the same terminal."""
    assert "\x1b" not in on_terminal(place, "explain", "I14.1", NO_COLOR="1")


def test_a_narrow_terminal(keyturn: Keyturn) -> None:
    """With 40 columns no line is longer, save for the one that is to be copied."""
    lines = keyturn("check", "python:faulty_stores:PaysTwice", *ONCE, env={"COLUMNS": "40"}).stdout.splitlines()
    assert lines
    assert all(len(each) <= 40 for each in lines if "keyturn replay" not in each)


def test_an_encoding_that_has_only_ascii(keyturn: Keyturn) -> None:
    """Arrows and dots are spelled where the encoding has none."""
    narrow = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    written = keyturn("check", "python:faulty_stores:PaysTwice", *ONCE, env=narrow).stdout
    assert written.isascii()
    assert "-> accepted: command 1" in written


def test_progress_in_a_pipe(keyturn: Keyturn) -> None:
    """Where nobody watches, a run says how far it is a handful of times."""
    lines = keyturn("check", "reference", *SMALL[:-1]).stderr.splitlines()
    assert 1 <= len(lines) <= 6
    assert all(each.startswith("keyturn: ") for each in lines)
