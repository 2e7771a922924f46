"""`sim`: the papers' abstract model in virtual time. No root, nothing to install, the same events for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from analysis.batched import BatchedListener
from analysis.listener import Listener
from testbed.backends.base import Backend, RunOptions
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario


class SimBackend(Backend):
    """Runs in this process, as fast as it can."""

    name = "sim"
    summary = "embedded simulator of the papers' model, virtual time"
    has_ideal_links = True

    def run_repetition(
        self,
        scenario: Scenario,
        repetition: int,
        listener: Listener,
        report: Callable[[float], None],
        folder: Path | None,
        options: RunOptions,
    ) -> None:
        """Run one repetition, passing everything that happens to the listener."""
        from testbed.backends.sim.simulation import Simulation
        from testbed.runtime.handler_watch import HandlerWatch

        assert isinstance(listener, BatchedListener), "virtual time passes frequent events in batches"
        simulation: Simulation | None = None
        with HandlerWatch(scenario.handler_limit, lambda: -1 if simulation is None else simulation.now):
            simulation = Simulation(scenario, Streams(scenario.seed, repetition), listener)
            simulation.run_all(report, options.pace)
