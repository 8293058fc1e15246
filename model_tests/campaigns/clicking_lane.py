"""One half of the double clicks: at the moment that is agreed with the lane in the other process, both click.

Before every card the two tell each other on the clock of the machine when they are there, and both start a moment after the
later of the two.
"""

import time

from lanes import BUSY, Lane

LEAD_NANOSECONDS = 500_000
"""How long after both are there they start: longer than it takes to tell each other."""


def click_in_pairs(lane: Lane) -> None:
    """Click one option of each card that this lane has, each together with the partner."""
    connections = lane.settings["connections"]
    for number, card in enumerate(lane.settings["cards"]):
        if number % connections != lane.number % connections:
            continue
        start = _agree(lane)
        if start is None:
            return
        answer = _click(lane, card, start)
        while answer["outcome"] == BUSY and not lane.stop.is_set():
            # A person who is told so clicks once more; it is still the same click.
            answer = _click(lane, card, start)


def _agree(lane: Lane) -> int | None:
    """Wait for the partner, and then for the moment; nothing when it is time to stop."""
    here = time.monotonic_ns()
    lane.hand_on(here)
    there = lane.handed(wait=True)
    if there is None:
        return None
    start = max(here, int(there)) + LEAD_NANOSECONDS
    while (left := start - time.monotonic_ns()) > 0:
        time.sleep(left / 1e9)
    return time.monotonic_ns()


def _click(lane: Lane, card: dict[str, str], start: int) -> dict[str, str]:
    response = {"interaction_id": card["id"], "option_id": "pay", "expected_case_revision": 1}
    return lane.ask("card.respond", start=start, account="acme", conversation=card["conversation"], response=response)
