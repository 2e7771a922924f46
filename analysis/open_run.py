"""A run directory opened for reading: its verdicts, its metrics, and its events as data frames."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.load import Run, RunDirectoryError, load_run
from analysis.results import Results, Row
from analysis.summary_html import summary_html
from analysis.tables import metrics_table

if TYPE_CHECKING:
    import pandas as pd


class OpenRun:
    """One run. Nothing but `meta.json` and `summary.json` is read before it is asked for; frames need pandas.

    A run that did not come to its end is judged and measured from its logs.
    """

    def __init__(self, path: Path | str) -> None:
        self._run: Run = load_run(Path(path))

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._run.path

    @cached_property
    def checks(self) -> dict[str, dict[str, Any]]:
        """The verdict of every check over the repetitions."""
        summary = self._run.summary
        checks: dict[str, dict[str, Any]] = self._run.verdicts() if summary is None else summary["checks"]
        return checks

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Every metric over the repetitions, with its mean and its 95 % confidence interval."""
        return self._run.metrics()

    @cached_property
    def results(self) -> Results:
        """A row for every repetition, as tables and frames take them. The run is one point of a study."""
        summary = self._run.summary or {}
        axes: dict[str, Any] = {name: summary[name] for name in ("algorithm", "backend") if name in summary}
        try:
            rows = [
                Row(axes, one["repetition"], one["metrics"], one["checks"]) for one in summary.get("repetitions", ())
            ]
        except (KeyError, TypeError) as error:
            raise RunDirectoryError(
                f"{self.path / 'summary.json'}: a repetition that makes no sense: {error}"
            ) from error
        if not summary:
            rows = [
                Row(axes, number, audit.metrics(), audit.verdicts()) for number, audit in enumerate(self._run.audits)
            ]
        begun = self._run.meta.get("repeat")
        missing = max(0, begun - len(rows)) if isinstance(begun, int) else 0
        return Results(self.path.name, tuple(axes), tuple(rows), missing=missing)

    def events(self, kind: str, repetition: int = 0) -> pd.DataFrame:
        """All events of a kind, such as `enter`, in a repetition."""
        from analysis.frames import events_frame

        return events_frame(self.path, kind, repetition)

    def waiting_times(self) -> pd.DataFrame:
        """One row for every request that was served, in all repetitions."""
        from analysis.frames import waiting_times_frame

        return waiting_times_frame(self.path, range(len(self._run.repetitions)))

    def frame(self) -> pd.DataFrame:
        """One row for every repetition."""
        from analysis.frames import results_frame

        return results_frame(self.results)

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{name} {check['verdict']}" for name, check in self.checks.items())
        return f"OpenRun({str(self.path)!r}: {verdicts})"

    def _repr_html_(self) -> str:
        rows = len(self.results.rows)
        title = f"{self.path.name}: {rows} repetition{'' if rows == 1 else 's'}"
        notes = [] if self._run.finished else ["The run did not come to its end."]
        return summary_html(title, self.checks, metrics_table(self.metrics), notes)
