"""The charts of a run and its tables by node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from agents.contract import TICKS
from analysis import stats
from analysis.events import supports
from testbed.look.report.blocks import Cell, Chart, Missing, Series, number_cell, table
from testbed.look.report.timeline import Timeline, WaitingTimes, grid_of, rates, shares_up_to
from testbed.look.report.values import compact, name

TIME = "time (time units)"
MOST_TYPES = 7
"""Message types with a line of their own: so many colours can be told apart."""
MOST_REPETITIONS = 40
"""Repetitions with a line of their own."""
MOST_NODES = 1000
"""Nodes with a bar and a row of their own."""
MOST_MARKS = 12
MakeChart = Callable[..., Chart]
"""Takes a title, the label of the y axis, series, and a note."""


def lacks(timeline: Timeline, kind: str, what: str) -> str:
    """Why the log does not hold events of a kind; empty if it does."""
    if supports(timeline.begun.trace, kind):
        return ""
    wanted = "cs" if supports("cs", kind) else "events"
    return f"the log has no {what} (trace: {timeline.begun.trace}); run it with --set trace={wanted} for this chart"


def waiting_chart(waits: Sequence[tuple[int, WaitingTimes]], why_none: str) -> Chart | Missing:
    """The distribution of waiting times, of all repetitions and of each."""
    title = "Waiting times"
    ordered = [(number, one.ordered()) for number, one in waits]
    together = sorted(wait for _, one in ordered for wait in one)
    if not together:
        return Missing(title, why_none or "no request was served after the warmup")
    grid = grid_of([0.0, *together])
    several = [(number, one) for number, one in ordered if one][:MOST_REPETITIONS]
    series = [Series("all repetitions", _shares(together, grid), look="bold")]
    if len(ordered) > 1:
        series += [Series(f"repetition {number}", _shares(one, grid), look="each") for number, one in several]
    left_out = len(ordered) - len(several)
    note = f"The share of requests that waited no longer, of {len(together):,} that were served after the warmup."
    if len(ordered) > 1 and left_out:
        note += f" {left_out} repetitions have no line of their own."
    return Chart(
        title, "steps", "waiting time (time units)", "share of requests",
        [_number(place) for place in grid], series, note,
    )  # fmt: skip


def _shares(ordered: Sequence[float], grid: Sequence[float]) -> list[float | None]:
    return [compact(share) for share in shares_up_to(ordered, grid)]


def _number(value: float) -> float:
    return float(f"{value:.6g}")


def node_charts(waits: WaitingTimes, why_none: str) -> list[Chart | Missing]:
    """Waiting and entries by node."""
    titles = ("Entries by node", "Waiting time by node")
    if why_none:
        return [Missing(title, why_none) for title in titles]
    count = min(len(waits.begun.units), MOST_NODES)
    names: list[float | str] = [str(node) for node in range(count)]
    note = "" if count == len(waits.begun.units) else f"The first {count:,} of {len(waits.begun.units):,} nodes."
    entries = [float(len(waits.by_node.get(node, ()))) for node in range(count)]
    means = [compact(stats.mean([t / TICKS for t in waits.by_node.get(node, ())])) for node in range(count)]
    return [
        Chart(titles[0], "bars", "node", "entries", names, [Series("entries", entries)], note),
        Chart(titles[1], "bars", "node", "mean waiting time (time units)", names, [Series("mean", means)], note),
    ]


def time_charts(timeline: Timeline) -> list[Chart | Missing]:
    """What changed over time."""
    edges = timeline.edges()
    if len(edges) < 2:
        return [Missing("Charts over time", "nothing happened after the start")]
    width = (edges[1] - edges[0]) / TICKS
    x: list[float | str] = [_number((begin + end) / 2 / TICKS) for begin, end in pairwise(edges)]
    about = f"Each point is a stretch of {width:g} time units."

    def chart(title: str, y_label: str, series: list[Series], note: str = "") -> Chart:
        return Chart(title, "lines", TIME, y_label, x, series, f"{note} {about}".strip(), _marks(timeline))

    return [
        _messages(timeline, edges, chart),
        _levels(timeline, edges, chart, "Units in use", "units", "enter", "entries"),
        _levels(timeline, edges, chart, "Requests pending", "requests", "request", "requests"),
        _degree(timeline, edges, chart),
        _components(timeline, edges, chart),
    ]


def _marks(timeline: Timeline) -> list[tuple[float, str]]:
    marks = [(_number(t / TICKS), name(what)) for t, what in timeline.marks[:MOST_MARKS]]
    warmup = timeline.begun.warmup / TICKS
    return [(_number(warmup), "the warmup ends"), *marks] if 0 < warmup < timeline.end / TICKS else marks


def _messages(timeline: Timeline, edges: list[int], chart: MakeChart) -> Chart | Missing:
    title = "Messages by type"
    if why := lacks(timeline, "send", "messages"):
        return Missing(title, why)
    if not timeline.sent_at:
        return Missing(title, "no message was sent")
    often = sorted(timeline.sent_at, key=lambda type: (-len(timeline.sent_at[type]), type))
    kept = often if len(often) <= MOST_TYPES else often[: MOST_TYPES - 1]
    series = [Series(name(type), _compact(rates(timeline.sent_at[type], edges))) for type in kept]
    if others := often[len(kept) :]:
        times = sorted(t for type in others for t in timeline.sent_at[type])
        series.append(Series(f"{len(others)} other types", _compact(rates(times, edges))))
    return chart(title, "messages per time unit", series, "Messages sent, of the algorithm.")


def _levels(
    timeline: Timeline, edges: list[int], chart: MakeChart, title: str, unit: str, kind: str, what: str
) -> Chart | Missing:
    if why := lacks(timeline, kind, what):
        return Missing(title, why)
    is_use = kind == "enter"
    means, peaks = (timeline.in_use if is_use else timeline.waiting).over(edges)
    series = [Series("mean", _compact(means)), Series("most", _compact(peaks))]
    if is_use:
        series.append(Series("capacity", [float(timeline.capacity)] * len(means), look="bound"))
    return chart(title, unit, series)


def _degree(timeline: Timeline, edges: list[int], chart: MakeChart) -> Chart | Missing:
    title = "Mean degree"
    if why := lacks(timeline, "link_up", "links"):
        return Missing(title, why)
    if not timeline.knows_links:
        return Missing(title, "the log has no links: over radio, routers report none")
    means, _ = timeline.links.over(edges)
    nodes = max(1, len(timeline.begun.units))
    return chart(title, "links per node", [Series("mean degree", _compact([2 * one / nodes for one in means]))])


def _components(timeline: Timeline, edges: list[int], chart: MakeChart) -> Chart | Missing:
    means, peaks = timeline.components.over(edges)
    if max(peaks) <= 1:
        return Missing("Components", "the network was never partitioned")
    return chart("Components", "components", [Series("mean", _compact(means)), Series("most", _compact(peaks))])


def _compact(values: Sequence[float]) -> list[float | None]:
    return [compact(value) for value in values]


def node_table(waits: WaitingTimes, timeline: Timeline, repetition: int) -> str:
    """Every node of a repetition: its entries, how long it waited, and what it sent."""
    knows_messages = supports(timeline.begun.trace, "send")
    rows = []
    for node in range(min(len(waits.begun.units), MOST_NODES)):
        ordered = sorted(t / TICKS for t in waits.by_node.get(node, ()))
        spread = stats.spread(ordered)
        row = [Cell(str(node), float(node)), number_cell(len(ordered))]
        row += [number_cell(spread[key]) for key in ("mean", "p50", "p95", "max")]
        row.append(number_cell(int(node in waits.asked)))
        rows.append(row + [number_cell(timeline.sent_by.get(node, 0))] * knows_messages)
    header = ["node", "entries", "waiting time, mean", "p50", "p95", "max", "pending at the end"]
    header += ["messages sent"] * knows_messages
    return table(f"Nodes of repetition {repetition}, after the warmup; times in time units", header, rows)
