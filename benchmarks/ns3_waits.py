"""Where the time goes that nodes wait under ns-3: `python -m benchmarks.ns3_waits [--json] [--quick]`.

Seven mobile nodes run RL on `sim` with radio links and on `ns3`, at several rates and time units. In ns-3 the way of
every unicast that arrives is taken apart by ns-3's own traces (ns3_probe.cc):

- queue: until it is at the head of its radio's queue, and the part of it behind frames that get no acknowledgement;
- access: from there until it is sent for the first time, when the channel is free and the backoff is over;
- repeats: from the first to the last time it is sent;
- air: the frame itself, and its acknowledgement.

Then one thing is changed at a time: nodes that stand, radios that send a frame only once, broadcasts instead of
unicasts (which no radio repeats), link layers that wait longer before they send again.

At last, two scenarios of scenarios/worlds: on `sim` as they are, on `sim` with hops as long as those of ns-3, under
ns-3 with radios that send a frame only once, and under ns-3 as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from bisect import bisect
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from analysis.audit import BatchedAudit
from analysis.stats import ci95, mean
from analysis.tables import Table, number
from testbed.backends.ns3 import library
from testbed.backends.ns3.simulation import Ns3Simulation, OnAir
from testbed.backends.registry import find_backend
from testbed.backends.sim.radio_links import RadioLinks
from testbed.backends.sim.simulation import Simulation
from testbed.link.actions import Transmit
from testbed.randomness import Streams
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario

PROBE = Path(__file__).with_name("ns3_probe.cc")
REPEAT, DURATION = 10, 108.0
SLOT_NS = 20_000
"""The longest slot of 802.11: stations that begin to send within one did not hear each other begin."""
PARTS = ("queue", "behind_failed", "access", "repeats", "air")
LINE = [[45.0 * node, 30.0 * (node % 2)] for node in range(7)]
"""Where nodes that stand are: connected, with four neighbours or so, as they have on average when they move."""


@dataclass(frozen=True)
class Variant:
    """One thing that is not as in the scenario."""

    name: str
    keys: dict[str, Any]
    attempts: int | None = None
    only_broadcasts: bool = False


AS_IT_IS = Variant("as it is", {})
SENT_ONCE = Variant("each frame sent once", {}, attempts=1)
VARIANTS = (
    AS_IT_IS,
    Variant("nodes stand", {"mobility": None, "placement": {"kind": "explicit", "places": LINE}}),
    SENT_ONCE,
    Variant("broadcasts only", {}, only_broadcasts=True),
    Variant("retry after one unit", {"links": {"kind": "radio", "hello": 1.0, "retry": 1.0}}),
)
SETTINGS = ((54.0, 1.0), (1.0, 1.0), (54.0, 0.05), (11.0, 0.05), (1.0, 0.05))
"""Rate in Mb/s, time unit in seconds."""
TAKEN_APART = ((54.0, 0.05), (1.0, 0.05))
WORLDS = ("five-worlds", "ten-mobile")
FOLDER = Path(__file__).parents[1] / "scenarios/worlds"


def scenario(rate: float, time_unit: float, backend: str, **keys: Any) -> Scenario:
    """Nodes move 2 to 6 m in a time unit, however long it is: so `sim` gives the same results for every time unit."""
    data = {
        "name": "waits",
        "algorithm": "rl",
        "nodes": 7,
        "topology": "geometric",
        "time_unit": time_unit,
        "area": [300, 60],
        "placement": "uniform",
        "mobility": {"kind": "random-waypoint", "speed": [2 / time_unit, 6 / time_unit]},
        "radio": {"range": 100, "rate": rate},
        "links": {"kind": "radio", "hello": 1.0},
        "delays": {"hop": {"uniform": [0.01, 0.05]}},
        "workload": {"rate": 0.1, "cs_time": 0.2},
        "warmup": 8.0,
        "drain": 1200.0,
        "backend": backend,
        "trace": "metrics",
    }
    return Scenario.model_validate({**data, **keys})


class Tallied(RadioLinks):
    """Link layers that count how often each datagram for one neighbour is sent."""

    def __init__(self, *args: Any, **keys: Any) -> None:
        self.sent: Counter[tuple[int, int, bytes]] = Counter()
        super().__init__(*args, **keys)

    def _transmit(self, node: int, transmit: Transmit) -> None:
        if transmit.to is not None:
            self.sent[node, transmit.to, transmit.data] += 1
        super()._transmit(node, transmit)

    @property
    def share_sent_again(self) -> float:
        """Of the datagrams for one neighbour, those that are the same as one before."""
        return 1.0 - len(self.sent) / max(1, self.sent.total())


class TalliedOnAir(Tallied, OnAir):
    """The same under ns-3."""


class TalliedSimulation(Simulation):
    """On `sim`."""

    radio_links = Tallied


class TalliedNs3Simulation(Ns3Simulation):
    """Under ns-3."""

    radio_links = TalliedOnAir


def on_sim(one: Scenario, repetition: int) -> dict[str, float]:
    """What a run on `sim` shows."""
    audit = BatchedAudit()
    simulation = TalliedSimulation(one, Streams(one.seed, repetition), audit)
    simulation.run_all(lambda share: None)
    return _shown(simulation, audit)


@cache
def probe_kind() -> Any:
    """The class of C++ that watches ns-3's MAC; it can be compiled only once in a process."""
    ns = library.load()
    ns.cppyy.cppdef(PROBE.read_text(encoding="utf-8"))
    return ns.cppyy.gbl.probe.Probe


