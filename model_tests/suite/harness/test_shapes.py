"""Both sides are held to the schemas: every message says where, what and what was expected, and whose fault it is."""

import pickle
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS
from keyturn.errors import Unreadable
from keyturn.store import ReferenceStore
from keyturn.values import Json
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_specs.scenario import Scenario, scenarios
from keyturn_specs.schemas import params_name, protocol_schema, result_name
from keyturn_testing import intents
from keyturn_testing.driver import Driver
from keyturn_testing.engines.scenarios import steps_of
from keyturn_testing.intents import INTENTS
from keyturn_testing.observing import decoded
from keyturn_testing.replaying import replay
from keyturn_testing.shapes import LONGEST_VALUE, MOST_ITEMS, MOST_PROBLEMS, Checked, answered, problems_of
from keyturn_testing.systems.base import (
    Answered,
    Breakdown,
    BrokenRequest,
    Killed,
    Lanes,
    Reply,
    Schedule,
    System,
    Together,
)
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.traces import Call, Step

from .systems import QUICK, SHORT, held

CARD: dict[str, Any] = {
    "id": "card-1",
    "conversation": "chat-1",
    "workflow": "trip",
    "case": "case-1",
    "case_revision": 1,
    "kind": "boolean",
    "blocking": True,
    "revision_independent": False,
    "status": "active",
    "payload": {"title": "T", "options": [{"id": "yes", "label": "Yes", "freeform": {"kind": "forbidden"}}]},
    "payload_hash": "h",
    "created_at": "2026-01-01T00:00:00Z",
}
FOUND: dict[str, Any] = {"outcome": "found", "card": CARD}
ACTION = ("effects", 0, "action")
EFFECTS: dict[str, Any] = {
    "effects": [
        {
            "id": "effect-1",
            "command": "command-1",
            "idempotency_key": "key",
            "card": "card-1",
            "option": "yes",
            "action": {"kind": "custom", "key": "k", "payload": 1},
            "payload_hash": "h",
            "case_revision": 2,
        }
    ]
}
A_TIME = "is not an RFC 3339 time with an offset: write it as 2026-01-01T12:00:00Z"
STATUSES = "active, resolving, resolved, declined, dismissed, invalidated, expired, failed"
KINDS = "confirm_commands, apply_operation, select_target, resolve_clarification, custom, decline, decline_and_record, dismiss"

BROKEN: tuple[tuple[Mapping[str, Any], tuple[str | int, ...], object, tuple[str, ...]], ...] = (
    (FOUND, ("card", "id"), ..., ("$.card: 'id' is missing",)),
    (FOUND, ("card", "id"), None, ("$.card.id: expected a string, not null",)),
    (FOUND, ("card", "id"), 7, ("$.card.id: expected a string, not 7",)),
    (FOUND, ("card", "blocking"), 1, ("$.card.blocking: expected true or false, not 1",)),
    (FOUND, ("card", "case_revision"), True, ("$.card.case_revision: expected an integer, not true",)),
    (FOUND, ("card", "case_revision"), 1.5, ("$.card.case_revision: expected an integer, not 1.5",)),
    (FOUND, ("card", "case_revision"), None, ()),
    (FOUND, ("card", "case_revision"), 2.0, ()),
    (FOUND, ("card", "more"), {"deep": [None]}, ()),
    (FOUND, ("more",), 1, ()),
    (FOUND, ("card", "status"), "done", (f"$.card.status: 'done' is not one of {STATUSES}",)),
    (FOUND, ("card", "created_at"), "noon", (f"$.card.created_at: 'noon' {A_TIME}",)),
    (FOUND, ("card", "expires_at"), "noon", (f"$.card.expires_at: 'noon' {A_TIME}",)),
    (FOUND, ("card", "payload"), [], ("$.card.payload: expected an object, not a list",)),
    (FOUND, ("card", "payload", "options"), {}, ("$.card.payload.options: expected a list, not an object",)),
    (FOUND, ("card", "payload", "options", 0, "label"), ..., ("$.card.payload.options[0]: 'label' is missing",)),
    (FOUND, ("card", "payload", "options", 0, "freeform"), 5,
        ("$.card.payload.options[0].freeform: expected an object, not 5",)),
    (FOUND, ("card", "payload", "options", 0, "freeform"), {"max_length": "x"}, (
        "$.card.payload.options[0].freeform: 'kind' is missing",
        "$.card.payload.options[0].freeform.max_length: expected an integer, not 'x'",
    )),
    (FOUND, ("outcome",), "lost", ("$.outcome: 'lost' is not one of found, rejected",)),
    (FOUND, ("outcome",), None, ("$.outcome: null is not one of found, rejected",)),
    (FOUND, ("outcome",), ["found"], ("$.outcome: a list is not one of found, rejected",)),
    (FOUND, ("outcome",), ..., ("$: 'outcome' is missing",)),
    (FOUND, ("outcome",), "rejected", ("$: 'code' is missing",)),
    (EFFECTS, ("outcome",), "resolved", ("$.outcome: expected null, not 'resolved'",)),
    (EFFECTS, ("outcome",), None, ()),
    (EFFECTS, (*ACTION, "kind"), "run", (f"$.effects[0].action.kind: 'run' is not one of {KINDS}",)),
    (EFFECTS, (*ACTION, "kind"), ..., ("$.effects[0].action: 'kind' is missing",)),
    (EFFECTS, (*ACTION, "key"), 1, ("$.effects[0].action.key: expected a string, not 1",)),
    (EFFECTS, (*ACTION, "payload"), None, ("$.effects[0].action.payload: expected a value, not null",)),
    (EFFECTS, ACTION, "decline", ("$.effects[0].action: expected an object, not 'decline'",)),
    (EFFECTS, ("effects",), None, ("$.effects: expected a list, not null",)),
)  # fmt: skip


