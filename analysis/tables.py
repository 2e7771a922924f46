"""Tables in Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.metric_names import METRICS

FORMATS = ("md", "csv", "latex")


@dataclass(frozen=True)
class Table:
    """A header and rows of text; the first column is a label, the others are numbers."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def render(self, format: str) -> str:
        """The table as text, with a line feed at its end."""
        return _RENDERERS[format](self)


def _markdown(table: Table) -> str:
    header, *rows = [[cell.replace("|", "\\|") for cell in row] for row in (table.header, *table.rows)]
    widths = [max(3, *map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        label, *numbers = zip(cells, widths, strict=True)
        padded = [label[0].ljust(label[1]), *(cell.rjust(width) for cell, width in numbers)]
        return "| " + " | ".join(padded) + " |"

    rule = "| " + " | ".join("-" * (width - 1) + (":" if i else "-") for i, width in enumerate(widths)) + " |"
    return "\n".join([line(header), rule, *map(line, rows)]) + "\n"


def _csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows(table.rows)
    return out.getvalue()


_LATEX_SPECIAL = {character: f"\\{character}" for character in "&%$#_{}"} | {
    "±": "$\\pm$",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "\\": "\\textbackslash{}",
}


def _latex(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX_SPECIAL.get(c, c) for c in cell) for cell in cells) + r" \\"

    columns = "l" + "r" * (len(table.header) - 1)
    body = [line(table.header), r"\hline", *map(line, table.rows)]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"]) + "\n"


_RENDERERS: dict[str, Callable[[Table], str]] = {"md": _markdown, "csv": _csv, "latex": _latex}


def number(value: float | None) -> str:
    """A number as a table shows it: three significant digits or more, a dash for None."""
    if value is None:
        return "-"
    if value and (abs(value) >= 1e6 or abs(value) < 1e-3):
        return f"{value:.3g}"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"


_ROWS = (
    "waiting_time", "waiting_time_with_pending", "response_time", "longest_wait", "pending_at_close", "pending",
    "synchronization_delay", "inversions_per_cs", "inversions_after_grace_per_cs", "deadlines_missed",
    "messages_per_cs", "transmissions_per_cs", "words_per_message",
    "sent_words_per_message", "words_per_cs", "token_hops_per_cs", "token_path", "token_fairness",
    "tokens_idle", "height_changes_per_cs", "throughput", "concurrency", "nodes_inside", "utilisation",
    "idle_though_fitting", "fairness", "entries",
    "link_change_rate", "mean_degree", "components", "time_partitioned", "messages_cut_off", "frames_per_cs",
    "bytes_per_cs", "medium_lateness", "station_lateness", "arrivals", "evictions", "abandoned", "regenerated",
)  # fmt: skip
"""The metrics of a run's table."""
_BY_PLACE = (("entries_by_place", "CS entries at place"), ("waiting_by_place", "waiting time at place"))
_SIDE_BY_SIDE = (
    # key of the metric, its column, its label
    ("waiting_time", "mean", METRICS["waiting_time"].label),
    ("waiting_time", "p95", "waiting time p95"),
    *((key, "mean", METRICS[key].label) for key in (
        "waiting_time_with_pending", "pending", "response_time", "messages_per_cs", "transmissions_per_cs",
        "words_per_message", "synchronization_delay",
        "fairness", "throughput", "entries", "frames_per_cs", "bytes_per_cs", "link_change_rate", "mean_degree",
        "time_partitioned",
    )),
    ("medium_lateness", "p99", "medium lateness p99 (ms)"),
    ("station_lateness", "p99", "station lateness p99 (ms)"),
)  # fmt: skip
_WHERE_ANY = (
    "frames_per_cs", "bytes_per_cs", "medium_lateness", "station_lateness", "inversions_per_cs",
    "inversions_after_grace_per_cs",
    "deadlines_missed", "transmissions_per_cs", "arrivals", "evictions", "abandoned", "regenerated", "token_path",
    "token_fairness", "tokens_idle", "height_changes_per_cs",
)  # fmt: skip
"""Metrics that only some backends or loads have: where none is measured, there is no row for it."""


def metrics_table(metrics: dict[str, Any]) -> Table:
    """The metrics of one run: mean, 95 % confidence interval over repetitions, p50, p95 and max."""
    rows = []
    for key in _ROWS:
        if key in _WHERE_ANY and metrics.get(key, {}).get("mean") is None:
            continue
        if key == "sent_words_per_message" and metrics[key] == metrics["words_per_message"]:
            continue  # no field of a message was added by a correction
        if key == "waiting_time_with_pending" and not metrics["pending"]["mean"]:
            continue  # it is the waiting time
        rows.append(_metric_row(METRICS[key].label, metrics[key]))
        if key == "messages_per_cs":
            by_type = metrics["messages_per_cs_by_type"]
            rows += [_metric_row(f"  {type}", one) for type, one in by_type.items() if isinstance(one, dict)]
    for key, label in _BY_PLACE:
        places = [(place, one) for place, one in metrics.get(key, {}).items() if isinstance(one, dict)]
        rows += [_metric_row(f"{label} {place}", one) for place, one in sorted(places, key=lambda row: int(row[0]))]
    return Table(("metric", "mean", "± 95 %", "p50", "p95", "max"), rows)


def _metric_row(label: str, metric: dict[str, Any]) -> list[str]:
    return [label, *(number(metric.get(column)) for column in ("mean", "ci95", "p50", "p95", "max"))]


def runs_table(by: str, rows: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    """Several runs, one a row, labelled by the key in which they differ."""
    header = (by, "CS entries", "waiting time", "± 95 % (time)", "p95 (time)", "messages per CS", "± 95 % (messages)",
              "throughput", "fairness", "pending", "waiting time, with pending")  # fmt: skip
    return Table(
        header,
        [
            [
                label,
                number(metrics["entries"]["mean"]),
                number(metrics["waiting_time"]["mean"]),
                number(metrics["waiting_time"]["ci95"]),
                number(metrics["waiting_time"]["p95"]),
                number(metrics["messages_per_cs"]["mean"]),
                number(metrics["messages_per_cs"]["ci95"]),
                number(metrics["throughput"]["mean"]),
                number(metrics["fairness"]["mean"]),
                number(metrics.get("pending", {}).get("mean")),
                number(metrics.get("waiting_time_with_pending", {}).get("mean")),
            ]
            for label, metrics in rows
        ],
    )


def columns_table(columns: Sequence[tuple[str, dict[str, Any], str]]) -> Table:
    """Several runs, one a column: its name, its metrics and what its checks say."""
    rows = []
    for key, column, label in _SIDE_BY_SIDE:
        cells = [_with_interval(metrics.get(key, {}), column) for _, metrics, _ in columns]
        if key not in _WHERE_ANY or set(cells) != {number(None)}:
            rows.append([label, *cells])
    rows.append(["checks", *(verdict for _, _, verdict in columns)])
    return Table(("metric", *(name for name, _, _ in columns)), rows)


def _with_interval(metric: dict[str, Any], column: str) -> str:
    """One cell: a mean is followed by the half width of its 95 % confidence interval, if there is one."""
    interval = metric.get("ci95") if column == "mean" else None
    value = number(metric.get(column))
    return value if interval is None else f"{value} ± {number(interval)}"
