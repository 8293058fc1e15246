"""Programs, objects and servers as systems, opened for a test and closed after it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from keyturn_testing.systems.http import HttpSystem
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.systems.stdio import StdioSystem

from .programs import PRELUDE, OpenObject, OpenProgram, left_of
from .servers import Open, Script, serving


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The folder that the system finds in KEYTURN_DATA."""
    return tmp_path / "data"


@pytest.fixture
def open_program(tmp_path: Path, data: Path) -> Iterator[OpenProgram]:
    """Opens a small Python program as a system; in the end it is closed, and nothing of its group may be left."""
    opened: list[StdioSystem] = []
    program = tmp_path / "a program.py"

    def start(body: str, *arguments: str) -> StdioSystem:
        program.write_text(PRELUDE + body, encoding="utf-8")
        command = [sys.executable, "-I", "-S", str(program), *arguments]
        opened.append(StdioSystem(command, data, time_limit=20.0))
        return opened[-1]

    yield start
    for each in opened:
        each.close()
    pids = data / "pids"
    assert not left_of(pids.read_text().split() if pids.exists() else [])


@pytest.fixture
def open_object() -> Iterator[OpenObject]:
    """Opens systems for objects whose `case_open` does what the test says, and closes them."""
    opened: list[InProcessSystem] = []

    def make(answer: Callable[..., object], *, time_limit: float = 5.0) -> InProcessSystem:
        holder = type("Store", (), {"case_open": lambda _, **params: answer(**params)})
        opened.append(InProcessSystem(holder, time_limit=time_limit))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture
def open_server() -> Iterator[Open]:
    """Opens a system on a server that follows scripts, with a patience that is enough for a busy machine or short."""
    with ExitStack() as stack:

        def start(*scripts: Script, time_limit: float = 10.0, token: str | None = None) -> HttpSystem:
            server = stack.enter_context(serving(*scripts))
            system = HttpSystem(server.url, time_limit=time_limit, token=token)
            stack.callback(system.close)
            return system

        yield start
