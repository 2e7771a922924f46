"""Charts of a report as figures for papers and slides: the look of the figures of studies. Needs the plots extra.

A figure has exactly the width of its style, and no title: the caption below it says what it shows. Lines differ in grey
level, dashes and markers. Instants that concern everything, such as a crash, are thin lines with labels above them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.figures import STYLES, Style, legend_above, looks, plain_numbers, save_figure, sizes
from analysis.text_fit import break_text, thin_numbers, without_mathematics
from testbed.look.report.blocks import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Y_LABELS = {
    "Units in use": "units in use",
    "Requests pending": "pending requests",
    "Mean degree": "mean degree (links per node)",
}
"""What the y axis says where the title of a chart says more than its label."""
FEW_POINTS = 40
"""A line of no more points has a marker at each; another one has about ten."""
EACH = "0.65"
"""The grey of lines of which there is one for each repetition."""
BOUND, BOUND_DASHES = "0.2", (6, 1.5, 1, 1.5, 1, 1.5)
"""The grey and the dashes of a line that others must stay below."""
MARK_SIZE = 0.8
"""The size of the labels of instants, as a share of the style's."""


def draw_chart(chart: Chart, style: str, files: Sequence[Path]) -> None:
    """Draw a chart into files, each in the format of its suffix. The same chart gives the same bytes."""
    with sizes(STYLES[style]):
        save_figure(make_chart(chart, style), style, files)


def make_chart(chart: Chart, style: str) -> Figure:
    """The figure, not saved."""
    from matplotlib.figure import Figure

    size = STYLES[style]
    with sizes(size):
        canvas = Figure(figsize=(size.width, size.most_height), layout="constrained")
        axis = canvas.subplots()
        # The size is for figures that are drawn in another style; the pad keeps the numbers apart where the axes meet.
        axis.tick_params(labelsize=0.9 * size.font, pad=0.45 * size.font)
        axis.set(xlabel=chart.x_label, ylabel=Y_LABELS.get(chart.title, chart.y_label))
        handles = _draw_bars(axis, chart) if chart.kind == "bars" else _draw_lines(axis, chart, size)
        _set_limits(axis, chart)
        legend_height = _add_legend(canvas, handles)
        canvas.set_size_inches(size.width, size.most_height + legend_height)
        canvas.draw_without_rendering()
        break_text(axis.xaxis.label, 0.9 * canvas.bbox.width)
        break_text(axis.yaxis.label, axis.bbox.height, "y")
        thin_numbers(canvas, [axis])
        thin_numbers(canvas, [axis], "y")
        marks_height = _draw_marks(canvas, axis, chart.marks, size)
        canvas.set_size_inches(size.width, size.most_height + legend_height + marks_height)
        return canvas


# -- data --------------------------------------------------------------------------------------------------------------


def _draw_lines(axis: Axes, chart: Chart, size: Style) -> list[Line2D]:
    """Draw every series as a line; returns those that a legend names. Lines of repetitions share one name."""
    named: list[Line2D] = []
    steps: dict[str, Any] = {"drawstyle": "steps-post"} if chart.kind == "steps" else {}
    for index, (series, look) in enumerate(zip(chart.series, _looks_of(chart, size), strict=True)):
        is_each = series.look == "each"
        points = [math.nan if value is None else value for value in series.values]
        (line,) = axis.plot(chart.x, points, **steps, **look)
        line.set_label("each repetition" if is_each else series.label)
        line.set_markevery(_marked(index, len(chart.series), len(points)))
        if not is_each or "each" not in [one.look for one in chart.series[:index]]:
            named.append(line)
    return named


def _looks_of(chart: Chart, size: Style) -> list[dict[str, Any]]:
    """How each line looks."""
    usual = {"markeredgecolor": "white", "markeredgewidth": 0.4, "linewidth": 0.8 * size.line, "zorder": 3}
    distinct = [{**look, **usual} for look in looks(len([one for one in chart.series if not one.look]))]
    lone = "o" if len(chart.x) == 1 else ""  # a line of one point is not seen without
    if len(chart.series) == 1:
        distinct = [{**look, "marker": lone} for look in distinct]
    own: dict[str, dict[str, Any]] = {
        "bold": {"color": "black", "linewidth": 1.3 * size.line, "marker": lone, "zorder": 4},
        "each": {"color": EACH, "linewidth": 0.4 * size.line, "marker": lone, "zorder": 2},
        "bound": {"color": BOUND, "linewidth": 0.8 * size.line, "dashes": BOUND_DASHES, "marker": lone, "zorder": 2},
    }
    others = iter(distinct)
    return [own[one.look] if one.look else next(others) for one in chart.series]


def _marked(index: int, lines: int, points: int) -> tuple[int, int]:
    """The first point of a line that has a marker, and how far it is to the next: other places for each line."""
    step = 1 if points <= FEW_POINTS else math.ceil(points / 10)
    return int(step * (index + 0.5) / lines) % step, step


