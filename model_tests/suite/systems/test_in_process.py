"""An object in process replies, or breaks down with the blame where it belongs, and cannot reach into the suite."""

import asyncio
import collections
import enum
import signal
import time
from collections.abc import Generator
from datetime import UTC, datetime
from types import MappingProxyType

import pytest
from attrs import frozen

from keyturn.errors import OperationFailed, Unreadable, Unsupported
from keyturn.store import ReferenceStore
from keyturn.values import Json
from keyturn_testing.systems.base import Answered, Breakdown, NotOffered, WentWrong
from keyturn_testing.systems.in_process import InProcessSystem

from .programs import CASE, OpenObject, breakdown_of


class Colour(enum.StrEnum):
    """A text that has a name."""

    RED = "red"


class Size(enum.IntEnum):
    """A number that has a name."""

    SMALL = 1


@frozen
class Inner:
    """A record in a record."""

    id: str = "i"


@frozen
class Refusal:
    """A record of somebody else, with a default that must not be left out and a name that is no field."""

    outcome = "rejected"
    code: str = "not_found"
    inner: Inner = Inner()


class TestReplies:
    """Whatever a method may return or raise by the contract is a reply."""

    def test_the_reference_answers(self) -> None:
        """The reference store is reached through its methods, `describe` included."""
        system = InProcessSystem(ReferenceStore)
        assert system.call("reset", {"now": "2026-01-01T00:00:00Z"}) == Answered({})
        assert system.call("case.open", CASE) == Answered({"revision": 1})
        described = system.call("describe", {})
        assert isinstance(described, Answered)
        assert isinstance(described.result, dict)
        assert {type(each) for each in described.result["claims"]} == {str}
        system.close()

    @pytest.mark.parametrize(
        ("value", "result"),
        [
            ({"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
            (MappingProxyType({"a": (1, 2)}), {"a": [1, 2]}),
            (collections.OrderedDict(a=Colour.RED), {"a": "red"}),
            ({Colour.RED: Size.SMALL}, {"red": 1}),
            (Refusal(), {"outcome": "rejected", "code": "not_found", "inner": {"id": "i"}}),
            ({"text": "\ud800"}, {"text": "\ud800"}),
        ],
        ids=["mapping", "proxy", "enumeration", "enumerated name", "record", "surrogate"],
    )
    def test_a_result_is_plain_json(self, open_object: OpenObject, value: object, result: Json) -> None:
        """Mappings and records of any kind come out as plain dictionaries and lists."""
        reply = open_object(lambda **_: value).call("case.open", CASE)
        assert reply == Answered(result)
        assert isinstance(reply, Answered)
        assert isinstance(reply.result, dict)
        assert {type(each) for each in reply.result} == {str}
        assert {type(each) for each in reply.result.values()} <= {str, int, float, list, dict}

    def test_a_record_of_ours_is_written_as_the_protocol_has_it(self, open_object: OpenObject) -> None:
        """An outcome of the kernel carries its name, and leaves out what is absent."""
        from keyturn.responses import RefusalCode, Rejected

        reply = open_object(lambda **_: Rejected(code=RefusalCode.NOT_FOUND)).call("case.open", CASE)
        assert reply == Answered({"outcome": "rejected", "code": "not_found"})

    def test_a_missing_method_is_not_offered(self, open_object: OpenObject) -> None:
        """An object without the method does not offer the operation."""
        assert open_object(lambda **_: {}).call("card.get", {}) == NotOffered()

    def test_unsupported_is_not_offered(self, open_object: OpenObject) -> None:
        """`Unsupported` says the same as a missing method."""

        def answer(**_: object) -> object:
            raise Unsupported("not here")

        assert open_object(answer).call("case.open", CASE) == NotOffered()

    @pytest.mark.parametrize("definite", [True, False])
    def test_a_failed_operation_went_wrong(self, open_object: OpenObject, definite: bool) -> None:
        """`OperationFailed` keeps whether it may still have happened, and its message on one line."""

        def answer(**_: object) -> object:
            raise OperationFailed("disk\nfull", definite=definite)

        assert open_object(answer).call("case.open", CASE) == WentWrong(definite, "disk\\nfull")

    def test_awaitables_are_awaited_on_one_loop(self, open_object: OpenObject) -> None:
        """An asynchronous method is run to its end, and every call finds the same event loop."""
        loops = []

        async def answer(**_: object) -> object:
            await asyncio.sleep(0)
            loops.append(asyncio.get_running_loop())
            return {"revision": len(loops)}

        system = open_object(answer)
        assert [system.call("case.open", CASE) for _ in range(2)] == [Answered({"revision": n}) for n in (1, 2)]
        assert loops[0] is loops[1]

    def test_any_awaitable_will_do(self, open_object: OpenObject) -> None:
        """An object with `__await__` is as good as a coroutine."""

        class Soon:
            def __await__(self) -> Generator[None, None, object]:
                yield
                return {}

        assert open_object(lambda **_: Soon()).call("case.open", CASE) == Answered({})

    def test_the_maker_may_be_asynchronous(self) -> None:
        """What makes the object may be a coroutine too."""

        async def make() -> object:
            return ReferenceStore()

        system = InProcessSystem(make)
        assert isinstance(system.call("describe", {}), Answered)
        system.close()


class TestIsolation:
    """A system in process sees and shows copies, as one over a wire would."""

    def test_arguments_are_copies(self, open_object: OpenObject) -> None:
        """A system that changes what it was given does not change the step that is judged."""

        def answer(**params: object) -> object:
            payload = params["payload"]
            assert isinstance(payload, dict)
            payload["options"].append("forged")
            return {}

        params: dict[str, Json] = {"payload": {"options": ["a"]}}
        open_object(answer).call("case.open", params)
        assert params == {"payload": {"options": ["a"]}}

    def test_results_are_copies(self, open_object: OpenObject) -> None:
        """A system that changes what it answered does not change what was seen."""
        state: dict[str, list[int]] = {"cards": [1]}
        reply = open_object(lambda **_: state).call("case.open", CASE)
        state["cards"].append(2)
        assert reply == Answered({"cards": [1]})


class TestGarbage:
    """What is not plain JSON is the system's fault, and the message says where and what it is."""

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (None, "result is a NoneType"),
            ([1], "result is a list"),
            ({"a": {"b": [0, datetime.now(UTC)]}}, "result['a']['b'][1] is a datetime"),
            ({"a": b"x"}, "result['a'] is a bytes"),
            ({"a": {"x"}}, "result['a'] is a set"),
            ({"a": float("nan")}, "result['a'] is nan"),
            ({"a": float("-inf")}, "result['a'] is -inf"),
            ({1: 2}, "is under a name that is a int"),
            ({"\x1b[2J": object()}, "result['\\x1b[2J'] is a object"),
        ],
        ids=["nothing", "list", "time", "bytes", "set", "nan", "infinity", "name", "terminal"],
    )
    def test_the_path_and_type_are_named(self, open_object: OpenObject, value: object, said: str) -> None:
        """One value that JSON has not is named with its path."""
        breakdown = breakdown_of(open_object(lambda **_: value))
        assert breakdown.kind == "garbage"
        assert said in breakdown.message
        assert breakdown.message.isprintable()

    def test_a_circle_is_too_deep(self, open_object: OpenObject) -> None:
        """A result that contains itself ends at the bound of depth."""
        circle: dict[str, object] = {}
        circle["again"] = circle
        breakdown = breakdown_of(open_object(lambda **_: circle))
        assert (breakdown.kind, "deep" in breakdown.message) == ("garbage", True)

    def test_shared_parts_count_each_time(self, open_object: OpenObject) -> None:
        """A small object that would unfold to a huge text is too much."""
        value: object = {}
        for _ in range(60):
            value = {"left": value, "right": value}
        began = time.monotonic()
        assert breakdown_of(open_object(lambda **_: value)).kind == "too_much"
        assert time.monotonic() - began < 5


