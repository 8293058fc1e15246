"""What a run amounts to: a status for each requirement, and one verdict.

The rules are the protocol's. Nothing passes vacuously (D5): a claimed requirement that was never exercised is masked where a
failure stood in its way and otherwise not exercised, and then the run is unjudged. A failure is a failure, whatever else is;
only what is on a list of known failures, or of what is flaky, does not break the verdict (D9).
"""

from collections.abc import Container, Mapping
from enum import StrEnum

from attrs import frozen

from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_specs.requirement import Requirement
from keyturn_testing.judging import UNATTRIBUTED
from keyturn_testing.record import Failure, Record, claimable
from keyturn_testing.wording import escaped, listed

LONGEST_REASON = 500
"""How many characters of a system's own reason are kept."""


class Status(StrEnum):
    """What became of one requirement."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EXERCISED = "not_exercised"
    NOT_CLAIMED = "not_claimed"
    KNOWN_FAILING = "known_failing"
    MASKED = "masked"


class Verdict(StrEnum):
    """What became of the whole run."""

    HOLDS = "holds"
    BROKEN = "broken"
    UNJUDGED = "unjudged"


EXIT_CODES: Mapping[Verdict, int] = {Verdict.HOLDS: 0, Verdict.BROKEN: 1, Verdict.UNJUDGED: 2}
"""The exit code of each verdict (D8)."""


@frozen(kw_only=True)
class Judgement:
    """One requirement, its status, how often it was exercised, why, and the traces that break it.

    The status of what is flaky is what happened; `flaky` says that it decides nothing.
    """

    requirement: Requirement
    status: Status
    exercised: int
    reason: str | None = None
    failures: tuple[str, ...] = ()
    flaky: bool = False

    @property
    def words(self) -> str:
        """The status in words, with the mark of what is flaky."""
        return self.status.value.replace("_", " ") + (" (flaky)" if self.flaky else "")


def trace_name(failure: Failure) -> str:
    """Return the name of a failure's trace file; no two failures of one run share it."""
    requirement, method = failure.finding.signature
    return f"{requirement}-{method}.json"


def judgements(record: Record, selected: Container[str] = BY_ID) -> tuple[Judgement, ...]:
    """Return what became of every selected requirement, in the order of the catalogue."""
    judged = {each.id for each in record.requirements}
    return tuple(_judgement(record, each, each.id in judged) for each in REQUIREMENTS if each.id in selected)


def _judgement(record: Record, requirement: Requirement, judged: bool) -> Judgement:
    exercised = record.counts.exercised.get(requirement.id, 0)
    failures = tuple(trace_name(each) for each in record.failed.get(requirement.id, ()))
    status, reason = Status.PASSED, None
    if failures and requirement.id in record.known:
        status, reason = Status.KNOWN_FAILING, escaped(record.known[requirement.id], LONGEST_REASON)
    elif failures:
        status = Status.FAILED
    elif not judged:
        said = claimable(requirement, record.description, record.claims) or "it was left out of this run"
        status, reason = Status.NOT_CLAIMED, escaped(said, LONGEST_REASON)
    elif not exercised:
        in_the_way = _in_the_way(record)
        status = Status.MASKED if in_the_way else Status.NOT_EXERCISED
        reason = f"{in_the_way} stood in the way" if in_the_way else _why_never(record)
    flaky = record.flaky.get(requirement.id) if judged else None
    if flaky is not None:
        why = escaped(flaky, LONGEST_REASON)
        reason = why if reason is None else f"{reason}; flaky because: {why}"
    return Judgement(
        requirement=requirement,
        status=status,
        exercised=exercised,
        reason=reason,
        failures=failures,
        flaky=flaky is not None,
    )


def _in_the_way(record: Record) -> str:
    primary = dict.fromkeys(each.finding.primary for each in record.failures)
    names = [
        f"a failure of {each}" if each in BY_ID else "a difference that no requirement demands" for each in primary
    ]
    if record.breakdown is not None:
        names.append(f"the breakdown ({record.breakdown.kind})")
    return listed(names) if names else ""


def _why_never(record: Record) -> str:
    if record.interrupted:
        return "the run was interrupted before anything exercised it"
    return "nothing within the budget exercised it: a larger profile or another seed may"


def unattributed(record: Record) -> tuple[str, ...]:
    """Return the traces of differences that no requirement demands."""
    return tuple(trace_name(each) for each in record.failed.get(UNATTRIBUTED, ()))


def stale(record: Record, selected: Container[str] = BY_ID) -> tuple[str, ...]:
    """Return the known failures that passed: the list is out of date, and that breaks the run (D9)."""
    passed = (each for each in judgements(record, selected) if each.status is Status.PASSED)
    return tuple(each.requirement.id for each in passed if each.requirement.id in record.known)


def listed_in_vain(record: Record, selected: Container[str] = BY_ID) -> tuple[str, ...]:
    """Return what is on a list and is not claimed: it can neither fail nor pass, and that breaks the run too (D9)."""
    unclaimed = (each.requirement.id for each in judgements(record, selected) if each.status is Status.NOT_CLAIMED)
    return tuple(each for each in unclaimed if each in record.known or each in record.flaky)


def verdict(record: Record, selected: Container[str] = BY_ID) -> Verdict:
    """Return the verdict of a run: broken, or else unjudged, or else it holds."""
    every = judgements(record, selected)
    out_of_date = stale(record, selected) or listed_in_vain(record, selected)
    broken = unattributed(record) or out_of_date or record.breakdown is not None
    if broken or any(each.status is Status.FAILED and not each.flaky for each in every):
        return Verdict.BROKEN
    claimed = [each for each in every if each.status is not Status.NOT_CLAIMED]
    judged = (Status.PASSED, Status.KNOWN_FAILING, Status.FAILED)
    if record.interrupted or not claimed or any(each.status not in judged for each in claimed):
        return Verdict.UNJUDGED
    return Verdict.HOLDS


def exit_code(record: Record, selected: Container[str] = BY_ID) -> int:
    """Return the exit code of a run."""
    return EXIT_CODES[verdict(record, selected)]
