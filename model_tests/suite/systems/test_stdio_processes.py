"""The process behind a system: however it starts, falls silent or ends, it is judged in time, and nothing is left."""

import gc
import os
import shlex
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keyturn_testing.systems import stdio
from keyturn_testing.systems.base import Answered, Breakdown
from keyturn_testing.systems.stdio import StdioSystem

from .programs import CASE, PRELUDE, STEADY, OpenProgram, breakdown_of, impatient, left_of, runs


class TestTime:
    """A call has one deadline, whatever the process does meanwhile."""

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("time.sleep(600)", "no answer to case.open within 0.4 s"),
            ("say('{\"jsonrpc\": '); time.sleep(600)", "it had written half a line: '{\"jsonrpc\": '"),
            ("signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)", "no answer"),
            ("while True: say('x'); time.sleep(0.01)", "no answer"),
            ("while True: sys.stderr.write('x' * 10000)", "no answer"),
            ("grandchild(); time.sleep(600)", "no answer"),
        ],
        ids=["nothing", "half a line", "ignores SIGTERM", "drips", "floods its log", "has a child"],
    )
    def test_silence_is_a_hang(self, open_program: OpenProgram, data: Path, body: str, said: str) -> None:
        """No answer in time is a hang, and the whole group is killed at once."""
        system = impatient(open_program("answer(result=1)\n" + body))
        breakdown = breakdown_of(system, seconds=6)
        assert breakdown.kind == "hung"
        assert said in breakdown.message
        assert not left_of((data / "pids").read_text().split())
        assert len(breakdown.log) <= 65_536

    def test_a_system_that_never_reads(self, open_program: OpenProgram) -> None:
        """A request that the pipe cannot hold does not block, and the message says that it was not read."""
        system = impatient(open_program("answer(result=1); time.sleep(600)"))
        breakdown = breakdown_of(system, {"x": "y" * 1_000_000}, seconds=6)
        assert (breakdown.kind, "did not read the whole request" in breakdown.message) == ("hung", True)

    def test_a_system_that_closes_its_input(self, open_program: OpenProgram) -> None:
        """A process that cannot be asked any more is not waited for until the deadline."""
        system = open_program(
            "request = read(); os.close(0); say(json.dumps({**request, 'result': 1}) + '\\n'); time.sleep(600)"
        )
        assert system.call("case.open", CASE) == Answered(1)
        breakdown = breakdown_of(system)
        assert (breakdown.kind, "closed its standard input" in breakdown.message) == ("crashed", True)


class TestCrash:
    """A process that ends without an answer has crashed, and how it ended is said."""

    @pytest.mark.parametrize(
        ("body", "said"),
        [
            ("read(); sys.exit(3)", "it exited with status 3 before it answered case.open"),
            ("read(); os.kill(os.getpid(), signal.SIGSEGV)", "it was ended by SIGSEGV before it answered case.open"),
            (
                "read(); say('{\"jsonrpc'); sys.exit(0)",
                "status 0 before it answered case.open; it had written half a line",
            ),
            ("read(); os.close(1); os.close(2); time.sleep(600)", "it closed its standard output"),
        ],
        ids=["exit", "signal", "half a line", "closed output"],
    )
    def test_how_it_ended_is_said(self, open_program: OpenProgram, body: str, said: str) -> None:
        """The status or the signal is named, and what was half written."""
        system = open_program("answer(result=1); " + body)
        assert system.call("case.open", CASE) == Answered(1)
        breakdown = breakdown_of(system)
        assert breakdown.kind == "crashed"
        assert said in breakdown.message

    def test_a_child_that_holds_the_pipes_hides_nothing(self, open_program: OpenProgram) -> None:
        """When the process has ended and only what it started keeps the pipes open, that is a crash too."""
        system = impatient(open_program("grandchild(); answer(result=1); os._exit(4)"))
        breakdown = breakdown_of(system)
        assert (breakdown.kind, "exited with status 4" in breakdown.message) == ("crashed", True)

    def test_the_end_of_its_log_is_kept(self, open_program: OpenProgram) -> None:
        """The last of what it wrote to its log comes with the breakdown, bounded and legible."""
        body = "answer(result=1); read(); sys.stderr.write('a' * 200_000 + '\\x1b[0m\\nlast words\\n'); sys.exit(1)"
        system = open_program(body)
        system.call("case.open", CASE)
        breakdown = breakdown_of(system)
        assert breakdown.log.endswith("aaa\\x1b[0m\nlast words\n")
        assert len(breakdown.log) <= 66_000

    def test_an_end_before_any_answer_is_no_start(self, open_program: OpenProgram) -> None:
        """A command that ends at once has not started, and the message says how to find out why."""
        breakdown = breakdown_of(open_program("sys.stderr.write('no database'); sys.exit(5)"))
        assert breakdown.kind == "not_started"
        assert "exited with status 5" in breakdown.message
        assert "by hand" in breakdown.message
        assert breakdown.log == "no database"

    def test_after_a_breakdown_only_close_may_be_called(self, open_program: OpenProgram) -> None:
        """The suite's own mistake is not told as the system's."""
        system = open_program("sys.exit(5)")
        breakdown_of(system)
        with pytest.raises(RuntimeError, match="only `close`"):
            system.call("case.open", CASE)
        with pytest.raises(RuntimeError, match="only `close`"):
            system.restart()
        system.close()


