"""The generated files are as they would be written, and hold everything that they are about."""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from keyturn.capabilities import Capability
from keyturn.operations import OPERATIONS
from keyturn.responses import RefusalCode
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_specs.scenario import scenarios
from keyturn_testing import pages
from keyturn_testing.mutants import MUTANTS
from keyturn_testing.mutants.durable import ALL_MUTANTS, DURABLE_MUTANTS, SECTION
from keyturn_testing.reference_pages.markdown import anchor

ROOT = Path(__file__).resolve().parents[3]

Run = Callable[..., Result]


def headings(page: str) -> list[str]:
    """The headings of a generated page."""
    return re.findall(r"^#+ (.*)$", pages.PAGES[page](), re.MULTILINE)


@pytest.fixture(scope="module")
def fresh() -> Mapping[str, str]:
    """Every generated file as it would be written now."""
    return {path: source() for path, source in pages.sources(ROOT).items()}


@pytest.fixture
def checkout(fresh: Mapping[str, str], tmp_path: Path) -> Path:
    """A checkout in which everything that is generated is fresh."""
    for path, text in fresh.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    shutil.copy(ROOT / "docs" / "conf.py", tmp_path / "docs" / "conf.py")
    return tmp_path


@pytest.fixture
def run(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the command in the checkout, as an installed package would."""
    monkeypatch.chdir(checkout)
    monkeypatch.setattr(pages, "__file__", str(checkout / "elsewhere" / "lib" / "keyturn_testing" / "pages.py"))
    return lambda *arguments: CliRunner().invoke(pages.main, arguments)


class TestStale:
    """No generated file is stale, and one that is stale is found."""

    def test_the_repository_is_not_stale(self) -> None:
        """Every generated file is as it would be written."""
        assert [path for path, _ in pages.stale(ROOT, pages.sources(ROOT))] == []

    def test_there_is_something_to_write(self) -> None:
        """The port, the pages and every scenario are in the table."""
        assert len(pages.sources(ROOT)) == len(pages.PAGES) + len(scenarios())

    def test_a_fresh_checkout_passes(self, run: Run) -> None:
        """Nothing is said of files that are fresh."""
        result = run("--check")
        assert (result.exit_code, result.output) == (0, "")

    @pytest.mark.parametrize("path", [*pages.PAGES, f"{pages.SCENARIOS}/a-double-click.json"])
    def test_a_stale_file_is_found_and_renewed(self, run: Run, checkout: Path, path: str) -> None:
        """A file that differs is named with the command that renews it, and is as before when that was run."""
        text = (checkout / path).read_text("utf-8")
        (checkout / path).write_text(text.replace("\n", "\n\n", 1) + "\n", "utf-8")
        checked = run("--check")
        assert (checked.exit_code, checked.output) == (1, f"{path} is stale: write it with `{pages.RENEW}`\n")
        assert run().output == f"wrote {path}\n"
        assert (checkout / path).read_text("utf-8") == text

    def test_all_stale_files_are_found_at_once(self, run: Run, checkout: Path) -> None:
        """A missing file is stale, and every stale file has its line."""
        gone = ("docs/reference/mutants.md", "docs/reference/scenarios.md")
        for path in gone:
            (checkout / path).unlink()
        result = run("--check")
        assert result.exit_code == 1
        assert sorted(line.split(" ")[0] for line in result.output.splitlines()) == sorted(gone)

    def test_a_check_writes_nothing(self, run: Run, checkout: Path) -> None:
        """A check leaves a missing file missing."""
        (checkout / "docs/reference/mutants.md").unlink()
        run("--check")
        assert not (checkout / "docs/reference/mutants.md").exists()

    def test_what_is_admissible_is_written(self, run: Run, checkout: Path) -> None:
        """A scenario whose author wrote only the steps gets what the model allows."""
        path = checkout / pages.SCENARIOS / "a-double-click.json"
        whole = path.read_text("utf-8")
        path.write_text(re.sub(r',\n   "admissible": \[.*?\n   \]', "", whole, flags=re.DOTALL), "utf-8")
        assert "admissible" not in path.read_text("utf-8")
        run()
        assert path.read_text("utf-8") == whole

    @pytest.mark.parametrize("text", ["{", '{"name": 1}'])
    def test_a_broken_scenario_is_said(self, run: Run, checkout: Path, text: str) -> None:
        """A file that cannot be read is named, and nothing is shown of our insides."""
        (checkout / pages.SCENARIOS / "a-double-click.json").write_text(text, "utf-8")
        result = run("--check")
        assert result.exit_code == 1
        assert "a-double-click.json cannot be made" in result.output


class TestRoot:
    """The command works in a checkout, wherever the package is."""

    def test_the_current_folder_comes_first(self, checkout: Path) -> None:
        """Whoever stands in a checkout writes that one, wherever the package is."""
        assert pages.repository_root(ROOT / "model_tests" / "keyturn_testing" / "pages.py", checkout) == checkout

    def test_the_checkout_of_the_module_is_next(self, checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        """A module that stands in a checkout writes that one, from wherever it is run."""
        module = checkout / "model_tests" / "keyturn_testing" / "pages.py"
        assert pages.repository_root(module, tmp_path_factory.mktemp("elsewhere")) == checkout

    def test_elsewhere_is_said(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Outside of any checkout nothing is written, and the exit code is 2."""
        monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
        result = run()
        assert result.exit_code == 2
        assert "go to its root" in result.output


class TestContents:
    """Everything is on its page."""

    def test_every_requirement_is_there(self) -> None:
        """Each requirement has its heading, sentence, reason, a witness and a mutant."""
        text = pages.PAGES["docs/reference/requirements.md"]()
        for each in REQUIREMENTS:
            part = re.search(rf"^### {re.escape(each.id)}$(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
            assert part is not None, each.id
            assert each.says in part[1]
            assert each.why in part[1]
            assert "- **Witnesses:** [" in part[1]
            assert "- **Mutants:** [" in part[1]

    def test_every_operation_is_there(self) -> None:
        """Each operation has its heading, and each of its fields a row."""
        text = pages.PAGES["docs/reference/protocol.md"]()
        assert {each.method for each in OPERATIONS} <= set(headings("docs/reference/protocol.md"))
        assert all(f"| `{each}` |" in text for each in Capability)

    @pytest.mark.parametrize("words", [InteractionStatus, InteractionEvent, RefusalCode])
    def test_every_word_is_there(self, words: type[InteractionStatus | InteractionEvent | RefusalCode]) -> None:
        """Each closed set of words is listed whole."""
        assert " · ".join(f"`{each.value}`" for each in words) in pages.PAGES["docs/reference/protocol.md"]()

    def test_every_scenario_is_there(self) -> None:
        """Each scenario has its heading, and each of its steps a row."""
        assert headings("docs/reference/scenarios.md")[1:] == [each.name for each in scenarios()]
        rows = re.findall(r"^\| \d+(?:, lane \d)? \|", pages.PAGES["docs/reference/scenarios.md"](), re.MULTILINE)
        assert len(rows) == sum(len(each.steps) for each in scenarios())

    def test_every_mutant_is_there(self) -> None:
        """Each mutant has its heading and its fault."""
        assert headings("docs/reference/mutants.md")[1:] == [*MUTANTS, SECTION, *DURABLE_MUTANTS]
        assert all(each.fault in pages.PAGES["docs/reference/mutants.md"]() for each in ALL_MUTANTS.values())

    def test_the_diagram_shows_every_row(self) -> None:
        """Each status is a box, each row of the machine an arrow, and nothing is loaded from elsewhere."""
        text = pages.PAGES["docs/reference/status-machine.svg"]()
        assert all(f">{each}</text>" in text for each in (*InteractionStatus, *InteractionEvent))
        assert text.count("marker-end") == 9
        assert re.findall(r"https?://\S+", text) == ['http://www.w3.org/2000/svg"']

    def test_links_lead_somewhere(self) -> None:
        """Every link between generated pages leads to a heading that is there."""
        there = {
            f"{Path(page).name}#{anchor(heading)}"
            for page in pages.PAGES
            if page.endswith(".md")
            for heading in headings(page)
        }
        for page in pages.PAGES:
            for file, heading in re.findall(r"\]\(([\w-]*\.?m?d?)#([^)]+)\)", pages.PAGES[page]()):
                assert f"{file or Path(page).name}#{heading}" in there, f"{page} links to {file}#{heading}"

    def test_headings_are_told_apart(self) -> None:
        """No page has two headings that are linked to in the same way."""
        for page in pages.PAGES:
            if page.endswith(".md"):
                anchors = [anchor(each) for each in headings(page)]
                assert len(anchors) == len(set(anchors)), page
