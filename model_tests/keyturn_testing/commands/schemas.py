"""`keyturn schema`: the shape of requests and results, for people in words and for tools as JSON Schema.

Both are the one schema that the package ships and the suite holds both sides to. The words are made from it by a table: a
property that may be left out has a question mark, and null is not mentioned, because it is the same as absent.
"""

import json
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import click
from click.shell_completion import CompletionItem

from keyturn_testing.commands.options import examples, format_option

Part: TypeAlias = Mapping[str, object]
"""A JSON Schema, or a part of one."""


def _methods() -> tuple[str, ...]:
    from keyturn.handshake import Description
    from keyturn.operations import BY_METHOD

    return (Description.method, *BY_METHOD)


def _complete_method(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(each) for each in _methods() if each.startswith(incomplete)]


@click.command(
    epilog=examples("keyturn schema card.respond", "keyturn schema --format json > keyturn-protocol.schema.json")
)
@click.argument("method", metavar="[METHOD]", required=False, shell_complete=_complete_method)
@format_option("text", "json")
def schema(method: str | None, style: str) -> int:
    """Show the schema of METHOD, such as card.respond: what it takes, and what it may answer. All of them without METHOD.

    With `--format json` it is a JSON Schema (draft 2020-12); METHOD.params and METHOD.result are among its $defs.
    """
    from keyturn_specs.schemas import protocol_schema, schema_of, written
    from keyturn_testing.files import say
    from keyturn_testing.reports.page import page_for_stdout
    from keyturn_testing.wording import escaped, nearest

    if method is not None and method not in _methods():
        raise click.UsageError(
            f"{escaped(method, 60)!r} is no method of this version. {nearest(method, _methods())}"
            "`keyturn schema` shows them all."
        )
    shown = protocol_schema() if method is None else schema_of(method)
    if style == "json":
        say(written(shown))
        return 0
    page = page_for_stdout()
    for name, definition in cast(Mapping[str, Part], shown["$defs"]).items():
        said = definition.get("description")
        page.paragraph(name if said is None else f"{name}: {said}", style="bold")
        page.paragraph(in_words(definition), indent=2)
    say(page.text())
    return 0


def in_words(part: Part) -> str:
    """Return a schema as people write a shape: `{id: CardId, body?: string, options: [OptionView]}`."""
    written = next((write for keyword, write in _WORDS.items() if keyword in part), None)
    return "any JSON value" if written is None else written(part)


def _of_type(part: Part) -> str:
    kind = part["type"]
    if kind == "array":
        return f"[{in_words(cast(Part, part['items']))}]"
    if kind == "object":
        return _object(part)
    return str(kind) if isinstance(kind, str) else " or ".join(each for each in cast(list[str], kind) if each != "null")


def _object(part: Part) -> str:
    if "additionalProperties" in part:
        return f"{{any name: {in_words(cast(Part, part['additionalProperties']))}}}"
    required = cast(list[str], part.get("required", []))
    properties = cast(Mapping[str, Part], part.get("properties", {}))
    shown = ((name, each) for name, each in properties.items() if each.get("type") != "null")
    return "{" + ", ".join(f"{name}{'' if name in required else '?'}: {in_words(each)}" for name, each in shown) + "}"


def _union(part: Part) -> str:
    members = cast(list[Part], part.get("oneOf") or part["anyOf"])
    return " or ".join(in_words(each) for each in members if each.get("type") != "null")


_WORDS: Mapping[str, Callable[[Part], str]] = {
    "$ref": lambda part: str(part["$ref"]).rpartition("/")[2],
    "const": lambda part: json.dumps(part["const"]),
    "enum": lambda part: " | ".join(map(json.dumps, cast(list[str], part["enum"]))),
    "oneOf": _union,
    "anyOf": _union,
    "not": lambda part: "any JSON value but null",
    "format": lambda part: "a date-time of RFC 3339, as text",
    "type": _of_type,
}
"""How each keyword is written; the first that a schema has decides."""
