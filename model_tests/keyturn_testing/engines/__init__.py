"""Engines: where steps come from. There is one driver, and every engine feeds it."""
