"""The page that the tables are written into, each between its own marks."""

from collections.abc import Mapping
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"


def with_sections(page: str, sections: Mapping[str, str]) -> str:
    """Return the page with what stands between the marks of each section replaced, and everything else as it was.

    A section goes from `<!-- measured: NAME -->` to `<!-- end: NAME -->`; a page in which these are not there once ends the run.
    """
    for name, text in sections.items():
        begin, end = f"<!-- measured: {name} -->", f"<!-- end: {name} -->"
        before, _, rest = page.partition(begin)
        _, _, after = rest.partition(end)
        if (page.count(begin), page.count(end), rest.count(end)) != (1, 1, 1):
            raise SystemExit(f"{PAGE} needs {begin} and after it {end}, each once")
        page = f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"
    return page
