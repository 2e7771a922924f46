"""How fast links are computed from trajectories: `python -m benchmarks.crossings [--json] [--quick]`.

Random waypoint (1 to 5 m/s, no pauses) at constant density, so that the area grows with the number of nodes. Each row
is measured in a process of its own (`--nodes N`). The smaller ones are also computed by brute force: all pairs, without
a grid. Both must find the same crossings, or there is no table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, TypeVar

from testbed.mobility.crossings import Crossing, Crossings
from testbed.mobility.trajectory import Trajectory, Waypoint

T = TypeVar("T")

SEED = 1
RANGE_M = 100.0
NODES_IN_RANGE = 7.0
"""If nodes were evenly spread. With random waypoint they are denser in the middle, so the mean degree is 9 or more."""
SPEEDS_M_PER_S = (1.0, 5.0)
SIZES = (100, 300, 1_000, 3_000)
DURATION_S = 1_000.0
BRUTE_FORCE_UP_TO = 1_000  # nodes
REPEAT = 3
COLUMNS = {
    # the heading of a column of the table, and the format of its values
    "n": ("n", "{:,}"),
    "side_m": ("side, m", "{:,.0f}"),
    "mean_degree": ("mean degree", "{:.1f}"),
    "link_events": ("link events", "{:,}"),
    "seconds": ("s", "{:.2f}"),
    "us_per_link_event": ("µs per link event", "{:.2f}"),
    "peak_memory_mb": ("peak memory, MB", "{:.0f}"),
    "brute_force_us_per_link_event": ("brute force, µs", "{:.2f}"),
    "ratio_brute_force": ("ratio", "{:.1f}"),
}


class WrongCrossings(Exception):
    """Brute force found other crossings."""


def random_waypoint(rng: Random, *, side_m: float, duration_s: float) -> Trajectory:
    """From one random place in a square to the next, at a random speed for each leg."""
    t, x, y = 0.0, rng.uniform(0.0, side_m), rng.uniform(0.0, side_m)
    waypoints = [Waypoint(t, x, y)]
    while t < duration_s:
        there = rng.uniform(0.0, side_m), rng.uniform(0.0, side_m)
        t += math.dist((x, y), there) / rng.uniform(*SPEEDS_M_PER_S)
        x, y = there
        waypoints.append(Waypoint(t, x, y))
    return Trajectory(tuple(waypoints))


def brute_force(trajectories: Sequence[Trajectory], duration_s: float) -> list[Crossing]:
    """The crossings of all pairs, one pair after the other, in the plane."""
    found = []
    paths = [list(_legs(trajectory)) for trajectory in trajectories]
    for a, b in itertools.combinations(range(len(paths)), 2):
        found += [Crossing(t, a, b, up) for t, up in _roots(paths[a], paths[b]) if 0.0 < t <= duration_s]
    return sorted(found)


Leg = tuple[float, float, float, float, float, float]


def _legs(trajectory: Trajectory) -> Iterator[Leg]:
    """The legs as (begin, end, x, y, velocity along x, along y)."""
    for a, b in itertools.pairwise(trajectory.waypoints):
        yield a.t, b.t, a.x, a.y, (b.x - a.x) / (b.t - a.t), (b.y - a.y) / (b.t - a.t)


def _roots(ours: list[Leg], theirs: list[Leg]) -> Iterator[tuple[float, bool]]:
    """When two nodes come within range (True) and leave it, while both are on legs."""
    mine = other = 0
    while mine < len(ours) and other < len(theirs):
        begin, end, x, y, u, v = ours[mine]
        begin_b, end_b, xb, yb, ub, vb = theirs[other]
        t = max(begin, begin_b)
        x += (t - begin) * u - xb - (t - begin_b) * ub
        y += (t - begin) * v - yb - (t - begin_b) * vb
        u -= ub
        v -= vb
        mine += end <= end_b
        other += end_b <= end
        parting, speed2 = x * u + y * v, u * u + v * v
        under = parting * parting - speed2 * (x * x + y * y - RANGE_M * RANGE_M)
        if under > 0.0:
            for root, up in ((-math.sqrt(under), True), (math.sqrt(under), False)):
                after = (root - parting) / speed2
                if 0.0 < after <= min(end, end_b) - t:
                    yield t + after, up


def measure(nodes: int, duration_s: float, with_brute_force: bool) -> dict[str, Any]:
    """A row of the table."""
    side_m = RANGE_M * math.sqrt(nodes * math.pi / NODES_IN_RANGE)
    rng = Random(SEED)
    trajectories = [random_waypoint(rng, side_m=side_m, duration_s=duration_s) for _ in range(nodes)]
    crossings = Crossings(trajectories, range_of=lambda a, b: RANGE_M, max_range=RANGE_M, until=duration_s)
    events = sum(1 for _ in crossings)
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # before any crossings are kept
    seconds = min(timed(lambda: sum(1 for _ in crossings))[0] for _ in range(REPEAT))
    row = {
        "n": nodes,
        "side_m": side_m,
        "duration_s": duration_s,
        "mean_degree": mean_degree(crossings, nodes, duration_s),
        "link_events": events,
        "seconds": seconds,
        "us_per_link_event": 1e6 * seconds / events,
        "peak_memory_mb": peak_kb / 1024,
        "brute_force_us_per_link_event": None,
        "ratio_brute_force": None,
    }
    if with_brute_force:
        brute_force_s, expected = timed(lambda: brute_force(trajectories, duration_s))
        check_agreement(list(crossings), expected)
        row["brute_force_us_per_link_event"] = 1e6 * brute_force_s / events
        row["ratio_brute_force"] = brute_force_s / seconds
    return row


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """How many seconds some work takes, and its result."""
    began = process_time()
    result = work()
    return process_time() - began, result


def mean_degree(crossings: Crossings, nodes: int, duration_s: float) -> float:
    """The mean over nodes and time: a link that forms adds the time that is left, one that fails subtracts it."""
    link_seconds = len(crossings.initial_links()) * duration_s
    link_seconds += sum((1 if up else -1) * (duration_s - t) for t, _, _, up in crossings)
    return 2.0 * link_seconds / (nodes * duration_s)


def check_agreement(found: list[Crossing], expected: list[Crossing]) -> None:
    """Refuse to compare programs that do not find the same crossings."""
    by_pair = [sorted((a, b, t, up) for t, a, b, up in crossings) for crossings in (found, expected)]
    for ours, theirs in itertools.zip_longest(*by_pair):
        same = ours and theirs and ours[:2] == theirs[:2] and ours[3] == theirs[3] and abs(ours[2] - theirs[2]) < 1e-6
        if not same:
            raise WrongCrossings(f"(a, b, t, up) is {ours}, and by brute force {theirs}")


def table(rows: list[dict[str, Any]]) -> str:
    """Rows as Markdown."""
    cells = [[title for title, _ in COLUMNS.values()]]
    cells += [["-" if row[key] is None else how.format(row[key]) for key, (_, how) in COLUMNS.items()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(str.rjust, line, widths)) + " |" for line in cells]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|", *lines[1:]])


def measure_apart(nodes: int, duration_s: float) -> dict[str, Any]:
    """A row, from a process of its own."""
    print(f"{nodes} nodes", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "benchmarks.crossings", "--nodes", str(nodes), "--duration", str(duration_s)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, check=True, timeout=600)
    return dict(json.loads(done.stdout))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crossings", description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.add_argument("--quick", action="store_true", help="small networks and little time: only to see that it runs")
    parser.add_argument("--nodes", type=int, help="measure one size in this process, and print it as JSON")
    parser.add_argument("--duration", type=float, default=DURATION_S, help="seconds of movement (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.nodes:
        print(json.dumps(measure(arguments.nodes, arguments.duration, arguments.nodes <= BRUTE_FORCE_UP_TO)))
        return
    sizes, duration_s = ((30, 60), 100.0) if arguments.quick else (SIZES, arguments.duration)
    rows = [measure_apart(nodes, duration_s) for nodes in sizes]
    print(json.dumps({"crossings": rows}, indent=2) if arguments.json else table(rows))


if __name__ == "__main__":
    main()
