"""What a person does on the page and reads there, by the words that it shows."""

from playwright.sync_api import Locator, Page


def take(page: Page, action: str) -> None:
    """Take the action with this name, of those that lead on."""
    page.locator(".group.leads .take").filter(has=page.get_by_text(action, exact=True)).first.click()


def steps(page: Page) -> list[str]:
    """The actions of the path, in order."""
    return page.locator("#path .name").all_inner_texts()


def state(page: Page) -> Locator:
    """The heading that names the state."""
    return page.locator("#state-title")


def search(page: Page) -> Locator:
    """The field in which one searches."""
    return page.get_by_role("searchbox", name="Search")


def stories(page: Page) -> list[str]:
    """What each card went through until now, in the order in which the cards are told."""
    told = page.locator(".machine").evaluate_all("machines => machines.map(each => each.getAttribute('aria-label'))")
    return [each.partition("Until now: ")[2].removesuffix(".") for each in told]


def answered(page: Page) -> None:
    """Present a card and answer it."""
    for action in ("open a case · case 1", "present a blocking card · case 1", "answer: run it · card 1"):
        take(page, action)
