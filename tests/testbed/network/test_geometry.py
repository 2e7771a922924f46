"""Nodes that have places and move: links by range, what falls with them, and what is logged."""

import json
import math
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from agents.contract import TICKS
from testbed.backends.repetition import make_geometry
from testbed.cli.main import main
from testbed.errors import InputError
from testbed.mobility.traces.formats import read
from testbed.randomness import Streams
from testbed.scenario.loader import load
from testbed.scenario.schema import Scenario
from tests.conftest import PROJECT
from tests.testbed.simulate import ALL_OK, Simulated, simulate

WALK = {
    "topology": {"kind": "geometric"},
    "area": [300, 300],
    "mobility": {"kind": "random-waypoint", "speed": [2, 6]},
    "radio": {"range": 120},
    "delays": {"hop": 0.02},
    "workload": {"rate": 0.2, "cs_time": 0.1},
    "nodes": 12,
}
LEAVING = "node,t,x,y\n0,0,0,0\n1,0,50,0\n1,20,250,0\n1,40,50,0\n"  # out of a range of 100 at t = 5, back at t = 35


def walk(**keys) -> Simulated:
    return simulate(**{**WALK, **keys})


def leaving(tmp_path: Path, **keys) -> Simulated:
    """Two nodes; the second goes out of range and comes back."""
    file = tmp_path / "leaving.csv"
    file.write_text(LEAVING)
    data = {"nodes": 2, "topology": {"kind": "geometric"}, "mobility": {"kind": "trace", "file": str(file)}}
    return simulate(**{**data, "radio": {"range": 100, "propagation": "range"}, "delays": {"hop": 0.1}, **keys})


# -- links by range ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time_unit", [1.0, 0.5])
def test_links_follow_the_range(tmp_path, time_unit):
    """By hand: 50 m + 10 m/s * 5 s is the range; a time unit of half a second makes that ten of them."""
    run = leaving(tmp_path, time_unit=time_unit, workload={"rate": 1e-9}, duration=50.0 / time_unit)
    (down, _), (up, _) = run.diary.of("link_down"), run.diary.of("link_up")
    assert down["t"] == pytest.approx(5 / time_unit, abs=1e-6)
    assert up["t"] == pytest.approx(35 / time_unit, abs=1e-6)
    assert run.audit.metrics()["time_partitioned"] == pytest.approx(30 / 50, abs=1e-3)


def test_hysteresis(tmp_path):
    """A link falls at 120 m and forms at 100 m."""
    topology = {"kind": "geometric", "hysteresis": 0.2}
    run = leaving(tmp_path, topology=topology, workload={"rate": 1e-9}, duration=50.0)
    assert run.diary.of("link_down")[0]["t"] == pytest.approx(7, abs=1e-6)
    assert run.diary.of("link_up")[0]["t"] == pytest.approx(35, abs=1e-6)


def test_radios_too_weak_to_be_heard_make_no_links():
    """Not even at one place."""
    places = {"kind": "explicit", "places": [[5, 5], [5, 5]]}
    data = {**WALK, "nodes": 2, "placement": places, "mobility": "static", "radio": {"tx_power_dbm": -100}}
    scenario = Scenario.model_validate({"name": "t", "duration": 9.0, "algorithm": "rl", **data})
    geometry = make_geometry(scenario, Streams(1, 0))
    assert geometry.air.range_m(0, 1) == 0.0
    assert geometry.crossings().initial_links() == []


def test_every_link_change_is_at_the_range():
    """Less its lag, a link falls when its ends are 120 m apart, and it forms then."""
    run = walk()
    trajectories = run.simulation.geometry.trajectories
    changes = run.diary.of("link_up", "link_down")
    assert len(changes) > 40
    for event in changes:
        if event["t"] < 300:
            t = event["t"] - event.get("lag", 0) / TICKS
            apart = math.dist(trajectories[event["node"]].at(t), trajectories[event["peer"]].at(t))
            assert apart == pytest.approx(120, abs=1e-3)
    assert run.verdicts == ALL_OK


