"""The other commands: what there is, what it means, and help with an example for everything."""

import json
import sys
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from keyturn_testing.commands.options import PROFILE_NAMES
from keyturn_testing.commands.serving import MAKERS
from keyturn_testing.main import keyturn as command
from keyturn_testing.record import PROFILES
from keyturn_testing.systems.adapters import ADAPTERS

from .conftest import SMALL, Keyturn


def ran(*arguments: str) -> tuple[int, str]:
    """Run the command in this process; give its exit code and everything that it wrote."""
    ended = CliRunner().invoke(command, list(arguments))
    return ended.exit_code, ended.output


@pytest.mark.parametrize("words", ["", *command.commands])
def test_help_shows_an_example(words: str) -> None:
    """Every command's help ends with an example that names it."""
    code, written = ran(*words.split(), "--help")
    assert code == 0
    _, found, examples = written.partition("Example")
    assert found
    assert f"keyturn {words}" in examples


def test_names_that_are_written_twice() -> None:
    """Names that help and completion know without importing the harness are the harness's."""
    assert tuple(PROFILES) == PROFILE_NAMES
    assert MAKERS.keys() <= ADAPTERS.keys()


@pytest.mark.parametrize("things", ["requirements", "scenarios", "systems", "capabilities", "mutants"])
def test_everything_can_be_listed_and_explained(things: str) -> None:
    """Every list is there for people and for programs, and what it names can be explained."""
    code, written = ran("list", things)
    listed = json.loads(ran("list", things, "--format", "json")[1])
    assert code == 0
    assert len(listed) >= 4
    for each in listed:
        name = each.get("id") or each["name"]
        assert name in written
        if things != "systems":
            code, explained = ran("explain", name)
            assert code == 0
            assert explained.startswith(name)


def test_a_requirement_explained() -> None:
    """A requirement is explained with its reason, its source, its judge, its witnesses and its mutants."""
    written = ran("explain", "i14.1")[1]
    for part in ("why", "source", "needs", "judged", "a-double-click", "double-click-pays-twice"):
        assert part in written


MISTAKES = {
    "explain I14.11": "Did you mean 'I14.1'",
    "explain card.respnd": "Did you mean 'card.respond'",
    "check reference --profil quick": "Did you mean '--profile'?",
    "check reference --requirement I14.99": "Did you mean 'I14.9'",
    "check reference --seed -1": "is no seed",
    "check reference --time-limit nan": "is no time limit",
    "check reference --output no/such/folder/report.json": "make it first",
    "check": "Missing argument 'SYSTEM'",
    "list things": "'things' is not one of",
    "serve reference": "--stdio or --http",
    "serve reference --stdio --port 1": "--host and --port are for --http",
    "serve reference --http --port 65536": "is not in the range",
    "serve reference --http --host 0.0.0.0": "put a bearer token into KEYTURN_TOKEN",
    "smoke http://127.0.0.1:1/rpc": "cannot be reached: nobody listens there",
    "smoke http://ann:secret@127.0.0.1/": "a user and a password in a URL",
    "check htp://127.0.0.1:8000/": "did you mean `http`?",
    "serve stdio:cat --stdio": "cannot be served",
    "serve mutant:double-clik-pays-twice --stdio": "Did you mean 'double-click-pays-twice'",
    "replay nowhere.json": "does not exist",
}


@pytest.mark.parametrize("arguments", list(MISTAKES))
def test_a_mistake(arguments: str) -> None:
    """A mistake is answered with what it is and what was meant: exit 2."""
    code, written = ran(*arguments.split())
    assert code == 2
    assert MISTAKES[arguments] in written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("steps:", "cannot be read"),
        ('{"steps": []}', "it has no steps"),
        ('{"steps": [{"calls": [{"operation": "card.rspond"}]}]}', "there is no operation 'card.rspond'"),
        (
            '{"steps": [{"calls": [{"operation": "metrics"}], "kill": true}]}',
            "only `stdio:` and `served:` have one to kill",
        ),
        (
            '{"steps": [{"calls": [{"operation": "metrics"}, {"operation": "metrics"}], "kill": true}]}',
            "one call alone where the system is killed",
        ),
        ('{"steps": [{"calls": [{"operation": "restart"}], "kill": true}]}', "a restart is a kill by itself"),
        ('{"steps": [{"calls": [{"operation": "case.open"}]}]}', "'account' is missing"),
    ],
    ids=[
        "no JSON",
        "no steps",
        "an unknown operation",
        "a kill",
        "a kill of several",
        "a kill of a restart",
        "no params",
    ],
)
def test_a_trace_that_cannot_be_replayed(tmp_path: Path, text: str, said: str) -> None:
    """What is wrong with a trace is the trace's, and not the system's: exit 2."""
    trace = tmp_path / "trace.json"
    trace.write_text(text, encoding="utf-8")
    code, written = ran("replay", str(trace))
    assert code == 2
    assert said in written


