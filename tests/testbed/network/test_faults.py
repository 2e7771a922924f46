"""Faults of a scenario: what they do to links, messages and nodes, and what the checks say of it."""

import pytest

from agents.contract import Agent
from agents.rl import LinkInfo, Request
from testbed.runtime.breach import AgentError
from tests.agents.rl_variants import registered
from tests.testbed.simulate import ALL_OK, prepare, simulate

RANDOM = {"kind": "random", "connectivity": 0.5, "link_change_rate": 0.1}


def links_after(run, t: float) -> set[frozenset[int]]:
    """The links that are up at a time, according to the events of both ends."""
    links = {frozenset(link) for link in run.diary.of("start")[0]["links"]}
    for event in run.diary.of("link_up", "link_down"):
        if event["t"] <= t:
            (links.add if event["kind"] == "link_up" else links.discard)(frozenset((event["node"], event["peer"])))
    return links


def test_a_crashed_node_is_gone():
    """All its links go down at once, its messages are lost, and it neither asks nor answers again."""
    run = simulate(topology=RANDOM, workload={"rate": 1.0}, faults=[{"at": 100.0, "kind": "crash", "node": 4}])
    assert not any(4 in link for link in links_after(run, 100.0))
    assert not any(4 in link for link in links_after(run, 300.0)), "no link change brings it back"
    after = [event for event in run.diary.events if event["t"] > 100 and event["node"] == 4]
    assert [event["kind"] for event in after] == []
    assert {event["why"] for event in run.diary.of("lost")} <= {"crash"}
    assert run.verdicts["safety"] == run.verdicts["order"] == run.verdicts["conservation"] == "ok"


def test_a_crashed_holder_takes_the_token_with_it():
    """The report says how many units were lost, and the others' requests are excused."""
    run = simulate(faults=[{"at": 100.0, "kind": "crash", "holder": True}], drain=50.0)
    assert run.diary.of("crash")[0]["units"] == 1
    assert run.verdicts == ALL_OK
    assert run.details["conservation"] == "0 of 1 unit kept, 1 lost to injected faults"
    assert "component holds no unit" in run.details["starvation"]


def test_a_holder_fault_waits_for_a_holder():
    """With the token in transit no node holds it; the fault comes when a node does."""
    run = simulate(
        workload={"rate": 1.0, "cs_time": 0.0}, delays={"hop": 10}, drain=50.0,
        faults=[{"at": at, "kind": "crash", "holder": True} for at in (101.0, 102.5)],
    )  # fmt: skip
    crash = run.diary.of("crash")[0]
    assert crash["units"] == 1
    assert crash["t"] >= 101


def test_a_restarted_node_comes_back_empty():
    """A new incarnation with its links but without its memory, which asks and is served again."""
    faults = [{"at": 100.0, "kind": "crash", "node": 4}, {"at": 150.0, "kind": "restart", "node": 4}]
    run = simulate(faults=faults, workload={"rate": 0.2})
    before = {link for link in links_after(run, 99.0) if 4 in link}
    assert {link for link in links_after(run, 150.0) if 4 in link} == before
    assert run.diary.of("restart")[0]["incarnation"] == 1
    assert any(event["node"] == 4 and event["t"] > 150 for event in run.diary.of("enter"))
    assert run.verdicts == ALL_OK


def test_a_cut_partitions_the_network_and_a_heal_joins_it():
    """No link crosses the cut while it lasts, whatever the link changes; afterwards the old ones are back."""
    group = {0, 1, 2}
    faults = [{"at": 100.0, "kind": "cut", "group": sorted(group)}, {"at": 200.0, "kind": "heal"}]
    run = simulate(topology=RANDOM, faults=faults, workload={"rate": 0.2})
    crossing = [event for event in run.diary.of("send") if (event["node"] in group) != (event["peer"] in group)]
    assert not [event for event in crossing if 110 < event["t"] < 200]
    assert [event for event in crossing if event["t"] > 200]
    inside = {event["node"] in group for event in run.diary.of("enter") if 110 < event["t"] < 200}
    assert len(inside) == 1, "only the side that has the token goes on"
    assert run.verdicts == ALL_OK


