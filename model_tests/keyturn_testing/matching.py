"""Comparing what the model says with what a system said, field by field.

The model has its own names for ids and its own counting of revisions. A matching binds each of them to the system's on
first sight and holds it to that afterwards: one id for one id, revisions in the same order, one hash for ever for one
card. What the text leaves open (`lenient`, `mention`, `free`, `coded` and `unordered` fields) is said in the declarations of the
records, and read from there.
"""

from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import TypeAlias, Union, get_args, get_origin

from attrs import Attribute, field, fields, frozen, has, mutable, resolve_types

from keyturn.capabilities import Capability, Claims
from keyturn.cards import PayloadView
from keyturn.responses import RefusalCode
from keyturn.values import CardId, CaseKey, CommandId, EffectId, IdempotencyKey, Instant, PayloadHash, Revision
from keyturn.world import World

Name: TypeAlias = tuple[str, object, str | int]
"""One side of a binding: the sort, what it is scoped to, and the name or number."""


@frozen
class Binding:
    """Which of the system's ids and revisions stand for which of the model's."""

    to_system: Mapping[Name, str | int] = field(factory=dict)
    to_model: Mapping[Name, str | int] = field(factory=dict)

    def model(self, sort: str, scope: object, seen: str | int) -> str | int | None:
        """Return the model's name for something of the system's, if it was ever seen."""
        return self.to_model.get((sort, scope, seen))

    def with_pair(self, sort: str, scope: object, model: str | int, seen: str | int) -> "Binding":
        """Return the binding with one more pair."""
        return Binding({**self.to_system, (sort, scope, model): seen}, {**self.to_model, (sort, scope, seen): model})


@frozen
class Mismatch:
    """A place where the system differs from the model, and both values."""

    path: tuple[str, ...]
    expected: object
    seen: object


@mutable
class Matching:
    """One attempt to explain a system's answers by one state of the model; it collects every mismatch."""

    binding: Binding
    world: World
    claims: Claims
    scope: CaseKey | None = None
    card: str | None = None
    batches: tuple[int, ...] = ()
    mismatches: list[Mismatch] = field(factory=list)

    def differ(self, path: tuple[str, ...], expected: object, seen: object) -> None:
        """Note a difference."""
        self.mismatches.append(Mismatch(path, expected, seen))

    def compare(self, path: tuple[str, ...], expected: object, seen: object) -> None:
        """Compare two records; records of different types differ as a whole."""
        if type(expected) is not type(seen):
            self.differ(path, expected, seen)
        else:
            _comparator(type(expected))(self, path, expected, seen)

    def bind(self, sort: str, scope: object, path: tuple[str, ...], model: str | int, seen: str | int) -> None:
        """Hold a name of the model's to one of the system's, from first sight on."""
        bound = self.binding.to_system.get((sort, scope, model))
        if bound is None and (sort, scope, seen) not in self.binding.to_model:
            self.binding = self.binding.with_pair(sort, scope, model, seen)
        elif bound != seen:
            self.differ(path, bound if bound is not None else f"a new {sort}", seen)


Compare: TypeAlias = Callable[[Matching, tuple[str, ...], object, object], None]


