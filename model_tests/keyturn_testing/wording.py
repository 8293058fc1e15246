"""Words for people: what a terminal can show, and how numbers and things are named.

What comes from a system is escaped to printable ASCII by `escaped` and `quoted` before it is shown (D12), and sentences that
hold some of it lose at least what does not print, by `bounded`. What is ours may be typographic; `Symbols` says how it is
written where the encoding has no more than ASCII.
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from attrs import field, frozen

from keyturn_testing.systems.saying import escaped, legible, quoted

__all__ = [
    "ASCII",
    "TYPOGRAPHIC",
    "Symbols",
    "an",
    "bounded",
    "counted",
    "escaped",
    "listed",
    "nearest",
    "quoted",
    "symbols_for",
]

_PLAINER: Mapping[str, str] = {"…": "...", "→": "->", "·": "-", "≠": "!=", "≤": "<=", "≥": ">=", "–": "-", "’": "'"}


@frozen
class Symbols:
    """The few signs of a report, and how our own typography is written."""

    arrow: str = "→"
    more: str = "…"
    dot: str = "·"
    spelled: Mapping[str, str] = field(factory=dict)

    def text(self, ours: str) -> str:
        """Return one of our own texts as it can be shown."""
        for typographic, plain in self.spelled.items():
            ours = ours.replace(typographic, plain)
        return ours

    def cut(self, text: str, width: int) -> str:
        """Return a text cut to a width, with a sign where it goes on."""
        if len(text) <= width:
            return text
        room = width - len(self.more)
        return text[:room].rstrip() + self.more if room > 0 else text[: max(width, 0)]


TYPOGRAPHIC = Symbols()
ASCII = Symbols(arrow="->", more="...", dot="-", spelled=_PLAINER)


def symbols_for(encoding: str | None) -> Symbols:
    """Return the signs that an encoding can write."""
    try:
        "".join(_PLAINER).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return TYPOGRAPHIC


def bounded(text: str, limit: int) -> str:
    """Return a sentence in which nothing is left that does not print, and no more than `limit` characters of it."""
    printable = legible(text[:limit])
    return printable if max(len(printable), len(text)) <= limit else f"{printable[:limit]}..."


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return a number with its noun: `1 step`, `2 steps`."""
    return f"{number} {thing if number == 1 else things or thing + 's'}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Return names as people list them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}" if names else "none"


def an(words: str) -> str:
    """Return words with their indefinite article."""
    return f"{'an' if words[:1].lower() in set('aeiou') else 'a'} {words}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return what somebody may have meant by a name, as a question with a space after it, or nothing."""
    there = {each.casefold(): each for each in known}
    near = get_close_matches(name[:100].casefold(), there, n=2, cutoff=0.6)
    return f"Did you mean {' or '.join(quoted(there[each]) for each in near)}? " if near else ""
