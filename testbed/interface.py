"""The Python interface, for scripts and notebooks: `import testbed`, then `testbed.run(testbed.load("mine.yaml"))`.

The command line is made of the same functions. What they return shows itself in a notebook as verdicts and a table, and
has its data as a pandas frame. An error that a user can mend is a `testbed.errors.TestbedError`; its text is one line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.backends.base import RunOptions
from testbed.errors import InputError
from testbed.experiments.measure import NO_OPTIONS
from testbed.experiments.runner import Result, no_report
from testbed.experiments.runner import run as run_scenario
from testbed.progress import Report
from testbed.scenario import loader, yaml_reader
from testbed.scenario.schema import Scenario
from testbed.scenario.yaml_reader import Document

if TYPE_CHECKING:  # a run needs none of these, and starts sooner without them
    from analysis.open_run import OpenRun
    from testbed.experiments.compare import Comparison
    from testbed.experiments.compare_backends import BackendComparison, Subject
    from testbed.experiments.reproduce.reproduction import Reproduction
    from testbed.experiments.studies.pool import Pool
    from testbed.experiments.studies.study import Study, StudyPoint
    from testbed.experiments.studies.study_result import StudyResult
    from testbed.experiments.variants import Variant

RUNS = Path("runs")
"""Where run directories go, unless the caller says otherwise."""


def load(path: Path | str, changes: Mapping[str, Any] | None = None) -> Scenario:
    """Read a scenario file, with changes such as `{"workload.rate": 1}`."""
    return loader.load(Path(path), _overrides(changes))


def run(
    scenario: Scenario | Path | str,
    out: Path | str | None = None,
    *,
    report: Report = no_report,
    options: RunOptions = NO_OPTIONS,
    on_begin: Callable[[Path], None] = lambda path: None,
) -> Result:
    """Run a scenario into a new directory under `out` (`runs`). `on_begin` takes that directory when it is there."""
    return run_scenario(_scenario(scenario), Path(out or RUNS), report, options, on_begin)


def compare(
    scenario: Scenario | Subject | Path | str,
    algorithms: Sequence[str | Mapping[str, Any] | Variant] = (),
    backends: Sequence[str] = (),
    out: Path | str | None = None,
    *,
    store: Path | str | None = None,
    fresh: bool = False,
    report: Report = no_report,
) -> Comparison | BackendComparison:
    """Run algorithms, or backends, on one scenario. An algorithm is a name, or `{"name": "krl", "k": 3}`.

    What the store has already is not run again; if `fresh`, only what runs in virtual time. The store is in `out` by
    default.
    """
    from testbed.experiments.compare import compare as compare_variants
    from testbed.experiments.compare_backends import Subject, compare_backends, parse_backends

    variants = _variants(algorithms)
    names = parse_backends(",".join(backends)) if backends else []
    runs = Path(out or RUNS)
    place = runs / "store" if store is None else Path(store)
    if names:
        return compare_backends(_subject(scenario), variants, names, runs, report, place, fresh=fresh)
    loaded = scenario.scenario if isinstance(scenario, Subject) else _scenario(scenario)
    return compare_variants(loaded, variants, runs, report, place, fresh=fresh)


def sweep(
    study: Study | Scenario | Path | str,
    vary: Mapping[str, Sequence[Any]] | None = None,
    *,
    algorithms: Sequence[str | Mapping[str, Any] | Variant] = (),
    backends: Sequence[str] = (),
    repeat: int | Mapping[str, Any] | None = None,
    store: Path | str | None = None,
    pool: Pool | None = None,
    retry: bool = False,
    fresh: bool = False,
    on_point: Callable[[StudyPoint, list[dict[str, Any]]], None] = lambda point, outcomes: None,
    report: Report = no_report,
) -> StudyResult:
    """Run a study, or a scenario along axes: what is missing in its store.

    The store is beside the file of the study. A study that is in no file has one only if `store` says where.
    What ended with an error runs again if `retry`, and what runs in real time if `fresh`. `on_point` is called when a
    point is finished, with the outcomes of its repetitions.
    """
    from testbed.experiments.studies.open import kept_in
    from testbed.experiments.studies.pool import LocalPool
    from testbed.experiments.studies.repeat import Repeat
    from testbed.experiments.studies.study_result import StudyResult
    from testbed.experiments.studies.sweep import Sweep

    made, place = _study(study, None if store is None else Path(store))
    changes: dict[str, Any] = {}
    if vary:
        changes["grid"] = {**made.grid, **{key: list(values) for key, values in vary.items()}}
    if algorithms:
        changes["variants"] = [*made.variants, *_variants(algorithms)]
    if backends:
        changes["backends"] = list(backends)
    if repeat is not None:
        wanted = dict(repeat) if isinstance(repeat, Mapping) else repeat
        changes["repeat"] = Repeat.read(Document("sweep", {"repeat": wanted}), wanted)
    if changes:  # else its points, if they have been checked, are not checked again
        made = replace(made, **changes)
    with kept_in(place) as kept:
        one = Sweep(made, kept, pool or LocalPool(), on_point)
        one.forget(errors=retry, real_time=fresh)
        one.run(report)
        return StudyResult(one.results(), place)


def reproduce(
    paper: str,
    *,
    quick: bool = False,
    out: Path | str | None = None,
    store: Path | str | None = None,
    report: Report = no_report,
) -> Reproduction:
    """Run a paper's experiments (`rl`, `krl`, `bv`, `hk` or `klme`), with the paper's values beside ours."""
    from testbed.experiments.reproduce import PAPERS
    from testbed.experiments.reproduce import reproduce as reproduce_paper

    if paper not in PAPERS:
        raise InputError(f"reproduce: found {paper!r}; allowed: {', '.join(PAPERS)}")
    runs = Path(out or RUNS)
    return reproduce_paper(paper, quick, runs, report, runs / "store" if store is None else Path(store))


def open_study(path: Path | str, store: Path | str | None = None) -> StudyResult:
    """The results of a study that has been run, by its file or by its store."""
    from testbed.experiments.studies.open import open_results
    from testbed.experiments.studies.study_result import StudyResult

    kept = None if store is None else Path(store)
    return StudyResult(open_results(Path(path), kept), kept)


def open_run(path: Path | str) -> OpenRun:
    """A run directory: its verdicts and metrics, and its events as frames."""
    from analysis.load import RunDirectoryError
    from analysis.open_run import OpenRun

    try:
        return OpenRun(path)
    except RunDirectoryError as error:
        raise InputError(str(error)) from None


def _scenario(scenario: Scenario | Path | str) -> Scenario:
    return scenario if isinstance(scenario, Scenario) else load(scenario)


def _overrides(changes: Mapping[str, Any] | None) -> list[str]:
    return [f"{key}={json.dumps(value)}" for key, value in (changes or {}).items()]


def _subject(scenario: Scenario | Subject | Path | str) -> Subject:
    from testbed.experiments.compare_backends import Subject

    if isinstance(scenario, Subject):
        return scenario
    if isinstance(scenario, Scenario):
        return Subject.build(Document(scenario.name, scenario.model_dump()))
    return Subject.load(Path(scenario))


def _variants(algorithms: Sequence[str | Mapping[str, Any] | Variant]) -> list[Variant]:
    from testbed.experiments.variants import Variant

    return [one if isinstance(one, Variant) else _variant(one) for one in algorithms]


def _variant(written: str | Mapping[str, Any]) -> Variant:
    from testbed.experiments.variants import read_variants

    item = written if isinstance(written, str) else dict(written)
    (variant,) = read_variants(Document("algorithms", {"algorithms": [item]}))
    return variant


def _study(study: Study | Scenario | Path | str, store: Path | None) -> tuple[Study, Path | None]:
    from testbed.experiments.studies.study import Study
    from testbed.experiments.studies.study_file import default_store, read_study

    if isinstance(study, Study):
        return study, store
    if isinstance(study, Scenario):
        document = yaml_reader.parse(study.to_yaml(), study.name)
        return Study(study.name, document, document), store
    return read_study(Path(study)), store or default_store(Path(study))
