"""Short runs under ns-3 for tests."""

from __future__ import annotations

from typing import Any

from analysis.audit import BatchedAudit
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario
from tests.testbed.simulate import Diary, Simulated

RADIO = {"kind": "radio", "hello": 1.0}


def scenario(**keys: Any) -> Scenario:
    """A scenario for ns-3, with radio links."""
    return Scenario.model_validate({"name": "test", "algorithm": "rl", "links": RADIO, "backend": "ns3", **keys})


def prepare(repetition: int = 0, **keys: Any) -> Simulated:
    """A run that has not begun."""
    from testbed.backends.ns3.simulation import Ns3Simulation

    diary = Diary()
    audit, chosen = BatchedAudit(diary), scenario(**keys)
    return Simulated(Ns3Simulation(chosen, Streams(chosen.seed, repetition), audit), audit, diary)


def run(repetition: int = 0, **keys: Any) -> Simulated:
    """A finished run."""
    prepared = prepare(repetition, **keys)
    prepared.simulation.run_all(lambda share: None)
    return prepared
