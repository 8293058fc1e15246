"""Every developer command of Keyturn, for a machine that has only Python.

``python3 noxfile.py -s check`` works on a fresh checkout: run as a script, this file keeps an environment of its own in
``.nox/bootstrap``, installs nox there once, and hands over to it. With nox installed, ``nox -s check`` does the same.
``python3 noxfile.py --list`` names the sessions; what follows ``--`` goes to the tool that a session runs.

Exit codes: 0 when a session succeeds, 1 when it fails, 2 when nox itself could not be installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent
NOX_HOME = ROOT / ".nox"
NOX = "nox>=2026.10"
OLDEST = (3, 11)


# ---- The first run: make sure of nox, with the standard library only -------------------------------------------------

BOOTSTRAP = NOX_HOME / "bootstrap"
BOOTSTRAP_PYTHON = BOOTSTRAP / "bin" / "python"
# Written last, so an environment without it was interrupted; it says what the environment was made from.
BOOTSTRAP_STAMP = BOOTSTRAP / "made-from"


def hand_over(arguments: list[str]) -> NoReturn:
    """Replaces this process by nox, which it installs first where that was not done yet."""
    if sys.version_info < OLDEST:
        give_up(f"Keyturn needs Python 3.11 or newer, and this is {sys.version.split()[0]} ({sys.executable}).")
    try:
        ensure_nox()
    except OSError as error:
        give_up(f"could not prepare {BOOTSTRAP}: {error}. Make the checkout writable, then run the same command again.")
    except KeyboardInterrupt:
        give_up("interrupted; the next run starts over.")
    sys.stdout.flush()
    command = [str(BOOTSTRAP_PYTHON), "-m", "nox", "--noxfile", str(ROOT / "noxfile.py"), *arguments]
    os.execv(command[0], command)  # noqa: S606  # no shell is wanted: this process becomes nox


def ensure_nox() -> None:
    """Makes the environment unless a usable one is there; one process at a time, the others wait for it."""
    # Not on every platform, and only this function needs it.
    import fcntl  # noqa: PLC0415

    NOX_HOME.mkdir(exist_ok=True)
    # The system drops the lock when all who hold it have ended, however they end: this process, which closes it when it
    # becomes nox, and the commands that it runs, which go on writing when this process is killed.
    with (NOX_HOME / "bootstrap.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another process that is installing nox ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        made_from = f"{NOX}\nPython {sys.version}\nin {sys.base_prefix}\n"
        if not is_usable(made_from):
            make_environment(made_from, lock.fileno())


def is_usable(made_from: str) -> bool:
    """Tells whether the environment was finished, for this nox and this Python, and still runs."""
    try:
        if BOOTSTRAP_STAMP.read_text(encoding="utf-8") != made_from:
            return False
        answer = subprocess.run([BOOTSTRAP_PYTHON, "-c", "import nox.__main__"], capture_output=True, check=False)
    except (OSError, UnicodeDecodeError):
        return False
    return answer.returncode == 0


def make_environment(made_from: str, lock: int) -> None:
    """Makes the environment anew and installs nox, or ends this process with the reason."""
    say(f"installing nox into {BOOTSTRAP.relative_to(ROOT)} (once) ...")
    if BOOTSTRAP.is_dir() and not BOOTSTRAP.is_symlink():
        shutil.rmtree(BOOTSTRAP)
    else:
        BOOTSTRAP.unlink(missing_ok=True)
    run_or_give_up(
        [sys.executable, "-m", "venv", str(BOOTSTRAP)],
        "could not make an environment. Where Python is packaged in parts, install the part called python3-venv.",
        lock,
    )
    run_or_give_up(
        [str(BOOTSTRAP_PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "--retries", "2", NOX],
        "pip could not install nox, most often because no package index can be reached. Check the network, or "
        "name an index that can be reached (PIP_INDEX_URL=https://...), then run the same command again.",
        lock,
    )
    BOOTSTRAP_STAMP.write_text(made_from, encoding="utf-8")


def run_or_give_up(command: list[str], advice: str, lock: int) -> None:
    """Runs a command in silence; when it fails, shows the end of what it said and gives up with the advice."""
    answer = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=(lock,),
        check=False,
    )
    if answer.returncode:
        for line in answer.stdout.splitlines()[-6:]:
            print(f"    {line[:200]}", file=sys.stderr)
        give_up(advice)


def say(message: str) -> None:
    """Writes one line for the person who waits."""
    print(f"noxfile: {message}", file=sys.stderr, flush=True)


def give_up(message: str) -> NoReturn:
    """Ends this process with a message: nothing was judged."""
    say(message)
    raise SystemExit(2)


if __name__ == "__main__":
    hand_over(sys.argv[1:])


# ---- The sessions ----------------------------------------------------------------------------------------------------

import nox

SUITE = "model_tests/suite"
# What holds on every Python that Keyturn supports; the rest of the suite runs on the oldest.
PURE_SUITES = ("model_tests/suite/kernel", "model_tests/suite/specs")
# What is measured: these alone must reach every branch of the kernel, the stores and the specifications.
COVERED_SUITES = (*PURE_SUITES, "model_tests/suite/sql")
# What the pages that we write are tested in.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
IMPORT_PACKAGES = ("keyturn", "keyturn_sql", "keyturn_specs", "keyturn_testing")

# The same environments on every machine, whatever else is installed there.
nox.options.default_venv_backend = "virtualenv"


@nox.session(default=True)
def check(session: nox.Session) -> None:
    """Asks the SQLite store that ships whether every requirement holds; after ``--``, another system to ask."""
    session.install(".[check,postgres]")
    session.run("keyturn", "check", *(session.posargs or ["sqlite"]))


@nox.session(default=False, venv_backend="none")
def tests(session: nox.Session) -> None:
    """Tests the built wheel: all of it on the oldest Python under coverage, the pure parts on the others found here.

    What follows ``--`` goes to pytest, which then runs on the oldest Python only, and nothing is asked of the coverage.
    """
    ensure_program(session, BROWSERS, "chromium")
    interpreters = find_interpreters()
    (version, interpreter), *others = interpreters.items()
    if version != OLDEST:
        session.warn(f"The oldest Python found is {dotted(version)}; coverage is judged for {dotted(OLDEST)}.")
    python = make_python(session, interpreter, version)
    wheel = build_wheel(session, python)
    install_wheel(session, python, wheel)
    if session.posargs:
        run_python(session, python, "-m", "pytest", *session.posargs)
        return
    run_under_coverage(session, python)
    others_of_suite = [f"--ignore={each}" for each in COVERED_SUITES]
    run_python(session, python, "-m", "pytest", *in_parallel(), *others_of_suite, SUITE)
    for version, interpreter in others:
        python = make_python(session, interpreter, version)
        install_wheel(session, python, wheel)
        run_python(session, python, "-m", "pytest", *in_parallel(), *PURE_SUITES)
    session.log(f"Tested on Python {', '.join(map(dotted, interpreters))}.")


@nox.session(default=False)
def typing(session: nox.Session) -> None:
    """Type-checks the packages, their tests and this file with mypy, strictly."""
    session.install("--editable", ".[http]", *group("typing"))
    session.run("mypy", *session.posargs)


@nox.session(default=False)
def lint(session: nox.Session) -> None:
    """Looks for mistakes and for formatting that differs, with ruff; it changes nothing."""
    session.install(*group("lint"))
    session.run("ruff", "check", *(session.posargs or ["."]))
    session.run("ruff", "format", "--check", *(session.posargs or ["."]))


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Fails when a generated page is stale, then builds the site into ``docs/_build/html`` with warnings as errors."""
    session.install("--editable", ".[http,postgres]", *group("docs"))
    session.run("python", "-m", "keyturn_testing.pages", "--check")
    # The pages of modules that are gone would stay.
    shutil.rmtree(ROOT / "docs" / "api", ignore_errors=True)
    session.run("sphinx-build", "-W", "--keep-going", "--fresh-env", "-q", "-b", "html", "docs", "docs/_build/html")


