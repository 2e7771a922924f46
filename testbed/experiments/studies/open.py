"""Opens studies and their stores, for commands and notebooks. Errors of the store are errors that a user sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from analysis.results import Results
from analysis.store import Store, StoreError
from testbed.errors import InputError, MachineError
from testbed.experiments.studies.study import Study
from testbed.experiments.studies.study_file import default_store, read_study, vary
from testbed.experiments.studies.sweep import Sweep, results_of


@contextmanager
def opened_store(path: Path, *, create: bool = True) -> Iterator[Store]:
    """A store; what is wrong with it is reported in one line."""
    try:
        with Store(path, create=create) as store:
            yield store
    except StoreError as error:
        raise (MachineError if error.is_of_machine else InputError)(str(error)) from error


@contextmanager
def kept_in(path: Path | None) -> Iterator[Store]:
    """The same; without a path, results are kept in memory only."""
    with Store(None) if path is None else opened_store(path) as store:
        yield store


def open_study(path: Path, axes: Sequence[str] = ()) -> Study:
    """The study of a file, with the axes of `--vary`; its points are checked."""
    study = vary(read_study(path), axes)
    assert study.points, "every study has a point"
    return study


def open_results(path: Path, store: Path | None = None, axes: Sequence[str] = ()) -> Results:
    """The results of a study, by its file, or of the last study in a store, by its folder."""
    if path.is_dir():
        with opened_store(path, create=False) as kept:
            return results_of(kept.plan(), kept)
    study = open_study(path, axes)
    with opened_store(store or default_store(path), create=False) as kept:
        return Sweep(study, kept).results()
