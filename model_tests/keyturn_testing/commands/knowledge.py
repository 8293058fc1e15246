"""`keyturn list` and `keyturn explain`: what there is, and what each thing means.

Both read the declarations themselves (the catalogue, the operations, the scenarios, the mutants), so that nothing is said
here that could become stale. Each kind of thing has one function in a table.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import click
from attrs import NOTHING, fields
from click.shell_completion import CompletionItem

from keyturn_testing.commands.options import FORMATS, examples, format_option

if TYPE_CHECKING:
    from keyturn_specs.scenario import ScenarioStep

Entries: TypeAlias = list[dict[str, object]]


# ---- Everything that can be listed ----------------------------------------------------------------------------------


def _requirements() -> Entries:
    from keyturn_specs.catalogue import REQUIREMENTS

    return [
        {"id": each.id, "says": each.says, "family": each.family.value, "needs": sorted(each.needs)}
        for each in REQUIREMENTS
    ]


def _scenarios() -> Entries:
    from keyturn_specs.scenario import scenarios

    return [
        {"name": each.name, "says": each.says, "witnesses": list(each.witnesses), "needs": sorted(each.claims)}
        for each in scenarios()
    ]


def _systems() -> Entries:
    from keyturn_testing.systems.adapters import ADAPTERS

    return [{"name": each.form, "says": each.says, "example": each.example} for each in ADAPTERS.values()]


def _capabilities() -> Entries:
    from keyturn.capabilities import ADDS

    return [{"name": each.value, "says": says} for each, says in ADDS.items()]


def _mutants() -> Entries:
    from keyturn_testing.mutants import MUTANTS
    from keyturn_testing.mutants.durable import DURABLE_MUTANTS, SECTION

    in_memory: Entries = [
        {"name": each.name, "says": each.fault, "breaks": list(each.breaks)} for each in MUTANTS.values()
    ]
    durable: Entries = [
        {
            "name": each.name,
            "says": each.fault,
            "breaks": list(each.breaks),
            "found_by": each.found_by,
            "section": SECTION,
        }
        for each in DURABLE_MUTANTS.values()
    ]
    return [*in_memory, *durable]


_LISTS: Mapping[str, Callable[[], Entries]] = {
    "requirements": _requirements,
    "scenarios": _scenarios,
    "systems": _systems,
    "capabilities": _capabilities,
    "mutants": _mutants,
}


@click.command(
    "list", epilog=examples("keyturn list requirements", "keyturn list systems", "keyturn list mutants --format json")
)
@click.argument("things", type=click.Choice(tuple(_LISTS)), metavar="THINGS")
@format_option(*FORMATS)
def list_things(things: str, style: str) -> int:
    """List what keyturn knows: each thing with its name and one sentence.

    THINGS is requirements, scenarios, systems, capabilities or mutants.
    """
    from keyturn_testing.files import say
    from keyturn_testing.reports.page import page_for_stdout

    entries = _LISTS[things]()
    if style == "json":
        say(json.dumps(entries, indent=2) + "\n")
        return 0
    page = page_for_stdout()
    names = [str(each.get("id") or each["name"]) for each in entries]
    column = min(max(map(len, names), default=0), page.width // 3)
    section: object = None
    for name, each in zip(names, entries, strict=True):
        if each.get("section") != section:
            section = each["section"]
            page.paragraph(f"{section}:", style="bold")
        if len(name) > column:
            page.paragraph(name)
        page.paragraph(str(each["says"]), first=f"{name if len(name) <= column else '':<{column}}  ")
        if "example" in each:
            page.paragraph(f"such as {each['example']}", indent=column + 2)
    say(page.text())
    return 0


# ---- Everything that can be explained -------------------------------------------------------------------------------

Explanation: TypeAlias = list[tuple[str, str]]
"""The parts of an explanation: a word for each, and what it says."""


def _explain_requirement(name: str) -> Explanation:
    from keyturn_specs.catalogue import BY_ID
    from keyturn_specs.requirement import ByBranch, ByRace
    from keyturn_specs.scenario import scenarios
    from keyturn_testing.mutants.durable import ALL_MUTANTS

    requirement = BY_ID[name]
    judge = requirement.judged_by
    if isinstance(judge, ByBranch):
        areas = ", ".join(sorted(judge.concerns))
        how = f"by the model: a system that differs in {areas} where a branch of the model demands {name} breaks it"
    elif isinstance(judge, ByRace):
        how = "by the orders of calls that overlap: one of them must explain every answer, and what can be read afterwards"
    else:
        how = "by a rule over what was observed before and after each operation, without the model"
    witnesses = [each.name for each in scenarios() if name in each.witnesses]
    mutants = [each.name for each in ALL_MUTANTS.values() if name in each.breaks]
    return [
        (name, requirement.says),
        ("why", requirement.why),
        ("source", requirement.source),
        ("needs", ", ".join(sorted(requirement.needs))),
        ("judged", how),
        ("witnesses", ", ".join(witnesses) or "none yet"),
        ("mutants", ", ".join(mutants) or "none yet"),
    ]


def _explain_capability(name: str) -> Explanation:
    from keyturn.capabilities import ADDS, Capability
    from keyturn.operations import OPERATIONS
    from keyturn_specs.catalogue import REQUIREMENTS

    capability = Capability(name)
    operations = [each.method for each in OPERATIONS if each.needs is capability]
    requirements = [each.id for each in REQUIREMENTS if capability in each.needs]
    return [
        (name, f"a capability: {ADDS[capability]}"),
        ("operations", ", ".join(operations) or "none of its own"),
        ("judged", ", ".join(requirements) or "no requirement needs it by itself"),
    ]


def _explain_operation(name: str) -> Explanation:
    from keyturn.operations import BY_METHOD

    operation = BY_METHOD[name]
    params = [each.name if each.default is NOTHING else f"{each.name}?" for each in fields(operation)]
    results = [getattr(each, "outcome", None) or _shape(each) for each in operation.results]
    return [
        (name, f"an operation: {(operation.__doc__ or '').strip()}"),
        ("needs", f"`{operation.needs}`"),
        ("changes", "yes" if operation.changes else "nothing, it only reads"),
        ("params", ", ".join(params) or "none"),
        ("answers", ", ".join(results)),
    ]


def _shape(result: type) -> str:
    return "{" + ", ".join(each.name for each in fields(result)) + "}"


def _explain_mutant(name: str) -> Explanation:
    from keyturn_testing.mutants.durable import ALL_MUTANTS, NEEDS_IN_WORDS, DurableMutant

    mutant = ALL_MUTANTS[name]
    seen = [("seen", NEEDS_IN_WORDS[mutant.found_by])] if isinstance(mutant, DurableMutant) else []
    return [
        (name, f"a mutant: {mutant.fault}"),
        ("breaks", ", ".join(mutant.breaks)),
        *seen,
        ("ask it", f"keyturn check mutant:{name} --profile quick"),
    ]


def _explain_scenario(name: str) -> Explanation:
    from keyturn_specs.scenario import scenarios

    scenario = next(each for each in scenarios() if each.name == name)
    return [
        (name, f"a scenario: {scenario.says}"),
        ("witnesses", ", ".join(scenario.witnesses)),
        ("needs", ", ".join(sorted(scenario.claims))),
        ("steps", ", ".join(map(_step, scenario.steps))),
    ]


def _step(step: "ScenarioStep") -> str:
    return step.operation if step.lane is None else f"{step.operation} (lane {step.lane})"


def _known() -> dict[str, list[Callable[[str], Explanation]]]:
    """Everything that has an explanation, by its name; a capability and an operation may share theirs."""
    from keyturn.capabilities import Capability
    from keyturn.operations import BY_METHOD
    from keyturn_specs.catalogue import BY_ID
    from keyturn_specs.scenario import scenarios
    from keyturn_testing.mutants.durable import ALL_MUTANTS

    known: dict[str, list[Callable[[str], Explanation]]] = {}
    for names, explain_one in (
        (BY_ID, _explain_requirement),
        ([each.value for each in Capability], _explain_capability),
        (BY_METHOD, _explain_operation),
        ([each.name for each in scenarios()], _explain_scenario),
        (ALL_MUTANTS, _explain_mutant),
    ):
        for name in names:
            known.setdefault(name, []).append(explain_one)
    return known


def _complete_name(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(each) for each in _known() if each.startswith(incomplete)]


@click.command(epilog=examples("keyturn explain I14.1", "keyturn explain card.respond", "keyturn explain ledger"))
@click.argument("name", metavar="ID", shell_complete=_complete_name)
def explain(name: str) -> int:
    """Explain ID: a requirement, a capability, an operation, a scenario or a mutant."""
    from keyturn_testing.files import say
    from keyturn_testing.reports.page import page_for_stdout
    from keyturn_testing.wording import escaped, nearest

    known = _known()
    found = next((each for each in known if each.casefold() == name.casefold()), None)
    if found is None:
        what = "no requirement, capability, operation, scenario or mutant of this version"
        raise click.UsageError(
            f"{escaped(name, 60)!r} is {what}. {nearest(name, known)}`keyturn list` shows what there is."
        )
    page = page_for_stdout()
    for explain_one in known[found]:
        (title, says), *parts = explain_one(found)
        page.paragraph(f"{title}: {says}", style="bold")
        for word, text in parts:
            page.paragraph(text, first=f"{word:<11} ", indent=2)
    say(page.text())
    return 0
