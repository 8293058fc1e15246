"""`pytest --keyturn SYSTEM`: one test a requirement, judged by one run, and one test of the run as a whole.

The run is made when the first of the tests is, and every test reads its own result from it. With pytest-xdist the first worker
that needs it makes it, and the others wait and read: a system that is one file or one server is never asked by two. What is not
claimed is skipped with the reason; what was claimed and never exercised fails, because nothing was judged.
"""

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import click
import pytest
from attrs import asdict, frozen
from hypothesis import configuration

from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_sql.passwords import without_passwords
from keyturn_testing.by_hand import SystemByHand
from keyturn_testing.commands.asking import Unfit, fit, opened, portable
from keyturn_testing.commands.check import read_or_refuse, selection
from keyturn_testing.commands.options import seconds_of, seed_of
from keyturn_testing.engines import ENGINES
from keyturn_testing.files import write_whole
from keyturn_testing.known import Lists, reasons_for
from keyturn_testing.record import PROFILES, Profile, Record, smaller
from keyturn_testing.reports.told import IN_VAIN, STALE, in_full, troubles
from keyturn_testing.reports.verdict import Judgement, Status, judgements, listed_in_vain, stale
from keyturn_testing.running import Run
from keyturn_testing.systems.base import BrokenRequest, Unusable
from keyturn_testing.wording import bounded, nearest, quoted

COLLECTOR = "keyturn"
"""The first part of every node id: `keyturn::I14.1`."""

WHOLE = "run"
"""The test of what belongs to no requirement: a breakdown, and differences that nothing demands."""

UNFINISHED = (
    "the run was begun and not finished, so nothing was judged: the test that began it, or its worker, says why"
)


