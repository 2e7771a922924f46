"""`testbed sweep`: run a study into its store, only what is missing there."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.cli.arguments import add_command, add_json, locate
from testbed.cli.output import print_json, print_note
from testbed.errors import InputError

if TYPE_CHECKING:
    from testbed.experiments.studies.pool import Pool
    from testbed.experiments.studies.study import Study, StudyPoint
    from testbed.experiments.studies.sweep import Status, Sweep
    from testbed.look.live.process import Live


def add(commands: Any) -> None:
    """Add its arguments."""
    one = add_command(commands, "sweep", "run a study, a scenario along axes, into a store: what is missing", execute)
    one.add_argument("study", type=Path, metavar="STUDY", help="a study, or a scenario to be varied (YAML)")
    one.add_argument("--vary", action="append", default=[], metavar="KEY=A,B,C",
                     help="one more axis: a key of the scenario and its values (may be repeated)")  # fmt: skip
    one.add_argument("--store", type=Path, metavar="DIR", help="where results go (STUDY.store, beside the study)")
    one.add_argument("--dry-run", action="store_true", help="say how many runs there are and how long they take")
    one.add_argument("--status", action="store_true", help="say what is there and what is missing")
    one.add_argument("--retry", action="store_true", help="run again what ended with an error")
    one.add_argument("--fresh", action="store_true", help="run again what runs in real time")
    one.add_argument("--scheduler", metavar="ADDRESS", help="run on a Dask cluster, such as tcp://HOST:8786")
    one.add_argument("--workers", type=worker_count, metavar="N", help="run on a Dask cluster of N processes here")
    one.add_argument("--live", action="store_true",
                     help="serve the report to browsers on this machine while it fills (testbed report)")  # fmt: skip
    add_json(one)


def execute(arguments: Namespace) -> int:
    """Carry out the command; returns the exit code."""
    from analysis.store import Store
    from testbed.experiments.studies.open import open_study, opened_store
    from testbed.experiments.studies.study_file import default_store
    from testbed.experiments.studies.sweep import Sweep

    if arguments.live and (arguments.status or arguments.dry_run):
        raise InputError("sweep: found --live with --status or --dry-run, which run nothing; allowed: --live alone")
    path = locate(arguments.study)
    study = open_study(path, arguments.vary)
    place = arguments.store or default_store(path)
    only_looks = arguments.status or arguments.dry_run
    store = Store(None) if only_looks and not place.exists() else opened_store(place, create=not only_looks)
    with _live(study, path, place, arguments) as live, _pool(arguments) as pool:
        if live is not None:
            print_note(f"live: {live.address} (while the sweep goes on)")
        with store as kept:
            sweep = Sweep(study, kept, pool)
            if arguments.status:
                return _show_status(sweep, arguments)
            if arguments.dry_run:
                return _show_dry_run(sweep, arguments)
            forgotten = sweep.forget(errors=arguments.retry, real_time=arguments.fresh)
            if not arguments.json:
                again = f"; {forgotten} to run again" if forgotten else ""
                print_note(f"{_counts(study, sweep.status())}{again}")
        return _run(study, place, pool, arguments, live)


def worker_count(text: str) -> int:
    """How many processes a cluster on this machine has."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1000:
        raise ArgumentTypeError(f"found {text!r}; allowed: 1 to 1000")
    return int(text)


@contextmanager
def _live(study: Study, path: Path, place: Path, arguments: Namespace) -> Iterator[Live | None]:
    """What serves the report, if the user wants it and there is anything to run.

    It is a fork of this process, so it comes before all that a fork must not share: the store, and threads of Dask.
    """
    if not arguments.live:
        yield None
        return
    # A report knows no --vary; the store knows what was run last.
    words = [place] if arguments.vary else [path] if arguments.store is None else [path, "--store", place]
    command = f"testbed report {shlex.join(map(str, words))}"
    if not _has_work(study, place, arguments):
        print_note(f"live: all runs are there, so nothing is served; {command} shows them")
        yield None
        return
    from testbed.look.live.process import Live
    from testbed.look.live.study_source import StudySource

    with Live(StudySource(study, place, command)) as live:
        yield live


