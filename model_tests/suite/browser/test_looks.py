"""The page of an explored graph can be read by anybody, on any width, in light and dark, and shows texts as texts."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import expect

from keyturn.card_world import CardBounds
from keyturn_testing.reports.graph_page import graph, page_of

from . import graphs
from .conftest import Open
from .reading import search, state


class TestLooks:
    """It can be read by anybody, on any width, and shows texts as texts."""

    @pytest.mark.parametrize(
        ("name", "width", "dark"),
        [("one_card", 1440, False), ("two_cards", 1000, True), ("two_cards", 390, False), ("one_card", 320, True)],
    )
    def test_no_width_is_too_narrow(self, open_page: Open, name: str, width: int, dark: bool) -> None:
        """Nothing is wider than the window, with every fault and every search result shown."""
        page = open_page(name, width=width, dark=dark)
        for key in ("1", "1", "1", "1", "f"):
            page.keyboard.press(key)
        search(page).fill("card")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (max(map(int, re.findall(r"\d+", ground))) < 60) is dark

    def test_the_state_is_seen(self, open_page: Open) -> None:
        """Where the page is long, whoever begins a walk is shown where it begins, and goes along it from there."""
        page = open_page("two_cards", width=390)
        page.get_by_role("button", name="walk the witness of possible: a card is resolved").click()
        expect(state(page)).to_be_in_viewport()
        for step in range(1, 5):
            page.keyboard.press("ArrowRight")
            expect(page.locator("#following")).to_contain_text(f"step {step} of 4")
            expect(state(page)).to_be_in_viewport()

    def test_the_focus_is_seen(self, open_page: Open) -> None:
        """There is one heading of the page and each landmark, and what is reached with Tab has an outline."""
        page = open_page("one_card")
        expect(page.locator("h1")).to_have_count(1)
        for landmark in ("main", "banner", "search"):
            expect(page.get_by_role(landmark)).to_be_visible()
        expect(page.get_by_role("navigation", name="Along the path")).to_be_visible()
        for _ in range(12):
            page.keyboard.press("Tab")
            style = "getComputedStyle(document.activeElement)"
            assert page.evaluate(f"{style}.outlineStyle === 'solid' && parseFloat({style}.outlineWidth) >= 2")

    @pytest.mark.parametrize(("name", "width", "dark"), [("broken", 1440, False), ("incomplete", 390, True)])
    def test_nothing_stands_in_the_way_of_anybody(self, open_page: Open, name: str, width: int, dark: bool) -> None:
        """The checker axe finds nothing: names and roles, contrast, landmarks, and the order of headings."""
        page = open_page(name, width=width, dark=dark)
        for key in ("1", "2", "1", "f"):
            page.keyboard.press(key)
        search(page).fill("card")
        page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
        found = page.evaluate("axe.run()")["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in found] == []

    def test_a_part_of_a_graph(self, open_page: Open) -> None:
        """It says that it is one; a state that was not looked beyond is marked, and says so too."""
        page = open_page("incomplete")
        expect(page.locator("#incomplete")).to_contain_text("the exploration ended at the bound of 20 states")
        expect(page.locator("#verdict")).to_have_class("unknown")
        unexpanded = page.locator("#map .unexpanded")
        assert unexpanded.count() > 0
        unexpanded.last.click()
        expect(page.locator("#actions")).to_have_text(
            "What can happen here is not known: the exploration ended at the bound of 20 states."
        )

    def test_texts_are_texts(self, open_page: Open, tmp_path: Path) -> None:
        """Nothing in a name is markup, closes the element of the values, or is run."""
        hostile = "</script><img src=x onerror=alert(1)><!--<script>&amp;\u2028\ud800"
        values = graph(*graphs.explored(CardBounds(cards=1, faults=False)), hostile)
        told = values["told"]
        assert isinstance(told, list)
        told[0][0] = hostile
        file = tmp_path / "hostile.html"
        file.write_text(page_of(values), encoding="utf-8")
        page = open_page(file)
        expect(page.locator("#about")).to_contain_text("</script><img src=x onerror=alert(1)><!--<script>&amp;")
        page.keyboard.press("1")
        expect(page.locator("#path")).to_contain_text("</script><img src=x onerror=alert(1)>")
        search(page).fill("onerror")
        assert page.locator("img:not([role])").count() == 0
