"""Numbers that a page says and that nobody would notice growing old."""

from ..harness.test_touring import CELLS
from ..kernel.test_card_world import LARGE, PINNED, REDUCED
from .guides import ROOT


def test_the_guide_says_how_many_states_there_are() -> None:
    """Each pinned number of states stands in a row of the guide's table."""
    page = (ROOT / "docs" / "guide" / "exploring.md").read_text("utf-8")
    rows = [line.split("|")[2:4] for line in page.splitlines() if line.startswith("| ")]
    said = {cell.strip() for row in rows for cell in row}
    assert {f"{states:,}" for pinned in (REDUCED, LARGE) for states in pinned.values()} <= said
    assert {"28", "44", "108", "441"} <= said & {f"{states:,}" for states in PINNED.values()}


def test_the_page_of_the_cells_has_them_all() -> None:
    """The page of the reference has as many cells as are pinned."""
    page = (ROOT / "docs" / "reference" / "cells.md").read_text("utf-8")
    assert f"and {CELLS} cells" in page
