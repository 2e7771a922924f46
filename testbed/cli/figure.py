"""`testbed figure`: draw a measure of a study against its axes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command
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

STYLES = ("paper-column", "paper-page", "slide")


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "figure", "draw a measure of a study against its axes", execute)
    add_study(one)
    one.add_argument("--x", metavar="AXIS", help="the x axis (the axis of numbers with the most values)")
    one.add_argument("--hue", metavar="AXIS", help="a line for each of its values (algorithm)")
    one.add_argument("--col", metavar="AXIS", help="a column of panels for each of its values (the next axis)")
    one.add_argument("--row", metavar="AXIS", help="a row of panels for each of its values (the next axis)")
    add_selection(one)
    one.add_argument("--style", choices=STYLES, default=STYLES[0], help=f"the size of the figure ({STYLES[0]})")
    one.add_argument("--out", type=Path, default=Path("figures"), metavar="FILE|DIR",
                     help="a .pdf, .svg or .png file, or a folder for all three (figures)")  # fmt: skip


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from analysis.plots import FORMATS

    need("plots", "figure")
    suffix = arguments.out.suffix.removeprefix(".")
    if suffix and suffix not in FORMATS and not arguments.out.is_dir():
        raise InputError(f"--out {arguments.out}: found .{suffix}; allowed: .pdf, .svg, .png, or a folder")
    if is_run_directory(arguments):
        raise InputError(f"{arguments.study}: a run; allowed: a study, since figures show how results vary")
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
    print("".join(f"{file}\n" for file in files), end="")
    return 0