def on_ns3(one: Scenario, repetition: int, variant: Variant) -> dict[str, float]:
    """What a run under ns-3 shows, and what ns-3's MAC did."""
    audit = BatchedAudit()
    simulation = TalliedNs3Simulation(one, Streams(one.seed, repetition), audit)
    probe = probe_kind()()
    probe.Watch()
    if variant.attempts is not None:
        probe.LimitAttempts(variant.attempts)
    if variant.only_broadcasts:
        send = simulation.air.send
        simulation.air.send = lambda station, to, data: send(station, None, data)  # type: ignore[method-assign]
    simulation.run_all(lambda share: None)
    frames = [Frame(*(getattr(frame, name) for name in Frame._fields)) for frame in probe.Frames()]
    busy = probe.Busy() / simulation.air.now_ns() / one.nodes
    library.clear()
    return {**_shown(simulation, audit), "busy": busy, **taken_apart(frames)}


def _shown(simulation: Simulation, audit: BatchedAudit) -> dict[str, float]:
    assert isinstance(simulation.links, Tallied)
    metrics = audit.metrics()
    return {
        "waiting_time": metrics["waiting_time"]["mean"],
        "frames_per_cs": metrics["frames_per_cs"],
        "sent_again": simulation.links.share_sent_again,
    }


class Frame(NamedTuple):
    """A frame as the probe saw it; times in ns."""

    station: int
    is_unicast: bool
    queued: int
    first: int
    last: int
    end: int
    attempts: int
    is_acked: bool


def taken_apart(frames: list[Frame]) -> dict[str, float]:
    """Mean times in ms of the unicasts that arrived, how many were repeated, and which share did not arrive."""
    parts: Counter[str] = Counter()
    arrived, unicasts, attempts, repeated, collided, futile = 0, 0, 0, 0, 0, 0
    begun = sorted((t, frame.station) for frame in frames if frame.attempts for t in {frame.first, frame.last})
    for _, queue in groupby(sorted(frames), key=lambda frame: frame.station):
        free_at = 0  # when the frame before left the queue
        failed: list[tuple[int, int]] = []  # the times that frames without an acknowledgement were at the head
        for frame in sorted((one for one in queue if one.attempts and one.end >= 0), key=lambda one: one.first):
            head, free_at = max(frame.queued, free_at), frame.end
            unicasts += frame.is_unicast
            attempts += frame.attempts * frame.is_unicast
            if frame.is_unicast and not frame.is_acked:
                failed.append((head, frame.end))
                futile += frame.end - head
            elif frame.is_unicast:
                arrived += 1
                if frame.attempts > 1:
                    repeated += 1
                    collided += _collides(begun, frame)
                parts["queue"] += head - frame.queued
                parts["behind_failed"] += _overlap(failed, frame.queued, head)
                parts["access"] += frame.first - head
                parts["repeats"] += frame.last - frame.first
                parts["air"] += frame.end - frame.last
    means = {f"{name}_ms": parts[name] / max(1, arrived) / 1e6 for name in PARTS}
    waited = sum(frame.end < 0 or not frame.attempts for frame in frames) / max(1, len(frames))
    return {
        **means,
        "failed": (unicasts - arrived) / max(1, unicasts),
        "failed_ms": futile / max(1, unicasts - arrived) / 1e6,
        "attempts": attempts / max(1, unicasts),
        "never_sent": waited,
        "repeated": repeated / max(1, arrived),
        "collided": collided / max(1, repeated),
    }


def _collides(begun: list[tuple[int, int]], frame: Frame) -> bool:
    """Whether another station began to send in the same slot as this frame's, when that was sent for the first time."""
    near = begun[bisect(begun, (frame.first - SLOT_NS, -1)) : bisect(begun, (frame.first + SLOT_NS, -1))]
    return any(station != frame.station for _, station in near)


def _overlap(times: list[tuple[int, int]], start: int, end: int) -> int:
    """How much of a span of time is in these, which are in order and apart."""
    together = 0
    for begin, stop in reversed(times):
        if stop <= start:
            break
        together += max(0, min(stop, end) - max(begin, start))
    return together


def mean_of(runs: Iterable[dict[str, float]]) -> dict[str, Any]:
    """The means over repetitions, and the waiting time of each: they vary so much that a mean alone misleads."""
    rows = list(runs)
    means: dict[str, Any] = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    return means | {"waits": [row["waiting_time"] for row in rows]}


def with_interval(values: list[float]) -> str:
    """A mean with its 95 % confidence interval."""
    half = ci95(values)
    return number(mean(values)) + ("" if half is None else f" ± {number(half)}")


