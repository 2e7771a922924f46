"""Figures show the numbers of the tables: the same means, and the same 95 % intervals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("seaborn")

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from analysis import stats
from analysis.plots import FORMATS, Panels, draw_bars, make_bars, make_panels
from analysis.text_fit import is_touching

PANELS = ("zero", "low", "high")
SERIES = ("krl", "rl")
LOADS = (0.01, 0.1, 1.0)
MEASURES = ("waiting time", "messages per CS")

Drawn = dict[float, tuple[float, float, float]]
"""By place on the x axis: a mean, and the ends of its interval."""


def expected(values: list[float]) -> tuple[float, float, float]:
    """A mean and the ends of its interval, as the tables have them."""
    mean, half = stats.mean(values), stats.ci95(values)
    assert mean is not None
    assert half is not None
    return mean, mean - half, mean + half


def skewed(rng: Random, repetitions: int) -> list[float]:
    """Values whose arithmetic, geometric and median means are far apart."""
    return [rng.lognormvariate(1.0, 0.8) for _ in range(repetitions)]


def numbers_of(axis: Axes) -> list[Drawn]:
    """What a panel of lines shows, read back from its artists; one mapping a series."""
    bars = [one.get_segments() for one in axis.collections if isinstance(one, LineCollection)]
    lines = [line for line in axis.lines if len(line.get_xdata()) and line.get_linestyle() != "None"]
    means = [dict(zip(line.get_xdata(), line.get_ydata(), strict=True)) for line in lines]
    return [
        {x: (line[x], low, high) for (x, low), (_, high) in segments}
        for line, segments in zip(means, bars, strict=True)
    ]


@pytest.fixture(scope="module")
def values() -> dict[tuple[str, str, float], list[float]]:
    """By panel, series and load: what five repetitions measured."""
    rng = Random(1)
    return {(panel, series, x): skewed(rng, 5) for panel in PANELS for series in SERIES for x in LOADS}


def panels(values: dict[tuple[str, str, float], list[float]], **options: bool) -> Panels:
    records = [
        {"mobility": panel, "series": series, "rate": x, "wait": value}
        for (panel, series, x), measured in values.items()
        for value in measured
    ]
    return Panels(records, "rate", "requests per unit", "wait", "waiting time", "mobility", PANELS, **options)


@pytest.mark.parametrize("options", [{}, {"log_x": True}, {"log_y": True}, {"log_x": True, "log_y": True}], ids=str)
def test_panels_show_the_tables_means_and_intervals(values: Any, options: dict[str, bool]) -> None:
    """Arithmetic means in every panel, on log axes too, and Student's t around them."""
    figure = make_panels(panels(values, **options))
    assert [axis.get_yscale() for axis in figure.axes] == ["log" if options.get("log_y") else "linear"] * 3
    assert [axis.get_xscale() for axis in figure.axes] == ["log" if options.get("log_x") else "linear"] * 3
    for panel, axis in zip(PANELS, figure.axes, strict=True):
        for series, drawn in zip(SERIES, numbers_of(axis), strict=True):
            assert sorted(drawn) == pytest.approx(LOADS)
            for (_, shown), x in zip(sorted(drawn.items()), LOADS, strict=True):
                assert shown == pytest.approx(expected(values[panel, series, x]), rel=1e-9)


def test_one_panel_and_one_repetition() -> None:
    """A single value has a point and, as in the tables, no interval."""
    alone = {("zero", "rl", x): [3.0] for x in LOADS}
    figure = make_panels(Panels(panels(alone).records, "rate", "", "wait", "", "mobility", ("zero",)))
    (axis,) = figure.axes
    assert list(axis.lines[0].get_ydata()) == [3.0] * 3
    assert [len(segment) for one in axis.collections for segment in one.get_segments()] == [0] * 3


@pytest.mark.parametrize("by", ["algorithm", "backend"])
def test_bars_show_the_tables_means_and_intervals(by: str) -> None:
    """A bar is as high as the mean, and the line on it is Student's interval; alone and grouped by algorithm."""
    rng = Random(2)
    backends = ("sim", "loopback") if by == "backend" else ("sim",)
    values = {(m, a, b): skewed(rng, 4) for m in MEASURES for a in SERIES for b in backends}
    records = [
        {"measure": measure, "algorithm": algorithm, "backend": backend, "value": value}
        for (measure, algorithm, backend), measured in values.items()
        for value in measured
    ]
    figure = make_bars(records, MEASURES, by)
    for measure, axis in zip(MEASURES, figure.axes, strict=True):
        lengths = [bar.get_width() for container in axis.containers for bar in container]
        ends = [(min(line.get_xdata()), max(line.get_xdata())) for line in axis.lines]
        wanted = [expected(values[measure, algorithm, backend]) for algorithm in SERIES for backend in backends]
        assert lengths == pytest.approx([mean for mean, _, _ in wanted], rel=1e-9)
        assert [low for low, _ in ends] == pytest.approx([low for _, low, _ in wanted], rel=1e-9)
        assert [high for _, high in ends] == pytest.approx([high for _, _, high in wanted], rel=1e-9)


