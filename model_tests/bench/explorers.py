"""Our explorer beside SPIN, on models that have the same states: how fast each is, when it has the answer, what memory it takes.

SPIN's models are translated by hand, in `spin/`. That they have the same states is checked in every repetition, and a
difference ends the bench: speed can only be compared between two searches for the same thing.
"""

import json
import re
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from keyturn_testing.two_phase import DISTINCT_STATES
from launching import SOURCES, Launcher, give_up
from measuring import Table

EXPLORE_ALONE = Path(__file__).resolve().parent / "explore_alone.py"
DEPTH = 10_000
"""The longest way that SPIN makes room for; all of these are far shorter."""


@frozen
class Search:
    """One complete exploration: the seconds of the search alone, and of everything from the command to the answer."""

    states: int
    transitions: int
    seconds: float
    whole_seconds: float
    peak_bytes: int


@frozen
class Verifier:
    """One way to make a verifier with SPIN: its model, and the options of its C program."""

    name: str
    model: str
    options: tuple[str, ...]
    has_all_states: bool = True


@frozen
class Subject:
    """One model within bounds: what both sides call it, and what ours is known to have, where that is published."""

    name: str
    ours: tuple[str, ...]
    definitions: tuple[str, ...]
    verifiers: tuple[Verifier, ...]
    repetitions: int
    published: int | None = None
    same_transitions: bool = False


ALL_ORDERS = ("-DNOREDUCE",)
IN_DEPTH, IN_BREADTH = "SPIN, depth first", "SPIN, breadth first"


def participants(number: int, repetitions: int) -> Subject:
    """Two-phase commit with so many participants."""
    model = "two_phase.pml"
    return Subject(
        f"{number} participants",
        ("two-phase", str(number)),
        (f"-DN={number}",),
        (
            Verifier(IN_DEPTH, model, ALL_ORDERS),
            Verifier(IN_BREADTH, model, (*ALL_ORDERS, "-DBFS")),
            Verifier("SPIN, a process each, reduced by partial orders", "two_phase_processes.pml", (), False),
        ),
        repetitions,
        published=DISTINCT_STATES.get(number),
        same_transitions=True,
    )


def cards(number: int, cases: int, attempts: int, repetitions: int) -> Subject:
    """The card world within bounds."""
    model, words = "card_world.pml", [f"{number} card{'s' * (number > 1)}"]
    words += [f"{cases} cases"] * (cases > 1) + [f"{attempts} attempts"] * (attempts > 1)
    return Subject(
        ", ".join(words),
        ("card-world", str(number), str(cases), str(attempts)),
        (f"-DCARDS={number}", f"-DCASES={cases}", f"-DATTEMPTS={attempts}"),
        (Verifier(IN_DEPTH, model, ALL_ORDERS), Verifier(IN_BREADTH, model, (*ALL_ORDERS, "-DBFS"))),
        repetitions,
    )


# ---- One search -----------------------------------------------------------------------------------------------------


def search_ours(launcher: Launcher, subject: Subject, *, symmetry: bool) -> Search:
    """Explore a model in a process of its own."""
    arguments = (*subject.ours, *(("--symmetry",) if symmetry else ()))
    launched = launcher.run(sys.executable, str(EXPLORE_ALONE), *arguments)
    found = json.loads(launched.output)
    return Search(found["states"], found["transitions"], found["seconds"], launched.seconds, launched.peak_bytes)


def search_spin(launcher: Launcher, subject: Subject, verifier: Verifier, states: int) -> Search:
    """Generate a verifier, compile it and run it, with a hash table of one slot or two for each of so many states."""
    generated = launcher.run("spin", *subject.definitions, "-a", str(SOURCES / verifier.model))
    compiled = launcher.run("gcc", "-w", "-O2", "-DSAFETY", *verifier.options, "-o", "pan", "pan.c")
    launched = launcher.run("./pan", f"-m{DEPTH}", f"-w{max(10, states.bit_length())}")
    stored = re.search(r"(\d+) states, stored", launched.output)
    transitions = re.search(r"(\d+) transitions", launched.output)
    complete = "errors: 0" in launched.output and not re.search(r"too small|not completed", launched.output)
    if stored is None or transitions is None or not complete:
        give_up(f"{verifier.name} gave no complete answer on {subject.name}:\n{launched.output}")
    return Search(
        int(stored[1]),
        int(transitions[1]),
        launched.seconds,
        generated.seconds + compiled.seconds + launched.seconds,
        launched.peak_bytes,
    )


