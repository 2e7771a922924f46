"""A small study that has been run, for the tests of the commands that read studies."""

from __future__ import annotations

from pathlib import Path

from testbed.cli.main import main

STUDY = """
name: small
scenario:
  name: small
  algorithm: rl
  nodes: 6
  topology: {kind: random, connectivity: 0.5}
  workload: {rate: 0.1}
  duration: 60
algorithms: [rl, krl]
vary: {workload.rate: [0.05, 1], topology.connectivity: [0.4, 1.0]}
repeat: 2
"""


def swept(folder: Path) -> Path:
    """The file of the study; its results are in the store beside it."""
    study = folder / "small.yaml"
    study.write_text(STUDY)
    assert main(["sweep", str(study)]) == 0
    return study


def last_line(text: str) -> str:
    """The only line of an error."""
    assert text.count("\n") == 1, text
    return text.strip()
