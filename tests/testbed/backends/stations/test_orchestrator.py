"""The orchestrator, with the test in place of its processes: crashes, restarts close to them, exits, absences."""

import time
from collections import deque
from heapq import heappop
from pathlib import Path
from typing import Any

import pytest

from testbed.backends.loopback.backend import LoopbackEnvironment
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.orchestrator import Orchestrator, StationError
from testbed.backends.stations.processes import FORK_SERVER, MEDIUM
from testbed.backends.stations.timeline import FOR_EVER
from testbed.scenario.schema import Scenario
from tests.testbed.backends.stations.stage import LINE
from tests.testbed.simulate import Diary


class Puppets:
    """In place of `Processes`: they do nothing, and report what the test has them report."""

    def __init__(self) -> None:
        self.to_hear: deque[tuple[Any, dict[str, Any] | None]] = deque()
        self.orders: list[tuple[Any, Any]] = []
        self.timeouts_s: list[float | None] = []  # of every call of `hear`

    def hear(self, timeout_s: float | None) -> list[tuple[Any, dict[str, Any] | None]]:
        self.timeouts_s.append(timeout_s)
        return [self.to_hear.popleft()] if self.to_hear else []

    def tell(self, name: Any, order: dict[str, Any]) -> None:
        self.orders.append((name, order["do"]))

    def start_station(self, node: int, incarnation: int, transport: object, descriptors: object) -> None:
        self.orders.append((node, f"incarnation {incarnation}"))

    def kill(self, node: int) -> None:
        self.orders.append((node, "killed"))

    def of(self, node: int) -> list[str]:
        """What a station was ordered since the last call."""
        told = [order for name, order in self.orders if name == node]
        self.orders.clear()
        return told


class Stage:
    """An orchestrator in the middle of a run, without processes."""

    def __init__(self, folder: Path, **keys: Any) -> None:
        (folder / "nodes").mkdir()
        self.folder = folder
        settings = {**LINE, "trace": "events", **keys}
        scenario = Scenario.model_validate({key: value for key, value in settings.items() if value is not None})
        self.diary, self.processes = Diary(), Puppets()
        self.run = Orchestrator(scenario, 0, LoopbackEnvironment(), self.diary, lambda done: None, folder)
        self.run._processes = self.processes
        for node in range(scenario.nodes):
            self.run._start_station(node)
        self.run._clock = RunClock(time.monotonic_ns(), scenario.time_unit)
        self.processes.orders.clear()

    def hear(self, name: Any, message: dict[str, Any]) -> None:
        self.processes.to_hear.append((name, message))
        self.run._listen(0.0)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_a_restart_waits_for_the_exit_of_the_earlier_incarnation(stage):
    """Even if that is reported late: the crash must be logged, and a log that stays open would block the merge."""
    old = stage.run._merger._tails[1]
    stage.run.crash(1)
    stage.run.at(0, stage.run._faults.update_partitions)  # overdue, but not to be done before the restart
    stage.processes.to_hear += [
        (2, {"clock": 7, "idle": False}),
        (FORK_SERVER, {"exited": 1, "incarnation": 1, "code": -9}),
    ]
    stage.run.restart(1)
    assert not stage.processes.to_hear, "it has waited for the exit"
    assert all(stage.processes.timeouts_s), "blocking, and not in a busy loop"
    assert stage.processes.of(1) == ["killed", "incarnation 2"]
    assert old.is_closed
    stage.run._merger.merge(FOR_EVER)
    assert [event["kind"] for event in stage.diary.of("crash", "restart")] == ["crash", "restart"]


def test_a_report_that_arrives_after_the_exit(stage):
    """It does not open the log again."""
    (stage.folder / "nodes" / "001-1.jsonl").touch()
    stage.run.crash(1)
    stage.hear(FORK_SERVER, {"exited": 1, "incarnation": 1, "code": -9})
    stage.hear(1, {"clock": 7, "idle": False})
    assert stage.run._merger.is_closed(1)
    stage.run._merger.merge(stage.run.now)


def test_a_restarted_station_gets_the_orders_that_the_others_got(tmp_path):
    """Start, stop after enough entries, and finish: each as soon as the station can obey."""
    stage = Stage(tmp_path, duration=None, entries=40)
    stage.hear(1, {"ready": 4711})
    assert stage.processes.of(1) == ["start"]
    stage.run._stop()
    stage.processes.orders.clear()
    stage.hear(1, {"ready": 4711})
    assert stage.processes.of(1) == ["start", "stop"]
    stage.run._is_finishing = True
    stage.hear(1, {"ready": 4711})
    assert stage.processes.of(1) == ["start", "stop", "finish"]


