"""Small campaigns on each database: what ships holds, what checks and then acts is caught, and Ctrl-C ends them in order."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from campaign import main
from clicking import JUDGES
from crew import Broke, Orders, run_crew
from evidence import Evidence
from keyturn.capabilities import ALL_CLAIMS
from keyturn.evidence import NOTHING_COUNTED
from loading import NO_COMMIT
from places import RIGHT, WRONG

from ..sql.conftest import DATABASES

SCRIPT = Path(__file__).resolve().parents[2] / "campaigns" / "campaign.py"
PATIENCE = 60


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """Gives signals back what they meant before a campaign."""
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


@pytest.fixture(params=DATABASES)
def where(request: pytest.FixtureRequest) -> list[str]:
    """The options that say on which database, and on which server."""
    if request.param == "sqlite":
        return ["--on", "sqlite"]
    return ["--on", "postgresql", "--postgres", request.getfixturevalue("postgres")]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run a campaign of one report, and return its exit code and the report."""
    code = main([*arguments, "--format", "json"])
    (report,) = json.loads(capsys.readouterr().out)
    return code, report


def test_of_two_clicks_one_is_taken(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """I14.1: of forty double clicks from two processes none is doubled, none is lost, and they were double clicks."""
    code, report = run(capsys, "double-clicks", *where, "--store", "keyturn", "--pairs", "40", "--connections", "4")
    assert (code, report["verdict"], report["wrong"]) == (0, "holds", [])
    assert (report["pairs"], report["effects"], report["doubled"], report["lost"]) == (40, 40, 0, 0)
    assert report["outcomes"]["resolved"] == report["outcomes"]["replayed"] == 40
    assert report["overlapped"] >= 20


def test_a_store_that_checks_and_then_acts_is_caught(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The same clicks double on it; how many is chance, so that they are made again where none was."""
    asked = ("double-clicks", *where, "--store", "check-then-act", "--pairs", "10", "--connections", "2")
    reports = (run(capsys, *asked) for _ in range(5))
    code, report = next((code, each) for code, each in reports if each["doubled"])
    assert (code, report["verdict"]) == (0, "caught")
    assert report["effects"] == report["pairs"] + report["doubled"]


class TestJudging:
    """Figures that are not as they should be are wrong, each by itself."""

    NOTHING = Evidence(cases={}, cards={}, commands={}, ledger={}, effects={}, counters=NOTHING_COUNTED, told=[])
    GOOD: Mapping[str, int] = {
        "pairs": 40,
        "effects": 40,
        "doubled": 0,
        "lost": 0,
        "overlapped": 20,
        "one_ran_it_and_one_was_answered": 40,
    }

    def test_good_figures(self) -> None:
        """With every figure as it should be nothing is wrong."""
        assert JUDGES[RIGHT](self.GOOD, self.NOTHING) == []
        assert JUDGES[WRONG]({**self.GOOD, "doubled": 1}, self.NOTHING) == []

    @pytest.mark.parametrize(
        ("name", "value", "says"),
        [
            ("doubled", 1, "1 clicks were doubled"),
            ("lost", 2, "2 clicks were lost"),
            ("effects", 41, "40 pairs of clicks have 41 effects"),
            ("overlapped", 19, "only 19 of 40 pairs overlapped"),
            ("one_ran_it_and_one_was_answered", 39, "of 40 pairs, 39 were told"),
        ],
    )
    def test_one_figure_that_is_wrong(self, name: str, value: int, says: str) -> None:
        """It is said what is wrong."""
        (wrong,) = JUDGES[RIGHT]({**self.GOOD, name: value}, self.NOTHING)
        assert says in wrong

    def test_clicks_that_would_find_nothing(self) -> None:
        """Where nothing is doubled on the store that doubles, the clicks would find nothing on another one either."""
        (wrong,) = JUDGES[WRONG](self.GOOD, self.NOTHING)
        assert "would not find one elsewhere" in wrong


def test_a_few_seconds_of_load_pass_the_audit(where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Two processes with two connections each do everything at once, and everything is as it should be."""
    load = ("load", *where, "--processes", "2", "--connections", "2", "--minutes")
    # On a machine that is busy a few seconds may be too few for a commit, and the campaign says so.
    reports = (run(capsys, *load, minutes) for minutes in ("0.04", "0.2", "1"))
    code, report = next((code, each) for code, each in reports if NO_COMMIT not in each["wrong"])
    assert (code, report["verdict"], report["wrong"]) == (0, "holds", [])
    assert {"presented", "accepted", "resolved", "rejected", "case.edit"} <= set(report["outcomes"])
    assert report["effects"] > 0
    assert report["unknown"] == 0


def test_ctrl_c_ends_it_in_order(tmp_path: Path) -> None:
    """The workers end what they are doing, what they did is audited, and the report says that it was ended early."""
    command = [sys.executable, str(SCRIPT), "load", "--on", "sqlite", "--minutes", "5", "--processes", "1"]
    with subprocess.Popen(
        [*command, "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as campaign:
        try:
            await_cards(tmp_path)
            campaign.send_signal(signal.SIGINT)
            out, complaints = campaign.communicate(timeout=PATIENCE)
        finally:
            campaign.kill()
    (report,) = json.loads(out)
    assert (campaign.returncode, report["verdict"], report["wrong"]) == (2, "interrupted", [])
    assert report["cards"] > 0
    assert complaints == b""
    assert not list(tmp_path.glob("keyturn-campaign-*"))


def await_cards(folder: Path) -> None:
    """Wait until the workers of a campaign have presented something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for path in folder.glob("keyturn-campaign-*/cards.sqlite3"):
            with closing(sqlite3.connect(path)) as shell:
                if shell.execute("SELECT count(*) FROM interactions").fetchone()[0]:
                    return
        time.sleep(0.05)
    pytest.fail("nothing was ever presented")


def test_a_worker_that_breaks_ends_the_campaign(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nobody waits for it, and what went wrong is on standard error, once."""
    (tmp_path / "notes.txt").write_text("not a store", "utf-8")
    orders = Orders(
        job="load",
        place=tmp_path / "notes.txt",
        store=RIGHT,
        claims=ALL_CLAIMS,
        processes=1,
        connections=2,
        settings={},
    )
    with pytest.raises(Broke, match="1 of 1 workers broke"):
        run_crew(orders, lambda worker, line: None)
    assert capfd.readouterr().err.count("\nkeyturn_sql.database.NotOurs: ") == 1


def test_a_server_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is judged: exit code 2, and why."""
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
    assert main(["load", "--on", "postgresql", "--postgres", nowhere]) == 2
    assert "cannot be used as a Keyturn store" in capsys.readouterr().err
