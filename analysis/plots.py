"""Figures for papers: readable in grey, every axis with its unit, as PNG, SVG and PDF. Needs the plots extra."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """Draw a figure into `path` with every format's suffix; lines are means, bars their 95 % confidence intervals."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import pandas as pd
    import seaborn as sns

    data = pd.DataFrame(figure.records)
    series = sorted(data["series"].unique())
    # Lines differ in grey level, in dashes and in markers, so that no one needs colour to tell them apart.
    look: dict[str, Any] = {
        "hue": "series",
        "style": "series",
        "hue_order": series,
        "style_order": series,
        "palette": dict(zip(series, sns.color_palette("cividis", len(series)), strict=True)),
        "markers": ["o", "s", "^", "D", "v", "P", "X", "*"][: len(series)],
        "dashes": True,
        "errorbar": ("ci", 95),
        "err_style": "bars",
        "seed": 1,
    }
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        canvas, axes = plt.subplots(1, len(figure.panels), figsize=(3.4 * len(figure.panels), 3.2), sharey=True)
        for index, (axis, panel) in enumerate(zip(axes, figure.panels, strict=True)):
            last = index == len(figure.panels) - 1
            chosen = data[data[figure.panel] == panel]
            sns.lineplot(chosen, x=figure.x, y=figure.y, ax=axis, legend="full" if last else False, **look)
            axis.set(title=f"({'abc'[index]}) {panel} {figure.panel}", xlabel="", ylabel=figure.y_label)
            if figure.log_x:
                axis.set_xscale("log")
            if figure.log_y:
                axis.set_yscale("log")
        canvas.supxlabel(figure.x_label, fontsize="medium")
        sns.move_legend(axes[-1], "upper left", bbox_to_anchor=(1.02, 1), title=None, frameon=False)
        return _save(canvas, path)


def draw_bars(
    records: Sequence[dict[str, Any]], measures: Sequence[str], path: Path, by: str = "algorithm"
) -> list[Path]:
    """One panel a measure, one bar a value of `by`, with the 95 % confidence interval of its mean.

    Records have `algorithm`, `measure`, `value` and what `by` names, one per repetition. Several algorithms share a
    value of `by` as bars of different grey.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import pandas as pd
    import seaborn as sns

    data = pd.DataFrame(records)
    series = list(data["algorithm"].unique())
    look: dict[str, Any] = {"color": "0.7"}
    is_grouped = by != "algorithm" and len(series) > 1
    if is_grouped:  # none so dark that it hides the interval
        greys = {name: f"{0.9 - 0.4 * index / (len(series) - 1):.2f}" for index, name in enumerate(series)}
        look = {"hue": "algorithm", "palette": greys}
    with sns.axes_style("whitegrid"), sns.plotting_context("paper"):
        canvas, axes = plt.subplots(1, len(measures), figsize=(3.4 * len(measures), 3.2))
        for axis, measure in zip(axes, measures, strict=True):
            chosen = data[data["measure"] == measure]
            legend = is_grouped and axis is axes[-1]
            sns.barplot(chosen, x=by, y="value", errorbar=("ci", 95), seed=1, ax=axis, legend=legend, **look)
            axis.set(xlabel=by, ylabel=measure)
        if is_grouped:
            sns.move_legend(axes[-1], "upper left", bbox_to_anchor=(1.02, 1), title=None, frameon=False)
        return _save(canvas, path)


def draw_paths(
    paths: Sequence[Sequence[tuple[float, float]]], area: tuple[float, float] | None, reach: float | None, path: Path
) -> list[Path]:
    """Draw where nodes go, each from its dot, into `path` with every format's suffix; a circle shows the range."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import seaborn as sns
    from matplotlib.patches import Circle, Rectangle

    with sns.axes_style("white"), sns.plotting_context("paper"):
        canvas, axis = plt.subplots(figsize=(5.0, 5.0))
        for colour, line in zip(sns.color_palette("cividis", len(paths)), paths, strict=True):
            axis.plot(*zip(*line, strict=True), color=colour, linewidth=0.7, alpha=0.7)
            axis.plot(*line[0], marker="o", markersize=3.5, color=colour, markeredgecolor="black", markeredgewidth=0.4)
        if reach is not None:
            axis.add_patch(Circle(paths[0][0], reach, fill=False, linestyle="--", color="black", linewidth=0.8))
        if area is not None:
            axis.add_patch(Rectangle((0, 0), *area, fill=False, color="grey", linewidth=0.8))
        axis.set(xlabel="x (m)", ylabel="y (m)", aspect="equal")
        return _save(canvas, path)


def _save(canvas: Any, path: Path) -> list[Path]:
    import matplotlib.pyplot as plt

    canvas.tight_layout()
    files = [path.with_name(f"{path.name}.{suffix}") for suffix in FORMATS]
    for file in files:
        canvas.savefig(file, dpi=200, bbox_inches="tight")
    plt.close(canvas)
    return files


def plots_missing() -> str | None:
    """None if figures can be drawn here, or how to get what is missing."""
    found = all(importlib.util.find_spec(name) is not None for name in ("seaborn", "pandas", "matplotlib"))
    return None if found else "they need the plots extra: ./setup.sh pip install -e '.[plots]' in the project's folder"
