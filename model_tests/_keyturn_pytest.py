"""The pytest plugin of Keyturn, a module of its own outside the packages.

pytest imports it in every project in which Keyturn is installed, so it imports nothing of ours until it is used: with
`pytest --keyturn SYSTEM`, which adds one test a requirement, or by a test that asks for one of the fixtures.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from keyturn_testing.by_hand import JudgedDriver, SystemByHand

_SHARED = "keyturn_shared"
"""What the controller of pytest-xdist calls the folder that it lends its workers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("keyturn", "conformance of a store of human decisions")
    group.addoption("--keyturn", metavar="SYSTEM", help="Hold this system to every requirement, one test each.")
    group.addoption("--keyturn-profile", metavar="NAME", default="quick", help="How much is asked (default: quick).")
    group.addoption("--keyturn-seed", metavar="NUMBER", default="0", help="The seed of the run (default: 0).")
    group.addoption(
        "--keyturn-requirement",
        metavar="ID",
        action="append",
        default=[],
        help="Judge only this requirement, or family such as I14 (repeatable; default: all of them).",
    )
    group.addoption(
        "--keyturn-known-failing", metavar="FILE", help="A TOML file of [[known]] failures: they are expected to fail."
    )
    group.addoption("--keyturn-flaky", metavar="FILE", help="A TOML file of what is [[flaky]]: it never fails a test.")
    group.addoption(
        "--keyturn-time-limit",
        metavar="SECONDS",
        default="10",
        help="How long the system may take for one call (default: 10).",
    )
    # Hidden, as the same options of `keyturn check` are: a smaller run, for tests of the plugin itself.
    group.addoption("--keyturn-examples", type=int, help=argparse.SUPPRESS)
    group.addoption("--keyturn-steps", type=int, help=argparse.SUPPRESS)
    group.addoption("--keyturn-engine", action="append", default=[], help=argparse.SUPPRESS)
    parser.addini("keyturn_system", "The system of the fixtures, where --keyturn names none.", default="")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and refuse options that cannot be used before anything is collected."""
    config.addinivalue_line("markers", "keyturn(family): a requirement of Keyturn, or a test that uses its fixtures.")
    if config.getoption("keyturn"):
        from keyturn_testing.plugin import configure

        configure(config, getattr(config, "workerinput", {}).get(_SHARED))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add one test a requirement, before anything is selected; whatever asks the system stays on one worker if it can."""
    mine = [each for each in items if "keyturn_system" in getattr(each, "fixturenames", ())]
    if config.getoption("keyturn"):
        from keyturn_testing.plugin import requirement_items

        added = requirement_items(session)
        items.extend(added)
        mine.extend(added)
    for each in mine:
        if each.get_closest_marker("keyturn") is None:
            each.add_marker(pytest.mark.keyturn)
        if config.pluginmanager.hasplugin("xdist") and each.get_closest_marker("xdist_group") is None:
            each.add_marker(pytest.mark.xdist_group("keyturn"))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Lend every worker of pytest-xdist the same folder, so that the run is made once."""
    config = node.config
    if config.getoption("keyturn"):
        if not hasattr(config, _SHARED):
            setattr(config, _SHARED, tempfile.mkdtemp(prefix="keyturn-pytest-"))
        node.workerinput[_SHARED] = getattr(config, _SHARED)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder of the workers."""
    folder = getattr(config, _SHARED, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def keyturn_adapter(request: pytest.FixtureRequest) -> str:
    """The adapter string of the fixtures: `--keyturn`, or the setting `keyturn_system`; override it to say another."""
    adapter = request.config.getoption("keyturn") or request.config.getini("keyturn_system")
    if not adapter:
        pytest.fail(
            "no system is named, so there is nothing to ask: run `pytest --keyturn SYSTEM`, write `keyturn_system = SYSTEM` "
            "into pytest's settings, or define a fixture `keyturn_adapter` that returns it",
            pytrace=False,
        )
    return str(adapter)


@pytest.fixture(scope="module")
def keyturn_system(
    keyturn_adapter: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SystemByHand]:
    """The system, open and fit to be judged; `start()` begins an example on it, as often as wanted."""
    from keyturn_testing.plugin import opened_by_hand

    with opened_by_hand(keyturn_adapter, tmp_path_factory.mktemp("keyturn"), request.config) as system:
        yield system


@pytest.fixture
def keyturn_driver(keyturn_system: SystemByHand) -> JudgedDriver:
    """A driver at the start of an example: it judges every step that is taken with it."""
    return keyturn_system.start()
