"""An explored graph as one page in which a person walks it: everything is in the page, and nothing is loaded.

What is written here is plain values as JSON; how they look is in `graph_assets`. Each text stands once in a table, and a step is
two numbers, so that a thousand states with two hundred thousand steps are a page of a few megabytes. The page runs what its own
hashes name (Content-Security-Policy), and shows texts as texts.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Hashable, Iterable
from hashlib import sha256
from importlib.resources import files
from typing import TypeAlias, TypeVar

from attrs import field, frozen

from keyturn.card_world import Happening
from keyturn.explore import Exploration, Model, Path, Verdict
from keyturn.status import UNWRITTEN
from keyturn.table import STATUS_TABLE
from keyturn.values import Json
from keyturn.version import VERSION
from keyturn.world import World
from keyturn_specs.catalogue import BY_ID
from keyturn_testing.recording import Recording
from keyturn_testing.reference_pages.machine import columns
from keyturn_testing.reports.graph_words import (
    CardInWords,
    StepInWords,
    first_found,
    renamed_between,
    state_in_words,
    step_in_words,
)
from keyturn_testing.wording import counted

MOST_STATES = 2_000
"""How many states a page holds: more than that nobody looks at, and a browser grows slow."""

Recorded: TypeAlias = Recording[World, Happening, StepInWords]
Found: TypeAlias = Exploration[World, Happening]

_SCRIPTS = ("graph", "walk", "dom", "map", "machine", "state", "search", "keys", "start")
_STATUS = {True: "holds", False: "broken", None: "unknown"}
_ID = re.compile(r"\b[A-Z]\d*(?:\.\d+)?\b")

T = TypeVar("T", bound=Hashable)


def recording_of(model: Model[World, Happening], *, symmetry: bool) -> Recorded:
    """Return a recording of the card world, of which a page can be made once it was explored."""
    same = _same_names(model)

    def told(happening: Happening, after: World, first: World) -> StepInWords:
        return step_in_words(happening, after, renamed_between(after, first, same) if symmetry else None)

    return Recording(model, told, symmetry=symmetry)


def _same_names(model: Model[World, Happening]) -> Callable[[World, World], bool]:
    key = model.key
    return (lambda one, other: one == other) if key is None else (lambda one, other: key(one) == key(other))


def graph_page(recorded: Recorded, found: Found, about: str) -> str:
    """Return the page of an exploration that was recorded; `about` says what was explored."""
    return page_of(graph(recorded, found, about))


# ---- The values -----------------------------------------------------------------------------------------------------


@frozen
class _Table:
    """Values that stand once, by their numbers."""

    numbers: dict[Hashable, int] = field(factory=dict)

    def number(self, value: Hashable) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


def graph(recorded: Recorded, found: Found, about: str) -> dict[str, Json]:
    """Return what the page knows, as plain values: the states, the steps by number, and what became of the properties."""
    told, cards = _Table(), _Table()
    states: list[Json] = []
    for world in found.states:
        words = state_in_words(world)
        states.append([_plain(words.cases), [cards.number(each) for each in words.cards], first_found(world)])
    steps: list[Json] = [
        [part for each in left for part in (told.number(each.told), each.end)] for left in recorded.steps
    ]
    counts = f"{counted(len(found.states), 'state')}, {counted(found.transitions, 'transition')}, {found.depth} deep"
    return {
        "version": VERSION,
        "about": about,
        "counts": counts,
        "stopped": found.stopped,
        "machine": _machine(),
        "cards": [[each.case, each.status, [*each.facts]] for each in _kept(cards, CardInWords)],
        "states": states,
        "told": [_told(each) for each in _kept(told, StepInWords)],
        "steps": steps,
        "properties": [_property(recorded, each) for each in found.verdicts],
        "requirements": {name: BY_ID[name].says for name in sorted(_named(found, _kept(told, StepInWords)))},
    }


def _kept(table: _Table, kind: type[T]) -> list[T]:
    return [each for each in table.numbers if isinstance(each, kind)]


def _plain(value: object) -> Json:
    """Tuples as lists."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    assert value is None or isinstance(value, str | int)
    return value


def _told(step: StepInWords) -> Json:
    return [
        step.kind,
        step.subject,
        step.fault,
        step.outcome,
        int(step.refused),
        _plain(step.because),
        _plain(step.moves),
        step.effects,
        None if step.renamed is None else [[*step.renamed.cards], [*step.renamed.says]],
    ]


def _machine() -> Json:
    """The status machine: the statuses by their distance from the beginning, and the transitions."""
    placed = [sorted(each, key=lambda state: not STATUS_TABLE.rows[state]) for each in columns(STATUS_TABLE)]
    rows = [[state, event, end] for state, row in STATUS_TABLE.rows.items() for event, end in row.items()]
    return {"unwritten": UNWRITTEN, "columns": [[*each] for each in placed], "rows": [[*each] for each in rows]}


def _property(recorded: Recorded, verdict: Verdict[World, Happening]) -> Json:
    witness = verdict.witness
    return {
        "name": verdict.property,
        "status": _STATUS[verdict.holds],
        "because": [*_ids(verdict.property)],
        "witness": None if witness is None else _numbers(recorded, witness),
        "cycle": [] if witness is None else _numbers(recorded, Path(start=witness.end, steps=verdict.cycle)),
    }


def _numbers(recorded: Recorded, path: Path[World, Happening]) -> list[Json]:
    """A way as the places of its steps among those that leave each state."""
    before, numbers = path.start, list[Json]()
    for happening, after in path.steps:
        numbers.append(recorded.step(before, happening, after)[1])
        before = after
    return numbers


def _ids(text: str) -> list[str]:
    """The requirements that a property names before its colon."""
    named, colon, _ = text.partition(":")
    return [each for each in _ID.findall(named) if colon and each in BY_ID]


def _named(found: Found, told: Iterable[StepInWords]) -> set[str]:
    ids = {name for each in told for name in each.because if name in BY_ID}
    return ids.union(*(_ids(each.property) for each in found.verdicts))


# ---- The page -------------------------------------------------------------------------------------------------------


def page_of(values: dict[str, Json]) -> str:
    """Return the page that shows these values; it holds no address, and its policy forbids to load anything."""
    style = _asset("style.css")
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(f"{each}.js") for each in _SCRIPTS) + "\n})();\n"
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"POLICY": policy, "STYLE": style, "VALUES": _inert(values), "SCRIPT": script}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return files("keyturn_testing.reports").joinpath("graph_assets", name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _inert(values: dict[str, Json]) -> str:
    """JSON in which nothing can end the element that it stands in."""
    text = json.dumps(values, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)
