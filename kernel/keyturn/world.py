"""The world: everything that the future depends on, as one immutable value, and the moves that change it.

A world holds the clock, the cases, the interactions and the commands; nothing that is only history. A move returns an
*unfolding*: the next world and what happened on the way, which a store writes to its ledger and its effects. Ids are
names of the world's own counter, and time is a field, so that nothing here reads a clock or draws a random number.
"""

from typing import Literal

from attrs import evolve, field, frozen

from keyturn.cards import Interaction, InteractionOption, Result, final_arguments
from keyturn.faults import Armed
from keyturn.operations import Cause, Effect, LedgerEntry
from keyturn.responses import Settled
from keyturn.status import UNWRITTEN, InteractionEvent, InteractionStatus
from keyturn.table import OPEN, STATUS_TABLE, TransitionTable
from keyturn.values import CardId, CaseKey, CommandId, EffectId, IdempotencyKey, Instant, Revision

TAKES = frozenset({InteractionEvent.ACCEPT, InteractionEvent.DECLINE, InteractionEvent.DISMISS})
"""The events by which an answer is taken; `card.dismiss` is one that chooses no option."""


@frozen(kw_only=True)
class Case:
    """A case and its revision, which grows with every committed change; on a closed one no card is presented."""

    key: CaseKey
    revision: Revision = Revision(1)
    closed: bool = False


@frozen(kw_only=True)
class Settlement:
    """How a command was said to end; on a revision conflict `on_failure` decides too (L5)."""

    result: Literal["committed", "failed"] = "committed"
    on_failure: Literal["record", "restore"] = "record"


@frozen(kw_only=True, cache_hash=True)
class Command:
    """What an authorising option became; `accepted_at` is the case's revision at that moment (I13.5)."""

    id: CommandId
    idempotency_key: IdempotencyKey
    card: CardId
    option: str
    freeform: str | None
    accepted_at: Revision
    settlement: Settlement | None = None
    reply: Settled | None = None


@frozen(kw_only=True)
class World:
    """Everything that the future depends on; `issued` counts the ids that were ever given out (I6.7).

    `table` is the status machine that moves its cards. It is data, so that a wrong one can be explored and asked like any
    other; it never changes, and worlds are compared without it.
    """

    now: Instant = Instant(0)
    issued: int = 0
    cases: tuple[Case, ...] = ()
    interactions: tuple[Interaction, ...] = ()
    commands: tuple[Command, ...] = ()
    next_settlement: Settlement = Settlement()
    armed: tuple[Armed, ...] = ()
    table: TransitionTable = field(default=STATUS_TABLE, eq=False, repr=False)

    def disarmed(self, armed: Armed) -> "World":
        """Return the world after an armed fault has hit, which it does once; of two alike the other one still waits."""
        place = self.armed.index(armed)
        return evolve(self, armed=(*self.armed[:place], *self.armed[place + 1 :]))

    def case(self, key: CaseKey) -> Case | None:
        """Return the case, open or closed; nothing for one that was never opened."""
        return next((case for case in self.cases if case.key == key), None)

    def revision(self, key: CaseKey) -> Revision:
        """Return the revision of a case that is known to be there."""
        return next(case.revision for case in self.cases if case.key == key)

    def interaction(self, card: str) -> Interaction | None:
        """Return the interaction with exactly this id (I7.7)."""
        return next((each for each in self.interactions if each.id == card), None)

    def command(self, command: str) -> Command | None:
        """Return the command with exactly this id."""
        return next((each for each in self.commands if each.id == command), None)

    def command_of(self, card: CardId) -> Command | None:
        """Return the command that a Resolving card waits for: the last one that it became."""
        return next((each for each in reversed(self.commands) if each.card == card), None)

    def may(self, card: Interaction, event: InteractionEvent) -> bool:
        """Tell whether an event can happen to a card, by its status alone (L1)."""
        return self.table.allows(card.status, event)

    def occupant(self, key: CaseKey) -> Interaction | None:
        """Return the open blocking card of a case, if there is one (I5.1)."""
        return next(
            (each for each in self.interactions if each.key == key and each.blocking and each.status in OPEN), None
        )

    def overdue(self) -> tuple[Interaction, ...]:
        """Return the cards that can expire and whose deadline is past (L7)."""
        return tuple(
            each for each in self.interactions if each.is_past(self.now) and self.may(each, InteractionEvent.EXPIRE)
        )


