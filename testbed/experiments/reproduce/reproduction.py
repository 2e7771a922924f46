"""The results of a reproduction: the data, the report, the figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.extras import plots_missing


@dataclass(frozen=True)
class Reproduction:
    """A finished reproduction."""

    paper: str
    out: Path
    document: dict[str, Any]
    """The results, ready for JSON: rows with the paper's value beside ours, or claims with their verdicts."""
    records: list[dict[str, Any]]
    """The points of the figures, one record per repetition."""
    failures: list[str]
    """A line for every check that failed, and for every repetition that was lost."""
    text: str
    draw: Callable[[list[dict[str, Any]], Path], list[Path]]
    """Draws the figures from the records into a directory."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "paper": self.paper,
            **self.document,
            "failures": self.failures,
            "directory": str(self.out),
        }

    def render(self) -> str:
        """The report, what failed, and where the files are."""
        failed = "".join(f"FAILED: {line}\n" for line in self.failures)
        figures = "" if plots_missing() is None else f"no figures: {plots_missing()}\n"
        return f"{self.text}\n{failed}{figures}directory: {self.out}\n"

    def write(self) -> None:
        """Put the report, the data and the figures into the directory."""
        (self.out / "report.md").write_text(self.text, encoding="utf-8")
        (self.out / "rows.json").write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")
        (self.out / "figures.json").write_text(json.dumps(self.records) + "\n", encoding="utf-8")
        if plots_missing() is None:
            self.draw(self.records, self.out)
