"""Asking a system as `keyturn check` does, in a folder of its own: for campaigns that are about what the suite finds."""

import sys
import tempfile
from pathlib import Path

from keyturn_testing.record import Profile, Progress, Record
from keyturn_testing.running import Run
from keyturn_testing.smoke import smoke
from keyturn_testing.systems.adapters import open_system

KEYTURN = Path(sys.executable).parent / "keyturn"
"""The command of this environment."""

_TIME_LIMIT_SECONDS = 30.0


def held(
    adapter: str,
    profile: Profile,
    seed: int,
    engines: tuple[str, ...],
    *,
    until: tuple[str, ...] = (),
    told: Progress = lambda record, doing: None,
) -> Record:
    """Hold a system to everything that it claims, or until these requirements have failed."""
    with tempfile.TemporaryDirectory(prefix="keyturn-campaign-") as folder:
        system = open_system(adapter, data=Path(folder), time_limit=_TIME_LIMIT_SECONDS)
        try:
            found = smoke(system)
            assert found.description is not None, found.problems
            run = Run(
                system,
                found.description,
                found.claims,
                profile=profile,
                seed=seed,
                engines=engines,
                until=frozenset(until),
                progress=told,
            )
            return run.run()
        finally:
            system.close()