@pytest.mark.parametrize("by", ["algorithm", "backend"])
def test_names_of_bars_are_no_mathematics(by: str, tmp_path: Path) -> None:
    """The label of a variant may contain dollar signs, between which matplotlib would expect mathematics."""
    records = [
        {"measure": MEASURES[0], "algorithm": name, "backend": "sim", "value": 1.0} for name in (r"$\none$", "rl")
    ]
    assert draw_bars(records, MEASURES[:1], tmp_path / "bars", by)


def test_figures_are_saved_in_every_format(tmp_path: Path) -> None:
    """Under the path with a suffix each; pyplot keeps no figure open."""
    from matplotlib import pyplot

    records = [{"measure": MEASURES[0], "algorithm": "rl", "value": value} for value in (1.0, 2.0)]
    files = draw_bars(records, MEASURES[:1], tmp_path / "bars")
    assert files == [tmp_path / f"bars.{suffix}" for suffix in FORMATS]
    assert all(file.stat().st_size > 2000 for file in files)
    assert pyplot.get_fignums() == []


def test_names_are_beside_their_bars() -> None:
    """Also where a bar is missing: every name is at the place of its bars, and the order is that of the records."""
    names = ["a", "b", "c"]
    records = [
        {"measure": measure, "algorithm": series, "backend": name, "value": 10.0 * names.index(name) + index}
        for measure in MEASURES
        for name in names
        for series in SERIES
        for index in (1, 2)
        if (measure, name, series) != (MEASURES[0], "b", "rl")
    ]
    figure = make_bars(records, MEASURES, "backend")
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == names
    for measure, axis in zip(MEASURES, figure.axes, strict=True):
        places = dict(zip(labels, axis.get_yticks(), strict=True))
        for series, container in zip(SERIES, axis.containers, strict=True):
            there = [name for name in names if (measure, name, series) != (MEASURES[0], "b", "rl")]
            assert [bar.get_width() for bar in container] == [10.0 * names.index(name) + 1.5 for name in there]
            for name, bar in zip(there, container, strict=True):
                assert abs(bar.get_y() + bar.get_height() / 2 - places[name]) < 0.4


@pytest.mark.parametrize("count", [2, 9, 40])
def test_labels_of_bars_never_touch(count: int) -> None:
    """Neither the names of many variants, nor large numbers below them, nor the legend and a panel."""
    names = [f"krl k={number}, raise_interval=1, detect_partitions=true" for number in range(count)]
    for by, values in (("algorithm", names), ("backend", ["sim ideal", "sim radio", "mininet-wifi"])):
        records = [
            {"measure": m, "algorithm": a, "backend": b, "value": 123456.0 + i}
            for m in MEASURES for a in names[:9] for b in (values if by == "backend" else ["sim"]) for i in (0, 1)
        ]  # fmt: skip
        figure = make_bars(records, MEASURES, by)
        figure.draw_without_rendering()
        assert not is_touching(figure.axes, "x")
        assert not is_touching(figure.axes, "y")
        right = max(axis.get_tightbbox().x1 for axis in figure.axes)
        assert all(legend.get_window_extent().x0 >= right - 1 for legend in figure.legends)


def test_a_papers_values_are_hollow_marks_beside_ours(values: Any) -> None:
    """In the panel, the colour and with the marker of their line; the legend has one entry for them."""
    paper = [{"mobility": "low", "series": "rl", "rate": 0.1, "wait": 7.0}]
    plain, marked = make_panels(panels(values)), make_panels(replace(panels(values), paper=paper))
    for index, (without, axis) in enumerate(zip(plain.axes, marked.axes, strict=True)):
        hollow = [one for one in axis.lines if one.get_markerfacecolor() == "none" and len(one.get_xdata())]
        shown = [(one.get_marker(), list(one.get_xdata()), list(one.get_ydata())) for one in hollow]
        assert shown == ([("s", [0.1], [7.0])] if PANELS[index] == "low" else [])
        assert numbers_of(axis) == numbers_of(without)
    texts = [[text.get_text() for text in one.axes[-1].get_legend().get_texts()] for one in (plain, marked)]
    assert texts == [["krl", "rl"], ["krl", "rl", "paper"]]


def test_log_axes_of_panels_have_plain_numbers(values: Any) -> None:
    figure = make_panels(panels(values, log_x=True, log_y=True))
    figure.draw_without_rendering()
    for axis in figure.axes:
        numbers = [text.get_text() for text in [*axis.get_xticklabels(), *axis.get_yticklabels()]]
        assert {"0.01", "0.1", "1"} <= set(numbers)
        assert not [text for text in numbers if "^" in text]
        assert not is_touching([axis])
