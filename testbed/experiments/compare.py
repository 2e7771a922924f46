"""Algorithms side by side on one scenario: the same topology, link changes and applications for each.

Random streams are keyed by component and node and never by the algorithm. So repetition r of every algorithm has the
same network and the same think times, CS times and demands, and differences are taken repetition by repetition.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.registry import ALGORITHMS
from analysis import stats
from analysis.plots import plots_missing
from analysis.tables import Table, number
from testbed.backends.registry import usable_backend
from testbed.errors import InputError
from testbed.experiments.grid import Point, PointResult, run_points
from testbed.experiments.run_directory import fresh_directory
from testbed.progress import Report
from testbed.scenario import yaml_reader
from testbed.scenario.loader import loads
from testbed.scenario.schema import Scenario

COMPARED = {"waiting_time": "waiting time (time units)", "messages_per_cs": "messages per CS entry (messages)"}
"""The metrics that tables and figures of comparisons show first, each with the label of its axis."""
NETWORK = {
    "mean_degree": "mean degree",
    "link_change_rate": "link changes per unit",
    "components": "components",
    "time_partitioned": "share of time partitioned",
}


@dataclass(frozen=True)
class Comparison:
    """The algorithms on a scenario; the first is the baseline of the others."""

    scenario: Scenario
    variants: list[PointResult]
    out: Path

    @property
    def failures(self) -> list[str]:
        """A line for every check that failed, and for every repetition that was lost."""
        return [line for variant in self.variants for line in variant.failures()]

    def difference(self, variant: PointResult, metric: str) -> dict[str, float | None]:
        """How much more than the baseline, over the repetitions that both have."""
        pairs = zip(variant.values(metric), self.variants[0].values(metric), strict=True)
        differences = [mine - base for mine, base in pairs if mine is not None and base is not None]
        return {"mean": stats.mean(differences), "ci95": stats.ci95(differences)}

    def rows(self) -> list[dict[str, Any]]:
        """One row for every algorithm, ready for JSON."""
        rows = []
        for variant in self.variants:
            rows.append(
                {
                    "algorithm": variant.name,
                    **variant.metrics(),
                    "difference": {metric: self.difference(variant, metric) for metric in COMPARED},
                    "checks": variant.checks(),
                }
            )
        return rows

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.scenario.name,
            "baseline": self.variants[0].name,
            "rows": self.rows(),
            "directory": str(self.out),
        }

    def render(self) -> str:
        """The table, what failed, and where the files are."""
        base = self.variants[0].name
        more = ("± 95 %", f"more than {base}", "± 95 %")
        header = ("algorithm", "waiting time", *more, "messages per CS", *more, "fairness", "checks")
        lines = []
        for variant, row in zip(self.variants, self.rows(), strict=True):
            cells = [row["algorithm"]]
            for metric in COMPARED:
                cells += [number(row[metric]["mean"]), number(row[metric]["ci95"])]
                first = row["algorithm"] == base
                cells += ["-", "-"] if first else [number(row["difference"][metric][key]) for key in ("mean", "ci95")]
            cells += [number(row["fairness"]["mean"]), variant.verdict()]
            lines.append(cells)
        table = Table(header, lines).render("md")
        scenario = self.scenario
        title = f"{scenario.name}: {scenario.nodes} nodes, {scenario.repeat} repetitions, backend {scenario.backend}"
        note = "Differences are paired: repetition r of every algorithm has the same network and applications.\n"
        note += self._network()
        return f"{title}\n\n{table}\n{note}{closing_lines(self.failures, self.out)}"

    def _network(self) -> str:
        """The network of the first algorithm that has results; the others ran on the same network."""
        measured = [variant for variant in self.variants if variant.repetitions]
        metrics = (measured or self.variants)[0].metrics()
        facts = [f"{label} {number(metrics[key]['mean'])}" for key, label in NETWORK.items()]
        return f"The network: {', '.join(facts)}.\n"

    def write(self) -> None:
        """Put the table, the data, the scenario and the figure into the directory."""
        write_files(self.out, self.scenario.to_yaml(), self.render(), self.as_dict())
        records = [one for variant in self.variants for one in figure_records(variant, algorithm=variant.name)]
        draw(records, self.out, by="algorithm")


def figure_records(result: PointResult, **labels: str) -> list[dict[str, Any]]:
    """One record for every repetition and metric of the figure, with labels that distinguish this point."""
    return [
        {**labels, "measure": axis, "value": value}
        for metric, axis in COMPARED.items()
        for value in result.measured(metric)
    ]


def closing_lines(failures: Sequence[str], out: Path) -> str:
    """The end of the text of every comparison: what failed, why there is no figure, and where the files are."""
    figures = [] if plots_missing() is None else [f"no figure: {plots_missing()}"]
    return "".join(f"{line}\n" for line in (*failures, *figures, f"directory: {out}"))


def write_files(out: Path, scenario: str, report: str, document: dict[str, Any]) -> None:
    """Write the files that every comparison has."""
    (out / "scenario.yaml").write_text(scenario, encoding="utf-8")
    (out / "report.md").write_text(report, encoding="utf-8")
    (out / "rows.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def draw(records: Sequence[dict[str, Any]], out: Path, by: str) -> None:
    """Draw the figure of a comparison, if the plots extra is installed and anything was measured."""
    if records and plots_missing() is None:
        from analysis.plots import draw_bars

        draw_bars(records, list(COMPARED.values()), out / "comparison", by)


def compare(scenario: Scenario, algorithms: Sequence[str], out: Path, report: Report) -> Comparison:
    """Run every algorithm on the scenario, spread over the cores."""
    scenarios = [with_algorithm(scenario, name) for name in algorithms]
    points = [Point(name, one) for name, one in zip(algorithms, scenarios, strict=True)]
    usable_backend(scenario.backend)  # a backend that cannot run here is reported before a directory is made
    with fresh_directory(out, f"compare-{scenario.name}") as directory:
        results = run_points(points, f"{scenario.name}: {', '.join(algorithms)}", directory, report)
        comparison = Comparison(scenario, results, directory)
        comparison.write()
    return comparison


def with_algorithm(scenario: Scenario, name: str) -> Scenario:
    """The scenario with another algorithm, which keeps those parameters that it knows."""
    given = dataclasses.asdict(scenario.algorithm.parameters)
    known = {field.name for field in dataclasses.fields(ALGORITHMS[name].parameters)}
    parameters = {key: value for key, value in given.items() if key in known}
    text = yaml_reader.dump({**scenario.model_dump(), "algorithm": {"name": name, **parameters}})
    return loads(text, name=f"{scenario.name} with {name}")


def parse_names(option: str, text: str, known: Iterable[str], least: int, allowed: str) -> list[str]:
    """The names in `a,b,c`, the value of an option: at least `least`, each known and named once."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise InputError(f"{option}: found {name!r}; allowed: {', '.join(known)}")
    if len(names) < least or len(set(names)) < len(names):
        raise InputError(f"{option}: found {text!r}; allowed: {allowed}")
    return names


def parse_algorithms(text: str, least: int = 2) -> list[str]:
    """The algorithms to compare, each registered and named once."""
    many = {1: "one", 2: "two"}[least]
    allowed = f"{many} or more different algorithms, as in rl,raymond-tree"
    return parse_names("--algorithms", text, ALGORITHMS, least, allowed)
