"""Short simulations for tests, and a listener that keeps every event."""

from dataclasses import dataclass, field
from typing import Any

from agents.contract import TICKS, Needs, Shares
from agents.registry import ALGORITHMS
from analysis.audit import BatchedAudit
from analysis.events import KINDS
from analysis.listener import Listener, method_name
from testbed.backends.sim.simulation import Simulation
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario


class Diary(Listener):
    """Keeps every event as a dict, times in units."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        for kind, (_, names) in KINDS.items():
            setattr(self, method_name(kind), self._keeper(kind, names))

    def _keeper(self, kind: str, names: tuple[str, ...]):
        def keep(t: int, node: int | None, *values: Any) -> None:
            self.events.append({"t": t / TICKS, "node": node, "kind": kind, **dict(zip(names, values, strict=True))})

        return keep

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] in kinds]


@dataclass
class Simulated:
    """A finished simulation."""

    simulation: Simulation
    audit: BatchedAudit
    diary: Diary = field(repr=False)

    @property
    def verdicts(self) -> dict[str, str]:
        return verdicts_of(self.audit.verdicts())

    @property
    def details(self) -> dict[str, str]:
        return {name: one["detail"] for name, one in self.audit.verdicts().items()}


WITHOUT_GROUPS = [name for name, agent in ALGORITHMS.items() if agent.needs is not Needs.GROUPS]
"""The algorithms that run in the whole network, or in clusters of it."""
OVER_RADIO = WITHOUT_GROUPS
"""The algorithms that run over radio links, in the simulator and as processes, without places in the scenario."""


def groups_for(algorithm: str) -> dict[str, Any]:
    """What a scenario needs besides for an algorithm that runs in neighbourhoods: one group, which nodes leave."""
    return {} if algorithm in WITHOUT_GROUPS else {"churn": {"groups": 1, "departures": 0.05, "away": 1.0}}


JUDGED = ("safety", "conservation", "starvation", "progress", "order", "contract")
"""The checks that say something of the algorithm."""
ALL_OK = dict.fromkeys(JUDGED, "ok")


def verdicts_of(checks: dict[str, dict[str, Any]]) -> dict[str, str]:
    """What the checks say of the algorithm. In real time, not what a busy machine is to blame for."""
    is_late = checks["timing"]["verdict"] == "inconclusive"
    return {
        name: "ok" if is_late and checks[name]["verdict"] == "inconclusive" else checks[name]["verdict"]
        for name in JUDGED
    }


def all_ok(algorithm: str) -> dict[str, str]:
    """The verdicts of a good run: permissions are not conserved, so conservation does not apply to them."""
    tokens = ALGORITHMS[algorithm].shares is Shares.TOKENS
    return ALL_OK if tokens else {**ALL_OK, "conservation": "not applicable"}


def prepare(repetition: int = 0, **keys: Any) -> Simulated:
    """A simulation of a small RL network, with keys of the scenario overridden, not yet run."""
    data = {
        "name": "test",
        "algorithm": "rl",
        "nodes": 10,
        "topology": {"kind": "random", "connectivity": 0.4},
        "workload": {"rate": 0.1},
        "duration": 300.0,
        **keys,
    }
    if data.get("entries") is not None:
        data.pop("duration")
    scenario = Scenario.model_validate(data)
    diary = Diary()
    audit = BatchedAudit(diary)
    return Simulated(Simulation(scenario, Streams(scenario.seed, repetition), audit), audit, diary)


def simulate(**keys: Any) -> Simulated:
    """A finished simulation."""
    simulated = prepare(**keys)
    simulated.simulation.run_all(lambda share: None)
    return simulated
