"""Shrinking: the shortest trace that still breaks the same requirement at the same operation.

It works on traces and knows no engine. First it removes steps, in halves and then one by one, until none can go; then it
simplifies what is left. A candidate counts only when it shows the same signature and everything else that was broken with
it, so that a shrunk trace never slips to another fault.
"""

from collections.abc import Callable, Mapping

from attrs import evolve

from keyturn_testing.judging import Finding
from keyturn_testing.traces import Step

Reproduce = Callable[[tuple[Step, ...]], Finding | None]
"""Runs steps from a fresh start and returns what they broke, if they broke anything."""

MOST_ATTEMPTS = 400
"""How many candidates one shrink may try: a budget in runs, never in seconds."""


def shrink(steps: tuple[Step, ...], reproduce: Reproduce, found: Finding) -> tuple[Step, ...]:
    """Return the shortest steps found that still show all of a finding; the steps themselves when none are shorter."""
    left = MOST_ATTEMPTS

    def shows(candidate: tuple[Step, ...]) -> bool:
        nonlocal left
        left -= 1
        finding = reproduce(candidate) if left > 0 else None
        return finding is not None and finding.covers(found)

    steps = _fewer(steps, shows)
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


_PLAINER: Mapping[str, object] = {
    "revision_independent": False,
    "blocking": False,
    "expires_in": None,
    "on_failure": None,
}
"""What a field of a call is simplified to; nothing stands for leaving it out."""


def _simpler(steps: tuple[Step, ...], shows: Callable[[tuple[Step, ...]], bool]) -> tuple[Step, ...]:
    for number in range(len(steps)):
        for name, plain in _PLAINER.items():
            call = steps[number].calls[0]
            if call.params.get(name, plain) == plain:
                continue
            params = {**call.params, name: plain}
            simpler = evolve(call, params={key: each for key, each in params.items() if each is not None})
            candidate = (*steps[:number], evolve(steps[number], calls=(simpler,)), *steps[number + 1 :])
            if shows(candidate):
                steps = candidate
    return steps
