"""The pytest plugin of Keyturn, a module of its own outside the packages.

pytest imports it in every project in which Keyturn is installed, so it imports nothing of ours until it is used: with
`pytest --keyturn SYSTEM`, which adds one test a requirement.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("keyturn", "conformance of a store of human decisions")
    group.addoption("--keyturn", metavar="SYSTEM", help="Hold this system to every requirement, one test each.")
    group.addoption("--keyturn-profile", metavar="NAME", default="quick", help="How much is asked (default: quick).")
    group.addoption("--keyturn-seed", metavar="NUMBER", type=int, default=0, help="The seed of the run (default: 0).")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add one test a requirement, before anything is selected."""
    if config.getoption("keyturn"):
        from keyturn_testing.plugin import requirement_items

        items.extend(requirement_items(session))
