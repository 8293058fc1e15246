"""Engines: where steps come from. There is one driver, and every engine feeds it."""

ENGINES = ("cover", "scenarios", "races", "crashes", "stateful")
"""The engines, in the order in which a run takes them."""
