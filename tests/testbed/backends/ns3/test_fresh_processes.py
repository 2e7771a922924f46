"""The same events in any process: a new one, and one that has run other scenarios before."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from testbed.experiments import workers
from testbed.experiments.measure import RepetitionJob, run_job
from testbed.experiments.workers import Failure, spread
from tests.testbed.backends.ns3 import on_ns3
from tests.testbed.backends.ns3.test_simulation import LINE
from tests.testbed.backends.test_every_algorithm import MOVING, ROUTED
from tests.testbed.tiny import command_line

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

NAKAGAMI = {"range": 100, "propagation": "nakagami"}
MOBILE: dict[str, Any] = {**MOVING, "trace": "events", "radio": NAKAGAMI, "links": {**on_ns3.RADIO, "loss": 0.05}}
OTHERS: list[dict[str, Any]] = [
    {**LINE, "duration": 10.0},
    {**LINE, "algorithm": "krl", "nodes": 12, "seed": 5, "placement": "uniform", "area": [99, 99], "duration": 10.0},
    {
        **MOVING,
        "algorithm": ROUTED[0],
        "nodes": 4,
        "duration": 15.0,
        "radio": {"range": 90, "propagation": "shadowing"},
    },
    {"algorithm": ROUTED[1], "nodes": 6, "topology": "complete", "duration": 10.0, "workload": {"rate": 0.1}},
]
"""Other algorithms, numbers of nodes, movements and propagation."""


def test_two_new_processes_and_one_that_is_warm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte by byte: each of two new processes, and a worker process whose fifth scenario it is."""
    scenario, file = on_ns3.scenario(**MOBILE), tmp_path / "mobile.yaml"
    file.write_text(scenario.to_yaml())
    new = [
        subprocess.Popen(
            command_line("run", file, "--out", tmp_path / name), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        for name in ("one", "two")
    ]
    monkeypatch.setattr(workers, "cores", lambda: 1)  # so that one worker takes all jobs
    jobs = [RepetitionJob(on_ns3.scenario(**keys), 0, tmp_path / f"{n}") for n, keys in enumerate([*OTHERS, MOBILE])]
    done = list(spread(run_job, jobs, range(5), lambda shares, words: None))
    assert [one.index for one in done] == [0, 1, 2, 3, 4]
    assert not [one.result for one in done if isinstance(one.result, Failure)]
    for process in new:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    logs = [*tmp_path.glob("one/*/rep-000/events.jsonl"), *tmp_path.glob("two/*/rep-000/events.jsonl")]
    warm = (tmp_path / "4" / "events.jsonl").read_bytes()
    assert len(warm.splitlines()) > 1000
    assert [log.read_bytes() == warm for log in logs] == [True, True]