def changed(value: Mapping[str, Any], path: tuple[str | int, ...], new: object) -> Json:
    """A copy of a JSON object with another value at a path; `...` leaves it out."""
    copy: Any = deepcopy(dict(value))
    holder = copy
    *parents, last = path
    for each in parents:
        holder = holder[each]
    if new is ...:
        del holder[last]
    else:
        holder[last] = new
    return copy  # type: ignore[no-any-return]


class TestAnswers:
    """An answer that breaks its schema is the system's fault, and the report says where."""

    @pytest.mark.parametrize("number", range(len(BROKEN)), ids=lambda number: f"{number}-{BROKEN[number][1][-1]}")
    def test_a_broken_answer(self, number: int) -> None:
        """The path, what stands there and what was expected; what only looks broken is taken."""
        whole, path, new, said = BROKEN[number]
        operation = ops.CardGet if whole is FOUND else ops.ReadEffects
        answer = changed(whole, path, new)
        assert problems_of(result_name(operation.method), answer) == said
        if not said:
            assert answered(operation, answer) is not None
            return
        with pytest.raises(Breakdown) as caught:
            decoded(operation, answer)
        assert caught.value.kind == "protocol"
        shown = f"`keyturn schema {operation.method}` shows it"
        assert caught.value.message == (
            f"the system's answer to {operation.method} breaks its schema ({shown}): {'; '.join(said)}"
        )

    def test_all_problems_at_once(self) -> None:
        """Nobody has to mend one field to hear of the next."""
        wrong = changed({**FOUND, "card": changed(CARD, ("status",), "done")}, ("card", "blocking"), "yes")
        assert {each.split(":")[0] for each in problems_of("card.get.result", wrong)} == {
            "$.card.status",
            "$.card.blocking",
        }

    @pytest.mark.parametrize("value", [None, 5, "found", [FOUND]], ids=str)
    def test_an_answer_is_an_object(self, value: Json) -> None:
        """Anything else is one problem, at the root."""
        (problem,) = problems_of("card.get.result", value)
        assert problem.startswith("$: expected an object, not ")

    def test_what_no_schema_says_is_the_systems_fault_too(self) -> None:
        """A day that its month does not have is found when it is read."""
        with pytest.raises(Breakdown, match=r"answer to clock\.advance breaks its schema .*day"):
            decoded(ops.ClockAdvance, {"now": "2026-02-30T00:00:00Z"})

    def test_every_keyword_is_put_into_words(self) -> None:
        """No schema uses a keyword whose violation this module would only quote."""
        known = {"type", "properties", "required", "items", "additionalProperties", "enum", "const", "oneOf", "anyOf"}
        ours = {"$ref", "not", "pattern"}
        notes = {"description", "default", "format"}
        assert set(_keywords(protocol_schema()["$defs"])) <= known | ours | notes


