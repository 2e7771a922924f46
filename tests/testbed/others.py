"""Algorithms that are not the testbed's own: files and distributions that tests write."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from testbed.cli.scaffold import new_algorithm_here


def file_of(path: Path, more: str = "") -> Path:
    """Write the file of an algorithm that works: the skeleton, whose class is Mine, with more lines at its end."""
    folder = path.parent / f"{path.stem}-skeleton"
    folder.mkdir(parents=True)
    new_algorithm_here("mine", folder)
    path.write_text((folder / "mine.py").read_text() + more)
    shutil.rmtree(folder)
    return path


def distribution_of(folder: Path, monkeypatch: pytest.MonkeyPatch, *, name: str = "lab", **algorithms: str) -> Path:
    """Install a distribution with entry points: its package has the skeleton in `<name>.inner.agent`."""
    inner = folder / name / "inner"
    inner.mkdir(parents=True)
    for package in (inner, inner.parent):
        (package / "__init__.py").write_text("")
    file_of(inner / "agent.py")
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    points = "".join(f"{key.replace('_', '-')} = {place}\n" for key, place in algorithms.items())
    (info / "entry_points.txt").write_text(f"[testbed.algorithms]\n{points}")
    monkeypatch.syspath_prepend(folder)
    for module in [module for module in sys.modules if module.partition(".")[0] == name]:
        monkeypatch.delitem(sys.modules, module)  # of another test
    return folder
