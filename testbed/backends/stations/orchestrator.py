"""Runs one repetition with real processes: starts stations, watches them, breaks and mends what the scenario says,
stops them, and puts their logs together in the order of time.

Orders are given when the run's clock says so. Listeners are told later, when all logs have been read up to that time.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from heapq import heappop
from itertools import combinations
from pathlib import Path
from typing import Any

from analysis.events import KINDS, TICKS, VERSION
from analysis.listener import Fan, Listener, method_name
from testbed.runtime.initial_state import Beginning
from testbed.network.changes import make_changes
from testbed.runtime.driver import AgentError
from testbed.durations import to_ticks
from testbed.errors import TestbedError
from testbed.event_queue import EventQueue
from testbed.network.faults import Faults
from testbed.network.interfaces import MovingUnits
from testbed.scenario.schema import Scenario
from testbed.backends.stations.ledger import Account
from testbed.backends.stations.processes import MEDIUM, NURSERY, Children, Who
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.station_log import log_path, output_path
from testbed.backends.stations.timeline import FOR_EVER, LogTail, Timeline
from testbed.backends.stations.environment import WorldOfStations
from testbed.randomness import Streams

START_TIMEOUT_S = 120.0
HEAD_START_S = 0.2
"""From when stations are told of the beginning of the run to that beginning."""
END_TIMEOUT_S = 15.0
LOOK_EVERY_S = 0.1


class StationError(TestbedError):
    """A process of the run died, or did not do in time what it was told."""


class Orchestrator(EventQueue):
    """One repetition. Its queue holds what is to be ordered; its account, what is known to have happened."""

    def __init__(
        self,
        scenario: Scenario,
        repetition: int,
        world: WorldOfStations,
        listener: Listener,
        report: Callable[[float], None],
        folder: Path,
    ) -> None:
        super().__init__()
        self.scenario = scenario
        self._world = world
        self._report = report
        self._folder = folder
        self._beginning = Beginning(scenario, Streams(scenario.seed, repetition))
        self._spec = {"scenario": scenario.to_yaml(), "repetition": repetition, "folder": str(folder)}
        self._units = [self._beginning.agent(node).units for node in range(scenario.nodes)]
        self._links_at_start = [list(link) for link in self._beginning.graph.links()]
        self._account = Account(self._beginning.graph, self._units, self._absent_at_start(), listener)
        self._tell_all = Fan(self._account.holdings, listener)
        self._listener = listener
        self._timeline = Timeline()
        self._clock: RunClock | None = None
        self._transport: dict[str, Any] = {}
        self._lives = dict.fromkeys(range(scenario.nodes), 1)
        self._tails: dict[int, LogTail] = {}  # by node, of its present life
        self._ready: set[Who] = set()
        self._dead: set[int] = set()  # by a fault
        self._idle: set[int] = set()
        self._ends: dict[Who, dict[str, Any]] = {}
        self._stopped_at: int | None = None
        self._is_finishing = False
        self._last_entry = (0, 0)  # how many there were when there was one last, and when that was
        # What faults and link changes work on.
        self.graph = self._beginning.graph
        self.links = _Announced(self)
        self.listener = _Postponed(self)
        self.changes = make_changes(self, self.links, self._beginning)
        self._forbidding: list[Callable[[int, int], bool]] = []
        self._faults = Faults(scenario.faults, self)

    def _absent_at_start(self) -> set[int]:
        geometry = self._beginning.geometry
        paths = geometry.trajectories if geometry is not None else []
        return {node for node, path in enumerate(paths) if not path.is_there(0.0)}

    # -- the run -----------------------------------------------------------------------------------------------------

    def run_all(self) -> None:
        """The whole repetition. Whatever happens, no process is left and all logs are put together."""
        (self._folder / "nodes").mkdir(exist_ok=True)
        try:
            try:
                with Children(self._folder) as self._children:
                    self._start()
                    why = self._watch()
                    self._finish()
            finally:
                self._world.close()
            self._put_together(FOR_EVER)
            self._close(why)
        except BaseException:
            self._put_together(FOR_EVER)
            raise

    def _start(self) -> None:
        """Bring everybody up, and begin when all are ready."""
        children = self._children
        children.start(NURSERY, "testbed.backends.stations.__main__", self._spec)
        if self._world.open(children, self._beginning, self._spec):
            self._note_medium(None)
        self._await(lambda: {MEDIUM, NURSERY} <= self._ready, START_TIMEOUT_S, "the medium and the stations' parent")
        for node in range(self.scenario.nodes):
            self._bear(node)
        self._await(lambda: set(self._lives) <= self._ready, START_TIMEOUT_S, "all stations")
        epoch_ns = time.monotonic_ns() + round(HEAD_START_S * 1e9)
        self._clock = RunClock(epoch_ns, self.scenario.time_unit)
        everybody: list[Who] = [MEDIUM, *self._world.helpers, *self._lives]
        for who in everybody:
            children.tell(who, {"do": "start", "epoch": epoch_ns})
        self._tell_start()
        self._plan()

    def _tell_start(self) -> None:
        scenario, choice = self.scenario, self.scenario.algorithm
        self._listener.start(
            0, None, VERSION, scenario.trace, self._beginning.needs, choice.agent.capacity(choice.parameters),
            to_ticks(scenario.warmup), self._units, self._links_at_start,
        )  # fmt: skip
        self._account.partitions.update()

    def _plan(self) -> None:
        """What is to happen at which time."""
        self.changes.begin()
        self._faults.begin()
        geometry = self._beginning.geometry
        for node, path in enumerate(geometry.trajectories if geometry is not None else ()):
            for seconds, happen in ((path.appears, set.discard), (path.leaves, set.add)):
                if 0 < seconds < (geometry.seconds if geometry is not None else 0.0):
                    self.at(to_ticks(seconds / self.scenario.time_unit), self._be_absent, happen, node)
        if self.scenario.duration is not None:
            self.at(to_ticks(self.scenario.duration), self._stop)

    def _watch(self) -> str:
        """Let the run go on until there is a reason to end it."""
        why, looked_at = None, 0.0
        while why is None:
            self._do_due()
            self._listen(self._seconds_to_next(LOOK_EVERY_S))
            if time.monotonic() - looked_at >= LOOK_EVERY_S:  # not at every word of a hundred stations
                looked_at = time.monotonic()
                self._put_together(self.now)
                self._report(self._progress())
                why = None if self._world.is_held() else self._reason_to_end()
        return why

    def _do_due(self) -> None:
        """Carry out what is due, and let the medium know of what it forbids."""
        self._look()
        while self.heap and self.heap[0][0] <= self.now:
            _t, _ticket, happen, args = heappop(self.heap)
            happen(*args)
            self._look()
        if self.changes.forbidden != self._forbidding:
            self._forbidding = list(self.changes.forbidden)
            pairs = [pair for pair in combinations(self._lives, 2) if not self.changes.may_form(*pair)]
            self._children.tell(MEDIUM, {"do": "forbid", "pairs": pairs})

    def _seconds_to_next(self, at_most: float) -> float:
        """How long there is nothing to be done."""
        if not self.heap or self._clock is None:
            return at_most
        return max(0.0, min(at_most, self._clock.monotonic_s(self.heap[0][0]) - time.monotonic()))

    def _look(self) -> None:
        if self._clock is not None:
            self.now = max(self.now, self._clock.ticks())

    def _reason_to_end(self) -> str | None:
        scenario, account = self.scenario, self._account
        if self._stopped_at is None:
            if scenario.entries is None:
                return None
            if account.holdings.entries > self._last_entry[0]:
                self._last_entry = (account.holdings.entries, self.now)
            if account.holdings.entries >= scenario.entries:
                self._stop()
            elif account.holdings.waiting and self.now - self._last_entry[1] > to_ticks(scenario.drain):
                return "no entry for as long as drain allows"
            return None
        if set(self._lives) - self._dead <= self._idle:
            return "every request served"
        if account.is_hopeless():
            return "nobody is left who could be served"
        if self.now > self._stopped_at + to_ticks(scenario.drain):
            return "drain expired"
        return None

    def _progress(self) -> float:
        if self.scenario.duration is not None:
            return min(1.0, self.now / TICKS / self.scenario.duration)
        return min(1.0, self._account.holdings.entries / (self.scenario.entries or 1))

    def _stop(self) -> None:
        """No more requests and link changes."""
        self._stopped_at = self.now
        self.changes.stop()
        for node in self._lives:
            self._tell_to_stop(node)

    def _tell_to_stop(self, node: int) -> None:
        """Stations know the duration themselves, but not how often the others have entered."""
        if self.scenario.duration is None:
            self._children.tell(node, {"do": "stop"})

    def _finish(self) -> None:
        """Let everybody say what there is to say, and go."""
        self._await_deaths(self._dead)  # from now on it is no news that somebody has gone
        self._is_finishing = True
        alive = set(self._lives) - self._dead
        for node in alive:
            self._children.tell(node, {"do": "finish"})
        self._await(lambda: alive <= set(self._ends), END_TIMEOUT_S, "what stations say at their end")
        for who in (*self._world.helpers, MEDIUM):
            self._children.tell(who, {"do": "finish"})
            self._await(partial(self._ends.__contains__, who), END_TIMEOUT_S, f"what {self._name(who)} says at its end")

    def _close(self, why: str) -> None:
        """Say what is still open, what was lost, and what every node holds."""
        account, listener, now = self._account, self._listener, self.now
        assert self._clock is not None
        began = datetime.now(UTC) - timedelta(seconds=self._clock.seconds())
        said = {"began": began.isoformat(), "world": self._world.notes()}
        said |= {str(who): end for who, end in self._ends.items()}
        (self._folder / "nodes" / "ends.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
        for source, target, id, type, units in account.lost_to_crashes():
            listener.lost(now, source, target, id, type, units, "crash")
        for node, since in sorted(account.holdings.waiting.items()):
            listener.pending(now, node, since, node in account.alive, *account.component(node))
        frames, bytes = Counter[str](), Counter[str]()
        by_kernels = self._ends[MEDIUM].get("routing") or {}  # what stations do not know to have sent
        for said in (by_kernels, *(self._ends.get(node, {}) for node in self._lives)):
            frames.update(said.get("frames", {}))
            bytes.update(said.get("bytes", {}))
        for kind in sorted(frames):
            listener.frames(now, None, kind, frames[kind], bytes[kind])
        lateness = self._ends[MEDIUM]["lateness_ms"]
        if lateness is not None:
            listener.lateness(now, None, lateness)
        held = [self._ends[node]["units"] if node in self._ends else 0 for node in self._lives]
        listener.stop(now, None, why, held)

    # -- what the processes say --------------------------------------------------------------------------------------

    def _await(self, is_there: Callable[[], bool], timeout_s: float, what: str) -> None:
        give_up = time.monotonic() + timeout_s
        while not is_there():
            if time.monotonic() > give_up:
                raise StationError(f"waited {timeout_s:g} s in vain for {what}")
            self._listen(LOOK_EVERY_S)

    def _await_deaths(self, killed: set[int]) -> None:
        """Until stations that were killed are known to be dead, their logs are read, and their crashes posted."""
        names = ", ".join(map(str, sorted(killed)))
        self._await(
            lambda: all(self._tails[node].is_closed for node in killed), END_TIMEOUT_S, f"the death of station {names}"
        )

    def _listen(self, timeout_s: float) -> None:
        """Hear what there is to hear, or wait for it."""
        for who, message in self._children.hear(timeout_s):
            self._look()
            if message is None:
                self._miss(who)
            elif "failed" in message:
                raise (StationError if who == MEDIUM or who in self._world.helpers else AgentError)(message["failed"])
            elif "end" in message:
                self._ends[who] = message["end"]
            elif who == NURSERY:
                self._hear_nursery(message)
            elif isinstance(who, int):
                self._hear_station(who, message)
            elif who == MEDIUM and "ready" in message:
                self._note_medium(message["ready"])
            else:
                self._world.hear(message)

    def _note_medium(self, ready: Any) -> None:
        self._transport = self._world.transport(ready)
        self._ready.add(MEDIUM)

    def _hear_nursery(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready.add(NURSERY)
        elif "born" in message:
            self._children.note_pid(message["born"], message["pid"])
        else:
            self._bury(message["died"], message["life"], message["code"])

    def _hear_station(self, node: int, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready.add(node)
            self._world.welcome(self._children, node, message["ready"])
            if self._clock is not None:  # it has come back
                self._tell_orders_so_far(node, self._clock)
            return
        tail = self._tails[node]
        if tail.is_closed:  # it is dead and buried; this was on its way
            return
        tail.clock = message["clock"]
        if message["idle"]:
            self._idle.add(node)

    def _tell_orders_so_far(self, node: int, clock: RunClock) -> None:
        """What all have been told, while this one was dead or not yet able to obey."""
        self._children.tell(node, {"do": "start", "epoch": clock.epoch_ns})
        if self._stopped_at is not None:
            self._tell_to_stop(node)
        if self._is_finishing:
            self._children.tell(node, {"do": "finish"})

    def _miss(self, who: Who) -> None:
        """A process has gone. Of stations, their parent says how; the medium goes when it has said all."""
        if isinstance(who, str) and not self._is_finishing:
            raise StationError(f"{self._name(who)} died{self._when()}: {self._children.last_words(who)}")

    def _name(self, who: str) -> str:
        return {MEDIUM: "the medium", NURSERY: "the parent of the stations"}.get(who, who)

    def _bury(self, node: int, life: int, code: int) -> None:
        if self._is_finishing or life != self._lives[node]:
            return
        if node not in self._dead:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            output = output_path(self._folder, f"{node:03d}")
            raise StationError(f"station {node} died {how}{self._when()}; what it printed is in {output}")
        self._tails[node].close()
        self._timeline.add(self.now, partial(self._account_crash, self.now, node))

    def _when(self) -> str:
        return f" at t={self.now / TICKS:.3f}" if self._clock is not None else " before the run began"

    # -- what faults and movement ask for ----------------------------------------------------------------------------

    def is_alive(self, node: int) -> bool:
        """Whether a node runs."""
        return node not in self._dead

    def holders(self) -> list[int]:
        """The nodes that hold units, as far as the logs have been read."""
        return [node for node in self._account.holders() if self.is_alive(node)]

    def moving_units(self) -> list[MovingUnits]:
        """The units on their way; where they have arrived will be known in a moment."""
        soon = self.now + to_ticks(LOOK_EVERY_S / self.scenario.time_unit)
        return [MovingUnits(moving.source, moving.target, soon) for moving in self._account.moving_units()]

    def crash(self, node: int) -> None:
        """Kill a station; it is accounted for when it is dead and its log has been read."""
        self._dead.add(node)
        self._children.kill(node)

    def restart(self, node: int) -> None:
        """Let a station come back in a new life, once the one before is known to be over and its log is closed."""
        self._await_deaths({node})
        self._lives[node] += 1
        self._dead.discard(node)
        self._idle.discard(node)
        self._bear(node)
        self.post(partial(self._account_restart, self.now, node, self._lives[node] - 1))

    def lose(self, node: int | None, message: str | None) -> None:
        """No scenario with radio links may ask for that."""
        raise AssertionError("messages over radio links are sent again")

    def look_at_parts(self) -> None:
        """Nodes have come or gone: see who can reach whom."""
        self.post(self._account.partitions.update)

    def reach(self, *, up: bool, a: int, b: int) -> None:
        """Two nodes come together or part."""
        links = self._account.links
        self.post(partial(links.up if up else links.down, a, b))
        if self._beginning.geometry is None:  # otherwise the medium sees for itself
            self._children.tell(MEDIUM, {"do": "allow", "pairs": [list(link) for link in self.graph.links()]})

    def post(self, happen: Callable[[], None]) -> None:
        """Something happens now, and is accounted for when the logs have been read so far."""
        self._timeline.add(self.now, happen)

    def _be_absent(self, happen: Callable[[set[int], int], None], node: int) -> None:
        self.post(partial(happen, self._account.absent, node))
        self.look_at_parts()

    def _bear(self, node: int) -> None:
        life = self._lives[node]
        tail = self._tails[node] = LogTail(log_path(self._folder, node, life))
        tail.clock = self.now  # it has nothing to say of what was before
        self._timeline.tails.append(tail)
        self._children.bear(node, life, self._transport, self._world.descriptors(node))

    # -- what has happened -------------------------------------------------------------------------------------------

    def _put_together(self, until: int) -> None:
        """Tell the listeners what all logs hold, in order, as far as they are complete."""
        if until == FOR_EVER:
            for tail in self._timeline.tails:
                tail.close()
        account = self._account
        for t, what in self._timeline.take(until):
            account.now = t
            if not isinstance(what, dict):
                what()
                continue
            kind = what["kind"]
            fields = KINDS[kind][1]
            getattr(self._tell_all, method_name(kind))(t, what["node"], *[what[name] for name in fields])
            if kind in ("recv", "return") and what["units"]:
                account.unit_arrived()

    def _account_crash(self, t: int, node: int) -> None:
        account = self._account
        account.alive.discard(node)
        self._tell_all.crash(t, node, account.holdings.held[node])
        account.partitions.update()

    def _account_restart(self, t: int, node: int, incarnation: int) -> None:
        self._account.alive.add(node)
        self._tell_all.restart(t, node, incarnation)


class _Announced:
    """The links that faults and link changes change: the medium is told at once, the account when its time comes."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def up(self, a: int, b: int) -> None:
        self._orchestrator.reach(up=True, a=a, b=b)

    def down(self, a: int, b: int) -> None:
        self._orchestrator.reach(up=False, a=a, b=b)


class _Postponed(Listener):
    """Tells of faults when the logs have been read so far."""

    def __init__(self, orchestrator: Orchestrator) -> None:
        self._orchestrator = orchestrator

    def fault(self, t: int, node: int | None, fault: str, detail: Any) -> None:
        orchestrator = self._orchestrator
        orchestrator.post(partial(orchestrator._listener.fault, t, node, fault, detail))
