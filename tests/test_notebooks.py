"""The notebooks run from top to bottom, and what their cells show is worth looking at."""

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))


def run_cells(notebook: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Run the code of a notebook in its own folder; returns what each cell shows, as Jupyter would."""
    monkeypatch.chdir(notebook.parent)
    monkeypatch.setattr("testbed.interface.RUNS", out)
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            *before, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(before, []), str(notebook), "exec"), names)
            is_shown = isinstance(last, ast.Expr)
            code = ast.Expression(last.value) if isinstance(last, ast.Expr) else ast.Module([last], [])
            value = eval(compile(code, str(notebook), "eval" if is_shown else "exec"), names)
            shown.append(value)
    return shown


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves nothing behind, and has no outputs of its own: they are made where it is opened."""
    before = sorted(os.listdir(notebook.parent))
    run_cells(notebook, tmp_path, monkeypatch)
    assert sorted(os.listdir(notebook.parent)) == before
    assert all(not cell.get("outputs") for cell in json.loads(notebook.read_text())["cells"])


def test_from_a_scenario_to_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In fewer than 20 lines of code: a run, a study, a frame, and a figure with a line for each algorithm."""
    notebook = Path(__file__).parent.parent / "notebooks" / "waiting.ipynb"
    cells = json.loads(notebook.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) < 20
    run, study, frame, figure = run_cells(notebook, tmp_path, monkeypatch)
    assert "safety" in run._repr_html_()
    assert study.passed
    assert len(frame) == 2 * 4 * 5
    assert set(frame["algorithm"]) == {"rl", "krl"}
    assert (frame["waiting_time_mean_units"] > 0).all()
    (axis,) = figure.axes
    assert axis.get_xlabel()
    assert len(axis.get_lines()) >= 2
