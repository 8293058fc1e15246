"""The page of the protocol: every operation and every record that crosses, read off their declarations.

What a declaration cannot say (how data travels, and what an answer means) is prose here, and it holds for every operation.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from types import NoneType, UnionType
from typing import Literal, Union, get_args, get_origin

from attrs import NOTHING, Attribute, fields, has, resolve_types

from keyturn.answerability import NEEDS_OF_KIND, OPTION_NEEDS
from keyturn.capabilities import ADDS, Capability
from keyturn.cards import ActionClass, StoredAction
from keyturn.handshake import NEVER_UNCLAIMED, PROTOCOL, Description, Offers, SystemName
from keyturn.operations import OPERATIONS, Operation
from keyturn.responses import FailureCode, RefusalCode, Response
from keyturn.status import InteractionEvent, InteractionStatus
from keyturn.values import Document, Instant, Revision, Untrusted
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS
from keyturn_specs.schemas import FILE
from keyturn_testing.reference_pages.breaking import breaking_parts
from keyturn_testing.reference_pages.markdown import code, codes, link, page, table

_WAYS = """\
## How it travels

The same operations are asked in three ways, and mean the same in all of them.

**In process.** A Python object has one method for each operation: the operation's name with an underscore, so `card_present`
for `card.present`. It takes keyword arguments and returns a mapping, or an attrs value of the same fields, at once or as an
awaitable. `keyturn.port.Port` is the whole list as a `typing.Protocol`. What the object does not offer it leaves out, or
raises `keyturn.errors.Unsupported`. `keyturn.errors.OperationFailed(message, definite=...)` says that an operation failed.
Any other exception is a crash of the system. `restart` is a method like the others. `close`, if there is one, is called at the
end. Where `parallel` is claimed, a synchronous object is called from several threads: the same one, or those that its method
`beside` returns, on the same data. An object that says `takes_turns = True` is called by one thread at a time.

**Over stdio.** The system is a command. It reads JSON-RPC 2.0 requests from its standard input and writes one answer to each,
in order, to its standard output: one JSON object in UTF-8 on each line. Standard error is its own log, and its end is shown
with a breakdown. One request is sent at a time, with its parameters by name and an integer as its `id`.

- `KEYTURN_DATA` in its environment names a folder of this run, empty at first. What must survive a restart belongs there.
- Where `parallel` is claimed, several processes of the same command run at once with the same folder.
- `KEYTURN_PHASE` names a file of 32 bytes. A process may map it into its memory and write there how far it is, as one word
  filled up with spaces; [the report of crashes](../guide/races-and-crashes.md) then counts by these words.
- `restart` is never sent. The process is killed (SIGKILL) with all that it started, and the same command is started again
  with the same folder.
- The end of its input asks the process to end. Two seconds later it is killed.
- An answer has `"jsonrpc": "2.0"`, the `id` of its request, and exactly one of `result` and `error`.
- A line has at most 8 MiB. JSON nests at most 200 deep, has no name twice in one object, and no number out of range.

**Over HTTP.** The system is a server, and its URL is the adapter: `http://HOST:PORT/PATH`, or `https://`. Each request is a
`POST` of one such object, as `application/json`, and is answered with status 200 and one such object, errors of the conversation
too.

- Any other status, a redirect, a `Content-Encoding` and more bytes than were announced break the conversation down.
- One connection is kept alive, and one request is sent at a time; where `parallel` is claimed, several connections at once.
  The server may close a connection between two calls. A request whose answer is lost is never sent again.
- A server that ends, resets or closes the connection in the middle of a call has crashed.
- `restart` is a call like the others, also after a crash, and is answered when the system is there again on its data. For as
  long as a call may take, the suite tries to reach it.
- The bearer token in `KEYTURN_TOKEN`, if there is one, is sent in the header `Authorization`.
- `GET /openrpc.json` of `keyturn serve SYSTEM --http` describes all of this to tools that read OpenRPC."""

_RULES = """\
## Rules

- **A refusal is a result.** `{"outcome": "rejected", "code": ...}` is never an error of the conversation.
- **An error is about the conversation.** `-32601` says that the system does not have this method. `-32000` with
  `{"definite": true}` or `{"definite": false}` as its `data` says that the operation failed. Not definite means that it may
  still have happened, and then both are admissible. A definite failure where an outcome is due is a violation. Every other
  error, garbage, a crash and silence end the conversation, and the report says which it was.
- **Silence has a limit.** A call is answered within the time limit of the run, 10 seconds unless it is set.
- **Absent and null are the same** in what a system answers. Fields that this page does not name are ignored.
- **Ids are opaque strings** that the system chooses, each given out once. The suite binds each to the model's on first sight
  and holds it to that.
