"""The little Markdown that the generated pages are made of, the same on the site and on a code host."""

import re
from collections.abc import Iterable, Sequence


def page(title: str, *parts: str) -> str:
    """Return a page: its title, that it is generated, and its parts with a blank line between them."""
    note = "<!-- Generated; do not edit: `python -m keyturn_testing.pages` writes it. -->"
    return "\n\n".join((f"# {title}", note, *(part for part in parts if part))) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a vertical bar in a cell is escaped."""
    written = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(written)


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def code(text: str) -> str:
    """Return a text as code in a line."""
    return f"`{text}`"


def codes(texts: Iterable[str], without: str = "none") -> str:
    """Return texts as code, with commas between them."""
    return ", ".join(map(code, texts)) or without


def link(text: str, heading: str, file: str = "") -> str:
    """Return a link to a heading, here or in another page."""
    return f"[{text}]({file}#{anchor(heading)})"


def anchor(heading: str) -> str:
    """Return how a heading is linked to: lower case, spaces as dashes, no other punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
