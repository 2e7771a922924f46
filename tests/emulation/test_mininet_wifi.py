"""The same scenarios on a real Mininet-WiFi, where there is one: installed, or a checkout that is named.

    TESTBED_MININET_WIFI=/path/to/mininet-wifi ./setup.sh test tests/emulation/test_mininet_wifi.py

Continuous integration has no Mininet-WiFi; docs/evidence/mininet-wifi/ has the results of this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.backends.mininet_wifi import installation
from testbed.backends.mininet_wifi.backend import MininetWifiBackend
from testbed.backends.mininet_wifi.export import export
from testbed.backends.mininet_wifi.in_guest import shared_guest
from testbed.checkout import PROJECT
from testbed.experiments.runner import Result, run
from testbed.guest.host import Guest
from testbed.processes import find_program
from testbed.scenario.loader import load
from tests.testbed.simulate import verdicts_of

SCENARIOS = PROJECT / "scenarios/mininet-wifi"
SCRIPT = Path(__file__).with_name("mininet_in_guest.py")
_WHY_NOT = MininetWifiBackend().missing()
pytestmark = [
    pytest.mark.xdist_group("guest"),
    pytest.mark.skipif(_WHY_NOT is not None, reason=f"no Mininet-WiFi: {_WHY_NOT}"),
]
needs_wmediumd = pytest.mark.skipif(find_program("wmediumd") is None, reason="wmediumd is not installed")
EITHER_MEDIUM = pytest.mark.parametrize("medium", ["ours", pytest.param("wmediumd", marks=needs_wmediumd)])


@pytest.fixture
def guest() -> Guest:
    """The guest that runs share."""
    return shared_guest()


def run_it(name: str, out: Path, *overrides: str) -> tuple[Result, dict[str, Any]]:
    """A run, and what its processes reported at their end."""
    result = run(load(SCENARIOS / f"{name}.yaml", list(overrides)), out)
    ends: dict[str, Any] = json.loads((result.path / "rep-000/nodes/ends.json").read_bytes())
    return result, ends


@EITHER_MEDIUM
def test_a_line_whose_ends_do_not_hear_each_other(medium: str, tmp_path: Path) -> None:
    result, ends = run_it("line", tmp_path, f"medium={medium}")
    assert result.summary["unmet"] == []
    assert result.summary["metrics"]["entries"]["mean"] > 0
    there = installation.found()
    assert there is not None
    seen = ends["environment"]
    assert (seen["mininet_wifi"], seen["medium"]) == (there.versions, medium)
    assert seen["heard_at_the_start"] == 4, "the middle hears both, and both hear the middle"
    assert (seen["heard_out_of_reach"], seen["not_heard_in_reach"]) == ([], [])
    beside, _ = run_it("line", tmp_path, "backend=hwsim")
    assert verdicts_of(beside.summary["checks"]) == verdicts_of(result.summary["checks"])


@EITHER_MEDIUM
def test_stations_that_move(medium: str, tmp_path: Path) -> None:
    result, ends = run_it("mobile", tmp_path, f"medium={medium}")
    assert result.summary["unmet"] == []
    assert result.summary["metrics"]["entries"]["mean"] > 0
    moved = ends["medium" if medium == "wmediumd" else "mininet-wifi"]
    assert moved["pushes"] > 100
    # Our medium caches positions for 50 ms, in which a station moves 25 cm; wmediumd answers with the position that it
    # was sent, in single precision.
    assert moved["worst_m"] < (0.3 if medium == "ours" else 0.001)
    assert moved["worst_m"] > 0 or medium == "wmediumd", "the positions that were compared do change"
    ideal = run(load(SCENARIOS / "mobile.yaml", ["backend=sim"]), tmp_path).summary["metrics"]["mean_degree"]["mean"]
    assert result.summary["metrics"]["mean_degree"]["mean"] == pytest.approx(ideal, abs=1.0), (
        "which stations hear each other"
    )


@needs_wmediumd
def test_wmediumd_has_the_range_of_the_scenario_however_short(tmp_path: Path) -> None:
    """This range needs less than a milliwatt."""
    places = "placement={kind: explicit, places: [[0, 5], [18, 5], [36, 5]]}"
    _, ends = run_it("line", tmp_path, "medium=wmediumd", "radio.range=20", places, "duration=12")
    assert ends["environment"]["heard_at_the_start"] == 4
    assert (ends["environment"]["heard_out_of_reach"], ends["environment"]["not_heard_in_reach"]) == ([], [])


@pytest.mark.parametrize("routing", ["babel", "batman"])
def test_its_routing(routing: str, tmp_path: Path) -> None:
    if routing == "batman" and find_program("batctl") is None:
        pytest.skip("batctl is not installed")
    result, ends = run_it("line", tmp_path, "algorithm.name=raymond-tree", f"routing={routing}")
    assert result.summary["unmet"] == []
    assert result.summary["metrics"]["entries"]["mean"] > 0
    assert sum(ends["medium"]["routing"]["frames"].values()) > 0


def test_its_command_line_while_agents_run(tmp_path: Path) -> None:
    typed = "nodes\nsta1 ping -c1 -W5 sta2\npy sta3.position\ndistance sta1 sta3\nsta2 ss -uln || netstat -uln\nexit\n"
    line = str(SCENARIOS / "line.yaml")
    ended = subprocess.run(
        [sys.executable, "-m", "testbed.cli", "run", line, "--cli", "--out", str(tmp_path)],
        input=typed,
        capture_output=True,
        text=True,
        timeout=300,
        cwd=PROJECT,
    )
    assert ended.returncode == 0, ended.stderr
    assert "sta1 sta2 sta3" in ended.stderr
    assert "1 packets received" in ended.stderr or "1 received" in ended.stderr
    assert "[60.0, 5.0, 0.0]" in ended.stderr
    assert "The distance between sta1 and sta3 is 60.0 meters" in ended.stderr
    assert ":7700" in ended.stderr, "the agent's socket"
    assert "safety        ok" in ended.stdout


@pytest.mark.parametrize("medium", ["ours", pytest.param("wmediumd", marks=needs_wmediumd)])
def test_nothing_is_left_of_a_run_that_is_killed(guest: Guest, medium: str) -> None:
    seen = attempt(guest, "kill", "--set", f"medium={medium}")
    for number in ("SIGKILL", "SIGTERM", "SIGINT"):
        assert seen[number]["began"], number
        radios, processes = seen[number]["before"]
        assert radios == 3
        assert processes > 6, "orchestrator, fork server, stations, shells"
        assert (seen[number]["gone"], seen[number]["left"]) == (True, []), number


def test_two_runs_at_a_time(guest: Guest) -> None:
    seen = attempt(guest, "two")
    assert seen["both"]
    assert len(set(seen["radios"])) == 6
    assert seen["gone"]


@needs_wmediumd
def test_the_script_of_a_scenario(guest: Guest, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "mobile.py"
    script.write_text(export(load(SCENARIOS / "mobile.yaml", ["medium=wmediumd", "duration=16"])))
    said: list[bytes] = []
    code = guest.run(["python", "/tmp/mobile.py", "--out", "/tmp/runs"], send={"/tmp/mobile.py": script},
                     timeout_s=250, stdout=said.append, bring=[("/tmp/runs", tmp_path)])  # fmt: skip
    printed = b"".join(said).decode()
    assert code == 0, printed + capfd.readouterr().err
    assert "safety        ok" in printed
    assert "starvation    ok" in printed
    guest.run(["rm", "-rf", "/tmp/runs", "/tmp/mobile.py"])


def attempt(guest: Guest, what: str, *arguments: str) -> Any:
    """Run one part of the script in the guest; returns what it printed."""
    said: list[bytes] = []
    errors: list[bytes] = []
    code = guest.run(["python", "mininet_in_guest.py", what, *arguments], send={"/tmp/mininet_in_guest.py": SCRIPT},
                     timeout_s=500, stdout=said.append, stderr=errors.append)  # fmt: skip
    assert code == 0, b"".join(errors).decode()
    return json.loads(b"".join(said))
