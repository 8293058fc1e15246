"""I14, once: a decision takes effect at most one time, and asking again is harmless.

A double click, a retry and a second device all meet the same card; the first answer counts and the others learn what it was.
"""

from keyturn.capabilities import Capability
from keyturn.cards import ActionClass
from keyturn.operations import CardRespond, CommandSettle, Effect
from keyturn.settling import effect_count
from keyturn.status import InteractionStatus
from keyturn_specs.observations import Moment, Observation
from keyturn_specs.reading import addressed, chosen_option, effects_of
from keyturn_specs.requirement import ByBranch, ByInvariant, Family, Requirement, demanded


def _comes_again(moment: Moment) -> bool:
    card = addressed(moment)
    if card is None or card.resolved_option is None or card.status is not InteractionStatus.RESOLVED:
        return False
    option = card.payload.option(card.resolved_option)
    authorises = option is not None and option.action.action_class is ActionClass.AUTHORISES
    return authorises and isinstance(moment.operation, CardRespond | CommandSettle)


def _ran_more_than_once(seen: Observation) -> str | None:
    for card in dict.fromkeys(each.card for each in seen.new_effects()):
        effects = effects_of(seen.after, card)
        option = chosen_option(seen, card, effects[0].option)
        most = 1 if option is None else effect_count(option)
        if len(effects) > most or len({each.command for each in effects}) > 1:
            return f"the card {card} has {len(effects)} effects, and its option's commands run at most once ({most})"
    return None


def _runs_several(moment: Moment) -> bool:
    return sum(isinstance(each, Effect) for each in moment.branch.happened) > 1


def _ran_in_part(seen: Observation) -> str | None:
    for card in dict.fromkeys(each.card for each in seen.new_effects()):
        effects = effects_of(seen.after, card)
        option = chosen_option(seen, card, effects[0].option)
        if option is not None and len(effects) < effect_count(option):
            return f"the card {card} has {len(effects)} of the {effect_count(option)} effects of its option"
    return None


ONCE: tuple[Requirement, ...] = (
    Requirement(
        id="I14.1",
        family=Family.ONCE,
        says="The commands of a card's option run at most once, ever: over retries, devices, restarts, processes, later "
        "turns and other cards' answers.",
        why="This is the double click that pays twice.",
        source="persistent interactions, Status machine: a second click executes nothing",
        applies=_comes_again,
        judged_by=ByInvariant(_ran_more_than_once),
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
        id="I14.9",
        family=Family.ONCE,
        says="The commands of one option commit together or not at all.",
        why="Half of what was agreed to is something that nobody agreed to.",
        source="persistent interactions, Stored options: the commands that were compiled with the card",
        applies=_runs_several,
        judged_by=ByInvariant(_ran_in_part),
    ),
)
