"""I7, the server's meaning: what an answer does is what the server stored, and nothing happens without an answer.

The client names an option; it cannot say what the option does. Effects are judged on what was observed, against what the
card was presented with.
"""

from collections.abc import Iterator, Mapping

from keyturn.capabilities import Capability
from keyturn.cards import DeclineAndRecord
from keyturn.operations import Effect, ReadEffects, ReadLedger
from keyturn.responses import Accepted, Declined, Resolved
from keyturn.status import InteractionStatus
from keyturn.values import Json
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import answered_card, chosen_option, due_arguments, newly_decided
from keyturn_specs.requirement import Area, ByBranch, ByInvariant, Family, Requirement, demanded

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


def _cites_another_card(seen: Observation) -> str | None:
    for effect in seen.new_effects():
        card = seen.after.cards.get(effect.card)
        if card is not None and effect.payload_hash != card.payload_hash:
            return f"the effect {effect.id} cites another payload than its card {effect.card} has"
    return None


def _answers_one_of_several(moment: Moment) -> bool:
    waiting = [each for each in moment.state.world.interactions if each.status is InteractionStatus.ACTIVE]
    return "A1" in moment.branch.because and len(waiting) > 1


def _answered_another_card(seen: Observation) -> str | None:
    named = answered_card(seen)
    if named is None:
        return None
    for card, after in newly_decided(seen):
        if card != named:
            return f"the answer names the card {named}, and the card {card} went to {after}"
    return None


STORED = "stored-by-the-server"
"""What the suite plants in every stored action: it stands in no reply that a client may see (I7.5)."""


def _is_shown_a_card(moment: Moment) -> bool:
    return hasattr(moment.branch.outcome, "card") and not isinstance(moment.operation, ReadEffects | ReadLedger)


def _strings(value: Json) -> Iterator[tuple[str, str]]:
    """Every text in a reply, with the name that it stands under."""
    waiting: list[tuple[str, Json]] = [("", value)]
    while waiting:
        name, each = waiting.pop()
        if isinstance(each, str):
            yield name, each
        elif isinstance(each, Mapping):
            waiting += ((str(key), inner) for key, inner in each.items())
            yield from ((str(key), str(key)) for key in each)
        elif isinstance(each, list | tuple):
            waiting += ((name, inner) for inner in each)


def _showed_a_stored_action(seen: Observation) -> str | None:
    for reply in seen.shown:
        found = next((name for name, text in _strings(reply) if STORED in text), None)
        if found is not None:
            return f"a client was shown what only the server stores, as {found[:40]!a}"
    return None


SERVERS_MEANING: tuple[Requirement, ...] = (
    Requirement(
        id="I7.1",
        family=Family.SERVERS_MEANING,
        says="The command that runs is the stored action of the chosen option, with the stored arguments.",
        why="What was approved must be what runs; otherwise the approval is decoration.",
        source="persistent interactions, Stored options and server-owned actions",
        applies=_runs_something,
        judged_by=ByInvariant(_ran_something_else, of_many=True),
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
        id="I7.3",
        family=Family.SERVERS_MEANING,
        says="Anything else a client sends (an action, options, kind, payload, status, revision binding, owner, command id, "
        "outcome, effect) changes nothing: it is refused as malformed or ignored.",
        why="A request body that can say what a button does makes every button a send button.",
        source="persistent interactions, What the client may send, and what it may never define",
        applies=demanded("I7.3"),
        judged_by=ByBranch(frozenset({Area.REPLY, Area.STATUS, Area.EFFECTS})),
    ),
    Requirement(
        id="I7.4",
        family=Family.SERVERS_MEANING,
        says="Free text is taken only where the option's policy allows (freeform_forbidden, freeform_required, "
        "freeform_too_long); length counts Unicode code points, and blank text is no text.",
        why="A reason that is cut short or dropped is not what the person said.",
        source="persistent interactions, Stored options and server-owned actions: FreeformPolicy",
        needs=frozenset({Capability.FREEFORM}),
        applies=demanded("I7.4"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I7.5",
        family=Family.SERVERS_MEANING,
        says="What a client is shown never contains a stored action.",
        why="Whoever sees what a button does can try to send it, and learns what the server keeps to itself.",
        source="persistent interactions, Stored options: the action is never accepted from the client",
        applies=_is_shown_a_card,
        judged_by=ByInvariant(_showed_a_stored_action),
    ),
    Requirement(
        id="I7.6",
        family=Family.SERVERS_MEANING,
        says="A command's origin names the interaction id and the payload hash that authorised it.",
        why="Without it nobody can say afterwards which words were agreed to.",
        source="persistent interactions, What the client may send: CommandOrigin::ConfirmedInteraction",
        applies=_runs_something,
        judged_by=ByInvariant(_cites_another_card, of_many=True),
    ),
    Requirement(
        id="I7.7",
        family=Family.SERVERS_MEANING,
        says="Option ids and card ids compare exactly: no case folding, trimming, Unicode normalisation, coercion or prefix "
        "match.",
        why="Two options that differ by a space are two answers.",
        source="persistent interactions, What the client may send: verifies that the option ID is stored",
        applies=demanded("I7.7"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I7.8",
        family=Family.SERVERS_MEANING,
        says="A decision is tied to one card by id: never by position in a list, by tool name or by equal content.",
        why="With two questions open, the yes to one must not be the yes to the other.",
        source="persistent interactions, What the client may send: which persisted card is being answered",
        applies=_answers_one_of_several,
        judged_by=ByInvariant(_answered_another_card),
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
