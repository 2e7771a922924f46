"""What a reproduction found: rows with the paper's value beside ours, the report, the figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from analysis.plots import plots_missing


@dataclass(frozen=True)
class Row:
    """One cell of a paper's table: the paper's value and ours."""

    table: int
    algorithm: str
    reading: str
    mobility: str
    connectivity: float
    load: str
    paper: float
    measured: float | None
    ci95: float | None
    duration: float

    @property
    def key(self) -> tuple[Any, ...]:
        """What the row stands for, whatever the reading."""
        return (self.table, self.algorithm, self.mobility, self.connectivity, self.load)

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's."""
        return None if self.measured is None else self.measured / self.paper

    def agrees(self, tolerance: float) -> bool:
        """Whether ours is the paper's value within the tolerance, or rounds to it as the paper rounds."""
        if self.measured is None:
            return False
        return abs(self.measured / self.paper - 1) <= tolerance or abs(self.measured - self.paper) <= 0.5

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "ratio": self.ratio}


@dataclass(frozen=True)
class Outcome:
    """A finished reproduction."""

    paper: str
    out: Path
    rows: list[Row]
    short_runs: list[Row]
    records: list[dict[str, Any]]
    """The points of the figures, one record per repetition."""
    failures: list[str]
    """A line for every check that failed in any run."""
    text: str
    draw: Callable[[list[dict[str, Any]], Path], list[Path]]
    """Draws the figures from the records into a directory."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "paper": self.paper,
            "rows": [row.as_dict() for row in self.rows],
            "short_runs": [row.as_dict() for row in self.short_runs],
            "failures": self.failures,
            "directory": str(self.out),
        }

    def render(self) -> str:
        """The report, what failed, and where everything is."""
        failed = "".join(f"FAILED: {line}\n" for line in self.failures)
        figures = "" if plots_missing() is None else f"no figures: {plots_missing()}\n"
        return f"{self.text}\n{failed}{figures}directory: {self.out}\n"

    def write(self) -> None:
        """Put the report, the data and the figures into the directory."""
        self.out.mkdir(parents=True, exist_ok=True)
        (self.out / "report.md").write_text(self.text, encoding="utf-8")
        (self.out / "rows.json").write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
        (self.out / "figures.json").write_text(json.dumps(self.records) + "\n", encoding="utf-8")
        if plots_missing() is None:
            self.draw(self.records, self.out)
