"""A real browser: Chromium as the machine has it, in which nothing may be loaded and nothing may go wrong unseen."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from . import graphs

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
INSTALL = "sudo apt-get install --yes --no-install-recommends chromium"

Open = Callable[..., Page]


def chromium() -> str:
    """Return where the browser is; where there is none the test fails, because nothing is skipped in silence."""
    found = next((path for path in map(shutil.which, NAMES) if path is not None), None)
    if found is None:
        pytest.fail(f"there is no Chromium on the PATH, which these tests need: {INSTALL}", pytrace=False)
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a module: it lends its thread an event loop, which no other module shall find there."""
    # Chromium has no sandbox for root.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Where the page of a graph is, by the graph's name; each is made once."""
    folder = tmp_path_factory.mktemp("pages")

    def path(name: str) -> Path:
        file = folder / f"{name}.html"
        if not file.exists():
            file.write_text(getattr(graphs, name)(), encoding="utf-8")
        return file

    return path


@pytest.fixture
def open_page(browser: Browser, pages: Callable[[str], Path]) -> Iterator[Open]:
    """Opens the page of a graph; at the end nothing was requested but the page, and nothing was complained of."""
    contexts, complaints = [], []

    def opened(name: str | Path, fragment: str = "", *, width: int = 1440, dark: bool = False) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        context.set_default_timeout(5000)
        page = context.new_page()
        address = (name if isinstance(name, Path) else pages(name)).as_uri()
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("requestfailed", lambda request: complaints.append(f"failed: {request.url}"))

        def requested(url: str) -> None:
            if url.partition("#")[0] != address and not url.startswith("data:"):
                complaints.append(f"requested: {url}")

        page.on("request", lambda request: requested(request.url))
        page.goto(address + fragment)
        return page

    yield opened
    for each in contexts:
        each.close()
    assert complaints == []
