"""What a tour tries on one card and its case: for each place where the card stands, everything right and everything wrong.

A try is a call that names its card and its command by the labels of earlier calls, so that it can be sent to any system. The
world here is the model's: one case and one card that is looked at, and a second card only where it takes the first one's place.
"""

from collections.abc import Iterator, Mapping

from attrs import evolve, field, frozen

from keyturn.capabilities import Capability, Claims
from keyturn.cards import ActionClass, DeclineAndRecord, FreeformKind, Interaction, InteractionKind, InteractionOption
from keyturn.status import InteractionStatus
from keyturn.values import CaseKey, Json
from keyturn.world import Case, Settlement, World
from keyturn_testing.payloads import LONGEST_TEXT, kind_of, payload
from keyturn_testing.traces import Call

CASE = CaseKey("acme", "trip", "case-1")
NEVER = CaseKey("acme", "trip", "case-2")
"""A case that is never opened."""

OWNER: Mapping[str, object] = {"account": "acme", "conversation": "chat-1"}
STRANGER: Mapping[str, object] = {"account": "globex", "conversation": "chat-1"}
ELSEWHERE: Mapping[str, object] = {"account": "acme", "conversation": "chat-2"}

OPENED = "opened"
"""The label of the opening of the case."""

FIRST_REVISION: Mapping[str, object] = {"$ref": f"{OPENED}/revision", "else": 1}
"""The revision that the case had when it was opened: every card is bound to a later one."""

CURRENT_REVISION: Mapping[str, object] = {"$revision": [CASE.account, CASE.workflow, CASE.case]}
"""The revision that the case has now."""

SPAN_SECONDS = 60
"""How long a card can be answered, where there is a clock."""

LABEL = "card-1"
"""The label of the card that is looked at."""

MOST_COMMANDS = 2
"""How many commands a card becomes at most: one, and one more after it was given back."""

GIVEN_BACK = Settlement(result="failed", on_failure="restore")
"""The end of a first command after which a second one is tried."""

_ENDS = [(result, policy) for result in ("committed", "failed") for policy in ("record", "restore")]


@frozen(kw_only=True)
class Terms:
    """What a system can be asked: its claims, the kinds that it presents, and the actions that it offers."""

    claims: Claims
    kinds: tuple[InteractionKind, ...]
    actions: frozenset[str] | None = None
    # The kinds that have every action, found once.
    asked: tuple[InteractionKind, ...] = field(init=False)

    @asked.default
    def _kinds_to_ask(self) -> tuple[InteractionKind, ...]:
        """The kinds whose cards have, together, every offered action; a set of options is a way to answer of its own."""
        chosen: list[InteractionKind] = []
        left = {action for kind in self.kinds for action in self._actions(kind)}
        for kind in sorted(self.kinds, key=lambda each: -len(self._actions(each))):
            if left & self._actions(kind) or kind is InteractionKind.MULTI_SELECT:
                chosen.append(kind)
                left -= self._actions(kind)
        return tuple(chosen)

    def _actions(self, kind: InteractionKind) -> frozenset[str]:
        options = self.payload(kind)["options"]
        return (
            frozenset(kind_of(each) for each in options if isinstance(each, dict))
            if isinstance(options, list)
            else frozenset()
        )

    def payload(self, kind: InteractionKind) -> Mapping[str, Json]:
        """What a card of a kind asks."""
        return payload(kind, 1, text=Capability.FREEFORM in self.claims, offered=self.actions)

    def claimed(self, *capabilities: Capability) -> bool:
        """Whether the system claims all of these."""
        return self.claims >= set(capabilities)


def tries(world: World, terms: Terms) -> Iterator[Call]:
    """Yield everything that is tried in a world.

    What cannot show anything new is left out, so that the tour stays short: of a card that is bound to no revision, and of one
    that was given back, only what moves it is tried; a record moves or a deadline passes once; nothing is tried where a case
    has been closed over a card; and a second card is there to be taken along, or to take the first one's place.
    """
    case = world.case(CASE)
    if case is None:
        yield evolve(_on_case("case.open"), label=OPENED)
        yield _present(terms, terms.asked[0], NEVER)
        yield from _of_case(terms, NEVER)
    elif not world.interactions:
        yield from _before_cards(case, terms)
    elif len(world.interactions) > 1:
        yield from _of_two(world, terms)
    elif not case.closed:
        (card,) = world.interactions
        if card.blocking is not terms.claimed(Capability.BLOCKING):
            yield from _of_case(terms, CASE)
            return
        yield from _commands(world, card, terms)
        if card.resolved_option is not None and card.resolved_option not in _one_a_class(card):
            return
        # A sweep must expire what is overdue; a refused answer may.
        yield from _time(world, card, terms)
        yield from _answers(world, card, terms)
        yield from _of_case(terms, CASE)
        if card.case_revision is not None:
            yield from _second_cards(world, card, terms)


