"""The explorer on models whose answers are known: counts, shortest ways, what holds, and what happens at last."""

from collections.abc import Callable, Iterator

import pytest

from keyturn.explore import Always, Bounds, Each, Eventually, Exploration, Model, Progress, Property, Sometimes, explore
from keyturn_testing.two_phase import ABORTED, COMMITTED, DISTINCT_STATES, statuses, two_phase

Graph = dict[str, list[tuple[str, str]]]


def graph(edges: Graph, *starts: str) -> Model[str, str]:
    """A model that is written down: the actions of each state, and where they lead."""
    return Model(initial=lambda: starts or ("a",), steps=lambda state: edges.get(state, []))


def counter(most: int) -> Model[int, str]:
    """A number that goes up by one or two, and back to nothing."""

    def steps(state: int) -> Iterator[tuple[str, int]]:
        yield "begin again", 0
        for more in (1, 2):
            if state + more <= most:
                yield f"add {more}", state + more

    return Model(initial=lambda: (0, 0), steps=steps)


def named(*names: str) -> tuple[Callable[[str], bool], ...]:
    """The kinds of the actions with these names."""
    return tuple(name.__eq__ for name in names)


def way(found: Exploration[str, str], name: str) -> tuple[list[str], list[str]]:
    """The actions of the witness of a property, and of the cycle after it."""
    verdict = next(each for each in found.verdicts if each.property == name)
    assert verdict.witness is not None
    return [action for action, _ in verdict.witness.steps], [action for action, _ in verdict.cycle]


class TestCounting:
    """Every state once, every transition, the depth, and how often each action was taken."""

    def test_a_counter(self) -> None:
        """Two beginnings that are the same are one."""
        found = explore(counter(5))
        assert found.states == [0, 1, 2, 3, 4, 5]
        assert found.taken == {"add 1": 5, "add 2": 4, "begin again": 6}
        assert (found.transitions, found.depth, found.complete) == (15, 3, True)

    @pytest.mark.parametrize("managers", [3, 5])
    def test_two_phase_commit(self, managers: int) -> None:
        """The numbers of distinct states are the published ones."""
        assert len(explore(two_phase(managers)).states) == DISTINCT_STATES[managers]

    @pytest.mark.parametrize(("managers", "reduced"), [(3, 80), (5, 314), (8, 1461)])
    def test_symmetry(self, managers: int, reduced: int) -> None:
        """As many states as there are classes of interchangeable ones."""
        model = two_phase(managers)
        assert len(explore(model, symmetry=True).states) == reduced
        if managers < 8 and model.symmetric is not None:
            assert len({model.symmetric(each) for each in explore(model).states}) == reduced

    def test_a_key(self) -> None:
        """States with the same key are one, and the first that was found stands for all."""
        found = explore(
            Model(initial=lambda: (0,), steps=lambda state: [("on", state + 3)], key=lambda state: state % 4)
        )
        assert found.states == [0, 3, 6, 9]

    def test_names(self) -> None:
        """Actions are counted by their names."""
        model: Model[int, int] = Model(
            initial=lambda: (0,),
            steps=lambda state: [(1, 0), (2, 0), (3, 0)],
            name=lambda action: "odd" if action % 2 else "even",
        )
        assert explore(model).taken == {"even": 1, "odd": 2}

    def test_actions_without_names(self) -> None:
        """An action that is not named is a kind of its own, as it is written."""
        model: Model[int, int] = Model(initial=lambda: (0,), steps=lambda state: [(1, 0), (2, 0), (1, 0)])
        assert explore(model).taken == {"1": 2, "2": 1}


class TestWays:
    """The shortest way leads to everything."""

    def test_the_shortest(self) -> None:
        """Breadth first: no shorter way than the one that is shown."""
        found = explore(counter(9))
        path = found.way_to(found.states.index(7))
        assert (path.start, path.end, len(path.steps)) == (0, 7, 4)

    def test_to_the_beginning(self) -> None:
        """It has no steps."""
        path = explore(counter(9)).way_to(0)
        assert (path.steps, path.end) == ((), 0)