# ---- What is compared -----------------------------------------------------------------------------------------------

OURS, REDUCED = "ours", "ours, with symmetry"


def compare(launcher: Launcher, subject: Subject) -> Mapping[str, Search]:
    """Search with each explorer in turn and return the medians; a difference in what was found ends the bench."""
    found: dict[str, list[Search]] = {}
    for _ in range(subject.repetitions):
        ours = search_ours(launcher, subject, symmetry=False)
        found.setdefault(OURS, []).append(ours)
        found.setdefault(REDUCED, []).append(search_ours(launcher, subject, symmetry=True))
        if subject.published not in (None, ours.states):
            give_up(f"{subject.name}: ours has {ours.states} states, and {subject.published} are published")
        for verifier in subject.verifiers:
            theirs = search_spin(launcher, subject, verifier, ours.states)
            found.setdefault(verifier.name, []).append(theirs)
            _require_the_same(subject, verifier, ours, theirs)
    return {name: _median(each) for name, each in found.items()}


def _require_the_same(subject: Subject, verifier: Verifier, ours: Search, theirs: Search) -> None:
    if theirs.states > ours.states or (verifier.has_all_states and theirs.states < ours.states):
        give_up(f"{subject.name}: {verifier.name} stored {theirs.states} states, and ours has {ours.states}")
    # SPIN counts the beginning as a transition.
    if subject.same_transitions and verifier.has_all_states and theirs.transitions != ours.transitions + 1:
        give_up(f"{subject.name}: {verifier.name} took {theirs.transitions} transitions, and ours {ours.transitions}")


def _median(searches: Sequence[Search]) -> Search:
    first = searches[0]
    seconds, whole, peak = (
        statistics.median(values)
        for values in zip(*((each.seconds, each.whole_seconds, each.peak_bytes) for each in searches), strict=True)
    )
    return Search(first.states, first.transitions, seconds, whole, int(peak))


HEAD = ("what", "explorer", "states", "transitions", "states a second", "search", "complete answer", "peak memory")


def _rows(subject: Subject, found: Mapping[str, Search]) -> list[list[str]]:
    return [
        [
            subject.name if name == OURS else "",
            name,
            f"{each.states:,}",
            f"{each.transitions:,}",
            f"{float(f'{each.states / each.seconds:.3g}'):,.0f}",
            _duration(each.seconds),
            _duration(each.whole_seconds),
            f"{each.peak_bytes / 2**20:,.1f} MiB",
        ]
        for name, each in found.items()
    ]


def _duration(seconds: float) -> str:
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1000:,.1f} ms"


def _compared(subjects: Sequence[Subject]) -> list[list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        launcher = Launcher(Path(folder))
        return [row for each in subjects for row in _rows(each, compare(launcher, each))]


def _repetitions(subjects: Sequence[Subject]) -> str:
    few = min(each.repetitions for each in subjects)
    many = max(each.repetitions for each in subjects)
    largest = " and ".join(each.name for each in subjects if each.repetitions == few)
    return f"Medians of {many} repetitions that take turns, {few} for {largest}."


COLUMNS = (
    "The search is that alone, for SPIN the run of the verifier. The complete answer takes everything from the command to the "
    "answer: ours starts an interpreter and imports, SPIN generates and compiles the verifier. The memory is the peak of the "
    "process that searches."
)


def of_two_phase() -> Table:
    """Measure two-phase commit."""
    subjects = (participants(3, 5), participants(5, 5), participants(7, 3), participants(8, 3))
    return Table(
        "The explorer and SPIN: two-phase commit",
        "Two-phase commit with 3, 5, 7 and 8 participants. Each repetition fails unless SPIN stores exactly as many states as "
        "ours has, by exactly as many transitions (SPIN counts the beginning as one more); reduced by partial orders it may "
        f"store fewer. {COLUMNS} {_repetitions(subjects)}",
        HEAD,
        _compared(subjects),
    )


def of_the_card_world() -> Table:
    """Measure the card world."""
    subjects = (cards(1, 1, 1, 5), cards(1, 1, 2, 5), cards(2, 1, 1, 5), cards(2, 2, 1, 3))
    return Table(
        "The explorer and SPIN: the card world",
        "The card world without faults, which add steps and no states. Each repetition fails unless SPIN stores exactly as many "
        "states as ours has. SPIN's model is a translation by hand of what changes a state; ours takes every operation, also "
        f"those that are refused, through the contract itself, and judges every property. {COLUMNS} {_repetitions(subjects)}",
        HEAD,
        _compared(subjects),
    )