def test_a_restarted_station_knows_the_duration(stage):
    """It is not told to stop, as no station is."""
    stage.run._stop()
    assert stage.processes.of(1) == []
    stage.hear(1, {"ready": 4711})
    assert stage.processes.of(1) == ["start"]


def test_a_crash_at_the_very_end(stage):
    """It is logged like any other."""
    stage.run.crash(1)
    stage.processes.to_hear.append((FORK_SERVER, {"exited": 1, "incarnation": 1, "code": -9}))
    stage.processes.to_hear += [(name, {"end": {}}) for name in (0, 2, 3, MEDIUM)]
    stage.run._finish()
    stage.run._merger.merge(FOR_EVER)
    assert [event["node"] for event in stage.diary.of("crash")] == [1]


@pytest.mark.parametrize(("code", "how"), [(-9, "by signal 9"), (3, "with exit code 3")])
def test_a_station_that_exits_without_a_fault(stage, code, how):
    """The run fails, and the error names the station and the file with what it printed."""
    with pytest.raises(StationError, match=rf"station 1 died {how} at t=\d+\.\d+; what it printed is in .*001\.log"):
        stage.hear(FORK_SERVER, {"exited": 1, "incarnation": 1, "code": code})


def test_the_exit_of_an_earlier_incarnation_is_reported_twice(stage):
    """The second report does not concern the present incarnation, which runs."""
    stage.run.crash(1)
    stage.hear(FORK_SERVER, {"exited": 1, "incarnation": 1, "code": -9})
    stage.run.restart(1)
    stage.hear(FORK_SERVER, {"exited": 1, "incarnation": 1, "code": -9})
    assert stage.run.is_alive(1)
    assert not stage.run._merger.is_closed(1)


def test_nodes_that_appear_and_leave(tmp_path):
    """They count in the partitions only while they are present: here node 2, out of reach of the others, from 2 to 4 s.

    Node 1 is absent at the start, and in reach of node 0 when it appears.
    """
    rows = "0,0,0,0,,\n1,0,50,0,1,\n2,0,900,0,2,4\n"
    (tmp_path / "late.csv").write_text(f"node,t,x,y,appears,leaves\n{rows}")
    stage = Stage(
        tmp_path,
        algorithm={"name": "krl", "k": 1},
        nodes=3,
        topology="geometric",
        mobility={"kind": "trace", "file": str(tmp_path / "late.csv")},
        radio={"range": 100},
        time_unit=0.5,
    )
    assert stage.run._ledger.absent == {1, 2}
    stage.run._faults.begin()
    while stage.run.heap:
        stage.run.now, _ticket, happen, args = heappop(stage.run.heap)
        happen(*args)
    stage.run._merger.merge(FOR_EVER)
    found = [(event["t"], event["parts"], event["cut_off"]) for event in stage.diary.of("partition")]
    assert found == [(4.0, 2, [2]), (8.0, 1, [])]
    assert stage.run._ledger.absent == {2}


def summary_ms(p99: float) -> dict[str, float]:
    return {"mean": 1.0, "p50": 1.0, "p95": 1.0, "p99": p99, "max": 100.0}


@pytest.mark.parametrize(
    ("reports", "latest"),
    [
        ({0: summary_ms(3.0), 1: summary_ms(9.0), 2: summary_ms(5.0)}, {**summary_ms(9.0), "station": 1}),
        ({3: None, 2: summary_ms(5.0)}, {**summary_ms(5.0), "station": 2}),
        ({}, None),
    ],
    ids=["the latest", "one that had nothing to do", "all crashed"],
)
def test_the_lateness_that_is_logged(stage: Stage, reports: dict[int, Any], latest: dict[str, float] | None):
    """That of the latest station by its p99; stations that have crashed report nothing."""
    stage.hear(MEDIUM, {"end": {"lateness_ms": summary_ms(2.0)}})
    for node, lateness in reports.items():
        stage.hear(node, {"end": {"lateness_ms": lateness}})
    stage.run._log_lateness()
    (event,) = [event for event in stage.diary.events if event["kind"] == "lateness"]
    assert (event["medium_ms"], event["station_ms"]) == (summary_ms(2.0), latest)
    assert event["bound_ms"] == pytest.approx(6.25)