class TestProperties:
    """What holds in every state and every step, and what is possible at all."""

    def test_always(self) -> None:
        """Two-phase commit is consistent: nobody commits where another aborts."""

        def consistent(state: int) -> bool:
            return not {COMMITTED, ABORTED} <= set(statuses(state, 3))

        found = explore(two_phase(3), [Always(name="consistent", holds=consistent)])
        assert [each.holds for each in found.verdicts] == [True]
        assert found.broken == ()

    def test_always_broken(self) -> None:
        """The witness is the shortest way; at the beginning it has no steps."""
        found = explore(
            counter(9), [Always(name="small", holds=lambda n: n < 4), Always(name="none", holds=lambda n: n > 0)]
        )
        small, none = found.broken
        assert small.witness is not None
        assert none.witness is not None
        assert [state for _, state in small.witness.steps] == [2, 4]
        assert none.witness.steps == ()

    def test_each_step(self) -> None:
        """Of a step that is not allowed the witness ends with it, also where it leads back."""
        found = explore(
            counter(3), [Each(name="up", holds=lambda before, action, after: before < 3 or after >= before)]
        )
        [broken] = found.broken
        assert broken.witness is not None
        assert [action for action, _ in broken.witness.steps] == ["add 1", "add 2", "begin again"]
        assert broken.witness.end == 0

    def test_sometimes(self) -> None:
        """A goal is reached by the shortest way, or is said to be out of reach."""
        goals = [Sometimes(name=str(goal), holds=lambda n, goal=goal: n == goal) for goal in (3, 11)]  # type: ignore[misc]  # a default binds the loop's value
        reached, missed = explore(counter(9), goals).verdicts
        assert (reached.holds, missed.holds, missed.witness) == (True, False, None)
        assert reached.witness is not None
        assert reached.witness.end == 3

    def test_names(self) -> None:
        """Two properties of one name could not be told apart."""
        small: Always[int] = Always(name="small", holds=bool)
        with pytest.raises(ValueError, match="two properties have one name, and could not be told apart: small"):
            explore(counter(3), [small, small])


class TestBounds:
    """What ends early says why, and judges only what it has seen."""

    def test_states(self) -> None:
        """What was not visited is not known; what was seen is."""
        properties: list[Property[int, str]] = [
            Always(name="small", holds=lambda n: n < 99),
            Always(name="tiny", holds=lambda n: n < 2),
            Sometimes(name="two", holds=lambda n: n == 2),
            Sometimes(name="nine", holds=lambda n: n == 9),
            Eventually(name="nine at last", holds=lambda n: n == 9),
        ]
        found = explore(counter(9), properties, bounds=Bounds(states=3))
        assert (found.complete, found.stopped) == (False, "the bound of 3 states")
        assert [each.holds for each in found.verdicts] == [None, False, True, None, None]

    def test_depth(self) -> None:
        """So many steps from the beginning."""
        found = explore(counter(99), bounds=Bounds(depth=3))
        assert (found.stopped, max(found.states)) == ("the bound of 3 steps", 6)

    def test_what_is_within_is_complete(self) -> None:
        """A bound that is not met changes nothing."""
        assert explore(counter(5), bounds=Bounds(states=6, depth=9)).complete

    def test_a_watch(self) -> None:
        """It is asked now and then, and its reason ends the exploration."""
        seen: list[Progress] = []

        def watch(progress: Progress) -> str | None:
            seen.append(progress)
            return "enough" if progress.expanded >= 2000 else None

        found = explore(counter(9999), watch=watch)
        assert (found.stopped, [each.expanded for each in seen]) == ("enough", [0, 1000, 2000])
        assert seen[-1] == Progress(states=2002, expanded=2000, depth=1000)


