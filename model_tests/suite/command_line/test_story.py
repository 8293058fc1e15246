"""A trace is told in words: who did what, and what came back."""

import pytest

from keyturn.operations import OPERATIONS
from keyturn_testing.reports.answers import answer_in_words
from keyturn_testing.reports.names import Names
from keyturn_testing.reports.story import Told, story
from keyturn_testing.traces import Call, Step

CASE = {"account": "acme", "workflow": "trip", "case": "case-1"}
HERE = {"account": "acme", "conversation": "chat-1"}
CARD = {"$ref": "ask/card/id"}
OWN = {"$ref": "ask/card/case_revision"}

OPEN = Call(operation="case.open", params=CASE, label="open")
ASK = Call(
    operation="card.present",
    params={
        **CASE,
        "conversation": "chat-1",
        "kind": "external_signature",
        "blocking": True,
        "revision_independent": False,
        "payload": {"title": "?", "options": [{"id": "accept"}, {"id": "\x1b[2J"}]},
        "on_occupied": "replace",
    },
    label="ask",
)
SHOWN = {"outcome": "presented", "card": {"id": "9f3", "status": "active", "case_revision": 1}, "invalidated": []}


def respond(response: object, label: str | None = None, **owner: str) -> Call:
    """A response, of the owner unless it is said."""
    return Call(operation="card.respond", params={**HERE, **owner, "response": response}, label=label)


def answer(**changes: object) -> dict[str, object]:
    """The right answer, with changes."""
    return {"interaction_id": CARD, "option_id": "accept", "expected_case_revision": OWN, **changes}


def told(*calls: Call, recorded: tuple[object, ...] = ()) -> list[str]:
    """What is told of calls."""
    return [each.done for each in story([Step(calls=(call,)) for call in calls], recorded)]


def test_a_double_click() -> None:
    """Cards have letters, commands have numbers, and each answer stands beside its step."""
    calls = (
        OPEN,
        ASK,
        respond(answer(), "yes"),
        Call(operation="command.settle", params={"command": {"$ref": "yes/command"}, "result": "committed"}),
        respond(answer(option_id="decline")),
    )
    result = {"card": "9f3", "option": "accept", "effects": ["e1"], "case_revision": 2}
    recorded = (
        {"revision": 1},
        SHOWN,
        {"outcome": "accepted", "command": "c77"},
        {"outcome": "resolved", "result": result},
        {"outcome": "replayed", "result": result},
    )
    done = "card A, option accept, 1 effect, case revision 2"
    assert story([Step(calls=(each,)) for each in calls], recorded) == (
        Told(1, "acme opens case-1 of trip", "revision 1"),
        Told(
            2,
            "acme presents a blocking external_signature card in chat-1 on case-1 of trip, instead of the one that blocks "
            "(card A; options accept and '\\x1b[2J')",
            "presented: card A, whose id is '9f3', active, bound to revision 1",
        ),
        Told(3, "acme answers card A with option 'accept' at its own revision", "accepted: command 1"),
        Told(4, "command 1 commits", f"resolved: {done}"),
        Told(5, "acme answers card A again with option 'decline' at its own revision", f"replayed: {done}"),
    )


ACCEPT = "card A with option 'accept'"
AT_A = "at the revision of card A"
STEPS: dict[str, tuple[Call, str]] = {
    "a stranger": (
        respond(answer(), account="globex"),
        f"globex, a stranger, answers {ACCEPT} at its own revision",
    ),
    "another conversation": (
        respond(answer(), conversation="chat-2"),
        f"acme, from another conversation (chat-2), answers {ACCEPT} at its own revision",
    ),
    "another revision": (
        respond(answer(expected_case_revision={"$revision": ["acme", "trip", "case-1"], "plus": 7})),
        f"acme answers {ACCEPT} at the current revision plus 7",
    ),
    "an unknown card": (
        respond(answer(interaction_id={"$unlike": "ask/card/id"})),
        "acme answers a card that never was (its id looks like that of card A) with option 'accept' at the revision of card A",
    ),
    "a card that was left out": (
        respond(answer(interaction_id={"$ref": "gone/card/id"})),
        "acme answers a card that never was with option 'accept' at the revision of card A",
    ),
    "malformed": (
        respond({"interaction_id": 7, "option_id": None, "freeform_input": ["\u202e"], "status": "resolved"}),
        "acme answers the card 7 with option null without a revision, with the text [\"\\\\u202e\"], and sends 'status' too",
    ),
    "no object": (respond("\x1b[2J"), "acme sends '\\x1b[2J' as an answer"),
    "reading": (Call(operation="card.get", params={**HERE, "card": CARD}), "acme reads card A"),
    "listing": (Call(operation="card.list", params=HERE), "acme lists the open cards of chat-1"),
    "editing": (Call(operation="case.edit", params=CASE), "acme edits case-1 of trip"),
    "dismissing": (
        Call(operation="card.dismiss", params={**HERE, "card": CARD, "expected_case_revision": OWN}),
        "acme dismisses card A at its own revision",
    ),
    "a stranger dismissing": (
        Call(operation="card.dismiss", params={**HERE, "account": "globex", "card": CARD}),
        "globex, a stranger, dismisses card A without a revision",
    ),
    "closing": (Call(operation="case.close", params=CASE), "acme closes case-1 of trip"),
    "withdrawing": (
        Call(operation="card.withdraw", params={**CASE, "code": "a copy"}),
        "acme withdraws the cards of case-1 of trip, because of 'a copy'",
    ),
    "from a revision": (
        Call(operation="card.present", params={**CASE, **HERE, "kind": "boolean", "for_revision": OWN}, label="late"),
        f"acme presents a boolean card in chat-1 on case-1 of trip, made from the record {AT_A} (card B; no options)",
    ),
    "counting": (Call(operation="metrics"), "the observer reads the counters"),
    "time": (Call(operation="clock.advance", params={"seconds": 60.0}), "60 s pass"),
    "next": (
        Call(operation="command.next", params={"result": "failed", "on_failure": "restore"}),
        "from here on the next command fails (on failure: restore)",
    ),
    "observing": (Call(operation="ledger", params=CASE), "the observer reads the ledger of case-1 of trip"),
    "unknown": (Call(operation="no.such\x07", params={"a": 1}), 'no.such\\x07 {"a": 1}'),
}


