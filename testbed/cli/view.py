"""`testbed view`: a page that plays a run."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any

from testbed.cli.arguments import add_command
from testbed.files import make_directory, results_in
from testbed.progress import Progress


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "view", "make a page that plays a run, in one file", execute)
    one.add_argument("run", type=Path, metavar="RUN_DIR", help="a run directory; --set trace=events shows most")
    one.add_argument("--repetition", type=int, default=0, metavar="R", help="counted from 0 (0)")
    one.add_argument("--file", type=Path, metavar="FILE", help="the page (RUN_DIR/view.html, or view-R.html)")
    one.add_argument("--at", type=float, metavar="T", help="the moment to show first, in time units")
    one.add_argument("--open", action="store_true", help="show it in the browser")


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from testbed.cli.replay_text import as_dict
    from testbed.look.view.make import view
    from testbed.look.view.page_file import page_file

    with Progress() as progress:
        text = view(arguments.run, as_dict, repetition=arguments.repetition, at=arguments.at, report=progress)
    file: Path = arguments.file or page_file(arguments.run, arguments.repetition)
    make_directory(file.parent, exist_ok=True)
    with results_in(file):
        file.write_text(text, encoding="utf-8")
    print(file)
    if arguments.open:
        import webbrowser

        webbrowser.open(file.resolve().as_uri())
    return 0
