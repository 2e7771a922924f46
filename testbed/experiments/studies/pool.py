"""Where the jobs of a study run: on this machine's cores, unless the user names other machines."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from testbed.backends.base import RunOptions
from testbed.backends.registry import usable_backend
from testbed.experiments.measure import RepetitionJob, run_job
from testbed.experiments.runner import Result, run
from testbed.experiments.studies.host_lock import alone_on_this_host
from testbed.experiments.workers import Done, Work, spread
from testbed.progress import Report
from testbed.scenario.schema import Scenario


class Pool(Protocol):
    """A place where jobs run."""

    def prepare(self, scenarios: Iterable[Scenario], report: Callable[[str], None]) -> None:
        """See that these scenarios can run there, and load what takes seconds. `report` takes words."""

    def spread(
        self, jobs: Sequence[RepetitionJob], order: Iterable[int], report: Callable[[dict[int, float], str], None]
    ) -> Generator[Done, None, None]:
        """Run jobs in virtual time, as `testbed.experiments.workers.spread` does."""

    def run(self, scenario: Scenario, first: int, out: Path, report: Report) -> Result:
        """Run the repetitions of a scenario in real time, from number `first` on, with nothing beside them."""


class LocalPool:
    """This machine: virtual time on all cores, real time alone."""

    def __init__(self, work: Work = run_job) -> None:
        self._work = work

    def prepare(self, scenarios: Iterable[Scenario], report: Callable[[str], None]) -> None:
        """Load what takes seconds, before worker processes are started, which have it then."""
        for name in dict.fromkeys(scenario.backend for scenario in scenarios):
            usable_backend(name).prepare(report)

    def spread(
        self, jobs: Sequence[RepetitionJob], order: Iterable[int], report: Callable[[dict[int, float], str], None]
    ) -> Generator[Done, None, None]:
        """In worker processes, one for each core."""
        return spread(self._work, jobs, order, report)

    def run(self, scenario: Scenario, first: int, out: Path, report: Report) -> Result:
        """In this process."""
        with alone_on_this_host():
            return run(scenario, out, report, RunOptions(first=first))