def _has_work(study: Study, place: Path, arguments: Namespace) -> bool:
    from testbed.experiments.studies.open import opened_store
    from testbed.experiments.studies.sweep import Sweep

    if not place.exists() or (arguments.fresh and any(point.stored.is_real_time for point in study.points)):
        return True
    with opened_store(place) as kept:
        status = Sweep(study, kept).status()
    return bool(status.missing or (arguments.retry and status.failed))


@contextmanager
def _pool(arguments: Namespace) -> Iterator[Pool]:
    if arguments.scheduler is None and arguments.workers is None:
        from testbed.experiments.studies.pool import LocalPool

        yield LocalPool()
        return
    if arguments.scheduler is not None and arguments.workers is not None:
        raise InputError("sweep: found both --scheduler and --workers; allowed: one of them")
    from testbed.experiments.studies.dask_cluster import cluster

    with cluster(arguments.scheduler, arguments.workers) as pool:
        yield pool


def _run(study: Study, place: Path, pool: Pool, arguments: Namespace, live: Live | None) -> int:
    from testbed.experiments.studies.open import opened_store
    from testbed.experiments.studies.sweep import Sweep, exit_code
    from testbed.interface import sweep
    from testbed.progress import Progress

    with Progress() as progress:

        def report(share: float, words: str) -> None:
            progress(share, words)
            if live is not None:
                live.report(share, words)

        result = sweep(study, store=place, pool=pool, on_point=_line, report=report)
    code = exit_code(result.results)
    if arguments.json:
        with opened_store(place) as kept:
            print_json({**_status_document(Sweep(study, kept, pool)), "exit": code})
        return code
    for line in result.failures:
        print(line)
    print(f"{study.name}: {len(study.points)} points, {len(result.results.rows)} repetitions")
    print(f"store: {place}")
    return code


def _line(point: StudyPoint, outcomes: list[dict[str, Any]]) -> None:
    """One line for a finished point, where no progress is shown on a terminal."""
    from analysis import stats
    from analysis.results import mean_of
    from analysis.tables import number

    if not sys.stderr.isatty():
        values = [value for one in outcomes if (value := mean_of(one["metrics"], "waiting_time")) is not None]
        waits = f"waiting time {number(stats.mean(values))} ± {number(stats.ci95(values))}"
        print_note(f"{point.label}: {len(outcomes)} repetitions, {waits}")


def _show_status(sweep: Sweep, arguments: Namespace) -> int:
    status = sweep.status()
    if arguments.json:
        print_json(_status_document(sweep))
        return 0
    print(_counts(sweep.study, status))
    for line in status.failed:
        print(f"FAILED: {line}")
    print(f"store: {sweep.store.path or 'not made yet'}")
    return 0


def _show_dry_run(sweep: Sweep, arguments: Namespace) -> int:
    from testbed.experiments.studies.estimate import in_words, seconds_left

    status, document = sweep.status(), _status_document(sweep)
    seconds = seconds_left(sweep)
    if arguments.json:
        print_json({**document, "seconds_left": seconds})
        return 0
    print(_counts(sweep.study, status))
    for axis in sweep.study.axes:
        values = list(dict.fromkeys(_shown(point.axes[axis]) for point in sweep.study.points))
        print(f"  {axis}: {', '.join(values)}")
    took = "no estimate: the first runs take long" if seconds is None else f"about {in_words(seconds)} on this machine"
    print(took)
    return 0


def _counts(study: Study, status: Status) -> str:
    more = " or more" if study.repetitions.until else ""
    parts = [f"{study.name}: {status.points} points, {status.wanted} runs{more}, {status.done} there"]
    parts += [f"{status.missing} missing"] if status.missing else []
    parts += [f"{len(status.failed)} ended with an error (run again with --retry)"] if status.failed else []
    parts += [f"{status.stale} points stale, for the code has changed"] if status.stale else []
    parts += [f"{status.elsewhere} being run by other processes"] if status.elsewhere else []
    return ", ".join(parts)


def _status_document(sweep: Sweep) -> dict[str, Any]:
    status = sweep.status()
    return {
        "study": sweep.study.name,
        "axes": list(sweep.study.axes),
        "points": status.points,
        "runs": status.wanted,
        "done": status.done,
        "missing": status.missing,
        "failed": status.failed,
        "stale_points": status.stale,
        "running_elsewhere": status.elsewhere,
        "store": None if sweep.store.path is None else str(sweep.store.path),
    }


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