def test_the_same_waypoints_for_every_algorithm():
    """To the last bit; another repetition or seed has others."""

    def waypoints(repetition: int = 0, **keys) -> list:
        scenario = Scenario.model_validate({"name": "t", "duration": 100.0, "algorithm": "rl", **WALK, **keys})
        return make_geometry(scenario, Streams(scenario.seed, repetition)).trajectories

    assert waypoints() == waypoints(algorithm="krlf") == waypoints(workload={"rate": 9.0})
    assert waypoints() != waypoints(seed=2)
    assert waypoints() != waypoints(repetition=1)


def test_link_changes_do_not_depend_on_traffic():
    """Less their lags, they come at the same times whatever is sent."""

    def changes(run: Simulated) -> list[tuple[float, int, int]]:
        events = run.diary.of("link_up", "link_down")
        return sorted((round(e["t"] - e.get("lag", 0) / TICKS, 6), e["node"], e["peer"]) for e in events)

    assert changes(walk(workload={"rate": 1e-9})) == changes(walk(workload={"rate": 5.0}, algorithm="krlf"))


# -- what falls with a link --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rl", "krl", "krlf", "krlf-adaptive", "raymond-tree"])
@pytest.mark.parametrize("seed", range(3))
def test_what_has_not_arrived_comes_back(name, seed):
    """Hops that take longer than a link is kept: nothing is lost, and no node that can reach a token starves."""
    topology = {"kind": "geometric", "max_lag": 0.5}
    run = walk(algorithm=name, seed=seed, topology=topology, delays={"hop": 2.0}, workload={"rate": 0.2})
    assert max(event["lag"] for event in run.diary.of("link_down")) == TICKS // 2
    if name != "raymond-tree":  # its messages take another path, and none is returned
        assert run.diary.of("return")
    assert run.verdicts == ALL_OK


def test_a_link_falls_as_soon_as_it_is_empty():
    """With short hops no link is kept for long, and nothing comes back."""
    run = walk()
    assert max(event["lag"] for event in run.diary.of("link_down")) <= 0.1 * TICKS
    assert not run.diary.of("return")


def test_a_token_that_comes_back_is_used(tmp_path):
    """The token is in transit when the link falls: it comes back, and the node that holds it then goes on."""
    topology = {"kind": "geometric", "max_lag": 0.0}
    came_back = 0
    for seed in range(10):
        run = leaving(
            tmp_path, topology=topology, delays={"hop": 2.0}, workload={"rate": 0.5}, duration=60.0, seed=seed
        )
        returned = [event for event in run.diary.of("return") if event["units"]]
        for event in returned:
            entries = [one["t"] for one in run.diary.of("enter") if one["node"] == event["node"]]
            assert any(t >= event["t"] for t in entries), "it is used where it came back to"
        came_back += len(returned)
        assert run.verdicts == ALL_OK
    assert came_back


# -- nodes that come and go --------------------------------------------------------------------------------------------


def test_absent_nodes_make_no_requests_and_do_not_count(tmp_path):
    """Node 2 comes at t = 10 and leaves at t = 30, always within range of the others."""
    file = _cars(tmp_path)
    run = leaving(tmp_path, nodes=3, mobility={"kind": "trace", "file": str(file)}, workload={"rate": 1.0},
                  duration=60.0)  # fmt: skip
    asked = [event["t"] for event in run.diary.of("request") if event["node"] == 2]
    assert asked
    assert min(asked) >= 10
    assert max(asked) <= 31
    assert run.diary.of("link_up")[0]["t"] == pytest.approx(10, abs=1e-6)
    assert run.audit.metrics()["time_partitioned"] == 0
    assert run.verdicts == ALL_OK


def test_a_node_that_left_while_it_waited_does_not_prolong_the_run(tmp_path):
    """The third car leaves in the middle of a request; the run ends when the others are served."""
    for seed in range(6):
        run = leaving(tmp_path, nodes=3, mobility={"kind": "trace", "file": str(_cars(tmp_path))}, seed=seed,
                      workload={"rate": 1.0, "cs_time": 2.0}, duration=60.0)  # fmt: skip
        assert run.diary.events[-1]["reason"] in ("every request served", "no pending request can be served")
        assert run.diary.events[-1]["t"] < 80
        assert run.verdicts == ALL_OK


