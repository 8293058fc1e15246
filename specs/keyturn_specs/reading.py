"""Small questions that several requirements ask of a moment or of an observation.

They read values and decide nothing: which card an operation addresses, which option was chosen, which effects a card has.
A requirement that needs more than this says it in its own family's module.
"""

from collections.abc import Iterator

from keyturn.cards import Interaction, InteractionOption, final_arguments
from keyturn.operations import CardDismiss, CardGet, CardRespond, CommandSettle, Effect
from keyturn.responses import Rejected, named_card
from keyturn.status import InteractionStatus
from keyturn.values import Document
from keyturn_specs.observations import Moment, Observation, Snapshot


def addressed(moment: Moment) -> Interaction | None:
    """The interaction that an operation names, whoever owns it; nothing when it names none that exists."""
    world, operation = moment.state.world, moment.operation
    match operation:
        case CardRespond():
            named = named_card(operation.response)
            return None if named is None else world.interaction(named)
        case CardGet() | CardDismiss():
            return world.interaction(operation.card)
        case CommandSettle():
            command = world.command(operation.command)
            return None if command is None else world.interaction(command.card)
        case _:
            return None


def answered_card(seen: Observation) -> str | None:
    """The id of the card that a response names, in the system's own ids."""
    return named_card(seen.operation.response) if isinstance(seen.operation, CardRespond) else None


def chosen_option(seen: Observation, card: str, option: str | None) -> InteractionOption | None:
    """The option as it was stored when the card was presented."""
    asked = seen.asked.get(card)
    return None if asked is None or option is None else asked.payload.option(option)


def due_arguments(option: InteractionOption, text: str | None) -> Document | None:
    """What an option's operation is due to be called with; nothing where its text has no place, which A4 refuses."""
    try:
        return final_arguments(option.action, text)
    except LookupError:
        return None


def effects_of(snapshot: Snapshot, card: str) -> tuple[Effect, ...]:
    """Every effect that names this card, whatever case it is listed under."""
    return tuple(each for effects in snapshot.effects.values() for each in effects if each.card == card)


def refuses(moment: Moment) -> bool:
    """Whether an operation that could change something is refused."""
    return isinstance(moment.branch.outcome, Rejected) and moment.operation.changes


_DECIDED = (
    InteractionStatus.RESOLVING,
    InteractionStatus.RESOLVED,
    InteractionStatus.DECLINED,
    InteractionStatus.DISMISSED,
)


def newly_decided(seen: Observation) -> Iterator[tuple[str, str]]:
    """The cards that waited for an answer before the step and read as answered after it, with their new status."""
    for card, before in seen.before.cards.items():
        after = seen.after.status(card)
        if before is not None and before.status is InteractionStatus.ACTIVE and after in _DECIDED:
            yield card, after
