"""ns-3 in worker processes: loaded once before them, and a fatal error costs one repetition and one line."""

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


@pytest.fixture
def fatal_in_repetition_1(ns3: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In worker processes, the first datagram of repetition 1 is a fatal error of ns-3."""
    from testbed.backends.ns3 import air, library
    from testbed.backends.repetition import Repetition

    ns, tests = library.load(), os.getpid()
    if not hasattr(ns.cppyy.gbl, "fatal_for_tests"):
        ns.cppyy.cppdef('void fatal_for_tests() { NS_FATAL_ERROR("the moon is full"); }')
    make, send = air.Ns3Air.__init__, air.Ns3Air.send

    def make_and_tell(self: Any, ns: Any, network: Any, repetition: Repetition) -> None:
        make(self, ns, network, repetition)
        self.is_doomed = repetition.streams.repetition == 1 and os.getpid() != tests

    def send_or_die(self: Any, *datagram: Any) -> None:
        if self.is_doomed:
            ns.cppyy.gbl.fatal_for_tests()
        send(self, *datagram)

    monkeypatch.setattr(air.Ns3Air, "__init__", make_and_tell)
    monkeypatch.setattr(air.Ns3Air, "send", send_or_die)


@pytest.mark.usefixtures("fatal_in_repetition_1")
def test_a_fatal_error_costs_one_repetition(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In a comparison the others have their results. ns-3's reason is one line, without a stack dump."""
    (result,) = run_points([Point("rl", on_ns3.scenario(**SHORT))], "test", tmp_path)
    assert [one["repetition"] for one in result.repetitions] == [0, 2]
    assert result.lost == ["rl, repetition 1: its worker process ended with exit code 70"]
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1
    assert said[0].startswith("testbed: ns-3: ")
    assert 'msg="the moon is full"' in said[0]


@pytest.mark.usefixtures("fatal_in_repetition_1")
def test_a_fatal_error_ends_a_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With a line of its own, and the run directory says that it failed."""
    file = tmp_path / "line.yaml"
    file.write_text(on_ns3.scenario(**SHORT).to_yaml())
    assert main(["run", str(file), "--out", str(tmp_path / "runs")]) == 1
    last = capfd.readouterr().err.splitlines()[-1]
    assert last == "testbed: test, repetition 1: its worker process ended with exit code 70"
    (meta,) = (tmp_path / "runs").glob("*/meta.json")
    assert json.loads(meta.read_text())["status"] == "failed"


def test_the_user_sees_what_takes_so_long(tmp_path: Path) -> None:
    """A line once, before the repetitions; and nothing of what ns-3 complains about while it is loaded."""
    file = tmp_path / "line.yaml"
    file.write_text(on_ns3.scenario(**SHORT).to_yaml())
    ended = command("run", file, "--out", tmp_path / "runs", env={**os.environ, AS_LINES: "1"})
    assert ended.returncode == 0, ended.stderr
    shown = [json.loads(line) for line in ended.stderr.splitlines()]
    assert shown[0] == [0.0, "test: loading ns-3 ..."]
    assert [words for _, words in shown].count("test: loading ns-3 ...") == 1