@nox.session(default=False)
def mutants(session: nox.Session) -> None:
    """Holds every mutant to twenty seeds, where the tests take two, and makes every cell wrong once: each must be found."""
    session.install(".[http]", *group("tests"))
    every = {"KEYTURN_SEEDS": "20", "KEYTURN_CELLS": "all"}
    files = ("model_tests/suite/harness/test_believed.py", "model_tests/suite/harness/test_touring.py")
    session.run("pytest", *in_parallel(), "-q", *(session.posargs or files), env=every)


@nox.session(default=False)
def exploration(session: nox.Session) -> None:
    """Explores the largest world of cards whose states are pinned, with every fault: some minutes on one core."""
    session.install(".[http]", *group("tests"))
    every = {"KEYTURN_EXPLORE": "all"}
    session.run("pytest", "-q", "model_tests/suite/kernel/test_card_world.py", *session.posargs, env=every)


@nox.session(default=False)
def campaign(session: nox.Session) -> None:
    """Lets many processes loose on one store, or kills a server; after ``--``: ``load``, ``double-clicks`` or ``kills``."""
    session.install(".[check,http,postgres]", *group("server"))
    # After Ctrl-C it ends its workers and audits what they did, which takes longer than nox would wait.
    script = ("python", "model_tests/campaigns/campaign.py")
    session.run(*script, *(session.posargs or ["load"]), interrupt_timeout=300, terminate_timeout=60)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measures speed and prints tables; a number never fails it. SPIN and a C compiler are what one part is compared with."""
    session.install(".[http,postgres]", *group("server"))
    ensure_program(session, ("spin",), "spin")
    ensure_program(session, ("gcc",), "gcc", "libc6-dev")
    session.run("python", "model_tests/bench/run.py", *session.posargs)


# ---- What the sessions share -----------------------------------------------------------------------------------------


def group(name: str) -> tuple[str, ...]:
    """The requirements of one dependency group."""
    return nox.project.dependency_groups(nox.project.load_toml(ROOT / "pyproject.toml"), name)


def in_parallel() -> tuple[str, ...]:
    """The options by which pytest uses every core."""
    return ("-n", str(os.cpu_count() or 1))


def dotted(version: tuple[int, int]) -> str:
    """A version as people write it."""
    return ".".join(map(str, version))


def ensure_program(session: nox.Session, programs: tuple[str, ...], *packages: str) -> None:
    """Makes sure of a program that comes in Debian's packages: one of these names is on the PATH, or it is installed here.

    Where it cannot be, the session fails with the line that would install it.
    """
    if any(map(shutil.which, programs)):
        return
    install = ("apt-get", "install", "--yes", "--no-install-recommends", *packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        wanted = " or ".join(programs)
        session.error(
            f"{wanted} is needed, and is not on the PATH. On Debian this installs it: sudo {' '.join(install)}"
        )
    session.log(f"Installing {' '.join(packages)} (once)")
    for command in (("apt-get", "update"), install):
        session.run(*command, external=True, silent=True, env={"DEBIAN_FRONTEND": "noninteractive"})


def make_python(session: nox.Session, interpreter: str, version: tuple[int, int]) -> str:
    """Makes a fresh environment on one interpreter, and gives its Python.

    The environments of `tests` are made here and not by nox, because which interpreters there are is found by asking
    them: nox takes a list that stands in this file, and what is missing from the machine is an error to it in CI.
    """
    environment = NOX_HOME / f"tests-{dotted(version)}"
    session.log(f"Making {environment.relative_to(ROOT)} on {interpreter}")
    # virtualenv comes with nox.
    command = (sys.executable, "-m", "virtualenv", "--clear", "--quiet", "--python", interpreter, str(environment))
    session.run(*command, external=True, log=False)
    return str(environment / "bin" / "python")


def build_wheel(session: nox.Session, python: str) -> str:
    """Builds the wheel that every environment then installs, and gives its path."""
    wheels = NOX_HOME / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    run_python(session, python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT))
    [wheel] = wheels.glob("keyturn-*.whl")
    return str(wheel)


def install_wheel(session: nox.Session, python: str, wheel: str) -> None:
    """Installs the wheel and what the tests need, and makes sure that it is what will be imported."""
    run_python(session, python, "-m", "pip", "install", "--quiet", f"{wheel}[http]", *group("tests"))
    names = ", ".join(map(repr, IMPORT_PACKAGES))
    run_python(
        session,
        python,
        "-c",
        "import importlib.util as u, sys\n"
        f"found = {{name: getattr(u.find_spec(name), 'origin', None) for name in ({names},)}}\n"
        "outside = {n: p for n, p in found.items() if p is None or not p.startswith(sys.prefix)}\n"
        "sys.exit(f'These are not imported from the wheel: {outside}' if outside else 0)",
    )


def run_under_coverage(session: nox.Session, python: str) -> None:
    """Runs the measured suites under coverage, and fails below what pyproject.toml asks for.

    coverage starts pytest, because our plugin is an entry point: it is imported before pytest could start coverage.
    """
    data = NOX_HOME / "coverage"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir(parents=True)
    env = {"COVERAGE_FILE": str(data / "coverage")}
    run_python(session, python, "-m", "coverage", "run", "-m", "pytest", *in_parallel(), *COVERED_SUITES, env=env)
    run_python(session, python, "-m", "coverage", "combine", "--quiet", env=env)
    run_python(session, python, "-m", "coverage", "report", env=env)


def run_python(session: nox.Session, python: str, *arguments: str, env: dict[str, str] | None = None) -> None:
    """Runs an environment's Python with nothing of the checkout on its path (``-P``)."""
    env_of_run = {"PYTHONPATH": None, **(env or {})}
    session.run(python, "-P", *arguments, external=True, log=arguments[0] == "-m", env=env_of_run)


