"""Runs one repetition with real processes: starts the stations, watches them, carries out the scenario's faults, stops
the stations, and has their logs merged in the order of time.

Orders are given at their time on the run's clock. Listeners get events later (`merging`).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import heappop
from pathlib import Path
from typing import Any

from agents.contract import TICKS, Needs, Shares
from analysis.listener import Listener
from testbed.backends.repetition import Repetition
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.environment import StationEnvironment
from testbed.backends.stations.fault_target import StationFaults
from testbed.backends.stations.lateness import bound_ms
from testbed.backends.stations.ledger import Ledger
from testbed.backends.stations.merging import LogMerger
from testbed.backends.stations.processes import FORK_SERVER, MEDIUM, Processes, ProcessName
from testbed.backends.stations.station_log import log_path, output_path
from testbed.backends.stations.timeline import FOR_EVER
from testbed.durations import to_ticks
from testbed.errors import MachineError, TestbedError
from testbed.event_queue import EventQueue
from testbed.randomness import Streams
from testbed.runtime.breach import AgentError, held
from testbed.scenario.schema import Scenario

START_TIMEOUT_S = 120.0
HEAD_START_S = 0.2
"""Between telling the stations when the run begins and that time."""
END_TIMEOUT_S = 15.0
MERGE_EVERY_S = 0.1


class StationError(TestbedError):
    """A process of the run died, or did not carry out an order in time."""


class Orchestrator(EventQueue):
    """One repetition. Its queue holds the orders to give, its ledger the state of the network according to the logs."""

    def __init__(
        self,
        scenario: Scenario,
        repetition: int,
        environment: StationEnvironment,
        listener: Listener,
        report: Callable[[float], None],
        folder: Path,
    ) -> None:
        super().__init__()
        self.scenario = scenario
        self._environment = environment
        self._report = report
        self._folder = folder
        self._repetition = Repetition(scenario, Streams(scenario.seed, repetition))
        self._spec = {"scenario": scenario.to_yaml(), "repetition": repetition, "folder": str(folder)}
        agents = [self._repetition.agent(node) for node in range(scenario.nodes)]
        self._held_at_start = [held(agent, node, event="start") for node, agent in enumerate(agents)]
        usable = self._repetition.usable_graph()
        self._links_at_start = self._repetition.links_of_nodes()
        agent = scenario.algorithm.agent
        has_units = agent.shares is Shares.TOKENS and agent.needs is not Needs.GROUPS
        absent = self._absent_at_start()
        self._ledger = Ledger(
            usable, self._held_at_start, absent, listener, has_units=has_units, section_of=self._section_of()
        )
        self._merger = LogMerger(self._ledger, listener)
        self._listener = listener
        self._clock: RunClock | None = None
        self._transport: dict[str, Any] = {}
        self._incarnations = dict.fromkeys(range(scenario.stations), 1)
        self._ready: set[ProcessName] = set()
        self._crashed: set[int] = set()  # by a fault
        self._idle: set[int] = set()
        self._ends: dict[ProcessName, dict[str, Any]] = {}
        self._stopped_at: int | None = None
        self._is_finishing = False
        self._last_entry = (0, 0)  # the number of entries after the last one, and when it was noticed
        self._faults = StationFaults(self, self._repetition, self._merger)

    def _section_of(self) -> Callable[[int], int | None] | None:
        """The cluster of a node; None where neighbourhoods are its sections."""
        if self._repetition.groups is not None:
            return None
        clusters = self._repetition.clusters
        return (lambda node: 0) if clusters is None else clusters.of.__getitem__

    def _absent_at_start(self) -> set[int]:
        geometry = self._repetition.geometry
        return {node for seconds, node, _ in geometry.absences() if seconds == 0} if geometry is not None else set()

    # -- the run -----------------------------------------------------------------------------------------------------

    def run_all(self) -> None:
        """The whole repetition. Even after an error no process is left, and all logs are merged."""
        (self._folder / "nodes").mkdir(exist_ok=True)
        try:
            try:
                with Processes(self._folder) as self._processes:
                    self._start()
                    why = self._watch()
                    self._finish()
            finally:
                self._environment.close()
            self._merger.merge(FOR_EVER)
            self._log_end(why)
        except BaseException as error:
            self._merger.merge(FOR_EVER)
            if isinstance(error, AgentError):  # other stations may have gone on for a moment
                error.t = max(error.t, self._ledger.now)
            raise

    def _start(self) -> None:
        """Start all processes, and begin when they are ready."""
        processes = self._processes
        processes.start(FORK_SERVER, "testbed.backends.stations.__main__", self._spec)
        if self._environment.open(processes, self._repetition, self._spec):
            self._note_medium(None)
        self._await(lambda: {MEDIUM, FORK_SERVER} <= self._ready, START_TIMEOUT_S, "the medium and the fork server")
        for node in range(self.scenario.stations):
            self._start_station(node)
        self._await(lambda: set(self._incarnations) <= self._ready, START_TIMEOUT_S, "all stations")
        epoch_ns = time.monotonic_ns() + round(HEAD_START_S * 1e9)
        self._clock = RunClock(epoch_ns, self.scenario.time_unit)
        told: list[ProcessName] = [MEDIUM, *self._environment.helpers, *self._incarnations]
        for name in told:
            processes.tell(name, {"do": "start", "epoch": epoch_ns})
        self._repetition.log_start(self._listener, self._held_at_start, self._links_at_start)
        self._ledger.partitions.update()
        self._faults.begin()
        if self.scenario.duration is not None:
            self.at(to_ticks(self.scenario.duration), self._stop)

    def _watch(self) -> str:
        """Let the run go on until there is a reason to end it; returns that."""
        why, merged_at = None, 0.0
        while why is None:
            self._do_due()
            self._listen(self._seconds_to_next(MERGE_EVERY_S))
            if time.monotonic() - merged_at >= MERGE_EVERY_S:  # not at every message of a hundred stations
                merged_at = time.monotonic()
                self._merger.merge(self.now)
                self._report(self._progress())
                why = None if self._environment.is_held() else self._reason_to_end()
        return why

    def _do_due(self) -> None:
        """Give the orders that are due, and tell the medium if faults forbid other pairs than before."""
        self._read_clock()
        while self.heap and self.heap[0][0] <= self.now:
            _t, _ticket, happen, args = heappop(self.heap)
            happen(*args)
            self._read_clock()
        self._faults.tell_forbidden()

    def _seconds_to_next(self, at_most: float) -> float:
        """The time until the next order is due."""
        if not self.heap or self._clock is None:
            return at_most
        return max(0.0, min(at_most, self._clock.monotonic_s(self.heap[0][0]) - time.monotonic()))

    def _read_clock(self) -> None:
        if self._clock is not None:
            self.now = max(self.now, self._clock.ticks())

    def _reason_to_end(self) -> str | None:
        scenario, holdings = self.scenario, self._ledger.holdings
        if self._stopped_at is None:
            if scenario.entries is None:
                return None
            if holdings.entries > self._last_entry[0]:
                self._last_entry = (holdings.entries, self.now)
            if holdings.entries >= scenario.entries:
                self._stop()
            is_late = self.now - self._last_entry[1] > to_ticks(scenario.drain)
            if self._stopped_at is None and is_late and (holdings.waiting or not self._may_ask()):
                return "no entry for as long as drain allows"
            return None
        if set(self._incarnations) - self._crashed <= self._idle:
            return "every request served"
        if self._ledger.is_hopeless():
            return "no pending request can be served"
        if self.now > self._stopped_at + to_ticks(scenario.drain):
            return "drain expired"
        return None

    def _may_ask(self) -> bool:
        """Whether a node is inside, or may ask of itself, by the script, or once a fault is over."""
        scenario, workload = self.scenario, self.scenario.workload
        asks = any(workload.rate_of(node) for node in set(range(scenario.nodes)) - self._crashed)
        planned = [*(one.at for one in workload.requests), *(fault.at for fault in scenario.faults)]
        return asks or bool(self._ledger.holdings.inside) or any(to_ticks(at) >= self.now for at in planned)

    def _progress(self) -> float:
        if self.scenario.duration is not None:
            return min(1.0, self.now / TICKS / self.scenario.duration)
        return min(1.0, self._ledger.holdings.entries / (self.scenario.entries or 1))

    def _stop(self) -> None:
        """No more requests and link changes."""
        self._stopped_at = self.now
        self._merger.post_close(self.now, self._repetition.patience)
        self._faults.changes.stop()
        for node in self._incarnations:
            self._tell_to_stop(node)

    def _tell_to_stop(self, node: int) -> None:
        """For scenarios without a duration: stations do not know how often the others have entered."""
        if self.scenario.duration is None:
            self._processes.tell(node, {"do": "stop"})

    def _finish(self) -> None:
        """Let all processes report and exit."""
        self._await_exits(self._crashed)  # from now on exits are expected
        self._is_finishing = True
        alive = set(self._incarnations) - self._crashed
        for node in alive:
            self._processes.tell(node, {"do": "finish"})
        self._await(lambda: alive <= set(self._ends), END_TIMEOUT_S, "the stations' last reports")
        for name in (*self._environment.helpers, MEDIUM):
            self._processes.tell(name, {"do": "finish"})
            reported = partial(self._ends.__contains__, name)
            self._await(reported, END_TIMEOUT_S, f"the last report of {_described(name)}")

    def _log_end(self, why: str) -> None:
        """Log what is still pending, what was lost, and what every node holds."""
        ledger, listener, now = self._ledger, self._listener, self.now
        assert self._clock is not None
        began = datetime.now(UTC) - timedelta(seconds=self._clock.seconds())
        reports = {"began": began.isoformat(), "environment": self._environment.notes()}
        reports |= {str(name): end for name, end in self._ends.items()}
        (self._folder / "nodes" / "ends.json").write_text(json.dumps(reports, indent=1) + "\n", encoding="utf-8")
        for source, target, id, type, units, tokens in ledger.lost_to_crashes():
            listener.lost(now, source, target, id, type, units, tokens, "crash")
        if ledger.holdings.waiting and self.scenario.algorithm.agent.shares is Shares.PERMISSIONS:
            for node in self._incarnations:
                awaited = self._ends.get(node, {}).get("awaits", [])
                if awaited:
                    listener.awaits(now, node, awaited, self._ends[node]["spares"])
        for node, since in sorted(ledger.holdings.waiting.items()):
            listener.pending(now, node, since, node in ledger.alive, *ledger.partitions.reach(node))
        self._log_frames()
        self._log_lateness()
        held = [
            [self._ends[node][what] if node in self._ends else 0 for node in range(self.scenario.nodes)]
            for what in ("units", "tokens")
        ]
        listener.stop(now, None, why, *held)

    def _log_lateness(self) -> None:
        """Log how late the medium was, and the station that was latest. What crashed incarnations measured is lost."""
        measured = {node: self._ends.get(node, {}).get("lateness_ms") for node in self._incarnations}
        stations = [{**summary, "station": node} for node, summary in measured.items() if summary is not None]
        latest = max(stations, key=lambda one: one["p99"], default=None)
        allowed_ms = bound_ms(self._repetition.link_settings(), self.scenario.time_unit)
        self._listener.lateness(self.now, None, self._ends[MEDIUM]["lateness_ms"], latest, allowed_ms)

    def _log_frames(self) -> None:
        frames, bytes = Counter[str](), Counter[str]()
        by_kernels = self._ends[MEDIUM].get("routing") or {}  # stations cannot count these
        for report in (by_kernels, *(self._ends.get(node, {}) for node in self._incarnations)):
            frames.update(report.get("frames", {}))
            bytes.update(report.get("bytes", {}))
        for kind in sorted(frames):
            self._listener.frames(self.now, None, kind, frames[kind], bytes[kind])

    # -- messages from the processes ---------------------------------------------------------------------------------

    def _await(self, is_done: Callable[[], bool], timeout_s: float, what: str) -> None:
        give_up = time.monotonic() + timeout_s
        while not is_done():
            if time.monotonic() > give_up:
                raise StationError(f"waited {timeout_s:g} s in vain for {what}")
            self._listen(MERGE_EVERY_S)

    def _await_exits(self, killed: set[int]) -> None:
        """Wait until killed stations are known to have exited and their logs have been read."""
        names = ", ".join(map(str, sorted(killed)))
        self._await(lambda: all(map(self._merger.is_closed, killed)), END_TIMEOUT_S, f"the exit of station {names}")

    def _listen(self, timeout_s: float) -> None:
        """Handle the messages that have arrived, or wait for one."""
        for name, message in self._processes.hear(timeout_s):
            self._read_clock()
            if message is None:
                self._notice_end(name)
            elif "lacks" in message:
                raise MachineError(message["lacks"])
            elif "failed" in message:
                raise StationError(message["failed"])
            elif "breach" in message:
                raise AgentError(**message["breach"])
            elif "end" in message:
                self._ends[name] = message["end"]
            elif name == FORK_SERVER:
                self._hear_fork_server(message)
            elif isinstance(name, int):
                self._hear_station(name, message)
            elif name == MEDIUM and "ready" in message:
                self._note_medium(message["ready"])
            else:
                self._environment.hear(message)

    def _note_medium(self, ready: Any) -> None:
        self._transport = self._environment.transport(ready)
        self._ready.add(MEDIUM)

    def _hear_fork_server(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready.add(FORK_SERVER)
        elif "started" in message:
            self._processes.note_pid(message["started"], message["pid"])
        else:
            self._notice_exit(message["exited"], message["incarnation"], message["code"])

    def _hear_station(self, node: int, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready.add(node)
            self._environment.station_ready(self._processes, node, message["ready"])
            if self._clock is not None:  # it has restarted
                self._repeat_orders(node, self._clock)
        elif self._merger.set_clock(node, message["clock"]) and message["idle"]:
            self._idle.add(node)

    def _repeat_orders(self, node: int, clock: RunClock) -> None:
        """Give a station the orders that the others got while it had crashed or was not ready."""
        self._processes.tell(node, {"do": "start", "epoch": clock.epoch_ns})
        if self._stopped_at is not None:
            self._tell_to_stop(node)
        if self._is_finishing:
            self._processes.tell(node, {"do": "finish"})

    def _notice_end(self, name: ProcessName) -> None:
        """A control channel has ended. The fork server reports exits of stations; the others may end when finishing."""
        if isinstance(name, str) and not self._is_finishing:
            raise StationError(f"{_described(name)} died{self._when()}: {self._processes.last_output(name)}")

    def _notice_exit(self, node: int, incarnation: int, code: int) -> None:
        if self._is_finishing or incarnation != self._incarnations[node]:
            return
        if node not in self._crashed:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            output = output_path(self._folder, f"{node:03d}")
            raise StationError(f"station {node} died {how}{self._when()}; what it printed is in {output}")
        self._merger.post_crash(self.now, node)

    def _when(self) -> str:
        return f" at t={self.now / TICKS:.3f}" if self._clock is not None else " before the run began"

    # -- what faults ask for -----------------------------------------------------------------------------------------

    def is_alive(self, node: int) -> bool:
        """Whether a station has not been crashed by a fault."""
        return node not in self._crashed

    def crash(self, node: int) -> None:
        """Kill a station; the crash is logged when it has exited and its log has been read."""
        self._crashed.add(node)
        self._processes.kill(node)

    def restart(self, node: int) -> None:
        """Start a station again, once its earlier incarnation is known to have exited and its log is closed."""
        self._await_exits({node})
        self._incarnations[node] += 1
        self._crashed.discard(node)
        self._idle.discard(node)
        self._start_station(node)
        self._merger.post_restart(self.now, node, self._incarnations[node] - 1)

    def vanish(self, node: int) -> None:
        """Let a node leave its neighbourhood at once."""
        self._processes.tell(node, {"do": "vanish"})

    def tell_medium(self, order: dict[str, Any]) -> None:
        """Give the medium an order."""
        self._processes.tell(MEDIUM, order)

    def _start_station(self, node: int) -> None:
        incarnation = self._incarnations[node]
        self._merger.add_log(node, log_path(self._folder, node, incarnation), self.now)
        self._processes.start_station(node, incarnation, self._transport, self._environment.descriptors(node))


def _described(name: str) -> str:
    return {MEDIUM: "the medium", FORK_SERVER: "the fork server"}.get(name, name)
