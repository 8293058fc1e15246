"""The page of the status machine, and its diagram, both drawn from the compiled table.

The diagram is layered: a state stands in the column of its distance from the initial one. It is plain SVG with its own
background, so that it shows on any page without a script, a font or a network.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape

from attrs import frozen

from keyturn.status import InteractionStatus
from keyturn.table import OPEN, STATUS_TABLE, TransitionTable
from keyturn_testing.reference_pages.markdown import code, link, page, table

_WIDTH, _HEIGHT = 112, 36
_COLUMN, _ROW, _MARGIN = 236, 62, 20


@frozen
class Place:
    """Where the box of a state stands: its left edge and its top, in pixels."""

    x: int
    y: int

    @property
    def middle(self) -> int:
        """The height of its middle."""
        return self.y + _HEIGHT // 2


def columns(machine: TransitionTable) -> list[list[str]]:
    """Return the states by their distance from the initial one, in the order of the table."""
    distances = {machine.initial: 0}
    waiting = [machine.initial]
    for state in waiting:
        for target in machine.rows[state].values():
            if target not in distances:
                distances[target] = distances[state] + 1
                waiting.append(target)
    found: dict[int, list[str]] = defaultdict(list)
    for state in waiting:
        found[distances[state]].append(state)
    return [found[distance] for distance in sorted(found)]


def places(machine: TransitionTable) -> Mapping[str, Place]:
    """Return where each state stands: states that lead on stand above those that end, and columns share their top."""
    return {
        state: Place(_MARGIN + number * _COLUMN, _MARGIN + row * _ROW)
        for number, states in enumerate(columns(machine))
        for row, state in enumerate(sorted(states, key=lambda each: not machine.rows[each]))
    }


def status_diagram() -> str:
    """Return the diagram of the status machine as SVG."""
    return diagram(STATUS_TABLE)


def diagram(machine: TransitionTable) -> str:
    """Return the diagram of a machine as SVG: the same text for the same table."""
    placed = places(machine)
    width = max(each.x for each in placed.values()) + _WIDTH + _MARGIN
    height = max(each.y for each in placed.values()) + _HEIGHT + _MARGIN
    return (
        "\n".join((_opening(machine, width, height), *_boxes(machine, placed), *_arrows(machine, placed), "</svg>"))
        + "\n"
    )


def _opening(machine: TransitionTable, width: int, height: int) -> str:
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" \
font-family="sans-serif" font-size="13">
<title>{escape(machine.machine)}</title>
<defs>
<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
<path d="M0,0 L8,4 L0,8 Z" fill="#444"/>
</marker>
</defs>
<rect width="{width}" height="{height}" rx="6" fill="#fff"/>"""


def _boxes(machine: TransitionTable, placed: Mapping[str, Place]) -> Iterator[str]:
    for state, place in placed.items():
        fill = "#eee" if not machine.rows[state] else "#fff" if state == machine.initial else "#dce9f9"
        edge = ' stroke-dasharray="4 3"' if state == machine.initial else ""
        yield (
            f'<rect x="{place.x}" y="{place.y}" width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="{fill}" stroke="#444"{edge}/>'
            f'<text x="{place.x + _WIDTH // 2}" y="{place.middle + 4}" text-anchor="middle">{escape(state)}</text>'
        )


def _arrows(machine: TransitionTable, placed: Mapping[str, Place]) -> Iterator[str]:
    for state, row in machine.rows.items():
        for event, target in row.items():
            yield _arrow(event, placed[state], placed[target])


def _arrow(event: str, start: Place, end: Place) -> str:
    """One arrow with its event: onwards from right edge to left edge, back as a bow above the boxes' middle."""
    if end.x > start.x:
        x1, y1, x2, y2 = start.x + _WIDTH, start.middle, end.x, end.middle
        half = x1 + 34
        path = f"M{x1},{y1} C{half},{y1} {half},{y2} {half + 14},{y2} L{x2},{y2}"
        at_x, at_y = (half + 14 + x2) // 2 - 2, y2 - 5
    else:
        x1, y1, x2, y2 = start.x, start.middle + 11, end.x + _WIDTH, end.middle + 11
        path = f"M{x1},{y1} L{x2},{y2}"
        at_x, at_y = x1 - 36, y1 + 15
    return (
        f'<path d="{path}" fill="none" stroke="#444" marker-end="url(#head)"/>'
        f'<text x="{at_x}" y="{at_y}" text-anchor="middle" fill="#444" font-size="12">{escape(event)}</text>'
    )


_ABOUT: Mapping[InteractionStatus, str] = {
    InteractionStatus.ACTIVE: "written, and waits for an answer",
    InteractionStatus.RESOLVING: "a valid answer was taken; its command is in flight, and the card still holds its slot",
    InteractionStatus.RESOLVED: "the command committed and its effects can be read, or the answer needed none",
    InteractionStatus.DECLINED: "a declining option was chosen",
    InteractionStatus.DISMISSED: "closed without deciding",
    InteractionStatus.INVALIDATED: "the case moved on, or another card took its place",
    InteractionStatus.EXPIRED: "its deadline passed (`expires_at <= now`)",
    InteractionStatus.FAILED: "the command failed, and policy recorded that",
}


def status_machine_page() -> str:
    """Return `status-machine.md`."""
    terminal = ", ".join(code(each) for each in InteractionStatus if each not in OPEN)
    introduction = (
        f"The life of a card. A card is *unwritten* until it is stored. {_and(OPEN)} are *open*: they hold a blocking slot. "
        f"The others are *terminal*, and nothing leaves them ({link('L2', 'L2', 'requirements.md')}): {terminal}."
    )
    rows = [
        (f"*{state}*" if state == STATUS_TABLE.initial else code(state), code(event), code(target))
        for state, event, target in _rows()
    ]
    statuses = [(code(each), _ABOUT[each]) for each in InteractionStatus]
    answer = (
        "An answer that needs no command takes `accept` and `commit` in one step, with no effect and no new revision. Every "
        "other pair of status and event is refused and changes nothing."
    )
    return page(
        "Status machine",
        introduction,
        "![The status machine of a card](status-machine.svg)",
        "## Transitions",
        table(("from", "event", "to"), rows),
        answer,
        "## Statuses",
        table(("status", "means"), statuses),
    )


def _and(statuses: frozenset[InteractionStatus]) -> str:
    return " and ".join(code(each) for each in InteractionStatus if each in statuses)


def _rows() -> Iterator[tuple[str, str, str]]:
    for state, row in STATUS_TABLE.rows.items():
        for event, target in row.items():
            yield state, event, target