@pytest.mark.parametrize("name", list(STEPS))
def test_one_step(name: str) -> None:
    """Strangers, wrong revisions, unknown cards and malformed answers are told as what they are."""
    call, words = STEPS[name]
    assert told(OPEN, ASK, call)[-1] == words


def test_every_operation_has_its_words() -> None:
    """No operation of the protocol is told by its wire name only."""
    for operation in OPERATIONS:
        words = told(ASK, Call(operation=operation.method, params={**CASE, **HERE, "response": answer()}))[-1]
        assert not words.startswith(operation.method)


def test_calls_at_once() -> None:
    """Calls that overlap are one step, each with its letter, and so is a call in which the system is killed."""
    both, killed = story(
        [
            Step(calls=(respond(answer()), respond(answer(option_id="later")))),
            Step(calls=(respond(answer()),), kill=True),
        ]
    )
    assert both.done.startswith("at the same time: (a) acme answers a card")
    assert "; (b) acme answers a card" in both.done
    assert killed.done.endswith(", and the system is killed meanwhile")
    assert (both.came_back, killed.came_back) == (None, None)


ANSWERS: dict[str, tuple[object, str]] = {
    "nothing to say": ({}, "done"),
    "an edit": (
        {"revision": 3, "invalidated": ["9f3", "zz"]},
        "revision 3; this invalidates card A and the card 'zz'",
    ),
    "a refusal": (
        {"outcome": "rejected", "code": "not_found", "current_card": "9f3"},
        "rejected: not_found; the current card is card A",
    ),
    "a failure": ({"outcome": "failed", "code": "revision_conflict"}, "failed: revision_conflict"),
    "a card": (
        {"outcome": "found", "card": {"id": "9f3", "status": "resolved", "resolved_option": "accept"}},
        "found: card A, resolved, option accept chosen",
    ),
    "no cards": ({"cards": []}, "open: none"),
    "a closed case": ({"invalidated": ["9f3", "zz"]}, "invalidated: card A and the card 'zz'"),
    "counters": (
        {"created": 2, "resolved": 1, "stale": 0, "failed": 0},
        "2 created, 1 resolved, 0 stale, 0 failed",
    ),
    "a sweep": ({"expired": ["9f3"]}, "expired: card A"),
    "an indefinite error": (
        {"error": "\x1b[2J", "definite": False},
        "an error, and it may have happened: '\\x1b[2J'",
    ),
    "a definite error": ({"error": "", "definite": True}, "an error, and nothing happened"),
    "an empty result": (
        {"outcome": "resolved", "result": {}},
        "resolved: the card null, null, case revision null",
    ),
    "a strange outcome": ({"outcome": ["\x1b"]}, '{"outcome": ["\\\\u001b"]}'),
    "a list": (["\x1b"], '["\\\\u001b"]'),
    "a long text": ("x" * 500, f"'{'x' * 60}...'"),
}


@pytest.mark.parametrize("name", list(ANSWERS))
def test_one_answer(name: str) -> None:
    """What came back is told in a few words, also when it is none of what the protocol has."""
    came, words = ANSWERS[name]
    names = Names()
    names.new_card("ask", ("acme", "chat-1"))
    names.hear("ask", SHOWN)
    assert answer_in_words(names, came) == words


def test_what_would_have_been_admissible() -> None:
    """Ids of the model are left out: they are nobody's."""
    result = {"card": "card-1", "option": "accept", "effects": [], "case_revision": 2}
    assert answer_in_words(None, {"outcome": "accepted", "command": "command-2"}) == "accepted"
    assert (
        answer_in_words(None, {"outcome": "resolved", "result": result})
        == "resolved: option accept, 0 effects, case revision 2"
    )


def test_many_cards() -> None:
    """After the twenty-sixth card the letters go on with numbers."""
    names = Names()
    assert [names.new_card(str(number), ("acme", "chat-1")) for number in range(27)][::26] == ["card A", "card A2"]
