"""Signs that a freedom was used: questions to one example of a run, for the table of freedoms."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from keyturn.cards import WHITE_SPACE

from .watching import Decision, Example, Said


def refused(example: Example, *codes: str) -> list[Decision]:
    """The answers that were refused with one of these codes."""
    return list(example.decided(*(f"rejected {code}" for code in codes)))


def response(said: Said) -> Mapping[str, Any]:
    """What the client sent, where it is an object."""
    response = said.params.get("response")
    return response if isinstance(response, Mapping) else {}


def has_more(said: Said) -> bool:
    """Whether a client sent more than a response."""
    known = {"interaction_id", "option_id", "expected_case_revision", "freeform_input"}
    return bool(response(said).keys() - known)


def blank(said: Said) -> bool:
    """Whether a client sent a text that says nothing."""
    text = response(said).get("freeform_input")
    return isinstance(text, str) and WHITE_SPACE.issuperset(text)


def stored(view: Mapping[str, Any], option: object) -> bool:
    """Whether a card shows an option."""
    return any(each["id"] == option for each in view.get("payload", {}).get("options", ()))


def closed_before(example: Example, *methods: str) -> Iterator[Said]:
    """The calls of these methods on a case that is closed at that moment."""
    closed: set[tuple[Any, ...]] = set()
    for each in example.of("case.open", "case.close", "case.edit", "card.withdraw"):
        key = tuple(each.params.get(name) for name in ("account", "workflow", "case"))
        if key in closed and each.method in methods:
            yield each
        if each.method == "case.open":
            closed.discard(key)
        elif each.method == "case.close" and each.kind != "rejected not_found":
            closed.add(key)


def same_again(example: Example, status: str, *kinds: str) -> bool:
    """Whether a card that had ended was answered again with the option that ended it, and got one of these."""
    return any(
        before.get("status") == status and before.get("resolved_option") == said.option
        for said, before, _ in example.decided(*kinds)
    )


def of_one_instant_newest_first(example: Example) -> bool:
    """Whether a list shows a younger card of one instant before an older one."""
    order = list(example.presented)
    for answer in example.answers("card.list"):
        cards = [each for each in answer["cards"] if each["id"] in order]
        for one, other in pairwise(cards):
            same = one["created_at"] == other["created_at"]
            if same and order.index(one["id"]) > order.index(other["id"]):
                return True
    return False


def newest_first(example: Example) -> bool:
    """Whether a set of cards came in another order than they were presented in."""
    order = list(example.presented)
    sets = [each[name] for m, name in _SETS for each in example.answers(m) if name in each]
    return any(
        [order.index(c) for c in each if c in order] != sorted(order.index(c) for c in each if c in order)
        for each in sets
    )


_SETS = (
    *((method, "invalidated") for method in ("case.edit", "case.close", "card.withdraw")),
    ("card.expire_due", "expired"),
)


def entries(example: Example) -> Iterator[Mapping[str, Any]]:
    """Every entry of every ledger that was read."""
    return (entry for answer in example.answers("ledger") for entry in answer["entries"])


def batch_newest_first(example: Example) -> bool:
    """Whether one operation wrote to the ledger in another order than the cards were presented in."""
    order = list(example.presented)
    for answer in example.answers("ledger"):
        for one, other in pairwise(answer["entries"]):
            both = one["event"] == other["event"] == "invalidate" and one["cause"] == other["cause"]
            if (
                both
                and {one["card"], other["card"]} <= {*order}
                and order.index(one["card"]) > order.index(other["card"])
            ):
                return True
    return False


def recorded_decline_without_command(example: Example) -> bool:
    """Whether the ledger does not name the command of a recorded decline."""
    recorded = {
        effect["card"]
        for answer in example.answers("effects")
        for effect in answer["effects"]
        if effect["action"]["kind"] == "decline_and_record"
    }
    return any(
        each["card"] in recorded and each["event"] == "decline" and "command" not in each["cause"]
        for each in entries(example)
    )


def equal_payloads_and_other_hashes(example: Example) -> bool:
    """Whether two cards that store the same have different hashes."""
    hashes = {view["id"]: view["payload_hash"] for view in example.views}
    asked = [(params["payload"], hashes.get(card)) for card, params in example.presented.items()]
    return any(one == other and first != second for one, first in asked for other, second in asked)


def settled(example: Example, *kinds: str) -> Iterator[tuple[int, str]]:
    """The settlements with one of these answers, as their place in the example and the card that they belong to."""
    cards: dict[str, str] = {}
    for place, each in enumerate(example.said):
        told = each.answer or {}
        if each.method == "card.respond" and isinstance(told.get("command"), str) and each.card is not None:
            cards[told["command"]] = each.card
        command = each.params.get("command")
        if each.method == "command.settle" and each.kind in kinds and command in cards:
            yield place, cards[command]


def given_back_and_left_active(example: Example) -> bool:
    """Whether a card that was given back to a moved case is Active when it is next read."""
    for place, card in settled(example, "restored revision_conflict"):
        rest = Example(example.said[place + 1 :])
        read = next((each.answer for each in rest.of("card.get") if each.card == card and each.answer), None)
        if read is not None and "card" in read and read["card"]["status"] == "active":
            return True
    return False


def independent_command_refused(example: Example) -> bool:
    """Whether an independent card's command did not commit because the case had moved."""
    independent = {view["id"] for view in example.views if view["revision_independent"]}
    conflicts = settled(example, "failed revision_conflict", "restored revision_conflict")
    return any(card in independent for _, card in conflicts)


def swept_before_it_was_told(example: Example) -> bool:
    """Whether a card reads Expired before anybody asked for a sweep."""
    swept = (
        [each.method for each in example.said].index("card.expire_due") if [*example.of("card.expire_due")] else None
    )
    return any(view["status"] == "expired" for view in Example(example.said[:swept]).views)


def ends_at_once(example: Example) -> bool:
    """Whether an answer brought its effects with it, in an example that says how the next command ends."""
    resolved = (each.answer["result"] for each in example.of("card.respond") if each.kind == "resolved" and each.answer)
    return bool([*example.of("command.next")]) and any(each["effects"] for each in resolved)


def counted_in_jumps(example: Example) -> bool:
    """Whether revisions begin with 1 and an edit moves them by more than 1."""
    first = next(example.answers("case.open"), {}).get("revision")
    last: dict[tuple[Any, ...], int] = {}
    jumps = []
    for each in example.of("case.open", "case.edit"):
        key = tuple(each.params.get(name) for name in ("account", "workflow", "case"))
        revision = (each.answer or {}).get("revision")
        if isinstance(revision, int):
            jumps += [revision - last[key]] if each.method == "case.edit" and key in last else []
            last[key] = revision
    return first == 1 and bool(jumps) and min(jumps) > 1


def sent(example: Example, revision: float, *kinds: str) -> bool:
    """Whether a response with exactly this number got one of these."""
    for said, _, _ in example.decided(*kinds):
        sent = response(said).get("expected_case_revision")
        if sent == revision and type(sent) is type(revision):
            return True
    return False


def results(example: Example) -> Iterator[Mapping[str, Any]]:
    """Every result that an answer brought."""
    return (each.answer["result"] for each in example.of("card.respond") if each.answer and "result" in each.answer)
