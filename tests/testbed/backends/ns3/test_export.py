"""Scenarios as scripts of ns-3: they are the same experiments, and users may change them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from math import dist
from pathlib import Path
from typing import Any

import pytest

from agents.contract import TICKS
from analysis.audit import BatchedAudit
from testbed.cli.attach import run_agents
from testbed.cli.main import main
from testbed.experiments.measure import measure
from testbed.randomness import Streams
from testbed.scenario.loader import load, loads
from testbed.scenario.schema import Scenario
from tests.testbed.backends.ns3 import on_ns3
from tests.testbed.backends.ns3.test_simulation import LINE
from tests.testbed.backends.test_every_algorithm import MOVING, ROUTED
from tests.testbed.simulate import ALL_OK, Diary, Simulated

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

STATIC: dict[str, Any] = {**LINE, "trace": "events", "duration": 40.0}
NO_PLACES = dict.fromkeys(("area", "placement", "radio"))
FAULTS = [
    {"at": 10, "kind": "cut", "group": [0, 1]},
    {"at": 20, "kind": "heal"},
    {"at": 25, "kind": "crash", "node": 3},
    {"at": 30, "kind": "restart", "node": 3},
]

JUMPS = """\
node,t,x,y
0,0,0,0
1,0,0,40
2,0,90,0
2,5,40,0
2,5,80,10
2,20,0,10
3,0,10,0
3,10,60,30
3,10,20,0
3,30,20,10
"""
"""Two nodes stand, two move, and jump on their way."""


def exported(scenario: Scenario, folder: Path) -> Path:
    """The script of a scenario, written by the command."""
    file, script = folder / "scenario.yaml", folder / "script.py"
    file.write_text(scenario.to_yaml())
    assert main(["export", str(file), "--to", "ns3", "--file", str(script)]) == 0
    return script


def run_script(script: Path, change: Callable[[str], str] = str, **names: Any) -> int:
    """Run a script in this process, perhaps changed by its user, and with other things behind some of its names."""
    from testbed.backends.ns3 import library

    library.reset(99, 99)  # what a new process has anyway
    found: dict[str, Any] = {"__name__": "script", "__file__": str(script)}
    exec(compile(change(script.read_text()), str(script), "exec"), found)
    found |= names
    code: int = found["main"]()
    return code


def events(folder: Path) -> bytes:
    """The log of the only run in a folder."""
    (log,) = folder.glob("*/rep-000/events.jsonl")
    return log.read_bytes()


# -- the same experiment ----------------------------------------------------------------------------------------------


def test_a_script_prints_what_the_command_prints(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Run as a user runs it, in a process of its own: the same table, and the same events byte by byte."""
    scenario = on_ns3.scenario(**{**STATIC, "faults": FAULTS, "links": {**on_ns3.RADIO, "loss": 0.1}})
    script = exported(scenario, tmp_path)
    ended = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
    assert main(["run", str(tmp_path / "scenario.yaml"), "--out", str(tmp_path / "own")]) == 0
    own, table = capfd.readouterr().out.splitlines(), ended.stdout.splitlines()
    assert table[:-1] == own[:-1]
    assert table[-1].startswith("run directory: runs/test-")
    log = events(tmp_path / "runs")
    assert len(log.splitlines()) > 150
    assert log == events(tmp_path / "own")


