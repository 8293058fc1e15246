"""States and steps in words: states that differ read differently, and a recording numbers them as the exploration does."""

import pytest

from keyturn.card_properties import safety
from keyturn.card_world import CardBounds, card_model
from keyturn.explore import Model, explore
from keyturn.faults import FaultKind
from keyturn_testing.recording import Left, Recording
from keyturn_testing.reports.graph_page import graph, recording_of
from keyturn_testing.reports.graph_words import WHEN, first_found, state_in_words
from keyturn_testing.two_phase import two_phase


class TestRecording:
    """What an exploration passes is kept, by the numbers of the exploration."""

    @pytest.mark.parametrize("symmetry", [False, True], ids=["every state", "with symmetry"])
    def test_numbers(self, symmetry: bool) -> None:
        """Each step leads from its state to one with the same key as where it really went."""
        model = two_phase(3)
        recorded: Recording[int, str, str] = Recording(model, lambda action, after, first: action, symmetry=symmetry)
        found = explore(recorded.model, symmetry=symmetry)
        assert len(recorded.steps) == len(found.states)
        key = model.symmetric if symmetry and model.symmetric is not None else lambda state: state
        for number, state in enumerate(found.states):
            ends = {Left(action, [*map(key, found.states)].index(key(after))) for action, after in model.steps(state)}
            assert set(recorded.steps[number]) == ends

    def test_a_way_is_found_again(self) -> None:
        """Each step of a way has its place among those that leave its state."""
        recorded: Recording[int, str, str] = Recording(
            two_phase(3), lambda action, after, first: action, symmetry=False
        )
        way = explore(recorded.model).way_to(200)
        for before, (action, after) in zip((way.start, *(end for _, end in way.steps)), way.steps, strict=False):
            number, place = recorded.step(before, action, after)
            assert recorded.steps[number][place].told == action

    def test_what_is_told_alike_is_one(self) -> None:
        """Two steps of one state that nobody could tell apart are one; a model needs no key."""
        model: Model[int, str] = Model(initial=lambda: (0,), steps=lambda state: [("on", 1), ("on", 1), ("off", 0)])
        recorded: Recording[int, str, str] = Recording(model, lambda action, after, first: action, symmetry=False)
        explore(recorded.model)
        assert recorded.steps == [(Left("on", 1), Left("off", 0))] * 2


class TestWords:
    """A state is told by what its future depends on."""

    @pytest.mark.parametrize(
        "bounds",
        [
            CardBounds(cards=1, attempts=2, faults=False),
            CardBounds(cards=1, cases=2, accounts=2, faults=False),
            CardBounds(cards=2, faults=False, administrative=True, expiry=False),
        ],
        ids=["two attempts", "two cases", "closing"],
    )
    def test_equal_words_are_equal_states(self, bounds: CardBounds) -> None:
        """No two states read alike, and whatever leads to a state reads as that state does."""
        model = card_model(bounds)
        assert model.key is not None
        states = explore(model).states
        words = {model.key(each): state_in_words(each) for each in states}
        assert len(set(words.values())) == len(states)
        for state in states:
            for _, after in model.steps(state):
                assert state_in_words(after) == words[model.key(after)]

    def test_numbers_are_those_of_one_way(self) -> None:
        """The clock and the revisions are told apart from the rest."""
        states = explore(card_model(CardBounds(cards=1, faults=False))).states
        assert first_found(states[0]) == "0 s on the clock"
        assert "case 1 at revision 2" in " ".join(map(first_found, states))

    def test_every_fault_has_its_words(self) -> None:
        """No fault is told by its name on the wire."""
        assert set(WHEN) == set(FaultKind)


class TestValues:
    """What the page knows is small, and fits together."""

    def test_steps_and_witnesses(self) -> None:
        """Each step is told and leads to a state; each witness is a way along them."""
        recorded = recording_of(card_model(CardBounds(cards=1)), symmetry=True)
        found = explore(recorded.model, safety(), symmetry=True)
        values = graph(recorded, found, "1 card")
        told, steps, properties = values["told"], values["steps"], values["properties"]
        assert isinstance(told, list)
        assert isinstance(steps, list)
        assert isinstance(properties, list)
        for flat in steps:
            assert all(number < len(told) for number in flat[::2])
            assert all(end < len(steps) for end in flat[1::2])
        for each in properties:
            state = 0
            for place in each["witness"] or []:
                state = steps[state][2 * place + 1]
            assert each["witness"] is None or state > 0
        assert sum(len(flat) // 2 for flat in steps) <= found.transitions
