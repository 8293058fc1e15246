"""The generator's intents: a table of what a step may be about, and when.

An intent says when it is possible and which drawing makes its call. `aims` names the requirements that it is there for;
counts steer by it, so that what was exercised least is aimed at most.
"""

from collections.abc import Mapping

from attrs import evolve

from keyturn.capabilities import Capability
from keyturn.status import InteractionStatus
from keyturn.table import TERMINAL
from keyturn_testing import drawing
from keyturn_testing import drawing_commands as commands
from keyturn_testing import drawing_edges as edges
from keyturn_testing import drawing_responses as responses
from keyturn_testing import drawing_times as times
from keyturn_testing.drawing import Pick
from keyturn_testing.intent import Intent
from keyturn_testing.intents_of_breakdowns import BREAKDOWN_INTENTS
from keyturn_testing.situation import Situation
from keyturn_testing.traces import Call

INTENTS: tuple[Intent, ...] = (
    Intent(name="open a case", weight=3, draw=drawing.open_case),
    Intent(
        name="present",
        weight=6,
        aims=frozenset({"I5.1", "I5.3", "I6.1"}),
        possible=drawing.presentable,
        draw=drawing.present_card,
    ),
    Intent(
        name="present for a revision",
        weight=2,
        needs=frozenset({Capability.FOR_REVISION}),
        aims=frozenset({"I13.10"}),
        possible=drawing.presentable,
        draw=drawing.present_for_revision,
    ),
    Intent(
        name="answer",
        weight=6,
        aims=frozenset({"A1", "L3", "I7.1", "E1"}),
        possible=drawing.has_fresh,
        draw=drawing.answer,
    ),
    Intent(
        name="choose one of the first options",
        weight=6,
        aims=frozenset({"A1", "L3", "I14.9"}),
        possible=drawing.has_fresh,
        draw=drawing.answer_first,
    ),
    Intent(
        name="answer again",
        weight=5,
        aims=frozenset({"I14.1", "I14.2", "I14.3", "I14.4"}),
        possible=drawing.has_status(InteractionStatus.RESOLVED, InteractionStatus.RESOLVING),
        draw=drawing.answer_again,
    ),
    Intent(
        name="choose an option of another card",
        weight=4,
        aims=frozenset({"I7.2", "I7.7"}),
        possible=drawing.has_cards,
        draw=responses.answer_unknown_option,
    ),
    Intent(
        name="answer with a wrong revision",
        weight=2,
        needs=frozenset({Capability.REVISIONS}),
        aims=frozenset({"I13.1"}),
        possible=drawing.has_bound_fresh,
        draw=responses.answer_wrong_revision,
    ),
    Intent(
        name="answer a stale card",
        weight=4,
        needs=frozenset({Capability.REVISIONS}),
        aims=frozenset({"I13.2", "I13.3"}),
        possible=lambda situation: bool(drawing.stale(situation)),
        draw=drawing.answer_stale,
    ),
    Intent(
        name="answer as a stranger",
        weight=2,
        needs=frozenset({Capability.OWNERS}),
        aims=frozenset({"I19.1", "I19.8"}),
        possible=drawing.has_cards,
        draw=drawing.answer_foreign,
    ),
    Intent(name="answer an unknown card", weight=1, possible=drawing.has_cards, draw=responses.answer_unknown_card),
    Intent(
        name="answer malformed",
        weight=2,
        aims=frozenset({"I19.8"}),
        possible=drawing.has_cards,
        draw=responses.answer_malformed,
    ),
    Intent(
        name="answer with more than must be read",
        weight=1,
        aims=frozenset({"I19.8"}),
        possible=drawing.has_cards,
        draw=responses.answer_beyond,
    ),
    Intent(
        name="answer an ended card",
        weight=4,
        aims=frozenset({"L2"}),
        possible=drawing.has_status(*sorted(TERMINAL)),
        draw=drawing.answer_ended,
    ),
    Intent(
        name="answer with a text that does not belong",
        weight=6,
        needs=frozenset({Capability.FREEFORM}),
        aims=frozenset({"I7.4"}),
        possible=drawing.has_fresh,
        draw=responses.answer_with_wrong_text,
    ),
    Intent(
        name="answer and send more than a response",
        weight=2,
        aims=frozenset({"I7.3"}),
        possible=drawing.has_fresh,
        draw=edges.answer_with_more,
    ),
    Intent(
        name="answer as nobody",
        weight=2,
        needs=frozenset({Capability.OWNERS}),
        aims=frozenset({"I19.7"}),
        possible=drawing.has_fresh,
        draw=edges.answer_as_nobody,
    ),
    Intent(
        name="ask as nobody",
        weight=2,
        needs=frozenset({Capability.OWNERS}),
        aims=frozenset({"I19.7"}),
        possible=drawing.has_fresh,
        draw=edges.ask_as_nobody,
    ),
    Intent(
        name="answer an overdue card",
        weight=5,
        needs=frozenset({Capability.CLOCK}),
        aims=frozenset({"I19.5"}),
        possible=lambda situation: bool(times.overdue_cards(situation)),
        draw=times.answer_overdue,
    ),
    Intent(
        name="present what nobody could answer",
        weight=1,
        aims=frozenset({"A4"}),
        possible=drawing.presentable,
        draw=edges.present_unanswerable,
    ),
    Intent(
        name="dismiss a card",
        weight=2,
        needs=frozenset({Capability.DISMISS}),
        possible=drawing.has_cards,
        draw=commands.dismiss,
    ),
    Intent(
        name="settle a command",
        weight=10,
        needs=frozenset({Capability.DEFERRED}),
        aims=frozenset({"L3", "I7.1", "I14.1", "I14.2", "E3"}),
        possible=lambda situation: bool(commands.waiting_commands(situation)),
        draw=commands.settle,
    ),
    Intent(
        name="settle a command again",
        weight=2,
        needs=frozenset({Capability.DEFERRED}),
        aims=frozenset({"L2", "I14.1"}),
        possible=lambda situation: bool(commands.ended_commands(situation)),
        draw=commands.settle_again,
    ),
    Intent(
        name="settle an attempt that was given back",
        weight=16,
        needs=frozenset({Capability.DEFERRED}),
        aims=frozenset({"L10"}),
        possible=lambda situation: bool(commands.late_commands(situation)),
        draw=commands.settle_late,
    ),
    Intent(
        name="present beside an open question",
        weight=3,
        needs=frozenset({Capability.BLOCKING}),
        aims=frozenset({"I5.1", "I5.2", "I5.3", "I5.4", "I5.5", "I5.7"}),
        possible=lambda situation: bool(drawing.occupied_cases(situation)),
        draw=drawing.present_beside,
    ),
    Intent(
        name="answer a replaced card",
        weight=3,
        needs=frozenset({Capability.REPLACE}),
        aims=frozenset({"I5.5"}),
        possible=lambda situation: bool(drawing.replaced_cards(situation)),
        draw=drawing.answer_replaced,
    ),
    Intent(
        name="edit a record with a command in flight",
        weight=7,
        needs=frozenset({Capability.REVISIONS, Capability.DEFERRED}),
        aims=frozenset({"I13.5", "I13.6"}),
        possible=lambda situation: bool(edges.cases_in_flight(situation)),
        draw=edges.edit_in_flight,
    ),
    Intent(
        name="edit the record",
        weight=2,
        needs=frozenset({Capability.REVISIONS}),
        aims=frozenset({"I13.2", "I13.3", "I13.4", "L2"}),
        possible=lambda situation: bool(situation.cases),
        draw=drawing.edit_case,
    ),
    Intent(
        name="let time pass",
        weight=1,
        aims=frozenset({"L7"}),
        needs=frozenset({Capability.CLOCK}),
        draw=times.advance,
    ),
    Intent(
        name="close a case or withdraw its cards",
        weight=4,
        needs=frozenset({Capability.ADMINISTRATIVE}),
        aims=frozenset({"I13.11"}),
        possible=lambda situation: bool(situation.cases),
        draw=drawing.clear_case,
    ),
    Intent(
        name="sweep",
        weight=1,
        needs=frozenset({Capability.CLOCK}),
        aims=frozenset({"L2", "L7"}),
        draw=drawing.without_params("card.expire_due"),
    ),
    Intent(
        name="let time pass to a deadline",
        weight=6,
        needs=frozenset({Capability.CLOCK}),
        aims=frozenset({"L7", "I19.5"}),
        possible=times.has_deadline,
        draw=times.advance_to_deadline,
    ),
    Intent(
        name="sweep at the very instant of a deadline",
        weight=80,
        needs=frozenset({Capability.CLOCK}),
        aims=frozenset({"L7"}),
        possible=times.has_card_due_now,
        draw=drawing.without_params("card.expire_due"),
    ),
    Intent(
        name="restart",
        weight=3,
        needs=frozenset({Capability.RESTART}),
        aims=frozenset({"I6.3"}),
        possible=drawing.has_cards,
        draw=drawing.without_params("restart"),
    ),
    Intent(name="read a card", weight=1, aims=frozenset({"I19.1"}), possible=drawing.has_cards, draw=drawing.get_card),
    *BREAKDOWN_INTENTS,
    Intent(
        name="present in another case",
        weight=6,
        needs=frozenset({Capability.BLOCKING}),
        aims=frozenset({"I5.6"}),
        possible=lambda situation: bool(edges.free_beside_others(situation)),
        draw=edges.present_in_another_case,
    ),
    Intent(
        name="answer with a set",
        weight=24,
        needs=frozenset({Capability.MULTI_SELECT}),
        aims=frozenset({"A3"}),
        possible=lambda situation: bool(edges.sets_of_options(situation)),
        draw=edges.answer_with_a_set,
    ),
    Intent(
        name="answer with a wrong set",
        weight=8,
        needs=frozenset({Capability.MULTI_SELECT}),
        aims=frozenset({"I7.2", "I19.6"}),
        possible=lambda situation: bool(edges.sets_of_options(situation)),
        draw=edges.answer_with_a_wrong_set,
    ),
    Intent(
        name="list cards", weight=4, aims=frozenset({"L8"}), needs=frozenset({Capability.LIST}), draw=drawing.list_cards
    ),
    Intent(
        name="answer by an id that looks alike",
        weight=2,
        aims=frozenset({"I7.7"}),
        possible=drawing.has_fresh,
        draw=responses.answer_card_alike,
    ),
    Intent(
        name="choose one of two options that look alike",
        weight=3,
        aims=frozenset({"I7.7"}),
        possible=responses.has_twins,
        draw=responses.answer_twin,
    ),
    Intent(
        name="answer with what is no revision",
        weight=3,
        needs=frozenset({Capability.REVISIONS}),
        aims=frozenset({"I19.6"}),
        possible=drawing.has_bound_fresh,
        draw=responses.answer_without_revision,
    ),
    Intent(
        name="answer with a text at its limits",
        weight=5,
        needs=frozenset({Capability.FREEFORM}),
        aims=frozenset({"I7.4"}),
        possible=responses.has_text,
        draw=responses.answer_with_text,
    ),
    Intent(
        name="answer at the edge of a deadline",
        weight=25,
        needs=frozenset({Capability.CLOCK}),
        aims=frozenset({"I19.5"}),
        possible=times.has_card_at_the_edge,
        draw=times.answer_at_the_edge,
    ),
    Intent(
        name="answer a card of nobody's",
        weight=20,
        needs=frozenset({Capability.OWNERS}),
        aims=frozenset({"I19.7"}),
        possible=edges.has_card_of_nobody,
        draw=edges.answer_nobody,
    ),
)
"""Every intent; how the next command ends is one more for systems that run commands at once."""

AT_ONCE = Intent(name="say how the next command ends", weight=1, draw=commands.set_next_end)
"""The intent that stands in for settling where a system does not claim `deferred`."""


def possible_intents(situation: Situation) -> list[Intent]:
    """Return the intents that this situation and these claims allow."""
    table = INTENTS if situation.claimed(Capability.DEFERRED) else (*INTENTS, AT_ONCE)
    return [each for each in table if each.needs <= situation.claims and each.possible(situation)]


def draw(situation: Situation, pick: Pick, boosts: Mapping[str, int]) -> Call:
    """Draw the next call, with its label: first what it is about, by weight, and then the call itself.

    `boosts` multiply the weights of the intents that they name.
    """
    intents = possible_intents(situation)
    weighted = [each for each in intents for _ in range(each.weight * boosts.get(each.name, 1))]
    return evolve(pick(weighted).draw(situation, pick), label=label_of(situation))


def label_of(situation: Situation) -> str:
    """The label of the next step."""
    return f"s{situation.number + 1}"
