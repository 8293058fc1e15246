"""I14, once: a decision takes effect at most one time, and asking again is harmless.

A double click, a retry and a second device all meet the same card; the first answer counts and the others learn what it was.
"""

from collections.abc import Container, Iterator

from keyturn.capabilities import Capability
from keyturn.cards import ActionClass
from keyturn.operations import CardRespond, CommandSettle, Effect
from keyturn.responses import Accepted, InFlight
from keyturn.settling import effect_count
from keyturn.status import InteractionStatus
from keyturn_specs.observations import Moment, Observation, Race
from keyturn_specs.reading import addressed, answered_card, chosen_option, effects_of
from keyturn_specs.requirement import ByBranch, ByInvariant, ByRace, Family, Requirement, by_no_single_call, demanded


def _comes_again(moment: Moment) -> bool:
    card = addressed(moment)
    if card is None or card.resolved_option is None or card.status is not InteractionStatus.RESOLVED:
        return False
    option = card.payload.option(card.resolved_option)
    authorises = option is not None and option.action.action_class is ActionClass.AUTHORISES
    return authorises and isinstance(moment.operation, CardRespond | CommandSettle)


def _ran_too_often(seen: Observation) -> Iterator[str]:
    """The cards whose new effects are more than their option's commands, or of more than one command."""
    for card in dict.fromkeys(each.card for each in seen.new_effects()):
        effects = effects_of(seen.after, card)
        option = chosen_option(seen, card, effects[0].option)
        most = 1 if option is None else effect_count(option)
        if len(effects) > most or len({each.command for each in effects}) > 1:
            yield card


def _ran_more_than_once(seen: Observation) -> str | None:
    for card in _ran_too_often(seen):
        count = len(effects_of(seen.after, card))
        return f"the card {card} has {count} effects, and the commands of its option run at most once"
    return None


def _asks_again(moment: Moment, among: Container[str]) -> bool:
    """Whether one of these cards is answered that has been answered before."""
    card = addressed(moment)
    answered = card is not None and card.id in among and card.status is not InteractionStatus.ACTIVE
    return isinstance(moment.operation, CardRespond) and answered


def _taken_again(seen: Observation, among: Container[str]) -> str | None:
    """Say how an answer to one of these cards had effect a second time: another command, or more effects than its option."""
    again = next((each for each in _ran_too_often(seen) if each in among), None)
    if again is not None:
        return f"the commands of the card {again} ran more than once"
    card = answered_card(seen)
    waits = card is None or seen.before.status(card) in (None, InteractionStatus.ACTIVE)
    if not waits and card in among and isinstance(seen.outcome, Accepted):
        return f"an answer to the card {card} was taken, and one had been taken before"
    return None


def _retries_an_unheard_answer(moment: Moment) -> bool:
    return _asks_again(moment, moment.memory.unheard)


def _took_a_retry_anew(seen: Observation) -> str | None:
    again = _taken_again(seen, seen.memory.unheard)
    return None if again is None else f"the reply of the first answer was lost, and after a retry {again}"


def _tells_a_key(moment: Moment) -> bool:
    told = isinstance(moment.branch.outcome, Accepted | InFlight) and bool(moment.memory.keys)
    return told or any(isinstance(each, Effect) for each in moment.branch.happened)


def _told_another_key(seen: Observation) -> str | None:
    told = [(each.command, each.idempotency_key) for effects in seen.after.effects.values() for each in effects]
    if isinstance(seen.outcome, Accepted | InFlight):
        key = seen.outcome.idempotency_key
        if key is None and Capability.RESTART in seen.claims:
            return f"the answer does not show the idempotency key of the command {seen.outcome.command}"
        told += [] if key is None else [(seen.outcome.command, key)]
    keys = dict(seen.memory.keys)
    owners = {key: command for command, key in keys.items()}
    for command, key in told:
        if keys.setdefault(command, key) != key:
            return f"the command {command} has the idempotency key {key}, and had {keys[command]} before"
        if owners.setdefault(key, command) != command:
            return f"the commands {owners[key]} and {command} have the same idempotency key {key}"
    return None


def _answers_a_restored_card(moment: Moment) -> bool:
    return _asks_again(moment, moment.memory.restored)


def _ran_a_restored_card_again(seen: Observation) -> str | None:
    again = _taken_again(seen, seen.memory.restored)
    return None if again is None else f"what a host kept of the card was restored, and then {again}"


def _runs_several(moment: Moment) -> bool:
    return sum(isinstance(each, Effect) for each in moment.branch.happened) > 1


