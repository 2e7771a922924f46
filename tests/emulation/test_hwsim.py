"""Virtual radios and their medium on a kernel that has them: what `hwsim_in_guest.py` tries, in one guest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.guest.host import Guest

SCRIPT = Path(__file__).with_name("hwsim_in_guest.py")
pytestmark = pytest.mark.xdist_group("guest")

Try = Callable[[str], Any]


@pytest.fixture
def attempt(guest: Guest) -> Try:
    """Run one part of the script in the guest, and see what it says."""

    def run(what: str) -> Any:
        said: list[bytes] = []
        errors: list[bytes] = []
        code = guest.run(
            ["python", "hwsim_in_guest.py", what],
            send={"/tmp/hwsim_in_guest.py": SCRIPT},
            timeout_s=180,
            stdout=said.append,
            stderr=errors.append,
        )
        assert code == 0, b"".join(errors).decode()
        return json.loads(b"".join(said))

    return run


def test_radios_come_and_go_and_runs_do_not_meet(attempt: Try, record_property: Callable[[str, object], None]) -> None:
    got = attempt("radios")
    assert got["counts"] == [0, 10, 12, 0]
    assert "under way" in got["refused"]
    assert got["living"] == []
    record_property("10 stations", f"made in {got['took']:.2f} s, gone in {got['gone']:.2f} s")


def test_neighbours_in_a_line_hear_each_other_and_nobody_else_does(attempt: Try) -> None:
    got = attempt("line")
    assert got["heard"] == [
        [[1, "all"], [1, "one"]],
        [[0, "all"], [0, "one"], [2, "all"], [2, "one"]],
        [[1, "all"], [1, "one"]],
    ]
    assert [got["cut"], got["healed"]] == [[], [[0, "healed"]]]
    frames = got["report"]["frames"]
    assert frames["sent"]["data unicast"] == 4
    assert set(got["report"]["lateness_ms"]) == {"mean", "p50", "p95", "p99", "max"}
    assert got["pcap"] > 1000


def test_losses_at_the_edge_of_the_range_are_those_of_the_radio_module(attempt: Try) -> None:
    got = attempt("edge")
    n, lost = got["sent"], got["predicted"]
    assert 0.3 < lost < 0.9
    assert abs(got["broadcast"] / n - (1 - lost)) < 4 * (lost * (1 - lost) / n) ** 0.5
    assert got["unicast"] > got["broadcast"], "they are tried again"
    assert got["report"]["frames"]["tries"] > 2.5 * n


def test_what_was_killed_leaves_nothing_and_what_lives_is_let_be(attempt: Try) -> None:
    got = attempt("killed")
    common = {"during": 3, "alive": True, "spared": 2, "after": 0, "again": []}
    assert got["none"] == common | {"left": [], "cleaned": ["doomed"]}
    assert got["in flight"] == common | {"left": [], "cleaned": ["doomed"]}, "a frame on the air keeps nothing alive"
    assert got["survivor"] == common | {"left": ["tbdoomed-0"], "cleaned": ["tbdoomed-0", "doomed"]}


def test_without_their_medium_stations_hear_nobody(attempt: Try) -> None:
    got = attempt("medium_killed")
    assert got["before"] == [[0, "before"]]
    assert got["after"] == []
    assert "nobody heard anybody" in got["said"]


def test_a_medium_that_does_not_work_is_refused(attempt: Try) -> None:
    got = attempt("unproven")
    assert "out of reach of each other hear each other" in got["said"][0]
    assert "cannot place here" in got["said"][1]
    assert got["given"] == [[0, "given"]]


def test_babeld_finds_a_way_and_station_and_babeld_die_together(
    attempt: Try, record_property: Callable[[str, object], None]
) -> None:
    got = attempt("babel_routes")
    assert got["first"] > 0
    assert got["back"] > 0
    assert got["alive"] == [True, False]
    assert got["routes"] == [2, 0], "what it left in the kernel is taken out"
    assert got["again"] > 0
    assert got["deserted"] == 1, "a station whose babeld dies ends with an error"
    assert got["counts"]["Babel"] > 10
    assert got["counts"]["Forwarded"] >= 2
    assert got["files"] == []
    record_property("babel", f"a way over two hops after {got['first']:.2f} s")


def test_batman_finds_a_way(attempt: Try, record_property: Callable[[str, object], None]) -> None:
    got = attempt("batman_routes")
    assert got["first"] > 0
    assert got["counts"]["Batman"] > 10
    assert got["counts"]["Forwarded"] >= 1
    assert got["left"] == 0
    record_property("batman", f"a way over two hops after {got['first']:.2f} s")
