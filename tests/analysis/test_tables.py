"""Tables, character by character."""

from __future__ import annotations

import csv
from typing import Any

import pytest

from analysis.tables import FORMATS, Table, columns_table, metrics_table, number, runs_table

SMALL = Table(("algorithm", "wait", "± 95 %"), [("rl", "1.25", "0.5"), ("krl, k=2", "13", "-")])


def test_markdown() -> None:
    """Columns are padded; labels stand left, numbers right."""
    assert SMALL.render("md") == (
        "| algorithm | wait | ± 95 % |\n"
        "| --------- | ---: | -----: |\n"
        "| rl        | 1.25 |    0.5 |\n"
        "| krl, k=2  |   13 |      - |\n"
    )


def test_csv() -> None:
    """Cells with a comma are quoted; lines end with a line feed alone."""
    assert SMALL.render("csv") == 'algorithm,wait,± 95 %\nrl,1.25,0.5\n"krl, k=2",13,-\n'


def test_latex() -> None:
    """A tabular with one left column and the others right."""
    assert SMALL.render("latex") == (
        "\\begin{tabular}{lrr}\n"
        "algorithm & wait & $\\pm$ 95 \\% \\\\\n"
        "\\hline\n"
        "rl & 1.25 & 0.5 \\\\\n"
        "krl, k=2 & 13 & - \\\\\n"
        "\\end{tabular}\n"
    )


def test_formats_are_those_there_are() -> None:
    """What is offered can be rendered, and nothing else."""
    assert all(SMALL.render(format) for format in FORMATS)
    with pytest.raises(KeyError):
        SMALL.render("html")


def test_latex_escapes() -> None:
    """Every character that LaTeX would take for its own is shown as itself."""
    row = Table(("",), [(r"a_b & 5% of $1 #2 {x} ~ ^ \n",)]).render("latex").splitlines()[3]
    assert row == (r"a\_b \& 5\% of \$1 \#2 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{}n" + r" \\")


def test_csv_parses_back() -> None:
    """Whatever is in the cells, the csv module gives it back."""
    table = Table(("a", 'b "quoted"'), [("x, y", "line\nfeed"), ("'", ""), ("±", "1e-05")])
    rows = list(csv.reader(table.render("csv").splitlines(keepends=True)))
    assert rows == [list(table.header), *map(list, table.rows)]


def test_no_rows() -> None:
    """A table without rows is a header."""
    empty = Table(("run", "n°1"), [])
    assert empty.render("md") == "| run | n°1 |\n| --- | --: |\n"
    assert empty.render("csv") == "run,n°1\n"


def test_markdown_of_narrow_columns() -> None:
    """A rule needs a dash in every column."""
    rule = Table(("i", "n"), [("a", "1")]).render("md").splitlines()[1]
    assert all("-" in cell for cell in rule.strip("|").split("|"))


