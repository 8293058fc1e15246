"""Every requirement that this version judges, in one table.

The table is the only registry: nothing is added by importing. A requirement is claimed by a system that claims all the
capabilities that it needs and does not un-claim it with a reason.
"""

from collections.abc import Mapping

from keyturn.capabilities import Claims
from keyturn_specs.answered import ANSWERED
from keyturn_specs.closed import CLOSED
from keyturn_specs.evidence import EVIDENCE
from keyturn_specs.fresh import FRESH
from keyturn_specs.lifecycle import LIFECYCLE
from keyturn_specs.once import ONCE
from keyturn_specs.one_question import ONE_QUESTION
from keyturn_specs.requirement import Requirement
from keyturn_specs.servers_meaning import SERVERS_MEANING
from keyturn_specs.stored_first import STORED_FIRST

REQUIREMENTS: tuple[Requirement, ...] = (
    *LIFECYCLE,
    *ONE_QUESTION,
    *STORED_FIRST,
    *SERVERS_MEANING,
    *FRESH,
    *ONCE,
    *CLOSED,
    *ANSWERED,
    *EVIDENCE,
)
"""Every requirement, in the order of the families."""

BY_ID: Mapping[str, Requirement] = {each.id: each for each in REQUIREMENTS}
"""The requirements by their ids."""


def missing_claims(requirement: Requirement, claims: Claims) -> Claims:
    """Return the capabilities that a system would have to claim for this requirement to be judged."""
    return requirement.needs - claims
