"""The interesting places that a generator should reach, each with what a system must claim so that it can be reached.

A place is a predicate over one step: what was drawn, what the model believed before it, and the branch that explains it. What
comes from a table is a place for each of its entries, which counts only where the step really put it to the test.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from attrs import field, frozen

from keyturn import operations as ops
from keyturn.capabilities import Capability, Claims
from keyturn.cards import Interaction
from keyturn.responses import Presented, RefusalCode, Rejected
from keyturn.status import InteractionStatus
from keyturn.table import OPEN, TERMINAL
from keyturn.world import World
from keyturn_specs.observations import Moment
from keyturn_specs.reading import addressed
from keyturn_testing.dealing import Table
from keyturn_testing.drawing import READS_ALIKE, TWINS
from keyturn_testing.drawing_edges import WRONG_SETS
from keyturn_testing.drawing_responses import BEYOND, CARDS_ALIKE, MALFORMED, NO_REVISIONS, OPTIONS_ALIKE
from keyturn_testing.payloads import twins
from keyturn_testing.texts import LONG_TEXTS, REFUSED_TEXTS, TEXTS, UNWANTED_TEXTS

T = TypeVar("T")

C, S = Capability, InteractionStatus


@frozen(kw_only=True)
class Taken:
    """One step that was taken; `dealt` are the table entries in it, `restarted` the world at the last restart."""

    dealt: tuple[tuple[str, str], ...]
    moment: Moment
    restarted: World | None

    @property
    def world(self) -> World:
        """The world before the step."""
        return self.moment.state.world

    @property
    def answered(self) -> Interaction | None:
        """The card that a response names, whoever sent it."""
        return addressed(self.moment) if isinstance(self.moment.operation, ops.CardRespond) else None

    @property
    def sent(self) -> Mapping[str, object]:
        """The response that was sent, where it is an object."""
        operation = self.moment.operation
        response: object = operation.response if isinstance(operation, ops.CardRespond) else None
        return response if isinstance(response, Mapping) else {}

    @property
    def accepted(self) -> bool:
        """Whether the response was taken."""
        return "A1" in self.moment.branch.because

    def refused(self, *codes: RefusalCode) -> bool:
        """Whether the step was refused with one of these codes, or any where none is named."""
        outcome = self.moment.branch.outcome
        return isinstance(outcome, Rejected) and (not codes or outcome.code in codes)


@frozen(kw_only=True)
class Place:
    """One place, and what must be claimed so that it can be reached."""

    name: str
    reached: Callable[[Taken], bool]
    needs: Claims = field(factory=frozenset)


# ---- Tables ---------------------------------------------------------------------------------------------------------


def _of(table: Table[T], tested: Callable[[Taken, str], bool], *needs: Capability) -> Iterator[Place]:
    for name in table.entries:
        yield Place(name=f"{table.name}: {name}", reached=_dealt(table, name, tested), needs=frozenset(needs))


def _dealt(table: Table[T], name: str, tested: Callable[[Taken, str], bool]) -> Callable[[Taken], bool]:
    return lambda taken: (table.name, name) in taken.dealt and tested(taken, name)


def _is_malformed(taken: Taken, name: str) -> bool:
    return taken.refused(RefusalCode.MALFORMED)


def _is_no_option(taken: Taken, name: str) -> bool:
    return taken.refused(RefusalCode.UNKNOWN_OPTION, RefusalCode.MALFORMED) and taken.sent.get("option_id") != "0"


def _is_no_card(taken: Taken, name: str) -> bool:
    return taken.refused(RefusalCode.NOT_FOUND, RefusalCode.MALFORMED) and taken.answered is None


def _is_refused_or_blank(taken: Taken, name: str) -> bool:
    return taken.refused() or (taken.accepted and name.startswith(("nothing", "blank")))


def _is_refused_or_more(taken: Taken, name: str) -> bool:
    """An option that is named beside a set is more than a response, and may be ignored (I7.3)."""
    return taken.refused() or (taken.accepted and name == "a single option too")


TABLES = (
    *_of(TEXTS, lambda taken, name: taken.accepted, C.FREEFORM),
    *_of(REFUSED_TEXTS, _is_refused_or_blank, C.FREEFORM),
    *_of(UNWANTED_TEXTS, _is_refused_or_blank, C.FREEFORM),
    *_of(LONG_TEXTS, lambda taken, name: taken.accepted is (name == "at the limit"), C.FREEFORM),
    *_of(MALFORMED, _is_malformed),
    *_of(BEYOND, lambda taken, name: taken.answered is not None),
    *_of(NO_REVISIONS, _is_malformed, C.REVISIONS),
    *_of(WRONG_SETS, _is_refused_or_more, C.MULTI_SELECT),
    *_of(OPTIONS_ALIKE, _is_no_option),
    *_of(CARDS_ALIKE, _is_no_card),
    *_of(READS_ALIKE, lambda taken, name: taken.refused(RefusalCode.NOT_FOUND)),
    *_of(TWINS, lambda taken, name: isinstance(taken.moment.branch.outcome, Presented)),
)
"""Each entry of each table that is dealt."""


# ---- Answers to cards of every status -------------------------------------------------------------------------------


def _chooses(number: int) -> Callable[[Taken], bool]:
    def reached(taken: Taken) -> bool:
        card = taken.answered
        both = () if card is None else twins(card.payload)
        return bool(both) and taken.accepted and taken.sent.get("option_id") == both[number].id

    return reached


def _chooses_the_other_twin(taken: Taken) -> bool:
    card = taken.answered
    both = [] if card is None else [each.id for each in twins(card.payload)]
    return card is not None and {taken.sent.get("option_id"), card.resolved_option} == set(both) != set()


def _again(status: InteractionStatus, same: bool) -> Callable[[Taken], bool]:
    def reached(taken: Taken) -> bool:
        card = taken.answered
        if card is None or card.status is not status or taken.refused(RefusalCode.NOT_FOUND, RefusalCode.MALFORMED):
            return False
        return (taken.sent.get("option_id") == card.resolved_option) is same

    return reached


_NEEDS_OF_STATUS: Mapping[InteractionStatus, Claims] = {
    S.RESOLVING: frozenset({C.DEFERRED}),
    S.EXPIRED: frozenset({C.CLOCK}),
    S.INVALIDATED: frozenset({C.REVISIONS}),
}


def _after_every_status() -> Iterator[Place]:
    for status in (S.RESOLVING, *sorted(TERMINAL)):
        needs = _NEEDS_OF_STATUS.get(status, frozenset())
        yield Place(name=f"another answer to a {status} card", reached=_again(status, False), needs=needs)
        if status not in {S.EXPIRED, S.INVALIDATED}:
            yield Place(name=f"the same answer to a {status} card", reached=_again(status, True), needs=needs)


def _stale(current: bool) -> Callable[[Taken], bool]:
    def reached(taken: Taken) -> bool:
        card, revision = taken.answered, taken.sent.get("expected_case_revision")
        if card is None or card.case_revision is None or card.status not in {S.ACTIVE, S.INVALIDATED}:
            return False
        now = taken.world.revision(card.key)
        return now != card.case_revision and revision == (now if current else card.case_revision)

    return reached


ANSWERS = (
    Place(name="the first of two twins", reached=_chooses(0)),
    Place(name="the second of two twins", reached=_chooses(1)),
    Place(name="one twin after the other", reached=_chooses_the_other_twin),
    *_after_every_status(),
    Place(name="a stale card with the current revision", reached=_stale(True), needs=frozenset({C.REVISIONS})),
    Place(name="a stale card with its own revision", reached=_stale(False), needs=frozenset({C.REVISIONS})),
)
"""Answers to twins, to cards that were answered or have ended, and to cards that are stale."""


# ---- Ends, deadlines, restarts, owners ------------------------------------------------------------------------------


def _settles(*changed: str) -> Callable[[Taken], bool]:
    """A settlement of a command that has ended, other than the first in exactly these fields."""

    def reached(taken: Taken) -> bool:
        operation = taken.moment.operation
        command = taken.world.command(operation.command) if isinstance(operation, ops.CommandSettle) else None
        before = None if command is None else command.settlement
        differs = [each for each in ("result", "on_failure") if getattr(operation, each, 0) != getattr(before, each, 1)]
        return before is not None and differs == list(changed)

    return reached


def _settles_late(taken: Taken) -> bool:
    operation = taken.moment.operation
    command = taken.world.command(operation.command) if isinstance(operation, ops.CommandSettle) else None
    card = None if command is None else taken.world.interaction(command.card)
    return taken.refused(RefusalCode.CONFLICT) and card is not None and card.status in OPEN


def _due(left: int) -> Callable[[Taken], bool]:
    def reached(taken: Taken) -> bool:
        card = taken.answered
        waits = card is not None and card.status is S.ACTIVE and card.expires_at is not None
        if not waits or card is None or card.expires_at is None or card.expires_at - taken.world.now != left:
            return False
        return taken.accepted if left > 0 else taken.refused(RefusalCode.EXPIRED)

    return reached


def _old_click(*statuses: InteractionStatus) -> Callable[[Taken], bool]:
    """An answer to a card that had one of these statuses when the system was restarted."""

    def reached(taken: Taken) -> bool:
        card = taken.answered
        before = taken.restarted.interaction(card.id) if card is not None and taken.restarted is not None else None
        return before is not None and before.status in statuses

    return reached


def _settles_after_a_restart(taken: Taken) -> bool:
    operation, restarted = taken.moment.operation, taken.restarted
    if not isinstance(operation, ops.CommandSettle) or restarted is None or taken.refused():
        return False
    command = restarted.command(operation.command)
    return command is not None and command.settlement is None


def _open_beside(part: str) -> Callable[[Taken], bool]:
    """An answer to a card while another one is open that differs in this part of its place, whatever its conversation."""

    def reached(taken: Taken) -> bool:
        card = taken.answered
        waiting = [each for each in taken.world.interactions if each.status in OPEN]
        return card in waiting and any(_differing(card, each, part) == {part} for each in waiting)

    return reached


def _differing(one: Interaction | None, other: Interaction, part: str) -> set[str]:
    assert one is not None
    differing = {each for each in ("account", "workflow", "case") if getattr(one.key, each) != getattr(other.key, each)}
    return differing | ({part} if part == "conversation" and one.conversation != other.conversation else set())


def _nobodys(by_nobody: bool) -> Callable[[Taken], bool]:
    def reached(taken: Taken) -> bool:
        card, operation = taken.answered, taken.moment.operation
        if (
            card is None
            or not isinstance(operation, ops.CardRespond)
            or "" not in (card.key.account, card.conversation)
        ):
            return False
        named = (operation.account, operation.conversation)
        return taken.accepted if by_nobody else "" not in named and taken.refused(RefusalCode.NOT_FOUND)

    return reached


def _answers_as_nobody(taken: Taken) -> bool:
    operation = taken.moment.operation
    as_nobody = isinstance(operation, ops.CardRespond) and "" in (operation.account, operation.conversation)
    return as_nobody and taken.answered is not None and taken.refused(RefusalCode.NOT_FOUND)


def _shows_a_card_after_a_restart(taken: Taken) -> bool:
    return taken.restarted is not None and isinstance(taken.moment.branch.outcome, Presented)


DEFERRED, CLOCK, RESTART, OWNERS = (frozenset({each}) for each in (C.DEFERRED, C.CLOCK, C.RESTART, C.OWNERS))

THE_REST = (
    Place(
        name="replacing a card in flight",
        reached=lambda taken: "I5.4" in taken.moment.branch.because,
        needs=frozenset({C.BLOCKING, C.REPLACE, C.DEFERRED}),
    ),
    Place(name="settling twice", reached=_settles(), needs=DEFERRED),
    Place(name="settling with another result", reached=_settles("result"), needs=DEFERRED),
    Place(name="settling with another policy", reached=_settles("on_failure"), needs=DEFERRED),
    Place(name="settling late", reached=_settles_late, needs=DEFERRED),
    Place(name="a millisecond before the deadline", reached=_due(1), needs=CLOCK),
    Place(name="at the deadline", reached=_due(0), needs=CLOCK),
    Place(name="a millisecond after the deadline", reached=_due(-1), needs=CLOCK),
    Place(name="a click on a card from before a restart", reached=_old_click(S.ACTIVE), needs=RESTART),
    Place(name="a click on a card that ended before a restart", reached=_old_click(*sorted(TERMINAL)), needs=RESTART),
    Place(name="a new card after a restart", reached=_shows_a_card_after_a_restart, needs=RESTART),
    Place(name="settling after a restart", reached=_settles_after_a_restart, needs=RESTART | DEFERRED),
    Place(name="two cases", reached=_open_beside("case")),
    Place(name="two workflows", reached=_open_beside("workflow")),
    Place(name="two accounts with one case name", reached=_open_beside("account"), needs=OWNERS),
    Place(name="two conversations in one case", reached=_open_beside("conversation"), needs=OWNERS),
    Place(name="answering as nobody", reached=_answers_as_nobody, needs=OWNERS),
    Place(name="answering nobody's card as somebody", reached=_nobodys(False), needs=OWNERS),
    Place(name="answering nobody's card as nobody", reached=_nobodys(True), needs=OWNERS),
)
"""Ends of commands, deadlines, restarts, several cases and owners at once, and owners that are nobody."""

PLACES: Mapping[str, Place] = {each.name: each for each in (*TABLES, *ANSWERS, *THE_REST)}
"""Every place, by its name."""
