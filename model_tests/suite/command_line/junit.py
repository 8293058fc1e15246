"""What a JUnit document may be: the constraints of the schema of Jenkins' xUnit plugin (`junit-10`), as tables.

It is the strictest of the schemas that are in use. What it refuses, one reader or another drops or stumbles over.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree as ET

from attrs import frozen


@frozen(kw_only=True)
class Form:
    """What an element may have: attributes, those that it must have, children, and text."""

    may: frozenset[str] = frozenset()
    must: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    text: bool = False


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_RESULT = Form(may=_words("type message"), text=True)

FORMS: Mapping[str, Form] = {
    "testsuites": Form(may=_words("name time tests failures errors"), children=_words("testsuite")),
    "testsuite": Form(
        may=_words("group time skipped timestamp hostname id package file log url"),
        must=_words("name tests failures errors"),
        children=_words("testsuite properties testcase system-out system-err"),
    ),
    "properties": Form(children=_words("property")),
    "property": Form(must=_words("name value")),
    "testcase": Form(
        may=_words("time classname group"),
        must=_words("name"),
        children=_words("skipped error failure system-out system-err"),
    ),
    "skipped": _RESULT,
    "error": _RESULT,
    "failure": _RESULT,
    "system-out": Form(text=True),
    "system-err": Form(text=True),
}


def problems(document: str) -> list[str]:
    """Return what the schema refuses in a document, and counts that are not those of its cases."""
    root = ET.fromstring(document)  # noqa: S314  # our own report
    found = [] if root.tag in ("testsuites", "testsuite") else [f"the root is {root.tag}"]
    found += [problem for element in root.iter() for problem in _of(element)]
    for suite in root.iter("testsuite"):
        kinds = Counter(child.tag for case in suite.iter("testcase") for child in case)
        counts = {"tests": sum(1 for _ in suite.iter("testcase")), "failures": kinds["failure"]}
        counts |= {"errors": kinds["error"], "skipped": kinds["skipped"]}
        found += [f"{name} is {suite.get(name)}, not {n}" for name, n in counts.items() if suite.get(name) != str(n)]
        names = Counter((case.get("classname"), case.get("name")) for case in suite.iter("testcase"))
        found += [f"{name} is there {count} times" for name, count in names.items() if count > 1]
    return found


def _of(element: ET.Element) -> Iterator[str]:
    form = FORMS.get(element.tag)
    if form is None:
        yield f"there is no {element.tag}"
        return
    there = frozenset(element.attrib)
    yield from (f"{element.tag} has no {each}" for each in form.must - there)
    yield from (f"{element.tag} has {each}" for each in there - form.must - form.may)
    yield from (f"{element.tag} holds {each.tag}" for each in element if each.tag not in form.children)
    if not form.text and (element.text or "").strip():
        yield f"{element.tag} has text"
    if not re.fullmatch(r"[0-9]{0,3}(\.[0-9]*)?", element.get("time", "0")):
        yield f"the time {element.get('time')} is none"
