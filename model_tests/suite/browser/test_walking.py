"""The page of an explored graph in a real browser: walking, refusals, witnesses, search, keys and addresses."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from keyturn.card_world import CardBounds
from keyturn.values import Json
from keyturn_testing.reports.graph_page import graph, page_of

from . import graphs
from .conftest import Open
from .reading import answered, search, state, steps, stories, take


class TestWalking:
    """A person takes one action after the other, and sees where that leads."""

    def test_the_beginning(self, open_page: Open) -> None:
        """What was explored, the verdict, and a state in which nothing is there."""
        page = open_page("one_card")
        expect(page.locator("#about")).to_have_text("1 card: 28 states, 1910 transitions, 6 deep")
        expect(page.locator("#verdict")).to_have_text("✓ all 18 hold")
        expect(state(page)).to_have_text("State 0 of 28")
        expect(page.locator("#cards")).to_contain_text("no case, and no card")

    def test_a_card_is_told_in_words(self, open_page: Open) -> None:
        """Its status and all that its future depends on; the path is written down, and the map shows it."""
        page = open_page("one_card")
        answered(page)
        take(page, "edit the record · case 1")
        card = page.get_by_role("article", name="card 1")
        expect(card.locator(".status")).to_have_text("resolving")
        assert card.locator(".facts li").all_inner_texts() == [
            "blocking",
            "stale",
            "its deadline is the first to come",
            "its command is in flight, and the record has moved",
        ]
        assert steps(page)[1:] == [
            "open a case · case 1",
            "present a blocking card · case 1",
            "answer: run it · card 1",
            "edit the record · case 1",
        ]
        expect(page.locator("#map .on-path")).to_have_count(5)
        expect(page.locator("#map .walked")).to_have_count(4)

    def test_the_status_machine(self, open_page: Open) -> None:
        """The status is marked among the eight, and so are the transitions that led there."""
        page = open_page("one_card")
        answered(page)
        machine = page.locator(".machine")
        expect(machine.locator(".box")).to_have_count(8)
        expect(machine.locator(".box.is")).to_have_text("resolving")
        expect(machine.locator(".arrow.taken")).to_have_count(2)
        label = "card 1 is resolving. Until now: present → active, accept → resolving."
        expect(page.get_by_role("img", name=label)).to_be_visible()

    def test_a_refused_action_has_its_reason(self, open_page: Open) -> None:
        """The code, and each requirement with its sentence; taking it stays in the state."""
        page = open_page("one_card")
        take(page, "open a case · case 1")
        take(page, "present · case 1")
        refused = page.get_by_role("group", name="rejected (stale_revision)")
        expect(refused).to_contain_text("A response whose expected_case_revision is not the bound revision is refused")
        before = state(page).inner_text()
        refused.get_by_role("button", name="answer for another revision").click()
        expect(state(page)).to_have_text(before)
        assert steps(page)[-1] == "answer for another revision · card 1"

    def test_more_than_one_thing_may_happen(self, open_page: Open) -> None:
        """Where the contract leaves a choice, each of its outcomes is an action, and says so."""
        page = open_page("one_card")
        answered(page)
        take(page, "edit the record · case 1")
        both = page.locator(".action").filter(has_text="settle: committed, else give it back")
        expect(both).to_have_count(2)
        expect(both.first).to_contain_text("one of 2 that the contract admits")

    def test_faults_are_shown_when_they_are_wanted(self, open_page: Open) -> None:
        """Until then they are counted."""
        page = open_page("one_card")
        take(page, "open a case · case 1")
        expect(page.locator(".fault")).to_have_count(0)
        page.get_by_role("button", name=re.compile(r"^\d+ more where a fault hits$")).first.click()
        expect(page.locator(".group.leads").get_by_text("the process ends after the commit").first).to_be_visible()
        expect(page.get_by_role("button", name="Faults")).to_have_attribute("aria-pressed", "true")

    def test_names_that_change_are_said(self, open_page: Open) -> None:
        """With symmetry a step may lead to a state in which the cards have changed places; each keeps what it went through."""
        page = open_page("two_cards")
        values = page.evaluate("JSON.parse(document.querySelector('#values').textContent)")
        told = {n for n, (kind, *_, renamed) in enumerate(values["told"]) if renamed and not kind.startswith("present")}
        search(page).fill(f"state {next(n for n, left in enumerate(values['steps']) if told & {*left[::2]})}")
        page.locator(".results button").first.click()
        before = stories(page)
        swaps = page.locator(".action").filter(has_text="card 1 is called card 2, card 2 is called card 1")
        swaps.locator(".take").first.click()
        after = stories(page)[::-1]
        assert all(now.startswith(then) for then, now in zip(before, after, strict=True))
        assert before != after


class TestWitnesses:
    """Each property has its verdict, and a way that shows it is walked step by step."""

    def test_a_witness_is_walked(self, open_page: Open) -> None:
        """It begins at the beginning; each step on goes to the next state, and the last one is where the goal is."""
        page = open_page("one_card")
        page.get_by_role("button", name="walk the witness of possible: a card is resolved, 4 steps").click()
        expect(page.locator("#following")).to_contain_text("possible: a card is resolved: step 0 of 4")
        expect(state(page)).to_have_text("State 0 of 28")
        for step in range(1, 5):
            page.locator("#forward").click()
            expect(page.locator("#following")).to_contain_text(f"step {step} of 4")
        expect(page.locator(".status")).to_have_text("resolved")
        expect(page.locator("#forward")).to_be_disabled()

    def test_a_broken_property(self, open_page: Open) -> None:
        """It is said at the top; its way goes round for ever, as long as one goes on."""
        page = open_page("broken")
        expect(page.locator("#verdict")).to_have_class("broken")
        page.get_by_role("button", name=re.compile("^walk to where it breaks of L3")).click()
        expect(page.locator("#following")).to_contain_text("It breaks L3: the first card does not wait")
        expect(page.locator("#path .round")).to_have_text("from here round and round")
        page.keyboard.press("End")
        round_trip = int(page.evaluate("location.hash.split('at=')[1]"))
        page.keyboard.press("ArrowRight")
        page.keyboard.press("End")
        assert int(page.evaluate("location.hash.split('at=')[1]")) == round_trip
        expect(page.locator(".status")).to_have_text("resolving")

    def test_several_with_one_witness(self, open_page: Open, tmp_path: Path) -> None:
        """The one that was chosen is named, and the next one follows it; a witness without steps is said to be one."""
        values = graph(*graphs.explored(CardBounds(cards=1, faults=False)), "1 card")
        way: dict[str, Json] = {"status": "holds", "because": [], "witness": [0], "cycle": []}
        values["properties"] = [{**way, "name": "one"}, {**way, "name": "two"}, {**way, "name": "three", "witness": []}]
        file = tmp_path / "same.html"
        file.write_text(page_of(values), encoding="utf-8")
        page = open_page(file)
        named = page.locator("#following strong")
        page.get_by_role("button", name="walk the witness of two").click()
        expect(named).to_have_text("two")
        page.keyboard.press("W")
        expect(named).to_have_text("one")
        for name in ("two", "three"):
            page.keyboard.press("w")
            expect(named).to_have_text(name)
        expect(page.locator("#following")).to_contain_text("it is the beginning itself")

    def test_what_a_property_says(self, open_page: Open) -> None:
        """The sentence of its requirement is one click away."""
        page = open_page("one_card")
        page.locator("#properties summary").filter(has_text="L1 ").click()
        expect(page.locator("#properties")).to_contain_text("Only the rows of the status table happen.")


class TestSearch:
    """States are found by their words, and actions by what they are."""

    def test_states(self, open_page: Open) -> None:
        """All words must fit; the map shows what was found, and a result is walked to by the shortest way."""
        page = open_page("one_card")
        search(page).fill("resolving invalidated")
        expect(page.locator("#search-count")).to_have_text("0 states, 0 actions")
        search(page).fill("resolving moved")
        expect(page.locator("#search-count")).to_contain_text("states, 0 actions")
        assert page.locator("#map .match").count() == page.locator(".results button").count() > 1
        page.locator(".results button").first.click()
        expect(page.locator(".facts")).to_contain_text("the record has moved")

    def test_actions(self, open_page: Open) -> None:
        """A result leads to the first state in which it is, and has the focus there, also where a fault hits."""
        page = open_page("one_card")
        search(page).fill("dismiss lost")
        page.locator(".results button").filter(has_text="dismiss, and the reply is lost → nobody hears").first.click()
        focused = page.locator(".take:focus")
        expect(focused).to_contain_text("dismiss · card 1")
        expect(focused).to_contain_text("the reply is lost")

    def test_a_number(self, open_page: Open) -> None:
        """It is the state with that number alone."""
        page = open_page("one_card")
        search(page).fill("17")
        expect(page.locator("#search-count")).to_contain_text("1 state,")


class TestKeys:
    """Everything is done with the keyboard, and `?` says how."""

    def test_walking(self, open_page: Open) -> None:
        """Digits take actions, arrows go along the path, Home and End to its ends."""
        page = open_page("one_card")
        for key in ("1", "1", "1"):
            page.keyboard.press(key)
        there = state(page).inner_text()
        for key, current in (("ArrowLeft", 2), ("Backspace", 1), ("ArrowRight", 2), ("Home", 0), ("End", 3)):
            page.keyboard.press(key)
            expect(page.locator("#path [aria-current=step] .count")).to_have_text(f"{current}.")
        expect(state(page)).to_have_text(there)

    def test_actions_and_faults(self, open_page: Open) -> None:
        """The letters j and k go through the actions and Enter takes one; the focus is then on the state."""
        page = open_page("one_card")
        page.keyboard.press("1")
        for key in ("j", "j", "k"):
            page.keyboard.press(key)
        expect(page.locator(".take").first).to_be_focused()
        page.keyboard.press("Enter")
        expect(state(page)).to_be_focused()
        assert len(steps(page)) == 3
        page.keyboard.press("f")
        expect(page.locator(".fault").first).to_be_visible()

    def test_search_and_witnesses(self, open_page: Open) -> None:
        """/ begins a search, in which letters are letters, and Escape ends it; w walks one witness after the other."""
        page = open_page("one_card")
        page.keyboard.press("/")
        page.keyboard.type("w1?")
        expect(search(page)).to_have_value("w1?")
        page.keyboard.press("Escape")
        expect(search(page)).to_have_value("")
        for key, name in (("w", "active"), ("w", "resolving"), ("W", "active")):
            page.keyboard.press(key)
            expect(page.locator("#following strong")).to_have_text(f"possible: a card is {name}")

    def test_help(self, open_page: Open) -> None:
        """Every key is in the dialog, and while it is open no key walks."""
        page = open_page("one_card")
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keys")
        expect(dialog).to_be_visible()
        for key in ("j", "k", "Enter", "←", "→", "Home", "End", "w", "f", "/", "Esc", "?"):
            expect(dialog.locator("dt kbd").get_by_text(key, exact=True)).to_have_count(1)
        page.keyboard.press("1")
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        expect(state(page)).to_have_text("State 0 of 28")


class TestAddresses:
    """The address is the path."""

    def test_it_restores_the_path(self, open_page: Open) -> None:
        """Another window shows the same state, the same path, and what of it is still ahead."""
        page = open_page("one_card")
        answered(page)
        page.keyboard.press("ArrowLeft")
        fragment = page.evaluate("location.hash")
        other = open_page("one_card", fragment)
        assert steps(other) == steps(page)
        expect(state(other)).to_have_text(state(page).inner_text())
        expect(other.locator("#path .ahead")).to_have_count(1)

    def test_back_and_forward(self, open_page: Open) -> None:
        """The browser goes from state to state."""
        page = open_page("one_card")
        answered(page)
        last = state(page).inner_text()
        for count in (3, 2, 1):
            page.go_back()
            assert len(steps(page)) == count
        page.go_forward()
        page.go_forward()
        page.go_forward()
        expect(state(page)).to_have_text(last)

    @pytest.mark.parametrize(
        ("fragment", "why"),
        [
            ("#via=0.4711&at=3", "step 2 of its path is not there"),
            ("#via=0&at=3", "its path leads to state 1, and not to state 3"),
            ("#nonsense", "it is no path"),
            ("#via=0.&at=1", "it is no path"),
        ],
    )
    def test_one_that_does_not_fit(self, open_page: Open, fragment: str, why: str) -> None:
        """It is said, with the reason, and the walk begins at the beginning; the first step takes the notice away."""
        page = open_page("one_card", fragment)
        notice = page.get_by_role("alert")
        expect(notice).to_contain_text(f"This address does not fit this graph: {why}.")
        expect(state(page)).to_have_text("State 0 of 28")
        take(page, "open a case · case 1")
        expect(notice).to_be_hidden()
        page.evaluate(f"location.hash = {fragment!r}")
        expect(notice).to_be_visible()