def find_interpreters() -> dict[tuple[int, int], str]:
    """Every Python that Keyturn supports and that runs on this machine, one for each version, oldest first.

    They are looked for on the PATH and among pyenv's, and each is asked: a shim may stand for nothing.
    """
    found = {sys.version_info[:2]: sys.executable}
    for candidate in interpreter_candidates():
        answer = ask_interpreter(candidate)
        if answer is not None and answer >= OLDEST:
            found.setdefault(answer, candidate)
    return dict(sorted(found.items()))


def interpreter_candidates() -> list[str]:
    """Files that are named like a Python 3, each once."""
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders.extend(sorted(pyenv.glob("versions/*/bin")))
    candidates: dict[Path, str] = {}
    for folder in folders:
        if folder.is_dir():
            for path in sorted(folder.iterdir()):
                if re.fullmatch(r"python3(\.\d+)?", path.name) and os.access(path, os.X_OK):
                    # Shims are one script under many names, so only links are followed, and names kept.
                    candidates.setdefault(path.resolve() if path.is_symlink() else path, str(path))
    return list(candidates.values())


def ask_interpreter(path: str) -> tuple[int, int] | None:
    """The version of an interpreter, or nothing when it does not run, is not CPython or is a pre-release."""
    question = "import json, sys; print(json.dumps([*sys.version_info, sys.implementation.name]))"
    try:
        answer = subprocess.run(
            [path, "-c", question], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=True
        )
        major, minor, _micro, level, _serial, name = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return (major, minor) if (level, name) == ("final", "cpython") else None
