"""A trace as a story: who did what, and what came back, one numbered step after the other.

Each operation has one teller in a table; a step of an operation that has none is told by its name and its params. What came
back is taken from the recorded answers where there are any. Nothing here judges.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from keyturn_testing.racing import is_race, letter
from keyturn_testing.reports.answers import answer_in_words
from keyturn_testing.reports.names import Names, plain, value_of
from keyturn_testing.traces import Call, Step
from keyturn_testing.wording import an, escaped, listed

Params: TypeAlias = Mapping[str, object]
Teller: TypeAlias = Callable[[Names, Params, str], str]

MOST_OPTIONS = 8
"""How many options of a card are listed."""


@frozen
class Told:
    """One step of a story: its number from 1, what was done, and what came back, if it was recorded."""

    number: int
    done: str
    came_back: str | None


def story(steps: Sequence[Step], recorded: Sequence[object] = ()) -> tuple[Told, ...]:
    """Return the steps in words; `recorded` holds what was answered, one answer a call."""
    names, told, answers = Names(), [], list(recorded)
    for number, step in enumerate(steps, start=1):
        done, came_back = [], []
        for place, call in enumerate(step.calls):
            label = call.label or f"step {number}"
            names.numbers[label] = number
            which = f"{letter(place)} " if is_race(step) else ""
            done.append(which + _told(names, call, label))
            if answers:
                answer = answers.pop(0)
                names.hear(label, answer)
                came_back.append(which + answer_in_words(names, answer))
        words = done[0] if len(done) == 1 else "at the same time: " + "; ".join(done)
        words += ", and the system is killed meanwhile" if step.kill else ""
        told.append(Told(number, words, "; ".join(came_back) if came_back else None))
    return tuple(told)


def _told(names: Names, call: Call, label: str) -> str:
    teller = _TELLERS.get(call.operation)
    if teller is not None:
        return teller(names, call.params, label)
    params = value_of(call.params) if call.params else ""
    return f"{escaped(call.operation, 60)} {params}".strip()


# ---- Who, and where -------------------------------------------------------------------------------------------------


def _who(params: Params) -> str:
    return plain(params.get("account"))


def _case(params: Params) -> str:
    return f"{plain(params.get('case'))} of {plain(params.get('workflow'))}"


def _asker(names: Names, params: Params, card: str) -> str:
    """Who asks about a card: its owner by name, and a stranger as one."""
    account, conversation = params.get("account"), params.get("conversation")
    owner = names.owners.get(card)
    if owner is None or owner == (account, conversation):
        return _who(params)
    if owner[0] == account:
        return f"{_who(params)}, from another conversation ({plain(conversation)}),"
    return f"{_who(params)}, a stranger,"


# ---- The tellers ----------------------------------------------------------------------------------------------------


def _open(names: Names, params: Params, label: str) -> str:
    return f"{_who(params)} opens {_case(params)}"


def _edit(names: Names, params: Params, label: str) -> str:
    return f"{_who(params)} edits {_case(params)}"


def _close(names: Names, params: Params, label: str) -> str:
    return f"{_who(params)} closes {_case(params)}"


def _withdraw(names: Names, params: Params, label: str) -> str:
    return f"{_who(params)} withdraws the cards of {_case(params)}, because of {value_of(params.get('code'))}"


def _present(names: Names, params: Params, label: str) -> str:
    name = names.new_card(label, (params.get("account"), params.get("conversation")))
    manners = ("blocking", "revision_independent")
    adjectives = [each.replace("_", "-") for each in manners if params.get(each) is True]
    what = an(" ".join((*adjectives, plain(params.get("kind")), "card")))
    where = f"in {plain(params.get('conversation'))} on {_case(params)}"
    due = params.get("expires_in")
    expiry = "" if due is None else f", which expires in {value_of(due)} s"
    made = params.get("for_revision")
    source = "" if made is None else f", made from the record {names.referred_revision(made, name)}"
    replacing = params.get("blocking") is True and params.get("on_occupied") == "replace"
    manner = ", instead of the one that blocks" if replacing else ""
    return f"{_who(params)} presents {what} {where}{expiry}{source}{manner} ({name}; {_options(params.get('payload'))})"


def _options(payload: object) -> str:
    options = payload.get("options") if isinstance(payload, Mapping) else None
    if not isinstance(options, Sequence) or not options:
        return "no options"
    ids = [plain(each.get("id")) if isinstance(each, Mapping) else value_of(each) for each in options]
    more = [f"{len(ids) - MOST_OPTIONS} more"] if len(ids) > MOST_OPTIONS else []
    return f"{'option' if len(ids) == 1 else 'options'} {listed([*ids[:MOST_OPTIONS], *more])}"


def _get(names: Names, params: Params, label: str) -> str:
    card = names.referred_card(params.get("card"))
    return f"{_asker(names, params, card)} reads {card}"


def _list(names: Names, params: Params, label: str) -> str:
    return f"{_who(params)} lists the open cards of {plain(params.get('conversation'))}"


_OF_A_RESPONSE = ("interaction_id", "option_id", "option_ids", "expected_case_revision", "freeform_input")


def _respond(names: Names, params: Params, label: str) -> str:
    response = params.get("response")
    if not isinstance(response, Mapping):
        return f"{_who(params)} sends {value_of(response)} as an answer"
    card = names.referred_card(response.get("interaction_id"))
    asker = _asker(names, params, card)
    again = " again" if card in names.answered else ""
    names.answered.add(card)
    chosen = _chosen(response)
    revision = names.referred_revision(response.get("expected_case_revision"), card)
    text = response.get("freeform_input")
    words = f", with the text {value_of(text)}" if text is not None else ""
    extra = [value_of(str(each)) for each in response if each not in _OF_A_RESPONSE]
    more = f", and sends {listed(extra[:MOST_OPTIONS])} too" if extra else ""
    return f"{asker} answers {card}{again} {chosen} {revision}{words}{more}"


def _chosen(response: Mapping[object, object]) -> str:
    ids = response.get("option_ids")
    if isinstance(ids, Sequence) and not isinstance(ids, str):
        more = [f"{len(ids) - MOST_OPTIONS} more"] if len(ids) > MOST_OPTIONS else []
        return f"with the options {listed([*map(value_of, ids[:MOST_OPTIONS]), *more])}"
    return f"with option {value_of(response['option_id'])}" if "option_id" in response else "without an option"


def _dismiss(names: Names, params: Params, label: str) -> str:
    card = names.referred_card(params.get("card"))
    asker = _asker(names, params, card)
    again = " again" if card in names.answered else ""
    names.answered.add(card)
    return f"{asker} dismisses {card}{again} {names.referred_revision(params.get('expected_case_revision'), card)}"


def _expire_due(names: Names, params: Params, label: str) -> str:
    return "a sweep looks for overdue cards"


def _advance(names: Names, params: Params, label: str) -> str:
    return f"{value_of(params.get('seconds'))} s pass"


_ENDS: Mapping[object, str] = {"committed": "commits", "failed": "fails"}


def _settle(names: Names, params: Params, label: str) -> str:
    command = names.referred_command(params.get("command"))
    ending = _ENDS.get(params.get("result"), f"ends as {value_of(params.get('result'))}")
    told = f"{command} {ending}{_policy(params)}"
    again = command in names.settled
    names.settled.add(command)
    return f"the host says again how a command ended: {told}" if again else told


def _policy(params: Params) -> str:
    on_failure = params.get("on_failure")
    if params.get("result") == "committed" and on_failure in {None, "record"}:
        return ""
    return "" if on_failure is None else f" (on failure: {plain(on_failure)})"


def _next(names: Names, params: Params, label: str) -> str:
    ending = _ENDS.get(params.get("result"), f"ends as {value_of(params.get('result'))}")
    return f"from here on the next command {ending}{_policy(params)}"


def _restart(names: Names, params: Params, label: str) -> str:
    return "the system is stopped as by a crash, and starts again on its data"


_BREAKS: Mapping[object, str] = {
    "ownership_unreadable": "whose {card} is cannot be read when it is next answered",
    "revision_unreadable": "the revision of the case of {card} cannot be read when it is next answered",
    "payload_corrupt": "what is stored of {card} is changed before it is next answered",
    "write_fails": "the next write fails",
    "commit_fails": "the next commit of a command fails",
    "reply_lost": "the reply to the next change is lost",
    "crash_before_commit": "the process ends just before the next change is committed",
    "crash_after_commit": "the process ends just after the next change is committed",
}


def _arm(names: Names, params: Params, label: str) -> str:
    said = _BREAKS.get(params.get("fault"), f"there is the fault {value_of(params.get('fault'))}")
    return f"from here on {said.format(card=names.referred_card(params.get('card')))}"


def _export(names: Names, params: Params, label: str) -> str:
    card = names.referred_card(params.get("card"))
    return f"the host of {_asker(names, params, card)} keeps what it needs to answer {card} later"


def _import(names: Names, params: Params, label: str) -> str:
    state = params.get("state")
    kept = str(state["$ref"]).partition("/")[0] if isinstance(state, Mapping) and "$ref" in state else None
    number = None if kept is None else names.numbers.get(kept)
    return f"the host restores {'what it never kept' if number is None else f'what it kept in step {number}'}"


def _reads(what: str) -> Teller:
    return lambda names, params, label: f"the observer reads the {what} of {_case(params)}"


_TELLERS: Mapping[str, Teller] = {
    "case.open": _open,
    "case.edit": _edit,
    "case.close": _close,
    "card.present": _present,
    "card.get": _get,
    "card.list": _list,
    "card.respond": _respond,
    "card.dismiss": _dismiss,
    "card.withdraw": _withdraw,
    "card.expire_due": _expire_due,
    "clock.advance": _advance,
    "command.settle": _settle,
    "command.next": _next,
    "effects": _reads("effects"),
    "ledger": _reads("ledger"),
    "metrics": lambda names, params, label: "the observer reads the counters",
    "restart": _restart,
    "state.export": _export,
    "state.import": _import,
    "fault.arm": _arm,
    "reset": lambda names, params, label: "everything is forgotten, and the clock set",
}
"""How each operation is told."""
