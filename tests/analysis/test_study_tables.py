"""Tables of studies in every format."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import Any

import pytest

from analysis import stats
from analysis.results import Results
from analysis.selection import Measure, Selection, SelectionError
from analysis.study_tables import choose_rows_and_columns, study_table
from analysis.tables import number
from tests.analysis.made_results import FAILED, made

WAITING = Measure("waiting_time")
RATES = [0.1, 1, 10]


def value(point: dict[str, Any], repetition: int) -> float:
    return 10 * point["workload.rate"] + repetition + 3 * (point["algorithm"] == "k_2")


@pytest.fixture
def results() -> Results:
    return made({"algorithm": ["rl", "k_2"], "workload.rate": RATES}, value)


def rendered(results: Results, format: str, **changes: Any) -> str:
    selection = replace(Selection(results, WAITING), **changes).checked()
    return study_table(selection, *choose_rows_and_columns(selection), format).render(format)


def test_markdown(results: Results) -> None:
    """The caption says what the numbers are, and how many repetitions they are of."""
    lines = rendered(results, "md").splitlines()
    assert lines[0] == "made: waiting time (time units): mean ± 95 % interval, 3 repetitions each"
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == [
        "algorithm",
        *(f"workload.rate = {x:g}" for x in RATES),
    ]
    measured = [value({"algorithm": "k_2", "workload.rate": 1}, number) for number in range(3)]
    wanted = f"{number(stats.mean(measured))} ± {number(stats.ci95(measured))}"
    assert lines[5].split("|")[3].strip() == wanted == "14 ± 2.484"


def test_csv_has_two_columns_a_cell_and_nothing_else(results: Results) -> None:
    header, *rows = csv.reader(rendered(results, "csv").splitlines())
    assert header == ["algorithm", *(f"workload.rate = {x:g}{end}" for x in RATES for end in ("", " ± 95 %"))]
    assert [row[0] for row in rows] == ["rl", "k_2"]
    assert float(rows[1][3]) == 14
    assert float(rows[1][4]) == pytest.approx(stats.ci95([13, 14, 15]), rel=1e-9)


def test_latex_is_escaped(results: Results) -> None:
    text = rendered(results, "latex")
    assert r"k\_2 & " in text
    assert r"14 $\pm$ 2.484" in text
    assert text.splitlines()[0].startswith("% made: ")
    assert "booktabs" not in text
    assert r"\toprule" not in text


def test_counts_are_noted_where_they_differ(results: Results) -> None:
    fewer = replace(results, rows=results.rows[1:])
    assert "(n=2)" in rendered(fewer, "md")
    assert "(n=3)" in rendered(fewer, "md")
    assert "repetitions each" not in rendered(fewer, "md")
    assert "workload.rate = 0.1 n" in rendered(fewer, "csv")
    assert "(n=" not in rendered(results, "md")


def test_a_single_repetition_has_no_interval(results: Results) -> None:
    alone = replace(results, rows=results.rows[::3])
    assert "| rl " in rendered(alone, "md")
    assert "±" not in rendered(alone, "md").split("\n", 1)[1]


def test_failed_checks_are_marked(results: Results) -> None:
    first, *rest = results.rows
    failed = replace(results, rows=(replace(first, checks=FAILED), *rest))
    text = rendered(failed, "md")
    assert text.count("*") == 2
    assert "\n* a check failed: safety\n" in text
    header, row, _ = csv.reader(rendered(failed, "csv").splitlines())
    assert row[header.index("workload.rate = 0.1 failed checks")] == "safety"
    assert row[header.index("workload.rate = 1 failed checks")] == ""


def test_differences_leave_out_the_baseline(results: Results) -> None:
    text = rendered(results, "md", baseline="rl")
    assert "difference from rl" in text
    assert "| rl " not in text
    assert "3 ± 0 " in text


def test_all_that_varies_has_a_row_by_default() -> None:
    """The axis of numbers with the most values is in the columns."""
    results = made({"algorithm": ["rl"], "nodes": [1, 2], "workload.rate": RATES, "b": ["x", "y"]}, lambda *_: 1.0)
    selection = Selection(results, WAITING).checked()
    assert choose_rows_and_columns(selection) == (["algorithm", "nodes", "b"], "workload.rate")
    assert choose_rows_and_columns(selection, ["b"], "nodes") == (["b"], "nodes")
    with pytest.raises(SelectionError, match=r"workload\.rate has several values"):
        study_table(selection, ["b"], "nodes")
    with pytest.raises(SelectionError, match="two places"):
        choose_rows_and_columns(selection, ["nodes"], "nodes")
    with pytest.raises(SelectionError, match="did you mean nodes"):
        choose_rows_and_columns(selection, ["node"])


def test_missing_points_are_dashes(results: Results) -> None:
    rows = tuple(row for row in results.rows if row.axes != {"algorithm": "rl", "workload.rate": 10})
    text = rendered(replace(results, rows=rows), "md")
    assert [cell.strip() for cell in text.splitlines()[4].split("|")][4] == "-"


def test_one_point_is_one_cell() -> None:
    results = made({"algorithm": ["rl"]}, lambda _, repetition: float(repetition))
    assert "1 ± 2.484" in rendered(results, "md")