class TestStart:
    """A command that cannot be started is nobody's crash, and the message says what to do."""

    @staticmethod
    def problem(command: str | list[str], data: Path, cwd: Path | None = None) -> str:
        """What is said of a command that does not start."""
        with pytest.raises(Breakdown) as caught:
            StdioSystem(command, data, cwd=cwd)
        assert caught.value.kind == "not_started"
        return caught.value.message

    def test_no_such_command(self, data: Path) -> None:
        """A command that is not there is told to be a path, or on PATH."""
        assert "./my-server" in self.problem("no-such-command-anywhere --test", data)

    def test_not_executable(self, data: Path, tmp_path: Path) -> None:
        """A file without the permission is told to get it, and a folder that it is none."""
        plain = tmp_path / "plain"
        plain.write_text("", encoding="utf-8")
        assert "chmod +x" in self.problem([str(plain)], data)
        assert "a file" in self.problem([str(tmp_path)], data)

    @pytest.mark.parametrize(("text", "said"), [("pass\n", "#!"), ("#!/no/such/interpreter\n", "interpreter")])
    def test_no_program(self, data: Path, tmp_path: Path, text: str, said: str) -> None:
        """A script without a first line, or with one that leads nowhere, is told about it."""
        script = tmp_path / "script"
        script.write_text(text, encoding="utf-8")
        script.chmod(stat.S_IRWXU)
        assert said in self.problem([str(script)], data)

    def test_no_command(self, data: Path) -> None:
        """Nothing, a quote without its end, and a NUL are no commands."""
        assert "there is no command" in self.problem("  ", data)
        assert "No closing quotation" in self.problem("echo 'a", data)
        assert "null byte" in self.problem(["a\0b"], data)

    def test_the_words_are_split_without_a_shell(self, data: Path, tmp_path: Path) -> None:
        """Quotes group words, and nothing is expanded or run."""
        program = tmp_path / "arguments.py"
        program.write_text(PRELUDE + "answer(result=sys.argv[1:])", encoding="utf-8")
        system = StdioSystem(f"{shlex.quote(sys.executable)} {program} 'a b' $HOME ; *", data)
        assert system.call("describe", {}) == Answered(["a b", "$HOME", ";", "*"])
        system.close()

    def test_where_it_runs(self, data: Path, tmp_path: Path) -> None:
        """It finds its data, what the caller sets, and a process group of its own, which Ctrl-C does not reach."""
        program = tmp_path / "where.py"
        values = "[data, os.environ['MORE'], os.getcwd(), os.getsid(0) == os.getpgrp() == os.getpid()]"
        program.write_text(f"{PRELUDE}answer(result={values})", encoding="utf-8")
        variables = {"MORE": "more", "KEYTURN_DATA": "elsewhere"}
        system = StdioSystem([sys.executable, str(program)], data, cwd=tmp_path, environment=variables)
        assert system.call("describe", {}) == Answered([str(data), "more", str(tmp_path.resolve()), True])
        system.close()