- **Revisions are integers from 1** that grow with every committed change, and not necessarily by one.
- **Times** are written as RFC 3339 with an offset, and compared to the millisecond. Without the capability `clock` they are
  not compared.
- **Accounts, conversations, workflows, cases and option ids** compare exactly.
- **Between two steps everything is read**: `case.open` for the revision of each case that is open (opening again changes
  nothing; a closed case is left alone), `card.list`, `card.get` for every card that was ever offered, `effects`, `ledger`
  and `metrics`, as far as they are claimed. A system sees these reads as calls like any other.
- **Each example begins with `reset`**, and no two examples may see each other's data."""

_SCHEMAS = f"""\
## Schemas

[`{FILE}`](../../specs/keyturn_specs/{FILE}) ships with the package: one JSON Schema (draft 2020-12) of
every request and result on this page, derived from the same declarations. What METHOD takes is `$defs/METHOD.params` in it, and
what it answers is `$defs/METHOD.result`. `keyturn schema METHOD` shows one method in words, and with `--format json` as a schema
of its own.

The suite holds both sides to it. An answer that breaks its schema is the system's fault: the run ends there, and the report says
at which path, what stands there, and what was expected. A request that breaks its own is the suite's fault, and is never sent.

- Objects may carry further fields. A property that is not required may be null, which is the same as absent.
- `1.0` is an integer. `true` is none.
- A JSON value holds no integer past 2^53 - 1, and no lone surrogate. A day that its month does not have is no time. No
  schema says so, and the suite refuses it all the same."""

_HANDSHAKE = """\
`describe` takes nothing. What it answers binds the system: what is claimed becomes mandatory, and what is not claimed is
reported as *not claimed* and never as passed. `not_claimed` takes single requirements out, each with its reason; NEVER cannot
be taken out. `offers` narrows which kinds and stored actions the suite may use. `"environment": "test"` says that `reset` may
wipe this system; without it the suite stops before the first `reset`. An unknown capability, or a `protocol` that is newer than
the suite's, is said before anything is judged."""

_GATE = """\
## What a response gets

The checks of `card.respond` come in this order: shape, ownership, status, expiry, option, revision, integrity, free text. A
system that claims `ordered_checks` answers with the first that fails. Any other may name any check that really fails, but shape
and ownership always come first.

A response that nests more than 64 deep, has more than 64 KiB, or holds U+0000 or a lone surrogate need not be read: an error of
the conversation (-32700, -32600, -32602 or -32000) is as good as `malformed`, and the system goes on.

| situation | outcome |
| --- | --- |
| not a well-formed response | `rejected` (`malformed`) |
| an unknown card, or one of another account or conversation | `rejected` (`not_found`) |
| the card is Resolved | `replayed` with the original result; without `replay` also `rejected` (`not_answerable`) |
| the card is Resolving | `in_flight` with its command |
| the card is Declined, Dismissed, Invalidated, Expired or Failed | `rejected` (`not_answerable`, or `expired` when it \
is Expired); a Declined or Dismissed card may answer the option that it was closed with by its original result |
| Active past its deadline | `rejected` (`expired`); the card may become Expired at once |
| the option is not stored on the card | `rejected` (`unknown_option`) |
| `expected_case_revision` or the case is not at the bound revision | `rejected` (`stale_revision`); when the case moved, the \
card may become Invalidated at once |
| something that a check needs cannot be read, or is not what was written | `rejected` (`unverifiable`) |
| free text against the option's policy | `rejected` (`freeform_forbidden`, `freeform_required` or `freeform_too_long`) |
| everything holds, and the option authorises | `accepted`; without `deferred` at once `resolved`, `failed` or `restored` |
| the write itself failed | `rejected` (`unavailable`), and nothing happened |
| everything holds, and the option answers, declines or dismisses | `resolved`, `declined` or `dismissed` |

An empty id, a revision out of range, `1.0` for 1 and fields that are not known may be taken as they are or refused as
`malformed`. Blank text (only Unicode White_Space) is no text; where text is forbidden it may be ignored or refused. A refusal
changes nothing beyond what this table names. `not_answerable` may come with `current_card`: the open blocking card of the case,
if the asker owns it. A second answer to a Resolved card is never `stale_revision` or `expired`, because its own commit moved the
case. A commit, and a recorded decline, raise the revision of the case and invalidate its other Active cards that are bound to an
older one.

`card.dismiss` follows the same table without option and free text: `dismissed` when everything holds, with a result that has no
option. A card that was dismissed so may answer another dismissal by its original result.

`command.settle` with an unknown command is `not_found`. The same settlement again gets the first reply again, and another one is
a `conflict`. `committed` on a case that moved after the answer was taken ends as `failed` or `restored`, with the code
`revision_conflict`; the command of an independent card may commit all the same. `restored` makes the card Active again; when its
case has moved or was closed, it may be Invalidated at once.

`case.close` moves no revision. On a closed case `card.present` is `not_found` until `case.open` opens it again at the revision
that it has; a Resolving card of it can still be settled, and whatever else is asked of it may be `not_found` too."""

