"""How fast the simulator is: `python -m benchmarks.simulator [--json] [--quick]`.

Three programs do the same work in turn, in one process, and the best time of each counts: RL on the testbed's
simulator with all checks, RL written for SimPy without any, and a bare heap with as many events. Then the simulator
alone is measured on larger networks, each in a process of its own. README.md has the details.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks import bare_heap, scaling, simpy_rl, testbed_rl
from testbed.scenario.schema import Scenario

TOLERANCE = 0.02
"""By how much the programs' counts of events may differ."""
COLUMNS = {
    # the heading of a column of the table, and the format of its values
    "n": ("n", "{:,}"),
    "link_change_rate": ("link changes per unit", "{:.4f}"),
    "duration": ("time units", "{:,}"),
    "events": ("events", "{:,}"),
    "pending": ("planned", "{:,.0f}"),
    "us_per_event": ("µs per event", "{:.2f}"),
    "bare_us_per_event": ("bare heap, µs", "{:.2f}"),
    "us_per_link_change": ("µs per link change", "{:.1f}"),
    "setup_s": ("set-up, s", "{:.3f}"),
    "peak_memory_mb": ("peak memory, MB", "{:.0f}"),
}


def compare(entries: int, rounds: int) -> dict[str, Any]:
    """The three programs on the papers' 30 nodes at load 1; SimPy's in two versions."""
    scenario = testbed_rl.scenario(nodes=30, connectivity=0.2, rate=1.0, entries=entries)
    outcome = testbed_rl.run(scenario)
    events = {"testbed": outcome.events, "heapq": outcome.events}
    results = {"testbed": {"messages_per_cs": outcome.messages_per_cs, "waiting_time": outcome.waiting_time}}
    seconds: dict[str, list[float]] = {"testbed": [], "simpy": [], "simpy_callbacks": [], "heapq": []}
    for number in range(rounds):
        say(f"comparison, round {number + 1} of {rounds}")
        gc.collect()
        seconds["testbed"].append(testbed_rl.run(scenario).whole_s)
        for name, program in (("simpy", simpy_rl.Network), ("simpy_callbacks", simpy_rl.CallbackNetwork)):
            gc.collect()
            network, taken = time_simpy(program, scenario)
            events[name], results[name] = network.inputs, network.results()
            seconds[name].append(taken)
        gc.collect()
        seconds["heapq"].append(bare_heap.run(outcome.events, outcome.pending))
    check_agreement(events, results)
    speed = {name: events[name] / min(times) for name, times in seconds.items()}
    return {
        "events": events,
        "results": results,
        "pending": outcome.pending,
        "events_per_second": speed,
        "ratio_simpy": speed["testbed"] / speed["simpy"],
        "ratio_simpy_callbacks": speed["testbed"] / speed["simpy_callbacks"],
        "ratio_heapq": speed["testbed"] / speed["heapq"],
    }


def time_simpy(program: type[simpy_rl.Network], scenario: Scenario) -> tuple[simpy_rl.Network, float]:
    """A finished run on SimPy, and the seconds it took without its set-up."""
    network = program(scenario, testbed_rl.streams())
    began = process_time()
    network.run()
    return network, process_time() - began


def check_agreement(events: dict[str, int], results: dict[str, dict[str, float]]) -> None:
    """Refuse to compare programs that did not do the same work."""
    counts: dict[str, dict[str, float]] = {"events": {**events}}
    for name in results["testbed"]:
        counts[name] = {program: one[name] for program, one in results.items()}
    for what, values in counts.items():
        least, most = min(values.values()), max(values.values())
        if most - least > TOLERANCE * most:
            raise testbed_rl.WrongRun(f"{what} differ by more than {TOLERANCE:.0%}: {values}")


def scale(sizes: tuple[int, ...], events: int) -> list[dict[str, Any]]:
    """The rows of the table, each from a process of its own."""
    rows = []
    for nodes in sizes:
        for changes in ([], ["--link-changes"]):
            say(f"scaling, {nodes} nodes {' '.join(changes)}")
            command = [sys.executable, "-m", "benchmarks.scaling", str(nodes), "--events", str(events), *changes]
            done = subprocess.run(
                command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True, timeout=600
            )
            rows.append(json.loads(done.stdout))
    return rows


def say(text: str) -> None:
    """Print progress."""
    print(text, file=sys.stderr, flush=True)


def as_text(document: dict[str, Any]) -> str:
    """The document as text."""
    speed, results = document["events_per_second"], document["results"]
    lines = [f"RL, 30 nodes, load 1, {document['events']['testbed']:,} events, {document['pending']:.1f} planned", ""]
    for name in speed:
        line = f"{name:<16}{speed[name]:>12,.0f} events/s"
        if name in results:
            one = results[name]
            line += f"   {one['messages_per_cs']:.2f} messages per CS, waiting time {one['waiting_time']:.2f}"
        lines.append(line)
    lines += ["", *(f"{name:<22}{document[name]:>6.3f}" for name in document if name.startswith("ratio")), ""]
    lines.append(f"Scaling: average degree {scaling.DEGREE}, {scaling.NETWORK_RATE} requests per time unit in all")
    lines += ["", *table(document["scaling"])]
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as Markdown."""
    cells = [[title for title, _ in COLUMNS.values()]]
    cells += [["-" if row[key] is None else how.format(row[key]) for key, (_, how) in COLUMNS.items()] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(map(str.rjust, line, widths)) + " |" for line in cells]
    return [lines[0], "|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|", *lines[1:]]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.simulator", description="How fast the simulator is.")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.add_argument("--quick", action="store_true", help="few events and small networks: only to see that it runs")
    arguments = parser.parse_args()
    # First the processes: the peak memory of a new one begins with that of the process which started it.
    rows = scale((30, 300), 5_000) if arguments.quick else scale(scaling.SIZES, scaling.EVENTS)
    compared = compare(800, 1) if arguments.quick else compare(8_500, 5)
    document = {**compared, "scaling": rows}
    print(json.dumps(document, indent=2) if arguments.json else as_text(document))


if __name__ == "__main__":
    main()
