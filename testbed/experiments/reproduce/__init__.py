"""The papers' own experiments: one module a paper, with the paper's numbers beside ours."""

from __future__ import annotations

import importlib
from pathlib import Path

from testbed.progress import Report
from testbed.experiments.reproduce.reproduction import Outcome
from testbed.experiments.run_directory import fresh_directory

PAPERS: dict[str, str] = {
    "rl": "testbed.experiments.reproduce.rl",
    "krl": "testbed.experiments.reproduce.krl",
}
"""Each module has `run(quick, out, report)`, which returns an `Outcome`."""


def reproduce(paper: str, quick: bool, out: Path, report: Report) -> Outcome:
    """Run a paper's experiments and write tables, data and, where the plots extra is there, figures."""
    with fresh_directory(out, f"reproduce-{paper}") as directory:
        outcome: Outcome = importlib.import_module(PAPERS[paper]).run(quick, directory, report)
        outcome.write()
    return outcome
