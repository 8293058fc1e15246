"""The fixtures: a system that is asked by hand, whose every step is judged; and the strategies, which draw what they say."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from keyturn.answerability import problems_of
from keyturn.cards import InteractionKind, InteractionPayload
from keyturn.responses import Rejected
from keyturn.wire import read
from keyturn_testing.by_hand import SystemByHand
from keyturn_testing.judging import Violation
from keyturn_testing.strategies import calls, malformed_answers, payloads, right_answers, wrong_answers
from keyturn_testing.systems.base import Unusable

from .test_plugin import ran

TESTS = """
import pytest
from keyturn_testing.judging import Violation

CASE = {"account": "acme", "workflow": "trip", "case": "case-1"}


def test_by_hand(keyturn_driver):
    assert keyturn_driver.ask("case.open", **CASE) == {"revision": 1}
    assert keyturn_driver.ask("case.edit", **CASE)["revision"] == 2


def test_it_begins_anew(keyturn_driver):
    assert keyturn_driver.ask("case.open", **CASE) == {"revision": 1}
"""


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SystemByHand]:
    """The reference, open."""
    system = SystemByHand("reference", tmp_path_factory.mktemp("by hand"), 10)
    yield system
    system.abandon()


class TestFixtures:
    """In a pytest of their own."""

    def test_the_system_of_the_settings(self, tmp_path: Path) -> None:
        """`keyturn_system` names it, each test begins anew, and no requirement is added."""
        (tmp_path / "pytest.ini").write_text("[pytest]\nkeyturn_system = sqlite\n", "utf-8")
        (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
        done = ran(tmp_path, "-q", "-m", "keyturn", "--strict-markers")
        assert done.returncode == 0, done.stdout
        assert "2 passed" in done.stdout

    def test_a_fixture_of_the_projects_own(self, tmp_path: Path) -> None:
        """`keyturn_adapter` may be overridden; what a step breaks is told as a story."""
        override = (
            '\n\n@pytest.fixture(scope="session")\ndef keyturn_adapter():\n    return "mutant:edit-leaves-cards"\n'
        )
        broken = (
            "\n\ndef test_broken(keyturn_driver, keyturn_system):\n"
            "    from keyturn_testing.payloads import payload\n"
            "    from keyturn.cards import InteractionKind\n"
            "    keyturn_driver.ask('case.open', **CASE)\n"
            "    keyturn_driver.ask('card.present', **CASE, conversation='chat-1', kind='confirm_command', blocking=True,\n"
            "        revision_independent=False, on_occupied='refuse',\n"
            "        payload=payload(InteractionKind.CONFIRM_COMMAND, 1, text=False))\n"
            "    keyturn_driver.ask('case.edit', **CASE)\n"
        )
        (tmp_path / "test_it.py").write_text(TESTS + override + broken, "utf-8")
        done = ran(tmp_path, "-q")
        assert done.returncode == 1
        assert "1 failed, 2 passed" in done.stdout
        assert "ViolationOfI13_3" in done.stdout
        assert "3. acme edits case-1 of trip" in done.stdout

    def test_no_system(self, tmp_path: Path) -> None:
        """Where none is named, or none can be opened, the message says what to write."""
        (tmp_path / "test_it.py").write_text(TESTS, "utf-8")
        none = ran(tmp_path, "-q")
        assert none.returncode == 1
        assert "no system is named" in none.stdout
        wrong = ran(tmp_path, "-q", "-o", "keyturn_system=refrence")
        assert wrong.returncode == 1
        assert "did you mean `reference`" in wrong.stdout
        assert "Traceback" not in none.stdout + wrong.stdout


def test_a_system_that_broke_down_is_opened_anew(tmp_path: Path) -> None:
    """The next example is not asked of a system that is gone."""
    system = SystemByHand("reference", tmp_path, 10)
    driver = system.start()
    system.abandon()
    assert system.start().system is not driver.system
    system.abandon()
    with pytest.raises(Unusable, match="did you mean"):
        SystemByHand("refrence", tmp_path, 10)


@given(drawn=payloads())
def test_payloads_can_be_presented(drawn: tuple[InteractionKind, dict[str, object]]) -> None:
    """Each is answerable by the table of kinds."""
    kind, payload = drawn
    assert not problems_of(kind, read(InteractionPayload, payload, "payload"))  # type: ignore[arg-type]  # it is JSON


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_answers_are_what_they_are_called(reference: SystemByHand, data: st.DataObject) -> None:
    """Wherever a walk leads, right answers are taken, and wrong and malformed ones are refused."""
    driver = reference.start()
    for _ in range(12):
        now = reference.situation(driver)
        driver.call(data.draw(calls(now)))
        now = reference.situation(driver)
        if now.world.armed:
            continue  # a fault that is armed refuses right answers too
        for strategy, refused in ((right_answers, False), (wrong_answers, True), (malformed_answers, True)):
            answers = strategy(now)
            if not answers.is_empty:
                outcome = driver.foresee(data.draw(answers)).branch.outcome
                assert isinstance(outcome, Rejected) is refused


def test_a_walk_finds_a_fault(tmp_path: Path) -> None:
    """A test of three lines finds what is wrong with a store, and the story comes with it."""
    system = SystemByHand("mutant:stranger-answers", tmp_path, 10)

    @settings(max_examples=100, deadline=None, database=None, derandomize=True, phases=(Phase.generate,))
    @given(data=st.data())
    def walk(data: st.DataObject) -> None:
        driver = system.start()
        for _ in range(15):
            driver.call(data.draw(calls(system.situation(driver))))

    with pytest.raises(Violation) as raised:
        walk()
    assert raised.value.finding.primary == "I19.1"
    story = "".join(raised.value.__notes__)
    assert "seen        I19.1" in story
    assert "admissible  rejected: not_found" in story
    system.abandon()
