"""What a mutant is, and what its distortion is made of (D6).

A mutant is the reference store with one distortion: a pure function from what the reference would do to what the faulty
system does instead. It describes itself like the reference, and disarmed it is the reference. A requirement without a mutant
that it kills by its id is not believed.
"""

from collections.abc import Callable, Mapping

from attrs import evolve, frozen

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import Claims
from keyturn.cards import Interaction
from keyturn.faults import Armed, FaultKind
from keyturn.responses import RefusalCode, Rejected, named_card
from keyturn.settling import effect_count
from keyturn.store import Possibility, ReferenceStore, State, possibilities
from keyturn.values import CardId, Untrusted
from keyturn.world import Command, Unfolding, World


@frozen
class Turn:
    """One operation as it meets the store, and what the reference would do."""

    state: State
    operation: ops.Operation
    claims: Claims
    chosen: Possibility

    @property
    def card(self) -> Interaction | None:
        """The interaction that the operation names, whoever asks."""
        match self.operation:
            case ops.CardRespond():
                named = named_card(self.operation.response)
                return None if named is None else self.state.world.interaction(named)
            case ops.CardGet():
                return self.state.world.interaction(self.operation.card)
            case _:
                return None

    @property
    def sent(self) -> Mapping[str, object]:
        """What the client sent, where it is an object."""
        response: object = self.operation.response if isinstance(self.operation, ops.CardRespond) else None
        return response if isinstance(response, Mapping) else {}

    def refused_with(self, *codes: RefusalCode) -> bool:
        """Whether the reference refuses with one of these codes."""
        outcome = self.chosen.branch.outcome
        return isinstance(outcome, Rejected) and outcome.code in codes

    def instead(self, operation: ops.Operation, world: World | None = None) -> Possibility:
        """What the reference would do with another operation, or in another world."""
        state = self.state if world is None else evolve(self.state, world=world)
        return possibilities(state, operation, self.claims)[0]

    def answering(self, **changes: object) -> ops.CardRespond:
        """The same response with other fields."""
        assert isinstance(self.operation, ops.CardRespond) and isinstance(self.operation.response, Mapping)
        return evolve(self.operation, response=Untrusted({**self.operation.response, **changes}))


Distort = Callable[[Turn], Possibility]


@frozen(kw_only=True)
class Mutant:
    """One fault: its name, the sentence that describes it, the requirements that it breaks, and how.

    While something is armed to go wrong it does what the reference does, unless it is wrong in just that (`also_harmed`).
    """

    name: str
    fault: str
    breaks: tuple[str, ...]
    distort: Distort
    also_harmed: bool = False


def distorted(mutant: Mutant, turn: Turn) -> Possibility:
    """What the faulty system does in a turn."""
    unharmed = mutant.also_harmed or not is_harmed(turn.state.world)
    return mutant.distort(turn) if unharmed else turn.chosen


class MutantStore(ReferenceStore):
    """The reference store with one fault, armed or not."""

    def __init__(self, mutant: Mutant, *, armed: bool = True) -> None:
        super().__init__()
        self.mutant, self.armed = mutant, armed

    def pick(self, operation: ops.Operation) -> Possibility:
        """Return what the faulty system does with an operation."""
        chosen = super().pick(operation)
        return distorted(self.mutant, Turn(self.state, operation, self.claims, chosen)) if self.armed else chosen


# What distortions are made of.

NOTE = FaultKind.OWNERSHIP_UNREADABLE
"""What a distortion notes stands among the armed faults, with a card that no answer names: it never hits."""


def noted(word: str, card: CardId) -> Armed:
    """Return the note that this word is true of a card."""
    return Armed(fault=NOTE, card=CardId(f"{word} {card}"))


def is_harmed(world: World) -> bool:
    """Whether something is armed that can go wrong."""
    return any(each.fault is not NOTE or " " not in str(each.card) for each in world.armed)


def with_card(world: World, after: Interaction) -> World:
    """Return the world with one interaction in the place of the one with its id."""
    return evolve(world, interactions=tuple(after if each.id == after.id else each for each in world.interactions))


def answering_with(chosen: Possibility, outcome: Outcome) -> Possibility:
    """Return the possibility with another outcome."""
    return evolve(chosen, branch=evolve(chosen.branch, outcome=outcome))


def in_world(chosen: Possibility, world: World) -> Possibility:
    """Return the possibility in another world."""
    return evolve(chosen, state=evolve(chosen.state, world=world))


def with_effect(chosen: Possibility, card: Interaction, command: Command) -> Possibility:
    """Return the possibility with the effects of a command once more."""
    option = next(each for each in card.payload.options if each.id == command.option)
    unfolding = Unfolding(chosen.state.world).run(command, card, option, effect_count(option))
    return evolve(chosen, state=State(unfolding.world, chosen.state.history.after(unfolding.happened)))


def mutant(name: str, breaks: str, distort: Distort, fault: str, *, also_harmed: bool = False) -> Mutant:
    """Return the mutant with this name and fault, which breaks this requirement."""
    return Mutant(name=name, fault=fault, breaks=(breaks,), distort=distort, also_harmed=also_harmed)
