"""Systems for the tests of the harness, and short ways to hold one to the suite.

They are real systems in process: the reference store with other claims, or with a fault that the catalogue of mutants does
not have.
"""

from collections.abc import Callable, Mapping

from keyturn.capabilities import Capability, Claims
from keyturn.handshake import Description, read_description
from keyturn_testing.record import PROFILES, Profile, Record
from keyturn_testing.running import Run
from keyturn_testing.systems.base import Answered, Reply
from keyturn_testing.systems.in_process import InProcessSystem

SHORT = Profile(name="short", examples=12, steps=25)
"""A budget that is enough to see a common fault."""

QUICK = PROFILES["quick"]


def described(system: InProcessSystem) -> tuple[Description, Claims]:
    """Return the handshake of a system that is known to be sound."""
    reply: Reply = system.call("describe", {})
    assert isinstance(reply, Answered)
    description = read_description(reply.result)
    return description, frozenset(Capability(each) for each in description.claims)


def held(
    make: Callable[[], object],
    *,
    seed: int = 1,
    profile: Profile = SHORT,
    engines: tuple[str, ...] = ("scenarios", "stateful"),
    until: tuple[str, ...] = (),
) -> Record:
    """Hold a system to everything that it claims; with `until` only until these have failed."""
    system = InProcessSystem(make)
    try:
        description, claims = described(system)
        return Run(
            system, description, claims, profile=profile, seed=seed, engines=engines, until=frozenset(until)
        ).run()
    finally:
        system.close()


def exercised(record: Record) -> Mapping[str, int]:
    """How often each requirement was exercised."""
    return record.counts.exercised
