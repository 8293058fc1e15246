"""Writing some tables of the benchmarks leaves the others, and the prose, as they are."""

from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import cast

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "bench" / "page.py"
OF_A, OF_B = "<!-- measured: a -->\n\nold a\n\n<!-- end: a -->", "<!-- measured: b -->\n\nold b\n\n<!-- end: b -->"

WithSections = Callable[[str, Mapping[str, str]], str]


@pytest.fixture(scope="module")
def with_sections() -> WithSections:
    """The function of the bench, which is a script and not installed."""
    spec = spec_from_file_location("bench_page", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(WithSections, module.with_sections)


class TestSections:
    """Each section is between its own marks."""

    def test_the_others_stay(self, with_sections: WithSections) -> None:
        """Only what is between the marks of the section changes."""
        page = f"# Title\n\n{OF_A}\n\n{OF_B}\n\nHow to read it.\n"
        assert with_sections(page, {"b": "## New\n"}) == page.replace("old b", "## New")

    def test_writing_again_changes_nothing(self, with_sections: WithSections) -> None:
        """The same tables give the same page."""
        once = with_sections(f"{OF_A}\n{OF_B}", {"a": "one", "b": "two"})
        assert with_sections(once, {"a": "one", "b": "two"}) == once

    @pytest.mark.parametrize(
        "page",
        [OF_A, f"{OF_B}{OF_B}", "<!-- measured: b -->\n", "<!-- end: b --> <!-- measured: b -->"],
        ids=["none", "twice", "no end", "the wrong way round"],
    )
    def test_a_page_without_the_marks(self, with_sections: WithSections, page: str) -> None:
        """It is refused with what is missing, and is not written."""
        with pytest.raises(SystemExit, match="needs <!-- measured: b --> and after it <!-- end: b -->"):
            with_sections(page, {"b": "new"})
