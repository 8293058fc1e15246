"""I7, the server's meaning: what an answer does is what the server stored, and nothing happens without an answer.

The client names an option; it cannot say what the option does. Effects are judged on what was observed, against what the
card was presented with.
"""

from keyturn.cards import DeclineAndRecord
from keyturn.operations import Effect
from keyturn.responses import Accepted, Declined, Resolved
from keyturn.status import InteractionStatus
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import answered_card, chosen_option, due_arguments
from keyturn_specs.requirement import ByBranch, ByInvariant, Family, Requirement, demanded

_ANSWERED = (InteractionStatus.RESOLVING, InteractionStatus.RESOLVED)


def _runs_something(moment: Moment) -> bool:
    return any(isinstance(each, Effect) for each in moment.branch.happened)


def _ran_something_else(seen: Observation) -> str | None:
    for effect in seen.new_effects():
        option = chosen_option(seen, effect.card, effect.option)
        if effect.card not in seen.asked:
            continue
        if option is None:
            return f"the effect {effect.id} names the option {effect.option!r}, which its card does not store"
        if effect.action != option.action:
            return f"the effect {effect.id} ran {effect.action}, and the option {option.id!r} stores {option.action}"
        final = due_arguments(option, effect.freeform)
        if final is not None and effect.arguments is not None and effect.arguments != final:
            return (
                f"the effect {effect.id} ran with {effect.arguments.text}, and the stored arguments give {final.text}"
            )
    return None


def _runs_nothing(moment: Moment) -> bool:
    return moment.operation.changes and bool(moment.state.world.interactions) and not _runs_something(moment)


def _takes(seen: Observation, effect: Effect) -> bool:
    if answered_card(seen) != effect.card:
        return False
    if isinstance(seen.outcome, Declined):
        option = chosen_option(seen, effect.card, effect.option)
        return option is not None and isinstance(option.action, DeclineAndRecord)
    return seen.outcome is None or isinstance(seen.outcome, Resolved | Accepted)


def _ran_without_an_answer(seen: Observation) -> str | None:
    for effect in seen.new_effects():
        if seen.before.status(effect.card) in _ANSWERED or _takes(seen, effect):
            continue
        return f"the effect {effect.id} of the card {effect.card} appeared although nobody's answer to it was taken"
    return None


SERVERS_MEANING: tuple[Requirement, ...] = (
    Requirement(
        id="I7.1",
        family=Family.SERVERS_MEANING,
        says="The command that runs is the stored action of the chosen option, with the stored arguments.",
        why="What was approved must be what runs; otherwise the approval is decoration.",
        source="persistent interactions, Stored options and server-owned actions",
        applies=_runs_something,
        judged_by=ByInvariant(_ran_something_else),
    ),
    Requirement(
        id="I7.2",
        family=Family.SERVERS_MEANING,
        says="An option id that is not stored on that card is refused (unknown_option), also when another card stores it.",
        why="An answer that is matched across cards approves something that the user never saw.",
        source="persistent interactions, What the client may send: a new option that the interaction did not store",
        applies=demanded("I7.2"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I7.9",
        family=Family.SERVERS_MEANING,
        says="No effect exists without a taken answer to its card: presenting, reading, editing, declining, dismissing, "
        "expiring, replacing, refusing and restarting run nothing (a recorded decline runs its record).",
        why="This is the harm itself: something was done that nobody said yes to.",
        source="persistent interactions, Why interactions are persistent: the user's decision enters the chain",
        applies=_runs_nothing,
        judged_by=ByInvariant(_ran_without_an_answer),
    ),
)
