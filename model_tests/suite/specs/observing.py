"""Observations for the tests of the specifications: a store that is watched, and ways to falsify what was seen."""

from collections.abc import Mapping

from attrs import evolve

from keyturn import operations as ops
from keyturn.branches import Outcome
from keyturn.capabilities import ALL_CLAIMS, Claims
from keyturn.cards import CardView, view
from keyturn.responses import Presented
from keyturn.status import InteractionStatus
from keyturn.table import OPEN
from keyturn.values import CaseKey
from keyturn_specs.catalogue import BY_ID
from keyturn_specs.observations import Moment, Observation, Snapshot
from keyturn_specs.requirement import ByInvariant

from ..kernel.builders import CASE, Desk


class Watched(Desk):
    """A store that remembers what each card was presented with, and tells what an observer sees of a step."""

    def __init__(self, claims: Claims = ALL_CLAIMS) -> None:
        self.asked: dict[str, ops.CardPresent] = {}
        super().__init__(claims)

    def perform(self, operation: ops.Operation) -> Outcome:
        """Perform an operation; a card that was presented is remembered."""
        outcome = super().perform(operation)
        if isinstance(operation, ops.CardPresent) and isinstance(outcome, Presented):
            self.asked[outcome.card.id] = operation
        return outcome

    def snapshot(self) -> Snapshot:
        """Everything that an observer reads at this moment."""
        state = self.state
        keys = [case.key for case in state.world.cases]
        lists: dict[tuple[str, str], tuple[CardView, ...]] = {}
        for each in state.world.interactions:
            owner = (each.key.account, each.conversation)
            lists[owner] = (*lists.get(owner, ()), *((view(each),) if each.status in OPEN else ()))
        return Snapshot(
            revisions={key: state.world.revision(key) for key in keys},
            cards={each.id: view(each) for each in state.world.interactions},
            lists=lists,
            effects={key: state.effects_of(key) for key in keys},
            metrics=state.history.metrics,
            ledger={key: tuple(entry for batch in state.batches_of(key) for entry in batch) for key in keys},
        )

    def watch(self, operation: ops.Operation) -> Observation:
        """Perform an operation, and return what was seen of it."""
        before = self.snapshot()
        outcome = self.perform(operation)
        return Observation(
            operation=operation,
            outcome=outcome,
            before=before,
            after=self.snapshot(),
            asked=dict(self.asked),
            claims=self.claims,
            restarted=isinstance(operation, ops.Restart),
        )

    def moment(self, operation: ops.Operation, branch: int = 0) -> Moment:
        """The model's side of a step that is taken by one of its branches."""
        return Moment(state=self.state, operation=operation, branch=self.may(operation)[branch], claims=self.claims)


def broken(requirement: str, seen: Observation) -> str | None:
    """What an invariant says of an observation."""
    judge = BY_ID[requirement].judged_by
    assert isinstance(judge, ByInvariant)
    return judge.broken(seen)


def applies(requirement: str, moment: Moment) -> bool:
    """Whether a step exercises a requirement."""
    return BY_ID[requirement].applies(moment)


def with_cards(seen: Observation, **cards: CardView | None) -> Observation:
    """An observation in which some cards read as something else afterwards; a name is an id with underscores."""
    changed = {name.replace("_", "-"): card for name, card in cards.items()}
    return evolve(seen, after=evolve(seen.after, cards={**seen.after.cards, **changed}))


def with_status(seen: Observation, card: str, status: InteractionStatus) -> Observation:
    """An observation in which a card reads another status afterwards."""
    shown = seen.after.cards[card]
    assert shown is not None
    changed = {**seen.after.cards, card: evolve(shown, status=status)}
    return evolve(seen, after=evolve(seen.after, cards=changed))


def with_effects(seen: Observation, *effects: ops.Effect, key: CaseKey = CASE) -> Observation:
    """An observation in which these are the effects of a case afterwards."""
    return evolve(seen, after=evolve(seen.after, effects={**seen.after.effects, key: effects}))


def with_ledger(seen: Observation, *entries: ops.LedgerEntry, key: CaseKey = CASE) -> Observation:
    """An observation in which these are the entries of a case afterwards."""
    return evolve(seen, after=evolve(seen.after, ledger={**seen.after.ledger, key: entries}))


def shown(seen: Observation, card: str) -> CardView:
    """A card as it reads afterwards."""
    found = seen.after.cards[card]
    assert found is not None
    return found


def only(effects: Mapping[CaseKey, tuple[ops.Effect, ...]], key: CaseKey = CASE) -> ops.Effect:
    """The one effect of a case."""
    [effect] = effects[key]
    return effect
