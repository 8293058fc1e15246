"""The requirements as one table, and each demanded where it says that it is judged."""

import re
from collections.abc import Iterator

import pytest

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn.cards import DeclineAndRecord
from keyturn.faults import OF_A_CARD, FaultKind
from keyturn.store import State, possibilities
from keyturn.values import CardId
from keyturn_specs.catalogue import BY_ID, REQUIREMENTS, missing_claims
from keyturn_specs.observations import Moment
from keyturn_specs.requirement import Area, ByBranch, ByInvariant, ByRace, Family, Requirement, demanded

from ..kernel import builders
from ..kernel.builders import (
    AT_ONCE,
    UNORDERED,
    WITHOUT_REPLAY,
    Desk,
    answer,
    dismiss,
    get,
    option,
    present,
    respond,
    sent,
    settle,
)

ID = re.compile(r"(?:I(?:5|6|7|13|14|19)\.|[LATE])[1-9][0-9]?")
STATES = 250
NEAR = (("YES", "acme"), ("yes", ""), ("no", "other"))


def explore(desk: Desk) -> Iterator[frozenset[str]]:
    """What demands each branch of the first worlds that a store with two kinds of cards can reach."""
    options = (builders.YES, builders.NO, option("record", DeclineAndRecord(operation="note")))
    queue: list[State] = [desk.state]
    known = {desk.state.world}
    for state in queue:
        cards = [each.id for each in state.world.interactions]
        operations: list[ops.Operation] = [builders.edit_case(), ops.ClockAdvance(seconds=1), ops.CardExpireDue()]
        operations += [present(*options, blocking=True, on_occupied="replace", expires_in=2), ops.Restart()]
        operations += [
            present(*options, blocking=True),
            present(*options),
            present(*options, for_revision=1),
            present(option("", builders.PAY)),
            answer("card-99"),
            respond(1),
        ]
        operations += [answer(card, chosen) for card in cards for chosen in ("yes", "no", "record", "never")]
        operations += [answer(card, revision=state.world.cases[0].revision + 1) for card in cards]
        operations += [answer(card, revision=state.world.cases[0].revision, text="x") for card in cards]
        operations += [builders.close_case(), builders.open_case(), builders.withdraw()]
        operations += [dismiss(card) for card in cards]
        operations += [ops.FaultArm(fault=fault, card=CardId(card)) for fault in OF_A_CARD for card in cards]
        operations += [ops.FaultArm(fault=FaultKind.WRITE_FAILS)]
        operations += [get(card, conversation="chat-2") for card in cards]
        operations += [
            respond(sent(card, near, text="\u3000"), account=account) for card in cards for near, account in NEAR
        ]
        operations += [respond(sent(card, action="pay")) for card in cards]
        commands = [each.id for each in state.world.commands]
        operations += [settle(command) for command in commands]
        operations += [settle(command, "failed", "restore") for command in (*commands, "command-99")]
        for operation in operations:
            for each in possibilities(state, operation, desk.claims):
                yield each.branch.because
                if len(known) < STATES and each.state.world not in known:
                    known.add(each.state.world)
                    queue.append(each.state)


@pytest.fixture(scope="module")
def named() -> frozenset[str]:
    """Every id that some branch names."""
    claims = (ALL_CLAIMS, UNORDERED, AT_ONCE, WITHOUT_REPLAY)
    return frozenset(each for held in claims for because in explore(Desk(held)) for each in because)