def test_a_cut_loses_nothing():
    """Cuts keep to the papers' rule: a link falls when it is empty."""
    faults = [{"at": 100.0, "kind": "cut", "node": 3}, {"at": 200.0, "kind": "heal", "node": 3}]
    run = simulate(faults=faults, workload={"rate": 1.0})
    assert not run.diary.of("lost")
    assert not any(3 in link for link in links_after(run, 190.0))
    assert run.verdicts == ALL_OK


def test_one_link_can_be_cut():
    """With `peer`, only the link between the two."""
    topology = {"kind": "explicit", "links": [[0, 1], [1, 2], [0, 2]]}
    faults = [{"at": 50.0, "kind": "cut", "node": 1, "peer": 2}, {"at": 90.0, "kind": "heal", "node": 1, "peer": 2}]
    run = simulate(nodes=3, topology=topology, faults=faults)
    assert links_after(run, 60.0) == {frozenset((0, 1)), frozenset((0, 2))}
    assert len(links_after(run, 100.0)) == 3
    assert run.verdicts == ALL_OK


def test_faults_may_overlap():
    """A link that two faults forbid is back only when both are over."""
    topology = {"kind": "explicit", "links": [[0, 1], [1, 2], [0, 2]]}
    faults = [
        {"at": 50.0, "kind": "cut", "node": 2},
        {"at": 60.0, "kind": "crash", "node": 2},
        {"at": 70.0, "kind": "restart", "node": 2},
        {"at": 80.0, "kind": "cut", "group": [1, 2]},
        {"at": 90.0, "kind": "heal", "node": 2},
        {"at": 120.0, "kind": "heal"},
    ]
    run = simulate(nodes=3, topology=topology, faults=faults, workload={"rate": 0.02})
    assert links_after(run, 75.0) == {frozenset((0, 1))}
    assert links_after(run, 100.0) == {frozenset((1, 2))}
    assert len(links_after(run, 130.0)) == 3


def test_a_lost_message_is_accounted_for():
    """Only the message asked for is lost, and the conservation check says what went with it."""
    run = simulate(faults=[{"at": 100.0, "kind": "lose", "node": 0, "message": "LinkInfo"}])
    assert [(event["node"], event["type"], event["why"]) for event in run.diary.of("lost")] == [
        (0, "LinkInfo", "fault")
    ]
    run = simulate(faults=[{"at": 100.0, "kind": "lose", "holder": True}], drain=20.0)
    assert [event["type"] for event in run.diary.of("lost")] == ["Token"]
    assert run.details["conservation"] == "0 of 1 unit kept, 1 lost to injected faults"


def test_faults_are_logged_and_change_nothing_else():
    """Draws do not shift: up to the fault, the run is the run without it."""
    plain, faulty = (
        simulate(topology=RANDOM),
        simulate(topology=RANDOM, faults=[{"at": 150.0, "kind": "cut", "node": 1}]),
    )
    assert [event["fault"] for event in faulty.diary.of("fault")] == ["cut"]
    early = [[event for event in run.diary.events if event["t"] < 150] for run in (plain, faulty)]
    assert early[0] == early[1]


class Careless(Agent):
    """Sends where there is no link."""

    messages = (Request,)

    @classmethod
    def initial(cls, graph, parameters):
        return [None] * len(graph)

    @classmethod
    def start(cls, node, initial, parameters, rng):
        return cls(node)

    @property
    def units(self) -> int:
        return int(self.node == 0)

    def on_request(self, demand) -> None:
        self.send(9 - self.node, Request((0, 0, self.node)))

    def on_release(self) -> None:
        """Never comes to it."""


def test_a_message_without_a_link_is_a_breach():
    """An agent that sends to a node without a link to it is stopped there."""
    topology = {"kind": "explicit", "links": [[0, 1]]}
    breach = r"^node \d in on_request\(.*\): send\(\d, Request\(.*\)\): node \d is no neighbour$"
    with registered(Careless), pytest.raises(AgentError, match=breach):
        simulate(topology=topology, drain=1.0)


class Broken(Careless):
    """Fails."""

    def on_request(self, demand) -> None:
        raise ZeroDivisionError


