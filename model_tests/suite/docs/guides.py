"""Guides as programs: the fenced blocks of a Markdown page, in order, in one folder.

The info string of a block says what is done with it. `bash` is run and must end with 0, or as `bash exits 1` says. `text` stands
right after a block that is run, and is the standard output that is expected. A block with a file name (`python approvals.py`) is
that file, and `python` without one is a program that is run. Whatever is not run says so with its reason:
`bash not run: installs things`. A directive of the site (`{toctree}`) is none of our business.

Expected and real output are compared line by line. Runs of white space are one space, a whole number that stands alone is any
number, `…` is anything within a line, and a line that is only `…` is any number of lines. Run as a program, this file puts the
real numbers of today into the pages.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

BLOCK_SECONDS = 120
"""How long one block may run."""

ROOT = Path(__file__).resolve().parents[3]

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "guide").glob("*.md"))
)
"""The pages whose blocks are run, by their path in the repository."""

CHECKOUT = (
    "kernel/keyturn/port.py",
    "specs/keyturn_specs/scenarios",
    "docs/conf.py",
    "docs/reference",
    "docs/examples",
)
"""What guides find in a checkout."""

_BUILDS_ON = re.compile(r"<!-- The files of (\S+) are here too. -->")
_NUMBER = re.compile(r"(?<![\w.\-/])\d+(?![\w\-/]|\.\d)")
_FENCE = re.compile(r"^(`{3,})(.*)$")
_NOT_RUN = re.compile(r"not run: \S.*")
_EXITS = re.compile(r"exits (\d+)")
_FILE = re.compile(r"[\w./-]+\.\w+")


class Wrong(Exception):
    """A block that is not as it should be; says where."""


@frozen
class Block:
    """A fenced block: its line in the page, its language, the rest of its info string, and its text."""

    line: int
    language: str
    info: str
    text: str
    follows: bool = False
    """Whether nothing but blank lines stand between it and the block before."""


def blocks(text: str) -> Iterator[Block]:
    """Yield every fenced block of a page."""
    fence, head, start, body, follows = "", "", 0, [""], False
    for number, line in enumerate(text.splitlines(), start=1):
        found = _FENCE.match(line)
        if not fence and found:
            fence, head, start, body = found[1], found[2].strip(), number, []
        elif fence and line.rstrip() == fence:
            language, _, info = head.partition(" ")
            yield Block(start, language, info.strip(), "".join(f"{each}\n" for each in body), follows)
            fence, follows = "", True
        elif fence:
            body.append(line)
        elif line.strip():
            follows = False
    if fence:
        raise Wrong(f"line {start}: this block does not end")


def write_files(text: str, folder: Path) -> None:
    """Write the files of a page into a folder, for a page that builds on it."""
    for block in blocks(text):
        if _FILE.fullmatch(block.info):
            _write(block, folder)


@frozen
class Ran:
    """What became of a page: how many of its blocks were run, and its text with the numbers that came."""

    count: int
    text: str


def run_guide(page: str, folder: Path) -> Ran:
    """Run a page of the repository in a fresh folder, with as much of a checkout as guides need."""
    for name in CHECKOUT:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / name)
    text = (ROOT / page).read_text("utf-8")
    for name in _BUILDS_ON.findall(text):
        write_files((ROOT / page).with_name(name).read_text("utf-8"), folder)
    return run_page(text, folder)


def run_page(text: str, folder: Path) -> Ran:
    """Do what the blocks of a page say, in a folder; raise `Wrong` at the first problem."""
    count, lines = 0, text.splitlines()
    output: str | None = None
    for block in blocks(text):
        expected = output
        output = None
        if block.language.startswith("{") or _NOT_RUN.fullmatch(block.info):
            continue
        if block.language == "text" and not block.info:
            if expected is None or not block.follows:
                raise Wrong(f"line {block.line}: this output follows no block that is run; mark it `text not run: why`")
            problem = difference(block.text, expected)
            if problem is not None:
                raise Wrong(f"line {block.line}: {problem}\n--- the whole output ---\n{expected}")
            shown = renewed(block.text, expected).splitlines()
            lines[block.line : block.line + len(shown)] = shown
        elif _FILE.fullmatch(block.info):
            _write(block, folder)
        elif block.language in ("bash", "python"):
            output = _run(block, folder)
            count += 1
        else:
            raise Wrong(
                f"line {block.line}: nothing is known to do with `{block.language} {block.info}`; see the module"
            )
    return Ran(count, "\n".join(lines) + "\n")


def _write(block: Block, folder: Path) -> None:
    (folder / block.info).parent.mkdir(parents=True, exist_ok=True)
    (folder / block.info).write_text(block.text, "utf-8")


def _run(block: Block, folder: Path) -> str:
    exits = _EXITS.fullmatch(block.info)
    if block.info and exits is None:
        raise Wrong(f"line {block.line}: {block.info!r} is neither `exits N`, a file name, nor `not run: why`")
    program = ["bash", "-eu", "-c"] if block.language == "bash" else [sys.executable, "-c"]
    answer = subprocess.run(
        [*program, block.text],
        cwd=folder,
        env=environment(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=BLOCK_SECONDS,
        check=False,
    )
    due = int(exits[1]) if exits else 0
    if answer.returncode != due:
        said = f"line {block.line}: it ended with {answer.returncode} and not {due}"
        raise Wrong(f"{said}\n--- standard output ---\n{answer.stdout}\n--- standard error ---\n{answer.stderr}")
    return answer.stdout


def environment(outside: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a block: the commands of this Python first, and a terminal's width that is always the same."""
    path = os.pathsep.join((str(Path(sys.executable).parent), outside.get("PATH", "")))
    return {**outside, "PATH": path, "COLUMNS": "80", "PYTHONUTF8": "1"}


def difference(expected: str, real: str) -> str | None:
    """Return, in words, where an output is not as expected, or nothing."""
    lines = [_pattern(line) for line in expected.splitlines()]
    shown = _shown(real)
    if re.fullmatch("".join(lines), shown):
        return None
    fitting = next(count for count in range(len(lines), -1, -1) if re.match("".join(lines[:count]), shown))
    if fitting == len(lines):
        return "the output goes on after what is expected"
    return f"this line of the output is not there, or not here: {expected.splitlines()[fitting]!r}"


def renewed(expected: str, real: str) -> str:
    """Return an expected output with the numbers of a real one that fits it; columns keep their width where they can."""
    found = re.fullmatch("".join(_pattern(line) for line in expected.splitlines()), _shown(real))
    numbers = iter(found.groups() if found else ())

    def placed(old: re.Match[str]) -> str:
        space, width = old[0][:1].strip("0123456789"), len(old[0])
        return space + next(numbers, old[0].strip()).rjust(width - len(space))

    return re.sub(rf" *{_NUMBER.pattern}", placed, expected)


def _shown(real: str) -> str:
    return "".join(f"{_spaced(line)}\n" for line in real.splitlines())


def _pattern(line: str) -> str:
    if line.strip() == "…":
        return "(?:.*\n)*?"
    words = (re.escape(each).replace("…", ".*") for each in _NUMBER.split(_spaced(line)))
    return r"(\d+)".join(words) + "\n"


def _spaced(line: str) -> str:
    return " ".join(line.split())


def main() -> None:
    """Run every page, and write it with the numbers that came."""
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            (ROOT / page).write_text(run_guide(page, Path(folder)).text, "utf-8")


if __name__ == "__main__":
    main()
