"""What a system can claim, and what each claim rests on.

A claim makes requirements binding; what is not claimed is never reported as passed. The set is closed: an unknown name
in a handshake is an error of the adapter, said before anything is judged.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias


class Capability(StrEnum):
    """The capabilities of protocol version 1 that this version of the suite knows."""

    CARDS = "cards"
    OWNERS = "owners"
    REVISIONS = "revisions"
    INDEPENDENT = "independent"
    BLOCKING = "blocking"
    REFUSE = "refuse"
    REPLACE = "replace"
    LIST = "list"
    FREEFORM = "freeform"
    REPLAY = "replay"
    DEFERRED = "deferred"
    DISMISS = "dismiss"
    CLOCK = "clock"
    ADMINISTRATIVE = "administrative"
    FOR_REVISION = "for_revision"
    LEDGER = "ledger"
    METRICS = "metrics"
    MULTI_SELECT = "multi_select"
    ORDERED_CHECKS = "ordered_checks"
    CODED_REFUSALS = "coded_refusals"
    RESTART = "restart"
    SNAPSHOT = "snapshot"
    FAULTS = "faults"
    PARALLEL = "parallel"


Claims: TypeAlias = frozenset[Capability]

ALL_CLAIMS: Claims = frozenset(Capability)
"""What the reference store claims: everything that this version knows."""

ADDS: Mapping[Capability, str] = {
    Capability.CARDS: "cards are presented, read and answered; always claimed",
    Capability.OWNERS: "accounts and conversations keep people apart",
    Capability.REVISIONS: "cards are bound to a case revision, and `case.edit` moves it",
    Capability.INDEPENDENT: "cards can declare revision independence",
    Capability.BLOCKING: "blocking cards, one open a case",
    Capability.REFUSE: "a second blocking card can be refused",
    Capability.REPLACE: "a second blocking card can replace the first",
    Capability.LIST: "`card.list`",
    Capability.FREEFORM: "free text with an answer",
    Capability.REPLAY: "a second answer gets the original result",
    Capability.DEFERRED: "commands wait for `command.settle`",
    Capability.DISMISS: "`card.dismiss`",
    Capability.CLOCK: "a clock that the suite moves, and expiry",
    Capability.ADMINISTRATIVE: "`card.withdraw` and `case.close`",
    Capability.FOR_REVISION: "`card.present` can name the revision that its content was made from",
    Capability.LEDGER: "the ledger of every transition can be read",
    Capability.METRICS: "counters of what was written, resolved, refused as stale and failed",
    Capability.MULTI_SELECT: "cards that are answered with a set of options, `option_ids`",
    Capability.ORDERED_CHECKS: "refusal codes follow the order of the checks exactly",
    Capability.CODED_REFUSALS: "refusal codes are meaningful",
    Capability.RESTART: "the system can be restarted on its data",
    Capability.SNAPSHOT: "what a host keeps of a pending card can be exported and imported",
    Capability.FAULTS: "the suite can make the next read, write, commit or reply go wrong, or the process end",
    Capability.PARALLEL: "calls may overlap: several connections, or several processes on the same data",
}
"""What each capability adds, for messages and the reference pages."""


def problems_of_claims(claims: Claims) -> tuple[str, ...]:
    """Return, in words, what is contradictory in a set of claims; empty when it can be judged."""
    problems = []
    if Capability.CARDS not in claims:
        problems.append("`cards` is not claimed, and every system claims it: add it to the claims")
    ways = claims & {Capability.REFUSE, Capability.REPLACE}
    if Capability.BLOCKING in claims and not ways:
        problems.append("`blocking` is claimed with neither `refuse` nor `replace`: claim at least one of the two")
    if Capability.BLOCKING not in claims and ways:
        problems.append(f"{', '.join(f'`{each}`' for each in sorted(ways))} is claimed without `blocking`")
    if Capability.REVISIONS not in claims:
        bound = sorted(claims & {Capability.INDEPENDENT, Capability.FOR_REVISION})
        problems.extend(f"`{each}` is claimed without `revisions`" for each in bound)
    return tuple(problems)
