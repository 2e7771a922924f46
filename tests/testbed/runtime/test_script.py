"""Requests by script: made at their times, or as soon as the application can."""

from __future__ import annotations

from typing import Any

import pytest

from agents.contract import TICKS
from agents.registry import ALGORITHMS
from tests.agents.rl_variants import registered
from tests.testbed.simulate import ALL_OK, Simulated, prepare, simulate
from tests.testbed.tiny import Unsafe
from tests.testbed.token_ring import TokenRing

Step = tuple[str, float, int]


def scripted(*requests: dict[str, Any], **keys: Any) -> Simulated:
    """A run of three nodes by script. Messages take hardly any time, so that a node waits for others only."""
    workload = {"requests": list(requests), **keys.pop("workload", {})}
    base = {"nodes": 3, "topology": "complete", "delays": {"hop": 1e-3}, "duration": 50.0}
    return simulate(**{**base, "workload": workload, **keys})


def steps(run: Simulated, *nodes: int) -> list[Step]:
    """What applications did, with times to a hundredth."""
    events = run.diary.of("request", "enter", "exit", "crash", "restart")
    return [(one["kind"], round(one["t"], 2), one["node"]) for one in events if one["node"] in nodes]


def test_requests_are_made_at_their_times() -> None:
    """Each with its own demand and critical section, and no others."""
    run = scripted(
        {"node": 1, "at": 12.5, "priority": 4, "deadline": 2.0, "cs_time": 3.0},
        {"node": 0, "at": 3.0},
        workload={"cs_time": 2.0, "priority": -1},
    )
    assert steps(run, 0, 1, 2) == [
        ("request", 3, 0), ("enter", 3, 0), ("exit", 5, 0), ("request", 12.5, 1), ("enter", 12.5, 1), ("exit", 15.5, 1)
    ]  # fmt: skip
    first, second = run.diary.of("request")
    assert (first["units"], first["priority"], first["deadline"]) == (1, -1, None)
    assert (second["units"], second["priority"], second["deadline"]) == (1, 4, round(14.5 * TICKS))
    assert run.verdicts == ALL_OK


