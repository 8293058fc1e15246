"""What a system says of itself, what its claims rest on, and what the kernel raises."""

import pickle

import pytest

from keyturn.capabilities import ADDS, ALL_CLAIMS, Capability, problems_of_claims
from keyturn.cards import InteractionKind
from keyturn.errors import IllegalTransition, KeyturnError, NotCanonical, OperationFailed, Unreadable, Unsupported
from keyturn.handshake import NEVER_UNCLAIMED, PROTOCOL, Description, Offers, SystemName, describe, read_description
from keyturn.values import Json

LEAST: dict[str, Json] = {"protocol": 1, "system": {"name": "desk", "version": "2"}, "claims": ["cards"]}
C = Capability


class TestCapabilities:
    """What is claimed becomes mandatory."""

    def test_every_capability_says_what_it_adds(self) -> None:
        """The reference pages have a line for each."""
        assert set(ADDS) == set(Capability) == ALL_CLAIMS

    @pytest.mark.parametrize(
        "claims",
        [
            ALL_CLAIMS,
            {C.CARDS},
            {C.CARDS, C.BLOCKING, C.REFUSE},
            {C.CARDS, C.BLOCKING, C.REPLACE},
            {C.CARDS, C.REVISIONS},
            {C.CARDS, C.REVISIONS, C.INDEPENDENT},
        ],
        ids=["all", "cards", "refuse", "replace", "revisions", "independent"],
    )
    def test_claims_that_go_together_have_no_problem(self, claims: set[Capability]) -> None:
        """They can be judged."""
        assert problems_of_claims(frozenset(claims)) == ()

    @pytest.mark.parametrize(
        ("claims", "named"),
        [
            (set(), ["`cards` is not claimed"]),
            ({C.CARDS, C.BLOCKING}, ["neither `refuse` nor `replace`"]),
            ({C.CARDS, C.REFUSE}, ["`refuse` is claimed without `blocking`"]),
            ({C.CARDS, C.REPLACE, C.REFUSE}, ["`refuse`, `replace` is claimed without `blocking`"]),
            ({C.CARDS, C.INDEPENDENT}, ["`independent` is claimed without `revisions`"]),
            ({C.CARDS, C.FOR_REVISION}, ["`for_revision` is claimed without `revisions`"]),
            ({C.BLOCKING, C.INDEPENDENT}, ["`cards`", "`blocking`", "`independent`"]),
        ],
        ids=["none", "blocking", "refuse", "both-ways", "independent", "for_revision", "several"],
    )
    def test_every_contradiction_is_named(self, claims: set[Capability], named: list[str]) -> None:
        """All at once, in words."""
        problems = problems_of_claims(frozenset(claims))
        assert len(problems) == len(named)
        assert all(name in problem for name, problem in zip(named, problems, strict=True))


