"""ns-3 in worker processes: loaded once before them, and one that ns-3 ends costs one repetition and one line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from testbed.cli.main import main
from testbed.experiments.grid import Point, run_points
from testbed.progress import AS_LINES
from tests.testbed.backends.ns3 import on_ns3
from tests.testbed.backends.ns3.test_simulation import LINE
from tests.testbed.tiny import command

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

SHORT: dict[str, Any] = {**LINE, "duration": 10.0, "repeat": 3}


ENDS = """
void fatal_for_tests() { std::cerr << "a warning" << std::endl; NS_FATAL_ERROR("the moon" << std::endl << "is full"); }
void unreasonable_for_tests() { std::terminate(); }
void segfault_for_tests() { *reinterpret_cast<volatile int*>(8) = 1; }
"""
REASONS = {
    "fatal": 'ns-3: msg="the moon is full", +',
    "unreasonable": "ns-3: it ended the process and gave no reason",
    "segfault": "its worker process was killed by signal 11",
}
"""The ways in which repetition 1 ends, and how the line about it begins."""


@pytest.fixture(params=REASONS)
def reason(request: pytest.FixtureRequest, ns3: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """In worker processes, the first datagram of repetition 1 ends the process; the reason that is given."""
    from testbed.backends.ns3 import air, library
    from testbed.backends.repetition import Repetition

    ns, tests = library.load(), os.getpid()
    if not hasattr(ns.cppyy.gbl, "fatal_for_tests"):
        ns.cppyy.cppdef(ENDS)
    make, send = air.Ns3Air.__init__, air.Ns3Air.send

    def make_and_tell(self: Any, ns: Any, network: Any, repetition: Repetition, **more: Any) -> None:
        make(self, ns, network, repetition, **more)
        self.is_doomed = repetition.streams.repetition == 1 and os.getpid() != tests

    def send_or_die(self: Any, *datagram: Any) -> None:
        if self.is_doomed:
            getattr(ns.cppyy.gbl, f"{request.param}_for_tests")()
        send(self, *datagram)

    monkeypatch.setattr(air.Ns3Air, "__init__", make_and_tell)
    monkeypatch.setattr(air.Ns3Air, "send", send_or_die)
    return REASONS[request.param]


def test_an_abort_costs_one_repetition_of_a_comparison(
    reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The others have their results. The line about it has ns-3's reason, and the process that ends prints nothing."""
    (result,) = run_points([Point("rl", on_ns3.scenario(**SHORT))], "test", tmp_path)
    assert [one["repetition"] for one in result.repetitions] == [0, 2]
    (line,) = result.lost
    assert line.startswith(f"rl, repetition 1: {reason}")
    assert capfd.readouterr().err == ""


def test_an_abort_costs_one_repetition_of_a_run(reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 1, and the table of the others; the run directory says that it failed."""
    file = tmp_path / "line.yaml"
    file.write_text(on_ns3.scenario(**SHORT).to_yaml())
    assert main(["run", str(file), "--out", str(tmp_path / "runs")]) == 1
    out, err = capfd.readouterr()
    assert err.startswith(f"testbed: test, repetition 1: {reason}")
    assert err.count("\n") == 1
    assert "2 of 3 repetitions, backend ns3" in out
    assert "waiting time" in out
    (run,) = (tmp_path / "runs").iterdir()
    assert json.loads((run / "meta.json").read_text())["status"] == "failed"
    summary = json.loads((run / "summary.json").read_text())
    assert [one["repetition"] for one in summary["repetitions"]] == [0, 2]
    assert summary["lost"] == [err.removeprefix("testbed: ").rstrip("\n")]


def test_the_user_sees_what_takes_so_long(tmp_path: Path) -> None:
    """A line once, before the repetitions; and nothing of what ns-3 complains about while it is loaded."""
    file = tmp_path / "line.yaml"
    file.write_text(on_ns3.scenario(**SHORT).to_yaml())
    ended = command("run", file, "--out", tmp_path / "runs", env={**os.environ, AS_LINES: "1"})
    assert ended.returncode == 0, ended.stderr
    shown = [json.loads(line) for line in ended.stderr.splitlines()]
    assert shown[0] == [0.0, "test: loading ns-3 ..."]
    assert [words for _, words in shown].count("test: loading ns-3 ...") == 1
