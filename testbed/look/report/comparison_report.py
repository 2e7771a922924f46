"""The report of a comparison, or of a reproduction of a paper: what `rows.json` and `report.md` in its folder say."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from analysis.check import FAILED, INCONCLUSIVE, NOT_CHECKED, OK
from analysis.tables import number
from testbed.errors import InputError
from testbed.look.report.blocks import (
    Cell,
    Chart,
    Missing,
    Report,
    Series,
    badge,
    interval_cell,
    notes,
    number_cell,
    paragraph,
    preformatted,
    table,
    verdict_cell,
)
from testbed.look.report.explorer import ExplorerPoint, explorer_data
from testbed.look.report.metric_rows import measure_label, side_by_side
from testbed.look.report.values import compact, finite, items, line, lines, mapping, name
from testbed.look.report.verdicts import Moment, overall, overall_cell, verdict_list, word_of

ROWS = "rows.json"
MOST_TEXT = 300_000
MOST_ROWS = 3000
"""Rows of a table of a reproduction."""
GOOD_CLAIM, BAD_CLAIM = "holds", "DOES NOT HOLD"


def is_comparison(path: Path) -> bool:
    """Whether a path is the folder of a comparison or a reproduction."""
    return (path / ROWS).is_file()


def comparison_report(path: Path, page_folder: Path) -> Report:
    """The report of such a folder."""
    document = _read(path / ROWS)
    report = _reproduction(document) if "paper" in document else _comparison(document, path, page_folder)
    report.add("text", "Report as text", _file(path / "report.md"))
    if (path / "scenario.yaml").is_file():
        report.add("scenario", "Scenario", _file(path / "scenario.yaml"))
    return report


def _read(file: Path) -> dict[str, Any]:
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"{file}: cannot be read: {line(error)}") from None
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{file}: not the results of a comparison: it has no list of rows")
    if not {"scenario", "paper"} & set(document):
        raise InputError(f"{file}: not the results of a comparison: it names neither a scenario nor a paper")
    return dict(document)


def _file(file: Path) -> str:
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            return preformatted(lines(opened.read(MOST_TEXT + 1), MOST_TEXT))
    except OSError as error:
        return paragraph(f"{file.name} cannot be read: {error.strerror}", "missing")


# -- comparisons -------------------------------------------------------------------------------------------------------


def _comparison(document: Mapping[str, Any], path: Path, page_folder: Path) -> Report:
    rows: Sequence[Mapping[str, Any]] = document["rows"]
    axes = ["algorithm", "world"] if any("world" in row for row in rows) else ["algorithm"]
    names = [" in ".join(name(row.get(axis, "?")) for axis in axes) for row in rows]
    what = "backends" if len(axes) > 1 else "algorithms"
    report = Report(
        name(document["scenario"]), f"comparison of {what}", ", ".join(names[:12]) + "…" * (len(names) > 12)
    )
    report.lead = _lead(rows, "variants in their backends" if len(axes) > 1 else "variants")
    report.lead += notes(map(str, items(document.get("notes"))[:20]))
    report.add("verdicts", "Verdicts", _verdicts(rows, names, path, page_folder))
    baseline = document.get("baseline")
    report.add("side", "Side by side", _differences_table(rows, names, baseline))
    points = [ExplorerPoint(row, row, _failed(row)) for row in rows]
    report.explorer = explorer_data(axes, points)
    if report.explorer is not None:
        report.add("chart", "Any metric", '<div id="explore"></div>')
    report.add("differences", "Differences", _difference_charts(report, rows, names, baseline))
    report.add("metrics", "Metrics", side_by_side(list(zip(names, rows, strict=True)), "Mean ± 95 % of every metric"))
    return report


def _lead(rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    words = [overall(mapping(row.get("checks"))) for row in rows]
    for word, what in ((FAILED, "checks failed"), (INCONCLUSIVE, "checks are inconclusive")):
        if word in words:
            return f'<p class="overall">{badge(word)} {what} in {words.count(word)} of {len(rows)} {unit}</p>\n'
    return f'<p class="overall">{badge(OK if OK in words else NOT_CHECKED)} no check failed in {len(rows)} {unit}</p>\n'


def _failed(row: Mapping[str, Any]) -> list[str]:
    return [check for check, one in mapping(row.get("checks")).items() if word_of(one) == FAILED]


def _verdicts(rows: Sequence[Mapping[str, Any]], names: Sequence[str], path: Path, page_folder: Path) -> str:
    checks = list(dict.fromkeys(check for row in rows for check in mapping(row.get("checks"))))
    body = [
        [Cell(label), *(verdict_cell(word_of(mapping(row.get("checks")).get(check))) for check in checks)]
        for label, row in zip(names, rows, strict=True)
    ]
    parts = [table("The verdict of every check", ["variant", *map(name, checks)], body)] if checks else []
    for label, row in zip(names, rows, strict=True):
        failed = {check: mapping(row.get("checks"))[check] for check in _failed(row)}
        if failed:
            moments = {one: Moment.of_command(mapping(check).get("replay"), path) for one, check in failed.items()}
            parts.append(f"<h3><bdi>{escape(label)}</bdi></h3>{verdict_list(failed, moments, page_folder)}")
    return "".join(parts)


def _compared(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(metric for row in rows for metric in mapping(row.get("difference"))))


def _differences_table(rows: Sequence[Mapping[str, Any]], names: Sequence[str], baseline: Any) -> str:
    """The main metrics of every variant, with the differences from the baseline."""
    metrics = [metric for metric in _compared(rows) if _is_metric(metric)] or ["waiting_time", "messages_per_cs"]
    header, body = ["variant", "checks"], []
    for metric in metrics:
        header += [measure_label(metric), *(["difference"] if baseline is not None else [])]
    header += ["fairness", "pending", "throughput"]
    for label, row in zip(names, rows, strict=True):
        cells = [Cell(label), overall_cell(mapping(row.get("checks")))]
        for metric in metrics:
            found, more = mapping(row.get(metric)), mapping(mapping(row.get("difference")).get(metric))
            cells.append(interval_cell(found.get("mean"), found.get("ci95")))
            if baseline is not None:
                is_base = row.get("algorithm") == baseline
                cells.append(Cell("baseline") if is_base else interval_cell(more.get("mean"), more.get("ci95")))
        cells += [number_cell(mapping(row.get(key)).get("mean")) for key in ("fairness", "pending", "throughput")]
        body.append(cells)
    pairs = "" if baseline is None else f"; differences are from {name(baseline)}, in pairs of repetitions"
    return table(f"Mean ± 95 %{pairs}", header, body, labels=2)


def _is_metric(metric: str) -> bool:
    try:
        return bool(measure_label(metric))
    except KeyError:
        return False


def _difference_charts(report: Report, rows: Sequence[Mapping[str, Any]], names: Sequence[str], baseline: Any) -> str:
    """Bars of the differences from the baseline, with their intervals."""
    if baseline is None:
        return ""
    others = [(label, row) for label, row in zip(names, rows, strict=True) if row.get("algorithm") != baseline]
    charts: list[Chart | Missing] = []
    for metric in filter(_is_metric, _compared(rows)):
        found = [mapping(mapping(row.get("difference")).get(metric)) for _, row in others]
        series = Series(
            "difference", [compact(one.get("mean")) for one in found], [compact(one.get("ci95")) for one in found]
        )
        title = f"{measure_label(metric)}: difference from {name(baseline)}"
        if any(value is not None for value in series.values):
            charts.append(Chart(title, "bars", "", "difference", [label for label, _ in others], [series]))
    note = "Below 0 is less than the baseline. An interval that contains 0 shows no difference."
    return paragraph(note, "about") + report.figures(charts) if charts else ""


# -- reproductions -----------------------------------------------------------------------------------------------------


def _reproduction(document: Mapping[str, Any]) -> Report:
    claims = [mapping(one) for one in items(document.get("claims"))]
    counts: dict[str, int] = {}
    for claim in claims:
        word = name(claim.get("verdict", ""))
        counts[word] = counts.get(word, 0) + 1
    listed = ", ".join(f"{count} {word}" for word, count in counts.items())
    report = Report(
        f"{name(document['paper']).upper()}: the paper's experiments", "reproduction", f"{len(claims)} claims: {listed}"
    )
    report.lead = notes([f"Failed: {line(one)}" for one in items(document.get("failures"))[:20]])
    body = [
        [
            Cell(line(claim.get("claim", ""))),
            Cell(line(claim.get("paper", ""))),
            Cell(line(claim.get("measured", ""))),
            _claim_cell(name(claim.get("verdict", ""))),
        ]
        for claim in claims
    ]
    header = ["claim", "in the paper's words", "measured", "verdict"]
    report.add("claims", "Claims", table("Every claim of the paper", header, body, labels=4) if body else "")
    for key, value in document.items():
        rows = [one for one in items(value) if isinstance(one, Mapping)]
        if rows and key != "claims":
            title = key.replace("_", " ").capitalize()
            report.add(f"rows-{len(report.sections)}", name(title), _rows_table(rows, name(key)))
    return report


def _claim_cell(word: str) -> Cell:
    if word == GOOD_CLAIM:
        return Cell(f"✓ {word}", 2.0, "good")
    return Cell(f"✗ {word}", 0.0, "bad") if word == BAD_CLAIM else Cell(f"? {word}", 1.0, "unsure")


def _rows_table(rows: Sequence[Mapping[str, Any]], caption: str) -> str:
    """Rows of any kind: a column for every key that has plain values."""
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "ci95"]
    texts = [key for key in keys if any(isinstance(row.get(key), str) for row in rows)]
    keys = [*texts, *(key for key in keys if key not in texts)]
    body = [[_any_cell(row, key) for key in keys] for row in rows[:MOST_ROWS]]
    cut = f"; the first {MOST_ROWS:,} of {len(rows):,}" if len(rows) > MOST_ROWS else ""
    return table(f"{caption}: {len(rows):,} rows{cut}", [name(key) for key in keys], body, labels=max(1, len(texts)))


def _any_cell(row: Mapping[str, Any], key: str) -> Cell:
    value = row.get(key)
    if key == "measured":
        return interval_cell(value, row.get("ci95"))
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    known = finite(value)
    if known is not None:
        return Cell(f"{known:g}" if known == int(known) and abs(known) < 1e6 else number(known), known)
    if isinstance(value, Mapping) and "mean" in value:
        return interval_cell(value["mean"], value.get("ci95"))
    if value is None or value in ([], {}):
        return Cell("")
    return Cell(line(value, 200))
