"""Every guide does what it says: its commands run, its programs work, and its outputs are the real ones."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from . import guides

ON_A_SERVER = "docs/guide/stores.md"


@pytest.fixture
def decisions(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server with what the guide says that it has, for whoever libpq finds it by the environment."""
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("CREATE ROLE tester LOGIN PASSWORD 'for-the-guide'")
        server.execute("CREATE DATABASE decisions OWNER tester")
        monkeypatch.setenv("PGHOST", server.info.host)
        monkeypatch.setenv("PGPASSWORD", "for-the-guide")
        yield
        server.execute("DROP DATABASE decisions WITH (FORCE)")
        server.execute("DROP ROLE tester")


@pytest.mark.usefixtures("decisions")
def test_the_page_on_stores_does_what_it_says(tmp_path: Path) -> None:
    """The page that needs a server has one, of these tests."""
    guides.run_guide(ON_A_SERVER, tmp_path)


@pytest.mark.parametrize("page", [each for each in guides.PAGES if each != ON_A_SERVER])
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    """All blocks of a page run in order in a checkout, and their outputs are as they are shown."""
    guides.run_guide(page, tmp_path)


def test_the_guides_are_there() -> None:
    """There is something to run: the guides of the site, and the README."""
    assert {"README.md", "docs/index.md", "docs/guide/first-check.md", ON_A_SERVER} <= set(guides.PAGES)


class TestBlocks:
    """What is wrong with a page is found."""

    @pytest.mark.parametrize(
        ("page", "problem"),
        [
            ("```bash\nexit 3\n```", "ended with 3 and not 0"),
            ("```bash exits 3\ntrue\n```", "ended with 0 and not 3"),
            ("```bash\nfalse; true\n```", "ended with 1"),
            ("```bash\necho one\n```\n```text\ntwo\n```", "'two'"),
            ("```bash\necho one\n```\n```text\none\ntwo\n```", "'two'"),
            ("```bash\necho one; echo two\n```\n```text\none\n```", "goes on"),
            ("```bash\necho one\n```\nThat is:\n```text\none\n```", "follows no block"),
            ("```text\none\n```", "follows no block"),
            ("```python\nraise SystemExit(1)\n```", "ended with 1"),
            ("```bash not run:\ntrue\n```", "neither"),
            ("```bash later\ntrue\n```", "neither"),
            ("```toml\na = 1\n```", "nothing is known"),
            ("```bash\ntrue\n", "does not end"),
        ],
    )
    def test_a_wrong_block_is_found(self, page: str, problem: str, tmp_path: Path) -> None:
        """One wrong block is one problem, with its line."""
        with pytest.raises(guides.Wrong, match=r"^line \d") as raised:
            guides.run_page(page, tmp_path)
        assert problem in str(raised.value)

    @pytest.mark.parametrize(
        ("page", "ran"),
        [
            ("```bash\necho one\n```\n\n```text\none\n```", 1),
            ("```bash exits 2\nexit 2\n```", 1),
            ("```python a.py\nprint(7)\n```\n```bash\npython a.py\n```\n```text\n8\n```", 1),
            ("```json b/c.json\n{}\n```\n```python\nprint(open('b/c.json').read())\n```\n```text\n{}\n\n```", 1),
            ("```bash not run: it would install things\nexit 1\n```\n```text not run: as above\nx\n```", 0),
            ("```{toctree}\nguide\n```", 0),
            ("````text not run: it shows a block\n```bash\nexit 1\n```\n````", 0),
        ],
    )
    def test_a_right_page_passes(self, page: str, ran: int, tmp_path: Path) -> None:
        """Blocks are run in order in one folder, and what is not run is counted as such."""
        assert guides.run_page(page, tmp_path).count == ran


class TestOutput:
    """Output is compared as strictly as it is stable."""

    @pytest.mark.parametrize(
        ("expected", "real"),
        [
            ("a  b\n", "a b\n"),
            ("passed  12  …\n", "passed 3 whatever\n"),
            ("one\n…\nlast\n", "one\ntwo\nthree\nlast\n"),
            ("one\n…\nlast\n", "one\nlast\n"),
            ("(exit 1)\n", "(exit 1)\n"),
            ("60 examples, 1507 steps\n", "60 examples, 9 steps\n"),
        ],
    )
    def test_what_may_differ_differs(self, expected: str, real: str) -> None:
        """White space, numbers that stand alone, and what is left out may differ."""
        assert guides.difference(expected, real) is None

    @pytest.mark.parametrize(
        ("expected", "real"),
        [
            ("I14.1 failed\n", "I13.1 failed\n"),
            ("I14.1 failed\n", "I14.2 failed\n"),
            ("card-1\n", "card-2\n"),
            ("version 2.0\n", "version 3.0\n"),
            ("one\n", ""),
            ("", "one\n"),
            ("one … two\n", "one\ntwo\n"),
        ],
    )
    def test_what_may_not_differ_is_found(self, expected: str, real: str) -> None:
        """Ids, names and words are compared as they are."""
        assert guides.difference(expected, real) is not None

    @pytest.mark.parametrize(
        ("expected", "real", "renewed"),
        [
            ("L2  passed   7  one …\n", "L2 passed 12 one two\n", "L2  passed  12  one …\n"),
            ("…\n60 examples, 7 steps\n", "a 5\n60 examples, 1507 steps\n", "…\n60 examples, 1507 steps\n"),
            ('{"jsonrpc":"2.0","id":1,"a":-3,"b":4}\n', '{"jsonrpc":"2.0","id":5,"a":-3,"b":6}\n', None),
            ("card-1 at 2\n", "card-1 at 3\n", None),
        ],
    )
    def test_numbers_are_renewed(self, expected: str, real: str, renewed: str | None) -> None:
        """The numbers of a page become those of the output, and nothing else changes; nothing stands for the output."""
        assert guides.renewed(expected, real) == (renewed or real)
