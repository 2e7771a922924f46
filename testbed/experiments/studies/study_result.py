"""What a study gives a notebook: its verdicts and a table, a frame, and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.figure_plan import choose_layout, plan_figure
from analysis.results import Results
from analysis.selection import Measure, Selection, SelectionError
from analysis.study_tables import StudyTable, choose_rows_and_columns, study_table
from analysis.summary_html import summary_html
from analysis.tables import Table
from testbed.errors import InputError
from testbed.experiments.studies.sweep import checks_of, exit_code, failures

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

WAITING = "waiting_time"


@dataclass(frozen=True)
class StudyResult:
    """The results of a study, as far as they are there."""

    results: Results
    store: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether every repetition came to its end, and no check failed."""
        return exit_code(self.results) == 0

    @property
    def failures(self) -> list[str]:
        """A line for every check that failed at a point, and for every repetition that ended with an error."""
        return [*failures(self.results), *self.results.notes]

    def frame(self) -> pd.DataFrame:
        """One row for every repetition, with a column for every axis; needs pandas."""
        from analysis.frames import results_frame

        return results_frame(self.results)

    def table(
        self, rows: Sequence[str] = (), columns: str | None = None, y: str = WAITING, baseline: str | None = None
    ) -> StudyTable:
        """A measure with its 95 % intervals, as `testbed table` shows it."""
        with _input_errors():
            chosen = Selection(self.results, Measure.parse(y), baseline).checked()
            return study_table(chosen, *choose_rows_and_columns(chosen, list(rows), columns))

    def figure(
        self,
        x: str | None = None,
        y: str = WAITING,
        *,
        hue: str | None = None,
        col: str | None = None,
        row: str | None = None,
        baseline: str | None = None,
        style: str = "paper-page",
    ) -> Figure:
        """A measure against axes of the study, as `testbed figure` draws it; needs seaborn."""
        from analysis.figures import make_figure

        with _input_errors():
            chosen = Selection(self.results, Measure.parse(y), baseline).checked()
            return make_figure(plan_figure(chosen, choose_layout(chosen, x=x, hue=hue, col=col, row=row)), style)

    def _repr_html_(self) -> str:
        results = self.results
        title = f"{results.name}: {sum(1 for _ in results.points())} points, {len(results.rows)} repetitions"
        shown = self.table().table if results.rows else Table((), [])
        missing = [f"{results.missing} repetitions are missing."] if results.missing else []
        return summary_html(title, checks_of(results), shown, [*self.failures, *missing])


@contextmanager
def _input_errors() -> Iterator[None]:
    try:
        yield
    except SelectionError as error:
        raise InputError(str(error)) from None
