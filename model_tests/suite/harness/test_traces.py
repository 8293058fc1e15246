"""Traces are values that replay against any system; files of them are read with care."""

from pathlib import Path

import pytest

from keyturn.errors import Unreadable
from keyturn.values import CaseKey
from keyturn_testing import traces
from keyturn_testing.judging import Broken, Finding
from keyturn_testing.shrinking import Reproduce, shrink
from keyturn_testing.traces import Call, Context, Step, Trace, read_trace, trace_of, unlike, write_trace

CONTEXT = Context(
    {"c1": {"card": {"id": "card-19", "options": [{"id": "yes"}]}}, "c2": {"outcome": "rejected"}},
    {CaseKey("acme", "trip", "case-1"): 4},
)


class TestReferences:
    """A call names what earlier calls brought by reference."""

    @pytest.mark.parametrize(
        ("reference", "found"),
        [
            ({"$ref": "c1/card/id"}, "card-19"),
            ({"$ref": "c1/card/options/0/id"}, "yes"),
            ({"$ref": "c1/card/options/7/id"}, traces.NOTHING),
            ({"$ref": "c2/card/id"}, traces.NOTHING),
            ({"$ref": "never/card/id"}, traces.NOTHING),
            ({"$ref": "c2/card/case_revision", "else": 1}, 1),
            ({"$revision": ["acme", "trip", "case-1"]}, 4),
            ({"$revision": ["acme", "trip", "case-1"], "plus": 2}, 6),
            ({"$revision": ["acme", "trip", "another"]}, traces.NOTHING),
            ({"$revision": "acme"}, traces.NOTHING),
            ({"deep": [{"$ref": "c1/card/id"}, 1]}, {"deep": ["card-19", 1]}),
        ],
        ids=str,
    )
    def test_a_reference_resolves(self, reference: object, found: object) -> None:
        """A reference is what it points at, what it names as `else`, or an id that never existed."""
        assert CONTEXT.resolve(reference) == found

    def test_unlike_gives_an_id_of_the_same_form(self) -> None:
        """An id that never existed looks like one that does, and is none that was ever seen."""
        never = CONTEXT.resolve({"$unlike": "c1/card/id"})
        assert isinstance(never, str)
        assert never.startswith("card-")
        assert never != "card-19"
        assert len(never) == len("card-19")
        assert CONTEXT.resolve({"$unlike": "never/card/id"}) == traces.NOTHING

    def test_unlike_never_gives_what_is_taken(self) -> None:
        """When every turn of the letters is taken the id grows."""
        taken = {f"{digit}" for digit in range(10)}
        assert unlike("7", taken) == "70"
        assert unlike("-", set()) == "-0"


class TestFiles:
    """A trace file that cannot be used says what, where and why."""

    def test_a_trace_reads_back(self, tmp_path: Path) -> None:
        """What is written is read, and the file is ASCII."""
        trace = trace_of([Call(operation="case.open", params={"account": "ac\u00e9", "n": 1}, label="c1")])
        path = tmp_path / "trace.json"
        path.write_text(write_trace(trace), encoding="ascii")
        assert read_trace(path) == trace

    @pytest.mark.parametrize(
        ("content", "says"),
        [
            (b"{", "trace.json:1:2"),
            (b"\xff", "not JSON text"),
            (b"[]", "expected an object"),
            (b'{"steps": 7, "keyturn_trace": "x"}', "keyturn_trace"),
            (b'{"steps": [], "keyturn_trace": 99}', "format 99"),
            (b"[" * 100_000, "not JSON text"),
        ],
        ids=["cut short", "not text", "a list", "wrong types", "newer", "nested"],
    )
    def test_what_is_no_trace_is_refused(self, tmp_path: Path, content: bytes, says: str) -> None:
        """Each kind of bad file gets a message and no traceback of a parser."""
        path = tmp_path / "trace.json"
        path.write_bytes(content)
        with pytest.raises(Unreadable, match=says):
            read_trace(path)

    def test_a_missing_or_huge_file_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file that is not there, and one that is too large, are not read."""
        with pytest.raises(Unreadable, match="No such file"):
            read_trace(tmp_path / "none.json")
        monkeypatch.setattr(traces, "LARGEST_FILE", 1)
        (tmp_path / "large.json").write_text("{}")
        with pytest.raises(Unreadable, match="larger than"):
            read_trace(tmp_path / "large.json")


def step(name: str) -> Step:
    """Return a step that is known by its name."""
    return Step(calls=(Call(operation=name, params={"blocking": True, "expires_in": 5}),))


def broken_when(*names: str) -> Reproduce:
    """Return a reproduction that fails when all of these steps are there."""

    def reproduce(steps: tuple[Step, ...]) -> Finding | None:
        there = {each.calls[0].operation for each in steps}
        return finding("I14.1") if there >= set(names) else finding("L2")

    return reproduce


def finding(requirement: str) -> Finding:
    """Return a finding that only says what broke."""
    return Finding(
        broken=(Broken(requirement=requirement, seen=""),),
        method="card.respond",
        differences=(),
        moment=None,  # type: ignore[arg-type]  # the shrinker looks at the signature only
        answered=None,
        admissible=(),
    )


class TestShrinking:
    """The shortest trace that still breaks the same requirement at the same operation."""

    @pytest.mark.parametrize("needed", [("a",), ("c", "f"), ("a", "d", "h"), tuple("abcdefgh")], ids=str)
    def test_only_what_is_needed_is_left(self, needed: tuple[str, ...]) -> None:
        """Every step that can go is gone, wherever it stood, and other faults are not slipped to."""
        steps = tuple(step(each) for each in "abcdefgh")
        shrunk = shrink(steps, broken_when(*needed), finding("I14.1"))
        assert tuple(each.calls[0].operation for each in shrunk) == needed

    def test_what_is_left_is_simplified(self) -> None:
        """Fields that do not matter take their plainest value."""
        (shrunk,) = shrink((step("a"),), broken_when("a"), finding("I14.1"))
        assert shrunk.calls[0].params == {"blocking": False}

    def test_what_does_not_reproduce_stays_whole(self) -> None:
        """A trace that shows nothing the second time is kept as it was found."""
        steps = tuple(step(each) for each in "abc")
        assert shrink(steps, lambda candidate: None, finding("I14.1")) == steps


def test_blanking_leaves_only_the_steps() -> None:
    """What was recorded never decides anything."""
    trace = Trace(steps=(step("a"),), recorded=({"outcome": "resolved"},), requirement="I14.1", seed=3)
    assert trace.blanked() == Trace(steps=(step("a"),))
