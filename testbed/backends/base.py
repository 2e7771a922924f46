"""What a backend is: the one interface between a scenario and a place where it can run.

A backend subclasses `Backend`, overrides what differs from the defaults, and has a line in
`testbed.backends.registry`. The schema asks it which keys it refuses, the runner asks it what this machine lacks, and
`tests/testbed/backends/test_conformance.py` runs over all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from analysis.listener import Listener
from testbed.errors import InputError
from testbed.progress import Report

if TYPE_CHECKING:
    from testbed.scenario.schema import Scenario

MIN_TIME_UNIT, MAX_TIME_UNIT = 0.001, 1000.0
"""Seconds to a time unit where time is real: with fewer, real delays are too long; with more, a tick is too coarse."""


@dataclass(frozen=True)
class RunOptions:
    """What a user asks of one run besides the scenario."""

    pcap: bool = False
    """A capture of the air."""
    cli: bool = False
    """The network's own command line, while the agents run."""
    attach: tuple[Any, ...] = ()
    """Stations that another program has built: processes in their namespaces, or the nodes and devices of ns-3."""
    flows: bool = False
    """Statistics of every flow of datagrams between two stations."""
    first: int = 0
    """The number of the first repetition: those before it were run elsewhere."""
    pace: float | None = None
    """How many time units pass in a second, where time is virtual; None for as many as can."""

    def as_arguments(self) -> list[str]:
        """The same, for `testbed run` in another place."""
        switches = [f"--{name}" for name in ("pcap", "cli", "flows") if getattr(self, name)]
        return [*switches, "--first", str(self.first)] if self.first else switches


@dataclass(frozen=True)
class Refusal:
    """A key of a scenario that a backend refuses: what was found there, and what is allowed and why."""

    key: str
    found: str
    allowed: str


class Backend(Protocol):
    """A place where scenarios run. Everything but the name, the summary and `run_repetition` has a default."""

    name: ClassVar[str]
    """What a scenario calls it."""
    summary: ClassVar[str]
    """One line for `testbed list backends`."""
    real_time: ClassVar[bool] = False
    """Whether its time is real. Then a run must be alone on the machine, and its listener receives event by event."""
    has_ideal_links: ClassVar[bool] = False
    """Whether it has the papers' links: reliable, in order, announced."""
    routings: ClassVar[tuple[str, ...]] = ("builtin",)
    """What can find routes for algorithms that address any node."""
    rate_controls: ClassVar[tuple[str, ...]] = ("constant",)
    """What can choose the rates of frames for one receiver."""
    media: ClassVar[tuple[str, ...]] = ("ours",)
    """What can carry frames from radio to radio."""
    captures: ClassVar[tuple[str, ...]] = ()
    """What it can capture of a run: `air` for the frames on the air, `flows` for statistics of flows."""
    has_command_line: ClassVar[bool] = False
    """Whether its network has a command line of its own."""
    may_run_elsewhere: ClassVar[bool] = False
    """Whether it may have to run on another kernel than this machine's own; then each run prints which one it uses."""

    may_abort: ClassVar[bool] = False
    """Whether an error in a library may end the process of a repetition; then that is always a worker process."""

    # -- what it can do ----------------------------------------------------------------------------------------------

    def missing(self) -> str | None:
        """What this machine lacks for it, in one line that says how to get it; None if it can run."""
        return None

    def missing_extra(self) -> str | None:
        """The extra that has what is `missing` (`testbed.extras`); None if no extra has it."""
        return None

    def refuses(self, scenario: Scenario) -> Refusal | None:
        """The first key of a scenario that it cannot serve, besides what follows from its declarations above.

        Asked while the scenario is checked; `testbed.backends.rules` has the rules that follow from the declarations.
        """
        return None

    def check(self, scenario: Scenario, options: RunOptions) -> None:
        """Raise an error for what it cannot do, before anything is started."""
        if options.pcap and "air" not in self.captures:
            raise InputError(f"--pcap: backend {self.name} puts no frames on the air")
        if options.flows and "flows" not in self.captures:
            raise InputError(f"--flows: backend {self.name} has no statistics of flows; ns3 has")
        if options.cli and not self.has_command_line:
            raise InputError(f"--cli: backend {self.name} has no command line; mininet-wifi has")
        if options.pace is not None and self.real_time:
            raise InputError(f"--pace: in backend {self.name} time is real; the scenario's time_unit sets the pace")
        if options.attach:
            raise InputError(f"--attach: backend {self.name} makes its own stations; allowed: mininet-wifi")

    def attached(self) -> Backend:
        """The backend that runs on stations which another program has built (`RunOptions.attach`)."""
        return self

    # -- running -----------------------------------------------------------------------------------------------------

    def runs_here(self) -> bool:
        """Whether runs happen on this machine's own kernel; if not, `run_elsewhere` takes them."""
        return True

    def run_elsewhere(self, scenario: Scenario, out: Path, report: Report, options: RunOptions) -> Path:
        """Run a whole scenario in another place; returns its run directory, which is under `out`."""
        raise AssertionError(f"{self.name} runs here")

    def prepare(self, report: Callable[[str], None]) -> None:
        """Load what takes seconds, before worker processes are started, which have it then. `report` takes words."""
        return

    @abstractmethod
    def run_repetition(
        self,
        scenario: Scenario,
        repetition: int,
        listener: Listener,
        report: Callable[[float], None],
        folder: Path | None,
        options: RunOptions,
    ) -> None:
        """Run one repetition, passing everything that happens to the listener: in virtual time a `BatchedListener`.

        `report` takes the share that is done. `folder` is the repetition's; None if no file is to be written, which
        only backends in virtual time are asked for.
        """
        raise NotImplementedError
