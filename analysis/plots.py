"""Figures for papers: readable in grey, every axis with its unit, as PNG, SVG and PDF. Needs the plots extra."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis import stats

if TYPE_CHECKING:
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


def draw_panels(figure: Panels, path: Path) -> list[Path]:
    """Draw a figure into `path` with every format's suffix."""
    with _style("whitegrid"):
        return _save(make_panels(figure), path)


def make_panels(figure: Panels) -> Figure:
    """The figure, not saved: lines are means, bars their 95 % confidence intervals, both as in the tables."""
    import pandas as pd
    import seaborn as sns

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
            letter = f"({'abc'[index]}) " if len(axes) > 1 else ""
            axis.set(title=f"{letter}{panel} {figure.panel}", xlabel="", ylabel=figure.y_label)
        # Panels share an axis, and on a log axis seaborn averages logarithms: so all are drawn before it becomes one.
        for axis in axes:
            if figure.log_x:
                axis.set_xscale("log")
            if figure.log_y:
                axis.set_yscale("log")
                axis.yaxis.set_major_formatter("{x:g}")
                axis.yaxis.set_minor_formatter(lambda value, _, axis=axis: _minor_label(value, *axis.get_ylim()))
        canvas.supxlabel(figure.x_label, fontsize="medium")
        sns.move_legend(axes[-1], "upper left", bbox_to_anchor=(1.02, 1), title=None, frameon=False)
        return canvas


def _minor_label(value: float, low: float, high: float) -> str:
    """What a log axis writes between its powers of ten: the fewer, the more of these there are."""
    decades = math.log10(high / low)
    shown = (2, 5) if decades > 1.5 else (2, 3, 4, 6) if decades > 0.4 else range(2, 10)
    digit = round(value / 10 ** math.floor(math.log10(value)))
    return f"{value:g}" if decades <= 3 and digit in shown else ""


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
    import pandas as pd
    import seaborn as sns

    data = pd.DataFrame(records)
    series = list(data["algorithm"].unique())
    look: dict[str, Any] = {"estimator": _mean, "errorbar": _interval, "color": "0.7"}
    is_grouped = by != "algorithm" and len(series) > 1
    if is_grouped:  # none so dark that it hides the interval
        greys = {name: f"{0.9 - 0.4 * index / (len(series) - 1):.2f}" for index, name in enumerate(series)}
        look |= {"hue": "algorithm", "palette": greys, "color": None}
    with _style("whitegrid"):
        names = list(data[by].unique())
        bars = len(names) * (len(series) if is_grouped else 1)
        longest = max(map(len, [*names, *(series if is_grouped else [])]))  # beside the panels, or in the legend
        canvas = _canvas(3.2 * len(measures) + 0.07 * longest, max(1.6, 0.8 + 0.22 * bars))
        axes = canvas.subplots(1, len(measures), squeeze=False, sharey=True)[0]
        for axis, measure in zip(axes, measures, strict=True):
            chosen = data[data["measure"] == measure]
            legend = is_grouped and axis is axes[-1]
            sns.barplot(chosen, x="value", y=by, order=names, ax=axis, legend=legend, **look)
            axis.set(xlabel=measure, ylabel="")
        texts = axes[0].get_yticklabels()
        if is_grouped:
            sns.move_legend(axes[-1], "upper left", bbox_to_anchor=(1.02, 1), title=None, frameon=False)
            texts += axes[-1].get_legend().get_texts()
        for text in texts:  # the label of a variant may contain a dollar sign
            text.set_parse_math(False)
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
    canvas.tight_layout()
    files = [path.with_name(f"{path.name}.{suffix}") for suffix in FORMATS]
    for file in files:
        canvas.savefig(file, dpi=200, bbox_inches="tight")
    return files


def plots_missing() -> str | None:
    """None if figures can be drawn here, or how to get what is missing."""
    found = all(importlib.util.find_spec(name) is not None for name in ("seaborn", "pandas", "matplotlib"))
    return None if found else "they need the plots extra: ./setup.sh pip install -e '.[plots]' in the project's folder"
