"""Variants of algorithms side by side on one scenario: the same topology, link changes and applications for each.

Random streams are keyed by component and node and never by the algorithm. So repetition r of every variant has the
same network and the same think times, CS times and demands, and differences are taken repetition by repetition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis import stats
from analysis.results import Results
from analysis.summary_html import summary_html
from analysis.tables import Table, number
from testbed.backends.registry import usable_backend
from testbed.errors import InputError
from testbed.experiments.grid import PointResult, as_results, reuse_note, run_points
from testbed.experiments.run_directory import fresh_directory
from testbed.experiments.studies.open import kept_in
from testbed.experiments.variants import Variant, name_variants, resolved
from testbed.extras import plots_missing
from testbed.progress import Report
from testbed.scenario.schema import Scenario

if TYPE_CHECKING:
    import pandas as pd

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
    """The variants on a scenario; the first is the baseline of the others."""

    scenario: Scenario
    variants: list[PointResult]
    notes: list[str]
    out: Path

    @property
    def failures(self) -> list[str]:
        """A line for every check that failed, and for every repetition that was lost."""
        return [line for variant in self.variants for line in variant.failures()]

    @property
    def inconclusive(self) -> list[str]:
        """A line for every check of which the runs show nothing."""
        return [line for variant in self.variants for line in variant.inconclusive()]

    @property
    def results(self) -> Results:
        """As figures, tables and frames take them."""
        points = (({"algorithm": variant.name}, variant) for variant in self.variants)
        return as_results(self.scenario.name, points, ["algorithm"])

    def frame(self) -> pd.DataFrame:
        """One row for every repetition of every variant; needs pandas."""
        from analysis.frames import results_frame

        return results_frame(self.results)

    def _repr_html_(self) -> str:
        return comparison_html(self.scenario.name, self.table(), [*self.notes, *self.failures, *self.inconclusive])

    def difference(self, variant: PointResult, metric: str) -> dict[str, float | None]:
        """How much more than the baseline, over the repetitions that both have."""
        pairs = zip(variant.values(metric), self.variants[0].values(metric), strict=True)
        differences = [mine - base for mine, base in pairs if mine is not None and base is not None]
        return {"mean": stats.mean(differences), "ci95": stats.ci95(differences)}

    def rows(self) -> list[dict[str, Any]]:
        """One row for every variant, ready for JSON."""
        rows = []
        for variant in self.variants:
            rows.append(
                {
                    "algorithm": variant.name,
                    **resolved(variant.point.scenario),
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
            "notes": self.notes,
            "directory": str(self.out),
        }

    def render(self) -> str:
        """The table, notes, what failed, and where the files are."""
        base, scenario, table = self.variants[0].name, self.scenario, self.table().render("md")
        title = f"{scenario.name}: {scenario.nodes} nodes, {scenario.repeat} repetitions, backend {scenario.backend}"
        note = f"Differences are from {base}, in pairs: repetition r of all has the same network and applications.\n"
        note += self._network() + "".join(f"{line}\n" for line in self.notes)
        return f"{title}\n\n{table}\n{note}{closing_lines([*self.failures, *self.inconclusive], self.out)}"

    def table(self) -> Table:
        """A row for every variant."""
        base = self.variants[0].name
        more = ("± 95 %", "difference", "± 95 %")
        pending = ("pending", "waiting time, with pending")
        header = ("algorithm", "waiting time", *more, "messages per CS", *more, "fairness", *pending, "checks")
        lines = []
        for variant, row in zip(self.variants, self.rows(), strict=True):
            cells = [row["algorithm"]]
            for metric in COMPARED:
                cells += [number(row[metric]["mean"]), number(row[metric]["ci95"])]
                first = row["algorithm"] == base
                cells += ["-", "-"] if first else [number(row["difference"][metric][key]) for key in ("mean", "ci95")]
            cells += [number(row[key]["mean"]) for key in ("fairness", "pending", "waiting_time_with_pending")]
            cells.append(variant.verdict())
            lines.append(cells)
        return Table(header, lines)

    def _network(self) -> str:
        """The network of the first variant that has results; the others ran on the same network."""
        measured = [variant for variant in self.variants if variant.repetitions]
        metrics = (measured or self.variants)[0].metrics()
        facts = [f"{label} {number(metrics[key]['mean'])}" for key, label in NETWORK.items()]
        return f"The network: {', '.join(facts)}.\n"

    def write(self) -> None:
        """Put the table, the data, the scenario and the figure into the directory."""
        write_files(self.out, self.scenario.to_yaml(), self.render(), self.as_dict())
        records = [one for variant in self.variants for one in figure_records(variant, algorithm=variant.name)]
        draw(records, self.out, by="algorithm")


def comparison_html(title: str, table: Table, notes: Sequence[str]) -> str:
    """A comparison in a notebook; the table has the verdicts."""
    return summary_html(title, {}, table, notes)


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


def compare(
    scenario: Scenario,
    variants: Iterable[Variant],
    out: Path,
    report: Report,
    store: Path | None = None,
    *,
    fresh: bool = False,
) -> Comparison:
    """Run every variant on the scenario, spread over the cores; what is in the store already is taken from there."""
    named = name_variants(variants, scenario)
    if len(named.points) < 2:
        found = " ".join(["only", *(point.name for point in named.points)]) if named.points else "nothing"
        raise InputError(f"compare: found {found}; allowed: two or more algorithms or variants")
    usable_backend(scenario.backend)  # a backend that cannot run here is reported before a directory is made
    with fresh_directory(out, f"compare-{scenario.name}") as directory:
        what = f"{scenario.name}: {len(named.points)} variants"
        with kept_in(store) as kept:
            results = run_points(named.points, what, directory, report, kept, fresh=fresh)
        warnings = dict.fromkeys(line for point in named.points for line in point.scenario.warnings())
        notes = [*named.notes, *warnings, *reuse_note(results, store)]
        comparison = Comparison(scenario, results, notes, directory)
        comparison.write()
    return comparison
