"""The pages of the requirements, of the scenarios that witness them, and of the mutants that show that they bite."""

from collections.abc import Mapping
from itertools import groupby
from typing import cast

from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_specs.requirement import Area, ByBranch, ByRace, Family, Requirement
from keyturn_specs.scenario import Scenario, ScenarioStep, scenarios
from keyturn_testing.mutants import MUTANTS, Mutant
from keyturn_testing.mutants.durable import ALL_MUTANTS, DURABLE_MUTANTS, NEEDS_IN_WORDS, SECTION, DurableMutant
from keyturn_testing.reference_pages.markdown import code, codes, link, page, table

FAMILIES: Mapping[Family, tuple[str, str]] = {
    Family.LIFECYCLE: ("lifecycle", "what a status may become, and what it stands for"),
    Family.ONE_QUESTION: ("one question", "a case has at most one blocking card that is open"),
    Family.STORED_FIRST: ("stored first", "a card exists before anything mentions it, and outlives the process"),
    Family.SERVERS_MEANING: ("the server's meaning", "what an answer does is what the server stored"),
    Family.FRESH: ("fresh", "a card is bound to the revision that its content was made from"),
    Family.ONCE: ("once", "a decision takes effect at most one time, and asking again is harmless"),
    Family.CLOSED: ("closed", "a check that fails lets nothing through, and tells a stranger nothing"),
    Family.ANSWERED: ("answered", "a right answer is taken"),
    Family.EVIDENCE: ("evidence", "the ledger tells what happened, whole and in order"),
}
"""The short name of each family, and what it is about."""

_INTRODUCTION = """\
A requirement is one sentence that must hold. A system is held to those whose capabilities it claims. Each is judged in one
place: *by the model*, when the model admits no outcome like the one that came, or *by an invariant*, a function of what could
be read before and after the step. A *witness* is a scenario that exercises the requirement, and a *mutant* is a system that is
wrong in one way only and is caught by the requirement's id.

One more, E4, is about the kernel of Keyturn alone, and the kernel's own tests hold it: two runs with the same inputs, ids and
clock give the same ledger, byte for byte."""


def requirements_page() -> str:
    """Return `requirements.md`: every requirement, by family."""
    rows = [(_linked(each.id), each.says) for each in REQUIREMENTS]
    parts = [_INTRODUCTION, table(("id", "what must hold"), rows)]
    for family, members in groupby(REQUIREMENTS, key=lambda each: each.family):
        name, about = FAMILIES[family]
        parts += [f"## {family}: {name}", f"In short: {about}.", *map(_requirement, members)]
    return page("Requirements", *parts)


def _linked(requirement: str) -> str:
    return link(requirement, requirement, "requirements.md")


def _requirement(requirement: Requirement) -> str:
    witnesses = [each.name for each in scenarios() if requirement.id in each.witnesses]
    mutants = [each.name for each in ALL_MUTANTS.values() if requirement.id in each.breaks]
    facts = (
        ("Why", requirement.why),
        ("Source", requirement.source),
        ("Needs", codes(sorted(requirement.needs))),
        ("Judged", _judged(requirement)),
        ("Witnesses", ", ".join(link(each, each, "scenarios.md") for each in witnesses) or "none"),
        ("Mutants", ", ".join(link(each, each, "mutants.md") for each in mutants) or "none"),
    )
    return "\n\n".join(
        (f"### {requirement.id}", requirement.says, "\n".join(f"- **{name}:** {fact}" for name, fact in facts))
    )


def _judged(requirement: Requirement) -> str:
    if isinstance(requirement.judged_by, ByBranch):
        areas = [each.value for each in Area if each in requirement.judged_by.concerns]
        return f"by the model, in: {', '.join(areas)}"
    if isinstance(requirement.judged_by, ByRace):
        return "by the orders of calls that overlap"
    return "by an invariant, also where calls overlap" if requirement.judged_by.of_many else "by an invariant"