def _before_cards(case: Case, terms: Terms) -> Iterator[Call]:
    """Cards are presented when the record has moved once, so that there is an earlier revision than theirs."""
    yield from _of_case(terms, CASE)
    if case.closed:
        yield _present(terms, terms.asked[0])
    elif not terms.claimed(Capability.REVISIONS) or case.revision > 1:
        yield from _first_cards(terms)


def _of_two(world: World, terms: Terms) -> Iterator[Call]:
    card, second = world.interactions
    only_so = not terms.claims & {Capability.REVISIONS, Capability.ADMINISTRATIVE}
    if card.status is InteractionStatus.INVALIDATED and only_so:
        yield from _answers(world, card, terms)
    elif second.status is InteractionStatus.ACTIVE and not second.blocking:
        if card.status is InteractionStatus.ACTIVE and not world.commands:
            yield from (_answer_to(world, card).sent(each) for each in _moving_answers(world, card))
        yield from _commands(world, card, terms)


def _moving_answers(world: World, card: Interaction) -> Iterator[Mapping[str, object]]:
    """The answers by which the record moves, now or when their command commits."""
    for option in _distinct(card):
        if option.action.action_class is ActionClass.AUTHORISES or isinstance(option.action, DeclineAndRecord):
            yield _answer_to(world, card).right(option)


def _is_as_presented(world: World, card: Interaction) -> bool:
    """Whether neither the record has moved nor the deadline has passed, as far as the card depends on it."""
    moved = card.case_revision is not None and card.case_revision != world.revision(CASE)
    return not moved and not card.is_past(world.now)


# ---- Cases and time -------------------------------------------------------------------------------------------------


def _named(key: CaseKey) -> dict[str, object]:
    return {"account": key.account, "workflow": key.workflow, "case": key.case}


def _on_case(method: str, key: CaseKey = CASE, **more: object) -> Call:
    return Call(operation=method, params={**_named(key), **more})


def _of_case(terms: Terms, key: CaseKey) -> Iterator[Call]:
    if terms.claimed(Capability.REVISIONS):
        yield _on_case("case.edit", key)
    if terms.claimed(Capability.ADMINISTRATIVE):
        yield _on_case("card.withdraw", key, code="asked in error")
        yield _on_case("case.close", key)


def _time(world: World, card: Interaction, terms: Terms) -> Iterator[Call]:
    if terms.claimed(Capability.CLOCK):
        yield Call(operation="card.expire_due")
        if _is_as_presented(world, card):
            yield Call(operation="clock.advance", params={"seconds": SPAN_SECONDS})


# ---- Cards ----------------------------------------------------------------------------------------------------------


def _present(terms: Terms, kind: InteractionKind, key: CaseKey = CASE, *, number: int = 1, **changes: object) -> Call:
    params: dict[str, object] = {
        **_named(key),
        "conversation": OWNER["conversation"],
        "kind": kind.value,
        "blocking": terms.claimed(Capability.BLOCKING),
        "revision_independent": False,
        "payload": terms.payload(kind),
        "on_occupied": "refuse",
        **({"expires_in": SPAN_SECONDS} if terms.claimed(Capability.CLOCK) else {}),
        **changes,
    }
    return Call(operation="card.present", params=params, label=f"card-{number}")


def _first_cards(terms: Terms) -> Iterator[Call]:
    first = terms.asked[0]
    for kind in terms.asked:
        yield _present(terms, kind)
    if terms.claimed(Capability.INDEPENDENT):
        yield _present(terms, first, revision_independent=True)
    if terms.claimed(Capability.BLOCKING):
        yield _present(terms, first, blocking=False)
    yield _present(terms, first, payload={**terms.payload(first), "options": []})
    if terms.claimed(Capability.FOR_REVISION):
        for revision in ({**CURRENT_REVISION, "plus": 1}, FIRST_REVISION):
            yield _present(terms, first, for_revision=revision)


