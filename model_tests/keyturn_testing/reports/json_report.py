"""The report as JSON, for programs: the schema of the protocol, version 1.

It holds no times and no paths, and its order is fixed, so that the same seed against the same system gives the same bytes
(D10). What a system says of itself is bounded; JSON escapes the rest.
"""

import json
from collections.abc import Container, Mapping

from keyturn.handshake import Description
from keyturn.values import Json
from keyturn.version import VERSION
from keyturn_specs.catalogue import BY_ID
from keyturn_testing.engines.crashes import Kills
from keyturn_testing.engines.races import Tally
from keyturn_testing.record import Profile, Record
from keyturn_testing.reports.covering import coverage_as_json
from keyturn_testing.reports.verdict import Judgement, judgements, listed_in_vain, stale, unattributed, verdict
from keyturn_testing.smoke import Smoke
from keyturn_testing.systems.base import Breakdown

SCHEMA = 1
"""The version of the report's schema."""

LONGEST_NAME = 200
"""How many characters of a system's own name and version are kept."""

MOST_CLAIMS = 100
"""How many claims of an unfit adapter are kept; a fit one has fewer."""

SUITE: Mapping[str, Json] = {"name": "keyturn", "version": VERSION}


def json_report(record: Record, selected: Container[str] = BY_ID) -> dict[str, Json]:
    """Return the report of a run."""
    report: dict[str, Json] = {
        **_head(record.description, record.seed, record.profile),
        "verdict": verdict(record, selected).value,
        "requirements": [_requirement(each) for each in judgements(record, selected)],
        "coverage": coverage_as_json(record),
        "generated": {"examples": record.examples, "steps": record.counts.steps, "digest": record.digest},
    }
    if record.races:
        report["races"] = [_race(each) for each in record.races]
    if record.kills.count:
        report["kills"] = {"count": record.kills.count, "unheard": record.kills.unheard, **_kills(record.kills)}
    if unattributed(record):
        report["unattributed"] = list(unattributed(record))
    if stale(record, selected):
        report["stale_known_failures"] = list(stale(record, selected))
    if listed_in_vain(record, selected):
        report["listed_not_claimed"] = list(listed_in_vain(record, selected))
    if record.breakdown is not None:
        report["breakdown"] = _breakdown(record.breakdown, "system")
    if record.interrupted:
        report["interrupted"] = True
    return report


def unfit_report(found: Smoke, breakdown: Breakdown | None, seed: int, profile: Profile) -> dict[str, Json]:
    """Return the report on an adapter that was unfit before anything was judged."""
    report = {
        **_head(found.description, seed, profile),
        "verdict": "unjudged",
        "requirements": [],
        "unfit": list(found.problems),
    }
    return report if breakdown is None else {**report, "breakdown": _breakdown(breakdown, "adapter")}


def written(report: Mapping[str, Json]) -> str:
    """Return a report as ASCII text that ends its last line."""
    return json.dumps(report, indent=2, ensure_ascii=True) + "\n"


def system_of(description: Description) -> dict[str, Json]:
    """Return which system it is, as it says itself."""
    system = description.system
    named: dict[str, Json] = {"name": system.name[:LONGEST_NAME], "version": system.version[:LONGEST_NAME]}
    if system.language is not None:
        named["language"] = system.language[:LONGEST_NAME]
    return {**named, "claims": sorted(each[:LONGEST_NAME] for each in description.claims[:MOST_CLAIMS])}


def _head(description: Description | None, seed: int, profile: Profile) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        **({} if description is None else {"system": system_of(description)}),
        "suite": SUITE,
        "seed": seed,
        "profile": {"name": profile.name, "examples": profile.examples, "steps": profile.steps},
    }


def _requirement(judged: Judgement) -> dict[str, Json]:
    return {
        "id": judged.requirement.id,
        "says": judged.requirement.says,
        "status": judged.status.value,
        "exercised": judged.exercised,
        **({"flaky": True} if judged.flaky else {}),
        **({} if judged.reason is None else {"reason": judged.reason}),
        "failures": list(judged.failures),
    }


def _race(tally: Tally) -> Json:
    """What became of one race; how many calls overlapped depends on the machine."""
    return {
        "name": tally.name,
        "taken": tally.taken,
        "lost": tally.lost,
        "unknown": tally.unknown,
        "calls": tally.calls,
        "overlapped": tally.overlapped,
        **({} if tally.every_way is None else {"every_way": tally.every_way}),
    }


def _kills(kills: Kills) -> dict[str, Json]:
    """How often the process ended, by phase and by operation; where it was at that moment depends on the machine."""
    return {
        "phases": {str(phase): count for phase, count in sorted(kills.phases.items())},
        "operations": dict(sorted(kills.operations.items())),
    }


def _breakdown(breakdown: Breakdown, blame: str) -> dict[str, Json]:
    return {"kind": breakdown.kind, "message": breakdown.message, "blame": blame, "log": breakdown.log}