def _keywords(definitions: Json) -> list[str]:
    found: list[str] = []
    left: list[Any] = list(definitions.values()) if isinstance(definitions, Mapping) else []
    while left:
        schema = left.pop()
        found += schema
        left += schema.get("properties", {}).values()
        left += [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
        left += [schema[each] for each in ("items", "additionalProperties", "not") if each in schema]
    return found


class TestHostile:
    """What comes from a system is bounded and escaped, whatever it is."""

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            ({"revision": "x" * 10**6}, "$.revision: expected an integer, not 'x"),
            ({"revision": "\x1b[2J\u202e\ud800"}, r"$.revision: expected an integer, not '\x1b[2J\u202e\\ud800'"),
            ({"revision": {"\ud800": "\ud800"}}, "$.revision: expected an integer, not an object"),
            ({"revision": {"far": 10**5000}}, "$.revision: expected an integer, not an object"),
            ({"revision": 1, "outcome": 10**400}, "$.outcome: 1000"),
        ],
        ids=["long", "escapes", "surrogates", "endless digits", "a huge number"],
    )
    def test_a_value(self, value: Json, said: str) -> None:
        """It is shown in few printable characters, or by what it is."""
        (problem,) = problems_of("case.open.result", value)
        assert problem.startswith(said)
        assert problem.isprintable()
        assert len(problem) < 200

    def test_a_name_that_cannot_be_encoded(self) -> None:
        """It is one more name that the protocol does not know."""
        assert problems_of("case.open.result", {"revision": 1, "\ud800": 1}) == ()

    def test_a_name_in_a_path(self) -> None:
        """It is escaped and cut."""
        handshake: dict[str, Json] = {"protocol": 1, "system": {"name": "n", "version": "1"}, "claims": []}
        not_claimed: dict[str, Json] = {"L2": 1, "I 1": 2, "\x1b[2J": 3, "x" * 5000: 4}
        problems = problems_of("describe.result", {**handshake, "not_claimed": not_claimed})
        paths = [each.partition(": ")[0] for each in problems]
        cut = "x" * LONGEST_VALUE
        assert paths == [f"$.not_claimed{each}" for each in (".L2", "['I 1']", r"['\x1b[2J']", f"['{cut}...']")]

    def test_a_deep_value(self) -> None:
        """Something nested without end is said like anything else."""
        deep: Json = 1
        for _ in range(900):
            deep = [deep]
        assert problems_of("case.open.result", {"revision": deep}) == ("$.revision: expected an integer, not a list",)
        assert problems_of("case.open.result", {"revision": 1, "more": deep}) == ()

    def test_many_problems(self) -> None:
        """The first are said, and how many more there are among what is looked at."""
        *said, last = problems_of("card.list.result", {"cards": [{}] * 100_000})
        assert len(said) == MOST_PROBLEMS
        assert last == f"and {11 * MOST_ITEMS - MOST_PROBLEMS} more"

    def test_a_problem_far_away(self) -> None:
        """A list that is wrong past where it is looked at is wrong all the same."""
        (problem,) = problems_of("card.list.result", {"cards": [CARD] * MOST_ITEMS + [{}]})
        assert problem.startswith(f"$: something past the first {MOST_ITEMS} items of a list")


class Noted:
    """A system whose every call and reply is kept."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.asked: list[tuple[str, Mapping[str, Json], Reply]] = []

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Call the system, and keep what was asked and answered."""
        reply = self.system.call(method, params)
        self.asked.append((method, params, reply))
        return reply

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Call the system, and keep what was asked and answered, lane by lane."""
        done = self.system.together(lanes, schedule)
        for requests, replies in zip(lanes, done.lanes, strict=True):
            kept = ((each.method, each.params, timed.reply) for each, timed in zip(requests, replies, strict=True))
            self.asked.extend(kept)
        return done

    can_be_killed = False

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Nothing here can be killed."""
        return self.system.killed(method, params, after)

    def restart(self) -> Reply:
        """Restart the system, and keep what it answered."""
        reply = self.system.restart()
        self.asked.append(("restart", {}, reply))
        return reply

    def close(self) -> None:
        """Close the system."""
        self.system.close()


def problems_in(asked: list[tuple[str, Mapping[str, Json], Reply]]) -> list[str]:
    """Everything that is wrong with requests and replies."""
    found = []
    for method, params, reply in asked:
        found += [f"{method} params: {each}" for each in problems_of(params_name(method), params)]
        if isinstance(reply, Answered):
            found += [f"{method} result: {each}" for each in problems_of(result_name(method), reply.result)]
    return found


