"""The oracle: the set of worlds that still explain everything that was seen (D2).

A hypothesis is a state of the model with a binding of its names to the system's. A step maps every hypothesis to the
possibilities of its operation; what the system answered, and everything that could be read afterwards, keeps those that
explain it. When none is left the step is a violation, and the differences to the reference's own choice say where.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import tee
from typing import TypeAlias

from attrs import evolve, field, frozen

from keyturn.branches import Outcome
from keyturn.capabilities import Claims
from keyturn.cards import CardView, view
from keyturn.faults import CRASHES, FaultKind
from keyturn.operations import (
    CardDismiss,
    CardGet,
    CardPresent,
    CardRespond,
    Cards,
    CaseOpened,
    CaseOperation,
    CommandSettle,
    Effects,
    FaultArm,
    Ledger,
    LedgerEntry,
    Operation,
    Restart,
    StateExport,
    StateImport,
)
from keyturn.responses import alike
from keyturn.status import InteractionStatus
from keyturn.store import Possibility, State, lazily_swept, possibilities
from keyturn.table import OPEN
from keyturn.values import LARGEST_INTEGER, CardId, CaseKey, CommandId, Revision, Untrusted
from keyturn_specs.memory import NOTHING_REMEMBERED, Memory, remembered, text_of
from keyturn_specs.observations import Moment, Snapshot
from keyturn_specs.requirement import Area
from keyturn_testing.matching import Binding, Matching, Mismatch


@frozen
class Hypothesis:
    """A state that the system may be in, which of its names the model's stand for, and what is remembered in these."""

    state: State = field(factory=State)
    binding: Binding = field(factory=Binding)
    memory: Memory = NOTHING_REMEMBERED


@frozen
class Difference:
    """One place where the system differs from the reference's choice, and in which area."""

    area: Area
    mismatch: Mismatch


@frozen
class Explanation:
    """What the oracle makes of a step: the hypotheses that are left, and the moment that was exercised.

    When none is left, `differences` tell the system from the reference's own choice, the worst area first.
    """

    hypotheses: tuple[Hypothesis, ...]
    moment: Moment
    differences: tuple[Difference, ...] = ()

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """The transitions that happened in the step, a sweep of the system's own included; none where nothing explains it."""
        if not self.hypotheses:
            return ()
        before, after = self.moment.state.history.batches, self.hypotheses[0].state.history.batches
        return tuple(entry for batch in after[len(before) :] for entry in batch)


def translate(operation: Operation, hypothesis: Hypothesis, memory: Memory) -> Operation:
    """Return the operation with the model's names for the system's ids and revisions.

    An id that was never seen stays one that the model never gave out, and a revision that was never seen stays one that
    no case ever has. What a host keeps is the system's own; `memory` knows of which card it is.
    """
    match operation:
        case CardGet():
            return CardGet(
                account=operation.account,
                conversation=operation.conversation,
                card=CardId(_model_id(hypothesis.binding, "card", operation.card)),
            )
        case CardPresent() if operation.for_revision is not None:
            return evolve(operation, for_revision=_model_revision(operation.for_revision, operation.key, hypothesis))
        case CardDismiss():
            card = CardId(_model_id(hypothesis.binding, "card", operation.card))
            revision = operation.expected_case_revision
            if revision is not None:
                revision = _model_revision(revision, _case_of(card, hypothesis), hypothesis)
            return evolve(operation, card=card, expected_case_revision=revision)
        case StateExport():
            return evolve(operation, card=CardId(_model_id(hypothesis.binding, "card", operation.card)))
        case StateImport():
            return StateImport(state=Untrusted(_model_state(operation, hypothesis, memory)))
        case FaultArm() if operation.card is not None:
            return evolve(operation, card=CardId(_model_id(hypothesis.binding, "card", operation.card)))
        case CommandSettle():
            command = CommandId(_model_id(hypothesis.binding, "command", operation.command))
            return CommandSettle(command=command, result=operation.result, on_failure=operation.on_failure)
        case CardRespond():
            response = Untrusted(_model_response(operation.response, hypothesis))
            return CardRespond(account=operation.account, conversation=operation.conversation, response=response)
        case _:
            return operation


def _model_id(binding: Binding, sort: str, seen: str) -> str:
    known = binding.model(sort, None, seen)
    if known is not None or not seen:
        return "" if known is None else str(known)
    near = next(
        (mine for (of, _, there), mine in binding.to_model.items() if of == sort and alike(str(there), seen)), None
    )
    # An id that is like one of the system's stays like the model's own for it, and is nobody's all the same (I7.7).
    return f"?{seen}" if near is None else f"{near} "


def _model_state(operation: StateImport, hypothesis: Hypothesis, memory: Memory) -> object:
    """What the model would keep of the card that the system's state is of; nothing that it knows, for another state."""
    card = memory.exported.get(text_of(operation.state))
    interaction = (
        None if card is None else hypothesis.state.world.interaction(_model_id(hypothesis.binding, "card", card))
    )
    return None if interaction is None else {"card": interaction.id, "payload_hash": interaction.payload_hash}


