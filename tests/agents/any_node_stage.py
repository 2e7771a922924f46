"""Agents that address any node, under schedules that no clock rules.

Between any two nodes there is a channel in each direction that delivers exactly once and in order; which channel is
next is drawn at random, so a message may be overtaken for as long as the draw likes by those of other channels. A timer
may run out at any moment after it was set.
"""

from itertools import combinations
from random import Random

from agents.contract import Agent, Shares, Status
from agents.outputs import CancelTimer, Output, SetTimer
from tests.agents.stage import Stage

DRAIN_STEPS = 100_000


class AnyNodeStage(Stage):
    """A stage on which every node reaches every other, with timers that the test lets run out."""

    def __init__(self, agents: dict[int, Agent]) -> None:
        super().__init__(agents.values(), combinations(sorted(agents), 2))
        self.timers: set[tuple[int, str]] = set()
        self.all_units = self.units() if self.shares_tokens() else 0

    def shares_tokens(self) -> bool:
        return all(agent.shares is Shares.TOKENS for agent in self.agents.values())

    def idle(self) -> list[int]:
        return [node for node, agent in sorted(self.agents.items()) if agent.status is Status.REMAINDER]

    def run_out(self, node: int, name: str) -> None:
        self.timers.remove((node, name))
        self._step(node, f"Timer {name}", lambda agent: agent.on_timer(name))

    def check(self, capacity: int) -> None:
        """What holds in every configuration."""
        assert len(self.inside) <= capacity, self.told(f"inside together: {sorted(self.inside)}")
        critical = {node for node, agent in self.agents.items() if agent.status is Status.CRITICAL}
        assert critical == self.inside, self.told(f"{sorted(critical)} believe to be inside, {sorted(self.inside)} are")
        if self.shares_tokens():
            assert self.units() == self.all_units, self.told(f"{self.units()} units instead of {self.all_units}")

    def told(self, text: str) -> str:
        """The text of a failure: what is wrong, and the whole script that led to it."""
        return "\n".join([text, *self.script])

    def _carry_out(self, node: int, output: Output) -> None:
        if isinstance(output, SetTimer):
            self.timers.add((node, output.name))
        elif isinstance(output, CancelTimer):
            self.timers.discard((node, output.name))
        else:
            super()._carry_out(node, output)


def play(agents: dict[int, Agent], rng: Random, steps: int, capacity: int) -> None:
    """Random requests, releases, deliveries and timers, at most `capacity` inside; at the end all are served."""
    stage = AnyNodeStage(agents)
    for _ in range(steps):
        choice = rng.random()
        idle, busy = stage.idle(), stage.busy()
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.30 and stage.inside:
            stage.release(rng.choice(sorted(stage.inside)))
        elif choice < 0.35 and stage.timers:
            stage.run_out(*rng.choice(sorted(stage.timers)))
        elif busy:
            stage.deliver(*rng.choice(busy))
        stage.check(capacity)
    drain(stage, rng, capacity)
    for agent in agents.values():
        assert agent.clone().state() == agent.state()


def drain(stage: AnyNodeStage, rng: Random, capacity: int) -> None:
    """No more requests: deliver, release and run timers until none is pending. Some algorithms never fall silent."""
    for _ in range(DRAIN_STEPS):
        inside, busy, timers = sorted(stage.inside), stage.busy(), sorted(stage.timers)
        if not inside and not stage.waiting():
            return
        assert inside or busy or timers, stage.told(f"nothing can move, and these wait: {stage.waiting()}")
        if timers and (not (inside or busy) or rng.random() < 0.05):
            stage.run_out(*rng.choice(timers))
        elif inside and (not busy or rng.random() < 0.15):
            stage.release(rng.choice(inside))
        else:
            stage.deliver(*rng.choice(busy))
        stage.check(capacity)
    raise AssertionError(stage.told(f"pending after {DRAIN_STEPS} more steps: {stage.waiting()}"))
