"""A page that takes long to make shows how far it is, on a terminal only."""

from __future__ import annotations

import os
import pty
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from testbed.cli.replay_text import as_dict
from testbed.experiments.runner import run
from testbed.look.view import make
from testbed.look.view.making import EVERY
from testbed.scenario.loader import loads
from tests.testbed.tiny import command_line, tiny


@pytest.mark.parametrize("trace", ["events", "cs"])
def test_progress_grows_over_the_log_and_the_nodes(trace: str, tmp_path: Path) -> None:
    text = tiny(f"trace: {trace}\n", duration="1000", workload="{rate: 1}")
    path = run(loads(text), tmp_path).path
    reports: list[tuple[float, str]] = []
    make.view(path, as_dict, report=lambda share, what: reports.append((share, what)))
    assert reports[0] == (0, "reading the log")
    assert all(0 <= a <= b <= 1 for (a, _), (b, _) in pairwise(reports))
    with (path / "rep-000/events.jsonl").open() as log:
        events = sum(1 for _ in log)
    reading = [share for share, what in reports if what == "reading the log"]
    assert len(reading) == 1 + events // EVERY > 1
    names = [what for _, what in reports if what != "reading the log"]
    assert names == ([f"states of node {number} of 5" for number in range(1, 6)] if trace == "events" else [])
    assert reading[-1] == pytest.approx(events // EVERY * EVERY / events * (make.READING if names else 1))


def test_a_terminal_shows_it_and_is_left_clear(tmp_path: Path) -> None:
    path = run(loads(tiny("trace: events\n")), tmp_path).path
    ours, theirs = pty.openpty()
    done = subprocess.run(command_line("view", path), stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "reading the log" in shown
    assert shown.endswith("\r\x1b[K")
    assert done.stdout.decode() == f"{path / 'view.html'}\n"