def _ran_in_part(seen: Observation) -> str | None:
    for card in dict.fromkeys(each.card for each in seen.new_effects()):
        effects = effects_of(seen.after, card)
        option = chosen_option(seen, card, effects[0].option)
        if option is not None and len(effects) < effect_count(option):
            return f"the card {card} has {len(effects)} of the {effect_count(option)} effects of its option"
    return None


def _answers_one_card_at_once(race: Race) -> bool:
    """Whether a card that waits is answered by several of the calls."""
    waiting = (each for each in race.state.world.interactions if each.status is InteractionStatus.ACTIVE)
    return any(race.responses(each.id) > 1 for each in waiting)


ONCE: tuple[Requirement, ...] = (
    Requirement(
        id="I14.1",
        family=Family.ONCE,
        says="The commands of a card's option run at most once, ever: over retries, devices, restarts, processes, later "
        "turns and other cards' answers.",
        why="This is the double click that pays twice.",
        source="persistent interactions, Status machine: a second click executes nothing",
        applies=_comes_again,
        judged_by=ByInvariant(_ran_more_than_once, of_many=True),
    ),
    Requirement(
        id="I14.2",
        family=Family.ONCE,
        says="A response to a Resolved card returns the original result, field by field; no effect, no event, no receipt, "
        "no ledger entry.",
        why="A client that lost the reply must be able to ask again and learn what happened.",
        source="persistent interactions, Status machine: a second click on a Resolved card is idempotent",
        needs=frozenset({Capability.REPLAY}),
        applies=demanded("I14.2"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I14.3",
        family=Family.ONCE,
        says="A response to a Resolving card is answered in_flight with the same command; no second command starts.",
        why="The impatient second click comes while the first is still on its way.",
        source="persistent interactions, Status machine: Resolving is a real state",
        needs=frozenset({Capability.DEFERRED}),
        applies=demanded("I14.3"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I14.4",
        family=Family.ONCE,
        says="A contradicting second answer gets the original result, which names the original option: the loser can tell "
        "that it lost.",
        why="Two people who both believe that they decided will act on it.",
        source="persistent interactions, Status machine: it returns the original resolution result",
        needs=frozenset({Capability.REPLAY}),
        applies=demanded("I14.4"),
        judged_by=ByBranch(),
    ),
    Requirement(
        id="I14.5",
        family=Family.ONCE,
        says="Of n concurrent responses to one answerable card exactly one is taken, as long as none is restored; each other "
        "one is answered for the status it finds.",
        why="Two devices, or one impatient finger, answer in the same instant, and between looking and acting is a gap.",
        source="persistent interactions, Status machine: double clicks and client retries are made harmless",
        needs=frozenset({Capability.PARALLEL}),
        applies=by_no_single_call,
        judged_by=ByRace(_answers_one_card_at_once),
    ),
    Requirement(
        id="I14.6",
        family=Family.ONCE,
        says="A lost reply followed by a retry has the effect of one response; the retry is answered for the status it finds.",
        why="The client that heard nothing tries again; whether the first answer counted is not its guess to make.",
        source="persistent interactions, Why interactions are persistent: a decision survives reloads, retries and time",
        needs=frozenset({Capability.FAULTS}),
        applies=_retries_an_unheard_answer,
        judged_by=ByInvariant(_took_a_retry_anew),
    ),
    Requirement(
        id="I14.7",
        family=Family.ONCE,
        says="The idempotency key of a command is one per attempt: the same over retries and restarts, and no other "
        "attempt's.",
        why="The key is all that a payment service has to tell a retry from a second payment.",
        source="persistent interactions, Status machine: double clicks and client retries are made harmless",
        applies=_tells_a_key,
        judged_by=ByInvariant(_told_another_key),
    ),
    Requirement(
        id="I14.8",
        family=Family.ONCE,
        says="What a host keeps of a pending card, restored twice and answered twice, gives one effect.",
        why="A checkpoint that is resumed twice would otherwise approve twice.",
        source="persistent interactions, Why interactions are persistent: a decision survives reloads, retries and time",
        needs=frozenset({Capability.SNAPSHOT}),
        applies=_answers_a_restored_card,
        judged_by=ByInvariant(_ran_a_restored_card_again),
    ),
    Requirement(
        id="I14.9",
        family=Family.ONCE,
        says="The commands of one option commit together or not at all.",
        why="Half of what was agreed to is something that nobody agreed to.",
        source="persistent interactions, Stored options: the commands that were compiled with the card",
        applies=_runs_several,
        judged_by=ByInvariant(_ran_in_part, of_many=True),
    ),
)