class TestHandshake:
    """`describe {}` -> protocol, system, claims, and what is not claimed or not offered."""

    def test_the_least_that_a_system_says_is_enough(self) -> None:
        """All else is left out: everything is offered, and it is no test environment."""
        assert read_description(LEAST) == Description(
            protocol=1, system=SystemName(name="desk", version="2"), claims=("cards",)
        )

    def test_everything_that_a_system_says_is_read(self) -> None:
        """Reasons, offers and environment too; unknown fields are ignored."""
        read = read_description(
            {
                **LEAST,
                "not_claimed": {"I19.1": "one tenant"},
                "offers": {"kinds": ["boolean"], "actions": ["decline"]},
                "environment": "test",
                "motto": "once",
            }
        )
        assert dict(read.not_claimed) == {"I19.1": "one tenant"}
        assert read.offers == Offers(kinds=("boolean",), actions=("decline",))
        assert read.environment == "test"

    @pytest.mark.parametrize(
        ("value", "where"),
        [
            (None, "expected an object"),
            ([], "expected an object"),
            ({**LEAST, "claims": None}, r"'claims' is missing @ describe\.claims"),
            ({**LEAST, "claims": "cards"}, r"expected a list, not str @ describe\.claims"),
            ({**LEAST, "claims": [1]}, r"expected a string, not int @ describe\.claims\[0\]"),
            ({**LEAST, "system": {"name": "desk"}}, r"'version' is missing @ describe\.system\.version"),
            ({**LEAST, "protocol": "1"}, r"expected an integer, not str @ describe\.protocol"),
            ({**LEAST, "not_claimed": {"I19.1": 1}}, r"expected a string, not int @ describe\.not_claimed\['I19\.1'\]"),
            ({**LEAST, "not_claimed": ["I19.1"]}, r"@ describe\.not_claimed"),
        ],
    )
    def test_a_handshake_of_the_wrong_shape_is_named(self, value: Json, where: str) -> None:
        """The problem says where, before anything is asked."""
        with pytest.raises(Unreadable, match=where):
            read_description(value)

    def test_what_is_offered_is_all_but_multi_select(self) -> None:
        """Left out = all but `multi_select`; the suite presents within what is offered, in its own order."""
        every = set(InteractionKind) - {InteractionKind.MULTI_SELECT}
        assert set(read_description(LEAST).offered_kinds()) == every
        some = read_description({**LEAST, "offers": {"kinds": ["multi_select", "freeform", "boolean", "riddle"]}})
        assert some.offered_kinds() == (InteractionKind.BOOLEAN, InteractionKind.FREEFORM)
        assert read_description({**LEAST, "offers": {"kinds": []}}).offered_kinds() == ()

    def test_the_reference_describes_itself_as_the_protocol_says(self) -> None:
        """What is written reads back, with the claims sorted."""
        written = describe("desk", "2", frozenset({C.LIST, C.CARDS}))
        assert written == {
            "protocol": PROTOCOL,
            "system": {"name": "desk", "version": "2", "language": "python"},
            "claims": ["cards", "list"],
            "environment": "test",
        }
        assert read_description(written).claims == ("cards", "list")
        assert describe("desk", "2")["claims"] == sorted(ALL_CLAIMS)

    def test_the_harm_itself_cannot_be_unclaimed(self) -> None:
        """`I7.9`, `I14.1` and `I19.9` cannot be un-claimed."""
        assert {"I7.9", "I14.1", "I19.9"} == NEVER_UNCLAIMED


class TestErrors:
    """Errors are for callers that broke the contract of a function."""

    @pytest.mark.parametrize("kind", [NotCanonical, Unreadable, IllegalTransition, Unsupported, OperationFailed])
    def test_one_base_catches_them_all(self, kind: type[Exception]) -> None:
        """A caller can tell the kernel's errors from all others."""
        assert issubclass(kind, KeyturnError)

    @pytest.mark.parametrize("kind", [NotCanonical, Unreadable])
    def test_errors_of_reading_are_value_errors(self, kind: type[Exception]) -> None:
        """Who reads input can catch what every reader raises."""
        assert issubclass(kind, ValueError)

    def test_unreadable_says_all_problems(self) -> None:
        """In its message and as values."""
        error = Unreadable("the answer", ("no name", "no date"))
        assert str(error) == "the answer cannot be read: no name; no date"
        assert error.problems == ("no name", "no date")

    @pytest.mark.parametrize("definite", [True, False])
    def test_a_failed_operation_says_whether_it_is_certain(self, definite: bool) -> None:
        """`definite` is false when it may still have happened."""
        error = OperationFailed("no disk", definite=definite)
        assert (str(error), error.definite) == ("no disk", definite)


@pytest.mark.parametrize(
    "error",
    [
        Unreadable("card.get", ("one problem", "another")),
        IllegalTransition("Machine", "resolved", "accept"),
        OperationFailed("the disk is full", definite=False),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_crosses_from_one_process_to_another(error: Exception) -> None:
    """A pool of processes gives back the error that was raised, whole."""
    back = pickle.loads(pickle.dumps(error))  # noqa: S301  # it was pickled here
    assert (type(back), str(back), vars(back)) == (type(error), str(error), vars(error))
