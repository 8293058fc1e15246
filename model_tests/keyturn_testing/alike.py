"""Ids that look like another id and are not it: what a comparison that is not exact takes for the same (I7.7).

Each form spoils an id in one way that a careless system undoes: by folding case, trimming, normalising, matching a prefix,
leaving out what cannot be seen, or turning a number or a list into text. Where ids are UUIDs another spelling of the same
UUID is the same id, and no form may pass it off as another.
"""

import re
from collections.abc import Callable, Mapping
from unicodedata import normalize

from keyturn.values import LARGEST_INTEGER

_UUID = re.compile(r"(?:urn:uuid:)?\{?([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})\}?")


def _in_another_normal_form(text: str) -> str:
    """Composed for decomposed or the other way round; what knows neither becomes full-width, which NFKC undoes."""
    for form in ("NFD", "NFC"):
        if normalize(form, text) != text:
            return normalize(form, text)
    return "".join(chr(ord(each) + 0xFEE0) if "!" <= each <= "~" else each for each in text)


def _as_number(text: str) -> int:
    number = int(text) if re.fullmatch("[1-9][0-9]{0,15}", text) else 7
    return number if number <= LARGEST_INTEGER else 7


FORMS: Mapping[str, Callable[[str], object]] = {
    "case": str.swapcase,
    "leading_space": lambda text: f" {text}",
    "trailing_space": lambda text: f"{text} ",
    "normal_form": _in_another_normal_form,
    "prefix": lambda text: text[:-1],
    "suffix": lambda text: f"{text}_",
    "zero_width": lambda text: f"{text[:1]}\u200b{text[1:]}",
    "empty": lambda text: "",
    "number": _as_number,
    "list": lambda text: [text],
}
"""The forms by their names: what each makes of an id; all but the last two make a string."""

NO_STRINGS = frozenset({"number", "list"})
"""The forms that are no strings: only a response, which may be any JSON, can hold them."""


def uuid_digits(text: str) -> str | None:
    """Return the 32 digits of a UUID in any of its spellings, or nothing for what is none."""
    found = _UUID.fullmatch(normalize("NFKC", text).casefold())
    return None if found is None else found[1].replace("-", "")


def is_same_id(one: str, other: str) -> bool:
    """Whether two strings are the same id: equal, or two spellings of one UUID."""
    return one == other or uuid_digits(one) == uuid_digits(other) is not None
