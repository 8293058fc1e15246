"""`pytest --keyturn SYSTEM`: one test a requirement, judged by one run.

The run is made when the first of the tests is, and every test reads its own verdict from it. A requirement that the system
does not claim is skipped with the reason; one that was claimed and never exercised fails, because nothing was judged.
"""

from collections.abc import Iterator

import click
import pytest

from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_testing.commands.asking import Unfit, fit, opened
from keyturn_testing.reports.page import page_for_files
from keyturn_testing.reports.text_report import show_breakdown, show_story
from keyturn_testing.reports.verdict import Judgement, Status, judgements
from keyturn_testing.running import PROFILES, Record, Run
from keyturn_testing.systems.base import BrokenRequest

TIME_LIMIT = 10.0
"""Seconds that each call may take."""

_RECORD = pytest.StashKey[Record]()


class Broken(Exception):
    """A requirement does not hold; the message is the story of it."""


class RequirementItem(pytest.Item):
    """The test of one requirement."""

    requirement: str

    def runtest(self) -> None:
        """Read the verdict of the run; the first of the tests makes it."""
        record = record_of(self.config)
        (judged,) = judgements(record, {self.requirement})
        if judged.status is Status.NOT_CLAIMED:
            pytest.skip(judged.reason or "not claimed")
        if judged.status is not Status.PASSED:
            raise Broken(in_words(record, judged))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Show the story and not a traceback."""
        if isinstance(excinfo.value, Unfit):
            told = [*excinfo.value.found.problems, *filter(None, [str(excinfo.value.breakdown or "")])]
            return "the adapter is unfit, and nothing was judged: " + "; ".join(told)
        if isinstance(excinfo.value, BrokenRequest):
            return f"the suite is wrong, and this says nothing about the system: {excinfo.value}; please report it"
        return str(excinfo.value) if isinstance(excinfo.value, Broken) else str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Name the test by its requirement."""
        return "keyturn", None, self.name


def requirement_items(session: pytest.Session) -> Iterator[RequirementItem]:
    """Return one test for every requirement of this version."""
    for each in REQUIREMENTS:
        item = RequirementItem.from_parent(session, name=f"keyturn[{each.id}]")
        item.requirement = each.id
        yield item


def record_of(config: pytest.Config) -> Record:
    """Return the record of the run of this session; raise `Unfit` when the system cannot be judged."""
    if _RECORD not in config.stash:
        profile = PROFILES.get(str(config.getoption("keyturn_profile")))
        if profile is None:
            raise click.ClickException(f"--keyturn-profile is one of {', '.join(PROFILES)}")
        with opened(str(config.getoption("keyturn")), TIME_LIMIT) as at:
            found = fit(at)
            assert found.description is not None
            seed = int(str(config.getoption("keyturn_seed")))
            config.stash[_RECORD] = Run(at.system, found.description, found.claims, profile=profile, seed=seed).run()
    return config.stash[_RECORD]


def in_words(record: Record, judged: Judgement) -> str:
    """Return why a requirement is not passed: the sentence, and the story of each failure."""
    page = page_for_files()
    page.line(f"{judged.requirement.id} {judged.status.value.replace('_', ' ')}")
    page.paragraph(judged.requirement.says, indent=2)
    if judged.reason is not None:
        page.paragraph(judged.reason, indent=2)
    for failure in record.failed.get(judged.requirement.id, ()):
        page.blank()
        finding = failure.finding
        show_story(page, failure.trace.steps, failure.trace.recorded, finding.broken, finding.admissible)
    if record.breakdown is not None:
        show_breakdown(page, record.breakdown)
    return page.text()
