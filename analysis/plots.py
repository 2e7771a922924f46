"""Figures for papers: readable in grey, every axis with its unit, as PNG, SVG and PDF. Needs the plots extra."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis import stats
from analysis.text_fit import plain_log_ticks, thin_numbers, without_mathematics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Panels:
    """A figure of panels side by side: y against x, a line per series, a panel per value of `panel`."""

    records: Sequence[dict[str, Any]]
    """One per repetition, with the keys named here and `series`."""
    x: str
    x_label: str
    y: str
    y_label: str
    panel: str
    panels: Sequence[str]
    log_x: bool = False
    log_y: bool = False
    paper: Sequence[dict[str, Any]] = ()
    """Values that a paper prints, with the same keys: hollow marks beside ours."""


def draw_panels(figure: Panels, path: Path) -> list[Path]:
    """Draw a figure into `path` with every format's suffix."""
    with _style("whitegrid"):
        return _save(make_panels(figure), path)


def make_panels(figure: Panels) -> Figure:
    """The figure, not saved: lines are means, bars their 95 % confidence intervals, both as in the tables."""
    import pandas as pd
    import seaborn as sns
    from matplotlib.lines import Line2D

    data = pd.DataFrame(figure.records)
    series = sorted(data["series"].unique())
    # Lines differ in grey level, in dashes and in markers, so that a reader needs no colour to tell them apart.
    look: dict[str, Any] = {
        "hue": "series",
        "style": "series",
        "hue_order": series,
        "style_order": series,
        "palette": dict(zip(series, sns.color_palette("cividis", len(series)), strict=True)),
        "markers": ["o", "s", "^", "D", "v", "P", "X", "*"][: len(series)],
        "dashes": True,
        "estimator": _mean,
        "errorbar": _interval,
        "err_style": "bars",
    }
    with _style("whitegrid"):
        legend_width = 0.5 + 0.075 * max(map(len, series))  # inches, so that long names do not squeeze the panels
        canvas = _canvas(0.4 + 2.8 * len(figure.panels) + legend_width, 3.2)
        axes = canvas.subplots(1, len(figure.panels), sharey=True, squeeze=False)[0]
        for index, (axis, panel) in enumerate(zip(axes, figure.panels, strict=True)):
            last = index == len(figure.panels) - 1
            chosen = data[data[figure.panel] == panel]
            sns.lineplot(chosen, x=figure.x, y=figure.y, ax=axis, legend="full" if last else False, **look)
            _mark_paper(axis, [one for one in figure.paper if one[figure.panel] == panel], figure, look)
            letter = f"({chr(ord('a') + index)}) " if len(axes) > 1 else ""
            axis.set(title=f"{letter}{panel} {figure.panel}", xlabel="", ylabel=figure.y_label)
        # Panels share an axis, and on a log axis seaborn averages logarithms: so all are drawn before it becomes one.
        if figure.log_x:
            for axis in axes:
                axis.set_xscale("log")
            plain_log_ticks([axis.xaxis for axis in axes])
        if figure.log_y:
            axes[0].set_yscale("log")
            plain_log_ticks([axis.yaxis for axis in axes])
        canvas.supxlabel(figure.x_label, fontsize="medium")
        handles, labels = axes[-1].get_legend_handles_labels()
        if figure.paper:
            hollow = {**_HOLLOW, "markeredgecolor": "0.3"}
            handles, labels = [*handles, Line2D([], [], marker="o", **hollow)], [*labels, "paper"]
        axes[-1].legend(handles, labels, loc="upper left", bbox_to_anchor=(1.02, 1), frameon=False)
        canvas.tight_layout()
        for axis in axes:
            thin_numbers(canvas, [axis])
        return canvas


_HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none", "markeredgewidth": 1.1, "markersize": 7.5}
"""Greater than our marks, so that both are seen where they agree."""


def _mark_paper(axis: Axes, marks: Sequence[dict[str, Any]], figure: Panels, look: dict[str, Any]) -> None:
    """Draw what a paper prints, in the colour and with the marker of its line."""
    for name, marker in zip(look["hue_order"], look["markers"], strict=True):
        mine = [one for one in marks if one["series"] == name]
        xs, ys = [one[figure.x] for one in mine], [one[figure.y] for one in mine]
        axis.plot(xs, ys, marker=marker, color=look["palette"][name], zorder=4, **_HOLLOW)


def draw_bars(
    records: Sequence[dict[str, Any]], measures: Sequence[str], path: Path, by: str = "algorithm"
) -> list[Path]:
    """Draw bars into `path` with every format's suffix."""
    with _style("whitegrid"):
        return _save(make_bars(records, measures, by), path)


