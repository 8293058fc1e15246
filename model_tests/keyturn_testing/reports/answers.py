"""What a system answered, in a few words: the other half of each step of a story.

An answer is told by its outcome, or where it has none by the field that says what it is. What is not known is shown as it
came, escaped and bounded: an answer that breaks its schema is told too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from keyturn_testing.reports.names import Names, plain, value_of
from keyturn_testing.wording import counted, listed, quoted

Answer: TypeAlias = Mapping[str, object]
Words: TypeAlias = Callable[[Names | None, Answer], str]

MOST_NAMES = 8
"""How many cards of one answer are named."""


def answer_in_words(names: Names | None, answer: object) -> str:
    """Return an answer in words; without names the ids in it are left out, as for what would have been admissible."""
    if not isinstance(answer, Mapping):
        return value_of(answer)
    if not answer:
        return "done"
    outcome = answer.get("outcome")
    told = _BY_OUTCOME.get(outcome) if isinstance(outcome, str) else None
    if told is not None:
        return told(names, answer)
    for field, by_field in _BY_FIELD.items():
        if field in answer and outcome is None:
            return by_field(names, answer)
    return value_of(answer)


def _card(names: Names | None, card: object) -> str:
    return "the card" if names is None else names.card(card)


def _cards(names: Names | None, cards: object) -> str:
    if not isinstance(cards, Sequence) or isinstance(cards, str):
        return value_of(cards)
    if names is None:
        return counted(len(cards), "card")
    more = [f"{len(cards) - MOST_NAMES} more"] if len(cards) > MOST_NAMES else []
    return listed([*(names.card(each) for each in cards[:MOST_NAMES]), *more])


def _invalidated(names: Names | None, answer: Answer) -> str:
    cards = answer.get("invalidated")
    return f"; this invalidates {_cards(names, cards)}" if cards else ""


def _state(view: Mapping[str, object]) -> str:
    revision = view.get("case_revision")
    chosen = view.get("resolved_option")
    bound = "" if revision is None else f", bound to revision {value_of(revision)}"
    return f"{plain(view.get('status'))}{bound}" + ("" if chosen is None else f", option {plain(chosen)} chosen")


def _view(answer: Answer) -> Mapping[str, object]:
    card = answer.get("card")
    return card if isinstance(card, Mapping) else {}


def _presented(names: Names | None, answer: Answer) -> str:
    view = _view(answer)
    if names is None:
        return f"presented{_invalidated(names, answer)}"
    name, card = names.card(view.get("id")), view.get("id")
    called = f"{name}, whose id is {value_of(card)}" if isinstance(card, str) and card in names.cards else name
    return f"presented: {called}, {_state(view)}{_invalidated(names, answer)}"


def _found(names: Names | None, answer: Answer) -> str:
    view = _view(answer)
    return f"found: {_card(names, view.get('id'))}, {_state(view)}"


def _with_command(word: str) -> Words:
    def told(names: Names | None, answer: Answer) -> str:
        return word if names is None else f"{word}: {names.command(answer.get('command'))}"

    return told


def _with_result(word: str) -> Words:
    def told(names: Names | None, answer: Answer) -> str:
        result = answer.get("result")
        if not isinstance(result, Mapping):
            return f"{word}: {value_of(result)}"
        effects = result.get("effects")
        said = [
            "" if names is None else _card(names, result.get("card")),
            "" if result.get("option") is None else f"option {plain(result['option'])}",
            "" if result.get("options") is None else f"options {_ids(result['options'])}",
            counted(len(effects), "effect") if isinstance(effects, Sequence) else value_of(effects),
            f"case revision {value_of(result.get('case_revision'))}",
            "" if result.get("freeform") is None else f"text {value_of(result['freeform'])}",
        ]
        return f"{word}: {', '.join(each for each in said if each)}"

    return told


def _ids(ids: object) -> str:
    return listed([plain(each) for each in ids[:MOST_NAMES]]) if isinstance(ids, list) else value_of(ids)


def _with_code(word: str) -> Words:
    def told(names: Names | None, answer: Answer) -> str:
        current = answer.get("current_card")
        hint = "" if current is None or names is None else f"; the current card is {names.card(current)}"
        return f"{word}: {plain(answer.get('code'))}{hint}"

    return told


_BY_OUTCOME: Mapping[str, Words] = {
    "presented": _presented,
    "found": _found,
    "accepted": _with_command("accepted"),
    "in_flight": _with_command("in flight"),
    "resolved": _with_result("resolved"),
    "declined": _with_result("declined"),
    "dismissed": _with_result("dismissed"),
    "replayed": _with_result("replayed"),
    "failed": _with_code("failed"),
    "restored": _with_code("restored"),
    "rejected": _with_code("rejected"),
}


def _error(names: Names | None, answer: Answer) -> str:
    happened = "nothing happened" if answer.get("definite") is True else "it may have happened"
    said = answer.get("error")
    return f"an error, and {happened}" + (f": {quoted(said, 120)}" if isinstance(said, str) and said else "")


_UNHEARD: Mapping[object, str] = {
    "reply_lost": "it happens, and nobody hears of it",
    "crash_before_commit": "nothing happens, and nobody hears of it",
    "crash_after_commit": "it happens, and nobody hears of it",
}


def _unheard(names: Names | None, answer: Answer) -> str:
    return _UNHEARD.get(answer["unheard"], value_of(answer["unheard"]))


def _revision(names: Names | None, answer: Answer) -> str:
    return f"revision {value_of(answer['revision'])}{_invalidated(names, answer)}"


def _only_invalidated(names: Names | None, answer: Answer) -> str:
    return f"invalidated: {_cards(names, answer['invalidated'])}"


def _open_cards(names: Names | None, answer: Answer) -> str:
    cards = answer["cards"]
    if not isinstance(cards, Sequence) or isinstance(cards, str):
        return value_of(cards)
    ids = [each.get("id") if isinstance(each, Mapping) else each for each in cards]
    return f"open: {_cards(names, ids)}"


def _expired(names: Names | None, answer: Answer) -> str:
    return f"expired: {_cards(names, answer['expired'])}"


def _counted(field: str, thing: str, things: str) -> Words:
    def told(names: Names | None, answer: Answer) -> str:
        found = answer[field]
        return counted(len(found), thing, things) if isinstance(found, Sequence) else value_of(found)

    return told


def _counters(names: Names | None, answer: Answer) -> str:
    return ", ".join(f"{value_of(answer.get(each))} {each}" for each in ("created", "resolved", "stale", "failed"))


_BY_FIELD: Mapping[str, Words] = {
    "error": _error,
    "unheard": _unheard,
    "state": lambda names, answer: "kept",
    "revision": _revision,
    "invalidated": _only_invalidated,
    "cards": _open_cards,
    "expired": _expired,
    "now": lambda names, answer: f"the clock says {value_of(answer['now'])}",
    "effects": _counted("effects", "effect", "effects"),
    "entries": _counted("entries", "entry", "entries"),
    "created": _counters,
}
"""How an answer without an outcome is told: by the first of these fields that it has."""
