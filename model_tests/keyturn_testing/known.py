"""Known failures: a file of what a system is known to break, so that CI can be a gate before everything holds (D9).

Known failures still run, and are still reported; they only do not break the verdict. The list goes stale loudly: one that
passes breaks the run, and one that names nothing, or stands twice, is refused before anything is asked.
"""

import tomllib
from pathlib import Path

from attrs import frozen

from keyturn.errors import Unreadable
from keyturn.wire import read
from keyturn_specs.catalogue import BY_ID
from keyturn_testing.systems.base import Unusable
from keyturn_testing.wording import nearest

LARGEST_FILE = 1024 * 1024
"""The most bytes of a file of known failures that are read."""


@frozen(kw_only=True)
class KnownFailure:
    """One failure that is known: the requirement, of which system (left out = of any), why, and where to read more."""

    requirement: str
    reason: str
    system: str | None = None
    link: str | None = None

    @property
    def says(self) -> str:
        """The reason, with the link behind it."""
        return self.reason if self.link is None else f"{self.reason} ({self.link})"


@frozen(kw_only=True)
class KnownFile:
    """What the file holds: `[[known]]` tables."""

    known: tuple[KnownFailure, ...] = ()


def read_known(path: Path) -> tuple[KnownFailure, ...]:
    """Read a TOML file of known failures; raise `Unusable` with every problem of it."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Unusable(f"{path} is larger than {LARGEST_FILE} bytes: it should be a list of known failures")
        value = tomllib.loads(path.read_text("utf-8"))
        known = read(KnownFile, value, str(path)).known
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unusable(f"{path} is not TOML: {error}") from None
    except Unreadable as error:
        raise Unusable(*error.problems) from None
    problems = [_problem(path, each, known) for each in known]
    found = [each for each in dict.fromkeys(problems) if each is not None]
    if found:
        raise Unusable(*found)
    return known


def _problem(path: Path, each: KnownFailure, known: tuple[KnownFailure, ...]) -> str | None:
    if each.requirement not in BY_ID:
        return f"{path}: {each.requirement!r:.80} is no requirement of this version. {nearest(each.requirement, BY_ID)}"
    same = [other for other in known if (other.requirement, other.system) == (each.requirement, each.system)]
    if len(same) > 1:
        return f"{path}: {each.requirement} stands there {len(same)} times for the same system: leave one"
    return None if each.reason.strip() else f"{path}: {each.requirement} has no reason: say why it is known to fail"


def reasons_for(known: tuple[KnownFailure, ...], system: str) -> dict[str, str]:
    """Return the reasons of the known failures of one system, by requirement."""
    return {each.requirement: each.says for each in known if each.system in (None, system)}
