"""What a generator may know before it chooses the next step.

A situation pairs every card that the system offered with what the model believes of it, and every command with its state.
It is made anew before each step and never changes.
"""

from collections.abc import Mapping

from attrs import frozen

from keyturn.capabilities import Capability, Claims
from keyturn.cards import Interaction, InteractionKind, InteractionOption
from keyturn.status import InteractionStatus
from keyturn.values import CaseKey
from keyturn.world import Command, World
from keyturn_specs.memory import NOTHING_REMEMBERED, Memory, text_of
from keyturn_testing.driver import Driver
from keyturn_testing.observing import Offered


@frozen
class KnownCard:
    """A card that the system offered, and what the model believes of it."""

    offered: Offered
    believed: Interaction

    @property
    def id(self) -> Mapping[str, object]:
        """The reference to the card's id."""
        return {"$ref": f"{self.offered.label}/card/id"}

    @property
    def owner(self) -> dict[str, object]:
        """Who was asked, and where, as an operation names it."""
        return {"account": self.offered.asked.account, "conversation": self.offered.asked.conversation}

    @property
    def chosen(self) -> InteractionOption | None:
        """The option that the card was answered with; nothing while it waits, and for a set."""
        return self.believed.payload.option(self.believed.resolved_option or "")

    @property
    def bound(self) -> Mapping[str, object]:
        """The reference to the revision that the card shows; a system without revisions shows none."""
        return {"$ref": f"{self.offered.label}/card/case_revision", "else": 1}


@frozen
class KnownCommand:
    """A command that the system named, the label of the answer that named it, and what the model believes of it."""

    label: str
    believed: Command

    @property
    def id(self) -> Mapping[str, object]:
        """The reference to the command's id."""
        return {"$ref": f"{self.label}/command"}


@frozen
class KnownState:
    """What a host keeps of a card: the label of the answer that brought it, and what the model believes of the card."""

    label: str
    believed: Interaction

    @property
    def state(self) -> Mapping[str, object]:
        """The reference to what is kept."""
        return {"$ref": f"{self.label}/state"}


@frozen(kw_only=True)
class Situation:
    """Everything that the next step can be chosen from."""

    claims: Claims
    kinds: tuple[InteractionKind, ...]
    actions: frozenset[str] | None
    world: World
    cases: tuple[CaseKey, ...]
    cards: tuple[KnownCard, ...]
    commands: tuple[KnownCommand, ...]
    states: tuple[KnownState, ...] = ()
    memory: Memory = NOTHING_REMEMBERED
    number: int

    def claimed(self, *capabilities: Capability) -> bool:
        """Whether the system claims all of these."""
        return self.claims >= set(capabilities)

    def with_status(self, *statuses: InteractionStatus) -> tuple[KnownCard, ...]:
        """The cards that the model believes to have one of these statuses."""
        return tuple(each for each in self.cards if each.believed.status in statuses)

    @property
    def open_cases(self) -> tuple[CaseKey, ...]:
        """The cases that are open, as far as the model knows."""
        closed = {each.key for each in self.world.cases if each.closed}
        return tuple(each for each in self.cases if each not in closed)

    def fresh(self, card: KnownCard) -> bool:
        """Whether a card is Active, not overdue, and not stale."""
        believed = card.believed
        current = believed.case_revision in (None, self.world.revision(believed.key))
        return believed.status is InteractionStatus.ACTIVE and current and not believed.overdue(self.world.now)


def situation(driver: Driver, kinds: tuple[InteractionKind, ...], actions: frozenset[str] | None) -> Situation:
    """Return the situation that a driver is in, by its first hypothesis."""
    hypothesis = driver.oracle.hypotheses[0]
    world, binding = hypothesis.state.world, hypothesis.binding
    cards = []
    for offered in driver.observer.offered.values():
        believed = world.interaction(str(binding.model("card", None, offered.id)))
        if believed is not None and offered.label:
            cards.append(KnownCard(offered, believed))
    commands, states = {}, []
    for label, answer in driver.answers.items():
        if isinstance(answer, Mapping) and answer.get("outcome") == "accepted":
            command = world.command(str(binding.model("command", None, str(answer.get("command")))))
            if command is not None:
                commands[command.id] = KnownCommand(label, command)
        elif isinstance(answer, Mapping) and "state" in answer and "outcome" not in answer:
            of_card = driver.oracle.memory.exported.get(text_of(answer["state"]))
            believed = None if of_card is None else world.interaction(str(binding.model("card", None, of_card)))
            if believed is not None:
                states.append(KnownState(label, believed))
    return Situation(
        claims=driver.claims,
        kinds=kinds,
        actions=actions,
        world=world,
        cases=tuple(driver.observer.cases),
        cards=tuple(cards),
        commands=tuple(commands.values()),
        states=tuple(states),
        memory=hypothesis.memory,
        number=len(driver.steps),
    )
