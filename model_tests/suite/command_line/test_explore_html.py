"""`keyturn explore --html`: the page is written beside the report, whole or not at all, and is as large as a page may be."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from keyturn_testing.commands import explore
from keyturn_testing.reports.graph_page import MOST_STATES

from .conftest import Keyturn

SMALL = ("--cards", "1", "--no-faults")


def values(path: Path) -> dict[str, Any]:
    """What a page knows."""
    found = re.search(r'<script type="application/json" id="values">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    assert found is not None
    read = json.loads(found[1])
    assert isinstance(read, dict)
    return read


class TestWriting:
    """The page and the report are both of the same exploration."""

    def test_with_a_report_for_people(self, keyturn: Keyturn, place: Path) -> None:
        """Every state, every expanded one with its steps, and the verdicts are in the page; nothing else is written."""
        plain = keyturn("explore", *SMALL)
        done = keyturn("explore", *SMALL, "--html", "graph.html")
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")
        page = values(place / "graph.html")
        assert (len(page["states"]), len(page["steps"]), len(page["properties"])) == (28, 28, 17)
        assert page["about"] == "1 card, 1 case, 1 account, 1 command a card, deadlines"
        assert [each.name for each in place.iterdir() if each.suffix == ".html" or "graph" in each.name] == [
            "graph.html"
        ]

    def test_with_a_report_for_programs(self, keyturn: Keyturn, place: Path) -> None:
        """Standard output is JSON and nothing else."""
        done = keyturn("explore", *SMALL, "--html", "graph.html", "--format", "json", "--no-symmetry")
        assert json.loads(done.stdout)["states"] == len(values(place / "graph.html")["states"]) == 28

    def test_the_same_twice(self, keyturn: Keyturn, place: Path) -> None:
        """The same bounds give the same bytes, and a page takes the place of the one before."""
        keyturn("explore", *SMALL, "--html", "graph.html")
        first = (place / "graph.html").read_bytes()
        keyturn("explore", *SMALL, "--html", "graph.html")
        assert (place / "graph.html").read_bytes() == first

    def test_a_part(self, keyturn: Keyturn, place: Path) -> None:
        """An exploration that ended early is a page of what was found, which says why it ended."""
        done = keyturn("explore", *SMALL, "--depth", "3", "--html", "graph.html")
        page = values(place / "graph.html")
        assert (done.returncode, page["stopped"]) == (2, "the bound of 3 steps")
        assert len(page["steps"]) < len(page["states"])

    def test_it_loads_nothing(self, keyturn: Keyturn, place: Path) -> None:
        """Its policy forbids it, and there is no address in it but names of XML."""
        keyturn("explore", *SMALL, "--html", "graph.html")
        text = (place / "graph.html").read_text("utf-8")
        assert "default-src 'none'" in text
        assert "unsafe" not in text
        assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
        assert "innerHTML" not in text


class TestRefused:
    """What cannot be written is said, with exit code 2."""

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--html", "no/such/graph.html"), "the folder 'no/such' is not there"),
            (("--html", "temporary"), "'temporary' is a folder"),
            (("--html", "graph.html", "--states", str(MOST_STATES + 1)), "a page holds up to 2000 states"),
        ],
    )
    def test_before_anything_is_explored(self, keyturn: Keyturn, arguments: tuple[str, ...], said: str) -> None:
        """A wrong place and a page that is too large are known at once."""
        done = keyturn("explore", "--cards", "4", "--cases", "4", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_full_disk(self, keyturn: Keyturn) -> None:
        """What was found is reported all the same."""
        done = keyturn("explore", *SMALL, "--html", "/dev/full")
        assert done.returncode == 2
        assert done.stdout.endswith("holds: every state was visited (exit 0)\n")
        assert "the page could not be written to /dev/full: No space left on device" in done.stderr

    def test_too_many_states(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        """It is noticed as soon as there are more than a page holds; nothing is written, and it says what can be done."""
        from keyturn_testing.main import main

        monkeypatch.setattr("keyturn_testing.reports.graph_page.MOST_STATES", 20)
        page = tmp_path / "graph.html"
        assert main(["explore", *SMALL, "--html", str(page)]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "no page was written" in said.err
        assert "--states 20" in said.err
        assert not page.exists()
        assert main(["explore", *SMALL, "--states", "20", "--html", str(page)]) == 2
        assert page.exists()

    def test_nothing_is_imported_for_it(self) -> None:
        """The command itself is as quick to load as the others."""
        assert not any(name in vars(explore) for name in ("graph_page", "recording_of", "Recording"))
