"""What a system says of itself before anything is asked of it.

What is claimed becomes mandatory; a single requirement can be un-claimed with a reason, but never the three that stand
for the harm itself (`I7.9`, `I14.1`, `I19.9`). Offers narrow the kinds and actions that the suite may use.
"""

from collections.abc import Mapping
from typing import ClassVar, cast

from attrs import field, frozen

from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.cards import InteractionKind
from keyturn.errors import Unreadable
from keyturn.values import Json
from keyturn.wire import read, write

PROTOCOL = 1
"""The version of the conformance protocol that this version of the suite speaks."""

NEVER_UNCLAIMED = frozenset({"I7.9", "I14.1", "I19.9"})
"""The requirements that no system can un-claim: they are the harm itself."""


@frozen(kw_only=True)
class SystemName:
    """Which implementation it is."""

    name: str
    version: str
    language: str | None = None


@frozen(kw_only=True)
class Offers:
    """Which kinds and stored actions the system's cards can have; left out = all, `multi_select` where it is claimed."""

    kinds: tuple[str, ...] | None = None
    actions: tuple[str, ...] | None = None


@frozen(kw_only=True)
class Description:
    """The answer to `describe`; `environment` is `test` on a system that may be wiped by `reset`."""

    method: ClassVar[str] = "describe"
    protocol: int
    system: SystemName
    claims: tuple[str, ...]
    not_claimed: Mapping[str, str] = field(factory=dict)
    offers: Offers = Offers()
    environment: str | None = None

    def offered_kinds(self) -> tuple[InteractionKind, ...]:
        """The kinds that the suite may present, in their declared order; `multi_select` only where it is claimed."""
        sets = Capability.MULTI_SELECT in self.claims
        every = [kind for kind in InteractionKind if sets or kind is not InteractionKind.MULTI_SELECT]
        return tuple(kind for kind in every if self.offers.kinds is None or kind in self.offers.kinds)


def read_description(value: Json) -> Description:
    """Read a handshake; raise `Unreadable` with every problem of its shape."""
    if not isinstance(value, Mapping):
        raise Unreadable("the answer to describe", (f"expected an object, not {type(value).__name__}",))
    return read(Description, value, "describe")


def describe(name: str, version: str, claims: Claims = ALL_CLAIMS) -> dict[str, Json]:
    """Return the handshake of a test system in Python that claims these capabilities."""
    description = Description(
        protocol=PROTOCOL,
        system=SystemName(name=name, version=version, language="python"),
        claims=tuple(sorted(each.value for each in claims)),
        environment="test",
    )
    return cast(dict[str, Json], write(description))
