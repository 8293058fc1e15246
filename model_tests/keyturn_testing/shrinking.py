"""Shrinking: the shortest trace that still breaks the same requirement at the same operation.

It works on traces and knows no engine. First it removes steps, in halves and then one by one, until none can go; then it
simplifies what is left. A candidate counts only when it shows the same signature and everything else that was broken with
it, so that a shrunk trace never slips to another fault.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from attrs import evolve

from keyturn_testing.judging import Finding
from keyturn_testing.traces import Step

Reproduce = Callable[[tuple[Step, ...]], Finding | None]
"""Runs steps from a fresh start and returns what they broke, if they broke anything."""

MOST_ATTEMPTS = 400
"""How many candidates one shrink may try: a budget in runs, never in seconds."""


def shrink(
    steps: tuple[Step, ...], reproduce: Reproduce, found: Finding, attempts: int = MOST_ATTEMPTS
) -> tuple[Step, ...]:
    """Return the shortest steps found that still show all of a finding; the steps themselves when none are shorter."""
    left = attempts

    def shows(candidate: tuple[Step, ...]) -> bool:
        nonlocal left
        left -= 1
        finding = reproduce(candidate) if left > 0 else None
        return finding is not None and finding.covers(found)

    steps = _fewer_calls(_fewer(steps, shows), shows)
    simpler = _simpler(steps, shows)
    return _fewer(simpler, shows) if simpler != steps else steps


def _fewer(steps: tuple[Step, ...], shows: Callable[[tuple[Step, ...]], bool]) -> tuple[Step, ...]:
    size = max(len(steps) // 2, 1)
    while True:
        before = len(steps)
        for start in range(len(steps) - size, -1, -size):
            candidate = steps[:start] + steps[start + size :]
            if candidate and shows(candidate):
                steps = candidate
        if size == 1 and len(steps) == before:
            return steps
        size = max(size // 2, 1)


def _fewer_calls(steps: tuple[Step, ...], shows: Callable[[tuple[Step, ...]], bool]) -> tuple[Step, ...]:
    """Leave calls out of the steps that have several, one by one."""
    for number in range(len(steps)):
        place = len(steps[number].calls) - 1
        while place >= 0 and len(steps[number].calls) > 1:
            calls = steps[number].calls
            fewer = evolve(steps[number], calls=(*calls[:place], *calls[place + 1 :]))
            candidate = (*steps[:number], fewer, *steps[number + 1 :])
            if shows(candidate):
                steps = candidate
            place -= 1
    return steps


_PLAINER: Mapping[str, object] = {
    "revision_independent": False,
    "blocking": False,
    "expires_in": None,
    "on_failure": None,
}
"""What a field of a call is simplified to; nothing stands for leaving it out."""


PLAIN_TEXT = "because"
"""What a longer free text is simplified to."""

_ANSWER = ("interaction_id", "option_id", "expected_case_revision")


def _simpler(steps: tuple[Step, ...], shows: Callable[[tuple[Step, ...]], bool]) -> tuple[Step, ...]:
    places = [(number, place) for number, step in enumerate(steps) for place in range(len(step.calls))]
    for number, place in places:
        for simplify in _SIMPLIFICATIONS:
            calls = steps[number].calls
            params = simplify(calls[place].params)
            if params == calls[place].params:
                continue
            changed = (*calls[:place], evolve(calls[place], params=params), *calls[place + 1 :])
            candidate = (*steps[:number], evolve(steps[number], calls=changed), *steps[number + 1 :])
            if shows(candidate):
                steps = candidate
    return steps


Params: TypeAlias = Mapping[str, object]


def _plainer(name: str, plain: object) -> Callable[[Params], Params]:
    def simplify(params: Params) -> Params:
        if params.get(name, plain) == plain:
            return params
        changed = {**params, name: plain}
        return {key: each for key, each in changed.items() if each is not None}

    return simplify


def _only_the_answer(params: Params) -> Params:
    """Leave out whatever stands beside an answer."""
    return _responding(params, lambda sent: {key: each for key, each in sent.items() if key in _ANSWER})


def _only_the_answer_and_text(params: Params) -> Params:
    kept = (*_ANSWER, "freeform_input")
    return _responding(params, lambda sent: {key: each for key, each in sent.items() if key in kept})


def _shorter_text(params: Params) -> Params:
    return _responding(params, lambda sent: {**sent, "freeform_input": PLAIN_TEXT} if _is_long(sent) else sent)


def _is_long(sent: Params) -> bool:
    text = sent.get("freeform_input")
    return isinstance(text, str) and len(text) > len(PLAIN_TEXT)


def _responding(params: Params, simplify: Callable[[Params], Params]) -> Params:
    sent = params.get("response")
    return {**params, "response": simplify(sent)} if isinstance(sent, Mapping) else params


_SIMPLIFICATIONS = (
    *(_plainer(name, plain) for name, plain in _PLAINER.items()),
    _only_the_answer,
    _only_the_answer_and_text,
    _shorter_text,
)
"""What is tried on each call that is left, one after the other."""
