"""The stateful engine: Hypothesis makes the examples, and the driver judges their steps.

One rule gets its chance from Hypothesis, draws an intent from the weighted table, and then its call. A call that would
exercise a masked requirement is not made (D5). Hypothesis only generates: failing traces are shrunk as traces, by the one
shrinker that every engine shares. There are no `@invariant` methods: the driver raises one exception class a requirement
(D11).
"""

from collections.abc import Callable, Mapping
from random import Random

from attrs import field, frozen, mutable
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from keyturn.cards import InteractionKind
from keyturn.errors import Unreadable
from keyturn.operations import FaultArm, Restart
from keyturn_specs.observations import Moment
from keyturn_testing.dealing import Dealer, Left
from keyturn_testing.driver import Driver
from keyturn_testing.intents import draw
from keyturn_testing.judging import NotJudged, Violation
from keyturn_testing.situation import situation
from keyturn_testing.systems.base import Breakdown
from keyturn_testing.traces import Call

CHANCE = 19
"""How many bytes of chance a step gets.

Hypothesis mixes constants that it finds in the source files around it into what it draws, so that the same seed would draw
otherwise in another place. A size that no constant has keeps a run the same everywhere (D10).
"""


_OF_BREAKDOWNS = frozenset({FaultArm.method, Restart.method})


@frozen(kw_only=True)
class Plan:
    """What one batch of examples may do: its budget, its seed, what it generates within, and what it stays away from.

    `left` is what is left of the tables that a run deals from; each batch goes on where the one before it stopped.
    """

    examples: int
    steps: int
    seed: int
    kinds: tuple[InteractionKind, ...]
    actions: frozenset[str] | None = None
    boosts: Mapping[str, int] = field(factory=dict)
    masked: Callable[[Moment], bool] = lambda moment: False
    left: Left = field(factory=dict)


@mutable
class Batch:
    """What became of a batch: how many examples began, and what ended it early."""

    begun: int = 0
    ended: Violation | Breakdown | Unreadable | None = None
    driver: Driver | None = None


def card_machine(start: Callable[[], Driver], plan: Plan, batch: Batch) -> type[RuleBasedStateMachine]:
    """Return the state machine class of a batch; its one rule takes one step."""

    class CardMachine(RuleBasedStateMachine):
        """One example against one system."""

        def __init__(self) -> None:
            super().__init__()
            self.driver: Driver | None = None
            if batch.ended is not None:
                raise batch.ended
            if batch.begun < plan.examples:
                batch.begun += 1
                self.driver = start()

        @rule(chance=st.binary(min_size=CHANCE, max_size=CHANCE))
        def step(self, chance: bytes) -> None:
            """Draw one call and take it."""
            if self.driver is None:
                return
            try:
                # The first example of a batch is all zeros, so the place of a step is mixed in.
                mixed = Random(f"{plan.seed} {batch.begun} {len(self.driver.steps)} {chance.hex()}")
                call = draw_step(self.driver, plan, mixed)
                if call is not None:
                    self.driver.call(call)
            except NotJudged:
                self.driver = None
            except (Violation, Breakdown, Unreadable) as ended:
                batch.ended, batch.driver = ended, self.driver
                raise

    return CardMachine


def draw_step(driver: Driver, plan: Plan, chance: Random) -> Call | None:
    """Draw the next call; nothing when it would exercise what is masked."""
    now = situation(driver, plan.kinds, plan.actions)
    call = draw(now, Dealer(chance, plan.left), plan.boosts)
    return None if plan.masked(driver.foresee(call)) else call


def go_on(driver: Driver, plan: Plan, chance: Random, steps: int) -> None:
    """Draw so many calls, and take those that leave the process as it is: neither a restart nor a fault that is armed."""
    for _ in range(steps):
        call = draw_step(driver, plan, chance)
        if call is not None and call.operation not in _OF_BREAKDOWNS:
            driver.call(call)


def run_batch(start: Callable[[], Driver], plan: Plan) -> Batch:
    """Run one batch of examples; it ends at its budget, or early with a violation, a breakdown or an unreadable step.

    The same plan against the same system draws the same examples.
    """
    batch = Batch()
    machine = seed(plan.seed)(card_machine(start, plan, batch))
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=plan.examples,
                stateful_step_count=plan.steps,
                phases=(Phase.generate,),
                verbosity=Verbosity.quiet,
                database=None,
                deadline=None,
                report_multiple_bugs=False,
                suppress_health_check=list(HealthCheck),
            ),
        )
    except Exception:
        if batch.ended is None:
            raise
    return batch