def test_scripted_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that wants both units waits for the one that has one of them; a third that wants one does not."""
    monkeypatch.setitem(ALGORITHMS, "ring", TokenRing)
    run = scripted(
        {"node": 0, "at": 1.0, "cs_time": 10.0},
        {"node": 1, "at": 2.0, "units": 2},
        {"node": 2, "at": 3.0, "cs_time": 1.0},
        algorithm={"name": "ring", "k": 2},
    )
    assert [one["node"] for one in run.diary.of("enter")] == [0, 2, 1]
    assert [one["units"] for one in run.diary.of("enter")] == [1, 1, 2]
    assert run.diary.of("enter")[2]["t"] > 11
    assert run.verdicts == ALL_OK


def test_a_busy_application_asks_when_it_has_left() -> None:
    """Requests whose time comes while it waits or is inside are made one after the other, in order of time."""
    run = scripted(
        {"node": 1, "at": 3.0, "priority": 3, "deadline": 1.0, "cs_time": 2.0},
        {"node": 1, "at": 2.0, "priority": 2, "cs_time": 2.0},
        {"node": 1, "at": 1.0, "priority": 1, "cs_time": 5.0},
    )
    assert steps(run, 1) == [
        ("request", 1, 1), ("enter", 1, 1), ("exit", 6, 1), ("request", 6, 1), ("enter", 6, 1), ("exit", 8, 1),
        ("request", 8, 1), ("enter", 8, 1), ("exit", 10, 1),
    ]  # fmt: skip
    asked = run.diary.of("request")
    assert [one["priority"] for one in asked] == [1, 2, 3]
    assert asked[2]["deadline"] / TICKS == pytest.approx(9, abs=0.01), "a deadline goes by the time of the request"


def test_two_requests_at_one_time() -> None:
    """The second is made when the first is served."""
    run = scripted({"node": 1, "at": 2.0}, {"node": 1, "at": 2.0})
    assert [step[:2] for step in steps(run, 1) if step[0] == "request"] == [("request", 2), ("request", 3)]


def test_a_script_beside_a_rate() -> None:
    """A thinking application asks at the scripted time, and thinks anew when it has left.

    The time of the request that it had planned comes while it is inside: that one is not made. How long it stays inside
    is again as the workload says.
    """
    alone = simulate(nodes=1, topology="complete", workload={"rate": 0.1}, duration=200.0)
    first = alone.diary.of("request")[0]["t"]
    keys: dict[str, Any] = {"nodes": 1, "duration": 200.0}
    run = scripted({"node": 0, "at": first - 1, "cs_time": 4.0}, workload={"rate": 0.1}, **keys)
    requests, enters, exits = (run.diary.of(kind) for kind in ("request", "enter", "exit"))
    assert requests[0]["t"] == pytest.approx(first - 1)
    assert requests[1]["t"] > first + 3
    stays = [round(out["t"] - into["t"], 6) for into, out in zip(enters, exits, strict=True)]
    assert stays == [4, *[1] * (len(requests) - 1)]
    assert len(requests) > 5
    assert run.verdicts == ALL_OK


def test_a_scripted_request_at_the_time_of_a_planned_one() -> None:
    """One of the two is made then, and the scripted one is never left out."""
    alone = simulate(nodes=1, topology="complete", workload={"rate": 0.1}, duration=200.0)
    first = alone.diary.of("request")[0]["t"]
    run = scripted({"node": 0, "at": first, "priority": 9}, workload={"rate": 0.1}, nodes=1, duration=200.0)
    requests = run.diary.of("request")
    assert [one["priority"] for one in requests].count(9) == 1
    assert requests[0]["t"] == pytest.approx(first)
    assert requests[1]["t"] >= first + 1
    assert run.verdicts == ALL_OK


def test_rates_and_scripts_by_node() -> None:
    """Rate 0 is for a node that asks by script only."""
    run = scripted({"node": 1, "at": 9.0}, workload={"rate": [0.5, 0, 0]})
    assert [one["t"] for one in run.diary.of("request") if one["node"] == 1] == [9]
    assert {one["node"] for one in run.diary.of("request")} == {0, 1}


# -- faults ---------------------------------------------------------------------------------------------------------

DOWN = [{"at": 10.0, "kind": "crash", "node": 1}, {"at": 20.0, "kind": "restart", "node": 1}]


def test_a_crashed_node_does_not_ask() -> None:
    """What the script asks of it then is not made up for; what it asks later is done."""
    run = scripted({"node": 0, "at": 1.0}, {"node": 1, "at": 15.0}, {"node": 1, "at": 25.0}, faults=DOWN)
    assert steps(run, 1) == [
        ("crash", 10, 1), ("restart", 20, 1), ("request", 25, 1), ("enter", 25, 1), ("exit", 26, 1)
    ]  # fmt: skip
    assert run.verdicts == ALL_OK


def test_a_crash_forgets_the_requests_that_waited_for_the_application() -> None:
    """They were of the earlier incarnation, as on stations, whose processes are gone."""
    run = scripted(
        {"node": 0, "at": 1.0, "cs_time": 12.0},
        {"node": 1, "at": 2.0},
        {"node": 1, "at": 3.0},
        {"node": 1, "at": 25.0},
        faults=DOWN,
    )
    assert [step for step in steps(run, 1) if step[0] != "crash"] == [
        ("request", 2, 1), ("restart", 20, 1), ("request", 25, 1), ("enter", 25, 1), ("exit", 26, 1)
    ]  # fmt: skip


def test_a_restarted_node_thinks_and_follows_its_script() -> None:
    """Both go on after the restart."""
    with registered(Unsafe):  # no unit is lost with the node
        run = scripted({"node": 1, "at": 30.0, "priority": 9}, workload={"rate": [0.0, 0.5, 0.0]}, faults=DOWN)
    requests = run.diary.of("request")
    assert [one for one in requests if one["t"] < 10]
    assert not [one for one in requests if 10 <= one["t"] < 20]
    assert [one["priority"] for one in requests if one["t"] >= 20].count(9) == 1
    assert len([one for one in requests if one["t"] >= 20]) > 3


def test_a_node_that_has_left_forgets_its_script_and_still_thinks() -> None:
    """A request that waited for the application when its node left is dropped, and the node goes on when it is back."""
    script = [{"node": 0, "at": 1.0, "cs_time": 5.0}, {"node": 0, "at": 2.0, "priority": 9}]
    run = prepare(nodes=1, topology="complete", workload={"rate": 0.5, "requests": script}, duration=60.0)
    simulation = run.simulation
    simulation.at(4 * TICKS, simulation.driver.absent.add, 0)
    simulation.at(20 * TICKS, simulation.driver.absent.discard, 0)
    simulation.run_all(lambda share: None)
    requests = run.diary.of("request")
    assert 9 not in [one["priority"] for one in requests]
    assert not [one for one in requests if 4 <= one["t"] < 20]
    assert [one for one in requests if one["t"] >= 20]


# -- when a run ends ------------------------------------------------------------------------------------------------


def test_entries_with_a_script() -> None:
    """The run ends after so many entries, and later requests are not made."""
    run = scripted(*({"node": node, "at": 5.0 * node} for node in range(3)), duration=None, entries=2)
    assert [one["node"] for one in run.diary.of("enter")] == [0, 1]
    assert run.diary.events[-1]["reason"] == "every request served"
    assert run.diary.events[-1]["t"] < 10


def test_entries_that_the_script_does_not_give() -> None:
    """A node that should have asked has crashed: the run ends all the same."""
    faults = [{"at": 1.0, "kind": "crash", "node": 2}]
    requests = [{"node": node, "at": 5.0} for node in range(3)]
    keys: dict[str, Any] = {"nodes": 3, "topology": "complete", "delays": {"hop": 1e-3}, "drain": 30.0}
    run = prepare(**keys, entries=3, workload={"requests": requests}, faults=faults)
    run.simulation.at(1000 * TICKS, pytest.fail, "the run does not end")
    run.simulation.run_all(lambda share: None)
    assert len(run.diary.of("enter")) == 2
    assert run.diary.events[-1]["reason"] == "no node is left that could enter"
    assert run.diary.events[-1]["t"] <= 100


def test_requests_that_are_due_after_the_end_are_not_made() -> None:
    """Requests that waited for the application when the duration was over are dropped."""
    run = scripted({"node": 1, "at": 48.0, "cs_time": 9.0}, {"node": 1, "at": 49.0})
    assert len(run.diary.of("request")) == len(run.diary.of("exit")) == 1
    assert run.diary.events[-1]["t"] == pytest.approx(57, abs=0.01)


def test_over_radio_links_the_script_starts_with_the_load() -> None:
    """A request at the very end of the warmup is made."""
    requests = [{"node": 1, "at": 10.0}, {"node": 2, "at": 20.0}]
    run = scripted(*requests, links={"kind": "radio"}, warmup=10.0, delays={"hop": 0.01}, duration=40.0)
    assert [(one["t"], one["node"]) for one in run.diary.of("request")] == [(10, 1), (20, 2)]
    assert run.verdicts == ALL_OK