class TestRestart:
    """A restart is a kill without warning, and the same command on the same data."""

    def test_the_data_stays(self, open_program: OpenProgram) -> None:
        """What was written to the folder is found by another process."""
        body = "path = data + '/count'\nwhile True:\n request = read()\n open(path, 'a').write('x')\n"
        body += " say(json.dumps({**request, 'result': [open(path).read(), os.getpid()]}) + '\\n')"
        system = open_program(body)
        first = system.call("case.open", CASE)
        assert system.restart() == Answered({})
        second = system.call("case.open", CASE)
        assert isinstance(first, Answered)
        assert isinstance(second, Answered)
        assert (first.result[0], second.result[0]) == ("x", "xx")  # type: ignore[index]
        assert first.result[1] != second.result[1]  # type: ignore[index]

    def test_nothing_is_left_of_the_first_life(self, open_program: OpenProgram, data: Path) -> None:
        """Also a child that it started is gone when the second life begins, and no handler ran."""
        body = f"signal.signal(signal.SIGTERM, lambda *_: open(data + '/warned', 'w'))\ngrandchild()\n{STEADY}"
        system = open_program(body)
        system.call("case.open", CASE)
        grandchild = (data / "grandchild").read_text()
        assert runs(grandchild)
        system.restart()
        assert not runs(grandchild)
        assert not (data / "warned").exists()

    def test_an_end_after_a_restart_is_a_crash(self, open_program: OpenProgram) -> None:
        """A command that started once, and does not come up again on its data, has crashed."""
        system = open_program("if os.path.exists(data + '/old'): sys.exit(6)\nopen(data + '/old', 'w')\n" + STEADY)
        system.call("case.open", CASE)
        system.restart()
        breakdown = breakdown_of(system)
        assert (breakdown.kind, "exited with status 6" in breakdown.message) == ("crashed", True)

    def test_a_command_that_is_gone_does_not_start(self, data: Path, tmp_path: Path) -> None:
        """When the command cannot be started again, the restart breaks down."""
        script = tmp_path / "script"
        script.write_text(f"#!{sys.executable}\n{PRELUDE}{STEADY}", encoding="utf-8")
        script.chmod(stat.S_IRWXU)
        system = StdioSystem([str(script)], data)
        system.call("case.open", CASE)
        script.unlink()
        with pytest.raises(Breakdown) as caught:
            system.restart()
        assert caught.value.kind == "not_started"
        system.close()


class TestClose:
    """Closing asks first, waits two seconds, and leaves nothing behind."""

    def test_the_end_of_the_input_asks_it_to_end(
        self, open_program: OpenProgram, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A system that reads to the end can put its things away, and say more than the pipes hold."""
        monkeypatch.setattr(stdio, "_CLOSING_SECONDS", 30.0)
        body = "answer(result=1); sys.stdin.read(); say(b'x' * 200_000); sys.stderr.write('x' * 200_000)\n"
        system = open_program(body + "open(data + '/ended', 'w')")
        system.call("case.open", CASE)
        began = time.monotonic()
        system.close()
        assert (data / "ended").exists()
        assert time.monotonic() - began < 20
        system.close()

    def test_what_does_not_end_is_killed(
        self, open_program: OpenProgram, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process that ignores everything is gone with its child (after two seconds; here sooner)."""
        monkeypatch.setattr(stdio, "_CLOSING_SECONDS", 0.3)
        body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); grandchild(); answer(result=1); time.sleep(600)"
        system = open_program(body)
        system.call("case.open", CASE)
        began = time.monotonic()
        system.close()
        assert time.monotonic() - began < 6
        assert not runs((data / "grandchild").read_text())
        assert not left_of((data / "pids").read_text().split())

    def test_what_it_started_is_killed(self, open_program: OpenProgram, data: Path) -> None:
        """A child that outlives a process which ends in order is gone too."""
        system = open_program("grandchild(); answer(result=1); read()")
        system.call("case.open", CASE)
        system.close()
        assert not runs((data / "grandchild").read_text())

    def test_one_that_nobody_closes_is_killed(self, open_program: OpenProgram, data: Path) -> None:
        """A system that is forgotten is ended when its object is."""
        program = [sys.executable, "-c", PRELUDE + STEADY]
        system = StdioSystem(program, data)
        system.call("case.open", CASE)
        for pipe in system._child._pipes:  # type: ignore[union-attr]  # so that Python does not warn of them
            pipe.close()
        del system, pipe
        gc.collect()
        assert not left_of((data / "pids").read_text().split())

    def test_a_fork_of_the_suite_leaves_it_alone(self, open_program: OpenProgram) -> None:
        """The end of a process that was forked from the suite does not take the suite's systems with it."""
        system = open_program(STEADY)
        first = system.call("describe", {})
        fork = os.fork()
        if fork == 0:
            system._child._guard()  # type: ignore[union-attr]  # what the interpreter would do at its end
            os._exit(0)
        assert os.waitpid(fork, 0)[1] == 0
        assert system.call("describe", {}) == first

    def test_an_exit_of_the_suite_leaves_nothing(self, data: Path, tmp_path: Path) -> None:
        """A suite that ends without closing takes its systems with it."""
        suite = tmp_path / "suite.py"
        suite.write_text(
            "import sys\nfrom pathlib import Path\nfrom keyturn_testing.systems.stdio import StdioSystem\n"
            f"program = {PRELUDE + 'grandchild()' + chr(10) + STEADY!r}\n"
            f"system = StdioSystem([sys.executable, '-c', program], Path({str(data)!r}))\n"
            "system.call('describe', {})\nsys.exit(7)\n",
            encoding="utf-8",
        )
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        ended = subprocess.run([sys.executable, str(suite)], env=environment, check=False, capture_output=True)
        assert ended.returncode == 7
        assert not runs((data / "grandchild").read_text())
        assert not left_of((data / "pids").read_text().split())