@pytest.mark.parametrize(
    "keys",
    [
        {"radio": {"range": 100, "propagation": {"kind": "shadowing", "sigma_db": 2.0}}, "faults": FAULTS},
        {"radio": {"range": 100, "propagation": "nakagami"}},
        {"radio": {"range": 100, "standard": "802.11b", "rate": 5.5, "propagation": "friis", "antenna_gain_dbi": 2}},
        {"radio": {"range": 100, "standard": "802.11a", "rate_control": "minstrel"}},
        {**NO_PLACES, "topology": {"kind": "explicit", "links": [[0, 1], [1, 2], [2, 3]]}, "faults": FAULTS},
        {**NO_PLACES, "topology": {"kind": "random", "connectivity": 0.6, "link_change_rate": 0.2}},
        {"algorithm": ROUTED[0], "routing": "olsr"},
        {"algorithm": ROUTED[1], "routing": "aodv", "faults": FAULTS},
        {"algorithm": ROUTED[2], "routing": "dsdv"},
    ],
    ids=["shadowing", "nakagami", "802.11b", "minstrel", "explicit", "random", "olsr", "aodv", "dsdv"],
)  # fmt: skip
def test_stations_that_stand(
    keys: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same events byte by byte, whatever the scenario has."""
    scenario = on_ns3.scenario(**{**STATIC, **keys})
    monkeypatch.chdir(tmp_path)
    assert run_script(exported(scenario, tmp_path)) == 0, capfd.readouterr().err
    measure(scenario, 0, tmp_path / "own")
    assert events(tmp_path / "runs") == (tmp_path / "own" / "events.jsonl").read_bytes()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("kind", ["random waypoint", "late and early", "jumps"])
def test_stations_that_move(kind: str, tmp_path: Path) -> None:
    """Where ours are, within a centimetre, at any time; safe and live. Those that are not there have no radio."""
    if kind == "late and early":
        scenarios = Path(__file__).resolve().parents[4] / "scenarios"
        scenario = load(scenarios / "mobility/replay-roundabout.yaml", ["links=radio", "backend=ns3"])
    elif kind == "random waypoint":
        scenario = on_ns3.scenario(**MOVING)
    else:
        file = tmp_path / "jumps.csv"
        file.write_text(JUMPS)
        moves = {"mobility": {"kind": "trace", "file": str(file)}, "placement": None, "area": None}
        scenario = on_ns3.scenario(**{**STATIC, **moves})
    script, runs, seen = exported(scenario, tmp_path), [], set()

    def watch(text: str, nodes: Any, devices: Any) -> int:
        from testbed.backends.ns3.network import Network
        from testbed.backends.ns3.simulation import Ns3Simulation

        diary = Diary()
        audit, chosen = BatchedAudit(diary), loads(text)
        streams = Streams(chosen.seed, 0)
        simulation = Ns3Simulation(chosen, streams, audit, attached=Network(nodes, devices))
        assert simulation.geometry is not None

        def look() -> None:
            t = simulation.now / TICKS * chosen.time_unit
            for node, path in enumerate(simulation.geometry.trajectories):
                assert dist(simulation.air.position(node), path.at(t)) < 0.01, (node, t)
                assert simulation.air.is_on(node) is path.is_there(t)
                seen.add((node, path.is_there(t)))

        for step in range(100):
            simulation.at(round((step + 0.5) / 100 * (chosen.duration or 0) * TICKS), look)
        simulation.run_all(lambda share: None)
        runs.append(Simulated(simulation, audit, diary))
        return 0

    run_script(script, run_agents=watch)
    assert script.with_suffix(".ns_movements").exists()
    (done,) = runs
    assert done.verdicts == ALL_OK, done.details
    assert done.audit.metrics()["entries"] > 10
    assert (len(seen) > scenario.nodes) is (kind == "late and early")


# -- what users do ----------------------------------------------------------------------------------------------------


def test_a_printed_script_has_its_movements(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs from anywhere, and gives the same events as the one with a file beside it."""
    scenario = on_ns3.scenario(**{**MOVING, "trace": "events", "description": 'a """quoted""" \\ one'})
    script = exported(scenario, tmp_path)
    capfd.readouterr()
    assert main(["export", str(tmp_path / "scenario.yaml"), "--to", "ns3"]) == 0
    printed = tmp_path / "printed" / "other.py"
    printed.parent.mkdir()
    printed.write_text(capfd.readouterr().out)
    for file in (script, printed):
        monkeypatch.chdir(file.parent)
        assert run_script(file) == 0
    assert list(printed.parent.glob("*.ns_movements")) == []
    assert events(tmp_path / "runs") == events(printed.parent / "runs")


SECOND_CELL = """\
    # Two more nodes on the same channel, one of which sends all the time.
    others = ns.NodeContainer()
    others.Create(2)
    for number in range(2):
        place = ns.CreateObject[ns.ConstantPositionMobilityModel]()
        place.SetPosition(ns.Vector(100.0 + 10 * number, 5.0, 0.0))
        others.Get(number).AggregateObject(place)
    cell = wifi.Install(phy, mac, others)
    internet.Install(others)
    theirs = ns.Ipv4AddressHelper(ns.Ipv4Address("192.168.0.0"), ns.Ipv4Mask("255.255.0.0")).Assign(cell)
    traffic = ns.OnOffHelper("ns3::UdpSocketFactory", ns.InetSocketAddress(theirs.GetAddress(1), 9).ConvertTo())
    traffic.SetConstantRate(ns.DataRate("2Mb/s"), 500)
    traffic.Install(others)
    phy.EnablePcap("air", devices)

    # The agents"""


def test_other_traffic_beside_the_agents(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes that are no stations disturb those that are, also while a cut of the scenario is in the channel."""
    scenario = on_ns3.scenario(**{**STATIC, "faults": FAULTS, "links": {**on_ns3.RADIO, "hello": 0.5}})
    script, waits = exported(scenario, tmp_path), []
    monkeypatch.chdir(tmp_path)
    for change in (str, lambda text: text.replace("    # The agents", SECOND_CELL)):
        assert run_script(script, change) == 0, capfd.readouterr().err
        (line,) = [line for line in capfd.readouterr().out.splitlines() if line.startswith("| waiting time")]
        waits.append(float(line.split("|")[2]))
    assert waits[1] > waits[0] > 0
    assert [file.stat().st_size > 10_000 for file in tmp_path.glob("air-*.pcap")] == [True] * 4, "captures are whole"


def test_a_network_that_does_not_fit(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2, and no run directory."""
    script, out = exported(on_ns3.scenario(**STATIC), tmp_path), tmp_path / "runs"

    def attempt(change: Callable[[str], str], **names: Any) -> str:
        capfd.readouterr()
        agents = {"run_agents": lambda *stations: run_agents(*stations, out=out), **names}
        assert run_script(script, change, **agents) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert said.err.count("\n") == 1
        return said.err.strip()

    fewer = "testbed: run_agents: found {}; allowed: one for each of 4 stations"
    assert attempt(str, STATIONS=3) == fewer.format("3 nodes")
    with_no_devices = "run_agents(SCENARIO, nodes, ns.NetDeviceContainer())"
    assert attempt(lambda text: text.replace("run_agents(SCENARIO, nodes, devices)", with_no_devices)) == fewer.format(
        "0 devices"
    )
    without = re.compile(r"    interfaces = .*PopulateNeighborCache\(\)\n", re.DOTALL)
    assert attempt(lambda text: without.sub("", text)) == (
        "testbed: run_agents: found device 0 without an IPv4 address; allowed: an address for each"
    )
    assert attempt(lambda text: text.replace("repeat: 1", "repeat: 2")) == (
        "testbed: run_agents: found repeat: 2; allowed: 1, for a network runs once"
    )
    assert attempt(lambda text: text.replace("backend: ns3", "backend: sim")) == (
        "testbed: run_agents: found backend sim; allowed: ns3"
    )
    assert attempt(lambda text: text.replace("algorithm:\n  name: rl", "algorithm:\n  name: rll")).startswith(
        "testbed: SCENARIO:4: algorithm.name: found 'rll'; allowed: "
    )
    ran = "ns.Simulator.Stop(ns.Seconds(2.0))\n    ns.Simulator.Run()\n    code = run_agents"
    assert attempt(lambda text: text.replace("code = run_agents", ran)) == (
        "testbed: run_agents: found ns-3's clock at 2 s; allowed: 0 s, where agents begin"
    )
    backwards = "back = ns.NodeContainer()\n    for one in (3, 2, 1, 0):\n        back.Add(nodes.Get(one))\n"
    call = "    code = run_agents(SCENARIO, {}, devices)"
    assert attempt(lambda text: text.replace(call.format("nodes"), f"    {backwards}{call.format('back')}")) == (
        "testbed: run_agents: found device 0 of another node than node 0; allowed: devices in the order of nodes"
    )
    assert not out.exists()


def test_what_cannot_be_exported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line and exit code 2."""
    file = tmp_path / "scenario.yaml"
    file.write_text(on_ns3.scenario(**STATIC).to_yaml())
    trace = tmp_path / "climb.csv"
    trace.write_text("node,t,x,y,z\n" + "".join(f"{node},0,0,0,0\n{node},9,9,9,{node}\n" for node in range(4)))
    climbing = ["--set", f"mobility={{kind: trace, file: {trace}}}", "--set", "placement=null", "--set", "area=null"]
    for arguments, line in (
        (["--set", "repeat=3"], "--set repeat=3: allowed: repeat=1, as an exported script has it"),
        (["--set", "links.duplicate=0.1"], "--set links.duplicate=0.1: links.duplicate: found 0.1; allowed: 0 with"),
        (["--file", str(tmp_path / "a.ns_movements")], f"--file {tmp_path}/a.ns_movements: allowed: another ending"),
        (["--file", str(tmp_path / "no/such.py")], f"--file {tmp_path}/no/such.py: No such file or directory"),
        (climbing, "export: found node 1 climbs between 0 s and 9 s; allowed: movements at one height"),
    ):
        assert main(["export", str(file), "--to", "ns3", *arguments]) == 2
        said = capfd.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"testbed: {line}"), said.err
        assert said.err.count("\n") == 1
    assert main(["run", str(file), "--attach", "1,2", "--out", str(tmp_path / "runs")]) == 2
    assert capfd.readouterr().err == "testbed: --attach: backend ns3 makes its own stations; allowed: mininet-wifi\n"
    assert not (tmp_path / "runs").exists()