def make_bars(records: Sequence[dict[str, Any]], measures: Sequence[str], by: str = "algorithm") -> Figure:
    """One panel a measure, one bar a value of `by`, with the 95 % confidence interval of its mean; not saved.

    Records have `algorithm`, `measure`, `value` and what `by` names, one per repetition. Several algorithms share a
    value of `by` as bars of different grey. Bars are horizontal and the figure grows with their number, so that long
    names of many variants stay readable.
    """
    is_grouped = by != "algorithm" and len({one["algorithm"] for one in records}) > 1
    series = list(dict.fromkeys(one["algorithm"] for one in records)) if is_grouped else [""]
    names = list(dict.fromkeys(one[by] for one in records))
    # None so dark that it hides the interval.
    greys = [f"{0.9 - 0.4 * index / (len(series) - 1):.2f}" for index in range(len(series))] if is_grouped else ["0.7"]
    thickness = 0.8 / len(series)
    with _style("whitegrid"):
        longest = max(map(len, [*names, *series]))  # beside the panels, or in the legend
        width = 3.2 * len(measures) + 0.07 * (longest + max(map(len, names)) * is_grouped)
        canvas = _canvas(width, max(1.6, 0.8 + 0.22 * len(names) * len(series)))
        canvas.set_layout_engine("constrained", wspace=0.04)
        axes = canvas.subplots(1, len(measures), squeeze=False, sharey=True)[0]
        for axis, measure in zip(axes, measures, strict=True):
            for index, (one, grey) in enumerate(zip(series, greys, strict=True)):
                places, means = [], []
                for place, name in enumerate(names):
                    wanted = (measure, name, one) if is_grouped else (measure, name)
                    keys = ("measure", by, "algorithm")[: len(wanted)]
                    values = [record["value"] for record in records if tuple(record[key] for key in keys) == wanted]
                    if values:
                        places.append(place + thickness * (index + 0.5) - 0.4)
                        means.append(_mean(values))
                        axis.plot(_interval(values), [places[-1]] * 2, color="0.25", linewidth=1.8, zorder=3)
                axis.barh(places, means, height=thickness, color=grey, edgecolor="white", label=one, zorder=2)
            axis.set(xlabel=measure, ylim=(len(names) - 0.5, -0.5))
            axis.set_yticks(range(len(names)), names)  # a name is where its bars are, whichever of them are missing
            axis.grid(visible=False, axis="y")
        texts = axes[0].get_yticklabels()
        if is_grouped:
            handles, labels = axes[-1].get_legend_handles_labels()
            texts += canvas.legend(handles, labels, loc="outside right upper", frameon=False).get_texts()
        without_mathematics(texts)
        for axis in axes:
            thin_numbers(canvas, [axis])
        return canvas


def _mean(values: Iterable[float]) -> float:
    mean = stats.mean(list(values))
    assert mean is not None, "seaborn draws no point without values"
    return mean


def _interval(values: Iterable[float]) -> tuple[float, float]:
    """The ends of an error bar: those of the interval that the tables show."""
    known = list(values)
    mean, half = _mean(known), stats.ci95(known)
    return (math.nan, math.nan) if half is None else (mean - half, mean + half)


def draw_paths(
    paths: Sequence[Sequence[tuple[float, float]]], area: tuple[float, float] | None, reach: float | None, path: Path
) -> list[Path]:
    """Draw where nodes go, each from its dot, into `path` with every format's suffix; a circle shows the range."""
    import seaborn as sns
    from matplotlib.patches import Circle, Rectangle

    with _style("white"):
        canvas = _canvas(5.0, 5.0)
        axis = canvas.subplots()
        for colour, line in zip(sns.color_palette("cividis", len(paths)), paths, strict=True):
            axis.plot(*zip(*line, strict=True), color=colour, linewidth=0.7, alpha=0.7)
            axis.plot(*line[0], marker="o", markersize=3.5, color=colour, markeredgecolor="black", markeredgewidth=0.4)
        if reach is not None:
            axis.add_patch(Circle(paths[0][0], reach, fill=False, linestyle="--", color="black", linewidth=0.8))
        if area is not None:
            axis.add_patch(Rectangle((0, 0), *area, fill=False, color="grey", linewidth=0.8))
        axis.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
        return _save(canvas, path)


@contextmanager
def _style(style: str) -> Iterator[None]:
    """The style of all figures. It must last until a figure is saved, since matplotlib makes some of its parts then."""
    import seaborn as sns

    with sns.axes_style(style), sns.plotting_context("paper"):
        yield


def _canvas(width: float, height: float) -> Figure:
    """An empty figure. It belongs to no window and to no list of pyplot's, so there is nothing to close."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def _save(canvas: Figure, path: Path) -> list[Path]:
    if canvas.get_layout_engine() is None:
        canvas.tight_layout()
    files = [path.with_name(f"{path.name}.{suffix}") for suffix in FORMATS]
    for file in files:
        canvas.savefig(file, dpi=200, bbox_inches="tight")
    return files
