"""The papers' own experiments: one module a paper, with the paper's numbers beside ours."""

from __future__ import annotations

import importlib
from pathlib import Path

from testbed.experiments.reproduce.reproduction import Reproduction
from testbed.experiments.run_directory import fresh_directory
from testbed.experiments.studies.open import kept_in
from testbed.progress import Report

PAPERS: dict[str, str] = {
    "rl": "testbed.experiments.reproduce.rl",
    "krl": "testbed.experiments.reproduce.krl",
    "bv": "testbed.experiments.reproduce.bv",
    "hk": "testbed.experiments.reproduce.hk",
    "klme": "testbed.experiments.reproduce.klme",
}
"""Each module has `run(quick, out, report, store)`, which returns a `Reproduction`."""


def reproduce(paper: str, quick: bool, out: Path, report: Report, store: Path | None = None) -> Reproduction:
    """Run a paper's experiments and write tables, data and, if the plots extra is installed, figures.

    What is in the store already is not run again.
    """
    with fresh_directory(out, f"reproduce-{paper}") as directory:
        with kept_in(store) as kept:
            reproduction: Reproduction = importlib.import_module(PAPERS[paper]).run(quick, directory, report, kept)
        reproduction.write()
    return reproduction
