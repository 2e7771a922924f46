"""KLME on the simulator with faults: runs whose verdicts keep their details, and which say what became of tokens."""

from dataclasses import dataclass
from random import Random
from typing import Any

from agents.contract import TICKS
from analysis.audit import BatchedAudit
from analysis.check import INCONCLUSIVE
from analysis.listener import Listener
from testbed.backends.sim.simulation import Simulation
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario
from tests.agents.klme_runs import draw_churn
from tests.agents.random_runs import PASSED

EVERY_REQUEST = "every request served"


class LostTokens(Listener):
    """Why every token was lost that was."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        self.reasons += [why] * tokens


class Transfers(LostTokens):
    """When Tokens are sent, in time units."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def send(self, t: int, node: int, peer: int, id: int, type: str, *rest: Any) -> None:
        if type == "Token":
            self.times.append(t / TICKS)


@dataclass(frozen=True)
class Judged:
    """What became of a run."""

    metrics: dict[str, Any]
    failures: dict[str, list[str]]
    """Of progress not that it is inconclusive: if every token was taken before the first entry, there is none."""
    excuses: str
    """What the check of starvation says; `EVERY_REQUEST` if none was needed."""
    lost: list[str]
    """Why tokens were lost."""

    @property
    def is_flawless(self) -> bool:
        """Whether all checks passed, and every request was served."""
        return not self.failures and self.excuses == EVERY_REQUEST


def run(scenario: Scenario, tokens: LostTokens | None = None) -> Judged:
    """Run a scenario, judge it."""
    tokens = tokens if tokens is not None else LostTokens()
    audit = BatchedAudit(tokens)
    Simulation(scenario, Streams(scenario.seed, 0), audit).run_all(lambda share: None)
    verdicts = audit.verdicts()
    passed = (*PASSED, INCONCLUSIVE)
    failures = {name: one["offenders"] for name, one in verdicts.items() if one["verdict"] not in passed}
    return Judged(audit.metrics(), failures, verdicts["starvation"]["detail"], tokens.reasons)


def lose_tokens(*times: float) -> list[dict[str, Any]]:
    """Faults: at each of these times, the next Token that is sent is lost."""
    return [{"at": time, "kind": "lose", "holder": True, "message": "Token"} for time in times]


def vanishing(seed: int) -> Scenario:
    """A random run in which nodes leave their group at once: of five the leader, of five any node."""
    rng = Random(f"vanish {seed}")
    faults: list[dict[str, Any]] = [{"at": rng.uniform(0, 20), "kind": "vanish", "holder": True} for _ in range(5)]
    faults += [{"at": rng.uniform(0, 20), "kind": "vanish", "node": rng.randrange(3)} for _ in range(5)]
    return draw_churn(seed, faults=faults, drain=100.0)


def crashing(seed: int) -> Scenario:
    """A random run in which three nodes crash and come back."""
    rng = Random(f"crash {seed}")
    faults: list[dict[str, Any]] = []
    for node in range(3):
        at = rng.uniform(0, 15)
        faults += [{"at": at, "kind": "crash", "node": node}]
        faults += [{"at": at + rng.uniform(0, 4), "kind": "restart", "node": node}]
    return draw_churn(seed, faults=faults, drain=100.0)
