"""Systems that are wrong in exactly one way, each named for its fault (D6).

A mutant is the reference store with one distortion: a pure function from what the reference would do to what the faulty
system does instead. It describes itself like the reference, and disarmed it is the reference. A requirement without a mutant
that it kills by its id is not believed.
"""

from collections.abc import Callable, Mapping

from keyturn_testing.mutants import answers, cards, records
from keyturn_testing.mutants.base import Distort, Mutant, MutantStore, Turn

__all__ = ["MUTANTS", "Distort", "Mutant", "MutantStore", "Turn", "mutant_factory"]


def _mutant(name: str, breaks: str, distort: Distort, fault: str) -> Mutant:
    return Mutant(name=name, fault=fault, breaks=(breaks,), distort=distort)


_ALL = (
    _mutant(
        "ended-card-revives",
        "L2",
        cards.revives_ended_cards,
        "An answer to a card that has ended is taken all the same.",
    ),
    _mutant("failed-reads-resolved", "L3", cards.failed_reads_resolved, "A failed command leaves its card resolved."),
    _mutant(
        "two-questions-at-once", "I5.1", cards.writes_into_an_occupied_slot, "A second blocking card is written anyway."
    ),
    _mutant(
        "replaced-card-lives-on", "I5.3", cards.keeps_the_replaced_card, "A replaced card stays active and answerable."
    ),
    _mutant(
        "offered-before-stored",
        "I6.1",
        cards.offers_before_it_stores,
        "From the third card on, cards are offered and not stored.",
    ),
    _mutant(
        "restart-forgets",
        "I6.3",
        cards.forgets_pending_cards,
        "Pending cards live in memory, and a restart loses them.",
    ),
    _mutant("runs-the-first-option", "I7.1", answers.runs_the_first_option, "What runs is the card's first option."),
    _mutant(
        "guesses-the-option", "I7.2", answers.guesses_the_option, "An unknown option id is taken for the first option."
    ),
    _mutant("decline-runs-it", "I7.9", answers.runs_on_decline, "Nobody reads the answer: a declined command runs."),
    _mutant(
        "any-revision-goes", "I13.1", records.takes_any_revision, "The revision that the client saw is never compared."
    ),
    _mutant(
        "refreshed-stale-card",
        "I13.2",
        records.refreshes_stale_cards,
        "The current revision makes a stale card good again.",
    ),
    _mutant(
        "edit-leaves-cards",
        "I13.3",
        records.leaves_cards_active,
        "An edit moves the revision and leaves its cards active.",
    ),
    _mutant("edit-sweeps-everything", "I13.4", records.sweeps_everything, "An edit invalidates independent cards too."),
    _mutant(
        "binds-at-the-write",
        "I13.10",
        records.binds_to_the_current_revision,
        "Old content is bound to the new revision.",
    ),
    _mutant(
        "closed-case-keeps-asking", "I13.11", records.closes_and_leaves_cards, "A closed case leaves its cards active."
    ),
    _mutant(
        "double-click-pays-twice",
        "I14.1",
        answers.pays_twice,
        "A second click on a resolved card runs its command again.",
    ),
    _mutant(
        "replay-says-otherwise",
        "I14.2",
        answers.replays_something_else,
        "A second click gets another result than the first.",
    ),
    _mutant("stranger-answers", "I19.1", answers.lets_strangers_in, "Whoever knows the id of a card can answer it."),
    _mutant(
        "refusal-closes-the-card", "I19.8", answers.closes_on_refusal, "A refused answer closes the card all the same."
    ),
    _mutant(
        "only-the-newest-answers",
        "A1",
        answers.answers_only_the_newest,
        "Only the newest of several cards can be answered.",
    ),
    _mutant("ledger-without-accepts", "E1", records.leaves_out_accepts, "The ledger does not say who accepted what."),
    _mutant(
        "restore-counts-as-failure", "E3", records.counts_restores_as_failures, "A command given back counts as failed."
    ),
)

MUTANTS: Mapping[str, Mutant] = {each.name: each for each in _ALL}
"""Every mutant, by its name."""


def mutant_factory(name: str, armed: bool) -> Callable[[], MutantStore]:
    """Return what makes a mutant; raise `KeyError` for a name that there is not."""
    mutant = MUTANTS[name]
    return lambda: MutantStore(mutant, armed=armed)