def _cars(folder: Path) -> Path:
    steps = []
    for t in range(61):
        here = _vehicle("a", 0) + _vehicle("b", 50) + (_vehicle("c", 90) if 10 <= t <= 30 else "")
        steps.append(f'<timestep time="{t}">{here}</timestep>')
    file = folder / "cars.fcd.xml"
    file.write_text(f"<fcd-export>{''.join(steps)}</fcd-export>")
    return file


def _vehicle(name: str, x: float) -> str:
    return f'<vehicle id="{name}" x="{x}" y="0"/>'


# -- faults ------------------------------------------------------------------------------------------------------------


def test_a_heal_restores_what_is_in_range_then(tmp_path):
    """Cut while near; healed while out of range, there is no link until the nodes meet again."""
    faults = [{"at": 2.0, "kind": "cut", "node": 1}, {"at": 10.0, "kind": "heal"}]
    run = leaving(tmp_path, faults=faults, workload={"rate": 1e-9}, duration=50.0)
    assert [event["t"] for event in run.diary.of("link_down")] == [2.0, 2.0]
    assert [event["t"] for event in run.diary.of("link_up")] == pytest.approx([35, 35], abs=1e-6)


def test_nodes_that_meet_across_a_cut_are_linked_when_it_heals(tmp_path):
    """In range again at 35, but healed at 38 only."""
    faults = [{"at": 10.0, "kind": "cut", "node": 1}, {"at": 38.0, "kind": "heal"}]
    run = leaving(tmp_path, faults=faults, workload={"rate": 1e-9}, duration=50.0)
    assert [event["t"] for event in run.diary.of("link_up")] == [38.0, 38.0]


# -- what is refused ---------------------------------------------------------------------------------------------------

