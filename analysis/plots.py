"""Figures for papers: readable in grey, every axis with its unit, as PNG, SVG and PDF. Needs the plots extra."""

from __future__ import annotations

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
        canvas.tight_layout()
        files = [path.with_suffix(f".{suffix}") for suffix in FORMATS]
        for file in files:
            canvas.savefig(file, dpi=200, bbox_inches="tight")
        plt.close(canvas)
    return files
