"""What backends whose nodes are processes have in common: they differ in the environment of their stations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path

from analysis.listener import Listener
from testbed.backends.base import Backend, RunOptions
from testbed.backends.stations.environment import StationEnvironment
from testbed.scenario.schema import Scenario


class StationBackend(Backend):
    """Every node is a process of its own, in real time."""

    real_time = True

    @abstractmethod
    def environment(self, scenario: Scenario, folder: Path, options: RunOptions) -> StationEnvironment:
        """What is around the stations in one repetition, whose folder is given."""
        raise NotImplementedError

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
        from testbed.backends.stations.orchestrator import Orchestrator
        from testbed.runtime.handler_watch import HandlerWatch

        assert folder is not None, "stations write logs"
        environment = self.environment(scenario, folder, options)
        with HandlerWatch(scenario.handler_limit):  # it asks the agents what they hold at the start
            orchestrator = Orchestrator(scenario, repetition, environment, listener, report, folder)
        orchestrator.run_all()
