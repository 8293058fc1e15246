"""The names of a story: cards by letters, commands by numbers, and the values of a call in a few words.

A trace refers to what a system answered, and a system's own ids say nothing to a reader. Names are given in the order in
which the things appear, and found again by reference and by id.
"""

import json
from collections.abc import Mapping
from string import ascii_uppercase

from attrs import field, mutable

from keyturn_testing.traces import pointed
from keyturn_testing.wording import escaped, quoted


def value_of(value: object) -> str:
    """Return a literal value of a call in a few escaped characters."""
    if isinstance(value, str):
        return quoted(value, 60)
    if isinstance(value, float) and value.is_integer():
        return f"{value:g}"
    try:
        return escaped(json.dumps(value), 60)
    except (TypeError, ValueError):
        return escaped(repr(value), 60)


def plain(value: object) -> str:
    """Return a name of somebody or something as it is when it is a word, and quoted otherwise."""
    text = value if isinstance(value, str) else json.dumps(value)
    return (
        text
        if text and len(text) <= 60 and text.isascii() and text.replace("-", "_").isidentifier()
        else quoted(text, 60)
    )


_NEVER: Mapping[str, str] = {"card/id": "a card that never was", "command": "a command that never was"}


@mutable
class Names:
    """What has a name so far: cards and commands by their ids, answers by their labels."""

    cards: dict[str, str] = field(factory=dict)
    commands: dict[str, str] = field(factory=dict)
    answers: dict[str, object] = field(factory=dict)
    numbers: dict[str, int] = field(factory=dict)
    presented: dict[str, str] = field(factory=dict)
    owners: dict[str, tuple[object, object]] = field(factory=dict)
    answered: set[str] = field(factory=set)
    settled: set[str] = field(factory=set)

    def new_card(self, label: str, owner: tuple[object, object]) -> str:
        """Name the next card, and remember who presented it and where."""
        number = len(self.owners)
        rounds, letter = divmod(number, len(ascii_uppercase))
        name = f"card {ascii_uppercase[letter]}{rounds + 1 if rounds else ''}"
        self.presented[label], self.owners[name] = name, owner
        return name

    def hear(self, label: str, answer: object) -> None:
        """Remember what a step answered, and the ids in it."""
        self.answers[label] = answer
        card = pointed(answer, "card/id")
        if label in self.presented and isinstance(card, str):
            self.cards.setdefault(card, self.presented[label])
        command = pointed(answer, "command")
        if isinstance(command, str):
            self.commands.setdefault(command, f"command {len(self.commands) + 1}")

    def card(self, card: object) -> str:
        """Return the name of a card by the id that a system gave it."""
        known = self.cards.get(card) if isinstance(card, str) else None
        return known or f"the card {value_of(card)}"

    def command(self, command: object) -> str:
        """Return the name of a command by the id that a system gave it."""
        known = self.commands.get(command) if isinstance(command, str) else None
        return known or f"the command {value_of(command)}"

    def referred_card(self, reference: object) -> str:
        """Return the name of the card that a call means."""
        match reference:
            case {"$ref": str(path)}:
                label, _, pointer = path.partition("/")
                if pointer == "card/id" and label in self.presented:
                    return self.presented[label]
                found = pointed(self.answers.get(label), pointer)
                return self.card(found) if isinstance(found, str) else self._nothing(label, pointer)
            case {"$unlike": path}:
                return f"a card that never was (its id looks like that of {self.referred_card({'$ref': str(path)})})"
            case _:
                return f"the card {value_of(reference)}"

    def referred_command(self, reference: object) -> str:
        """Return the name of the command that a call means."""
        if isinstance(reference, Mapping) and "$ref" in reference:
            label, _, pointer = str(reference["$ref"]).partition("/")
            found = pointed(self.answers.get(label), pointer)
            return self.command(found) if isinstance(found, str) else self._nothing(label, pointer)
        return f"the command {value_of(reference)}"

    def referred_revision(self, reference: object, card: str) -> str:
        """Return the revision that a response expects, in words that end the sentence; `card` is the card it answers."""
        match reference:
            case {"$ref": str(path)}:
                label, _, pointer = path.partition("/")
                if pointer != "card/case_revision" or label not in self.presented:
                    return f"at the revision of {self._nothing(label, pointer)}"
                of = self.presented[label]
                return "at its own revision" if of == card else f"at the revision of {of}"
            case {"$revision": _, **rest}:
                plus = rest.get("plus", 0)
                return "at the current revision" + (f" plus {value_of(plus)}" if plus else "")
            case None:
                return "without a revision"
            case _:
                return f"at the revision {value_of(reference)}"

    def _nothing(self, label: str, pointer: str) -> str:
        """What a reference means that leads to nothing: a step was left out, or answered something else."""
        if label not in self.numbers:
            return _NEVER.get(pointer, "nothing")
        return f"what step {self.numbers[label]} answered as {escaped(pointer, 60)}"
