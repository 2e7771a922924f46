"""The reproductions as the README shows them, but with shorter runs and only one figure drawn."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from analysis import plots
from analysis.plots import Panels
from testbed.cli.main import main
from testbed.experiments.reproduce.bv_cells import BVCell
from testbed.experiments.reproduce.cells import Cell
from testbed.scenario.schema import Scenario
from tests.test_readme import commands

SHARE = 0.2
"""How long the runs are, compared with those of `--quick`."""


@dataclass(frozen=True)
class Shortened:
    """A finished reproduction."""

    printed: str
    document: dict[str, Any]
    """What rows.json holds."""
    folder: Path
    figures: dict[str, Panels]
    """What the figures show, by file name; only the first is drawn."""


def reproduce(paper: str, out: Path) -> Shortened:
    """Run the command of the README for a paper; it must succeed."""
    (command,) = [line for line in commands() if line.startswith(f"testbed reproduce {paper} ")]
    full, full_bv, draw, figures, printed = Cell.scenario, BVCell.scenario, plots.draw_panels, {}, io.StringIO()

    def shorter(cell: Cell) -> Scenario:
        scenario = full(cell)
        assert scenario.duration is not None
        return scenario.model_copy(update={"duration": SHARE * scenario.duration, "warmup": SHARE * scenario.warmup})

    def shorter_bv(cell: BVCell) -> Scenario:
        scenario = full_bv(cell)
        assert scenario.entries is not None
        return scenario.model_copy(update={"entries": round(SHARE * scenario.entries)})

    def note(figure: Panels, path: Path) -> list[Path]:
        figures[path.name] = figure
        return draw(figure, path) if len(figures) == 1 else []

    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed):
        patch.setattr(Cell, "scenario", shorter)
        patch.setattr(BVCell, "scenario", shorter_bv)
        patch.setattr(plots, "draw_panels", note)
        assert main([*shlex.split(command)[1:], "--out", str(out)]) == 0
    (folder,) = out.glob("reproduce-*")
    return Shortened(printed.getvalue(), json.loads((folder / "rows.json").read_text()), folder, figures)


def check_figures(found: Shortened, names: set[str], lines: str = "algorithm") -> None:
    """Every figure shows every line in every panel and has units on its axes; the first has its three files.

    `lines`: the key of the records that distinguishes lines.
    """
    assert set(found.figures) == names
    for name, figure in found.figures.items():
        assert figure.x_label.endswith(")"), name
        assert figure.y_label.endswith(")"), name
        series = {record[lines] for record in figure.records}
        assert len(series) > 1
        shown = {(record[lines], record[figure.panel]) for record in figure.records}
        assert shown >= {(one, panel) for one in series for panel in figure.panels}
        assert all(record[figure.y] > 0 for record in figure.records)
    first = next(iter(found.figures))
    for suffix in ("png", "svg", "pdf"):
        assert (found.folder / f"{first}.{suffix}").stat().st_size > 5_000