def difference(side: dict[str, Any], other: dict[str, Any]) -> str:
    """How much longer nodes wait than on the other side, by pairs of repetitions with the same random draws."""
    return with_interval([a - b for a, b in zip(side["waits"], other["waits"], strict=True)])


def measure(repeat: int, duration: float) -> list[dict[str, Any]]:
    """A row for every setting and variant."""
    rows = []
    for rate, time_unit in SETTINGS:
        for variant in VARIANTS if (rate, time_unit) in TAKEN_APART else (AS_IT_IS,):
            print(f"{rate:g} Mb/s, {time_unit:g} s, {variant.name}", file=sys.stderr, flush=True)
            sim, ns3 = (
                scenario(rate, time_unit, backend, **variant.keys, duration=duration) for backend in ("sim", "ns3")
            )
            rows.append(
                {
                    "rate": rate,
                    "time_unit": time_unit,
                    "variant": variant.name,
                    "sim": mean_of(on_sim(sim, number) for number in range(repeat)),
                    "ns3": mean_of(on_ns3(ns3, number, variant) for number in range(repeat)),
                }
            )
    return rows


def measure_worlds(repeat: int) -> list[dict[str, Any]]:
    """A row for every scenario."""
    rows = []
    for name in WORLDS:
        print(name, file=sys.stderr, flush=True)
        sim, ns3 = (
            load(FOLDER / f"{name}.yaml", [f"backend={backend}", "links.duplicate=0", "trace=metrics"])
            for backend in ("sim", "ns3")
        )
        whole = mean_of(on_ns3(ns3, number, AS_IT_IS) for number in range(repeat))
        hop_ms = sum(whole[f"{part}_ms"] for part in ("queue", "access", "repeats", "air"))
        short = sim.model_dump() | {"delays": {"hop": hop_ms / 1000 / sim.time_unit}}
        rows.append(
            {
                "scenario": name,
                "hop_ms": hop_ms,
                "attempts": whole["attempts"],
                "sim": mean_of(on_sim(sim, number) for number in range(repeat)),
                "sim_short_hops": mean_of(on_sim(Scenario.model_validate(short), number) for number in range(repeat)),
                "ns3_sent_once": mean_of(on_ns3(ns3, number, SENT_ONCE) for number in range(repeat)),
                "ns3": whole,
            }
        )
    return rows


def worlds_as_text(rows: list[dict[str, Any]]) -> str:
    """A table of waiting times."""
    header = ("scenario", "hop in ns-3 (ms)", "attempts", "wait, sim", "sim, ns-3's hops", "ns3, sent once", "ns3")
    sides = ("sim", "sim_short_hops", "ns3_sent_once", "ns3")
    lines = [
        [row["scenario"], number(row["hop_ms"]), f"{row['attempts']:.2f}"]
        + [with_interval(row[side]["waits"]) for side in sides]
        + [difference(row[a], row[b]) for a, b in zip(sides[1:], sides, strict=False)]
        for row in rows
    ]
    return Table((*header, "hops - sim", "sent once - hops", "ns3 - sent once"), lines).render("md")


def as_text(rows: list[dict[str, Any]]) -> str:
    """Two tables: what nodes see, and what the MAC does."""
    seen, made = [], []
    for row in rows:
        sim, ns3 = row["sim"], row["ns3"]
        if row["variant"] == AS_IT_IS.name:
            whole = ns3
        name = f"{row['rate']:g} Mb/s, {row['time_unit']:g} s" + (
            "" if row["variant"] == AS_IT_IS.name else f", {row['variant']}"
        )
        seen.append(
            [name]
            + [with_interval(side["waits"]) for side in (sim, ns3)]
            + ["-" if ns3 is whole else difference(ns3, whole)]
            + [number(side["frames_per_cs"]) for side in (sim, ns3)]
            + [f"{100 * side['sent_again']:.0f}" for side in (sim, ns3)]
        )
        shares = [f"{100 * ns3[key]:.0f}" for key in ("busy", "never_sent", "failed", "repeated", "collided")]
        made.append([name, *shares, *(f"{ns3[f'{part}_ms']:.2f}" for part in ("failed", *PARTS))])
    above = ("setting", "wait, sim", "ns3", "ns3 - as it is", "frames per CS, sim", "ns3", "sent again (%), sim", "ns3")
    below = ("setting", "air busy (%)", "never sent (%)", "failed (%)", "repeated (%)", "of that collided (%)")
    parts = ("a failed one takes (ms)", "queue (ms)", "of that behind failed", "access", "repeats", "air")
    return Table(above, seen).render("md") + "\n" + Table((*below, *parts), made).render("md")


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ns3_waits", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.add_argument("--quick", action="store_true", help="short runs: only to see that it runs")
    arguments = parser.parse_args()
    if lacking := find_backend("ns3").missing():
        print(lacking, file=sys.stderr)
        return 3
    rows = measure(1, 30.0) if arguments.quick else measure(REPEAT, DURATION)
    worlds = measure_worlds(1 if arguments.quick else REPEAT)
    if arguments.json:
        print(json.dumps({"rows": rows, "worlds": worlds}, indent=2))
    else:
        print(as_text(rows), worlds_as_text(worlds), sep="\n", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
