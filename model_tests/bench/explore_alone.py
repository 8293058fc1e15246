"""Explores one model in a process of its own and writes what came of it: `explore_alone.py MODEL NUMBER ... [--symmetry]`.

The numbers are the resource managers of `two-phase`; the cards, cases and attempts of `card-world`, whose properties are judged
on the way. Nothing is imported that only the other model needs. It is written as JSON.
"""

import json
import sys
import time
from collections.abc import Hashable, Iterable
from typing import TypeVar

from keyturn.explore import Model, Property, explore

S = TypeVar("S", bound=Hashable)
A = TypeVar("A")


def write_explored(model: Model[S, A], properties: Iterable[Property[S, A]], *, symmetry: bool) -> None:
    """Explore a model, and write the numbers; `seconds` are those of the search alone."""
    start = time.perf_counter()
    found = explore(model, properties, symmetry=symmetry)
    seconds = time.perf_counter() - start
    if not found.complete or found.broken:
        raise SystemExit(f"not everything was visited, or something does not hold: {found.stopped}, {found.broken}")
    print(json.dumps({"states": len(found.states), "transitions": found.transitions, "seconds": seconds}))


def main(name: str, *arguments: str) -> None:
    """Explore what the command line names."""
    symmetry = "--symmetry" in arguments
    numbers = [int(each) for each in arguments if each != "--symmetry"]
    if name == "two-phase":
        from keyturn_testing.two_phase import two_phase  # noqa: PLC0415  # see above

        write_explored(two_phase(*numbers), (), symmetry=symmetry)
    else:
        from keyturn.card_properties import safety  # noqa: PLC0415  # see above
        from keyturn.card_world import CardBounds, card_model  # noqa: PLC0415  # see above

        cards, cases, attempts = numbers
        bounds = CardBounds(cards=cards, cases=cases, attempts=attempts, faults=False)
        write_explored(card_model(bounds), safety(), symmetry=symmetry)


if __name__ == "__main__":
    main(*sys.argv[1:])