BROKEN = {
    "no area": ({"area": None}, "area: found no area"),
    "a flat line": ({"area": [0, 10]}, "area: found"),
    "next to no area": ({"area": [1e-300, 10]}, "area: found [1e-300, 10]; allowed: [width, height]"),
    "next to no depth": ({"area": [10, 10, 1e-4]}, "metres, each 0.001 to 1e+07, or no depth: 0"),
    "fading": ({"radio": {"propagation": "nakagami"}}, "without fading, with ideal links"),
    "entries": ({"duration": None, "entries": 5}, "entries: found entries; allowed: duration"),
    "too few places": ({"placement": {"kind": "explicit", "places": [[1, 1]]}}, "placement: a list of 1 places"),
    "no such model": ({"mobility": {"kind": "flying"}}, "mobility"),
    "no such file": ({"mobility": {"kind": "trace", "file": "no.csv"}, "area": None}, "no.csv"),
    "power and range": ({"radio": {"range": 10, "tx_power_dbm": 3}}, "radio"),
    "a wrong speed": ({"mobility": {"kind": "random-walk", "speed": -1}}, "mobility.speed: found -1"),
    "an unknown parameter": ({"mobility": {"kind": "random-walk", "sped": 1}}, "(did you mean speed?)"),
    "a wrong exponent": (
        {"radio": {"propagation": {"kind": "shadowing", "mean": {"kind": "log-distance", "exponent": "x"}}}},
        "radio.propagation.mean.exponent: found",
    ),
    "a wrong spacing": ({"placement": {"kind": "grid", "spacing": "wide"}}, "placement.spacing: found"),
    "places without geometry": (
        {"topology": {"kind": "complete"}},
        "area: found area; allowed: with topology geometric",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_impossible_geometries_are_refused(case, tmp_path, capsys):
    """One line, exit code 2, and nothing has started."""
    changes, words = BROKEN[case]
    data = {"name": "broken", "algorithm": "rl", "duration": 100.0, **WALK, **changes}
    path = tmp_path / "broken.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in data.items() if value is not None}))
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "runs").exists()


HEIGHTS = {
    "another floor": ("itu-indoor", "1,0,40,0,0\n1,1,40,0,9.5", "node 1, which goes from z = 0 to 9.5"),
    "another floor, later on": ("itu-indoor", "1,0,40,0,9\n1,50,40,0,9\n1,60,40,0,8", "stay on their floors"),
    "another height": ("two-ray", "1,0,40,0,0\n1,50,40,0,0\n1,60,40,0,1", "stay at their heights"),
    "on the ground": ("two-ray", "1,0,40,0,-1.5", "found node 1 at z = -1.5; allowed: more than -1.5"),
    "underground": ("two-ray", "1,0,40,0,-1e9", "found node 1 at z = -1e+09; allowed: more than -1.5"),
}


def climbing(folder: Path, propagation: str, rows: str, **keys) -> Path:
    """A scenario of two nodes, of which the first stays at z = 0."""
    (folder / "climbing.csv").write_text(f"node,t,x,y,z\n0,0,0,0,0\n{rows}\n")
    data = {"name": "t", "algorithm": "rl", "nodes": 2, "duration": 100.0, "topology": "geometric",
            "mobility": {"kind": "trace", "file": "climbing.csv"}, "workload": {"rate": 0.1},
            "radio": {"range": 60, "propagation": propagation}, **keys}  # fmt: skip
    path = folder / "climbing.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.mark.parametrize("case", HEIGHTS)
def test_heights_of_a_trace_that_have_no_one_range_are_refused(case, tmp_path, capsys):
    """At any time of the run: links would be those of the height at the start, or the loss would be no number."""
    propagation, rows, words = HEIGHTS[case]
    path = climbing(tmp_path, propagation, rows)
    assert main(["run", str(path), "--out", str(tmp_path / "runs")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "mobility: found node 1" in line
    assert words in line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("propagation", "rows"),
    [
        ("itu-indoor", "1,0,40,0,3\n1,1,40,0,5.9"),
        ("two-ray", "1,0,40,0,-1.4\n1,1,50,0,-1.4"),
        ("friis", "1,0,40,0,-1e9\n1,1,40,0,9"),
        ("two-ray", "1,0,40,0,0\n1,101,40,0,0\n1,102,40,0,9"),
    ],
)
def test_heights_that_make_no_difference_are_not_refused(propagation, rows, tmp_path):
    """On one floor, just above the ground, where only the distance counts, and after the end of the run."""
    assert main(["mobility", str(climbing(tmp_path, propagation, rows))]) == 0


@pytest.mark.parametrize("propagation", ["two-ray", "itu-indoor"])
def test_models_that_climb_later_are_refused_by_every_repetition(propagation):
    """In the moment for which a scenario is checked, every node pauses."""
    mobility = {"kind": "random-waypoint", "speed": [20, 60], "pause": 400}
    data = {**WALK, "nodes": 2, "area": [300, 300, 30], "mobility": mobility}
    data["radio"] = {"range": 60, "propagation": propagation}
    scenario = Scenario.model_validate({"name": "t", "duration": 1000.0, "algorithm": "rl", **data})
    for repetition in range(2):
        with pytest.raises(InputError, match=r"^t: mobility: found node 0, which goes from z = .*; allowed: nodes"):
            make_geometry(scenario, Streams(scenario.seed, repetition))


# -- what is logged ----------------------------------------------------------------------------------------------------


@pytest.fixture
def scenario_file(tmp_path) -> Path:
    data = {"name": "walk", "algorithm": "rl", "duration": 60.0, "repeat": 2, "trace": "events", **WALK}
    path = tmp_path / "walk.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


def test_a_kind_alone_can_be_overridden(tmp_path):
    """`mobility: static` is short for a mapping, which --set reaches into."""
    data = {"name": "t", "algorithm": "rl", "duration": 10.0, **WALK, "mobility": "random-walk"}
    path = tmp_path / "short.yaml"
    path.write_text(yaml.safe_dump(data))
    assert load(path, ["mobility.interval=3"]).mobility.interval == 3


def test_positions_are_logged(scenario_file, tmp_path):
    """As a trace that has every node where it was; another repetition has its own."""
    assert main(["run", str(scenario_file), "--out", str(tmp_path / "runs")]) == 0
    (folder,) = (tmp_path / "runs").iterdir()
    scenario = load(scenario_file)
    for repetition in (0, 1):
        logged = read(folder / f"rep-00{repetition}" / "positions.csv").trajectories
        moved = make_geometry(scenario, Streams(scenario.seed, repetition)).trajectories
        for t in (0.0, 7.7, 33.3, 60.0):
            for a, b in zip(logged, moved, strict=True):
                assert math.dist(a.at(t), b.at(t)) < 1e-3


def test_a_run_repeats_to_the_byte_from_its_positions(scenario_file, tmp_path):
    """Events are the same for the same seed; and from the positions of a run alone, as a trace."""
    for out in ("a", "b"):
        assert main(["run", str(scenario_file), "--set", "repeat=1", "--out", str(tmp_path / out)]) == 0
    (first,), (second,) = (tmp_path / "a").iterdir(), (tmp_path / "b").iterdir()
    events = (first / "rep-000/events.jsonl").read_bytes()
    assert events == (second / "rep-000/events.jsonl").read_bytes()
    data = yaml.safe_load(scenario_file.read_text())
    data |= {"mobility": {"kind": "trace", "file": "a/" + first.name + "/rep-000/positions.csv"}, "repeat": 1}
    replay = tmp_path / "replay.yaml"
    replay.write_text(yaml.safe_dump(data))
    assert main(["run", str(replay), "--out", str(tmp_path / "c")]) == 0
    (third,) = (tmp_path / "c").iterdir()
    assert events == (third / "rep-000/events.jsonl").read_bytes()


def test_a_trace_is_copied_with_its_hash(tmp_path):
    """And the resolved scenario names the copy, so that the run can be repeated when the trace has gone."""
    file = tmp_path / "leaving.csv"
    file.write_text(LEAVING)
    data = {"name": "t", "algorithm": "rl", "nodes": 2, "duration": 30.0, "topology": "geometric",
            "mobility": {"kind": "trace", "file": "leaving.csv"}, "radio": {"range": 100},
            "workload": {"rate": 0.1}}  # fmt: skip
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump(data))
    assert main(["run", str(path), "--out", str(tmp_path / "a")]) == 0
    (run,) = (tmp_path / "a").iterdir()
    assert (run / "leaving.csv").read_text() == LEAVING
    assert json.loads((run / "meta.json").read_text())["traces"]["leaving.csv"].startswith("sha256:")
    file.unlink()
    path.unlink()
    assert main(["run", str(run / "scenario.yaml"), "--out", str(tmp_path / "b")]) == 0
    (again,) = (tmp_path / "b").iterdir()
    assert (again / "rep-000/events.jsonl").read_bytes() == (run / "rep-000/events.jsonl").read_bytes()


# -- the command -------------------------------------------------------------------------------------------------------


def test_mobility_tells_what_the_movement_is_like(tmp_path, capsys):
    """By hand: 10 m/s for 40 of the 100 seconds of two nodes, which are linked for 20 of 50."""
    (tmp_path / "leaving.csv").write_text(LEAVING)
    data = {"name": "t", "algorithm": "rl", "nodes": 2, "duration": 50.0, "topology": "geometric",
            "mobility": {"kind": "trace", "file": "leaving.csv"},
            "radio": {"range": 100, "propagation": "range"}, "workload": {"rate": 0.1}}  # fmt: skip
    path = tmp_path / "t.yaml"
    path.write_text(yaml.safe_dump(data))
    assert main(["mobility", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["top_speed"] == pytest.approx(10)
    assert found["speed"] == pytest.approx(400 / 100)  # 400 m in the 100 s of two nodes
    assert found["link_change_rate"] == pytest.approx(2 / 50)
    assert found["mean_degree"] == pytest.approx(20 / 50)
    assert found["time_partitioned"] == pytest.approx(30 / 50)


def test_mobility_leaves_out_absent_nodes(tmp_path, capsys):
    """A third car comes for 20 of 60 seconds, always within range of the others: there is one component throughout."""
    data = {"name": "t", "algorithm": "rl", "nodes": 3, "duration": 60.0, "topology": "geometric",
            "mobility": {"kind": "trace", "file": _cars(tmp_path).name},
            "radio": {"range": 100, "propagation": "range"}, "workload": {"rate": 0.1}}  # fmt: skip
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(data))
    assert main(["mobility", str(tmp_path / "t.yaml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["components"], found["time_partitioned"]) == (1, 0)


def test_mobility_measures_speeds_of_present_nodes(tmp_path, capsys):
    """By hand: of a leg at 10 m/s, 10 of its 40 seconds; of one at 20 m/s, nothing; and 60 seconds of standing."""
    rows = "0,0,0,0,,\n1,0,0,0,30,40\n1,40,400,0,,\n2,0,0,0,40,\n2,40,800,0,,\n"
    (tmp_path / "late.csv").write_text(f"node,t,x,y,appears,leaves\n{rows}")
    data = {"name": "t", "algorithm": "rl", "nodes": 3, "duration": 50.0, "topology": "geometric",
            "mobility": {"kind": "trace", "file": "late.csv"}, "radio": {"range": 100},
            "workload": {"rate": 0.1}}  # fmt: skip
    (tmp_path / "t.yaml").write_text(yaml.safe_dump(data))
    assert main(["mobility", str(tmp_path / "t.yaml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["top_speed"] == pytest.approx(10)
    assert found["speed"] == pytest.approx(100 / (50 + 10 + 10))  # node 2 stands for 10 s when it has come


def test_mobility_draws_the_paths(scenario_file, tmp_path, capsys):
    """In three formats."""
    assert main(["mobility", str(scenario_file), "--plot", "--out", str(tmp_path)]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines() if "walk-paths" in line]
    assert [file.suffix for file in files] == [".png", ".svg", ".pdf"]
    assert all(file.stat().st_size > 5000 for file in files)


def test_mobility_converts(tmp_path):
    """From CSV to ns-2 and back."""
    (tmp_path / "a.csv").write_text(LEAVING)
    assert main(["mobility", "convert", str(tmp_path / "a.csv"), str(tmp_path / "b.ns_movements")]) == 0
    assert main(["mobility", "convert", str(tmp_path / "b.ns_movements"), str(tmp_path / "c.csv")]) == 0
    a, c = read(tmp_path / "a.csv"), read(tmp_path / "c.csv")
    for t in (0, 5, 20, 30, 50):
        assert math.dist(a.trajectories[1].at(t), c.trajectories[1].at(t)) < 1e-3


@pytest.mark.parametrize("words", [["convert", "a.csv"], ["convert", "no.csv", "b.csv"], ["one.yaml", "two.yaml"]])
def test_mobility_refuses(words, tmp_path, monkeypatch, capsys):
    """One line, exit code 2."""
    monkeypatch.chdir(tmp_path)
    assert main(["mobility", *words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_scenario_without_places_has_no_movement(capsys):
    """It says so."""
    assert main(["mobility", "scenarios/quickstart.yaml"]) == 2
    assert "nodes have no places" in capsys.readouterr().err


# -- the library -------------------------------------------------------------------------------------------------------

LIBRARY = sorted((PROJECT / "scenarios/mobility").glob("*.yaml"))


def test_the_library_is_there():
    """At least eight, and no two of a kind of mobility."""
    assert len(LIBRARY) >= 8
    assert len({load(path).mobility.kind for path in LIBRARY}) >= 8


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_every_scenario_of_the_library_is_as_it_expects(path, tmp_path):
    """Each opens with its question, setup and expected verdict."""
    opening = [line.partition(":")[0] for line in path.read_text().splitlines() if line.startswith("# ")]
    assert [word for word in opening if word in ("# Question", "# Setup", "# Expected")] == [
        "# Question", "# Setup", "# Expected",
    ]  # fmt: skip
    assert main(["run", str(path), "--out", str(tmp_path)]) == 0
    (run,) = tmp_path.iterdir()
    (times,) = [[float(line.split(",")[1]) for line in (run / "rep-000/positions.csv").open() if line[0] == "0"]]
    assert all(a <= b for a, b in pairwise(times))


def test_a_geometry_needs_a_radio():
    """By default, nodes have the standard's radio and do not move."""
    scenario = Scenario.model_validate(
        {"name": "t", "algorithm": "rl", "nodes": 4, "topology": "geometric", "area": [10, 10], "duration": 1.0,
         "workload": {"rate": 1.0}}
    )  # fmt: skip
    assert scenario.radio is not None
    assert scenario.mobility.kind == "static"