def _second_cards(world: World, card: Interaction, terms: Terms) -> Iterator[Call]:
    """Cards that come when there is one: beside it, or wanting its place, which it holds, gives up or has left (I5)."""
    first = terms.asked[0]
    if card.status is InteractionStatus.ACTIVE and _is_as_presented(world, card) and not world.commands:
        yield _present(terms, first, number=2, blocking=False)
    for asked in (Capability.REFUSE, Capability.REPLACE):
        if terms.claimed(Capability.BLOCKING, asked):
            yield _present(terms, first, number=2, on_occupied=asked.value)
            if terms.claimed(Capability.OWNERS):
                elsewhere = ELSEWHERE["conversation"]
                yield _present(terms, first, number=2, on_occupied=asked.value, conversation=elsewhere)


def _reads(terms: Terms) -> Iterator[Call]:
    methods = ["card.get", *(["state.export"] if terms.claimed(Capability.SNAPSHOT) else [])]
    people = [STRANGER, ELSEWHERE] if terms.claimed(Capability.OWNERS) else []
    for method in methods:
        yield Call(operation=method, params={**OWNER, "card": {"$unlike": f"{LABEL}/card/id"}})
        for somebody in (OWNER, *people):
            yield Call(operation=method, params={**somebody, "card": {"$ref": f"{LABEL}/card/id"}})


# ---- Answers --------------------------------------------------------------------------------------------------------


@frozen
class _Answer:
    """Makes the answers to one card."""

    card: Interaction
    command: str

    def right(self, option: InteractionOption) -> dict[str, object]:
        """The response that chooses an option as it should be."""
        sets = self.card.kind is InteractionKind.MULTI_SELECT
        chosen: dict[str, object] = {"option_ids": [option.id]} if sets else {"option_id": option.id}
        text = {"freeform_input": "Why not"} if option.freeform.kind is FreeformKind.REQUIRED else {}
        return {"interaction_id": {"$ref": f"{LABEL}/card/id"}, **chosen, **self.revision(), **text}

    def revision(self) -> dict[str, object]:
        """The revision that the card is answered for: the current one, where it is bound to none."""
        bound: Mapping[str, object] = {"$ref": f"{LABEL}/card/case_revision", "else": 1}
        return {"expected_case_revision": CURRENT_REVISION if self.card.case_revision is None else bound}

    def sent(self, response: Mapping[str, object], somebody: Mapping[str, object] = OWNER) -> Call:
        """The call that sends a response."""
        return Call(operation="card.respond", params={**somebody, "response": response}, label=self.command)


def _answers(world: World, card: Interaction, terms: Terms) -> Iterator[Call]:
    """Answer a card, rightly with each of its actions and wrongly in every way."""
    answer = _answer_to(world, card)
    yield from _right_answers(world, card)
    if terms.claimed(Capability.DISMISS):
        yield _dismissal(answer)
    if card.case_revision is not None and len(world.commands) < MOST_COMMANDS:
        yield from _wrong_answers(world, answer, answer.right(_distinct(card)[0]), terms)
        yield from _reads(terms)


def _answer_to(world: World, card: Interaction) -> _Answer:
    return _Answer(card, f"answer-{len(world.commands) + 1}")


def _right_answers(world: World, card: Interaction) -> Iterator[Call]:
    """Choose each action once, or none, one and several options of a set; a second command follows one that was given back."""
    answer, options = _answer_to(world, card), _distinct(card)
    if card.kind is InteractionKind.MULTI_SELECT:
        for count in range(len(options) + 1):
            yield answer.sent({**answer.right(options[0]), "option_ids": [each.id for each in options[:count]]})
        return
    ends = [each.settlement for each in world.commands]
    may_run = card.status is not InteractionStatus.ACTIVE or ends in ([], [GIVEN_BACK])
    if card.status is not InteractionStatus.ACTIVE:
        options = tuple(each for each in options if each.id in _one_a_class(card))
    for option in options:
        if may_run or option.action.action_class is not ActionClass.AUTHORISES:
            yield answer.sent(answer.right(option))