def _draw_bars(axis: Axes, chart: Chart) -> list[Line2D]:
    """Draw the bars of the only series, which needs no legend."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    (series,) = chart.series
    heights = [math.nan if value is None else value for value in series.values]
    axis.bar(range(len(heights)), heights, width=0.8, color="0.45", linewidth=0, zorder=2)
    axis.xaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda place, _: _name_at(chart, place)))
    axis.grid(visible=False, axis="x")
    return []


def _name_at(chart: Chart, place: float) -> str:
    return str(chart.x[int(place)]) if place in range(len(chart.x)) else ""


def _set_limits(axis: Axes, chart: Chart) -> None:
    """The axes begin at 0, as on the page, and end with the last point or instant."""
    values = [value for one in chart.series for value in one.values if value is not None]
    axis.set_ylim(0, 1.02 if chart.kind == "steps" else 1.05 * max(values, default=0) or 1)
    plain_numbers(axis.yaxis)
    if chart.kind == "bars":
        axis.set_xlim(-0.6, len(chart.x) - 0.4)
        return
    places = [place for place in chart.x if isinstance(place, float | int)]
    axis.set_xlim(0, max([*places, *(place for place, _ in chart.marks)]) or 1)
    plain_numbers(axis.xaxis)


# -- texts -------------------------------------------------------------------------------------------------------------


def _add_legend(canvas: Figure, lines: Sequence[Line2D]) -> float:
    """Name the lines above the panel, if there are several; returns the height of the legend in inches."""
    if len(lines) < 2:
        return 0.0
    import matplotlib as mpl

    size = mpl.rcParams["legend.fontsize"]
    room = 0.98 * canvas.bbox.width - 5 * size * canvas.dpi / 72  # without what is beside a name
    for one in lines:
        one.set_label(_fitted(canvas, str(one.get_label()), room, size)[0])
    return legend_above(canvas, lines)


def _draw_marks(canvas: Figure, axis: Axes, marks: Sequence[tuple[float, str]], size: Style) -> float:
    """Draw instants as lines with labels above the panel, in rows; returns the height of these in inches."""
    font, pixels = MARK_SIZE * size.font, canvas.dpi / 72
    left, right = axis.bbox.x0, axis.bbox.x1
    places = [float(axis.transData.transform((place, 0))[0]) for place, _ in marks]
    labels = [_fitted(canvas, label, 0.6 * (right - left), font) for _, label in marks]
    gap = 0.5 * font * pixels
    starts = [min(at + 0.4 * gap, right - width) for at, (_, width) in zip(places, labels, strict=True)]
    spans = [
        (start - gap, max(at, start + width) + gap)
        for at, start, (_, width) in zip(places, starts, labels, strict=True)
    ]
    rows = _rows(spans)
    highest = {at: max(row for other, row in zip(places, rows, strict=True) if other == at) for at in places}
    line: dict[str, Any] = {"color": "0.3", "linewidth": 0.5 * size.line, "linestyle": (0, (2, 2))}
    lead: dict[str, Any] = {"arrowprops": {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0, **line}}
    ground = {"facecolor": "white", "edgecolor": "none", "pad": 0}
    written = []
    for (place, _), at, start, (label, _), row in zip(marks, places, starts, labels, rows, strict=True):
        height = 2 + 1.25 * font * row
        where: dict[str, Any] = {"xy": (place, 1), "xycoords": axis.get_xaxis_transform(), "annotation_clip": False}
        offset: dict[str, Any] = {"xytext": (0, height), "textcoords": "offset points"}
        axis.axvline(place, zorder=1.5, **line)
        if row == highest[at]:  # dashes over dashes would be a solid line
            axis.annotate("", **where, **offset, **lead)
        offset["xytext"] = ((start - at) / pixels, height)
        written.append(axis.annotate(label, **where, **offset, fontsize=font, va="bottom", bbox=ground, zorder=5))
    without_mathematics(written)
    return 1.25 * font * (1 + max(rows)) / 72 if rows else 0.0


def _rows(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The row of every label, given where it begins and ends: that which begins last is in the lowest row, 0.

    One that begins before it, or comes before it, is above all labels that it would touch. So a line that leads up to a
    label crosses no other one, except near the right end, where labels begin before their lines; there it is behind it.
    """
    rows = [0] * len(spans)
    placed: list[int] = []
    for index in sorted(range(len(spans)), key=lambda index: (spans[index][0], index), reverse=True):
        begin, end = spans[index]
        below = [rows[other] for other in placed if spans[other][0] < end and begin < spans[other][1]]
        rows[index] = max(below, default=-1) + 1
        placed.append(index)
    return rows


def _fitted(canvas: Figure, label: str, room: float, font: float) -> tuple[str, float]:
    """A label, cut if it needs more pixels than there is room for, and its width."""
    label = "".join(one if ord(one) in _letters() else one.encode("unicode_escape").decode() for one in label)
    text = canvas.text(0, 0, label, fontsize=font, parse_math=False)
    width, kept = text.get_window_extent().width, len(label)
    while width > room and kept > 1:
        kept = max(1, min(kept - 1, int(kept * room / width)))
        text.set_text(f"{label[:kept]}…")
        width = text.get_window_extent().width
    text.remove()
    return text.get_text(), width


@cache
def _letters() -> frozenset[int]:
    """The letters that the font of figures has; others would be drawn as boxes."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    return frozenset(get_font(findfont(FontProperties())).get_charmap())
