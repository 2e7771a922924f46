"""Virtual radios and their medium on a kernel that has them: what `hwsim_in_guest.py` does, in one guest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.backends.hwsim.control_plane import CHOICE, IMPLEMENTATIONS
from testbed.guest.host import Guest

SCRIPT = Path(__file__).with_name("hwsim_in_guest.py")
pytestmark = pytest.mark.xdist_group("guest")

Try = Callable[..., Any]
PYROUTE2 = {CHOICE: "pyroute2"}
"""The usual control plane, which guests do without otherwise; with the other one tests/emulation/test_radio_smoke.py
routes.
"""


@pytest.fixture
def attempt(guest: Guest) -> Try:
    """Run one part of the script in the guest; returns what it printed."""

    def run(what: str, **env: str) -> Any:
        said: list[bytes] = []
        errors: list[bytes] = []
        code = guest.run(
            ["python", "hwsim_in_guest.py", what],
            send={"/tmp/hwsim_in_guest.py": SCRIPT},
            timeout_s=180,
            stdout=said.append,
            stderr=errors.append,
            env=env,
        )
        assert code == 0, b"".join(errors).decode()
        return json.loads(b"".join(said))

    return run


def test_radios_come_and_go_and_runs_do_not_disturb_each_other(
    attempt: Try, record_property: Callable[[str, object], None]
) -> None:
    got = attempt("radios")
    assert got["counts"] == [0, 10, 12, 0]
    assert "under way" in got["refused"]
    assert got["cleaned"] == []
    record_property("10 stations", f"made in {got['took']:.2f} s, gone in {got['gone']:.2f} s")


@pytest.mark.parametrize("control_plane", IMPLEMENTATIONS)
def test_only_neighbours_in_a_line_hear_each_other(attempt: Try, control_plane: str) -> None:
    got = attempt("line", **{CHOICE: control_plane})
    assert got["heard"] == [
        [[1, "all"], [1, "one"]],
        [[0, "all"], [0, "one"], [2, "all"], [2, "one"]],
        [[1, "all"], [1, "one"]],
    ]
    assert [got["cut"], got["healed"]] == [[], [[0, "healed"]]]
    frames = got["report"]["frames"]
    # A kernel sends to a peer out of range only if it has heard it before the medium was there; that frame is lost.
    assert frames["sent"]["data unicast"] - frames["lost"].get("out of reach", 0) == 4
    assert set(got["report"]["lateness_ms"]) == {"mean", "p50", "p95", "p99", "max"}
    assert got["pcap"] > 1000


def test_losses_at_the_edge_of_the_range_are_those_of_the_radio_model(attempt: Try) -> None:
    got = attempt("edge")
    n, lost = got["sent"], got["predicted"]
    assert 0.3 < lost < 0.9
    assert abs(got["broadcast"] / n - (1 - lost)) < 4 * (lost * (1 - lost) / n) ** 0.5
    assert got["unicast"] > got["broadcast"], "they are tried again"
    assert got["report"]["frames"]["tries"] > 2.5 * n


def test_a_killed_run_leaves_nothing_and_running_ones_are_not_touched(attempt: Try) -> None:
    got = attempt("killed")
    common = {"during": 3, "alive": True, "spared": 2, "after": 0, "again": []}
    assert got["none"] == common | {"left": [], "cleaned": ["killed"]}
    assert got["in flight"] == common | {"left": [], "cleaned": ["killed"]}, "a frame on the air keeps no radio"
    assert got["survivor"] == common | {"left": ["tbkilled-0"], "cleaned": ["tbkilled-0", "killed"]}


def test_without_their_medium_stations_hear_nothing(attempt: Try) -> None:
    got = attempt("medium_killed")
    assert got["before"] == [[0, "before"]]
    assert got["after"] == []
    assert "no station has heard another since" in got["said"]


def test_a_medium_that_does_not_work_is_refused(attempt: Try) -> None:
    got = attempt("unproven")
    assert "out of reach of each other hear each other" in got["said"][0]
    assert "cannot place here" in got["said"][1]
    assert got["given"] == [[0, "given"]]


def test_babeld_finds_a_route_and_ends_together_with_its_station(
    attempt: Try, record_property: Callable[[str, object], None]
) -> None:
    got = attempt("babel_routes", **PYROUTE2)
    assert got["first"] > 0
    assert got["back"] > 0
    assert got["alive"] == [True, False]
    assert got["routes"] == [2, 0], "routes that it left in the kernel are removed"
    assert got["again"] > 0
    assert got["without_babeld"] == 1, "a station whose babeld is killed exits with an error"
    assert got["counts"]["Babel"] > 10
    assert got["counts"]["Forwarded"] >= 2
    assert got["files"] == []
    record_property("babel", f"a route over two hops after {got['first']:.2f} s")


def test_batman_finds_a_route(attempt: Try, record_property: Callable[[str, object], None]) -> None:
    got = attempt("batman_routes", **PYROUTE2)
    assert got["first"] > 0
    assert got["counts"]["Batman"] > 10
    assert got["counts"]["Forwarded"] >= 1
    assert got["left"] == 0
    record_property("batman", f"a route over two hops after {got['first']:.2f} s")
