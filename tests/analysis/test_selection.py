"""Groups of repetitions, differences in pairs, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis import stats
from analysis.results import Results
from analysis.selection import Measure, Selection, SelectionError, known, shown
from tests.analysis.made_results import FAILED, made

ALGORITHMS, RATES = ["rl", "krl"], [0.1, 1, 10]
WAITING = Measure("waiting_time")


def value(point: dict[str, Any], repetition: int) -> float:
    """Repetitions differ much, and the algorithms differ by 5 or so in each."""
    own = 5 + 0.1 * repetition * point["workload.rate"] if point["algorithm"] == "krl" else 0
    return 100 * (repetition + 1) * point["workload.rate"] + own


@pytest.fixture
def results() -> Results:
    return made({"algorithm": ALGORITHMS, "workload.rate": RATES}, value)


def test_groups_have_the_means_and_intervals_of_the_tables(results: Results) -> None:
    groups = Selection(results, WAITING).checked().groups(["algorithm", "workload.rate"])
    assert list(groups) == [(name, text) for name in ALGORITHMS for text in ("0.1", "1", "10")]
    measured = [value({"algorithm": "krl", "workload.rate": 10}, number) for number in range(3)]
    group = groups["krl", "10"]
    assert (group.mean, group.half) == (stats.mean(measured), stats.ci95(measured))


def test_differences_are_taken_repetition_by_repetition(results: Results) -> None:
    """Otherwise the interval would be that of the large differences between repetitions."""
    groups = Selection(results, WAITING, baseline="rl").checked().groups(["algorithm", "workload.rate"])
    assert {name for name, _ in groups} == {"krl"}
    group = groups["krl", "1"]
    assert list(group.values) == pytest.approx([5, 5.1, 5.2])
    assert group.half == pytest.approx(stats.ci95([5, 5.1, 5.2]))


def test_a_repetition_without_its_pair_is_left_out_and_reported(results: Results) -> None:
    rows = [row for row in results.rows if row.axes != {"algorithm": "rl", "workload.rate": 1} or row.repetition != 1]
    chosen = Selection(replace(results, rows=tuple(rows)), WAITING, baseline="rl").checked()
    assert list(chosen.groups(["algorithm", "workload.rate"])["krl", "1"].values) == pytest.approx([5, 5.2])
    assert chosen.missing() == ["1 of 9 repetitions have no pair of rl"]


def test_pairs_only_where_draws_are_shared(results: Results) -> None:
    alone = replace(results, shares_draws=frozenset())
    with pytest.raises(SelectionError, match="has no pairs"):
        Selection(alone, WAITING, baseline="rl").checked()


def test_points_that_differ_elsewhere_are_not_averaged(results: Results) -> None:
    with pytest.raises(SelectionError, match=r"workload\.rate has several values \(0\.1, 1, 10\)"):
        Selection(results, WAITING).checked().groups(["algorithm"])
    one = Selection(results, WAITING, where={"workload.rate": "10"}).checked()
    assert [len(group.values) for group in one.groups(["algorithm"]).values()] == [3, 3]


def test_keys_that_are_varied_together_need_one_place() -> None:
    """The area follows from the number of nodes."""
    both = made({"nodes": [10, 20]}, lambda point, number: number)
    rows = tuple(replace(row, axes={**row.axes, "area": [10 * row.axes["nodes"]] * 2}) for row in both.rows)
    chosen = Selection(replace(both, axes=("nodes", "area"), rows=rows), WAITING).checked()
    assert chosen.depends_on("area", ["nodes"])
    assert len(chosen.groups(["nodes"])) == 2


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("watting_time", "metric: found watting_time; did you mean waiting_time?"),
        (
            "waiting_time.p96",
            "column of waiting_time: found p96; allowed: one of mean, p50, p95, max (did you mean p95?)",
        ),
        ("messages", "metric: found messages; did you mean messages_per_cs?"),
    ],
)
def test_measures_that_are_refused(text: str, line: str) -> None:
    """A mapping by type is no number."""
    with pytest.raises(SelectionError) as raised:
        Measure.parse(text)
    assert str(raised.value) == line


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"where": {"workload.rat": "1"}}, "axis: found workload.rat.*did you mean workload.rate"),
        ({"where": {"workload.rate": "2"}}, "workload.rate: found 2; allowed: one of 0.1, 1, 10"),
        ({"baseline": "krll"}, "baseline: found krll.*did you mean krl"),
        ({"measure": Measure("frames_per_cs")}, "frames_per_cs was not measured in any of 18 repetitions"),
    ],
)
def test_selections_that_are_refused(results: Results, changes: dict[str, Any], line: str) -> None:
    with pytest.raises(SelectionError, match=line):
        replace(Selection(results, WAITING), **changes).checked()


def test_what_is_missing_is_said(results: Results) -> None:
    first, second, *rest = results.rows
    rows = (replace(first, checks=FAILED), replace(second, metrics={"waiting_time": None}), *rest)
    chosen = Selection(replace(results, rows=rows, missing=4, stale=2), WAITING).checked()
    assert chosen.missing() == [
        "4 repetitions have no result",
        "2 points have only results of other code",
        "1 of 18 repetitions did not measure waiting_time",
        "checks failed in 1 of 18 repetitions",
    ]
    assert chosen.groups(["algorithm", "workload.rate"])["rl", "0.1"].failed == ["safety"]


def test_columns_of_distributions(results: Results) -> None:
    measure = Measure.parse("waiting_time.p95")
    assert measure.of(results.rows[0]) == 2 * value(results.rows[0].axes, 0)
    assert measure.label == "waiting time, p95 (time units)"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ([1, 5], "1-5"), ([1.5, 5], "1.5-5"), ([-1, 5], "-1, 5"), ([1, 2, 3], "1, 2, 3"), (True, "true"),
        (None, "none"), (0.00001, "0.00001"), (1e7, "10000000"), (0.1, "0.1"), (1.0, "1"), (3, "3"), ("sim", "sim"),
        ({"uniform": [1, 4]}, "uniform 1-4"),
    ],
)  # fmt: skip
def test_values_as_text(found: Any, text: str) -> None:
    assert shown(found) == text


def test_a_known_name_is_returned() -> None:
    assert known("a", ["b", "a"], "name") == "a"
    with pytest.raises(SelectionError, match=r"name: found z; allowed: one of b, a$"):
        known("z", ["b", "a"], "name")
