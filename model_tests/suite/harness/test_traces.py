"""Traces are values that replay against any system; files of them are read with care."""

from pathlib import Path

import pytest

from keyturn.errors import Unreadable
from keyturn.operations import CardRespond
from keyturn.values import CaseKey, Untrusted
from keyturn_specs.memory import NOTHING_REMEMBERED
from keyturn_testing import traces
from keyturn_testing.alike import is_same_id
from keyturn_testing.judging import Broken, Finding
from keyturn_testing.matching import Binding
from keyturn_testing.oracle import Hypothesis, translate
from keyturn_testing.shrinking import PLAIN_TEXT, Reproduce, shrink
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


UUID = "0b0f8c1e-3f0c-4d7e-9a51-5d2f8e6c7a10"


def alike(seen: str, form: str, *others: str) -> object:
    """Return what looks like an id in this form, where these others are known too."""
    return Context({"c1": {"id": seen, "others": list(others)}}, {}).resolve({"$like": "c1/id", "as": form})


class TestLikeness:
    """An id that looks like another one is never that one, nor any other that is known (I7.7)."""

    @pytest.mark.parametrize(
        ("form", "found"),
        [
            ("case", "CARD-19"),
            ("leading_space", " card-19"),
            ("trailing_space", "card-19 "),
            ("normal_form", "\uff43\uff41\uff52\uff44\uff0d\uff11\uff19"),
            ("prefix", "card-1"),
            ("suffix", "card-19_"),
            ("zero_width", "c\u200bard-19"),
            ("empty", ""),
            ("number", 7),
            ("list", ["card-19"]),
        ],
    )
    def test_each_form_spoils_an_id(self, form: str, found: object) -> None:
        """What comes is the id with one thing changed, or of another type."""
        assert alike("card-19", form) == found

    def test_a_normal_form_is_turned_into_the_other(self) -> None:
        """Composed becomes decomposed, and the other way round."""
        assert alike("caf\u00e9", "normal_form") == "cafe\u0301"
        assert alike("cafe\u0301", "normal_form") == "caf\u00e9"

    def test_a_number_is_the_same_digits(self) -> None:
        """An id of digits is sent as their number, as long as JSON keeps it exact."""
        assert [alike(each, "number") for each in ("19", "019", "9" * 16, "9" * 17)] == [19, 7, 7, 7]

    @pytest.mark.parametrize("spelling", [UUID, UUID.upper(), f"{{{UUID}}}", f"urn:uuid:{UUID}", UUID.replace("-", "")])
    def test_another_spelling_of_a_uuid_is_the_same_id(self, spelling: str) -> None:
        """The other case of a UUID is the same UUID, so another one is sent; a space makes it none."""
        assert is_same_id(UUID, spelling)
        sent = alike(spelling, "case")
        assert isinstance(sent, str)
        assert not is_same_id(sent, UUID)
        assert alike(spelling, "trailing_space") == f"{spelling} "

    def test_what_is_known_is_never_sent(self) -> None:
        """A prefix that is another card, and digits that have no case, give an id that nothing had."""
        assert alike("card-19", "prefix", "card-1") not in {"card-1", "card-19"}
        assert alike("19", "case") not in {"19", traces.NOTHING}

    def test_what_never_came_is_nothing(self) -> None:
        """A reference to an answer that is not there gives an id that never existed."""
        assert CONTEXT.resolve({"$like": "never/card/id", "as": "case"}) == traces.NOTHING

    def test_a_form_that_there_is_not_is_said(self) -> None:
        """A misspelt form is an error with the forms that there are, and not another likeness."""
        with pytest.raises(Unreadable, match=r"'uper'.* none of: case, leading_space"):
            alike("card-19", "uper")

    def test_an_id_that_was_never_seen_is_one_that_nothing_had(self) -> None:
        """The oracle takes no look-alike for the card that it looks like, nor for any other of the model's."""
        hypothesis = Hypothesis(binding=Binding().with_pair("card", None, "card-1", "card-19"))
        for form in ("case", "trailing_space", "prefix", "zero_width"):
            sent = Untrusted({"interaction_id": alike("card-19", form), "option_id": "yes"})
            read = translate(
                CardRespond(account="acme", conversation="chat-1", response=sent), hypothesis, NOTHING_REMEMBERED
            )
            assert isinstance(read, CardRespond)
            assert isinstance(read.response, dict)
            # It stays like the model's own id, and is none that the model ever gives out.
            assert read.response["interaction_id"] in ("card-1 ", f"?{alike('card-19', form)}")


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

    def test_what_a_response_need_not_say_is_left_out(self) -> None:
        """Fields beside the answer go, and a long text becomes a short one where it must stay."""
        sent = {"option_id": "yes", "freeform_input": "x" * 99, "note": [[]]}
        long = Step(calls=(Call(operation="card.respond", params={"response": sent}),))

        def needs_text(steps: tuple[Step, ...]) -> Finding | None:
            response = steps[0].calls[0].params["response"]
            return finding("I14.1") if isinstance(response, dict) and response.get("freeform_input") else None

        (shrunk,) = shrink((long,), needs_text, finding("I14.1"))
        assert shrunk.calls[0].params["response"] == {"option_id": "yes", "freeform_input": PLAIN_TEXT}

    def test_what_does_not_reproduce_stays_whole(self) -> None:
        """A trace that shows nothing the second time is kept as it was found."""
        steps = tuple(step(each) for each in "abc")
        assert shrink(steps, lambda candidate: None, finding("I14.1")) == steps


def test_blanking_leaves_only_the_steps() -> None:
    """What was recorded never decides anything."""
    trace = Trace(steps=(step("a"),), recorded=({"outcome": "resolved"},), requirement="I14.1", seed=3)
    assert trace.blanked() == Trace(steps=(step("a"),))
