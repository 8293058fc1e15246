"""Small programs that behave and misbehave as systems, and what is left of them afterwards."""

import os
import subprocess
import time
from collections.abc import Callable

import pytest

from keyturn.values import Json
from keyturn_testing.systems.base import Answered, Breakdown, System
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.systems.stdio import StdioSystem

CASE: dict[str, Json] = {"account": "ann", "workflow": "trip", "case": "c1"}
SOON = 0.4

PRELUDE = """
import json, os, signal, subprocess, sys, time
data = os.environ["KEYTURN_DATA"]
with open(os.path.join(data, "pids"), "a") as pids:
    pids.write(f"{os.getpid()}\\n")
def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit()
def say(text):
    sys.stdout.buffer.write(text if isinstance(text, bytes) else text.encode())
    sys.stdout.flush()
def answer(**body):
    say(json.dumps({"jsonrpc": "2.0", "id": read()["id"], **body}) + "\\n")
def grandchild():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(os.path.join(data, "grandchild"), "w") as pid:
        pid.write(str(child.pid))
"""
# A system that answers everything with its pid.
STEADY = "while True: answer(result={'pid': os.getpid()})"

OpenProgram = Callable[..., StdioSystem]
OpenObject = Callable[..., InProcessSystem]


def left_of(groups: list[str]) -> list[str]:
    """The groups in which something still runs; a zombie only waits for its parent, which may be anybody."""
    return [group for group in groups if is_there(group) and "".join(states(1, group)).strip("Z")]


def is_there(group: str) -> bool:
    """Whether a process group exists, with zombies or without."""
    try:
        os.killpg(int(group), 0)
    except OSError:
        return False
    return True


def states(column: int, value: str) -> list[str]:
    """The first letter of the state of each process with this value in its row of pid, group and state."""
    command = ["ps", "-A", "-o", "pid=,pgid=,stat="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [row[2][0] for row in rows if row[column] == value]


def runs(pid: str) -> bool:
    """Whether a process is still there, and no zombie."""
    return bool("".join(states(0, pid)).strip("Z"))


def impatient(system: StdioSystem) -> StdioSystem:
    """The system after one answer, for which it has all the time that a busy machine needs, with a short limit."""
    assert isinstance(system.call("describe", {}), Answered)
    system._time_limit = SOON
    return system


def breakdown_of(system: System, params: dict[str, Json] = CASE, *, seconds: float = 10.0) -> Breakdown:
    """The breakdown that opening a case ends in, which must come within the seconds."""
    began = time.monotonic()
    with pytest.raises(Breakdown) as caught:
        system.call("case.open", params)
    assert time.monotonic() - began < seconds
    assert caught.value.message.isascii()
    assert caught.value.message.isprintable()
    assert len(caught.value.message) < 800
    return caught.value