_KINDS = """\
## Kinds

`card.present` refuses a card that nobody could answer as `invalid_card`, and writes nothing. It checks in this order: the case
is open (`not_found`), the card is answerable (`invalid_card`), the case is at `for_revision` where a bound card names it
(`stale_revision`), the blocking slot of the case is free (`slot_occupied`). `for_revision` is the revision that the content was
made from; left out, the card is bound to the current one. With `on_occupied` = `replace` an Active occupant is invalidated
instead; a Resolving one never is. This version refuses `multi_select` and does not ask for it."""


class Vocabulary:
    """What the page has to explain: the records and the closed sets of words that fields refer to, in order of first use."""

    def __init__(self) -> None:
        self.records: dict[type, None] = {}
        self.words: dict[type[StrEnum], None] = {}

    def written(self, kind: object) -> str:
        """Return a type in words; records and words become links, and are noted."""
        arguments = [each for each in get_args(kind) if each is not NoneType]
        if get_origin(kind) is Literal:
            return "one of " + codes(map(str, arguments))
        if kind == StoredAction:
            return link("stored action", "Stored actions")
        if get_origin(kind) in (Union, UnionType):
            return " or ".join(map(self.written, arguments))
        if get_origin(kind) is tuple:
            return f"list of {self.written(arguments[0])}"
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            self.words[kind] = None
            return link(kind.__name__, kind.__name__)
        if isinstance(kind, type) and has(kind) and kind is not Document:
            self.records[kind] = None
            return link(kind.__name__, _heading(kind))
        return _PLAIN.get(kind, "") or _of_a_name(kind)

    def fields(self, kind: type) -> str:
        """Return the table of a record's fields; empty when it has none."""
        every: tuple[Attribute[object], ...] = fields(resolve_types(kind))
        rows = [(code(_wire_name(each)), self.written(each.type), _note(each)) for each in every]
        return table(("field", "type", ""), rows) if rows else ""


_PLAIN: dict[object, str] = {
    str: "string",
    bool: "true or false",
    int: "integer",
    float: "number",
    Document: "any JSON value",
    Untrusted: "any JSON value",
    Instant: "time",
    Revision: "revision",
}


def _of_a_name(kind: object) -> str:
    """A mapping, or an id of its own sort: `CardId` is a card id."""
    if get_origin(kind) is not None:
        return "object"
    name = str(getattr(kind, "__name__", "value"))
    return "".join(f" {each.lower()}" if each.isupper() else each for each in name).strip()


def _wire_name(attribute: "Attribute[object]") -> str:
    return str(attribute.metadata.get("wire", attribute.name))


def _note(attribute: "Attribute[object]") -> str:
    notes = []
    if attribute.default is not NOTHING:
        plain = isinstance(attribute.default, str | bool | int)
        default = f" = {code(str(attribute.default))}" if plain else ""
        notes.append(f"may be left out{default}")
    if "unordered" in attribute.metadata:
        notes.append("in any order")
    return ", ".join(notes)


def _heading(kind: type) -> str:
    outcome = getattr(kind, "outcome", None)
    return f"Outcome {outcome}" if isinstance(outcome, str) else f"Record {kind.__name__}"


