"""The smoke test finds what makes an adapter unfit, all at once, and blames nothing else."""

from collections.abc import Mapping

import pytest

from keyturn.capabilities import ALL_CLAIMS, Capability, Claims
from keyturn.cards import InteractionKind
from keyturn.handshake import describe
from keyturn.store import ReferenceStore
from keyturn.values import Json
from keyturn_testing.mutants import MUTANTS, mutant_factory
from keyturn_testing.smoke import ACTIONS, MOST_PROBLEMS, Smoke, smoke
from keyturn_testing.systems.base import Answered, Killed, Lanes, NotOffered, Reply, Schedule, Together, WentWrong
from keyturn_testing.systems.in_process import InProcessSystem


class Told:
    """The reference with a few replies of its own; it remembers what it was asked."""

    def __init__(self, replies: Mapping[str, Reply], claims: Claims, handshake: Mapping[str, Json]) -> None:
        self.replies, self.asked = replies, list[str]()
        self._store = InProcessSystem(lambda: ReferenceStore(claims))
        self._handshake = {**describe("told", "1", claims), **handshake}

    def call(self, method: str, params: Mapping[str, Json]) -> Reply:
        """Answer as it was told, or as the reference does."""
        self.asked.append(method)
        if method in self.replies:
            return self.replies[method]
        return Answered(self._handshake) if method == "describe" else self._store.call(method, params)

    def together(self, lanes: Lanes, schedule: Schedule = ()) -> Together:
        """Answer as the reference does."""
        return self._store.together(lanes, schedule)

    can_be_killed = False

    def killed(self, method: str, params: Mapping[str, Json], after: float) -> Killed:
        """Nothing here can be killed."""
        return self._store.killed(method, params, after)

    def restart(self) -> Reply:
        """Restart as the reference does."""
        return self.call("restart", {})

    def close(self) -> None:
        """Close the reference."""
        self._store.close()


def found(replies: Mapping[str, Reply] | None = None, claims: Claims = ALL_CLAIMS, **handshake: Json) -> Smoke:
    """Smoke a system that was told."""
    system = Told(replies or {}, claims, handshake)
    try:
        return smoke(system)
    finally:
        system.close()


class TestHandshake:
    """Every problem of the handshake is said at once, and then nothing more is asked."""

    def test_everything_at_once(self) -> None:
        """Version, claims, contradictions, un-claimed harm, offers and the environment: one line each."""
        handshake: dict[str, Json] = {
            "protocol": 2,
            "claims": ["cards", "ledgr", "blocking", "independent"],
            "not_claimed": {"I14.1": "it is hard", "I14.22": "what is it"},
            "offers": {"kinds": ["bolean"], "actions": ["confirm_comands"]},
            "environment": "production",
        }
        system = Told({}, ALL_CLAIMS, handshake)
        problems = smoke(system).problems
        system.close()
        starts = [each.split(":")[0] for each in problems]
        assert starts == [
            *("protocol", "claims", "claims", "claims", "not_claimed", "not_claimed"),
            *("offers.kinds", "offers.actions", "offers", "environment"),
        ]
        said = "\n".join(problems)
        for meant in ("'ledger'", "'I14.2'", "'boolean'", "'confirm_commands'", "'production'"):
            assert meant in said
        assert system.asked == ["describe"]

    @pytest.mark.parametrize(
        ("reply", "said"),
        [
            (NotOffered(), "does not offer it"),
            (WentWrong(True, "no\x1b[2J"), "failed (nothing happened): 'no\\x1b[2J'"),
            (Answered([]), "expected an object"),
            (Answered({"protocol": 1}), "missing"),
        ],
        ids=["not offered", "failed", "a list", "incomplete"],
    )
    def test_no_handshake(self, reply: Reply, said: str) -> None:
        """Whatever comes instead of a handshake is said, and how it should be."""
        assert said in found({"describe": reply}).problems[0]

    def test_problems_are_bounded(self) -> None:
        """A handshake that is wrong a thousand times does not fill the screen."""
        problems = found(
            claims=ALL_CLAIMS, not_claimed={f"{'x' * 5000}{number}": "" for number in range(1000)}
        ).problems
        assert len(problems) == MOST_PROBLEMS + 1
        assert all(len(each) < 1000 for each in problems)


class TestGoldenPath:
    """After a good handshake each kind of call is made once, and must be answered as the simplest right call is."""

    def test_the_reference(self) -> None:
        """The reference is fit, and everything that its claims add is asked."""
        system = Told({}, ALL_CLAIMS, {})
        assert smoke(system).problems == ()
        system.close()
        assert system.asked == [
            *("describe", "reset", "case.open", "card.present", "card.get", "card.list", "card.respond"),
            *("command.settle", "card.present", "card.dismiss", "effects", "ledger", "metrics"),
            *("case.edit", "clock.advance", "card.expire_due", "card.withdraw", "case.close", "restart"),
        ]

    @pytest.mark.parametrize("name", list(MUTANTS))
    def test_every_mutant_is_fit(self, name: str) -> None:
        """What the contract judges is left to the run: no mutant is called unfit."""
        system = InProcessSystem(mutant_factory(name, armed=True))
        assert smoke(system).problems == ()
        system.close()

    @pytest.mark.parametrize("kind", [each for each in InteractionKind if each != InteractionKind.MULTI_SELECT])
    @pytest.mark.parametrize("claims", [ALL_CLAIMS, frozenset({Capability.CARDS})], ids=["all", "cards"])
    def test_every_kind(self, kind: InteractionKind, claims: Claims) -> None:
        """A system that offers one kind only is asked with that kind; without text there is no freeform card."""
        problems = found(claims=claims, offers={"kinds": [kind]}).problems
        impossible = kind is InteractionKind.FREEFORM and Capability.FREEFORM not in claims
        assert [each.split(":")[0] for each in problems] == (["offers"] if impossible else [])

    @pytest.mark.parametrize("action", ACTIONS)
    def test_every_action(self, action: str) -> None:
        """A system that offers one stored action only is asked with that one."""
        assert found(offers={"actions": [action]}).problems == ()

    @pytest.mark.parametrize(
        ("method", "reply", "said"),
        [
            ("card.list", NotOffered(), "`list` is claimed: offer it, or drop the claim"),
            ("case.open", NotOffered(), "every system has it: offer it"),
            ("case.open", Answered({}), "'revision' is missing"),
            ("card.respond", Answered({"outcome": "rejected", "code": "not_found"}), "the simplest right call"),
            ("effects", WentWrong(False, "oh"), "failed (it may have happened): 'oh'; due was an object with effects"),
            ("restart", NotOffered(), "`restart` is claimed"),
        ],
        ids=["claimed", "always there", "schema", "refused", "failed", "restart"],
    )
    def test_what_is_wrong_is_named(self, method: str, reply: Reply, said: str) -> None:
        """The message says which call, what came back, and what was due."""
        (problem,) = found({method: reply}).problems
        assert problem.startswith(method)
        assert said in problem