class TestCrash:
    """An exception is a crash of the system, told in one line."""

    def test_the_exception_is_named_with_its_place(self, open_object: OpenObject) -> None:
        """The message has the operation, the type, the message and the line; the log has the traceback."""

        def answer(**_: object) -> object:
            raise KeyError("x\ny")

        breakdown = breakdown_of(open_object(answer))
        assert breakdown.kind == "crashed"
        assert breakdown.message.startswith("case.open raised KeyError: ")
        assert "test_in_process.py:" in breakdown.message
        assert "\n" not in breakdown.message
        assert "Traceback" in breakdown.log

    @pytest.mark.parametrize(
        "error",
        [Unreadable("case.open", ("a", "b")), SystemExit(0), asyncio.CancelledError(), RecursionError(), MemoryError()],
        ids=lambda error: type(error).__name__,
    )
    def test_no_exception_gets_through(self, open_object: OpenObject, error: BaseException) -> None:
        """An exit, a cancellation and an unreadable request are crashes too: the suite judges on."""

        def answer(**_: object) -> object:
            raise error

        breakdown = breakdown_of(open_object(answer))
        assert (breakdown.kind, type(error).__name__ in breakdown.message) == ("crashed", True)

    def test_an_asynchronous_crash_is_one(self, open_object: OpenObject) -> None:
        """An exception after an await is told like any other, also a RuntimeError."""

        async def answer(**_: object) -> object:
            await asyncio.sleep(0)
            raise RuntimeError("late")

        breakdown = breakdown_of(open_object(answer))
        assert (breakdown.kind, "RuntimeError: late" in breakdown.message) == ("crashed", True)

    def test_hostile_messages_are_bounded(self, open_object: OpenObject) -> None:
        """A message that is huge, or that cannot be made, does not matter."""

        class Mute(Exception):
            def __str__(self) -> str:
                raise ValueError

        def huge(**_: object) -> object:
            raise ValueError("\x1b]0;" + "a" * 10**6)

        def mute(**_: object) -> object:
            raise Mute

        assert len(breakdown_of(open_object(huge)).message) < 600
        assert "cannot be shown" in breakdown_of(open_object(mute)).message

    def test_a_maker_that_fails_has_not_started(self) -> None:
        """When the object cannot be made, nothing has started."""
        with pytest.raises(Breakdown, match="ZeroDivisionError") as caught:
            InProcessSystem(lambda: 1 / 0)
        assert caught.value.kind == "not_started"

    def test_an_interrupt_is_ours(self, open_object: OpenObject) -> None:
        """Ctrl-C during a call ends the suite, and is no failure of the system."""

        def answer(**_: object) -> object:
            signal.raise_signal(signal.SIGINT)
            return {}

        with pytest.raises(KeyboardInterrupt):
            open_object(answer).call("case.open", CASE)
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
