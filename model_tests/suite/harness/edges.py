"""One example at the edges of the text, for every sound system: what a generator draws seldom or never, and a client may send.

The driver judges it like any other example. Steps that need what a system does not claim are left out.
"""

from collections.abc import Iterator, Mapping

from keyturn.capabilities import Capability, Claims
from keyturn.cards import InteractionKind
from keyturn.handshake import Description
from keyturn_testing.payloads import payload
from keyturn_testing.traces import Call

C = Capability
CASE = {"account": "acme", "workflow": "trip", "case": "case-1"}
OWNER = {"account": "acme", "conversation": "chat-1"}


def _asks(label: str, claims: Claims, description: Description) -> Call:
    offered = description.offers.actions
    actions = None if offered is None else frozenset(offered)
    stored = payload(InteractionKind.SINGLE_SELECT, 1, text=C.FREEFORM in claims, offered=actions)
    return Call(
        operation="card.present",
        label=label,
        params={
            **CASE,
            "conversation": OWNER["conversation"],
            "kind": "single_select",
            "blocking": False,
            "revision_independent": False,
            "payload": stored,
            "on_occupied": "replace" if C.REPLACE in claims else "refuse",
        },
    )


def _answers(label: str, option: object, owner: Mapping[str, str] = OWNER, **changes: object) -> Call:
    bound = {"$ref": f"{label}/card/case_revision", "else": 1}
    response = {"interaction_id": {"$ref": f"{label}/card/id"}, "option_id": option, "expected_case_revision": bound}
    return Call(operation="card.respond", params={**owner, "response": {**response, **changes}})


def edges(claims: Claims, description: Description) -> Iterator[Call]:
    """The calls of the example."""
    yield Call(operation="case.open", params=CASE)
    yield _asks("numbers", claims, description)
    for number in (2**53, 0, 1.5, "1", True, 1.0):
        yield _answers("numbers", "decline", expected_case_revision=number)
    yield _asks("ids", claims, description)
    for option in ("", "Decline", "decline ", 7, None, "x" * 70_000):
        yield _answers("ids", option)
    for card in ("", {"$unlike": "ids/card/id"}, 7):
        yield _answers("ids", "decline", interaction_id=card)
        unbound = _answers("ids", "decline", interaction_id=card, expected_case_revision=None).params["response"]
        assert isinstance(unbound, dict)
        del unbound["expected_case_revision"]
        yield Call(operation="card.respond", params={**OWNER, "response": unbound})
    if C.OWNERS in claims:
        for owner in ({**OWNER, "account": ""}, {**OWNER, "conversation": ""}):
            yield _answers("ids", "decline", owner)
    yield _answers("ids", "something_else", freeform_input=" \u2003")
    for label, odd in (
        ("a text", {"freeform_input": ["text"]}),
        ("a revision", {"expected_case_revision": True}),
        ("more", {"status": "dismissed", "command": "command-1"}),
    ):
        yield _asks(label, claims, description)
        yield _answers(label, "run_both", **odd)
    for option in ("decline", "later"):
        yield _asks(option, claims, description)
        for _ in range(5):
            yield _answers(option, option)
    yield from _of_a_closed_case(claims)


def _of_a_closed_case(claims: Claims) -> Iterator[Call]:
    if C.ADMINISTRATIVE in claims:
        yield Call(operation="case.close", params=CASE)
        if C.REVISIONS in claims:
            yield Call(operation="case.edit", params=CASE)
        yield Call(operation="card.withdraw", params={**CASE, "code": "over"})
        yield Call(operation="case.close", params=CASE)