def _wrong_answers(world: World, answer: _Answer, right: Mapping[str, object], terms: Terms) -> Iterator[Call]:
    card = answer.card
    yield answer.sent({})
    yield answer.sent({"interaction_id": right["interaction_id"]})
    nobodys = {"$unlike": f"{LABEL}/card/id"}
    nothing = {"option_ids": ["no_such_option"]} if "option_ids" in right else {"option_id": "no_such_option"}
    yield answer.sent({**right, "interaction_id": nobodys})
    yield answer.sent({**right, **nothing})
    wrong: list[tuple[Mapping[str, object], Mapping[str, object]]] = [(OWNER, {"card": nobodys})]
    if terms.claimed(Capability.OWNERS):
        yield answer.sent(right, STRANGER)
        yield answer.sent(right, ELSEWHERE)
        wrong += [(STRANGER, {}), (ELSEWHERE, {})]
    if terms.claimed(Capability.REVISIONS):
        for revision in _wrong_revisions(world, card):
            changed = {"expected_case_revision": revision}
            yield answer.sent({name: each for name, each in {**right, **changed}.items() if each is not None})
            wrong.append((OWNER, changed))
    if terms.claimed(Capability.FREEFORM) and card.kind is not InteractionKind.MULTI_SELECT:
        yield from _wrong_texts(answer, card)
    if terms.claimed(Capability.DISMISS):
        yield from (_dismissal(answer, somebody, changes) for somebody, changes in wrong)


def _wrong_revisions(world: World, card: Interaction) -> Iterator[object]:
    """None at all, a later and an earlier one than its own, and the current one where the card is bound to another."""
    yield None
    yield {**CURRENT_REVISION, "plus": 1}
    yield FIRST_REVISION
    if card.case_revision != world.revision(CASE):
        yield CURRENT_REVISION


def _dismissal(answer: _Answer, somebody: Mapping[str, object] = OWNER, changes: Mapping[str, object] = {}) -> Call:
    usual = {"card": {"$ref": f"{LABEL}/card/id"}, **answer.revision()}
    params = {name: each for name, each in {**somebody, **usual, **changes}.items() if each is not None}
    return Call(operation="card.dismiss", params=params)


def _distinct(card: Interaction) -> tuple[InteractionOption, ...]:
    """One option for each kind of stored action, the first; of a set, its first two."""
    options = card.payload.options
    if card.kind is InteractionKind.MULTI_SELECT:
        return options[:2]
    first = {each.action.kind: each for each in options[::-1]}
    return tuple(each for each in options if first[each.action.kind] is each)


def _one_a_class(card: Interaction) -> tuple[str, ...]:
    """The first option of each class of action: of a card that has ended, the others would show nothing new."""
    return tuple({each.action.action_class: each.id for each in _distinct(card)[::-1]}.values())


def _wrong_texts(answer: _Answer, card: Interaction) -> Iterator[Call]:
    texts = {each.freeform.kind: each for each in card.payload.options}
    if FreeformKind.FORBIDDEN in texts:
        yield answer.sent({**answer.right(texts[FreeformKind.FORBIDDEN]), "freeform_input": "Why not"})
    if FreeformKind.REQUIRED in texts:
        right = answer.right(texts[FreeformKind.REQUIRED])
        yield answer.sent({**right, "freeform_input": None})
        yield answer.sent({**right, "freeform_input": "x" * (LONGEST_TEXT + 1)})


# ---- Commands -------------------------------------------------------------------------------------------------------


def _commands(world: World, card: Interaction, terms: Terms) -> Iterator[Call]:
    if not terms.claimed(Capability.DEFERRED):
        if card.status is InteractionStatus.ACTIVE and not world.commands and world.next_settlement == Settlement():
            for result, policy in _ENDS:
                yield Call(operation="command.next", params={"result": result, "on_failure": policy})
        return
    if world.commands:
        yield _settle({"$unlike": "answer-1/command"}, "committed", "record")
    for number in range(1, len(world.commands) + 1):
        for result, policy in _ENDS:
            yield _settle({"$ref": f"answer-{number}/command"}, result, policy)


def _settle(command: Mapping[str, object], result: str, policy: str) -> Call:
    return Call(operation="command.settle", params={"command": command, "result": result, "on_failure": policy})
