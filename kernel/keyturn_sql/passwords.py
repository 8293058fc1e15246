"""Texts that are shown do not hold the password of a database.

A DSN is looked for wherever it may stand, in an adapter string or in a command line, as a URL or in words. It is better
to leave too much out than too little, so what was not percent-encoded is taken for a part of the password.
"""

import re

# The password of a URL ends at the last @: one that was not percent-encoded may hold any of the marks of a URL itself.
_IN_URL = re.compile(r"(postgres(?:ql)?://[^:/@?\s]*):\S*@")
_IN_QUERY = re.compile(r"([?&][^=&\s]*password=)[^&\s]*")
_IN_WORDS = re.compile(r"\b(\w*password\s*=\s*)('(?:\\.|[^'\\])*'?|(?:\\.|[^\s\\])+)")


def without_passwords(text: str) -> str:
    """Return a text with the passwords of the DSNs in it left out, be they URLs or words such as `password=...`."""
    shown = _IN_URL.sub(r"\1@", text)
    return _IN_QUERY.sub(r"\1***", shown) if "://" in shown else _IN_WORDS.sub(r"\1***", shown)
