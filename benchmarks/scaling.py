"""One size of network, measured in a process of its own: `python -m benchmarks.scaling NODES [--link-changes]`.

Prints one JSON object. `benchmarks.simulator` runs this for every row of its table.
"""

from __future__ import annotations

import argparse
import json
import resource
from typing import Any

from benchmarks import bare_heap, testbed_rl

EVENTS = 60_000
DEGREE = 6
NETWORK_RATE = 0.05
"""Requests per time unit in the whole network: few enough for the largest to serve, so nearly every node is thinking
and has an event planned."""
EVENTS_PER_UNIT = {30: 0.75, 300: 1.75, 1_000: 2.4, 10_000: 2.65}
"""Events that this load causes in each size, to choose durations that give all sizes about as many events."""
SIZES = tuple(EVENTS_PER_UNIT)
CHANGE_SHARE = 0.01  # link changes per event
REPEAT = 3


def measure(nodes: int, link_changes: bool, events: int) -> dict[str, Any]:
    """A row of the table."""
    duration = round(events / EVENTS_PER_UNIT[nodes])
    change_rate = CHANGE_SHARE * events / duration if link_changes else 0.0
    scenario = testbed_rl.scenario(
        nodes=nodes,
        connectivity=DEGREE / (nodes - 1),
        rate=NETWORK_RATE / nodes,
        link_change_rate=change_rate,
        duration=float(duration),
    )
    first = testbed_rl.run(scenario)
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # of one run, before anything else is done here
    outcomes = [first, *(testbed_rl.run(scenario) for _ in range(REPEAT - 1))]
    bare_s = min(bare_heap.run(first.events, first.pending) for _ in range(REPEAT))
    change_s = min(testbed_rl.time_link_changes(scenario) for _ in range(REPEAT)) if link_changes else None
    return {
        "n": nodes,
        "link_changes": link_changes,
        "link_change_rate": change_rate,
        "changes": first.link_changes,
        "duration": duration,
        "events": first.events,
        "pending": first.pending,
        "setup_s": min(one.setup_s for one in outcomes),
        "us_per_event": 1e6 * min(one.loop_s for one in outcomes) / first.events,
        "bare_us_per_event": 1e6 * bare_s / first.events,
        "peak_memory_mb": peak_kb / 1024,
        "us_per_link_change": 1e6 * change_s if change_s is not None else None,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("nodes", type=int, choices=SIZES)
    parser.add_argument("--link-changes", action="store_true")
    parser.add_argument("--events", type=int, default=EVENTS, help="about how many (default: %(default)s)")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.nodes, arguments.link_changes, arguments.events)))


if __name__ == "__main__":
    main()
