"""What the tests of the campaigns share: where stores are, and the campaigns, which are scripts and not installed."""

import sys
from pathlib import Path

from ..sql.conftest import path, place, schema

__all__ = ["path", "place", "schema"]

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "campaigns"))