@frozen(kw_only=True)
class Asked:
    """What the options ask for; `shared` is the folder that workers share, `chosen` what was named by node id."""

    adapter: str
    profile: Profile
    engines: tuple[str, ...]
    seed: int
    time_limit: float
    selected: frozenset[str]
    lists: Lists
    shared: Path | None
    chosen: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tests, in the order of the catalogue."""
        every = (*(each.id for each in REQUIREMENTS if each.id in self.selected), WHOLE)
        return tuple(each for each in every if not self.chosen or each in self.chosen)


Outcome: TypeAlias = Literal["passed", "skipped", "xfailed", "failed"]


@frozen(kw_only=True)
class Result:
    """What one test came to, and what it says; `flaky` is why it decides nothing."""

    outcome: Outcome
    text: str = ""
    flaky: str | None = None


T = TypeVar("T")

_ASKED = pytest.StashKey[Asked]()
_RESULTS = pytest.StashKey[Mapping[str, Result]]()


# ---- Options --------------------------------------------------------------------------------------------------------


def configure(config: pytest.Config, shared: str | None) -> None:
    """Read the options, and take our node ids out of the arguments; raise `UsageError` with every problem."""
    problems: list[str] = []
    profile = str(config.getoption("keyturn_profile"))
    if profile not in PROFILES:
        problems.append(f"--keyturn-profile: {quoted(profile, 60)} is none: it is one of {', '.join(PROFILES)}")
    seed = _tried(lambda: _seed(str(config.getoption("keyturn_seed"))), "--keyturn-seed", problems)
    limit = _tried(lambda: _time_limit(config), "--keyturn-time-limit", problems)
    wanted = tuple(map(str, config.getoption("keyturn_requirement")))
    selected = _tried(lambda: selection(wanted), "--keyturn-requirement", problems)
    paths = [_path(config, each, problems) for each in ("keyturn_known_failing", "keyturn_flaky")]
    lists = _tried(lambda: read_or_refuse(*paths), "the lists", problems)
    chosen = _named(config, frozenset(BY_ID) if selected is None else selected, problems)
    if problems or seed is None or limit is None or selected is None or lists is None:
        raise pytest.UsageError(*problems)
    config.stash[_ASKED] = Asked(
        adapter=str(config.getoption("keyturn")),
        profile=smaller(PROFILES[profile], config.getoption("keyturn_examples"), config.getoption("keyturn_steps")),
        engines=tuple(config.getoption("keyturn_engine")) or ENGINES,
        seed=seed,
        time_limit=limit,
        selected=selected,
        lists=lists,
        shared=None if shared is None else Path(shared),
        chosen=chosen,
    )


def _tried(read: Callable[[], T], option: str, problems: list[str]) -> T | None:
    try:
        return read()
    except click.ClickException as error:
        problems.append(f"{option}: {error.message}")
        return None


def _seed(text: str) -> int:
    if text == "random":
        raise click.BadParameter(
            "'random' is for the command line: name a whole number from 0, so that a failure comes back"
        )
    return seed_of(None, None, text)


def _time_limit(config: pytest.Config) -> float:
    return seconds_of(None, None, str(config.getoption("keyturn_time_limit")))


def _path(config: pytest.Config, option: str, problems: list[str]) -> Path | None:
    """The path of a list, from where pytest was started."""
    value = config.getoption(option)
    path = None if value is None else config.invocation_params.dir / str(value)
    if path is not None and path.is_dir():
        problems.append(f"--{option.replace('_', '-')}: {quoted(str(value))} is a folder: name a file in it")
        return None
    return path


def _named(config: pytest.Config, selected: frozenset[str], problems: list[str]) -> frozenset[str]:
    """Our own node ids among the arguments, which pytest would take for files."""
    chosen: set[str] = set()
    others: list[str] = []
    for each in config.args:
        file, colons, name = each.partition("::")
        if file != COLLECTOR or not (colons or not (config.invocation_params.dir / file).exists()):
            others.append(each)
        elif name and name not in selected | {WHOLE}:
            left_out = " It is left out by --keyturn-requirement." if name in BY_ID else ""
            meant = left_out or f" {nearest(name, (*selected, WHOLE))}"
            problems.append(f"{quoted(each, 80)}: there is no such test.{meant}".rstrip())
        else:
            chosen |= {name} if name else selected | {WHOLE}
    config.args[:] = others
    return frozenset(chosen)


# ---- Tests ----------------------------------------------------------------------------------------------------------


class Broken(Exception):
    """A requirement does not hold; the message is the story of it."""


class RequirementItem(pytest.Item):
    """The test of one requirement, or of the run as a whole."""

    def runtest(self) -> None:
        """Read the result from the run; the first of the tests makes it."""
        result = results_of(self.config)[self.name]
        if result.flaky is not None:
            self.user_properties.append(("keyturn_flaky", result.flaky))
        if result.outcome == "skipped":
            pytest.skip(result.text)
        if result.outcome == "xfailed":
            pytest.xfail(result.text)
        if result.outcome == "failed":
            raise Broken(result.text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Show the story and not a traceback."""
        if isinstance(excinfo.value, BrokenRequest):
            return f"the suite is wrong, and this says nothing about the system: {excinfo.value}; please report it"
        return str(excinfo.value) if isinstance(excinfo.value, Broken) else str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Name the test by its requirement; pytest would show `keyturn::I14::1` if the node id ended with it."""
        return COLLECTOR, None, f"{COLLECTOR} {self.name}"


class Requirements(pytest.Collector):
    """What holds the tests, so that their node ids are `keyturn::I14.1`."""

    def collect(self) -> Iterator[RequirementItem]:
        """Yield the test of every requirement that is asked for, and of the run as a whole."""
        for name in self.config.stash[_ASKED].names:
            item = RequirementItem.from_parent(self, name=name)
            about = {"family": str(BY_ID[name].family)} if name in BY_ID else {}
            item.add_marker(pytest.mark.keyturn(**about))
            yield item


def requirement_items(session: pytest.Session) -> list[RequirementItem]:
    """Return one test for every requirement that is asked for, and one of the run as a whole."""
    collector: Requirements = Requirements.from_parent(session, name=COLLECTOR, nodeid=COLLECTOR)
    report = session.ihook.pytest_make_collect_report(collector=collector)
    session.ihook.pytest_collectreport(report=report)  # so that they are counted as collected
    return [each for each in report.result if isinstance(each, RequirementItem)]


# ---- The run --------------------------------------------------------------------------------------------------------


def results_of(config: pytest.Config) -> Mapping[str, Result]:
    """Return the results of the one run of this session, which is made when they are first asked for."""
    if _RESULTS not in config.stash:
        asked = config.stash[_ASKED]
        config.stash[_RESULTS] = dict.fromkeys((*BY_ID, WHOLE), Result(outcome="failed", text=UNFINISHED))
        config.stash[_RESULTS] = _run(asked) if asked.shared is None else _shared(asked.shared, asked)
    return config.stash[_RESULTS]


def _shared(folder: Path, asked: Asked) -> Mapping[str, Result]:
    """Make the run, or wait for the worker that makes it; one that ends in the middle releases the lock with its life."""
    if not folder.is_dir():
        return _run(asked)  # a worker on another machine, which has a system of its own
    begun, results = folder / "begun", folder / "results.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if results.exists():
            read = json.loads(results.read_text("utf-8"))
            return {name: Result(**each) for name, each in read.items()}
        if begun.exists():
            return dict.fromkeys((*BY_ID, WHOLE), Result(outcome="failed", text=UNFINISHED))
        begun.touch()
        made = _run(asked)
        write_whole(results, json.dumps({name: asdict(each) for name, each in made.items()}))
    return made


def _run(asked: Asked) -> Mapping[str, Result]:
    """Ask the system everything; Ctrl-C is pytest's, and an unfit adapter is what every test says."""
    home = getattr(configuration, "__hypothesis_home_directory", None)
    try:
        with opened(asked.adapter, asked.time_limit) as at:
            found = fit(at)
            assert found.description is not None
            record = Run(
                at.system,
                found.description,
                found.claims,
                profile=asked.profile,
                engines=asked.engines,
                seed=asked.seed,
                selected=asked.selected,
            ).run()
            name = found.description.system.name
            record.known, record.flaky = reasons_for(asked.lists.known, name), reasons_for(asked.lists.flaky, name)
            if record.breakdown is not None:
                record.breakdown = portable(record.breakdown, at.folder)
    except Unfit as unfit:
        told = [*unfit.found.problems, *filter(None, [str(unfit.breakdown or "")])]
        text = f"the adapter is unfit, and nothing was judged: {'; '.join(bounded(each, 1000) for each in told)}"
        return dict.fromkeys((*BY_ID, WHOLE), Result(outcome="failed", text=text))
    finally:
        configuration.set_hypothesis_home_dir(home)  # the project's own tests keep theirs
    if record.interrupted:
        raise KeyboardInterrupt
    return results(record, asked.selected)


