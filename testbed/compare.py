"""Algorithms side by side on one scenario: the same topology, link changes and applications for each.

Random streams are keyed by component and node and never by the algorithm, so repetition r of every algorithm meets the
same network and the same think times, CS times and demands, and differences are taken repetition by repetition.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agents.registry import ALGORITHMS
from analysis import stats
from analysis.checks import FAILED, combine
from analysis.metrics import summarise
from analysis.plots import plots_missing
from analysis.tables import Table, number
from testbed import yamlfile
from testbed.errors import InputError
from testbed.parallel import Job, spread
from testbed.run import Report
from testbed.scenario import Scenario, loads

COMPARED = ("waiting_time", "messages_per_cs")
NETWORK = {
    "mean_degree": "mean degree",
    "link_change_rate": "link changes per unit",
    "components": "components",
    "time_partitioned": "share of time partitioned",
}


@dataclass(frozen=True)
class Contender:
    """One algorithm's repetitions."""

    name: str
    repetitions: list[dict[str, Any]]

    def values(self, metric: str) -> list[float | None]:
        """A metric of every repetition; None where it measured nothing."""
        found = [one["metrics"][metric] for one in self.repetitions]
        return [value["mean"] if isinstance(value, dict) else value for value in found]

    def checks(self) -> dict[str, Any]:
        """The verdict of every check over the repetitions."""
        names = self.repetitions[0]["checks"]
        return {name: combine([one["checks"][name] for one in self.repetitions]) for name in names}


@dataclass(frozen=True)
class Comparison:
    """The contenders; the first is what the others are compared with."""

    scenario: Scenario
    contenders: list[Contender]
    out: Path

    @property
    def failures(self) -> list[str]:
        """A line for every check that failed."""
        return [
            f"{contender.name}: {name} failed: {' | '.join(check['offenders'][:2])}"
            for contender in self.contenders
            for name, check in contender.checks().items()
            if check["verdict"] == FAILED
        ]

    def difference(self, contender: Contender, metric: str) -> dict[str, float | None]:
        """How much more than the first, repetition by repetition."""
        pairs = zip(contender.values(metric), self.contenders[0].values(metric), strict=True)
        differences = [mine - base for mine, base in pairs if mine is not None and base is not None]
        return {"mean": stats.mean(differences), "ci95": stats.ci95(differences)}

    def rows(self) -> list[dict[str, Any]]:
        """One row an algorithm, ready for JSON."""
        rows = []
        for contender in self.contenders:
            metrics = summarise([one["metrics"] for one in contender.repetitions])
            rows.append(
                {
                    "algorithm": contender.name,
                    **metrics,
                    "difference": {metric: self.difference(contender, metric) for metric in COMPARED},
                    "checks": contender.checks(),
                }
            )
        return rows

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "scenario": self.scenario.name,
            "baseline": self.contenders[0].name,
            "rows": self.rows(),
            "directory": str(self.out),
        }

    def render(self) -> str:
        """The table, what failed, and where everything is."""
        base = self.contenders[0].name
        more = ("± 95 %", f"more than {base}", "± 95 %")
        header = ("algorithm", "waiting time", *more, "messages per CS", *more, "fairness", "checks")
        lines = []
        for row in self.rows():
            cells = [row["algorithm"]]
            for metric in COMPARED:
                cells += [number(row[metric]["mean"]), number(row[metric]["ci95"])]
                first = row["algorithm"] == base
                cells += ["-", "-"] if first else [number(row["difference"][metric][key]) for key in ("mean", "ci95")]
            failed = [name for name, check in row["checks"].items() if check["verdict"] == FAILED]
            cells += [number(row["fairness"]["mean"]), f"{', '.join(failed)} FAILED" if failed else "ok"]
            lines.append(cells)
        table = Table(header, lines).render("md")
        scenario = self.scenario
        title = f"{scenario.name}: {scenario.nodes} nodes, {scenario.repeat} repetitions, backend {scenario.backend}"
        note = "Differences are paired: repetition r of every algorithm meets the same network and applications.\n"
        note += self._network()
        failures = "".join(f"{line}\n" for line in self.failures)
        figures = "" if plots_missing() is None else f"no figure: {plots_missing()}\n"
        return f"{title}\n\n{table}\n{note}{failures}{figures}directory: {self.out}\n"

    def _network(self) -> str:
        """What the network was like for the first; the others ran on the same, for as long as it took them."""
        metrics = summarise([one["metrics"] for one in self.contenders[0].repetitions])
        facts = [f"{label} {number(metrics[key]['mean'])}" for key, label in NETWORK.items()]
        return f"The network: {', '.join(facts)}.\n"

    def write(self) -> None:
        """Put the table, the data, the scenario and the figure into the directory."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "scenario.yaml").write_text(self.scenario.to_yaml(), encoding="utf-8")
        (self.out / "report.md").write_text(self.render(), encoding="utf-8")
        (self.out / "rows.json").write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
        if plots_missing() is None:
            from analysis.plots import draw_bars

            labels = {
                "waiting_time": "waiting time (time units)",
                "messages_per_cs": "messages per CS entry (messages)",
            }
            records = [
                {"algorithm": contender.name, "measure": labels[metric], "value": value}
                for metric in COMPARED
                for contender in self.contenders
                for value in contender.values(metric)
                if value is not None
            ]
            draw_bars(records, list(labels.values()), self.out / "comparison")


def compare(scenario: Scenario, algorithms: Sequence[str], out: Path, report: Report) -> Comparison:
    """Run every algorithm on the scenario, spread over the cores."""
    scenarios = [with_algorithm(scenario, name) for name in algorithms]
    jobs = [Job(one, repetition) for one in scenarios for repetition in range(scenario.repeat)]
    results = iter(spread(jobs, f"{scenario.name}: {', '.join(algorithms)}", report))
    contenders = [Contender(name, [next(results) for _ in range(scenario.repeat)]) for name in algorithms]
    directory = out / f"compare-{scenario.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    comparison = Comparison(scenario, contenders, directory)
    comparison.write()
    return comparison


def with_algorithm(scenario: Scenario, name: str) -> Scenario:
    """The scenario with another algorithm, which keeps those of its parameters that it knows."""
    given = dataclasses.asdict(scenario.algorithm.parameters)
    known = {field.name for field in dataclasses.fields(ALGORITHMS[name].parameters)}
    parameters = {key: value for key, value in given.items() if key in known}
    text = yamlfile.dump({**scenario.model_dump(), "algorithm": {"name": name, **parameters}})
    return loads(text, name=f"{scenario.name} with {name}")


def parse_algorithms(text: str) -> list[str]:
    """`a,b,c`, checked: at least two, each registered and named once."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in ALGORITHMS:
            raise InputError(f"--algorithms: found {name!r}; allowed: {', '.join(ALGORITHMS)}")
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(
            f"--algorithms: found {text!r}; allowed: two or more different algorithms, as in rl,raymond-tree"
        )
    return names