@frozen
class Unfolding:
    """A world on its way: what it has become, and what happened so far."""

    world: World
    happened: tuple[LedgerEntry | Effect, ...] = ()

    def issue(self, kind: str) -> "tuple[str, Unfolding]":
        """Give out a fresh id; no id is ever given out twice (I6.7)."""
        number = self.world.issued + 1
        return f"{kind}-{number}", evolve(self, world=evolve(self.world, issued=number))

    def _next(self, status: str, event: InteractionEvent) -> InteractionStatus:
        return InteractionStatus(self.world.table.step(status, event))

    def write(self, interaction: Interaction) -> "Unfolding":
        """Store a new interaction, in the status that `present` leads to: the first entry of its ledger (I6.1)."""
        interaction = evolve(interaction, status=self._next(UNWRITTEN, InteractionEvent.PRESENT))
        entry = LedgerEntry(
            seq=0,
            at=self.world.now,
            card=interaction.id,
            event=InteractionEvent.PRESENT,
            to_status=interaction.status,
            cause=Cause(),
        )
        return Unfolding(
            evolve(self.world, interactions=(*self.world.interactions, interaction)), (*self.happened, entry)
        )

    def move(
        self,
        card: CardId,
        event: InteractionEvent,
        cause: Cause = Cause(),
        *,
        option: str | None = None,
        result: Result | None = None,
    ) -> "Unfolding":
        """Move one interaction along its table, and say so; raise `IllegalTransition` where there is no row (L1)."""
        before = next(each for each in self.world.interactions if each.id == card)
        after = evolve(before, status=self._next(before.status, event))
        if event in TAKES:
            after = evolve(after, resolved_option=option, resolved_at=self.world.now)
        if event is InteractionEvent.RESTORE:
            after = evolve(after, resolved_option=None, resolved_at=None)
        if result is not None:
            after = evolve(after, result=result)
        entry = LedgerEntry(
            seq=0,
            at=self.world.now,
            card=card,
            from_status=before.status,
            event=event,
            to_status=after.status,
            cause=cause,
        )
        cards = tuple(after if each is before else each for each in self.world.interactions)
        return Unfolding(evolve(self.world, interactions=cards), (*self.happened, entry))

    def run(self, command: Command, interaction: Interaction, option: InteractionOption, count: int) -> "Unfolding":
        """Let a command take effect, `count` times for `count` stored commands, at the case's new revision (I14.1)."""
        unfolding = self
        for _ in range(count):
            name, unfolding = unfolding.issue("effect")
            effect = Effect(
                id=EffectId(name),
                command=command.id,
                idempotency_key=command.idempotency_key,
                card=interaction.id,
                option=option.id,
                action=option.action,
                arguments=final_arguments(option.action, command.freeform),
                freeform=command.freeform,
                payload_hash=interaction.payload_hash,
                case_revision=unfolding.world.revision(interaction.key),
            )
            unfolding = Unfolding(unfolding.world, (*unfolding.happened, effect))
        return unfolding

    def effects(self) -> tuple[EffectId, ...]:
        """The ids of the effects so far."""
        return tuple(each.id for each in self.happened if isinstance(each, Effect))

    def advance(self, key: CaseKey) -> "Unfolding":
        """Raise the revision of a case by one."""
        cases = tuple(
            evolve(case, revision=Revision(case.revision + 1)) if case.key == key else case for case in self.world.cases
        )
        return evolve(self, world=evolve(self.world, cases=cases))

    def sweep(self, key: CaseKey) -> "Unfolding":
        """Invalidate every Active card of a case that is bound to another revision than the current one (I13.3)."""
        unfolding, current = self, self.world.revision(key)
        cause = Cause(reason="revision_changed", new_revision=current)
        for each in self.world.interactions:
            stale = each.case_revision is not None and each.case_revision != current
            if each.key == key and stale and self.world.may(each, InteractionEvent.INVALIDATE):
                unfolding = unfolding.move(each.id, InteractionEvent.INVALIDATE, cause)
        return unfolding

    def close(self, key: CaseKey, *, closed: bool = True) -> "Unfolding":
        """Close a case, or open it again; its revision stays."""
        cases = tuple(evolve(case, closed=closed) if case.key == key else case for case in self.world.cases)
        return evolve(self, world=evolve(self.world, cases=cases))

    def invalidate(self, key: CaseKey, cause: Cause) -> "Unfolding":
        """Invalidate every Active card of a case, whatever it is bound to; Resolving ones are spared (I13.11)."""
        unfolding = self
        for each in self.world.interactions:
            if each.key == key and self.world.may(each, InteractionEvent.INVALIDATE):
                unfolding = unfolding.move(each.id, InteractionEvent.INVALIDATE, cause)
        return unfolding

    def replace_command(self, after: Command) -> "Unfolding":
        """Store what became of a command."""
        commands = tuple(after if each.id == after.id else each for each in self.world.commands)
        return evolve(self, world=evolve(self.world, commands=commands))