def results(record: Record, selected: frozenset[str]) -> dict[str, Result]:
    """Return what each test comes to, and the run as a whole."""
    late = {
        **dict.fromkeys(stale(record, selected), STALE),
        **dict.fromkeys(listed_in_vain(record, selected), IN_VAIN),
    }
    found = {}
    for judged in judgements(record, selected):
        told = late.get(judged.requirement.id)
        found[judged.requirement.id] = _result(record, judged, told)
    against = troubles(record, selected)
    text = "\n\n".join(f"{each.short}\n{each.full}" for each in against)
    found[WHOLE] = Result(outcome="failed", text=text) if against else Result(outcome="passed")
    return found


def _result(record: Record, judged: Judgement, out_of_date: str | None) -> Result:
    why = judged.reason if judged.flaky else None
    if out_of_date is not None:
        return Result(outcome="failed", text=f"{judged.requirement.id}: {out_of_date}")
    match judged.status:
        case Status.PASSED:
            return Result(outcome="passed", flaky=why)
        case Status.NOT_CLAIMED:
            return Result(outcome="skipped", text=judged.reason or "not claimed")
        case Status.KNOWN_FAILING:
            return Result(outcome="xfailed", text=f"known to fail: {judged.reason}")
        case Status.FAILED if judged.flaky:
            return Result(outcome="xfailed", text=f"flaky, and it failed: {judged.reason}", flaky=why)
        case _:
            return Result(outcome="failed", text=in_full(record, judged), flaky=why)


# ---- By hand --------------------------------------------------------------------------------------------------------


@contextmanager
def opened_by_hand(adapter: str, folder: Path, config: pytest.Config) -> Iterator[SystemByHand]:
    """Open the system of the fixtures, and end it; what cannot be asked fails the test with every problem."""
    try:
        system = SystemByHand(adapter, folder, _time_limit(config))
    except (Unusable, click.ClickException) as error:
        problems = error.problems if isinstance(error, Unusable) else (error.message,)
        told = "; ".join(bounded(each, 1000) for each in problems)
        pytest.fail(f"the system {quoted(without_passwords(adapter))} cannot be asked: {told}", pytrace=False)
    try:
        yield system
    finally:
        system.abandon()