def _model_response(response: object, hypothesis: Hypothesis) -> object:
    if not isinstance(response, Mapping):
        return response
    translated = dict(response)
    card, revision = response.get("interaction_id"), response.get("expected_case_revision")
    if isinstance(card, str):
        translated["interaction_id"] = _model_id(hypothesis.binding, "card", card)
    number = isinstance(revision, int | float) and not isinstance(revision, bool)
    if isinstance(revision, int | float) and number and 1 <= revision <= LARGEST_INTEGER and revision == int(revision):
        scope = _case_of(str(translated.get("interaction_id")), hypothesis)
        translated["expected_case_revision"] = type(revision)(_model_revision(int(revision), scope, hypothesis))
    return translated


def _case_of(card: str, hypothesis: Hypothesis) -> CaseKey | None:
    interaction = hypothesis.state.world.interaction(card)
    return None if interaction is None else interaction.key


def _model_revision(seen: int, scope: CaseKey | None, hypothesis: Hypothesis) -> Revision:
    """The model's number for a revision of a case; what is no revision at all stays as it is."""
    if not 1 <= seen <= LARGEST_INTEGER:
        return Revision(seen)
    known = hypothesis.binding.model("revision", scope, seen)
    return Revision(LARGEST_INTEGER if known is None else int(known))


def scope_of(operation: Operation) -> CaseKey | None:
    """Return the case whose revisions an operation speaks of; nothing for one that names none."""
    return operation.key if isinstance(operation, CaseOperation) else None


def compare_snapshot(matching: Matching, state: State, after: Snapshot) -> None:
    """Compare everything that was read with what the state says; lists come first, they may show a card's id first."""
    world = state.world
    for (account, conversation), cards in after.lists.items():
        mine = tuple(
            view(each)
            for each in world.interactions
            if each.status in OPEN and (each.key.account, each.conversation) == (account, conversation)
        )
        matching.compare(("list", account, conversation), Cards(cards=mine), Cards(cards=cards))
    for card, seen in after.cards.items():
        interaction = world.interaction(str(matching.binding.model("card", None, card)))
        if interaction is None or seen is None:
            matching.differ(
                ("card", card, "status"), None if interaction is None else interaction.status, _status(seen)
            )
        else:
            matching.compare(("card", card), view(interaction), seen)
    for key, revision in after.revisions.items():
        case = world.case(key)
        opened = None if case is None else CaseOpened(revision=case.revision)
        matching.scope = key
        matching.compare(("revision", key.case), opened, CaseOpened(revision=Revision(revision)))
    for key, effects in after.effects.items():
        matching.compare(("effects", key.case), Effects(effects=state.effects_of(key)), Effects(effects=effects))
    for key, entries in after.ledger.items():
        batches = state.batches_of(key)
        matching.batches = tuple(map(len, batches))
        expected = Ledger(entries=tuple(each for batch in batches for each in batch))
        matching.compare(("ledger", key.case), expected, Ledger(entries=entries))
    if after.metrics is not None:
        matching.compare(("metrics",), state.history.metrics, after.metrics)


def _status(seen: CardView | None) -> InteractionStatus | None:
    return None if seen is None else seen.status


_AREAS: Mapping[str, Area] = {
    "effects": Area.EFFECTS,
    "reply": Area.REPLY,
    "revision": Area.REVISION,
    "card": Area.CARD,
    "list": Area.CARD,
    "ledger": Area.LEDGER,
    "metrics": Area.METRICS,
}


def _area(mismatch: Mismatch) -> Area:
    area = Area.CODE if mismatch.path == ("reply", "code") else _AREAS[mismatch.path[0]]
    return Area.STATUS if area is Area.CARD and mismatch.path[-1] == "status" else area


def ranked(mismatches: list[Mismatch]) -> tuple[Difference, ...]:
    """Return the differences that mismatches are, the worst area first."""
    rank = list(Area)
    differences = [Difference(_area(each), each) for each in mismatches]
    return tuple(sorted(differences, key=lambda each: rank.index(each.area)))


@frozen
class Failure:
    """A definite error where an outcome was due: nothing happened, and something should have."""

    message: str


Chance: TypeAlias = tuple[Hypothesis, Moment, Possibility]
"""Something that may happen: in which hypothesis, as which moment, and what it leads to."""

_UNHEARD = CRASHES | {FaultKind.REPLY_LOST}


def chances_of(hypothesis: Hypothesis, translated: Operation, claims: Claims) -> Iterator[Chance]:
    """Yield what may happen under one hypothesis, by an operation in the model's names."""
    for possibility in possibilities(hypothesis.state, translated, claims):
        moment = Moment(
            state=hypothesis.state,
            operation=translated,
            branch=possibility.branch,
            claims=claims,
            memory=hypothesis.memory,
        )
        yield hypothesis, moment, possibility


