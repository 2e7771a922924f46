"""What the link layer costs: `python -m benchmarks.link_layer [--json] [--quick]`.

One scenario (scenarios/worlds/layer-cost.yaml) with the papers' ideal links, over the link layer, and over the link
layer with a fifth of all datagrams lost, for every algorithm. Processor time is also a ratio to that with ideal links.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from pathlib import Path
from time import process_time
from typing import Any

from analysis.audit import BatchedAudit
from analysis.metrics import summarise
from analysis.tables import Table, number
from benchmarks.testbed_rl import WrongRun
from testbed.backends.sim.simulation import Simulation
from testbed.randomness import Streams
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario

SCENARIO = Path(__file__).parents[1] / "scenarios/worlds/layer-cost.yaml"
ALGORITHMS = {"rl": "rl", "krl": "{name: krl, k: 2}", "krlf": "{name: krlf, k: 2}", "raymond-tree": "raymond-tree"}
LINKS = {"ideal": ["links=ideal"], "radio": [], "radio, 20 % loss": ["links.loss=0.2"]}


def measure(quick: bool) -> list[dict[str, Any]]:
    """A row for every algorithm and kind of links."""
    rows = []
    for name, algorithm in ALGORITHMS.items():
        ideal_cpu = None
        for kind, overrides in LINKS.items():
            print(f"{name}, {kind}", file=sys.stderr, flush=True)
            shorter = ["duration=20", "repeat=1"] if quick else []
            scenario = load(SCENARIO, [f"algorithm={algorithm}", "trace=metrics", *overrides, *shorter])
            repetitions, cpu_s = zip(*(run(scenario, number) for number in range(scenario.repeat)), strict=True)
            metrics, cpu = summarise(list(repetitions)), sum(cpu_s) / len(cpu_s)
            ideal_cpu = ideal_cpu or cpu
            entries = metrics["entries"]["mean"]
            frames = {} if kind == "ideal" else {what: count["mean"] for what, count in metrics["frames"].items()}
            rows.append(
                {
                    "algorithm": name,
                    "links": kind,
                    "waiting_time": metrics["waiting_time"],
                    "messages_per_cs": metrics["messages_per_cs"],
                    "frames_per_cs": metrics["frames_per_cs"],
                    "frames_per_cs_by_kind": {what: count / entries for what, count in frames.items()},
                    "cpu_s": cpu,
                    "cpu_ratio": cpu / ideal_cpu,
                }
            )
    return rows


def run(scenario: Scenario, number: int) -> tuple[dict[str, Any], float]:
    """One repetition, judged: its metrics, and the processor time it took, without its set-up."""
    audit = BatchedAudit()
    simulation = Simulation(scenario, Streams(scenario.seed, number), audit)
    gc.collect()
    began = process_time()
    simulation.run_all(lambda share: None)
    taken = process_time() - began
    failed = [name for name, verdict in audit.verdicts().items() if verdict["verdict"] == "failed"]
    if failed:
        raise WrongRun(f"{', '.join(failed)} failed with {scenario.algorithm.name} over {scenario.links.kind} links")
    return audit.metrics(), taken


def as_text(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    header = ("algorithm", "links", "waiting time", "messages per CS", "frames per CS", "of which", "CPU, s", "times")
    lines = []
    for row in rows:
        kinds = ", ".join(f"{kind} {count:.0f}" for kind, count in row["frames_per_cs_by_kind"].items() if count >= 0.5)
        measured = [number(row[key]["mean"]) for key in ("waiting_time", "messages_per_cs", "frames_per_cs")]
        costs = [f"{row['cpu_s']:.2f}", f"{row['cpu_ratio']:.0f}"]
        lines.append([row["algorithm"], row["links"], *measured, kinds or "-", *costs])
    return Table(header, lines).render("md")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.link_layer", description="What the link layer costs.")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")
    parser.add_argument("--quick", action="store_true", help="short runs: only to see that it runs")
    arguments = parser.parse_args()
    rows = measure(arguments.quick)
    print(json.dumps({"rows": rows}, indent=2) if arguments.json else as_text(rows), end="\n" if arguments.json else "")


if __name__ == "__main__":
    main()