def test_an_agent_that_raises_is_named():
    """Which node, in which event."""
    with registered(Broken), pytest.raises(AgentError, match=r"^node \d in on_request\(.*\): ZeroDivisionError"):
        simulate()


def test_a_link_falls_even_if_the_last_message_on_it_is_lost():
    """What stands for a lost message arrives like a message, and lets the link fall."""
    topology = {"kind": "explicit", "links": [[0, 1], [1, 2], [0, 2]]}
    run = prepare(nodes=3, topology=topology, workload={"rate": 1e-9}, duration=20.0)
    simulation = run.simulation
    simulation.driver.lose_next(0, "LinkInfo")
    agent = simulation.driver.agents[0]
    agent.send(1, LinkInfo(agent.my_height))
    simulation.driver._apply(agent, 0)
    simulation.links.down(0, 1)
    simulation.run_all(lambda share: None)
    assert [(event["t"], event["lag"]) for event in run.diary.of("link_down")] == [(1.0, 10**9)] * 2
    assert [event["type"] for event in run.diary.of("lost")] == ["LinkInfo"]


# -- crashes, and what was planned for crashed nodes ------------------------------------------------------------------


def test_a_crash_cancels_the_timers_of_its_node():
    """Set at t = 10 for t = 50; its node crashes and is back before that, and knows of no timer."""
    faults = [{"at": 10.0, "kind": "cut", "group": [1, 2]}, {"at": 20.0, "kind": "crash", "node": 1},
              {"at": 49.0, "kind": "restart", "node": 1}]  # fmt: skip
    line = {"kind": "explicit", "links": [[0, 1], [1, 2]]}
    run = simulate(nodes=3, topology=line, algorithm={"name": "rl", "raise_interval": 40.0}, faults=faults,
                   workload={"rate": 1e-9}, duration=80.0)  # fmt: skip
    assert [event["node"] for event in run.diary.of("timer") if event["t"] < 60] == [2]


@pytest.mark.parametrize("again", [[], [{"at": 20.0, "kind": "restart", "node": 3}]])
def test_a_crash_before_the_load_begins(again):
    """Over radio links the load begins with the end of the warmup, for nodes that run then, and once."""
    faults = [{"at": 10.0, "kind": "crash", "node": 3}, *again]
    run = simulate(links={"kind": "radio"}, warmup=50.0, duration=200.0, drain=300.0, faults=faults,
                   algorithm={"name": "krl", "k": 2})  # fmt: skip
    asked = [event["t"] for event in run.diary.of("request") if event["node"] == 3]
    assert bool(asked) is bool(again)
    assert min(asked, default=50) >= 50
    assert run.verdicts["safety"] == "ok"


def test_a_unit_that_a_fault_took_is_not_kept_because_its_receiver_crashes():
    """What stands for it on the link goes with the crash; the unit was lost before."""
    scenario = {"nodes": 2, "topology": "complete", "delays": {"hop": 10.0}, "workload": {"rate": 0.5},
                "duration": 60.0, "drain": 20.0}  # fmt: skip
    first = next(event for event in simulate(**scenario).diary.of("send") if event["units"])
    faults = [{"at": first["t"] - 1, "kind": "lose", "holder": True},
              {"at": first["t"] + 3, "kind": "crash", "node": first["peer"]}]  # fmt: skip
    run = simulate(**scenario, faults=faults)
    lost = [event for event in run.diary.of("lost") if event["units"]]
    assert [(event["type"], event["why"]) for event in lost] == [("Token", "fault")]
    assert run.details["conservation"] == "0 of 1 unit kept, 1 lost to injected faults"


# -- runs that must end -----------------------------------------------------------------------------------------------


def test_entries_that_never_come():
    """Every node has crashed, and no request is pending."""
    faults = [{"at": 10.0, "kind": "crash", "node": 0}, {"at": 11.0, "kind": "crash", "node": 1}]
    run = simulate(nodes=2, topology="complete", entries=50, faults=faults, drain=100.0)
    assert run.diary.events[-1]["reason"] == "no node is left that could enter"


def test_entries_without_any_drain():
    """Time passes all the same."""
    run = simulate(nodes=3, topology="complete", entries=5, drain=0.0)
    assert run.diary.events[-1]["t"] > 0