def distinct(hypotheses: Sequence[Hypothesis]) -> tuple[Hypothesis, ...]:
    """Return each hypothesis once, in their order; they can be compared, and have no hash."""
    return tuple(each for number, each in enumerate(hypotheses) if each not in hypotheses[:number])


class Oracle:
    """Follows one system through one example; `memory` is what is remembered in the system's own ids."""

    def __init__(self, claims: Claims) -> None:
        self.claims = claims
        self.hypotheses: tuple[Hypothesis, ...] = (Hypothesis(),)
        self.memory = NOTHING_REMEMBERED
        self._foreseen: tuple[Operation, tuple[Hypothesis, ...], Memory, Iterator[Chance]] | None = None

    def foresee(self, operation: Operation) -> Moment:
        """Return the moment that an operation would be, as the reference would take it."""
        return next(self._moments(operation))[1]

    def may_crash(self) -> bool:
        """Whether the process may end in the next step, because that was asked for."""
        return any(armed.fault in CRASHES for each in self.hypotheses for armed in each.state.world.armed)

    def explain(
        self, operation: Operation, outcome: Outcome | Failure | None, after: Snapshot, *, restarted: bool = False
    ) -> Explanation:
        """Keep the hypotheses that explain a step; `restarted` says that the system was, in it.

        No outcome means that the reply was lost: any branch may have been taken, or the operation never happened.
        """
        left = list(self._not_happened(operation, after, restarted)) if outcome is None else []
        first: Moment | None = None
        explained: Moment | None = None
        differences: tuple[Difference, ...] = ()
        for hypothesis, moment, possibility in self._moments(operation):
            for state in (possibility.state, *lazily_swept(possibility.state)):
                matching = Matching(hypothesis.binding, state.world, self.claims, scope=scope_of(operation))
                if outcome is not None:
                    matching.compare(("reply",), possibility.branch.outcome, outcome)
                compare_snapshot(matching, state, after)
                if not matching.mismatches:
                    explained = explained or moment
                    heard = None if outcome is None else possibility.branch.outcome
                    memory = remembered(moment.memory, moment.operation, heard, restarted=restarted)
                    left.append(Hypothesis(state, matching.binding, memory))
                elif first is None:
                    first, differences = moment, ranked(matching.mismatches)
                if explained is not None:
                    break
        merged = distinct(left)
        if merged:
            self.hypotheses = merged
        moment = explained or first or self.foresee(operation)
        heard = None if isinstance(outcome, Failure) else outcome
        self.memory = remembered(self.memory, operation, heard, restarted=restarted)
        return Explanation(merged, moment, () if merged else differences)

    def adopt(
        self, hypotheses: tuple[Hypothesis, ...], steps: Sequence[tuple[Operation, Outcome | Failure | None]]
    ) -> None:
        """Go on from the hypotheses that explain several steps at once; from those before, where there are none."""
        self.hypotheses = hypotheses or self.hypotheses
        for operation, outcome in steps:
            heard = None if isinstance(outcome, Failure) else outcome
            self.memory = remembered(self.memory, operation, heard, restarted=False)

    def _not_happened(self, operation: Operation, after: Snapshot, restarted: bool) -> Iterator[Hypothesis]:
        """The hypotheses in which nothing happened; a fault that takes replies away may have hit all the same.

        A process that ended as it was asked to has used its fault up.
        """
        crashed = restarted and not isinstance(operation, Restart)
        for each in self.hypotheses:
            if self._unchanged(each, after):
                translated = translate(operation, each, self.memory)
                memory = remembered(each.memory, translated, None, restarted=restarted)
                world = each.state.world
                spent = tuple(armed for armed in world.armed if armed.fault not in _UNHEARD)
                for armed in (spent,) if crashed else dict.fromkeys((world.armed, spent)):
                    yield Hypothesis(evolve(each.state, world=evolve(world, armed=armed)), each.binding, memory)

    def _unchanged(self, hypothesis: Hypothesis, after: Snapshot) -> bool:
        matching = Matching(hypothesis.binding, hypothesis.state.world, self.claims)
        compare_snapshot(matching, hypothesis.state, after)
        return not matching.mismatches

    def _moments(self, operation: Operation) -> Iterator[Chance]:
        """What may happen, hypothesis by hypothesis; what was foreseen of this very operation is not worked out again."""
        known = self._foreseen
        same = known is not None and known[0] is operation and known[1] is self.hypotheses and known[2] is self.memory
        coming = known[3] if same and known is not None else self._chances(operation)
        kept, mine = tee(coming)
        self._foreseen = operation, self.hypotheses, self.memory, kept
        return mine

    def _chances(self, operation: Operation) -> Iterator[Chance]:
        for hypothesis in self.hypotheses:
            yield from chances_of(hypothesis, translate(operation, hypothesis, self.memory), self.claims)