def test_the_version(keyturn: Keyturn) -> None:
    """`--version` is the name and the version, and nothing else."""
    assert keyturn("--version").stdout == "keyturn 0.1.0\n"


def test_completion() -> None:
    """The script of each shell asks the command, which completes systems and names."""
    for shell in ("bash", "zsh", "fish"):
        code, written = ran("completion", shell)
        assert code == 0
        assert "_KEYTURN_COMPLETE" in written


def test_completion_of_a_system(keyturn: Keyturn) -> None:
    """A shell that completes `keyturn check mutant:double` is told the mutants."""
    asked = {"_KEYTURN_COMPLETE": "bash_complete", "COMP_WORDS": "keyturn check mutant:double", "COMP_CWORD": "2"}
    assert "mutant:double-click-pays-twice" in keyturn(env=asked).stdout


def test_what_is_served_can_be_asked(keyturn: Keyturn) -> None:
    """A store that is served is fit to be asked over standard input and output."""
    served = f"stdio:{sys.executable} -m keyturn_testing.main serve"
    ended = keyturn("smoke", f"{served} sqlite --stdio")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("fit: sqlite")


RESTARTED = {
    "steps": [
        {"calls": [{"operation": "case.open", "params": {"account": "acme", "workflow": "trip", "case": "case-1"}}]},
        {"calls": [{"operation": "restart", "params": {}}]},
        {"calls": [{"operation": "case.open", "params": {"account": "acme", "workflow": "trip", "case": "case-1"}}]},
    ]
}


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace with a restart, as a file."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(RESTARTED), "utf-8")
    return str(path)


def test_a_store_on_a_server_is_served_and_gone_afterwards(keyturn: Keyturn, trace: str, postgres: str) -> None:
    """A restart, as the suite makes it, finds the same schema by the folder of the run; the end of the run drops it."""
    served = f"stdio:{sys.executable} -m keyturn_testing.main serve 'postgres:{postgres}' --stdio"
    ended = keyturn("replay", trace, served)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "holds" in ended.stdout
    with psycopg.connect(postgres) as server:
        assert server.execute("SELECT 1 FROM pg_namespace WHERE nspname LIKE 'keyturn%'").fetchall() == []


def test_no_password_is_shown(keyturn: Keyturn, trace: str, postgres: str) -> None:
    """Not in a report, nor in what is said of what cannot be asked or served: the lines can be given to others."""
    secret = "s3cret"
    system = f"postgres:{postgres.replace('postgres@', f'postgres:{secret}@')}"
    asked = [keyturn("check", system, *SMALL, "--engine", "stateful"), keyturn("replay", trace, system)]
    assert "as postgres:postgresql://postgres@/" in asked[0].stdout
    assert [each.returncode for each in asked] == [2, 0]
    nowhere = f"postgres:postgresql://anna:{secret}@127.0.0.1:1/cards"
    refused = [keyturn("check", nowhere), keyturn("serve", nowhere, "--stdio")]
    refused.append(keyturn("serve", nowhere.removeprefix("postgres:"), "--stdio"))
    assert [each.returncode for each in refused] == [2] * 3
    said = "".join(f"{each.stdout}{each.stderr}" for each in (*asked, *refused))
    assert "postgresql://anna@127.0.0.1:1/cards" in said
    assert secret not in said
    assert "Traceback" not in said