def _by_number(requirement: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", requirement)]


def _said(text: str | None) -> str:
    """A docstring, with the requirements that it names as links."""
    said = re.sub(r" \(the guide[^)]*\)", "", " ".join((text or "").split()))
    for each in sorted(BY_ID, key=len, reverse=True):
        for before, after in (("(", ")"), ("(", ","), (" ", ")"), (" ", ",")):
            said = said.replace(f"{before}{each}{after}", f"{before}{link(each, each, 'requirements.md')}{after}")
    return said


def protocol_page() -> str:
    """Return `protocol.md`."""
    known = Vocabulary()
    introduction = (
        f"The conformance protocol, version {PROTOCOL}: how the suite talks to a system that it did not write. "
        f"A system answers `describe`, then {len(OPERATIONS)} operations, or as many of them as it claims."
    )
    parts = [
        introduction,
        _WAYS,
        _RULES,
        _SCHEMAS,
        *_handshake(known),
        *_capabilities(),
        *_operations(known),
        *_response(known),
    ]
    parts += [_GATE, *breaking_parts(), *_kinds(), *_actions(known), *_results(known)]
    return page("Protocol", *parts, *_records(known), *_words(known))


def _handshake(known: Vocabulary) -> Iterator[str]:
    yield "## Handshake"
    yield _HANDSHAKE.replace("NEVER", codes(sorted(NEVER_UNCLAIMED, key=_by_number)))
    yield known.fields(Description)
    yield from _record_parts(known, tuple(known.records), set())


def _capabilities() -> Iterator[str]:
    yield "## Capabilities"
    rows = []
    for each in Capability:
        operations = codes((one.method for one in OPERATIONS if one.needs is each), without="")
        judged = [one.id for one in REQUIREMENTS if each in one.needs and each is not Capability.CARDS]
        rows.append((code(each), ADDS[each], operations, ", ".join(link(i, i, "requirements.md") for i in judged)))
    yield table(("capability", "adds", "operations", "requirements that need it"), rows)
    yield "A requirement that no row names needs `cards` only."


def _operations(known: Vocabulary) -> Iterator[str]:
    yield "## Operations"
    for each in OPERATIONS:
        yield f"### {each.method}"
        yield _said(each.__doc__)
        yield known.fields(each) or "It takes nothing."
        reads = "" if each.changes else " It only reads."
        yield f"Needs {code(each.needs)}.{reads} Answers: {_answers(each)}."


def _answers(operation: type[Operation]) -> str:
    return ", ".join(
        link(getattr(each, "outcome", each.__name__), _heading(each)) if fields(each) else "an empty object"
        for each in operation.results
    )


def _response(known: Vocabulary) -> Iterator[str]:
    yield (
        "## What a client may send\n\n"
        "`response` of `card.respond` is whatever a client sent, for the system to read. This is all that counts in it; anything "
        "else is ignored, or refused as `malformed`. `expected_case_revision` may be left out for a card that declares revision "
        "independence, and where `revisions` is not claimed. U+0000 and lone surrogates in a string are `malformed`."
    )
    yield known.fields(Response)


def _kinds() -> Iterator[str]:
    yield _KINDS
    rows = [(code(kind), "; ".join(need.says for need in needs)) for kind, needs in NEEDS_OF_KIND.items()]
    yield table(("kind", "a card of this kind needs"), rows)
    every = ["option ids are unique", *(f"of each option: {says}" for says, _ in OPTION_NEEDS)]
    yield "Every card: " + "; ".join((*every, "a prompt is not blank", "`expires_in` is more than 0")) + "."


def _actions(known: Vocabulary) -> Iterator[str]:
    yield (
        "## Stored actions\n\n"
        "What choosing an option does. A client never sees it and never sends it. Its `kind` says which one it is. "
        "`freeform_argument` is a JSON pointer (RFC 6901) into `arguments`, whose parent exists."
    )
    rows = []
    for each in get_args(StoredAction):
        named = ", ".join(f"{code(_wire_name(one))}: {known.written(one.type)}" for one in fields(resolve_types(each)))
        rows.append((code(each.kind), each.action_class.value, named, _said(each.__doc__)))
    yield table(("kind", "class", "fields", "choosing it"), rows)


def _results(known: Vocabulary) -> Iterator[str]:
    yield "## Results"
    yield "A result that has a name carries it as `outcome`, beside its fields."
    for each in dict.fromkeys(kind for operation in OPERATIONS for kind in operation.results):
        known.records.pop(each, None)
        if fields(each):
            yield f"### {_heading(each)}"
            yield _said(each.__doc__)
            yield known.fields(each)


def _records(known: Vocabulary) -> Iterator[str]:
    yield "## Records"
    done: set[type] = {Offers, SystemName}
    while new := [each for each in known.records if each not in done]:
        yield from _record_parts(known, tuple(new), done)


def _record_parts(known: Vocabulary, kinds: tuple[type, ...], done: set[type]) -> Iterator[str]:
    for each in kinds:
        done.add(each)
        yield f"### {_heading(each)}"
        yield _said(each.__doc__)
        yield known.fields(each)


def _words(known: Vocabulary) -> Iterator[str]:
    yield "## Words"
    yield "Closed sets of words, written on the wire as they are here."
    every: tuple[type[StrEnum], ...] = (
        *known.words,
        InteractionStatus,
        InteractionEvent,
        RefusalCode,
        FailureCode,
        ActionClass,
    )
    for each in dict.fromkeys(every):
        yield f"### {each.__name__}"
        yield _said(each.__doc__)
        yield " · ".join(code(word.value) for word in each)
