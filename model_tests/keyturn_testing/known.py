"""Lists of what a system is known to do: a file of known failures, and a file of what is flaky (D9).

Both still run, and are still reported. A known failure does not break the verdict, and its list goes stale loudly: one that
passes breaks the run. What is flaky decides nothing, whether it fails or passes. Whatever can be seen in the files alone is
refused before anything is asked, all of it at once: what names nothing, stands twice, has no reason, or is in both lists.
"""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from attrs import fields, frozen

from keyturn.errors import Unreadable
from keyturn.wire import read
from keyturn_specs.catalogue import BY_ID
from keyturn_testing.systems.base import Unusable
from keyturn_testing.wording import bounded, escaped, listed, nearest, quoted

LARGEST_FILE = 1024 * 1024
"""The most bytes of a list that are read."""


@frozen(kw_only=True)
class Listed:
    """One entry of a list: the requirement, of which system (left out = of any), why, and where to read more."""

    requirement: str
    reason: str
    system: str | None = None
    link: str | None = None

    @property
    def says(self) -> str:
        """The reason, with the link behind it."""
        return self.reason if self.link is None else f"{self.reason} ({self.link})"

    def meets(self, other: "Listed") -> bool:
        """Whether two entries speak of the same requirement of the same system, where no system is any system."""
        return self.requirement == other.requirement and (
            self.system == other.system or None in (self.system, other.system)
        )


@frozen(kw_only=True)
class KnownFile:
    """What the file of known failures holds: `[[known]]` tables."""

    known: tuple[Listed, ...] = ()


@frozen(kw_only=True)
class FlakyFile:
    """What the file of the flaky holds: `[[flaky]]` tables."""

    flaky: tuple[Listed, ...] = ()


@frozen(kw_only=True)
class Lists:
    """Both lists, as they were read."""

    known: tuple[Listed, ...] = ()
    flaky: tuple[Listed, ...] = ()


Form = TypeVar("Form", KnownFile, FlakyFile)


def read_lists(known_path: Path | None = None, flaky_path: Path | None = None) -> Lists:
    """Read the TOML files of known failures and of the flaky; raise `Unusable` with every problem of both."""
    problems: list[str] = []
    known = _read(known_path, KnownFile, problems).known
    flaky = _read(flaky_path, FlakyFile, problems).flaky
    for path, entries, why in ((known_path, known, "is known to fail"), (flaky_path, flaky, "is flaky")):
        problems += dict.fromkeys(found for each in entries for found in _problems(path, each, entries, why))
    problems += dict.fromkeys(
        f"{_shown(flaky_path)}: {each.requirement} is in {_shown(known_path)} too, for the same system: a known failure "
        "always fails, and what is flaky does not: leave one"
        for each in flaky
        if any(each.meets(other) for other in known)
    )
    if problems:
        raise Unusable(*problems)
    return Lists(known=known, flaky=flaky)


def reasons_for(entries: tuple[Listed, ...], system: str) -> dict[str, str]:
    """Return the reasons that a list has for one system, by requirement; an entry for it goes before one for any."""
    mine = [each for each in entries if each.system == system]
    return {each.requirement: each.says for each in (*(each for each in entries if each.system is None), *mine)}


def _shown(path: Path | None) -> str:
    return escaped(str(path), 200)


def _read(path: Path | None, form: type[Form], problems: list[str]) -> Form:
    """What a file holds; an empty one where none was named, or where it has problems."""
    if path is None:
        return form()
    shown = _shown(path)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            problems.append(f"{shown} is larger than {LARGEST_FILE} bytes: it should be a list of requirements")
            return form()
        value = tomllib.loads(content.decode("utf-8-sig"))
        problems += _unknown_keys(value, form, shown)
        return read(form, value, shown)
    except OSError as error:
        problems.append(f"{shown} cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        problems.append(f"{shown} is not TOML: it is no UTF-8 text (byte {error.start})")
    except Unreadable as error:
        problems += [bounded(each, 300) for each in error.problems]
    except (RecursionError, ValueError) as error:
        problems.append(f"{shown} is not TOML: {bounded(str(error), 200)}")
    return form()


def _unknown_keys(value: Mapping[str, object], form: type[KnownFile] | type[FlakyFile], shown: str) -> Iterator[str]:
    """Keys that nothing reads: a list with a slip in a name would excuse nothing, or too much."""
    (table,) = (each.name for each in fields(form))
    names = tuple(each.name for each in fields(Listed))
    for key in sorted(value.keys() - {table}):
        yield f"{shown}: {quoted(key, 60)} is nothing that is read here: write each entry as a table [[{table}]]"
    entries = value.get(table)
    for number, entry in enumerate(entries if isinstance(entries, list) else (), start=1):
        for key in entry if isinstance(entry, Mapping) else ():
            if key not in names:
                meant = nearest(key, names)
                yield (
                    f"{shown}: the entry {number} has {quoted(key, 60)}, which nothing reads. {meant}"
                    f"An entry has {listed(names)}"
                )


def _problems(path: Path | None, each: Listed, entries: tuple[Listed, ...], why: str) -> Iterator[str]:
    name = _shown(path)
    if each.requirement not in BY_ID:
        meant = nearest(each.requirement, BY_ID)
        yield f"{name}: {quoted(each.requirement, 60)} is no requirement of this version. {meant}".rstrip()
        return
    same = [other for other in entries if (other.requirement, other.system) == (each.requirement, each.system)]
    if len(same) > 1:
        yield f"{name}: {each.requirement} stands there {len(same)} times for the same system: leave one"
    if not each.reason.strip():
        yield f"{name}: {each.requirement} has no reason: say why it {why}"
