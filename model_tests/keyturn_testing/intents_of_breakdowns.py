"""The generator's intents about what breaks: faults, lost replies, restarts, and what a host keeps of a card."""

from keyturn.capabilities import Capability
from keyturn_testing import drawing
from keyturn_testing import drawing_faults as faults
from keyturn_testing.intent import Intent

BREAKDOWN_INTENTS: tuple[Intent, ...] = (
    Intent(
        name="arm a fault",
        weight=24,
        needs=frozenset({Capability.FAULTS}),
        aims=frozenset({"I6.2", "I14.6", "I19.2", "I19.3", "I19.4"}),
        possible=faults.can_arm,
        draw=faults.arm,
    ),
    Intent(
        name="meet an armed fault",
        weight=40,
        needs=frozenset({Capability.FAULTS}),
        aims=frozenset({"I6.2", "I14.6", "I19.2", "I19.3", "I19.4"}),
        possible=faults.can_meet,
        draw=faults.meet,
    ),
    Intent(
        name="answer again what nobody heard",
        weight=24,
        needs=frozenset({Capability.FAULTS}),
        aims=frozenset({"I14.6"}),
        possible=lambda situation: bool(faults.unheard_cards(situation)),
        draw=faults.answer_unheard,
    ),
    Intent(
        name="answer a card that was given back",
        weight=26,
        aims=frozenset({"L6", "I14.7"}),
        possible=lambda situation: bool(faults.given_back(situation)),
        draw=faults.answer_given_back,
    ),
    Intent(
        name="export what a host keeps",
        weight=4,
        needs=frozenset({Capability.SNAPSHOT}),
        aims=frozenset({"I14.8"}),
        possible=drawing.has_cards,
        draw=faults.export,
    ),
    Intent(
        name="restore what a host kept",
        weight=6,
        needs=frozenset({Capability.SNAPSHOT}),
        aims=frozenset({"I14.8"}),
        possible=lambda situation: bool(situation.states),
        draw=faults.restore,
    ),
    Intent(
        name="answer a restored card again",
        weight=16,
        needs=frozenset({Capability.SNAPSHOT}),
        aims=frozenset({"I14.8"}),
        possible=lambda situation: bool(faults.restored_cards(situation)),
        draw=faults.answer_restored,
    ),
    Intent(
        name="settle a command that outlived a restart",
        weight=40,
        needs=frozenset({Capability.RESTART, Capability.DEFERRED}),
        aims=frozenset({"L11"}),
        possible=faults.survived,
        draw=faults.settle_survivor,
    ),
)
"""They stand in the table of all intents."""
