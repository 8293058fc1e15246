"""The rules by which a run becomes statuses, one verdict and one exit code."""

import json

from attrs import evolve

from keyturn.branches import Branch
from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.handshake import describe, read_description
from keyturn.operations import Done, Restart
from keyturn.store import State
from keyturn.world import World
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_specs.observations import Moment
from keyturn_testing.judging import UNATTRIBUTED, Broken, Finding, judged_requirements
from keyturn_testing.record import PROFILES, Failure, Record
from keyturn_testing.reports.json_report import json_report, written
from keyturn_testing.reports.page import page_for_files
from keyturn_testing.reports.text_report import Origin, text_report
from keyturn_testing.reports.verdict import Judgement, Status, Verdict, exit_code, judgements, verdict
from keyturn_testing.systems.base import Breakdown
from keyturn_testing.traces import Call, Trace, trace_of

HOSTILE = "\x1b[31m\u202e\x07" + "x" * 5000


def record(claims: Claims = ALL_CLAIMS, *, unexercised: tuple[str, ...] = (), name: str = "store") -> Record:
    """A run in which everything was exercised but these, and nothing failed."""
    description = read_description(describe(name, "1", claims))
    made = Record(
        description=description,
        claims=claims,
        requirements=judged_requirements(description, claims),
        seed=0,
        profile=PROFILES["quick"],
    )
    for each in made.requirements:
        if each.id not in unexercised:
            made.counts.exercised[each.id] = 3
    return made


def failure(*broken: str, method: str = "card.respond", seen: str = "it is wrong", recorded: bool = True) -> Failure:
    """A failure that broke these requirements."""
    restart = Restart()
    finding = Finding(
        broken=tuple(Broken(requirement=each, seen=seen) for each in broken),
        method=method,
        differences=(),
        moment=Moment(
            state=State(),
            operation=restart,
            branch=Branch(Done(), World(), (), frozenset()),
            claims=ALL_CLAIMS,
        ),
        answered={},
        admissible=({"outcome": "rejected", "code": "not_found"},),
    )
    trace: Trace = trace_of([Call(operation="restart")])
    return Failure(finding=finding, trace=evolve(trace, recorded=({},) if recorded else ()), found_by="stateful")


def of(made: Record, requirement: str) -> Judgement:
    """The judgement of one requirement."""
    return next(each for each in judgements(made) if each.requirement.id == requirement)


class TestStatus:
    """failed, not claimed, passed, masked, not exercised: in that order."""

    def test_passed(self) -> None:
        """A requirement that was exercised and never broken has passed."""
        judged = of(record(), "I14.1")
        assert (judged.status, judged.exercised, judged.reason) == (Status.PASSED, 3, None)

    def test_failed(self) -> None:
        """Every requirement that a step broke has failed, with the trace."""
        made = record()
        made.failures.append(failure("I14.1", "E1"))
        for name in ("I14.1", "E1"):
            assert (of(made, name).status, of(made, name).failures) == (Status.FAILED, ("I14.1-card.respond.json",))

    def test_not_claimed(self) -> None:
        """What the claims leave out is never passed, and says why."""
        judged = of(record(ALL_CLAIMS - {Capability.LEDGER}), "E1")
        assert (judged.status, judged.reason) == (Status.NOT_CLAIMED, "the system does not claim `ledger`")

    def test_un_claimed_with_a_reason(self) -> None:
        """A single requirement that is un-claimed carries the system's own reason, escaped and bounded."""
        made = record()
        made.description = evolve(made.description, not_claimed={"I7.2": HOSTILE})
        made.requirements = judged_requirements(made.description, made.claims)
        judged = of(made, "I7.2")
        assert judged.status is Status.NOT_CLAIMED
        assert judged.reason is not None
        assert judged.reason.isprintable()
        assert len(judged.reason) < 1000

    def test_masked_by_a_failure(self) -> None:
        """What was never exercised behind a failure is masked, by name."""
        made = record(unexercised=("I7.2",))
        made.failures += [failure("I14.1", "E1"), failure("L2")]
        judged = of(made, "I7.2")
        assert (judged.status, judged.reason) == (
            Status.MASKED,
            "a failure of I14.1 and a failure of L2 stood in the way",
        )

    def test_masked_by_a_breakdown(self) -> None:
        """A breakdown masks too."""
        made = record(unexercised=("I7.2",))
        made.breakdown = Breakdown("hung", "no answer")
        assert of(made, "I7.2").reason == "the breakdown (hung) stood in the way"

    def test_not_exercised(self) -> None:
        """Without a failure in its way it was simply never exercised."""
        assert of(record(unexercised=("I7.2",)), "I7.2").status is Status.NOT_EXERCISED

    def test_every_requirement_once(self) -> None:
        """Each requirement has one line, in the order of the catalogue; a selection leaves the others out."""
        assert [each.requirement for each in judgements(record())] == list(REQUIREMENTS)
        assert [each.requirement.id for each in judgements(record(), {"L2", "A1"})] == ["L2", "A1"]


