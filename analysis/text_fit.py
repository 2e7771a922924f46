"""Texts of a figure that fit: numbers and names at its axes never touch each other. Needs the plots extra."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from analysis.selection import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_GAP = 0.5
"""How far two texts side by side are apart at least, as a share of the size of their letters."""
_TURNED = 35
"""Degrees."""


def without_mathematics(texts: Sequence[Text]) -> None:
    """Show texts as they are: the name of a variant may contain dollar signs."""
    for text in texts:
        text.set_parse_math(False)


def is_touching(axes: Sequence[Axes], which: str = "x") -> bool:
    """Whether numbers or names at the x or y axis of any panel touch each other. The figure must have been laid out."""
    for axis in axes:
        scale = axis.xaxis if which == "x" else axis.yaxis
        gap = _GAP * _pixels(axis) if which == "x" else 0.0
        spans = []
        for text in [*scale.get_ticklabels(), *scale.get_ticklabels(minor=True)]:
            box = text.get_window_extent()
            low, high = (box.x0, box.x1) if which == "x" else (box.y0, box.y1)
            first, last = (axis.bbox.x0, axis.bbox.x1) if which == "x" else (axis.bbox.y0, axis.bbox.y1)
            if text.get_visible() and text.get_text() and first - 1 <= (low + high) / 2 <= last + 1:
                spans.append((low, high))
        if any(high + gap > low for (_, high), (low, _) in pairwise(sorted(spans))):
            return True
    return False


def _pixels(axis: Axes) -> float:
    """The size of the letters at an axis."""
    texts, canvas = axis.get_xticklabels(), axis.get_figure(root=True)
    return float(texts[0].get_fontsize()) * canvas.dpi / 72 if texts and canvas is not None else 0.0


def break_text(text: Text, room: float, which: str = "x") -> None:
    """Break a text that needs more pixels than there is room for along the x or y axis: first before its unit."""
    extent = text.get_window_extent()
    words, length = text.get_text(), extent.width if which == "x" else extent.height
    if length <= room:
        return
    name, _, unit = words.rpartition(" (")
    fits = int(len(words) * room / length)
    if name and max(len(name), len(unit) + 1) <= fits:
        text.set_text(f"{name}\n({unit}")
    else:
        text.set_text(textwrap.fill(words, max(fits, 1), break_long_words=False))


def plain_log_ticks(scales: Sequence[Axis]) -> None:
    """Plain numbers at the same log axis of all panels, such as 0.001 and 100, and some between the powers of ten."""
    for scale in scales:
        scale.set_major_formatter(lambda value, _: plain(value))
        scale.set_minor_formatter(partial(_minor_number, scale, range(1, 10)))
        scale.set_tick_params(which="both", length=0, pad=3)  # both kinds of numbers at the same distance


def _minor_number(scale: Axis, digits: Sequence[int], value: float, place: int) -> str:
    """What a log axis writes between its powers of ten: the fewer, the more of these there are."""
    low, high = sorted(scale.get_view_interval())
    decades = math.log10(high / low)
    shown = (2, 5) if decades > 0.9 else (2, 3, 4, 6) if decades > 0.4 else range(2, 10)
    digit = round(value / 10 ** math.floor(math.log10(value)))
    return plain(value) if decades <= 3 and digit in shown and digit in digits else ""


def thin_numbers(canvas: Figure, axes: Sequence[Axes], which: str = "x") -> None:
    """Leave out numbers at an axis that the panels share, until none touches another.

    On a log axis those between the powers of ten go first.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator

    scale = axes[0].xaxis if which == "x" else axes[0].yaxis
    is_log = scale.get_scale() == "log"
    canvas.draw_without_rendering()
    for digits in ((2, 5), (3,), ()) if is_log else ():
        if is_touching(axes, which):
            scale.set_minor_formatter(partial(_minor_number, scale, digits))
            canvas.draw_without_rendering()
    for most in (9, 6, 5, 4, 3, 2, 1):
        if not is_touching(axes, which):
            return
        scale.set_major_locator(LogLocator(numticks=most) if is_log else MaxNLocator(most))
        canvas.draw_without_rendering()
    if which == "x":
        turn_names(canvas, axes)


def turn_names(canvas: Figure, axes: Sequence[Axes]) -> None:
    """Show all names at the x axis: turned where they would touch each other, and smaller if need be.

    The figure grows by the height of names that are turned, so that the panels keep theirs.
    """
    for axis in axes:
        without_mathematics(axis.get_xticklabels())
    canvas.draw_without_rendering()
    if not is_touching(axes):
        return
    names = [name for axis in axes for name in axis.get_xticklabels()]
    before = max(name.get_window_extent().height for name in names)
    longest = max(name.get_window_extent().width for name in names)
    step = axes[0].bbox.width / len(axes[0].get_xticklabels()) * 72 / canvas.dpi  # points
    line = 1.25 * float(names[0].get_fontsize())
    is_steep = step * math.sin(math.radians(_TURNED)) < line or longest > 0.2 * canvas.bbox.width
    for name in names:
        if is_steep:
            name.set(rotation=90, fontsize=min(float(name.get_fontsize()), step / 1.25))
        else:
            name.set(rotation=_TURNED, ha="right", rotation_mode="anchor")
    more = max(name.get_window_extent().height for name in names) - before
    width, height = canvas.get_size_inches()
    canvas.set_size_inches(width, height + more / canvas.dpi)
    canvas.draw_without_rendering()
