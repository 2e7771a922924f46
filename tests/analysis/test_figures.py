"""Figures of studies: the numbers of the tables, sizes that papers ask for, and texts that never touch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("seaborn")

from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from analysis import stats
from analysis.figure_plan import FigurePlan, choose_layout, plan_figure
from analysis.figures import STYLES, draw_figure, files_for, make_figure
from analysis.results import Results
from analysis.selection import Measure, Selection, SelectionError
from analysis.text_fit import is_touching
from tests.analysis.made_results import made

ALGORITHMS = ["rl", "krl", "krlf"]
RATES = [0.001, 0.01, 0.1, 1]
SPEEDS = [[1, 3], [5, 10]]
AXES: dict[str, list[Any]] = {"algorithm": ALGORITHMS, "workload.rate": RATES, "mobility.speed": SPEEDS}


def value(point: dict[str, Any], repetition: int) -> float:
    """Between 5 and 200, with repetitions that differ."""
    level = 5 * (1 + ALGORITHMS.index(point["algorithm"])) * (1 + point["workload.rate"] * 10)
    return level * (1 + 0.1 * repetition) * (1 + 0.1 * (point["mobility.speed"] == [5, 10]))


@pytest.fixture(scope="module")
def results() -> Results:
    return made(AXES, value)


def plan_of(results: Results, baseline: str | None = None, y: str = "waiting_time", **places: str) -> FigurePlan:
    selection = Selection(results, Measure.parse(y), baseline).checked()
    return plan_figure(selection, choose_layout(selection, **places))


def panels_of(figure: Figure) -> list[Any]:
    return [axis for axis in figure.axes if axis.get_visible()]


# -- the plan ----------------------------------------------------------------------------------------------------------


def test_places_that_are_chosen(results: Results) -> None:
    """x is the axis with the most numbers, hue the algorithm, and col the next."""
    selection = Selection(results, Measure("waiting_time")).checked()
    layout = choose_layout(selection)
    assert (layout.x, layout.hue, layout.col, layout.row) == ("workload.rate", "algorithm", "mobility.speed", None)
    layout = choose_layout(selection, x="algorithm")
    assert (layout.x, layout.hue, layout.col, layout.row) == ("algorithm", "workload.rate", "mobility.speed", None)
    layout = choose_layout(selection, col="algorithm")
    assert (layout.x, layout.hue, layout.col, layout.row) == ("workload.rate", "mobility.speed", "algorithm", None)


def test_places_of_small_studies() -> None:
    """A single axis is x; what is varied together takes one place."""
    alone = Selection(made({"algorithm": ALGORITHMS}, lambda *_: 1.0), Measure("waiting_time")).checked()
    assert choose_layout(alone).axes == ["algorithm"]
    both = made({"algorithm": ["rl"], "nodes": [10, 20]}, lambda *_: 1.0)
    rows = tuple(replace(row, axes={**row.axes, "area": [row.axes["nodes"]] * 2}) for row in both.rows)
    together = replace(both, axes=("algorithm", "nodes", "area"), rows=rows)
    assert choose_layout(Selection(together, Measure("waiting_time")).checked()).axes == ["nodes", "algorithm"]


def test_places_that_are_refused(results: Results) -> None:
    selection = Selection(results, Measure("waiting_time")).checked()
    with pytest.raises(SelectionError, match=r"axis: found workload\.rat.*did you mean workload\.rate"):
        choose_layout(selection, x="workload.rat")
    with pytest.raises(SelectionError, match="algorithm: found in two places"):
        choose_layout(selection, x="algorithm", hue="algorithm")
    four = made({**AXES, "nodes": [1, 2], "b": ["x", "y"]}, value)
    crowded = Selection(four, Measure("waiting_time")).checked()
    with pytest.raises(SelectionError, match="b has several values"):
        plan_figure(crowded, choose_layout(crowded))


def test_log_axes_only_for_more_than_a_decade(results: Results) -> None:
    plan = plan_of(results)
    assert (plan.log_x, plan.log_y) == (True, True)
    assert not plan_of(results, baseline="rl").log_y
    near = made({"algorithm": ["rl"], "workload.rate": [0.1, 1]}, lambda point, _: 10 * point["workload.rate"])
    assert (plan_of(near).log_x, plan_of(near).log_y) == (False, False)
    zero = made({"algorithm": ["rl"], "workload.rate": [0, 1, 100]}, lambda point, _: point["workload.rate"])
    assert (plan_of(zero).log_x, plan_of(zero).log_y) == (False, False)


# -- what is drawn -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
def test_lines_and_bands_are_the_tables_numbers(results: Results, style: str) -> None:
    figure = make_figure(plan_of(results), style)
    for speed, axis in zip(SPEEDS, panels_of(figure), strict=True):
        bands = [one for one in axis.collections if isinstance(one, PolyCollection)]
        for name, line, band in zip(ALGORITHMS, axis.lines, bands, strict=True):
            points = [{"algorithm": name, "workload.rate": rate, "mobility.speed": speed} for rate in RATES]
            measured = [[value(point, number) for number in range(3)] for point in points]
            assert list(line.get_xdata()) == RATES
            assert list(line.get_ydata()) == pytest.approx([stats.mean(one) for one in measured])
            ends = {round(float(y), 9) for y in band.get_paths()[0].vertices[:, 1]}
            for one in measured:
                mean, half = stats.mean(one), stats.ci95(one)
                assert mean is not None
                assert half is not None
                assert round(mean + half, 9) in ends
                assert round(mean - half, 9) in ends


def test_differences_are_drawn_without_the_baseline(results: Results) -> None:
    figure = make_figure(plan_of(results, baseline="rl"), "paper-column")
    (axis, _) = panels_of(figure)
    zero, first, second = axis.lines
    assert list(zero.get_ydata()) == [0, 0]
    assert first.get_ydata()[0] == pytest.approx(5 * 1.01 * 1.1)
    assert second.get_ydata()[0] == pytest.approx(10 * 1.01 * 1.1)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["krl", "krlf"]


def test_an_interval_that_reaches_zero_stays_in_the_panel() -> None:
    """On a log axis its band ends at the lower edge, instead of being drawn anywhere."""
    wide = made(
        {"algorithm": ["rl"], "workload.rate": [1, 2, 3]},
        lambda point, number: [1.0, 90.0, 200.0][number] if point["workload.rate"] == 1 else 3.0 + number,
    )
    plan = plan_of(wide)
    assert plan.log_y
    (axis,) = panels_of(make_figure(plan, "paper-column"))
    (band,) = [one for one in axis.collections if isinstance(one, PolyCollection)]
    assert min(band.get_paths()[0].vertices[:, 1]) == pytest.approx(axis.get_ylim()[0])


def test_a_repetition_alone_has_no_interval() -> None:
    plan = plan_of(made(AXES, value, repetitions=1))
    (axis, _) = panels_of(make_figure(plan, "paper-column"))
    assert not axis.collections


def test_categories_have_marks_beside_each_other(results: Results) -> None:
    """All names are there, and no line joins what has no order."""
    plan = plan_of(results, x="mobility.speed", col="workload.rate")
    axis = panels_of(make_figure(plan, "paper-page"))[0]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1-3", "5-10"]
    marks = [line for line in axis.lines if line.get_marker() in ("o", "s", "^")]
    places = [float(line.get_xdata()[0]) for line in marks]
    assert len(set(places)) == 6
    assert {line.get_linestyle() for line in marks} == {"None"}


def test_forty_lines_differ_without_colour() -> None:
    names = [f"a{number}" for number in range(40)]
    plan = plan_of(made({"algorithm": names, "nodes": [1, 2]}, lambda *_: 1.0))
    (axis,) = panels_of(make_figure(plan, "slide"))
    looks = {(line.get_marker(), str(line._unscaled_dash_pattern)) for line in axis.lines}
    assert len(looks) == 40


# -- sizes and texts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("style", "width"), [("paper-column", 3.5), ("paper-page", 7.0), ("slide", 10.0)])
def test_widths_are_those_of_papers(results: Results, tmp_path: Path, style: str, width: float) -> None:
    from matplotlib import image

    file = tmp_path / "figure.png"
    draw_figure(plan_of(results), style, [file])
    pixels = image.imread(file).shape[1]
    assert pixels == round(width * (200 if style == "slide" else 300))


LONG = [f"krl k={k} raise_interval={r}, detect_partitions=true" for k in (1, 2) for r in (0, 1, 5)]
STUDIES: dict[str, tuple[dict[str, list[Any]], dict[str, str]]] = {
    "usual": (AXES, {}),
    "many decades": ({"algorithm": ALGORITHMS, "workload.rate": [10**power for power in range(-6, 7)]}, {}),
    "close values": ({"algorithm": ALGORITHMS, "workload.rate": [0.1, 0.11, 0.12, 0.13, 5]}, {}),
    "large numbers": ({"algorithm": ALGORITHMS, "duration": [1e6, 2e6, 5e6], "nodes": [10, 20, 30]}, {}),
    "long names": ({"algorithm": LONG, "nodes": [10, 20]}, {}),
    "long categories": ({"algorithm": LONG}, {"x": "algorithm"}),
    "dollars": ({"algorithm": [r"$\none$", "a_b"], "nodes": [10, 20]}, {}),
    "rows and columns": ({"algorithm": ALGORITHMS, "nodes": [1, 2, 3], "b": ["x", "y"], "c": ["u", "v", "w"]}, {}),
    "five panels": ({"algorithm": ALGORITHMS, "nodes": [1, 2, 3, 4, 5, 6], "k": [1, 2, 3, 4, 5]}, {"col": "k"}),
    "one point": ({"algorithm": ["rl"]}, {}),
}


@pytest.mark.parametrize("style", ["paper-column", "slide"])
@pytest.mark.parametrize("study", STUDIES)
def test_texts_never_touch(study: str, style: str) -> None:
    """Numbers and names at the axes are apart, the legend is above all panels, and all is inside the figure."""
    axes, places = STUDIES[study]
    level = iter(range(10**6))
    figure = make_figure(plan_of(made(axes, lambda *_: 1.0 + next(level) % 70), **places), style)
    figure.draw_without_rendering()
    panels = panels_of(figure)
    turned = [text for axis in panels for text in axis.get_xticklabels() if text.get_rotation()]
    assert turned or not is_touching(panels)
    assert not is_touching(panels, "y")
    top = max(axis.get_tightbbox().y1 for axis in panels)
    for legend in figure.legends:
        assert legend.get_window_extent().y0 >= top - 1
    for axis in panels:
        box = axis.get_tightbbox()
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= figure.bbox.width + 1
        assert box.width > 0
        assert axis.bbox.height > 0.25 * axis.get_tightbbox().height


def test_log_axes_have_plain_numbers(results: Results) -> None:
    """0.001, not a power of ten."""
    figure = make_figure(plan_of(results), "paper-page")
    figure.draw_without_rendering()
    axis = panels_of(figure)[0]
    numbers = [text.get_text() for text in [*axis.get_xticklabels(), *axis.get_yticklabels(which="both")]]
    assert {"0.001", "0.01", "0.1", "1", "10", "100"} <= set(numbers)
    assert not [text for text in numbers if "^" in text or "e" in text]


def test_every_axis_and_panel_is_labelled(results: Results) -> None:
    figure = make_figure(plan_of(results), "slide")
    assert figure.get_supxlabel() == "request rate of a node (requests per time unit)"
    assert figure.get_supylabel().replace("\n", " ") == "waiting time (time units)"
    titles = [axis.get_title().replace("\n", " ") for axis in panels_of(figure)]
    assert titles == ["mobility.speed = 1-3 m/s", "mobility.speed = 5-10 m/s"]


def test_files(results: Results, tmp_path: Path) -> None:
    """Fonts are embedded as TrueType, and the same numbers give the same bytes."""
    plan = plan_of(results)
    assert files_for(tmp_path / "a.svg", "x") == [tmp_path / "a.svg"]
    assert files_for(tmp_path, "x") == [tmp_path / f"x.{suffix}" for suffix in ("png", "svg", "pdf")]
    first, second = ([tmp_path / f"{name}.{suffix}" for suffix in ("png", "svg", "pdf")] for name in "ab")
    draw_figure(plan, "paper-column", first)
    draw_figure(plan, "paper-column", second)
    assert [one.read_bytes() for one in first] == [one.read_bytes() for one in second]
    pdf = first[2].read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
