"""How fast backend ns3 is, and what of it is ours: `python -m benchmarks.ns3 [--json] [--quick] [--rounds N]`.

Three scenarios, each run in turn by the backend and by ns-3 alone, in one process. The reference, ns-3 alone, sends the
same frames at the same times from the same stations, in C++ (ns3_replay.cc), and drops what it receives. So the ratio
says what agents, link layers, checks and the way from C++ to Python and back add to ns-3's own work.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from agents.contract import TICKS
from analysis.audit import BatchedAudit
from analysis.tables import Table
from benchmarks.testbed_rl import WrongRun
from testbed.backends.ns3 import library, network
from testbed.backends.ns3.simulation import Ns3Simulation
from testbed.backends.registry import find_backend
from testbed.backends.repetition import Repetition
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario

REPLAY = Path(__file__).with_name("ns3_replay.cc")
ROUNDS = 5
PEDESTRIANS: dict[str, Any] = {
    "name": "pedestrians",
    "algorithm": "rl",
    "nodes": 30,
    "topology": "geometric",
    "time_unit": 1.0,
    "area": [350, 350],
    "placement": "uniform",
    "mobility": {"kind": "random-waypoint", "speed": [1, 2]},
    "radio": {"range": 110, "standard": "802.11g"},
    "links": {"kind": "radio", "hello": 1.0},
    "workload": {"rate": 0.02, "cs_time": 0.2},
    "warmup": 10.0,
    "duration": 300.0,
    "drain": 100.0,
    "backend": "ns3",
    "trace": "metrics",
}
"""Thirty people who walk: ten neighbours each, one network most of the time, two requests in three seconds."""
SCENARIOS: dict[str, dict[str, Any]] = {
    "pedestrians": PEDESTRIANS,
    "crowd": {**PEDESTRIANS, "area": [300, 300]},
    "cyclists": {
        **PEDESTRIANS,
        "mobility": {"kind": "random-waypoint", "speed": [3, 6]},
        "workload": {"rate": 0.1, "cs_time": 0.2},
    },
}
"""A crowd is denser, and never partitioned. Among cyclists links change more often, and there are more requests."""


class Frame(NamedTuple):
    """A datagram that a station sent, for one station or for all (-1)."""

    ns: int
    station: int
    to: int
    size: int


@dataclass(frozen=True)
class Traffic:
    """What one run put on the air, how many datagrams stations received, and when it ended."""

    frames: list[Frame]
    received: int
    end_ns: int


@cache
def reference() -> Any:
    """The class of C++ that sends the same frames; it can be compiled only once in a process."""
    ns = library.load()
    ns.cppyy.cppdef(REPLAY.read_text(encoding="utf-8"))
    return ns.cppyy.gbl.replay.Traffic


def prepare(scenario: Scenario, audit: BatchedAudit) -> Ns3Simulation:
    """A run that has not begun."""
    return Ns3Simulation(scenario, Streams(scenario.seed, 0), audit)


def record(scenario: Scenario) -> Traffic:
    """Run a scenario once, and note all that its stations send."""
    simulation, received = prepare(scenario, BatchedAudit()), 0
    frames: list[Frame] = []
    air, send, datagram = simulation.air, simulation.air.send, simulation.air.datagram

    def note_and_send(station: int, to: int | None, data: bytes) -> None:
        frames.append(Frame(air.now_ns(), station, -1 if to is None else to, len(data)))
        send(station, to, data)

    def count_and_take() -> bytes:
        nonlocal received
        received += 1
        return datagram()

    air.send, air.datagram = note_and_send, count_and_take  # type: ignore[method-assign]
    simulation.run_all(lambda share: None)
    return Traffic(frames, received, air.now_ns())


def run(scenario: Scenario) -> float:
    """Processor time of a run by the backend, from its first event to its verdicts."""
    audit = BatchedAudit()
    simulation = prepare(scenario, audit)
    gc.collect()
    began = process_time()
    simulation.run_all(lambda share: None)
    verdicts = audit.verdicts()
    taken = process_time() - began
    failed = [name for name, verdict in verdicts.items() if verdict["verdict"] == "failed"]
    if failed:
        raise WrongRun(f"{', '.join(failed)} failed in {scenario.name}")
    return taken


def replay(scenario: Scenario, traffic: Traffic) -> float:
    """Processor time of ns-3 alone with the same traffic in the same network."""
    streams = Streams(scenario.seed, 0)
    ns = library.reset(streams.seed, streams.repetition)
    built, sender = network.build(ns, Repetition(scenario, streams)), reference()()
    for station in range(scenario.stations):
        sender.Add(built.nodes.Get(station), built.devices.Get(station))
    for frame in traffic.frames:
        sender.Plan(*frame)
    gc.collect()
    began = process_time()
    sender.Run(traffic.end_ns)
    taken = process_time() - began
    if sender.Received() != traffic.received:
        raise WrongRun(f"{sender.Received()} datagrams received in the reference, and {traffic.received} in the run")
    return taken


def measure(quick: bool, rounds: int) -> list[dict[str, Any]]:
    """A row for every scenario."""
    rows = []
    for name, keys in SCENARIOS.items():
        scenario = Scenario.model_validate({**keys, "name": name, **({"duration": 20.0} if quick else {})})
        print(f"{name}: recording", file=sys.stderr, flush=True)
        traffic = record(scenario)
        ours, theirs = [], []
        for number in range(rounds):
            print(f"{name}: round {number + 1} of {rounds}", file=sys.stderr, flush=True)
            ours.append(run(scenario))
            theirs.append(replay(scenario, traffic))
        seconds = traffic.end_ns / TICKS
        rows.append(
            {
                "scenario": name,
                "seconds": seconds,
                "frames_per_s": len(traffic.frames) / seconds,
                "received_per_s": traffic.received / seconds,
                "cpu_s": min(ours),
                "times_real_time": seconds / min(ours),
                "reference_cpu_s": min(theirs),
                "ratio_reference": min(ours) / min(theirs),
            }
        )
    return rows


def as_text(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    header = ("scenario", "s", "sent/s", "received/s", "CPU, s", "times real time", "ns-3 alone, CPU s", "ratio")
    keys = {"seconds": 0, "frames_per_s": 0, "received_per_s": 0, "cpu_s": 1, "times_real_time": 1}
    keys |= {"reference_cpu_s": 1, "ratio_reference": 2}
    lines = [[row["scenario"], *(f"{row[key]:.{digits}f}" for key, digits in keys.items())] for row in rows]
    return Table(header, lines).render("md")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ns3", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.add_argument("--quick", action="store_true", help="short runs: only to see that it runs")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is measured (default: %(default)s)")
    arguments = parser.parse_args()
    if lacking := find_backend("ns3").missing():
        print(lacking, file=sys.stderr)
        return 3
    rows = measure(arguments.quick, arguments.rounds)
    print(json.dumps({"rows": rows}, indent=2) if arguments.json else as_text(rows), end="\n" if arguments.json else "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
