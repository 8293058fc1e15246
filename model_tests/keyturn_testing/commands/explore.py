"""`keyturn explore`: visit every state of the contract itself within bounds, and say what holds everywhere.

No system is asked: what is explored is the kernel's own `admissible`. The exit code says whether every property holds (0), one
is broken (1), or the exploration ended at a bound and could not tell (2).
"""

import json
import resource
import sys
import time
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import click
from attrs import asdict, define, field

from keyturn_testing.commands.options import examples, format_option, output_path, seconds_of
from keyturn_testing.wording import counted

if TYPE_CHECKING:
    from keyturn.card_world import CardBounds, Happening
    from keyturn.explore import Exploration, Path, Progress, Verdict
    from keyturn.world import World
    from keyturn_testing.reports.graph_page import Recorded
    from keyturn_testing.reports.page import Page

    Found = Exploration[World, Happening]
    Judged = Verdict[World, Happening]

SAID_EVERY_SECONDS = 5.0
"""How often a long exploration says how far it is."""

_COUNT = click.IntRange(1, 4)

_MEBIBYTE = 2**20
_UNIT_OF_MAXRSS = 1 if sys.platform == "darwin" else 1024


def _seconds(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    return None if value is None else seconds_of(ctx, param, value)


@click.command(
    epilog=examples(
        "keyturn explore",
        "keyturn explore --cards 3 --cases 2",
        "keyturn explore --cards 1 --attempts 2 --no-symmetry --format json",
        "keyturn explore --cards 1 --html graph.html",
    )
)
@click.option("--cards", type=_COUNT, default=2, show_default=True, help="How many cards are ever presented.")
@click.option("--cases", type=_COUNT, default=1, show_default=True, help="How many cases there are.")
@click.option("--accounts", type=_COUNT, default=1, show_default=True, help="How many accounts the cases are dealt to.")
@click.option("--attempts", type=_COUNT, default=1, show_default=True, help="How many commands one card ever becomes.")
@click.option("--expiry/--no-expiry", default=True, show_default=True, help="Whether cards have deadlines.")
@click.option("--faults/--no-faults", default=True, show_default=True, help="Whether writes fail and processes end.")
@click.option("--administrative", is_flag=True, help="Close cases and withdraw cards, too.")
@click.option(
    "--symmetry/--no-symmetry",
    default=True,
    show_default=True,
    help="Take cards, and cases, that have only changed places for the same; what happens at last is judged without.",
)
@click.option("--states", type=click.IntRange(1), metavar="NUMBER", help="Stop after so many states.")
@click.option("--depth", type=click.IntRange(1), metavar="NUMBER", help="Stop so many steps from the beginning.")
@click.option("--time-limit", callback=_seconds, metavar="SECONDS", help="Stop after so many seconds.")
@click.option("--memory", type=click.IntRange(16), metavar="MIB", help="Stop when the process has grown so large.")
@click.option("--quiet", is_flag=True, help="Say nothing while it runs.")
@click.option(
    "--html",
    "html",
    metavar="FILE",
    callback=output_path,
    help="Write a page, too, in which one walks through what was found; it loads nothing.",
)
@format_option("text", "json")
def explore(
    symmetry: bool,
    states: int | None,
    depth: int | None,
    time_limit: float | None,
    memory: int | None,
    quiet: bool,
    html: FilePath | None,
    style: str,
    **bounds: int | bool,
) -> int:
    """Visit every state that cards can be in, by every order of events and every fault, and judge what must hold in all of them.

    Nobody is asked: this is the contract itself, within the bounds that the options set. Each property is named for its
    requirement, and what breaks one is shown as the shortest way to it. Exit 0: all hold; 1: one is broken; 2: it ended at
    a bound before it could tell.
    """
    from keyturn.card_properties import liveness, safety
    from keyturn.card_world import CardBounds, card_model
    from keyturn.explore import Bounds
    from keyturn.explore import explore as explored
    from keyturn_testing.files import say

    limits = CardBounds(**bounds)  # type: ignore[arg-type]  # click has checked the types of the options
    model, most = card_model(limits), states
    recorded: Recorded | None = None
    if html is not None:
        from keyturn_testing.reports.graph_page import recording_of

        recorded, most = recording_of(model, symmetry=symmetry), _most_of_a_page(states)
        model = recorded.model
    found = explored(
        model,
        safety() if symmetry else (*safety(), *liveness()),
        symmetry=symmetry,
        bounds=Bounds(states=most, depth=depth),
        watch=_Watch(seconds=time_limit, mebibytes=memory, quiet=quiet),
    )
    if states is None and most is not None and len(found.states) > most:
        raise click.ClickException(_too_large(most))
    say(_json(limits, found, symmetry=symmetry) if style == "json" else _text(limits, found, symmetry=symmetry))
    if html is not None and recorded is not None:
        _write_page(html, recorded, found, limits)
    return 1 if found.broken else 2 if found.stopped is not None else 0


# ---- The page -------------------------------------------------------------------------------------------------------


def _most_of_a_page(states: int | None) -> int:
    """How many states are visited for a page; raise `UsageError` where a page of so many was asked for that there is none."""
    from keyturn_testing.reports.graph_page import MOST_STATES

    if states is not None and states > MOST_STATES:
        raise click.UsageError(
            f"--states {states} and --html do not go together: a page holds up to {MOST_STATES} states, because a browser "
            f"grows slow with more. Give --states {MOST_STATES} or fewer, or leave --html out"
        )
    return MOST_STATES if states is None else states


def _too_large(most: int) -> str:
    return (
        f"no page was written, and nothing was judged: there are more than {most} states within these bounds, and a page "
        "holds no more, because a browser grows slow. Give smaller bounds (--cards, --cases, --attempts), "
        f"--states {most} for a page of those that are found first, or leave --html out"
    )


def _write_page(path: FilePath, recorded: "Recorded", found: "Found", limits: "CardBounds") -> None:
    from keyturn_testing.files import write_whole
    from keyturn_testing.reports.graph_page import graph_page

    try:
        write_whole(path, graph_page(recorded, found, ", ".join(_about(limits))))
    except OSError as error:
        message = f"the page could not be written to {path}: {error.strerror or error}"
        raise click.ClickException(message) from None


@define
class _Watch:
    """Ends an exploration that takes too long or grows too large, and now and then says how far it is."""

    seconds: float | None
    mebibytes: int | None
    quiet: bool
    began: float = field(factory=time.monotonic)
    said: float = field(factory=time.monotonic)

    def __call__(self, progress: "Progress") -> str | None:
        """Return why the exploration must stop, where it must."""
        from keyturn_testing.files import complain

        now = time.monotonic()
        if not self.quiet and now - self.said >= SAID_EVERY_SECONDS:
            self.said = now
            rate = progress.expanded / (now - self.began)
            waiting = progress.states - progress.expanded
            complain(
                f"keyturn: {counted(progress.states, 'state')} at depth {progress.depth}, {waiting} of them still to do, "
                f"{rate:.0f} states a second"
            )
        if self.seconds is not None and now - self.began >= self.seconds:
            return f"the time limit of {self.seconds:g} s"
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT_OF_MAXRSS // _MEBIBYTE
        if self.mebibytes is not None and grown >= self.mebibytes:
            return f"the memory limit of {self.mebibytes} MiB"
        return None


# ---- What is written ------------------------------------------------------------------------------------------------


def _steps(path: "Path[World, Happening]") -> list[str]:
    from keyturn.card_world import outcome_of

    return [f"{happening.name} → {outcome_of(happening)}" for happening, _ in path.steps]


_STATUS = {True: "holds", False: "broken", None: "unknown"}


def _json(limits: "CardBounds", found: "Found", *, symmetry: bool) -> str:
    written = {
        "bounds": asdict(limits),
        "symmetry": symmetry,
        "complete": found.complete,
        "stopped": found.stopped,
        "states": len(found.states),
        "transitions": found.transitions,
        "depth": found.depth,
        "actions": dict(found.taken),
        "properties": [
            {
                "name": each.property,
                "status": _STATUS[each.holds],
                "witness": None if each.witness is None else _steps(each.witness),
                "cycle": len(each.cycle),
            }
            for each in found.verdicts
        ],
    }
    return json.dumps(written, indent=1, ensure_ascii=False) + "\n"


def _about(limits: "CardBounds") -> list[str]:
    return [
        counted(limits.cards, "card"),
        counted(limits.cases, "case"),
        counted(limits.accounts, "account"),
        f"{counted(limits.attempts, 'command')} a card",
        *(["deadlines"] if limits.expiry else []),
        *(["faults"] if limits.faults else []),
        *(["closing"] if limits.administrative else []),
    ]


def _text(limits: "CardBounds", found: "Found", *, symmetry: bool) -> str:
    from keyturn_testing.reports.page import page_for_stdout

    page = page_for_stdout()
    page.paragraph(", ".join(_about(limits)), first="explored   ")
    same = "states that differ in names alone are one" if symmetry else "every state for itself"
    counts = f"{counted(len(found.states), 'state')}, {counted(found.transitions, 'transition')}, {found.depth} deep"
    page.paragraph(f"{counts}; {same}", first="visited    ")
    page.blank()
    for each in found.verdicts:
        style = {True: "green", False: "bold red", None: "yellow"}[each.holds]
        page.paragraph(each.property, first=f"{_STATUS[each.holds]:<9}", style=style)
    for each in found.broken:
        _tell(page, each)
    page.heading("How often each action was taken, and how often a fault hit it")
    for name, times, hit in _counts(found):
        page.paragraph(name, first=f"{times:>9}{hit or '':>9}  ")
    page.blank()
    page.paragraph(_verdict(found))
    return page.text()


def _counts(found: "Found") -> list[tuple[str, int, int]]:
    """The actions, the most frequent first: how often each went well, and how often a fault hit it."""
    counts: dict[str, list[int]] = {}
    for name, times in found.taken.items():
        action, _, fault = name.removesuffix(")").partition(" (")
        counts.setdefault(action, [0, 0])[bool(fault)] += times
    return sorted(((name, *each) for name, each in counts.items()), key=lambda row: (-row[1], row[0]))  # type: ignore[misc]  # two counts each


def _tell(page: "Page", broken: "Judged") -> None:
    page.heading(f"{broken.property}: the shortest way to break it")
    for number, each in enumerate(_steps(broken.witness) if broken.witness else [], 1):
        page.paragraph(each, first=f"{number:>3}. ")
    if broken.witness is not None and not broken.witness.steps:
        page.paragraph("It is broken at the very beginning, or cannot be reached at all.", indent=2)
    if broken.cycle:
        page.paragraph(f"and from there round and round, {counted(len(broken.cycle), 'step')} long", indent=5)


def _verdict(found: "Found") -> str:
    if found.broken:
        return f"broken: {counted(len(found.broken), 'property', 'properties')} of the contract itself (exit 1)"
    if found.stopped is not None:
        return f"unjudged: it ended at {found.stopped}, and what was not visited is not known (exit 2)"
    return "holds: every state was visited (exit 0)"