class TestAtLast:
    """What happens at last, when some actions are not put off for ever."""

    END: Eventually[str, str] = Eventually(name="end", holds=lambda state: state == "end", fair=named("go", "on"))

    def test_it_comes(self) -> None:
        """One may turn round for a while, but not for ever where a fair action leads out of every state."""
        turning = graph({"a": [("turn", "b"), ("go", "end")], "b": [("turn", "a"), ("go", "end")]})
        assert explore(turning, [self.END]).verdicts[0].holds is True

    def test_it_may_rest(self) -> None:
        """Where no fair action is possible everything may rest, though something could happen."""
        resting = graph({"a": [("go", "b")], "b": [("maybe", "end")]})
        assert way(explore(resting, [self.END]), "end") == (["go"], [])

    def test_it_may_stop(self) -> None:
        """So may it where nothing is possible."""
        assert way(explore(graph({"a": [("go", "b")]}), [self.END]), "end") == (["go"], [])

    def test_it_may_go_round(self) -> None:
        """An action that is impossible now and then need not be taken, and one that is taken leads round."""
        around = graph({"a": [("on", "b"), ("go", "end")], "b": [("on", "c")], "c": [("back", "a")]})
        assert way(explore(around, [self.END]), "end") == ([], ["on", "on", "back"])

    def test_a_step_on_the_spot(self) -> None:
        """A fair action that changes nothing is taken for ever."""
        spot = graph({"a": [("go", "a"), ("on", "a"), ("maybe", "end")]})
        assert way(explore(spot, [self.END]), "end") == ([], ["go", "on"])

    def test_whenever(self) -> None:
        """With `after` the wait begins wherever that holds, and only there."""
        asked = graph({"a": [("ask", "b"), ("rest", "a")], "b": [("answer", "a")]})

        def answered(*fair: str) -> Eventually[str, str]:
            return Eventually(
                name="answered",
                holds=lambda state: state == "a",
                after=lambda state: state == "b",
                fair=named(*fair),
            )

        assert explore(asked, [answered("answer")]).verdicts[0].holds is True
        assert way(explore(asked, [answered()]), "answered") == (["ask"], [])

    def test_the_wait_begins_anew(self) -> None:
        """The way leads to where the wait begins, and on to where everything may rest for ever."""
        lost = graph({"a": [("x", "b")], "b": [("y", "c"), ("z", "end")], "c": [("y", "d")], "d": [("y", "c")]})
        never: Eventually[str, str] = Eventually(
            name="end", holds=lambda state: state == "end", after=lambda state: state == "b", fair=named("z")
        )
        assert way(explore(lost, [never]), "end") == (["x", "y"], [])

    def test_components(self) -> None:
        """Cycles within cycles are one component, and each is looked at once."""
        knot = graph(
            {"a": [("x", "b")], "b": [("x", "c")], "c": [("x", "a"), ("y", "d")], "d": [("y", "b"), ("go", "end")]}
        )
        assert (
            explore(knot, [Eventually(name="end", holds=lambda s: s == "end", fair=named("go"))]).verdicts[0].holds
            is False
        )
        sure: Eventually[str, str] = Eventually(name="end", holds=lambda s: s == "end", fair=named("go", "x", "y"))
        assert explore(knot, [sure]).verdicts[0].holds is False


class TestSymmetry:
    """What cannot be asked together is refused with the reason."""

    def test_not_with_what_happens_at_last(self) -> None:
        """The properties are named."""
        end: Eventually[int, str] = Eventually(name="end", holds=bool)
        with pytest.raises(ValueError, match=r"what happens at last \(end\)"):
            explore(two_phase(3), [end], symmetry=True)

    def test_not_without_instances(self) -> None:
        """A model that has none says so."""
        with pytest.raises(ValueError, match="explore it without symmetry"):
            explore(counter(3), symmetry=True)
