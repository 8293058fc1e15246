"""What is about races: which calls that overlap it speaks of, and that no call by itself exercises it."""

import pytest

from keyturn import operations as ops
from keyturn_specs.catalogue import BY_ID
from keyturn_specs.observations import Moment, Race
from keyturn_specs.requirement import ByRace
from keyturn_specs.scenario import scenarios

from ..kernel.builders import CASE, Desk, answer, edit_case


def about(requirement: str, desk: Desk, *operations: ops.Operation) -> bool:
    """Whether a requirement speaks of these operations where they overlap."""
    judge = BY_ID[requirement].judged_by
    assert isinstance(judge, ByRace)
    return judge.about(Race(state=desk.state, operations=operations))


class TestConcurrentResponses:
    """I14.5 speaks of several answers to one card that waits."""

    def test_two_answers(self) -> None:
        """Alike or contradicting, and among other calls."""
        desk = Desk()
        card = desk.write()
        assert about("I14.5", desk, answer(card), answer(card))
        assert about("I14.5", desk, answer(card), edit_case(), answer(card, "no"))

    def test_what_is_no_race_for_a_card(self) -> None:
        """One answer, answers to two cards, and answers to a card that has been answered."""
        desk = Desk()
        card, other = desk.write(), desk.write()
        assert not about("I14.5", desk, answer(card), edit_case())
        assert not about("I14.5", desk, answer(card), answer(other))
        assert about("I14.5", desk, answer(card), answer(other), answer(other))
        desk.perform(answer(card))
        assert not about("I14.5", desk, answer(card), answer(card))


class TestAClickAndAnEdit:
    """I13.8 speaks of an answer to a card that waits while its case is edited."""

    def test_an_answer_and_an_edit(self) -> None:
        """Of one case."""
        desk = Desk()
        card = desk.write()
        assert about("I13.8", desk, answer(card), edit_case())
        assert about("I13.8", desk, edit_case(), edit_case(), answer(card, "no"))

    def test_what_does_not_meet(self) -> None:
        """No edit, no answer, the edit of another case, and a card that has been answered."""
        desk = Desk()
        card = desk.write()
        elsewhere = ops.CaseEdit(account=CASE.account, workflow=CASE.workflow, case="case-2")
        assert not about("I13.8", desk, answer(card), answer(card))
        assert not about("I13.8", desk, edit_case(), edit_case())
        assert not about("I13.8", desk, answer(card), elsewhere)
        desk.perform(answer(card))
        assert not about("I13.8", desk, answer(card), edit_case())


@pytest.mark.parametrize("requirement", ["I13.8", "I14.5"])
def test_no_call_by_itself_exercises_it(requirement: str) -> None:
    """Its antecedent is a race."""
    desk = Desk()
    card = desk.write()
    for operation in (answer(card), edit_case()):
        [branch, *_] = desk.may(operation)
        moment = Moment(state=desk.state, operation=operation, branch=branch, claims=desk.claims)
        assert not BY_ID[requirement].applies(moment)


def test_scenarios_of_races_say_so() -> None:
    """Their names begin with it, and they need the capability without which no calls overlap."""
    races = [each for each in scenarios() if each.is_race]
    assert len(races) == 19
    assert {each.name for each in races} == {each.name for each in scenarios() if each.name.startswith("race-")}
    assert all("parallel" in each.claims for each in races)
