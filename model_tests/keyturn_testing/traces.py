"""Steps and traces as values: what was asked, in a form that replays against any system (D10).

A call names what earlier calls brought by reference, so that a trace holds no system's own ids: `{"$ref": "c3/card/id"}`
is what the call labelled c3 answered at that JSON pointer, `{"$unlike": …}` is an id of the same form that nothing ever
had, `{"$like": …, "as": "case"}` is one that looks like that id and is another (`keyturn_testing.alike` has the forms), and
`{"$revision": [account, workflow, case], "plus": n}` is the revision at which a case was last read, n further on. A
reference to something that never came stands for what it names as `else`, or for an id that never existed, so that a
shortened trace still runs.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from attrs import field, frozen

from keyturn.errors import Unreadable
from keyturn.values import CaseKey, Json
from keyturn.wire import read, write
from keyturn_testing.alike import FORMS, is_same_id

FORMAT = 1
"""The version of the trace format."""

NOTHING = "no-such-thing"
"""What a reference to something that never came resolves to."""

_LAST_RUN = re.compile(r"[0-9]+(?!.*[0-9])|[0-9a-f]+$|[a-z]+$")

LARGEST_FILE = 16 * 1024 * 1024
"""The most bytes of a trace file that are read."""


@frozen(kw_only=True)
class Call:
    """One operation to call, with references in its params; `label` is how later calls refer to its answer."""

    operation: str
    params: Mapping[str, object] = field(factory=dict)
    label: str | None = None
    lane: int = 0


@frozen(kw_only=True)
class Step:
    """One or more calls, in lanes when they are to overlap, or a kill while they run."""

    calls: tuple[Call, ...]
    kill: bool = False


@frozen(kw_only=True)
class Trace:
    """The steps of one example, and what was recorded of the run that found it; the record never decides anything."""

    keyturn_trace: int = FORMAT
    requirement: str | None = None
    broken: tuple[str, ...] = ()
    says: str | None = None
    system: str | None = None
    seed: int | None = None
    steps: tuple[Step, ...]
    recorded: tuple[object, ...] = ()

    def blanked(self) -> "Trace":
        """The trace without what was recorded: what replay judges afresh."""
        return Trace(steps=self.steps)


def trace_of(calls: Iterable[Call]) -> Trace:
    """Return the trace of calls made one after the other."""
    return Trace(steps=tuple(Step(calls=(call,)) for call in calls))


def write_trace(trace: Trace) -> str:
    """Return a trace as ASCII JSON, the same for the same trace."""
    written = {"keyturn_trace": FORMAT, **cast(dict[str, Json], write(trace))}
    return json.dumps(written, indent=1, ensure_ascii=True) + "\n"


def read_trace(path: Path) -> Trace:
    """Read a trace file; raise `Unreadable` with what, where and why for anything that is not one."""
    where = f"the trace {path}"
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Unreadable(where, (f"it is larger than {LARGEST_FILE} bytes",))
        value = json.loads(path.read_bytes())
    except OSError as error:
        raise Unreadable(where, (f"{error.strerror or error}",)) from None
    except json.JSONDecodeError as error:
        raise Unreadable(where, (f"{path}:{error.lineno}:{error.colno}: {error.msg}",)) from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(where, (f"it is not JSON text: {type(error).__name__}",)) from None
    trace = read(Trace, cast(Json, value), where)
    if trace.keyturn_trace != FORMAT:
        problem = f"it has the format {trace.keyturn_trace}, and this version reads the format {FORMAT}"
        raise Unreadable(where, (problem,))
    return trace


def pointed(value: object, pointer: str) -> object:
    """Return what stands at a slash-separated path of an answer, or nothing."""
    for token in pointer.split("/") if pointer else ():
        if isinstance(value, Mapping):
            value = value.get(token)
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def unlike(text: str, taken: Iterable[str]) -> str:
    """Return an id of the same form that is not taken: other characters in its last run of digits or letters (I19.1)."""
    known = set(taken) | {text}
    found = _LAST_RUN.search(text)
    start, end = found.span() if found is not None else (0, 0)
    for turn in range(1, 36):
        changed = text[:start] + "".join(_turned(each, turn) for each in text[start:end]) + text[end:]
        if changed not in known:
            return changed
    return text + "0"


def _turned(character: str, turn: int) -> str:
    for alphabet in ("0123456789", "abcdef", "ghijklmnopqrstuvwxyz"):
        if character in alphabet:
            return alphabet[(alphabet.index(character) + turn) % len(alphabet)]
    return character


@frozen
class Context:
    """What references resolve to: the answers by label, the revisions as they were last read, and every id that was ever seen."""

    answers: Mapping[str, object]
    revisions: Mapping[CaseKey, int]

    def resolve(self, value: object) -> object:
        """Return a value with its references resolved; raise `Unreadable` for a form of likeness that there is not."""
        if isinstance(value, Mapping):
            if "$ref" in value:
                found = self._answered(str(value["$ref"]))
                return value.get("else", NOTHING) if found is None else found
            if "$unlike" in value:
                found = self._answered(str(value["$unlike"]))
                return unlike(found, _strings(self.answers)) if isinstance(found, str) else NOTHING
            if "$like" in value:
                return self._alike(str(value["$like"]), str(value.get("as")))
            if "$revision" in value:
                return self._revision(value)
            return {key: self.resolve(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.resolve(each) for each in value]
        return value

    def _answered(self, reference: str) -> object:
        label, _, pointer = reference.partition("/")
        return pointed(self.answers.get(label), pointer)

    def _alike(self, reference: str, form: str) -> object:
        """What looks like an id and is none that is known: where a form gives the same id, something else unknown."""
        if form not in FORMS:
            raise Unreadable("a reference", (f'{{"$like": …, "as": {form!r:.40}}} is none of: {", ".join(FORMS)}',))
        found = self._answered(reference)
        if not isinstance(found, str):
            return NOTHING
        other, taken = FORMS[form](found), set(_strings(self.answers))
        known = isinstance(other, str) and (is_same_id(other, found) or other in taken)
        return unlike(found, taken) if known else other

    def _revision(self, value: Mapping[object, object]) -> object:
        parts = value["$revision"]
        key = CaseKey(*map(str, parts)) if isinstance(parts, list | tuple) and len(parts) == 3 else None
        plus = value.get("plus", 0)
        current = None if key is None else self.revisions.get(key)
        return value.get("else", NOTHING) if current is None or not isinstance(plus, int) else current + plus


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _strings(each)
