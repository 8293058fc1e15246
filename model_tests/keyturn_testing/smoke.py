"""The smoke test: whether an adapter is fit to be judged, before anything is judged.

First the handshake, of which every problem is said at once. Only when it is good, and the system says that it may be wiped,
follows the golden path: each kind of call once, on the simplest card, answered rightly. It asks whether the calls are there
and their answers can be read; whether they are right is for the run. What is wrong here is the adapter's, and nobody else's.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast, get_args

from attrs import evolve, frozen

from keyturn.branches import Outcome
from keyturn.capabilities import Capability, Claims, problems_of_claims
from keyturn.cards import InteractionKind, StoredAction
from keyturn.errors import Unreadable
from keyturn.handshake import NEVER_UNCLAIMED, PROTOCOL, Description
from keyturn.operations import BY_METHOD, Operation
from keyturn.responses import Accepted, InFlight, Rejected, Replayed
from keyturn.values import Json, rfc3339
from keyturn.version import VERSION
from keyturn_specs.catalogue import BY_ID
from keyturn_testing.drawing import presentable_kinds
from keyturn_testing.driver import START
from keyturn_testing.payloads import payload
from keyturn_testing.shapes import answered, described
from keyturn_testing.systems.base import Answered, NotOffered, NotRead, Reply, System
from keyturn_testing.wording import escaped, nearest, quoted

LONGEST_PROBLEM = 600
"""How many characters of one problem are said: what a system sends is bounded (D12)."""

MOST_PROBLEMS = 50
"""How many problems are said at once."""

ACTIONS: tuple[str, ...] = tuple(each.kind for each in get_args(StoredAction))
"""The kinds of stored actions that this version knows."""


@frozen(kw_only=True)
class Smoke:
    """What the smoke test found: the handshake, if it could be read, and every problem, which make the adapter unfit."""

    description: Description | None = None
    claims: Claims = frozenset()
    problems: tuple[str, ...] = ()


def smoke(system: System) -> Smoke:
    """Ask a system for its handshake, and then take the golden path; raise `Breakdown` as the system does.

    Nothing is changed in a system that does not say `"environment": "test"`, or whose handshake has any problem.
    """
    found = handshake(system)
    if found.description is None or found.problems:
        return found
    problem = _Walk(system, found.description, found.claims).problem()
    return found if problem is None else evolve(found, problems=(problem[:LONGEST_PROBLEM],))


# ---- The handshake --------------------------------------------------------------------------------------------------


def handshake(system: System) -> Smoke:
    """Ask `describe`, and say everything that is wrong with the answer at once."""
    reply = system.call("describe", {})
    if not isinstance(reply, Answered):
        return Smoke(problems=(f"describe: the system {_in_words(reply)}: every system answers it with its handshake",))
    try:
        description = described(reply.result)
    except Unreadable as error:
        return Smoke(problems=_bounded(f"describe: {escaped(each, LONGEST_PROBLEM)}" for each in error.problems))
    known = frozenset(Capability(each) for each in description.claims if each in set(Capability))
    return Smoke(description=description, claims=known, problems=_bounded(_problems(description, known)))


def _bounded(problems: Iterable[str]) -> tuple[str, ...]:
    said = [each[:LONGEST_PROBLEM] for each in problems]
    more = len(said) - MOST_PROBLEMS
    return (*said[:MOST_PROBLEMS], f"and {more} more") if more > 0 else tuple(said)


def _problems(description: Description, claims: Claims) -> Iterator[str]:
    yield from _problems_of_version(description)
    for claim in description.claims:
        if claim not in set(Capability):
            yield _unknown("claims", claim, Capability, "capability", "`keyturn list capabilities` shows them all")
    yield from (f"claims: {each}" for each in problems_of_claims(claims))
    for requirement in description.not_claimed:
        if requirement in NEVER_UNCLAIMED:
            yield f"not_claimed: {requirement} cannot be un-claimed, because it is the harm itself: take it out"
        elif requirement not in BY_ID:
            yield _unknown(
                "not_claimed", requirement, BY_ID, "requirement", "`keyturn list requirements` shows them all"
            )
    kinds, actions = description.offers.kinds or (), description.offers.actions or ()
    for kind in kinds:
        if kind not in set(InteractionKind):
            yield _unknown(
                "offers.kinds", kind, InteractionKind, "kind of card", f"There are {_listed(InteractionKind)}"
            )
    for action in actions:
        if action not in ACTIONS:
            yield _unknown("offers.actions", action, ACTIONS, "stored action", f"There are {_listed(ACTIONS)}")
    if not _kinds(description, claims):
        yield (
            "offers: none of the offered kinds can be answered with the offered actions, so there is nothing to ask: "
            "offer more kinds or more actions, or leave `offers` out"
        )
    if description.environment != "test":
        yield (
            f"environment: it is {_shown(description.environment)} and not 'test', and the suite would wipe the system "
            'with `reset`: add "environment": "test" to the answer to describe if everything in it may be lost'
        )


def _problems_of_version(description: Description) -> Iterator[str]:
    if description.protocol > PROTOCOL:
        yield (
            f"protocol: the system speaks version {description.protocol}, and keyturn {VERSION} speaks {PROTOCOL}: "
            f"update keyturn, or let the system answer with version {PROTOCOL}"
        )
    elif description.protocol < 1:
        yield f"protocol: {description.protocol} is no version of the protocol: the first one is 1"


def _unknown(where: str, name: str, known: Iterable[str], what: str, advice: str) -> str:
    return f"{where}: {quoted(name, 60)} is no {what} that keyturn {VERSION} knows. {nearest(name, known)}{advice}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _shown(value: str | None) -> str:
    return "not given" if value is None else quoted(value, 60)


def _kinds(description: Description, claims: Claims) -> tuple[InteractionKind, ...]:
    actions = description.offers.actions
    offered = None if actions is None else frozenset(actions)
    return presentable_kinds(description.offered_kinds(), claims, offered)


# ---- The golden path ------------------------------------------------------------------------------------------------

_OWNER: Mapping[str, Json] = {"account": "acme", "conversation": "chat-1"}
_CASE: Mapping[str, Json] = {"account": "acme", "workflow": "trip", "case": "case-1"}

_NOT_AT_FIRST = (Rejected, InFlight, Replayed)
"""What the simplest right call, made for the first time, is never answered with."""


class _Unfit(Exception):
    """A call of the golden path was not answered as it must be."""


class _Walk:
    """One walk along the golden path; it ends at the first problem, because what comes later rests on it."""

    def __init__(self, system: System, description: Description, claims: Claims) -> None:
        self._system, self._claims = system, claims
        self._kind = _kinds(description, claims)[0]
        actions = description.offers.actions
        self._payload = payload(
            self._kind,
            1,
            text=Capability.FREEFORM in claims,
            offered=None if actions is None else frozenset(actions),
        )

    def problem(self) -> str | None:
        """Take the path; return what is wrong first, or nothing."""
        try:
            self._take()
        except _Unfit as problem:
            return str(problem)
        return None

    def _take(self) -> None:
        self._ask("reset", {"now": rfc3339(START)})
        revision = self._ask("case.open", _CASE)["revision"]
        card = cast("Mapping[str, Json]", self._ask("card.present", self._presented())["card"])
        self._ask("card.get", {**_OWNER, "card": card["id"]})
        self._ask("card.list", _OWNER)
        if Capability.DEFERRED not in self._claims:
            self._ask("command.next", {"result": "committed"})
        bound = card.get("case_revision", revision)
        answered = self._ask("card.respond", {**_OWNER, "response": self._response(card["id"], bound)})
        if answered["outcome"] == Accepted.outcome:
            self._ask("command.settle", {"command": answered["command"], "result": "committed"})
        if Capability.DISMISS in self._claims:
            other = cast("Mapping[str, Json]", self._ask("card.present", self._presented())["card"])
            bound = other.get("case_revision", bound)
            self._ask("card.dismiss", {**_OWNER, "card": other["id"], "expected_case_revision": bound})
        for method, params in _WHAT_CLAIMS_ADD:
            self._ask(method, params)
        if Capability.RESTART in self._claims:
            self._read(BY_METHOD["restart"], {}, self._system.restart())

    def _presented(self) -> Mapping[str, Json]:
        return {
            **_CASE,
            "conversation": _OWNER["conversation"],
            "kind": self._kind.value,
            "blocking": False,
            "revision_independent": False,
            "payload": self._payload,
            "on_occupied": "refuse" if Capability.REPLACE not in self._claims else "replace",
        }

    def _response(self, card: Json, revision: Json) -> Mapping[str, Json]:
        option = cast("Mapping[str, Json]", cast("list[Json]", self._payload["options"])[0])
        policy = cast("Mapping[str, Json]", option.get("freeform", {}))
        text: Mapping[str, Json] = {"freeform_input": "because"} if policy.get("kind") == "required" else {}
        return {"interaction_id": card, "option_id": option["id"], "expected_case_revision": revision, **text}

    def _ask(self, method: str, params: Mapping[str, Json]) -> Mapping[str, Json]:
        operation = BY_METHOD[method]
        if operation.needs not in self._claims:
            return {}
        return self._read(operation, params, self._system.call(method, params))

    def _read(self, operation: type[Operation], params: Mapping[str, Json], reply: Reply) -> Mapping[str, Json]:
        call = f"{operation.method} {_json(params)}" if params else operation.method
        due = _due(operation)
        if isinstance(reply, NotOffered):
            raise _Unfit(
                f"{operation.method}: it is not offered, and {_why_due(operation)}: offer it{_or_drop(operation)}"
            )
        if not isinstance(reply, Answered):
            raise _Unfit(f"{call}: the system {_in_words(reply)}; due was {due}")
        try:
            outcome: Outcome = answered(operation, reply.result)
        except Unreadable as error:
            problems = "; ".join(escaped(each) for each in error.problems[:5])
            raise _Unfit(f"{operation.method}: its answer cannot be read: {problems}; due was {due}") from None
        if isinstance(outcome, _NOT_AT_FIRST):
            raise _Unfit(
                f"{call}: the answer is {_json(reply.result)}; this is the simplest right call, so due was {due}"
            )
        return cast("Mapping[str, Json]", reply.result)


_WHAT_CLAIMS_ADD: tuple[tuple[str, Mapping[str, Json]], ...] = (
    ("effects", _CASE),
    ("ledger", _CASE),
    ("metrics", {}),
    ("case.edit", _CASE),
    ("clock.advance", {"seconds": 1}),
    ("card.expire_due", {}),
    ("card.withdraw", {**_CASE, "code": "smoke"}),
    ("case.close", _CASE),
)
"""The rest of the path: each call is made when what it needs is claimed."""


def _json(value: Json) -> str:
    return escaped(json.dumps(value), 240)


def _due(operation: type[Operation]) -> str:
    results = [each for each in operation.results if each not in _NOT_AT_FIRST]
    return " or ".join(
        f'"outcome": "{each.outcome}"' if hasattr(each, "outcome") else _fields(each) for each in results
    )


def _fields(result: type) -> str:
    names = ", ".join(each.name for each in result.__attrs_attrs__)  # type: ignore[attr-defined]
    return f"an object with {names}" if names else "an object, {}"


def _why_due(operation: type[Operation]) -> str:
    return "every system has it" if operation.needs is Capability.CARDS else f"`{operation.needs}` is claimed"


def _or_drop(operation: type[Operation]) -> str:
    return "" if operation.needs is Capability.CARDS else ", or drop the claim"


def _in_words(reply: Reply) -> str:
    match reply:
        case NotOffered():
            return "does not offer it"
        case Answered():
            return f"answered {_json(reply.result)}"
        case NotRead():
            return f"could not read it: {quoted(reply.message)}"
        case _:
            return (
                f"failed ({'nothing happened' if reply.definite else 'it may have happened'}): {quoted(reply.message)}"
            )