def _equal(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
    if expected != seen:
        matching.differ(path, expected, seen)


def _identifier(sort: str) -> Compare:
    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        assert isinstance(expected, str) and isinstance(seen, str)
        matching.bind(sort, None, path, expected, seen)

    return compare


def _hash(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
    assert isinstance(expected, str) and isinstance(seen, str)
    bound = matching.binding.to_system.get(("hash", matching.card, expected))
    if bound is None:
        matching.binding = matching.binding.with_pair("hash", matching.card, expected, seen)
    elif bound != seen:
        matching.differ(path, bound, seen)


def _revision(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
    assert isinstance(expected, int) and isinstance(seen, int)
    if Capability.REVISIONS not in matching.claims:
        return
    scope = matching.scope
    known = matching.binding.to_system
    later = known.get(("revision", scope, expected + 1))
    earlier = known.get(("revision", scope, expected - 1))
    matching.bind("revision", scope, path, expected, seen)
    if seen < 1 or (isinstance(later, int) and later <= seen) or (isinstance(earlier, int) and earlier >= seen):
        matching.differ(path, f"a revision between {earlier} and {later}", seen)


def _instant(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
    if Capability.CLOCK in matching.claims:
        _equal(matching, path, expected, seen)


def _optional(inner: Compare) -> Compare:
    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        # A system without revisions need not show one; where they are claimed, an absent one says "independent".
        if inner is _revision and Capability.REVISIONS not in matching.claims:
            return
        if expected is None or seen is None:
            _equal(matching, path, expected, seen)
        else:
            inner(matching, path, expected, seen)

    return compare


def _lenient(inner: Compare) -> Compare:
    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        if expected is not None and seen is not None:
            inner(matching, path, expected, seen)

    return compare


def _skip(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
    """Compare nothing: the text leaves this field open, or an invariant judges it."""


def _sequence(inner: Compare) -> Compare:
    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        assert isinstance(expected, tuple) and isinstance(seen, tuple)
        for number, (one, other) in enumerate(zip(expected, seen, strict=False)):
            inner(matching, (*path, str(number)), one, other)
        if len(expected) != len(seen):
            matching.differ((*path, "length"), len(expected), len(seen))

    return compare


def _unordered(inner: Compare) -> Compare:
    """A set of ids: those that are bound are matched by their binding, and the rest by elimination."""
    in_order = _sequence(inner)

    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        assert isinstance(expected, tuple) and isinstance(seen, tuple)
        names = [matching.binding.model("card", None, each) for each in seen]
        in_order(matching, path, expected, _in_places(expected, names, seen))

    return compare


def _in_places(expected: Sequence[object], names: Sequence[object], seen: Sequence[object]) -> tuple[object, ...]:
    """Return what was seen in the order of what was expected; what has no known name fills the places that are left."""
    known = {name: each for name, each in zip(names, seen, strict=True) if name in expected}
    rest = [each for name, each in zip(names, seen, strict=True) if name not in known]
    placed = [known[each] if each in known else rest.pop(0) for each in expected if each in known or rest]
    return (*placed, *rest)


def _by_age(inner: Compare) -> Compare:
    """Cards oldest first: those of one instant are matched by their ids, whatever their order."""
    in_order = _sequence(inner)

    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        assert isinstance(expected, tuple) and isinstance(seen, tuple)
        ages = {each.id: each.created_at for each in expected}
        names = [matching.binding.model("card", None, each.id) for each in seen]
        known = [ages[name] for name in names if name in ages]
        if known != sorted(known):
            matching.differ((*path, "order"), "oldest first", tuple(each.id for each in seen))
        in_order(matching, path, expected, _in_places([each.id for each in expected], names, seen))

    return compare


def _batched(inner: Compare) -> Compare:
    """A ledger: entries that one operation wrote for several cards come in any order, those of one card in theirs."""
    in_order = _sequence(inner)

    def by_card(matching: Matching, entries: tuple[object, ...], seen: bool) -> tuple[object, ...]:
        ordered: list[object] = []
        rest = list(entries)
        for size in (*matching.batches, len(rest)):
            batch, rest = rest[:size], rest[size:]
            ordered += sorted(batch, key=lambda each: str(_model_card(matching, each, seen)))
        return tuple(ordered)

    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        assert isinstance(expected, tuple) and isinstance(seen, tuple)
        in_order(matching, path, by_card(matching, expected, False), by_card(matching, seen, True))

    return compare


def _model_card(matching: Matching, entry: object, seen: bool) -> object:
    card = getattr(entry, "card", "")
    return matching.binding.model("card", None, card) if seen else card


def _code(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
    """Compare what rests on refusal codes, where they mean something."""
    if Capability.CODED_REFUSALS in matching.claims:
        _equal(matching, path, expected, seen)


_SORTS: Mapping[object, Compare] = {
    CardId: _identifier("card"),
    CommandId: _identifier("command"),
    EffectId: _identifier("effect"),
    IdempotencyKey: _identifier("key"),
    PayloadHash: _hash,
    Revision: _revision,
    Instant: _instant,
}

_BY_MARK: Mapping[str, Callable[[Compare], Compare]] = {
    "unordered": _unordered,
    "by_age": _by_age,
    "batched": _batched,
    "lenient": _lenient,
    "mention": lambda inner: _skip,
    "free": lambda inner: _skip,
    "coded": lambda inner: _code,
}


def _of_type(kind: object, marks: Mapping[str, object]) -> Compare:
    if kind is RefusalCode:
        return _code
    if kind in _SORTS:
        return _SORTS[kind]
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType) and NoneType in arguments:
        (inner,) = [each for each in arguments if each is not NoneType] if len(arguments) == 2 else [object]
        return _optional(_of_type(inner, {}))
    if get_origin(kind) is tuple:
        item = _of_type(arguments[0], {})
        listed = [mark for mark in ("unordered", "by_age", "batched") if mark in marks]
        return _BY_MARK[listed[0]](item) if listed else _sequence(item)
    return _comparator(kind) if isinstance(kind, type) and has(kind) else _equal


def _of_field(attribute: "Attribute[object]") -> tuple[str, Compare]:
    compare = _of_type(attribute.type, attribute.metadata)
    for mark in ("lenient", "mention", "free", "coded"):
        if mark in attribute.metadata:
            compare = _BY_MARK[mark](compare)
    return attribute.name, compare


_COMPARATORS: dict[type, Compare] = {}


def _comparator(kind: type) -> Compare:
    if kind not in _COMPARATORS:
        _COMPARATORS[kind] = _record(kind)
    return _COMPARATORS[kind]


def _record(kind: type) -> Compare:
    resolved = fields(resolve_types(kind))
    compared = tuple(_of_field(attribute) for attribute in resolved)
    card_field = next((each.name for each in resolved if each.type is CardId and each.name in ("card", "id")), None)
    views_are_equal = kind is PayloadView

    def compare(matching: Matching, path: tuple[str, ...], expected: object, seen: object) -> None:
        if type(expected) is not type(seen):
            matching.differ(path, expected, seen)
            return
        if views_are_equal and expected == seen:
            return
        outer = (matching.scope, matching.card)
        if card_field is not None:
            matching.card = getattr(expected, card_field)
            interaction = matching.world.interaction(str(matching.card))
            matching.scope = outer[0] if interaction is None else interaction.key
        for name, of_field in compared:
            of_field(matching, (*path, name), getattr(expected, name), getattr(seen, name))
        matching.scope, matching.card = outer

    return compare
