"""Free texts at the limits of what a text can be, in tables (I7.4).

A text is kept whole and counted in code points, so the tables hold what other counts, trims, escapes and normal forms would
change: every limit is met once in plain letters, once where UTF-16 counts two, and once where a normal form counts fewer.
Blank is only Unicode White_Space; several characters that look blank, or that a language's own trim takes away, are text.
"""

from keyturn.cards import WHITE_SPACE
from keyturn.responses import LARGEST_RESPONSE
from keyturn_testing.dealing import Table
from keyturn_testing.payloads import LONG_TEXT, LONGEST_TEXT

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
"""One emoji that is seven code points, joined by U+200D."""

TEXTS: Table[str] = Table(
    "texts",
    {
        "plain": "because",
        "one character": "y",
        "accents at the limit": "\u00e9" * LONGEST_TEXT,
        "decomposed at the limit": "e\u0301" * (LONGEST_TEXT // 2),
        "astral at the limit": "\U0001d4b3" * LONGEST_TEXT,
        "an emoji with a modifier": "\U0001f44d\U0001f3fd ok",
        "joined emoji": FAMILY,
        "right to left": "\u200f\u05e9\u05dc\u05d5\u05dd\u200e",
        "an override": "\u202eevil\u202c",
        "newlines": "a\nb\r\nc\u2028d",
        "spaces around": "  kept\t ",
        "controls": "\x1b[31m\x07\x7f",
        "like JSON": '{"a":[null]}',
        "like HTML": "<b>&amp;</b>",
        "like SQL": "'; DROP x;--",
        "like a template": "${x}{{y}}%s",
        "like nothing": "null",
        "a zero width space": "\u200b",
        "a byte order mark": "\ufeff",
        "a braille blank": "\u2800",
        "a file separator": "\x1c",
    },
)
"""Texts that an option with the usual limit takes, and keeps whole."""

_WHITE = "".join(sorted(WHITE_SPACE))

BLANKS = {
    "nothing": "",
    "blank in ASCII and Latin-1": _WHITE[:8],
    "blank in general punctuation": _WHITE[8:17],
    "blank, the rest": _WHITE[17:],
}
"""Texts that say nothing: every kind of White_Space is in one of them, and each is within the usual limit."""

REFUSED_TEXTS: Table[str] = Table(
    "refused texts",
    {
        **BLANKS,
        "one too many": "x" * (LONGEST_TEXT + 1),
        "astral and one too many": "\U0001d4b3" * (LONGEST_TEXT + 1),
        "decomposed and one too many": "e\u0301" * (LONGEST_TEXT // 2) + "e",
        "joined emoji past the limit": FAMILY * 2,
        "long, within a response": "x" * LONG_TEXT,
        "longer than a response": "x" * (LARGEST_RESPONSE + 1),
    },
)
"""Texts that an option with the usual limit does not take; blank ones are no text, wherever text is optional."""

UNWANTED_TEXTS: Table[str] = Table(
    "unwanted texts",
    {
        **BLANKS,
        "a text": "no text belongs here",
        "a zero width space": "\u200b",
        "a file separator": "\x1c",
    },
)
"""Texts for an option that takes none; blank ones may be ignored."""

LONG_TEXTS: Table[str] = Table("long texts", {"at the limit": "x" * LONG_TEXT, "one too many": "x" * (LONG_TEXT + 1)})
"""Texts at the limit of an option that takes nearly all that a response can carry."""
