"""Algorithms side by side on one scenario: the same topology, link changes and applications for each.

Random streams are keyed by component and node and never by the algorithm, so repetition r of every algorithm meets the
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
from analysis.checks import FAILED, NOT_CHECKED, combine
from analysis.metrics import summarise
from analysis.plots import plots_missing
from analysis.tables import Table, number
from testbed.scenario import yaml_reader
from testbed.errors import InputError
from testbed.experiments.grid import Job, spread
from testbed.progress import Report
from testbed.experiments.run_directory import fresh_directory
from testbed.scenario.schema import Scenario, loads

COMPARED = {"waiting_time": "waiting time (time units)", "messages_per_cs": "messages per CS entry (messages)"}
"""The metrics that tables and figures of comparisons put first, each with its axis."""
NETWORK = {
    "mean_degree": "mean degree",
    "link_change_rate": "link changes per unit",
    "components": "components",
    "time_partitioned": "share of time partitioned",
}


@dataclass(frozen=True)
class Contender:
    """The repetitions of one that is compared, such as an algorithm."""

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

    def verdict(self) -> str:
        """All checks in one cell of a table: ok, or which failed, or which could not be made."""
        checks = self.checks()
        named = {
            kind: [name for name, one in checks.items() if one["verdict"] == kind] for kind in (FAILED, NOT_CHECKED)
        }
        if named[FAILED]:
            return f"{', '.join(named[FAILED])} FAILED"
        return f"ok, {', '.join(named[NOT_CHECKED])} not checked" if named[NOT_CHECKED] else "ok"

    def failures(self) -> list[str]:
        """A line for every check that failed."""
        return [
            f"{self.name}: {name} failed: {' | '.join(check['offenders'][:2])}"
            for name, check in self.checks().items()
            if check["verdict"] == FAILED
        ]

    def metrics(self) -> dict[str, Any]:
        """What was measured, over the repetitions."""
        return summarise([one["metrics"] for one in self.repetitions])

    def figure_records(self, **labels: str) -> list[dict[str, Any]]:
        """One record for every repetition and measure of the figure, with labels that tell this one from others."""
        return [
            {**labels, "measure": axis, "value": value}
            for metric, axis in COMPARED.items()
            for value in self.values(metric)
            if value is not None
        ]


@dataclass(frozen=True)
class Comparison:
    """The contenders; the first is what the others are compared with."""

    scenario: Scenario
    contenders: list[Contender]
    out: Path

    @property
    def failures(self) -> list[str]:
        """A line for every check that failed."""
        return [line for contender in self.contenders for line in contender.failures()]

    def difference(self, contender: Contender, metric: str) -> dict[str, float | None]:
        """How much more than the first, repetition by repetition."""
        pairs = zip(contender.values(metric), self.contenders[0].values(metric), strict=True)
        differences = [mine - base for mine, base in pairs if mine is not None and base is not None]
        return {"mean": stats.mean(differences), "ci95": stats.ci95(differences)}

    def rows(self) -> list[dict[str, Any]]:
        """One row an algorithm, ready for JSON."""
        rows = []
        for contender in self.contenders:
            rows.append(
                {
                    "algorithm": contender.name,
                    **contender.metrics(),
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
        for contender, row in zip(self.contenders, self.rows(), strict=True):
            cells = [row["algorithm"]]
            for metric in COMPARED:
                cells += [number(row[metric]["mean"]), number(row[metric]["ci95"])]
                first = row["algorithm"] == base
                cells += ["-", "-"] if first else [number(row["difference"][metric][key]) for key in ("mean", "ci95")]
            cells += [number(row["fairness"]["mean"]), contender.verdict()]
            lines.append(cells)
        table = Table(header, lines).render("md")
        scenario = self.scenario
        title = f"{scenario.name}: {scenario.nodes} nodes, {scenario.repeat} repetitions, backend {scenario.backend}"
        note = "Differences are paired: repetition r of every algorithm meets the same network and applications.\n"
        note += self._network()
        return f"{title}\n\n{table}\n{note}{closing_lines(self.failures, self.out)}"

    def _network(self) -> str:
        """What the network was like for the first; the others ran on the same, for as long as it took them."""
        metrics = self.contenders[0].metrics()
        facts = [f"{label} {number(metrics[key]['mean'])}" for key, label in NETWORK.items()]
        return f"The network: {', '.join(facts)}.\n"

    def write(self) -> None:
        """Put the table, the data, the scenario and the figure into the directory."""
        write_files(self.out, self.scenario.to_yaml(), self.render(), self.as_dict())
        records = [one for contender in self.contenders for one in contender.figure_records(algorithm=contender.name)]
        draw(records, self.out, by="algorithm")


def closing_lines(failures: Sequence[str], out: Path) -> str:
    """What ends the text of every comparison: what failed, why there is no figure, and where everything is."""
    figures = [] if plots_missing() is None else [f"no figure: {plots_missing()}"]
    return "".join(f"{line}\n" for line in (*failures, *figures, f"directory: {out}"))


def write_files(out: Path, scenario: str, report: str, document: dict[str, Any]) -> None:
    """What every comparison leaves in its directory."""
    (out / "scenario.yaml").write_text(scenario, encoding="utf-8")
    (out / "report.md").write_text(report, encoding="utf-8")
    (out / "rows.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def draw(records: Sequence[dict[str, Any]], out: Path, by: str) -> None:
    """The figure of a comparison, if it can be drawn here and anything was measured."""
    if records and plots_missing() is None:
        from analysis.plots import draw_bars

        draw_bars(records, list(COMPARED.values()), out / "comparison", by)


def compare(scenario: Scenario, algorithms: Sequence[str], out: Path, report: Report) -> Comparison:
    """Run every algorithm on the scenario, spread over the cores."""
    scenarios = [with_algorithm(scenario, name) for name in algorithms]
    jobs = [Job(one, repetition) for one in scenarios for repetition in range(scenario.repeat)]
    with fresh_directory(out, f"compare-{scenario.name}") as directory:
        results = iter(spread(jobs, f"{scenario.name}: {', '.join(algorithms)}", report))
        contenders = [Contender(name, [next(results) for _ in range(scenario.repeat)]) for name in algorithms]
        comparison = Comparison(scenario, contenders, directory)
        comparison.write()
    return comparison


def with_algorithm(scenario: Scenario, name: str) -> Scenario:
    """The scenario with another algorithm, which keeps those of its parameters that it knows."""
    given = dataclasses.asdict(scenario.algorithm.parameters)
    known = {field.name for field in dataclasses.fields(ALGORITHMS[name].parameters)}
    parameters = {key: value for key, value in given.items() if key in known}
    text = yaml_reader.dump({**scenario.model_dump(), "algorithm": {"name": name, **parameters}})
    return loads(text, name=f"{scenario.name} with {name}")


def parse_names(option: str, text: str, known: Iterable[str], least: int, allowed: str) -> list[str]:
    """`a,b,c` as an option has it, checked: at least so many, each known and named once."""
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
