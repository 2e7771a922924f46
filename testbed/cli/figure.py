"""`testbed figure`: draw a measure of a study against its axes, or the charts of a run."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import add_command
from testbed.cli.output import print_note
from testbed.cli.run import repetition_number
from testbed.cli.study_input import (
    add_selection,
    add_study,
    input_errors,
    is_run_directory,
    note_missing,
    results,
    selection,
)
from testbed.errors import InputError
from testbed.extras import need
from testbed.files import make_directory

if TYPE_CHECKING:
    from testbed.look.report.blocks import Chart, Missing
    from testbed.look.report.run_sections import ChartSection

STYLES = ("paper-column", "paper-page", "slide")
OF_STUDIES = ("store", "x", "hue", "col", "row", "y", "baseline", "where")
"""Options that a run has no use for."""
OF_RUNS = ("chart", "repetition")


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "figure", "draw a measure of a study against its axes, or the charts of a run", execute)
    add_study(one)
    one.add_argument("--x", metavar="AXIS", help="the x axis (the axis of numbers with the most values)")
    one.add_argument("--hue", metavar="AXIS", help="a line for each of its values (algorithm)")
    one.add_argument("--col", metavar="AXIS", help="a column of panels for each of its values (the next axis)")
    one.add_argument("--row", metavar="AXIS", help="a row of panels for each of its values (the next axis)")
    add_selection(one)
    one.add_argument("--chart", action="append", default=[], metavar="NAME",
                     help="of a run: only this chart, such as waiting-times (may be repeated; all)")  # fmt: skip
    one.add_argument("--repetition", type=repetition_number, metavar="N",
                     help="of a run: the repetition that charts over time and by node show (the first)")  # fmt: skip
    one.add_argument("--style", choices=STYLES, default=STYLES[0], help=f"the size of the figure ({STYLES[0]})")
    one.add_argument("--out", type=Path, default=Path("figures"), metavar="FILE|DIR",
                     help="a .pdf, .svg or .png file, or a folder for all three (figures)")  # fmt: skip


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from analysis.plots import FORMATS

    need("plots", "figure")
    suffix = arguments.out.suffix.removeprefix(".")
    is_file = suffix in FORMATS and not arguments.out.is_dir()
    if suffix and not is_file and not arguments.out.is_dir():
        raise InputError(f"--out {arguments.out}: found .{suffix}; allowed: .pdf, .svg, .png, or a folder")
    if is_run_directory(arguments):
        _refuse(arguments, OF_STUDIES, "a run; it is an option for studies")
        _draw_run(arguments, is_file)
    else:
        _refuse(arguments, OF_RUNS, "not a run directory; it is an option for runs")
        _draw_study(arguments)
    return 0


def _refuse(arguments: Namespace, options: Iterable[str], why: str) -> None:
    for option in options:
        if getattr(arguments, option) not in (None, []):
            raise InputError(f"--{option}: {arguments.study} is {why}")


def _draw_study(arguments: Namespace) -> None:
    from analysis.figure_plan import choose_layout, plan_figure
    from analysis.figures import draw_figure, files_for

    with input_errors():
        chosen = selection(arguments, results(arguments))
        layout = choose_layout(chosen, x=arguments.x, hue=arguments.hue, col=arguments.col, row=arguments.row)
        plan = plan_figure(chosen, layout)
    note_missing(chosen)
    files = files_for(arguments.out, f"{chosen.results.name}-{chosen.measure}")
    make_directory(files[0].parent, exist_ok=True)
    draw_figure(plan, arguments.style, files)
    _print_files(files)


def _draw_run(arguments: Namespace, is_file: bool) -> None:
    from analysis.figures import files_for
    from testbed.look.report.blocks import Chart, Missing
    from testbed.look.report.printed import draw_chart
    from testbed.look.report.run_sections import chart_name

    charts = _charts_of_run(arguments, is_file)
    lacking = [f"{chart.title}: {chart.why}" for _, chart in charts if isinstance(chart, Missing)]
    if len(lacking) == len(charts):
        raise InputError(f"{arguments.study}: nothing can be drawn: {'; '.join(lacking)}")
    for why in lacking:
        print_note(why)
    run_name = re.sub(r"[^A-Za-z0-9._-]", "-", arguments.study.resolve().name)[:80]  # any folder's name
    for section, chart in charts:
        if isinstance(chart, Chart):
            # Without --repetition the name does not say which is shown, since it is always the first.
            is_asked_for = arguments.repetition is not None and section.repetition is not None
            suffix = f"-rep-{section.repetition:03}" if is_asked_for else ""
            files = files_for(arguments.out, f"{run_name}-{chart_name(chart)}{suffix}")
            make_directory(files[0].parent, exist_ok=True)
            draw_chart(chart, arguments.style, files)
            _print_files(files)


def _charts_of_run(arguments: Namespace, is_file: bool) -> list[tuple[ChartSection, Chart | Missing]]:
    """The charts that are asked for, each with its section."""
    from analysis.load import load_run
    from testbed.look.report.run_sections import CHARTS, begun_repetitions, chart_sections, choose_charts, read_logs

    for name in arguments.chart:
        if name not in CHARTS:
            raise InputError(f"--chart: found {name}; allowed: {', '.join(CHARTS)}")
    names = list(dict.fromkeys(arguments.chart or CHARTS))
    if is_file and len(names) > 1:
        raise InputError(f"--out {arguments.out}: found {len(names)} charts; allowed: one --chart, or a folder")
    with input_errors():
        run = load_run(arguments.study)
        logs = read_logs(begun_repetitions(run), arguments.repetition)
    if not run.finished:
        print_note(f"{arguments.study}: the run did not come to its end")
    return choose_charts(chart_sections(logs), names)


def _print_files(files: Iterable[Path]) -> None:
    print("".join(f"{file}\n" for file in files), end="")
