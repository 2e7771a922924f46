"""The charts of a run by section, from its logs: the report shows them on a page, `testbed figure` prints them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.dispatch import Fan
from analysis.load import Run, RunDirectoryError, replay
from analysis.plausible import Account
from testbed.errors import InputError
from testbed.look.report.blocks import Chart, Missing
from testbed.look.report.run_charts import lacks, node_charts, time_charts, waiting_chart
from testbed.look.report.timeline import Timeline, WaitingTimes

CHARTS = (
    "waiting-times", "messages-by-type", "units-in-use", "requests-pending", "mean-degree", "components",
    "entries-by-node", "waiting-time-by-node",
)  # fmt: skip
"""The names of all charts, in the order of the report."""


@dataclass(frozen=True)
class Repetition:
    """A repetition that was begun."""

    number: int
    log: Path


@dataclass(frozen=True)
class Logs:
    """What the logs of a run say: of one repetition all that charts show, of all of them the waiting times."""

    shown: Repetition | None
    timeline: Timeline
    waits: Sequence[tuple[int, WaitingTimes]]

    @property
    def shown_waits(self) -> WaitingTimes:
        """The waiting times of the repetition that is shown."""
        wanted = self.shown.number if self.shown is not None else None
        return next((waits for number, waits in self.waits if number == wanted), WaitingTimes())


@dataclass(frozen=True)
class ChartSection:
    """Charts that belong together."""

    id: str
    title: str
    charts: Sequence[Chart | Missing]
    repetition: int | None = None
    """The repetition that they show; None for all of them."""
    about: str = ""
    """A line above the charts."""


def begun_repetitions(run: Run) -> list[Repetition]:
    """Every repetition that has a folder, in the order of the run's audits."""
    for folder in run.repetitions:
        if not (folder.name[4:].isascii() and folder.name[4:].isdigit()):
            raise RunDirectoryError(f"{folder}: not the folder of a repetition: it has no number")
    return [Repetition(int(folder.name[4:]), folder / "events.jsonl") for folder in run.repetitions]


def read_logs(begun: Sequence[Repetition], wanted: int | None) -> Logs:
    """Read the log of every repetition; the one that is shown is the first, or that which is wanted."""
    if wanted is not None and wanted not in [one.number for one in begun]:
        allowed = ", ".join(str(one.number) for one in begun[:20]) or "none, for the run has no repetitions"
        raise InputError(f"--repetition: found {wanted}; allowed: {allowed}{', ...' * (len(begun) > 20)}")
    timeline, waits, shown = Timeline(), [], None
    for one in begun:
        if not one.log.is_file():
            continue
        times = WaitingTimes()
        is_shown = shown is None if wanted is None else one.number == wanted
        replay(one.log, Fan(times, timeline) if is_shown else times, account=Account())
        waits.append((one.number, times))
        shown = one if is_shown else shown
    return Logs(shown, timeline, waits)


def chart_sections(logs: Logs) -> list[ChartSection]:
    """All charts of a run; each that cannot be drawn says why."""
    if logs.shown is None:
        return [ChartSection("waiting", "Waiting times", [Missing("Charts", "no repetition has a log")])]
    why_no_entries, shown = lacks(logs.timeline, "enter", "entries"), logs.shown.number
    others = f"Repetition {shown}; another one is shown with --repetition N." if len(logs.waits) > 1 else ""
    over_time, by_node = time_charts(logs.timeline), node_charts(logs.shown_waits, why_no_entries)
    return [
        ChartSection("waiting", "Waiting times", [waiting_chart(logs.waits, why_no_entries)]),
        ChartSection("time", f"Over time, repetition {shown}", over_time, shown, others),
        ChartSection("by-node", f"By node, repetition {shown}", by_node, shown),
    ]


def chart_name(chart: Chart | Missing) -> str:
    """What a chart is called in commands and in the names of files."""
    return chart.title.lower().replace(" ", "-")


def choose_charts(sections: Sequence[ChartSection], names: Sequence[str]) -> list[tuple[ChartSection, Chart | Missing]]:
    """The charts of these names, in the order of the report, each with its section.

    A section of which nothing can be drawn has one line for all its charts; it is there if any of them is chosen.
    """
    found = [(section, chart) for section in sections for chart in section.charts]
    is_any_absent = not {chart_name(chart) for _, chart in found}.issuperset(names)
    wanted = {*names, *(chart_name(chart) for _, chart in found if is_any_absent and chart_name(chart) not in CHARTS)}
    return [(section, chart) for section, chart in found if chart_name(chart) in wanted]