class TestVerdict:
    """broken, or else unjudged, or else it holds."""

    def test_holds(self) -> None:
        """Everything that is claimed was exercised and has passed, whatever is not claimed."""
        made = record(ALL_CLAIMS - {Capability.LEDGER})
        assert (verdict(made), exit_code(made)) == (Verdict.HOLDS, 0)

    def test_broken(self) -> None:
        """A failure, a breakdown and a difference that nothing demands are each enough; also in an interrupted run."""
        for name in ("I14.1", UNATTRIBUTED):
            made = record(unexercised=("I7.2",))
            made.failures.append(failure(name))
            made.interrupted = True
            assert (verdict(made), exit_code(made)) == (Verdict.BROKEN, 1)
        made = record()
        made.breakdown = Breakdown("crashed", "it is gone")
        assert verdict(made) is Verdict.BROKEN

    def test_unjudged(self) -> None:
        """A claimed requirement that was not exercised, an interruption, and nothing to judge at all."""
        assert exit_code(record(unexercised=("I7.2",))) == 2
        made = record()
        made.interrupted = True
        assert verdict(made) is Verdict.UNJUDGED
        assert verdict(record(ALL_CLAIMS - {Capability.LEDGER}), {"E1"}) is Verdict.UNJUDGED


class TestReports:
    """Both reports say the same, and survive a hostile system."""

    def test_json(self) -> None:
        """Breakdown, interruption and what nothing demands are there when they happened, and only then."""
        plain = json_report(record())
        head = ["schema", "system", "suite", "seed", "profile", "verdict"]
        assert list(plain) == [*head, "requirements", "coverage", "generated"]
        made = record()
        made.failures.append(failure(UNATTRIBUTED))
        made.breakdown, made.interrupted = Breakdown("hung", "no answer to effects", log="end"), True
        report = json.loads(written(json_report(made)))
        assert report["unattributed"] == ["unattributed-card.respond.json"]
        assert report["breakdown"] == {
            "kind": "hung",
            "message": "no answer to effects",
            "blame": "system",
            "log": "end",
        }
        assert report["interrupted"] is True

    def test_a_hostile_system(self) -> None:
        """Nothing that a system says reaches the terminal as it is, or fills it."""
        made = record(name=HOSTILE)
        made.failures += [failure("I14.1", seen=HOSTILE, recorded=False), failure(UNATTRIBUTED, seen=HOSTILE)]
        made.breakdown = Breakdown("garbage", HOSTILE, log=f"{HOSTILE}\n" * 5000)
        text = text_report(page_for_files(), made, Origin(adapter=f"python:{HOSTILE}"))
        assert all(each.isprintable() for each in text.splitlines())
        assert len(text) < 20_000
        for heading in (
            "I14.1 is broken",
            "A difference that no requirement demands",
            "The system talked garbage",
            "This did not come back",
        ):
            assert heading in text
