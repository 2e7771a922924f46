"""The script that a scenario becomes. Whether it runs is tested where there is a Mininet-WiFi."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.backends.mininet_wifi.export import export
from testbed.backends.repetition import Repetition
from testbed.checkout import PROJECT
from testbed.cli.main import main
from testbed.randomness import Streams
from testbed.scenario.loader import load, loads

MOBILE = PROJECT / "scenarios/mininet-wifi/mobile.yaml"


def parts_of(script: str) -> dict[str, Any]:
    """Its constants, and those functions that need no Mininet-WiFi."""
    tree = ast.parse(script)
    kept = [
        node
        for node in tree.body
        if isinstance(node, ast.Assign) or (isinstance(node, ast.FunctionDef) and node.name == "position")
    ]
    found: dict[str, Any] = {}
    exec(compile(ast.Module(kept, []), "script", "exec"), found)
    return found


def test_it_moves_stations_as_the_scenario_does() -> None:
    scenario = load(MOBILE, ["medium=wmediumd"])
    parts = parts_of(export(scenario))
    geometry = Repetition(scenario, Streams(scenario.seed, 0)).geometry
    assert geometry is not None
    for node, path in enumerate(geometry.trajectories):
        waypoints = parts["WAYPOINTS"][f"sta{node + 1}"]
        for tenth in range(250):
            expected = path.at(tenth / 10)
            assert parts["position"](waypoints, tenth / 10) == pytest.approx(list(expected), abs=0.01)
    assert len(parts["STATIONS"]) == 6
    assert parts["LINK"]["ssid"] == "testbed"


def test_a_jump_is_a_jump() -> None:
    position = parts_of(export(load(MOBILE, ["medium=wmediumd"])))["position"]
    waypoints = [(0.0, 0.0, 0.0, 0.0), (10.0, 10.0, 0.0, 0.0), (10.0, 50.0, 0.0, 0.0), (20.0, 60.0, 0.0, 0.0)]
    assert position(waypoints, 9.0) == [9.0, 0.0, 0.0]
    assert position(waypoints, 10.0) == [50.0, 0.0, 0.0]
    assert position(waypoints, 15.0) == [55.0, 0.0, 0.0]
    assert position(waypoints, 99.0) == [60.0, 0.0, 0.0]


def test_the_scenario_in_it_is_the_same_experiment() -> None:
    scenario = load(MOBILE, ["medium=wmediumd", 'description=a """quoted""" \\ one'])
    assert loads(parts_of(export(scenario))["SCENARIO"]) == scenario


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "line.py"
    line = "scenarios/mininet-wifi/line.yaml"
    assert main(["export", line, "--to", "mininet-wifi", "--file", str(file)]) == 0
    assert subprocess.run([sys.executable, "-m", "py_compile", str(file)]).returncode == 0
    assert file.stat().st_mode & 0o100
    assert "sudo ./setup.sh python line.py --cli" in file.read_text()
    assert main(["export", line, "--to", "mininet-wifi"]) == 0
    assert capsys.readouterr().out.startswith("#!/usr/bin/env python3\n")
    assert main(["export", line, "--to", "gns3"]) == 2
    assert capsys.readouterr().err == "testbed: --to: found gns3; allowed: mininet-wifi, ns3\n"
    assert main(["export", "scenarios/quickstart.yaml", "--to", "mininet-wifi"]) == 2
    assert capsys.readouterr().err.startswith("testbed: export: the script's medium is wmediumd: topology: found ")
    assert main(["export", line, "--to", "mininet-wifi", "--file", str(tmp_path / "no/such/folder.py")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_options_that_a_backend_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for option, message in (
        (["--cli"], "--cli: backend sim has no command line; mininet-wifi has"),
        (["--attach", "1,2"], "--attach: backend sim makes its own stations; allowed: mininet-wifi"),
    ):
        assert main(["run", "scenarios/quickstart.yaml", "--out", str(tmp_path), *option]) == 2
        assert capsys.readouterr().err == f"testbed: {message}\n"
    line = ["run", "scenarios/mininet-wifi/line.yaml", "--out", str(tmp_path)]
    assert main([*line, "--attach", f"{os.getpid()},{os.getpid()},99999999"]) == 2
    wrong = "found 99999999 (No such file or directory); allowed: processes in the namespaces of stations"
    assert capsys.readouterr().err == f"testbed: --attach: {wrong}\n"
    assert main([*line, "--attach", "1"]) == 2
    expected = "testbed: --attach: found 1 processes; allowed: one for each of 3 stations\n"
    assert capsys.readouterr().err == expected
    with pytest.raises(SystemExit) as ended:
        main([*line, "--attach", "one,two"])
    assert ended.value.code == 2
    assert "found 'one,two'; allowed: numbers of processes" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [], "no run was started"
