"""E3: the counters agree with what the cards read and with what was answered."""

import pytest
from attrs import evolve

from keyturn import operations as ops
from keyturn.capabilities import ALL_CLAIMS, Capability
from keyturn_specs.observations import Observation

from ..kernel.builders import answer, edit_case, get, present, settle
from .observing import Watched, applies, broken, with_cards

COUNTERS = ("created", "failed", "resolved", "stale")


def off_by(seen: Observation, counter: str, by: int = 1) -> Observation:
    """The same observation with a counter that moved otherwise."""
    assert seen.after.metrics is not None
    wrong = evolve(seen.after.metrics, **{counter: getattr(seen.after.metrics, counter) + by})
    return evolve(seen, after=evolve(seen.after, metrics=wrong))


class TestCounters:
    """E3: The counters agree with the ledger and the outcomes."""

    def test_the_counters_of_the_reference_agree(self) -> None:
        """Any story, step by step: written, stale, restored, failed, resolved, replayed, read, edited."""
        desk = Watched()
        card, other = desk.write(), desk.write(present(independent=True))
        steps = (
            *(
                present(),
                answer(card, revision=2),
                answer(card),
                settle("command-4", "failed", "restore"),
                answer(card),
            ),
            *(settle("command-6", "failed"), answer(other, "pick"), answer(other, "pick"), get(card), edit_case()),
            present(for_revision=1),
        )
        assert [broken("E3", desk.watch(each)) for each in steps] == [None] * len(steps)
        assert desk.state.history.metrics == ops.Metrics(created=3, resolved=1, stale=2, failed=1)

    @pytest.mark.parametrize("counter", COUNTERS)
    @pytest.mark.parametrize("by", [1, -1])
    def test_a_counter_that_moves_otherwise_is_named(self, counter: str, by: int) -> None:
        """Also where nothing was to be counted."""
        desk = Watched()
        card = desk.write()
        says = broken("E3", off_by(desk.watch(get(card)), counter, by))
        assert says == (
            f"the counter `{counter}` moved by {by}, and what was answered and what the cards read make it 0"
        )

    @pytest.mark.parametrize(
        ("operation", "counter"),
        [
            (present(), "created"),
            (answer("card-1", revision=2), "stale"),
            (answer("card-1", "pick"), "resolved"),
            (settle("command-3", "failed"), "failed"),
        ],
        ids=["created", "stale", "resolved", "failed"],
    )
    def test_what_is_not_counted_is_named(self, operation: ops.Operation, counter: str) -> None:
        """Each thing once, by its own counter."""
        desk = Watched()
        desk.write()
        desk.accept(desk.write())
        assert broken("E3", off_by(desk.watch(operation), counter, -1)) is not None
        assert broken("E3", Watched().watch(present())) is None

    def test_counters_begin_at_nothing(self) -> None:
        """The first step after a reset has no counters before it."""
        desk = Watched()
        seen = desk.watch(present())
        first = evolve(seen, before=evolve(seen.before, metrics=None))
        assert broken("E3", first) is None
        assert broken("E3", off_by(first, "stale")) is not None

    def test_of_a_lost_reply_only_the_cards_tell(self) -> None:
        """It may have written a card or refused one; what resolved or failed can be read."""
        desk = Watched()
        card = desk.write()
        lost = evolve(desk.watch(answer(card, "pick")), outcome=None)
        assert [broken("E3", off_by(lost, each)) is None for each in COUNTERS] == [True, False, False, True]

    def test_codes_that_mean_nothing_are_not_counted(self) -> None:
        """Without `coded_refusals` any refusal is the same refusal."""
        desk = Watched(ALL_CLAIMS - {Capability.CODED_REFUSALS})
        seen = desk.watch(answer(desk.write(), revision=2))
        assert broken("E3", off_by(seen, "stale")) is None
        assert broken("E3", off_by(seen, "failed")) is not None

    def test_a_card_that_cannot_be_read_is_not_counted(self) -> None:
        """It was offered and not stored, which I6.1 says."""
        desk = Watched()
        seen = with_cards(desk.watch(present()), card_1=None)
        assert broken("E3", off_by(seen, "created", -1)) is None

    def test_a_system_without_counters_is_not_judged(self) -> None:
        """What is not claimed is not there."""
        seen = Watched().watch(present())
        assert broken("E3", evolve(seen, after=evolve(seen.after, metrics=None))) is None

    def test_what_is_counted_exercises_it(self) -> None:
        """Writing, resolving, failing and refusing as stale; not restoring, reading or replaying."""
        desk = Watched()
        card, other = desk.write(), desk.write(present(independent=True))
        command = desk.accept(card)
        counts = (present(), settle(command), settle(command, "failed"), answer(other, "pick"), present(for_revision=9))
        assert [applies("E3", desk.moment(each)) for each in counts] == [True] * 5
        spared = (settle(command, "failed", "restore"), get(card), answer(card), answer(other, "no"), edit_case())
        assert [applies("E3", desk.moment(each)) for each in spared] == [False] * 5
