"""What the commands that read studies take: a study, the store of its results, or a run directory."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from testbed.cli.arguments import locate
from testbed.cli.output import print_note
from testbed.errors import InputError

if TYPE_CHECKING:
    from analysis.results import Results
    from analysis.selection import Selection

USUAL_METRIC = "waiting_time"


def add_study(one: ArgumentParser) -> None:
    """Add the arguments that name the results."""
    one.add_argument("study", type=Path, metavar="STUDY|RUN",
                     help="a study (YAML), the folder of its store, or a run directory")  # fmt: skip
    one.add_argument("--store", type=Path, metavar="DIR", help="where results are (STUDY.store, beside the study)")


def add_selection(one: ArgumentParser) -> None:
    """Add the options that say which numbers are shown."""
    one.add_argument("--y", metavar="METRIC",
                     help=f"a metric, or a column of one such as waiting_time.p95 ({USUAL_METRIC})")  # fmt: skip
    one.add_argument("--baseline", metavar="A", help="show differences from this algorithm, in pairs of repetitions")
    one.add_argument("--where", action="append", default=[], metavar="AXIS=VALUE",
                     help="take only these points (may be repeated)")  # fmt: skip


def is_run_directory(arguments: Namespace) -> bool:
    """Whether the command was given a run instead of a study."""
    from analysis.load import is_run

    with input_errors():
        return is_run(arguments.study)


def results(arguments: Namespace) -> Results:
    """The results of a study or a run; an error if there are none."""
    from analysis.open_run import OpenRun
    from testbed.experiments.studies.open import open_results

    if is_run_directory(arguments):
        with input_errors():
            found = OpenRun(arguments.study).results
    else:
        found = open_results(locate(arguments.study), arguments.store)
    if not found.rows and found.stale:
        hint = "run it again with testbed sweep, or name its store to see them"
        raise InputError(f"{arguments.study}: all results are of other code than this; {hint}")
    if not found.rows:
        stale = f" of this code; {found.stale} points have results of other code" if found.stale else ""
        raise InputError(f"{arguments.study}: no results yet{stale}")
    return found


def selection(arguments: Namespace, found: Results) -> Selection:
    """The numbers that the options choose."""
    from analysis.selection import Measure, Selection

    where = {}
    for text in arguments.where:
        axis, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--where {text}: found no axis=value; allowed: for example workload.rate=0.1")
        where[axis] = value
    measure = Measure.parse(USUAL_METRIC if arguments.y is None else arguments.y)
    return Selection(found, measure, arguments.baseline, where).checked()


def note_missing(chosen: Selection) -> None:
    """Say in one line what the study lacks."""
    lacks = [*chosen.missing(), *chosen.results.notes[:1]]
    if lacks:
        print_note(f"{chosen.results.name}: {'; '.join(lacks)}")


@contextmanager
def input_errors() -> Iterator[None]:
    """Report what the results or a run directory do not have as wrong input."""
    from analysis.load import RunDirectoryError
    from analysis.selection import SelectionError

    try:
        yield
    except (SelectionError, RunDirectoryError) as error:
        raise InputError(str(error)) from None