class TestWhatShips:
    """Every request of the suite and every answer of the reference is valid."""

    @pytest.mark.parametrize("scenario", scenarios(), ids=lambda each: each.name)
    def test_a_scenario(self, scenario: Scenario) -> None:
        """Each request as it is sent, each answer of the reference, and each answer that the file calls admissible."""
        system = Noted(InProcessSystem(ReferenceStore))
        try:
            driver = Driver(system, ALL_CLAIMS, REQUIREMENTS)
            for taken in steps_of(scenario):
                driver.step(taken)
        finally:
            system.close()
        assert len(system.asked) > len(scenario.steps)
        assert problems_in(system.asked) == []
        for step in scenario.steps:
            # What nobody hears never crosses.
            for each in (each for each in step.admissible if not (isinstance(each, Mapping) and "unheard" in each)):
                assert problems_of(result_name(step.operation), each) == ()  # type: ignore[arg-type]

    def test_a_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever the suite generates, and whatever the reference answers to it."""
        asked: list[tuple[str, Mapping[str, Json], Reply]] = []
        call = InProcessSystem.call

        def noting(system: InProcessSystem, method: str, params: Mapping[str, Json]) -> Reply:
            reply = call(system, method, params)
            asked.append((method, params, reply))
            return reply

        monkeypatch.setattr(InProcessSystem, "call", noting)
        record = held(ReferenceStore, profile=QUICK, engines=("stateful",))
        assert record.failures == []
        assert {"describe", *ops.BY_METHOD} - {"command.next"} <= {method for method, _, _ in asked}
        assert problems_in(asked) == []


UNSENDABLE = Call(operation="case.open", params={"account": 5, "workflow": "trip"})
SENDABLE = Call(operation="case.open", params={"account": "acme", "workflow": "trip", "case": "case-1"})


class TestRequests:
    """A request that breaks its schema is never sent, and is the fault of whoever wrote it."""

    def test_a_call_that_must_not_be_made(self) -> None:
        """The suite's own call is refused before the system hears of it, with every problem."""
        system = Noted(InProcessSystem(ReferenceStore))
        with pytest.raises(BrokenRequest) as caught:
            Checked(system).call("card.get", {"account": 5, "conversation": "chat-1"})
        system.close()
        assert system.asked == []
        assert str(caught.value) == (
            "it was about to send card.get with params that break their schema: $: 'card' is missing; "
            "$.account: expected a string, not 5"
        )
        again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # our own
        assert (again.method, again.problems) == (caught.value.method, caught.value.problems)

    def test_a_call_that_may_be_made(self) -> None:
        """Every other call goes through, as do a restart and the end."""
        system = Noted(InProcessSystem(ReferenceStore))
        checked = Checked(system)
        assert isinstance(checked.call("describe", {}), Answered)
        assert isinstance(checked.call("reset", {"now": "2026-01-01T00:00:00Z"}), Answered)
        assert isinstance(checked.restart(), Answered)
        checked.close()
        assert [method for method, _, _ in system.asked] == ["describe", "reset", "restart"]

    def test_a_trace_of_somebody(self) -> None:
        """What a trace asks wrongly is the trace's: it cannot be read, and the suite is not to blame."""
        system = Noted(InProcessSystem(ReferenceStore))
        with pytest.raises(Unreadable) as caught:
            replay(system, ALL_CLAIMS, REQUIREMENTS, (Step(calls=(UNSENDABLE,)),))
        system.close()
        assert caught.value.problems == ("$: 'case' is missing", "$.account: expected a string, not 5")
        assert "case.open" not in {method for method, _, _ in system.asked}

    def test_a_scenario_of_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A step that the suite wrote wrongly is the suite's."""
        wrong = evolve(scenarios()[0], steps=(evolve(scenarios()[0].steps[0], operation="case.open", params={}),))
        monkeypatch.setattr("keyturn_testing.running.claimed_scenarios", lambda *_: [wrong])
        with pytest.raises(BrokenRequest, match=r"about to send case\.open .* 'account' is missing"):
            held(ReferenceStore, engines=("scenarios",))

    @pytest.mark.parametrize("after", [1, 40, SHORT.examples * SHORT.steps // 2])
    def test_a_step_that_we_drew(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        """A step that the suite draws wrongly is the suite's, whenever it is drawn."""
        drawn = [0]

        def wrongly(*_: object) -> Call:
            drawn[0] += 1
            return UNSENDABLE if drawn[0] >= after else SENDABLE

        wrong = tuple(evolve(each, draw=wrongly) for each in INTENTS)
        monkeypatch.setattr(intents, "possible_intents", lambda _: list(wrong))
        with pytest.raises(BrokenRequest, match=r"about to send case\.open"):
            held(ReferenceStore, engines=("stateful",))
