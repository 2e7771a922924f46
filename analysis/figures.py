"""Figures of studies for papers and slides: panels with means and their 95 % intervals. Needs the plots extra.

A figure has exactly the width of its style, so that it needs no scaling and its letters keep their size. Lines differ
in grey level, dashes and markers, so that a reader needs no colour to tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.figure_plan import FigurePlan, Panel, PlannedPoint
from analysis.plots import FORMATS
from analysis.text_fit import break_text, plain_log_ticks, thin_numbers, turn_names, without_mathematics
from analysis.units import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ((), (4, 1.5), (1, 1.2), (5, 1.2, 1.2, 1.2), (7, 2))
"""Their numbers have no common divisor: forty lines differ in one or the other."""


@dataclass(frozen=True)
class Style:
    """Sizes, in inches and points."""

    width: float
    most_height: float
    """Of a row of panels."""
    most_columns: int
    """How many panels there are side by side, if there is no row: more go below."""
    font: float
    line: float
    marker: float


_PANEL_SHAPE = 0.75
"""The height of a panel over its width."""
STYLES = {
    "paper-column": Style(3.5, 2.6, 2, 8, 1.1, 3.6),
    "paper-page": Style(7.0, 3.0, 4, 8.5, 1.2, 4.0),
    "slide": Style(10.0, 5.0, 3, 17, 2.4, 8.0),
}


def draw_figure(plan: FigurePlan, style: str, files: Sequence[Path]) -> None:
    """Draw a figure into files, each in the format of its suffix. The same numbers give the same bytes."""
    with sizes(STYLES[style]):
        save_figure(make_figure(plan, style), style, files)


def save_figure(canvas: Figure, style: str, files: Sequence[Path]) -> None:
    """Write a figure into files, each in the format of its suffix, without the time at which that is done."""
    undated: dict[str, dict[str, Any]] = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}, ".png": {}}
    for file in files:
        canvas.savefig(file, dpi=300 if style != "slide" else 200, metadata=undated[file.suffix])


@contextmanager
def sizes(style: Style) -> Iterator[None]:
    """The look of a figure. It must last until it is saved, since matplotlib makes some of its parts then."""
    import matplotlib as mpl
    import seaborn as sns

    own: Any = {
        "font.size": style.font,
        "axes.labelsize": style.font,
        "axes.titlesize": style.font,
        "xtick.labelsize": 0.9 * style.font,
        "ytick.labelsize": 0.9 * style.font,
        "legend.fontsize": 0.95 * style.font,
        "legend.title_fontsize": 0.95 * style.font,
        "lines.linewidth": style.line,
        "lines.markersize": style.marker,
        "axes.linewidth": 0.6 * style.line,
        "grid.linewidth": 0.4 * style.line,
        "pdf.fonttype": 42,  # letters that can be searched and edited, as publishers ask for
        "ps.fonttype": 42,
        "svg.hashsalt": "testbed",
    }
    with sns.axes_style("whitegrid"), mpl.rc_context(own):
        yield


def make_figure(plan: FigurePlan, style: str) -> Figure:
    """The figure, not saved."""
    from matplotlib.figure import Figure

    size = STYLES[style]
    with sizes(size):
        columns = plan.columns if plan.layout.row else _balanced(plan.columns, size.most_columns)
        rows = -(-len(plan.panels) // columns)
        canvas = Figure(layout="constrained")
        canvas.set_layout_engine("constrained", wspace=0.06 if columns > 1 else 0.02)  # room for numbers side by side
        grid = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        axes = list(grid.flat)
        for axis, panel in zip(axes, plan.panels, strict=False):
            axis.tick_params(which="both", labelsize=0.9 * size.font)  # also if the figure is drawn in another style
            _draw_panel(axis, panel, plan)
        for axis in axes[len(plan.panels) :]:
            axis.set_visible(False)
        for axis in axes[len(plan.panels) - columns : len(plan.panels)]:  # the lowest panel of every column
            axis.tick_params(labelbottom=True)
        _set_scales(axes, plan)
        labels = _set_labels(canvas, axes, plan)
        texts = 4 * size.font / 72  # a title, numbers, and a part of a label
        height = rows * min(_PANEL_SHAPE * size.width / columns + texts, size.most_height)
        canvas.set_size_inches(size.width, height)
        legend_height = _add_legend(canvas, plan)
        canvas.set_size_inches(size.width, height + legend_height)
        _fit_texts(canvas, axes[: len(plan.panels)], labels, plan)
        return canvas


def _balanced(panels: int, most: int) -> int:
    """How many panels are side by side: as even as they can be if they need several rows."""
    rows = -(-panels // most)
    return -(-panels // rows)


# -- data --------------------------------------------------------------------------------------------------------------


def looks(count: int) -> list[dict[str, Any]]:
    """How each line looks. The lightest tone is left out: on white it cannot be seen."""
    import seaborn as sns

    colours = sns.color_palette("cividis", count + 1)[:count]
    return [
        {"color": colour, "marker": MARKERS[index % len(MARKERS)], "dashes": DASHES[index % len(DASHES)]}
        for index, colour in enumerate(colours)
    ]


def _draw_panel(axis: Axes, panel: Panel, plan: FigurePlan) -> None:
    if plan.is_difference:
        axis.axhline(0, color="0.35", linewidth=0.8, zorder=1.5)
    count = len(panel.lines)
    floor = _log_limits(plan.points())[0] if plan.log_y else -math.inf
    for index, (line, look) in enumerate(zip(panel.lines, looks(count), strict=True)):
        if plan.is_scale:
            _draw_line(axis, line, look, floor)
        else:
            offset = 0.6 * ((index + 0.5) / count - 0.5)  # beside each other, so that no interval hides another
            _draw_marks(axis, [(plan.x_values.index(point.x) + offset, point) for point in line], look)
    if not plan.is_scale:
        axis.set_xticks(range(len(plan.x_values)), list(plan.x_values))
        axis.set_xlim(-0.5, len(plan.x_values) - 0.5)
        axis.grid(visible=False, axis="x")


def _draw_line(axis: Axes, line: Sequence[PlannedPoint], look: dict[str, Any], floor: float) -> None:
    """A line of means with a band, which ends at the floor; an interval without a neighbour is a bar."""
    xs = [point.x for point in line]
    axis.plot(xs, [point.mean for point in line], **look, markeredgecolor="white", markeredgewidth=0.4, zorder=3)
    start = 0
    while start < len(line):
        end = start
        while end < len(line) and (line[end].half is None) == (line[start].half is None):
            end += 1
        piece = line[start:end]
        if piece[0].half is not None and len(piece) > 1:
            lows, highs = [max(point.low, floor) for point in piece], [point.high for point in piece]
            axis.fill_between(xs[start:end], lows, highs, color=look["color"], alpha=0.22, linewidth=0, zorder=2)
        elif piece[0].half is not None:
            axis.errorbar(xs[start], piece[0].mean, piece[0].half, color=look["color"], capsize=2, zorder=2)
        start = end


def _draw_marks(axis: Axes, marks: Sequence[tuple[float, PlannedPoint]], look: dict[str, Any]) -> None:
    for place, point in marks:
        if point.half is not None:
            axis.errorbar(place, point.mean, point.half, color=look["color"], capsize=2, zorder=2)
        axis.plot([place], [point.mean], marker=look["marker"], color=look["color"], linestyle="none", zorder=3)


# -- axes --------------------------------------------------------------------------------------------------------------


def _set_scales(axes: Sequence[Axes], plan: FigurePlan) -> None:
    """The scales that all panels share."""
    from matplotlib.ticker import FixedLocator, NullLocator

    first, points = axes[0], plan.points()
    if plan.log_x:
        first.set_xscale("log")
        plain_log_ticks([axis.xaxis for axis in axes])
        first.xaxis.set_major_locator(FixedLocator(list(plan.x_values)))  # those of the study, where there is room
        first.xaxis.set_minor_locator(NullLocator())
    elif plan.is_scale:
        plain_numbers(first.xaxis)
    if plan.log_y:
        first.set_yscale("log")
        first.set_ylim(*_log_limits(points))
        plain_log_ticks([axis.yaxis for axis in axes])
        return
    plain_numbers(first.yaxis)
    low, high = min(point.low for point in points), max(point.high for point in points)
    is_near_zero = min(point.mean for point in points) >= 0 and low < 0.6 * high
    if is_near_zero and not plan.is_difference:
        first.set_ylim(bottom=0, top=1.05 * high)


def _log_limits(points: Sequence[PlannedPoint]) -> tuple[float, float]:
    """The ends of a log axis for the y values. What goes far below the least mean, or to 0, is cut off there."""
    least = min(point.mean for point in points)
    lowest = min([least, *(point.low for point in points if point.low > least / 2)])
    highest = max(point.high for point in points)
    pad = (highest / lowest) ** 0.05
    return lowest / pad, highest * pad


def plain_numbers(scale: Any) -> None:
    """No power of ten and no offset at the end of a linear axis."""
    from matplotlib.ticker import ScalarFormatter

    formatter = ScalarFormatter(useOffset=False)
    formatter.set_scientific(False)
    scale.set_major_formatter(formatter)


def _set_labels(canvas: Figure, axes: Sequence[Axes], plan: FigurePlan) -> list[Text]:
    """Titles, and the labels of the axes, which are returned; panels share them."""
    x_label, y_label = axis_label(plan.layout.x), plan.label
    for axis, panel in zip(axes, plan.panels, strict=False):
        axis.set_title("\n".join(panel.titles))
    if len(plan.panels) == 1:
        return [axes[0].set_xlabel(x_label), axes[0].set_ylabel(y_label)]
    return [canvas.supxlabel(x_label, fontsize="medium"), canvas.supylabel(y_label, fontsize="medium")]


def _add_legend(canvas: Figure, plan: FigurePlan) -> float:
    """Name the lines, if there are several; returns the height of the legend in inches."""
    from matplotlib.lines import Line2D

    if plan.layout.hue is None:
        return 0.0
    handles = []
    for name, look in zip(plan.names, looks(len(plan.names)), strict=True):
        handle = Line2D([], [], color=look["color"], marker=look["marker"], label=name)
        if plan.is_scale:
            handle.set_dashes(look["dashes"] or (None, None))
        else:
            handle.set_linestyle("none")
        handles.append(handle)
    return legend_above(canvas, handles, None if plan.layout.hue == "algorithm" else axis_label(plan.layout.hue))


def legend_above(canvas: Figure, handles: Sequence[Line2D], title: str | None = None) -> float:
    """Put a legend above the panels, in as many columns as there is room for; returns its height in inches."""
    for columns in range(len(handles), 0, -1):
        legend = canvas.legend(
            handles=handles,
            loc="outside upper center",
            ncols=columns,
            title=title,
            frameon=False,
            columnspacing=1.2,
            handlelength=2.6,
        )
        without_mathematics(legend.get_texts())
        canvas.draw_without_rendering()
        extent = legend.get_window_extent()
        if extent.width <= 0.98 * canvas.bbox.width or columns == 1:
            return float(extent.height / canvas.dpi)
        legend.remove()
    raise AssertionError("a legend of one column is always taken")


# -- texts that fit ----------------------------------------------------------------------------------------------------


def _fit_texts(canvas: Figure, axes: Sequence[Axes], labels: Sequence[Text], plan: FigurePlan) -> None:
    """Break titles and labels that are too long, and leave out numbers that would touch each other."""
    without_mathematics([*labels, *(axis.title for axis in axes)])
    canvas.draw_without_rendering()
    if any(axis.title.get_window_extent().width > 0.97 * axis.bbox.width for axis in axes):
        for axis, panel in zip(axes, plan.panels, strict=True):  # all alike
            axis.set_title("\n".join(title.replace(" = ", " =\n", 1) for title in panel.titles))
        canvas.draw_without_rendering()
    along_x, along_y = labels
    break_text(along_x, 0.9 * canvas.bbox.width)
    panels = max(axis.bbox.y1 for axis in axes) - min(axis.bbox.y0 for axis in axes)
    break_text(along_y, min(1.25 * panels, 0.85 * canvas.bbox.height), "y")
    if plan.is_scale:
        thin_numbers(canvas, axes)
    else:
        turn_names(canvas, axes)
    thin_numbers(canvas, axes, "y")


def files_for(out: Path, name: str) -> list[Path]:
    """The files of a figure: one if `out` has the suffix of a format, otherwise one of every format in that folder."""
    if out.suffix.removeprefix(".") in FORMATS and not out.is_dir():
        return [out]
    return [out / f"{name}.{suffix}" for suffix in FORMATS]
