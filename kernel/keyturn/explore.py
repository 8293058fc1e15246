"""Exhaustive breadth-first exploration of a model: every state within bounds, and the shortest way to each.

A model says where it begins, what can happen in a state, and which states are the same to whatever comes (D3). Nothing here
knows what a card is, reads a clock or measures memory: whoever explores passes a `watch` that is asked now and then and may
stop the exploration with a reason. What was explored can then be held to properties: what always holds, what is possible at
all, and what happens at last when some actions are never put off for ever (weak fairness).
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

from attrs import field, frozen

from keyturn.waiting import Waiting, way_back

S = TypeVar("S", bound=Hashable)
A = TypeVar("A")

WATCHED_EVERY = 1000
"""After how many expanded states the watch is asked again."""


# ---- What is explored -----------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Model(Generic[S, A]):
    """States and actions; `key` gives equal values to states with the same future, and none stands for the state itself.

    `symmetric` is a key that also makes no difference between states in which interchangeable instances have changed
    places. `name` is the kind of an action, by which actions are counted; without one each action, which can then be hashed,
    is a kind of its own.
    """

    initial: Callable[[], Iterable[S]]
    steps: Callable[[S], Iterable[tuple[A, S]]]
    key: Callable[[S], Hashable] | None = None
    symmetric: Callable[[S], Hashable] | None = None
    name: Callable[[A], str] | None = None


@frozen(kw_only=True)
class Always(Generic[S]):
    """Holds in every state."""

    name: str
    holds: Callable[[S], bool]


@frozen(kw_only=True)
class Each(Generic[S, A]):
    """Holds in every step: of the state before, the action, and the state after."""

    name: str
    holds: Callable[[S, A, S], bool]


@frozen(kw_only=True)
class Sometimes(Generic[S]):
    """Holds in some state: a goal that must be possible at all."""

    name: str
    holds: Callable[[S], bool]


@frozen(kw_only=True)
class Eventually(Generic[S, A]):
    """Whenever `after` holds, `holds` comes at last, provided that nothing of `fair` is possible for ever and never taken.

    Each of `fair` says of an action whether it is of that kind. What can happen need not: where no fair action is possible,
    everything may rest. Without `after` it is said of the beginning.
    """

    name: str
    holds: Callable[[S], bool]
    fair: tuple[Callable[[A], bool], ...] = ()
    after: Callable[[S], bool] | None = None


Property: TypeAlias = Always[S] | Each[S, A] | Sometimes[S] | Eventually[S, A]


@frozen(kw_only=True)
class Bounds:
    """How many distinct states are visited at most, and how many steps from the beginning; none means no bound."""

    states: int | None = None
    depth: int | None = None


@frozen(kw_only=True)
class Progress:
    """How far an exploration is: states found, states expanded, and the depth that is being expanded."""

    states: int
    expanded: int
    depth: int


Watch: TypeAlias = Callable[[Progress], str | None]
"""Asked now and then; a text stops the exploration and is the reason why."""


# ---- What was found -------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Path(Generic[S, A]):
    """A way through the states: where it begins, and each action with the state that it led to."""

    start: S
    steps: tuple[tuple[A, S], ...] = ()

    @property
    def end(self) -> S:
        """The last state."""
        return self.steps[-1][1] if self.steps else self.start


@frozen(kw_only=True)
class Verdict(Generic[S, A]):
    """What became of one property: whether it holds, and a way that shows it where one does.

    `holds` is nothing where the exploration stopped too early to say. `witness` breaks the property, or reaches the goal of a
    `Sometimes`; `cycle` is what then goes on for ever, empty where everything rests.
    """

    property: str
    holds: bool | None
    witness: Path[S, A] | None = None
    cycle: tuple[tuple[A, S], ...] = ()


@frozen(kw_only=True)
class Exploration(Generic[S, A]):
    """Everything that was visited; states are in the order in which they were found, so the shortest way leads to each."""

    states: Sequence[S]
    transitions: int
    depth: int
    taken: Mapping[str, int]
    stopped: str | None
    verdicts: tuple[Verdict[S, A], ...]
    _came: Sequence[tuple[int, A] | None] = field(repr=False)

    @property
    def complete(self) -> bool:
        """Whether everything that can be reached was visited."""
        return self.stopped is None

    @property
    def broken(self) -> tuple[Verdict[S, A], ...]:
        """The verdicts of the properties that do not hold."""
        return tuple(each for each in self.verdicts if each.holds is False)

    def way_to(self, number: int) -> Path[S, A]:
        """Return the shortest way to a state, by its number."""
        return _way(self.states, self._came, number)


def _way(states: Sequence[S], came: Sequence[tuple[int, A] | None], number: int) -> Path[S, A]:
    start, steps = way_back(came.__getitem__, number)
    return Path(start=states[start], steps=tuple((action, states[end]) for action, end in steps))


# ---- Exploring ------------------------------------------------------------------------------------------------------


def explore(
    model: Model[S, A],
    properties: Iterable[Property[S, A]] = (),
    *,
    symmetry: bool = False,
    bounds: Bounds = Bounds(),
    watch: Watch = lambda progress: None,
) -> Exploration[S, A]:
    """Visit everything within the bounds and judge the properties; the same model is explored in the same order.

    Raises `ValueError` for two properties of one name, and for symmetry that the model does not have, or together with
    `Eventually`: in a reduced graph a cycle may join instances that only took turns, so that neither fairness nor its absence
    can be read from it.
    """
    wanted = tuple(properties)
    twice = [name for name, times in Counter(each.name for each in wanted).items() if times > 1]
    if twice:
        raise ValueError(f"two properties have one name, and could not be told apart: {', '.join(twice)}")
    if symmetry and model.symmetric is None:
        raise ValueError("this model says of no instances that they are interchangeable: explore it without symmetry")
    liveness = [each for each in wanted if isinstance(each, Eventually)]
    if symmetry and liveness:
        names = ", ".join(each.name for each in liveness)
        raise ValueError(
            f"symmetry cannot be used with what happens at last ({names}): in a reduced graph a cycle may join instances "
            "that only took turns, so fairness cannot be read from it. Explore without symmetry, or leave these out"
        )
    search = _Search(model, wanted, symmetry=symmetry, keeps_edges=bool(liveness))
    stopped = search.run(bounds, watch)
    return Exploration(
        states=search.states,
        transitions=sum(search.taken.values()),
        depth=search.depth,
        taken=dict(sorted(search.counts().items())),
        stopped=stopped,
        verdicts=tuple(search.verdict(each, stopped) for each in wanted),
        came=search.came,
    )


class _Search(Generic[S, A]):
    """One exploration while it runs: what was found, how, and what was seen of the properties."""

    def __init__(
        self, model: Model[S, A], properties: tuple[Property[S, A], ...], *, symmetry: bool, keeps_edges: bool
    ) -> None:
        self.model = model
        self.key = model.symmetric if symmetry else model.key
        self.states: list[S] = []
        self.came: list[tuple[int, A] | None] = []
        self.depth = 0
        self.taken: dict[A | str, int] = {}
        self.edges: list[list[tuple[A, int]]] = []
        self.seen: dict[str, Path[S, A]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._keeps_edges = keeps_edges
        self._of_states = tuple(each for each in properties if isinstance(each, Always | Sometimes))
        self._of_steps = tuple(each for each in properties if isinstance(each, Each))

    def run(self, bounds: Bounds, watch: Watch) -> str | None:
        """Visit what can be visited, and return the reason where something stopped it."""
        most = bounds.states
        for start in self.model.initial():
            alike = start if self.key is None else self.key(start)
            if alike not in self._numbers:
                self._find(alike, start, None)
        expanded, next_level = 0, len(self.states)
        while expanded < len(self.states):
            if expanded == next_level:
                self.depth, next_level = self.depth + 1, len(self.states)
            if bounds.depth is not None and self.depth >= bounds.depth:
                return f"the bound of {bounds.depth} steps"
            if expanded % WATCHED_EVERY == 0:
                reason = watch(Progress(states=len(self.states), expanded=expanded, depth=self.depth))
                if reason is not None:
                    return reason
            self._expand(expanded)
            expanded += 1
            if most is not None and len(self.states) > most:
                return f"the bound of {most} states"
        return None

    def _expand(self, number: int) -> None:
        """Take every action of one state; the loop that everything else waits for."""
        key, numbers, taken, name = self.key, self._numbers, self.taken, self.model.name
        of_steps, keeps = self._of_steps, self._keeps_edges
        before = self.states[number]
        leaving: list[tuple[A, int]] = []
        for action, after in self.model.steps(before):
            kind = action if name is None else name(action)
            taken[kind] = taken.get(kind, 0) + 1  # a Counter takes twice as long
            alike = after if key is None else key(after)
            if alike not in numbers:
                self._find(alike, after, (number, action))
            if keeps:
                leaving.append((action, numbers[alike]))
            if of_steps:
                self._judge(number, action, after)
        if keeps:
            self.edges.append(leaving)

    def _judge(self, number: int, action: A, after: S) -> None:
        """Hold one step to what must hold in each."""
        for each in self._of_steps:
            if each.name not in self.seen and not each.holds(self.states[number], action, after):
                way = _way(self.states, self.came, number)
                self.seen[each.name] = Path(start=way.start, steps=(*way.steps, (action, after)))

    def _find(self, alike: Hashable, state: S, came: tuple[int, A] | None) -> None:
        """Note a state that is new."""
        self._numbers[alike] = number = len(self.states)
        self.states.append(state)
        self.came.append(came)
        for each in self._of_states:
            if each.name not in self.seen and each.holds(state) is isinstance(each, Sometimes):
                self.seen[each.name] = _way(self.states, self.came, number)

    def counts(self) -> Counter[str]:
        """How often each kind of action was taken, by its name."""
        named: Counter[str] = Counter()
        for kind, times in self.taken.items():
            named[str(kind)] += times
        return named

    def verdict(self, each: Property[S, A], stopped: str | None) -> Verdict[S, A]:
        """Say what became of one property; a search that stopped early has only seen what it has seen."""
        if isinstance(each, Eventually):
            return self._at_last(each) if stopped is None else Verdict(property=each.name, holds=None)
        witness = self.seen.get(each.name)
        if isinstance(each, Sometimes):
            undecided = None if stopped is not None else False
            return Verdict(property=each.name, holds=undecided if witness is None else True, witness=witness)
        undecided = None if stopped is not None else True
        return Verdict(property=each.name, holds=undecided if witness is None else False, witness=witness)

    def _at_last(self, each: Eventually[S, A]) -> Verdict[S, A]:
        begins = [
            number
            for number, state in enumerate(self.states)
            if (self.came[number] is None if each.after is None else each.after(state))
        ]
        graph = Waiting(self.edges, [each.holds(state) for state in self.states], begins)
        for component in graph.components():
            needs = graph.fair_needs(component, each.fair)
            if needs is None:
                continue
            begin, steps = graph.way_in(component[0])
            way = _way(self.states, self.came, begin)
            inside = tuple((action, self.states[end]) for action, end in steps)
            round_trip = graph.round_trip(component, needs)
            return Verdict(
                property=each.name,
                holds=False,
                witness=Path(start=way.start, steps=(*way.steps, *inside)),
                cycle=tuple((action, self.states[end]) for action, end in round_trip),
            )
        return Verdict(property=each.name, holds=True)
