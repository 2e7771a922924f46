"""`ns3`: ns-3's models of 802.11 between the nodes, in virtual time. No root; the same events for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from analysis.batched import BatchedListener
from analysis.listener import Listener
from testbed.backends.base import Backend, Refusal, RunOptions
from testbed.backends.ns3 import installation
from testbed.backends.ns3.routing import PROTOCOLS, hello_s
from testbed.radio.path_loss import ItuIndoor
from testbed.randomness import Streams
from testbed.scenario.links import RadioChoice
from testbed.scenario.schema import Scenario

MAX_STATIONS = 1000
"""Every station knows the address of every other, and every signal is computed at every station."""


class Ns3Backend(Backend):
    """Agents and link layers run in this process, and ns-3 beside them."""

    name = "ns3"
    summary = "ns-3's 802.11 ad hoc networks: contention, interference, acknowledgements; virtual time"
    may_abort = True
    routings = ("builtin", *PROTOCOLS)
    rate_controls = ("constant", "minstrel", "ideal")
    captures = ("air", "flows")

    def missing(self) -> str | None:
        """The wheel, a part of it, or what it needs to compile."""
        return installation.missing()

    def missing_extra(self) -> str | None:
        """With its extra, `setup.sh` also gets the compiler and the headers."""
        return "ns3"

    def refuses(self, scenario: Scenario) -> Refusal | None:
        """What ns-3 has no counterpart for."""
        if scenario.stations > MAX_STATIONS:
            return Refusal("nodes", str(scenario.stations), f"at most {MAX_STATIONS} stations with backend {self.name}")
        links = scenario.links
        if isinstance(links, RadioChoice) and links.duplicate:
            allowed = f"0 with backend {self.name}: its radios recognise frames that they have received already"
            return Refusal("links.duplicate", f"{links.duplicate:g}", allowed)
        if isinstance(links, RadioChoice) and scenario.routing in PROTOCOLS:
            shortest, longest = PROTOCOLS[scenario.routing].hello_s
            if not shortest <= (found := hello_s(scenario)) <= longest:
                allowed = f"{shortest:g} to {longest:g} seconds, which the messages of {scenario.routing} can carry"
                return Refusal("links.hello", f"{links.hello:g}, or {found:g} seconds", allowed)
        if scenario.radio is not None and isinstance(scenario.radio.propagation, ItuIndoor):
            allowed = f"another model with backend {self.name}: ns-3 has this one only in buildings with walls"
            return Refusal("radio.propagation", "itu-indoor", allowed)
        return None

    def prepare(self, report: Callable[[str], None]) -> None:
        """Load ns-3."""
        from testbed.backends.ns3 import library

        report("loading ns-3 ...")
        library.load()

    def attached(self) -> Backend:
        """The backend that runs on a network which a script has built."""
        from testbed.backends.ns3.attach import AttachedNs3

        return AttachedNs3()

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
        from testbed.backends.ns3 import library
        from testbed.backends.ns3.captures import capture_air
        from testbed.backends.ns3.flows import flow_statistics
        from testbed.backends.ns3.simulation import Ns3Simulation
        from testbed.runtime.handler_watch import HandlerWatch

        assert isinstance(listener, BatchedListener), "virtual time passes frequent events in batches"
        simulation: Ns3Simulation | None = None
        try:
            with HandlerWatch(scenario.handler_limit, lambda: -1 if simulation is None else simulation.now):
                simulation = Ns3Simulation(scenario, Streams(scenario.seed, repetition), listener)
                with ExitStack() as observed:
                    if folder is not None and options.pcap:
                        capture_air(library.load(), simulation.air.network, folder)
                    if folder is not None and options.flows:
                        observed.enter_context(flow_statistics(library.load(), simulation.air.network, folder))
                    simulation.run_all(report, options.pace)
        finally:
            if simulation is not None:
                simulation.air.close()
            library.clear()