def scenarios_page() -> str:
    """Return `scenarios.md`: every scenario, with what is admissible at each of its steps."""
    introduction = (
        "A scenario is a fixed trace. It runs against every system that claims what it needs, before any step is generated. "
        "Each is a JSON file in `specs/keyturn_specs/scenarios`, with the parameters of each step and the whole of each "
        "admissible answer; the model writes the answers. Here an answer is named by its outcome, and by its code. Steps with a "
        "lane overlap those of the other lanes, and what is admissible there is so in some order of them."
    )
    return page("Scenarios", introduction, *map(_scenario, scenarios()))


def _scenario(scenario: Scenario) -> str:
    witnesses = ", ".join(map(_linked, scenario.witnesses))
    rows = [
        (_place(number, each), code(each.operation), _answers(each)) for number, each in enumerate(scenario.steps, 1)
    ]
    facts = f"- **Witnesses:** {witnesses}\n- **Needs:** {codes(scenario.claims)}"
    return "\n\n".join((f"## {scenario.name}", scenario.says, facts, table(("step", "operation", "admissible"), rows)))


def _place(number: int, step: ScenarioStep) -> str:
    """Where a step stands: its number, and its lane where it overlaps those of others."""
    return str(number) if step.lane is None else f"{number}, lane {step.lane}"


def _answers(step: ScenarioStep) -> str:
    return " or ".join(dict.fromkeys(_answer(cast(Mapping[str, object], each)) for each in step.admissible))


def _answer(answer: Mapping[str, object]) -> str:
    if "outcome" in answer:
        reason = f" ({code(str(answer['code']))})" if "code" in answer else ""
        return f"{code(str(answer['outcome']))}{reason}"
    return ", ".join(f"{name} {_value(each)}" for name, each in answer.items()) or "done"


def _value(value: object) -> str:
    return str(len(value)) if isinstance(value, list | tuple) else str(value)


_DURABLE = """\
These stand on a real database, a file or a schema, and are wrong in how they use it: in what is one transaction, and in what
survives a process. A client who asks alone, while nothing breaks, gets the answers of the SQL store. They describe themselves
like it, and with `:disarmed` they are it. `mutant:NAME` has its file in the folder of the run, and processes of
`keyturn serve mutant:NAME --stdio` with the same KEYTURN_DATA share one."""


def mutants_page() -> str:
    """Return `mutants.md`: every mutant, with its fault and the requirements that catch it."""
    introduction = (
        "A mutant is a store that is wrong in exactly one way. It describes itself like the reference store, and with "
        "`:disarmed` after its name it is the reference store. The project's own tests hold that the suite finds each of them "
        "by the ids named here. `keyturn check mutant:NAME` shows what that looks like."
    )
    rows = [(link(each.name, each.name), _caught_by(each)) for each in MUTANTS.values()]
    durable = [(link(each.name, each.name), each.found_by, _caught_by(each)) for each in DURABLE_MUTANTS.values()]
    return page(
        "Mutants",
        introduction,
        table(("mutant", "caught by"), rows),
        *map(_mutant, MUTANTS.values()),
        f"## {SECTION}",
        _DURABLE,
        table(("mutant", "found by", "breaks"), durable),
        *map(_durable_mutant, DURABLE_MUTANTS.values()),
    )


def _caught_by(mutant: Mutant | DurableMutant) -> str:
    return ", ".join(map(_linked, mutant.breaks))


def _mutant(mutant: Mutant) -> str:
    facts = f"Caught by {_caught_by(mutant)}. See it: `keyturn check mutant:{mutant.name}`"
    return "\n\n".join((f"## {mutant.name}", mutant.fault, facts))


def _durable_mutant(mutant: DurableMutant) -> str:
    facts = f"Breaks {_caught_by(mutant)}. What must happen for it to be seen: {NEEDS_IN_WORDS[mutant.found_by]}."
    return "\n\n".join((f"### {mutant.name}", mutant.fault, facts))