class TestCatalogue:
    """Every requirement that this version judges is in one table."""

    def test_ids_are_unique(self) -> None:
        """An ID is never reused."""
        assert len(BY_ID) == len(REQUIREMENTS)
        assert all(BY_ID[each.id] is each for each in REQUIREMENTS)

    @pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda each: each.id)
    def test_a_requirement_is_whole(self, requirement: Requirement) -> None:
        """Its id is well formed and of its family; its sentences are sentences; it needs only what can be claimed."""
        assert ID.fullmatch(requirement.id)
        family = requirement.id.partition(".")[0] if "." in requirement.id else requirement.id[0]
        assert requirement.family == family
        for text in (requirement.says, requirement.why):
            assert text.endswith(".")
        assert requirement.source.startswith("persistent interactions, ")
        assert requirement.needs <= ALL_CLAIMS
        assert requirement.needs

    @pytest.mark.parametrize("family", Family)
    def test_a_family_stands_together(self, family: Family) -> None:
        """Each family has requirements, in the order of their numbers, and one place in the table."""
        places = [place for place, each in enumerate(REQUIREMENTS) if each.family is family]
        assert places == list(range(places[0], places[-1] + 1))
        numbers = [int(re.split(r"[A-Z.]", REQUIREMENTS[place].id)[-1]) for place in places]
        assert numbers == sorted(numbers)

    @pytest.mark.parametrize(
        ("requirement", "claims", "missing"),
        [
            ("L2", {Capability.CARDS}, set()),
            ("I5.3", {Capability.CARDS, Capability.BLOCKING}, {Capability.REPLACE}),
            ("I5.3", set(), {Capability.BLOCKING, Capability.REPLACE}),
            ("I14.2", ALL_CLAIMS, set()),
            ("E1", ALL_CLAIMS - {Capability.LEDGER}, {Capability.LEDGER}),
            ("E3", ALL_CLAIMS - {Capability.LEDGER, Capability.METRICS}, {Capability.METRICS}),
        ],
        ids=["cards", "replace", "nothing", "all", "ledger", "metrics"],
    )
    def test_what_is_missing_for_a_claim_is_told(
        self, requirement: str, claims: set[Capability], missing: set[Capability]
    ) -> None:
        """A requirement is claimed by a system that claims all the capabilities that it needs."""
        assert missing_claims(BY_ID[requirement], frozenset(claims)) == missing

    @pytest.mark.parametrize(
        ("family", "capability"),
        [
            (Family.ONE_QUESTION, Capability.BLOCKING),
            (Family.FRESH, Capability.REVISIONS),
        ],
    )
    def test_a_whole_family_needs_its_capability(self, family: Family, capability: Capability) -> None:
        """All of I5 needs `blocking`, all of I13 `revisions`."""
        assert all(capability in each.needs for each in REQUIREMENTS if each.family is family)


class TestJudges:
    """Each is judged in exactly one place: by a branch, by an invariant or by a race; never by two and never by none."""

    def test_every_requirement_has_one_judge(self) -> None:
        """One of three kinds, and no requirement is judged by what judges another."""
        invariants = [each.judged_by.broken for each in REQUIREMENTS if isinstance(each.judged_by, ByInvariant)]
        races = [each.judged_by.about for each in REQUIREMENTS if isinstance(each.judged_by, ByRace)]
        branches = [each for each in REQUIREMENTS if isinstance(each.judged_by, ByBranch)]
        assert len(invariants) + len(races) + len(branches) == len(REQUIREMENTS)
        assert len({*invariants, *races}) == len(invariants) + len(races)

    def test_what_is_about_races_needs_them(self) -> None:
        """Where calls cannot overlap nothing is said of calls that do, and one call by itself exercises nothing of it."""
        needing = {each.id for each in REQUIREMENTS if Capability.PARALLEL in each.needs}
        assert needing == {each.id for each in REQUIREMENTS if isinstance(each.judged_by, ByRace)} == {"I13.8", "I14.5"}

    def test_a_branch_is_blamed_for_something(self) -> None:
        """What a branch demands concerns at least one area in which a system can differ."""
        for each in REQUIREMENTS:
            if isinstance(each.judged_by, ByBranch):
                assert each.judged_by.concerns
                assert each.judged_by.concerns <= set(Area)

    def test_every_id_that_a_branch_names_is_well_formed(self, named: frozenset[str]) -> None:
        """It is an id of the text, whether or not this version judges it."""
        assert {each for each in named if not ID.fullmatch(each)} == set()
        assert named >= {"A1", "A3", "A4", "L2", "L5", "L7", "I5.2", "I5.3", "I5.9", "I6.3", "I14.3", "I19.6"}

    @pytest.mark.parametrize(
        "requirement", [each for each in REQUIREMENTS if isinstance(each.judged_by, ByBranch)], ids=lambda each: each.id
    )
    def test_what_a_branch_judges_is_named_by_one(self, requirement: Requirement, named: frozenset[str]) -> None:
        """A small exploration reaches a branch that demands it."""
        assert requirement.id in named

    def test_demanded_is_exactly_its_own_branches(self) -> None:
        """The antecedent holds where the branch names the id, and nowhere else."""
        desk = Desk()
        card = desk.write()
        for operation, expected in ((answer(card), True), (answer(card, "never"), False)):
            [branch] = desk.may(operation)
            moment = Moment(state=desk.state, operation=operation, branch=branch, claims=desk.claims)
            assert demanded("A1")(moment) is expected