def test_markdown_escapes_bars() -> None:
    """A bar in a cell does not begin another."""
    assert r"a\|b" in Table(("run", "wait"), [("a|b", "1")]).render("md")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (7, "7"),
        (1.23456, "1.235"),
        (-0.5, "-0.5"),
        (0.0012345, "0.001234"),
        (0.00098765, "0.000988"),
        (123.456, "123.5"),
        (999999, "999999"),
        (1000000, "1e+06"),
        (1234567, "1.23e+06"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    """Enough digits to compare, and no more."""
    assert number(value) == text


def summary(**changes: Any) -> dict[str, Any]:
    """The metrics of a run, each with a value of its own."""
    names = ["waiting_time", "response_time", "synchronization_delay", "messages_per_cs", "words_per_message"]
    names += ["token_hops_per_cs", "throughput", "concurrency", "fairness", "entries", "link_change_rate"]
    names += ["mean_degree", "components", "time_partitioned", "messages_cut_off"]
    names += ["longest_wait", "pending_at_close", "nodes_inside", "utilisation", "idle_though_fitting"]
    names += ["waiting_time_with_pending", "pending"]
    metrics: dict[str, Any] = {name: {"mean": float(i), "ci95": i / 10} for i, name in enumerate(names, 1)}
    metrics["waiting_time"] |= {"p50": 0.75, "p95": 1.5, "max": 9.0}
    metrics |= {"sent_words_per_message": metrics["words_per_message"], "words_per_cs": {"mean": 20.0, "ci95": 2.0}}
    metrics["messages_per_cs_by_type"] = {"Request": {"mean": 3.5, "ci95": None}, "Token": {"mean": 0.5, "ci95": 0.25}}
    return metrics | changes


def test_words_as_sent_are_shown_where_they_differ() -> None:
    """They do if a correction of the algorithm has added fields."""
    table = metrics_table(summary(sent_words_per_message={"mean": 6.5, "ci95": 0.5}))
    assert ["words per message, as sent", "6.5", "0.5", "-", "-", "-"] in [list(row) for row in table.rows]


def test_metrics_table() -> None:
    """One metric a row, message types below the messages, a dash where there is no value."""
    table = metrics_table(summary())
    assert table.header == ("metric", "mean", "± 95 %", "p50", "p95", "max")
    assert [list(row) for row in table.rows] == [
        ["waiting time", "1", "0.1", "0.75", "1.5", "9"],
        ["waiting time, with pending", "21", "2.1", "-", "-", "-"],
        ["response time", "2", "0.2", "-", "-", "-"],
        ["longest wait", "16", "1.6", "-", "-", "-"],
        ["pending at close", "17", "1.7", "-", "-", "-"],
        ["pending at the end", "22", "2.2", "-", "-", "-"],
        ["synchronization delay", "3", "0.3", "-", "-", "-"],
        ["messages per CS", "4", "0.4", "-", "-", "-"],
        ["  Request", "3.5", "-", "-", "-", "-"],
        ["  Token", "0.5", "0.25", "-", "-", "-"],
        ["words per message", "5", "0.5", "-", "-", "-"],
        ["words per CS", "20", "2", "-", "-", "-"],
        ["token hops per CS", "6", "0.6", "-", "-", "-"],
        ["throughput (CS per unit)", "7", "0.7", "-", "-", "-"],
        ["concurrency", "8", "0.8", "-", "-", "-"],
        ["nodes inside", "18", "1.8", "-", "-", "-"],
        ["utilisation (share)", "19", "1.9", "-", "-", "-"],
        ["idle though one fits", "20", "2", "-", "-", "-"],
        ["fairness (Jain)", "9", "0.9", "-", "-", "-"],
        ["CS entries", "10", "1", "-", "-", "-"],
        ["link changes per unit", "11", "1.1", "-", "-", "-"],
        ["mean degree", "12", "1.2", "-", "-", "-"],
        ["components", "13", "1.3", "-", "-", "-"],
        ["time partitioned (share)", "14", "1.4", "-", "-", "-"],
        ["messages while cut off", "15", "1.5", "-", "-", "-"],
    ]


def test_the_waiting_time_of_a_run_that_served_all_is_shown_once() -> None:
    """Without pending requests, the waiting time with them is the same."""
    labels = [row[0] for row in metrics_table(summary(pending={"mean": 0.0, "ci95": 0.0})).rows]
    assert "waiting time, with pending" not in labels
    assert "pending at the end" in labels


def test_runs_table() -> None:
    """One run a row, with its label first, each value under its header."""
    table = runs_table("seed", [("1", summary()), ("2", summary(entries={"mean": None, "ci95": None}))])
    assert list(table.header[:2]) == ["seed", "CS entries"]
    assert [list(row) for row in table.rows] == [
        ["1", "10", "1", "0.1", "1.5", "4", "0.4", "7", "9", "22", "21"],
        ["2", "-", "1", "0.1", "1.5", "4", "0.4", "7", "9", "22", "21"],
    ]


def test_columns_table() -> None:
    """One run a column, means with their intervals, a dash where a run did not measure what another did."""
    emulated = summary(
        frames_per_cs={"mean": 60.0, "ci95": 2.0},
        bytes_per_cs={"mean": 900.0, "ci95": None},
        medium_lateness={"mean": 0.2, "ci95": 0.1, "p50": 0.1, "p95": 0.7, "p99": 1.25, "max": 8.0},
        station_lateness={"mean": 0.3, "ci95": 0.1, "p50": 0.1, "p95": 0.7, "p99": 2.5, "max": 9.0},
        mean_degree={"mean": None, "ci95": None},
    )
    table = columns_table([("ideal", summary(), "ok"), ("emulated", emulated, "order FAILED")])
    assert table.header == ("metric", "ideal", "emulated")
    assert [list(row) for row in table.rows] == [
        ["waiting time", "1 ± 0.1", "1 ± 0.1"],
        ["waiting time p95", "1.5", "1.5"],
        ["waiting time, with pending", "21 ± 2.1", "21 ± 2.1"],
        ["pending at the end", "22 ± 2.2", "22 ± 2.2"],
        ["response time", "2 ± 0.2", "2 ± 0.2"],
        ["messages per CS", "4 ± 0.4", "4 ± 0.4"],
        ["words per message", "5 ± 0.5", "5 ± 0.5"],
        ["synchronization delay", "3 ± 0.3", "3 ± 0.3"],
        ["fairness (Jain)", "9 ± 0.9", "9 ± 0.9"],
        ["throughput (CS per unit)", "7 ± 0.7", "7 ± 0.7"],
        ["CS entries", "10 ± 1", "10 ± 1"],
        ["frames per CS", "-", "60 ± 2"],
        ["bytes per CS", "-", "900"],
        ["link changes per unit", "11 ± 1.1", "11 ± 1.1"],
        ["mean degree", "12 ± 1.2", "-"],
        ["time partitioned (share)", "14 ± 1.4", "14 ± 1.4"],
        ["medium lateness p99 (ms)", "-", "1.25"],
        ["station lateness p99 (ms)", "-", "2.5"],
        ["checks", "ok", "order FAILED"],
    ]


def test_columns_table_without_frames() -> None:
    """Where no run has frames or a medium that can be late, there are no rows of dashes for them."""
    labels = [row[0] for row in columns_table([("ideal", summary(mean_degree={"mean": None}), "ok")]).rows]
    assert not {"frames per CS", "bytes per CS", "medium lateness p99 (ms)", "station lateness p99 (ms)"} & set(labels)
    assert "mean degree" in labels
