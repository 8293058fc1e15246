"""Two-phase commit as a model to explore: the transaction manager, its resource managers and the messages between them.

It is the module TwoPhase of the TLA+ examples, whose numbers of states are known: 288 for 3 resource managers, 8,832 for 5 and
1,745,408 for 8. A state is one integer: two bits for each resource manager, two for the transaction manager, and a bit for each
message and for each resource manager that the transaction manager has heard of.
"""

from collections.abc import Hashable

from keyturn.explore import Model

WORKING, PREPARED, COMMITTED, ABORTED = range(4)
DISTINCT_STATES = {3: 288, 5: 8_832, 8: 1_745_408}
"""The numbers of distinct states, by the number of resource managers."""


def two_phase(managers: int) -> Model[int, str]:
    """Return the model with this many resource managers, which are interchangeable."""
    manager = 2 * managers
    heard, message = manager + 2, manager + 2 + managers
    commit, abort = 1 << (message + managers), 2 << (message + managers)
    everybody, decided = ((1 << managers) - 1) << heard, 3 << manager
    parts = [
        (
            3 << 2 * each,
            PREPARED << 2 * each,
            COMMITTED << 2 * each,
            ABORTED << 2 * each,
            1 << heard + each,
            1 << message + each,
        )
        for each in range(managers)
    ]

    def steps(state: int) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        undecided, commits, aborts = not state & decided, state & commit, state & abort
        if undecided:
            if state & everybody == everybody:
                found.append(("decide to commit", state | 1 << manager | commit))
            found.append(("decide to abort", state | 2 << manager | abort))
        for status, prepared, committed, aborted, is_heard, sent in parts:
            if not state & status:
                found += (("prepare", state | prepared | sent), ("choose to abort", state | aborted))
            if undecided and state & sent:
                found.append(("hear that it is prepared", state | is_heard))
            if commits:
                found.append(("commit", state & ~aborted | committed))
            if aborts:
                found.append(("abort", state | aborted))
        return found

    def symmetric(state: int) -> Hashable:
        each = sorted(
            (state >> 2 * place & 3) << 2 | (state >> heard + place & 1) << 1 | state >> message + place & 1
            for place in range(managers)
        )
        return state >> manager & 3, state >> message + managers, *each

    return Model(initial=lambda: (0,), steps=steps, symmetric=symmetric)


def statuses(state: int, managers: int) -> list[int]:
    """What each resource manager is in a state."""
    return [state >> 2 * each & 3 for each in range(managers)]
