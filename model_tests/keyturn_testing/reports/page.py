"""A page of text: lines that are wrapped to a width, with a style for parts of them.

rich decides what the terminal can show (colours, width, nothing in a pipe, nothing with NO_COLOR); what is written is one
string, so that a reader who goes away is noticed in one place. Lines that are meant to be copied are never wrapped.
"""

import os
import sys
import textwrap
from io import StringIO
from typing import Literal, TextIO, TypeAlias, cast

from attrs import field, mutable
from rich.console import Console
from rich.text import Text

from keyturn_testing.wording import Symbols, symbols_for

ColorSystem: TypeAlias = Literal["auto", "standard", "256", "truecolor", "windows"]

NARROWEST = 20
"""How many columns a page has at least."""

WIDEST = 160
"""How many columns a page has at most: longer lines are hard to read."""

WIDTH_OF_FILES = 100
"""How many columns a page has that is written to a file."""


@mutable
class Page:
    """Collects lines; `text` renders them for the console."""

    console: Console
    symbols: Symbols
    lines: list[Text] = field(factory=list)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return max(NARROWEST, min(self.console.width, WIDEST))

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Add a line as it is, cut to the width; a part may have a style."""
        line = Text.assemble(*(self._part(each) for each in parts))
        if len(line.plain) > self.width:
            line.truncate(self.width - len(self.symbols.more))
            line.append(self.symbols.more)
        self.lines.append(line)

    def copied(self, text: str, indent: int = 2) -> None:
        """Add a line that somebody will copy: it is never cut or wrapped."""
        self.lines.append(Text(" " * indent + text))

    def paragraph(self, text: str, *, first: str = "", indent: int = 0, style: str = "") -> None:
        """Add a text that is wrapped; `first` stands before its first line, and the others are indented by its length."""
        first = self.symbols.text(first)
        hanging = " " * (indent + len(first))
        wrapped = textwrap.wrap(
            self.symbols.text(text),
            width=self.width,
            initial_indent=" " * indent + first,
            subsequent_indent=hanging if len(hanging) < self.width // 2 else " " * min(indent, self.width // 4),
            break_on_hyphens=False,
        )
        self.lines += [Text(each, style=style) for each in wrapped]

    def blank(self) -> None:
        """Add an empty line."""
        self.lines.append(Text())

    def heading(self, text: str, style: str = "bold") -> None:
        """Add an empty line and a heading."""
        self.blank()
        self.paragraph(text, style=style)

    def text(self) -> str:
        """Return everything as it is written to the console; the console itself is not written to."""
        written = StringIO()
        system = cast("ColorSystem | None", self.console.color_system)
        console = Console(
            file=written, force_terminal=self.console.is_terminal, color_system=system, no_color=self.console.no_color
        )
        for line in self.lines:
            console.print(line, soft_wrap=True)
        return written.getvalue()

    def _part(self, part: str | tuple[str, str]) -> str | tuple[str, str]:
        return self.symbols.text(part) if isinstance(part, str) else (self.symbols.text(part[0]), part[1])


def page_for(file: TextIO) -> Page:
    """Return an empty page for standard output or standard error."""
    return Page(console_for(file), symbols_for(getattr(file, "encoding", None)))


def page_for_files() -> Page:
    """Return an empty page for a UTF-8 file: without colours, and as wide everywhere."""
    return Page(Console(color_system=None, force_terminal=False, width=WIDTH_OF_FILES), symbols_for("utf-8"))


def console_for(file: TextIO) -> Console:
    """Return the console of a stream; NO_COLOR takes away every escape sequence, not only colours."""
    return Console(
        file=file,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        markup=False,
        emoji=False,
        highlight=False,
    )


def page_for_messages() -> Page:
    """Return an empty page for standard error, or for nobody when there is none."""
    return page_for_files() if sys.stderr is None else page_for(sys.stderr)


def page_for_stdout() -> Page:
    """Return an empty page for standard output, or for nobody when there is none."""
    return page_for_files() if sys.stdout is None else page_for(sys.stdout)
