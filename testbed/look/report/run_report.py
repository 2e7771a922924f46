"""The report of a run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from analysis.check import FAILED
from analysis.load import Run, load_run
from analysis.open_run import OpenRun
from analysis.tables import number
from testbed.errors import ScenarioError
from testbed.look.report.blocks import (
    Cell,
    Report,
    badge,
    facts,
    notes,
    number_cell,
    paragraph,
    preformatted,
    table,
)
from testbed.look.report.metric_rows import column_of, heading, metrics_table, shown_of
from testbed.look.report.run_charts import lacks, node_table
from testbed.look.report.run_sections import Logs, Repetition, begun_repetitions, chart_sections, read_logs
from testbed.look.report.values import finite, items, line, lines, mapping, name
from testbed.look.report.verdicts import FAILED_LOGS, Moment, overall, overall_cell, verdict_list, word_of
from testbed.scenario import yaml_reader

MOST_YAML = 100_000
"""Letters of a scenario."""
FACTS = {
    "status": "status", "started": "started", "wall_time_s": "wall time (s)", "backend": "backend", "seed": "seed",
    "repeat": "repetitions", "commit": "commit of the code", "command": "command", "exit": "exit code",
    "error": "error",
}  # fmt: skip
"""What `meta.json` has, and what the report calls it."""


def run_report(path: Path, repetition: int | None, page_folder: Path) -> Report:
    """The report of a run. Charts over time show one repetition: the first, or that which is asked for."""
    opened = OpenRun(path)
    run = load_run(path)
    begun = begun_repetitions(run)
    logs = read_logs(begun, repetition)
    scenario = _scenario(path / "scenario.yaml")
    report = Report(name(_title(run, scenario)), "run", _subtitle(run, scenario, logs))
    summary = mapping(run.summary)
    checks = opened.checks
    report.lead = _lead(run, scenario, checks)
    start = logs.timeline.begun
    shares = "neighbourhoods" if start.places else start.shares
    moments = _moments(run, checks) if summary else _moments_of_logs(run, begun, checks)
    verdicts = verdict_list(checks, moments, page_folder, shares if logs.shown is not None else "")
    report.add("verdicts", "Verdicts", verdicts if checks else "")
    repetitions = [
        _Row(row.repetition if summary else begun[row.repetition].number, mapping(row.metrics), mapping(row.checks))
        for row in opened.results.rows
    ]
    caption = f"Metrics over {len(repetitions)} repetition{'s' * (len(repetitions) != 1)}"
    report.add("metrics", "Metrics", metrics_table(opened.metrics, caption))
    _add_charts(report, logs)
    report.add("repetitions", "Repetitions", _repetitions_table(repetitions))
    if logs.shown is not None and not lacks(logs.timeline, "enter", "entries"):
        report.add("nodes", "Nodes", node_table(logs.shown_waits, logs.timeline, logs.shown.number))
    report.add("scenario", "Scenario", _scenario_section(path / "scenario.yaml"))
    report.add("provenance", "Provenance", _provenance(run, opened.metrics))
    return report


# -- reading -----------------------------------------------------------------------------------------------------------


def _scenario(file: Path) -> Mapping[str, Any]:
    """The scenario as data; empty if it cannot be read: the report shows it as text in any case."""
    try:
        return mapping(yaml_reader.read(file).data)
    except ScenarioError:
        return {}


# -- the top -----------------------------------------------------------------------------------------------------------


def _title(run: Run, scenario: Mapping[str, Any]) -> str:
    return str(scenario.get("name") or mapping(run.summary).get("scenario") or run.path.resolve().name)


def _subtitle(run: Run, scenario: Mapping[str, Any], logs: Logs) -> str:
    algorithm = scenario.get("algorithm", mapping(run.summary).get("algorithm"))
    algorithm = mapping(algorithm).get("name", algorithm)
    nodes = len(logs.timeline.begun.units) or scenario.get("nodes")
    length = finite(scenario.get("duration"))
    known = [
        ("", algorithm, ""),
        ("", nodes, " nodes"),
        ("", None if length is None else f"{length:g}", " time units"),
        ("", run.meta.get("repeat"), " repetition" if run.meta.get("repeat") == 1 else " repetitions"),
        ("backend ", run.meta.get("backend"), ""),
        ("seed ", run.meta.get("seed"), ""),
    ]
    return " · ".join(f"{before}{name(value)}{after}" for before, value, after in known if value is not None)


def _lead(run: Run, scenario: Mapping[str, Any], checks: Mapping[str, Any]) -> str:
    """The description, one word for the whole run, and what is not as it should be."""
    summary = mapping(run.summary)
    parts = []
    if description := scenario.get("description"):
        parts.append(paragraph(line(description, 1500), "description"))
    if checks:
        parts.append(f'<p class="overall">{badge(overall(checks))} {_counted(checks)}</p>\n')
    if not run.finished:
        status = name(run.meta.get("status", "unknown"))
        parts.append(notes([f"The run did not come to its end as it should (status: {status})."]))
    parts.append(notes([f"Not as expected: {line(one)}" for one in items(summary.get("unmet"))[:20]]))
    parts.append(notes([f"Inconclusive: {line(one)}" for one in items(summary.get("inconclusive"))[:20]]))
    parts.append(notes([f"Lost: {line(one)}" for one in items(summary.get("lost"))[:20]]))
    return "".join(parts)


def _counted(checks: Mapping[str, Any]) -> str:
    """How many checks said what."""
    words = [word_of(check) for check in checks.values()]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    return escape(f"{len(words)} checks: {counts}")


# -- sections ----------------------------------------------------------------------------------------------------------


def _moments(run: Run, checks: Mapping[str, Any]) -> dict[str, Moment | None]:
    """Where each failed check can be seen: in the log that was kept of the first repetition in which it failed."""
    moments: dict[str, Moment | None] = {}
    for one in map(mapping, items(mapping(run.summary).get("repetitions"))):
        if not isinstance(one.get("log"), str):
            continue
        for check_name, check in mapping(one.get("checks")).items():
            if word_of(check) == FAILED and check_name in checks and moments.get(check_name) is None:
                first = mapping(check).get("first")
                moments[check_name] = Moment.of(_place(run, one["log"]), one.get("repetition"), first)
    return moments


def _moments_of_logs(run: Run, begun: Sequence[Repetition], checks: Mapping[str, Any]) -> dict[str, Moment | None]:
    """The same for a run that has no summary, such as that of a repetition that was run again."""
    firsts = {name: check["first"] for name, check in checks.items() if check["first"] is not None}
    return {name: Moment.of(run.path, begun[first["repetition"]].number, first) for name, first in firsts.items()}


def _place(run: Run, log: str) -> Path:
    """Where the log is now: run directories are moved, and what is in them stays together."""
    kept = run.path / FAILED_LOGS / Path(log).name
    return kept if kept.is_dir() else run.path


def _add_charts(report: Report, logs: Logs) -> None:
    for section in chart_sections(logs):
        about = paragraph(section.about, "about") if section.about else ""
        report.add(section.id, section.title, about + report.figures(section.charts))


@dataclass(frozen=True)
class _Row:
    number: int
    metrics: Mapping[str, Any]
    checks: Mapping[str, Any]


def _repetitions_table(rows: Sequence[_Row]) -> str:
    columns = shown_of([row.metrics for row in rows])
    body = []
    for row in rows:
        label = Cell(name(row.number), finite(row.number))
        numbers = (number_cell(column_of(row.metrics, *one)) for one in columns)
        body.append([label, overall_cell(row.checks), *numbers])
    header = ["repetition", "checks", *(heading(*one) for one in columns)]
    return table("Every repetition", header, body, labels=2) if body else ""


def _scenario_section(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            text = opened.read(MOST_YAML + 1)
        size = file.stat().st_size
    except OSError as error:
        return paragraph(f"scenario.yaml cannot be read: {error.strerror}", "missing")
    about = "As it ran, with every default. Running it again gives the same run."
    shown = lines(text, MOST_YAML) if size <= MOST_YAML else f"{lines(text[:MOST_YAML], MOST_YAML)}…\n({size:,} bytes)"
    return paragraph(about, "about") + preformatted(shown)


def _provenance(run: Run, metrics: Mapping[str, Any]) -> str:
    meta = run.meta
    pairs = [("run directory", line(run.path))]
    for key, label in FACTS.items():
        value = meta.get(key)
        if value is not None:
            pairs.append((label, line(" ".join(map(str, value)) if isinstance(value, list) else value)))
    pairs += [
        (f"version of {name(key)}", line(value)) for key, value in list(mapping(meta.get("versions")).items())[:20]
    ]
    pairs += [(f"host, {name(key)}", line(value)) for key, value in list(mapping(meta.get("host")).items())[:20]]
    for key, label in (("station_lateness", "lateness of stations"), ("medium_lateness", "lateness of the medium")):
        found = mapping(metrics.get(key))
        if finite(found.get("mean")) is not None:
            spread = ", ".join(
                f"{column} {number(finite(found.get(column)))}" for column in ("mean", "p95", "p99", "max")
            )
            pairs.append((f"{label} (ms)", spread))
    return facts(pairs)
