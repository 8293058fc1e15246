"""The stateful engine, which aims, reads and judges, against a bare machine of Hypothesis, which does neither."""

from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from keyturn.capabilities import ALL_CLAIMS
from keyturn.cards import InteractionKind
from keyturn.store import ReferenceStore
from keyturn_specs.catalogue import REQUIREMENTS
from keyturn_testing.driver import Counts, Driver
from keyturn_testing.engines.stateful import Plan, run_batch
from keyturn_testing.payloads import payload
from keyturn_testing.systems.in_process import InProcessSystem
from keyturn_testing.traces import Step
from measuring import IN_TURNS, Table, in_turns, microseconds, per_second, timed

EXAMPLES, STEPS = 25, 30
KINDS = tuple(each for each in InteractionKind if each is not InteractionKind.MULTI_SELECT)


class BareMachine(RuleBasedStateMachine):
    """What one would write first: rules that call the same operations of the same store, and read nothing back."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self.store = ReferenceStore()
        self.store.reset(now="2026-01-01T00:00:00Z")
        self.case: dict[str, Any] = {"account": "acme", "workflow": "trip", "case": "case-1"}
        self.owner = {"account": "acme", "conversation": "chat-1"}
        self.store.case_open(**self.case)
        self.cards: list[Any] = []
        self.commands: list[str] = []

    @rule(kind=st.sampled_from(KINDS), blocking=st.booleans(), on_occupied=st.sampled_from(("refuse", "replace")))
    def present(self, kind: InteractionKind, blocking: bool, on_occupied: str) -> None:
        """Present a card of any kind."""
        BareMachine.steps += 1
        answer: Any = self.store.card_present(
            conversation="chat-1",
            kind=kind.value,
            blocking=blocking,
            revision_independent=False,
            payload=payload(kind, len(self.cards), text=True),
            on_occupied=on_occupied,
            **self.case,
        )
        if answer["outcome"] == "presented":
            self.cards.append(answer["card"])

    @rule(data=st.data())
    def respond(self, data: st.DataObject) -> None:
        """Answer one of the cards with one of its options."""
        if not self.cards:
            return
        BareMachine.steps += 1
        card = data.draw(st.sampled_from(self.cards))
        option = data.draw(st.sampled_from([each["id"] for each in card["payload"]["options"]]))
        response = {"interaction_id": card["id"], "option_id": option, "expected_case_revision": card["case_revision"]}
        answer = self.store.card_respond(**self.owner, response=response)
        if answer["outcome"] == "accepted":
            self.commands.append(str(answer["command"]))

    @rule(data=st.data(), result=st.sampled_from(("committed", "failed")))
    def settle(self, data: st.DataObject, result: str) -> None:
        """End one of the commands."""
        if self.commands:
            BareMachine.steps += 1
            command = data.draw(st.sampled_from(self.commands))
            self.store.command_settle(command=command, result=result, on_failure="restore")

    @rule()
    def edit(self) -> None:
        """Change the record."""
        BareMachine.steps += 1
        self.store.case_edit(**self.case)


def run_bare(number: int) -> int:
    """Run the bare machine once; return how many operations it called."""
    before = BareMachine.steps
    run_state_machine_as_test(
        seed(number)(BareMachine),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            phases=(Phase.generate,),
            verbosity=Verbosity.quiet,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return BareMachine.steps - before


def run_engine(number: int, taken: list[list[Step]] | None = None) -> int:
    """Run one batch of the stateful engine on the reference store; return how many steps it took and judged."""
    system, counts = InProcessSystem(ReferenceStore), Counts()

    def start() -> Driver:
        driver = Driver(system, ALL_CLAIMS, REQUIREMENTS, counts)
        if taken is not None:
            taken.append([])
            driver.on_step = taken[-1].append
        return driver

    try:
        batch = run_batch(start, Plan(examples=EXAMPLES, steps=STEPS, seed=number, kinds=KINDS))
    finally:
        system.close()
    if batch.ended is not None:
        raise batch.ended
    return counts.steps


def of_the_engine() -> Table:
    """Measure generated steps."""
    bare, ours = "bare `RuleBasedStateMachine`", "the stateful engine"
    cost = in_turns({bare: lambda: timed(partial(run_bare, 0)), ours: lambda: timed(partial(run_engine, 0))})
    return Table(
        "The stateful engine",
        "One generated step on the reference store in process. The bare machine calls operations of the same kind on the same "
        "store and reads nothing back. The engine aims its steps, reads everything that an observer can read after each, "
        f"and judges it. {IN_TURNS}",
        ("what", "steps a second", "cost of a step", "ratio"),
        [(name, per_second(each), microseconds(each), f"{each / cost[bare]:.1f}") for name, each in cost.items()],
    )
