"""hk and hk-fifo: the claims of the paper, and the texts of its procedures."""

from random import Random
from statistics import mean

import pytest

from agents.contract import Demand
from agents.errors import MisuseError
from agents.hk import Initial, Link, PrioritizedHOutOfK, PriorityParameters, Release, Request, Token, Update
from agents.hk_fifo import HOutOfK
from agents.message import tokens_of
from agents.outputs import Enter, Send
from testbed.network.graph import Graph, random_connected
from tests.agents.hk_stage import BusyStage, TimedStage, burst, complete, fewest_first, timed_stage, unit_stage

STAR = Graph(5, [(0, leaf) for leaf in range(1, 5)])
PATH = Graph(4, [(0, 1), (1, 2), (2, 3)])


@pytest.mark.parametrize(
    ("agent", "entered"),
    [
        (PrioritizedHOutOfK, [(2, 3), (12, 1), (14, 2), (103, 0)]),
        (HOutOfK, [(2, 3), (103, 0), (114, 1), (116, 2)]),
    ],
)
def test_the_example_of_the_introduction(agent, entered):
    """Two of 5 units are occupied, and a (node 0) holds the token and wants 4; b and c (1 and 2) want 2 and 1.

    Without priorities b and c wait for a. With the priority to the fewest units they enter at once.
    """
    stage = timed_stage(complete(4), agent, TimedStage, k=5)
    stage.stays = {3: 100.0}
    for time, node, units in ((0, 3, 2), (5, 0, 4), (10, 1, 2), (10, 2, 1)):
        stage.at(time, stage.request, node, fewest_first(units))
    stage.run(until=200)
    assert stage.entered == entered


@pytest.mark.parametrize("ties", ["id", "arrival"])
@pytest.mark.parametrize("follow", ["message", "carried"])
def test_theorem_2_the_highest_priority_first(ties, follow):
    """Of requests that are all known before the first entry, the most urgent is served first."""
    for seed in range(100):
        stage, demands = burst(seed, PrioritizedHOutOfK, k=1, aging="none", ties=ties, follow=follow)
        stage.run(until=5000)
        assert stage.order()[1:] == sorted(demands, key=lambda node: -demands[node].priority), f"seed {seed}"


@pytest.mark.parametrize("aging", ["entry", "stamp", "exit"])
def test_theorem_3_the_bounded_delay_depends_on_aging(aging):
    """A star whose centre never asks; three leaves of priority 9 ask again at once, and so does one of priority 0.

    As printed, a node ages its own queue at its own exit. Here requests wait in the centre's, and never age.
    """
    stage = timed_stage(STAR, PrioritizedHOutOfK, BusyStage, k=1, aging=aging)
    stage.stays = dict.fromkeys(range(1, 5), 1.0)
    stage.start(range(1, 5), think=lambda: 0.0, demand=lambda node: Demand(1, 0 if node == 4 else 9))
    stage.run(until=5000)
    share = stage.order().count(4) / stage.entries
    assert share == 0 if aging == "exit" else share > 0.05


def test_theorem_4_the_greatest_number_of_nodes_inside():
    """When all units come free, the smallest demands are served; without priorities it is often fewer nodes."""
    fewer = 0
    for seed in range(100):
        inside = {}
        for agent, parameters in ((PrioritizedHOutOfK, {"aging": "none"}), (HOutOfK, {})):
            stage, demands = burst(seed, agent, k=5, **parameters)
            stage.stays |= dict.fromkeys(demands, 1000.0)
            stage.run(until=600)
            inside[agent] = len(stage.inside)
        sizes = sorted(demand.units for demand in demands.values())
        greatest = max(count for count in range(len(sizes) + 1) if sum(sizes[:count]) <= 5)
        assert inside[PrioritizedHOutOfK] == greatest, f"seed {seed}"
        assert inside[HOutOfK] <= greatest, f"seed {seed}"
        fewer += inside[HOutOfK] < greatest
    assert fewer > 50


@pytest.mark.parametrize(
    ("agent", "parameters", "messages", "waiting"),
    [
        (PrioritizedHOutOfK, {"aging": "none", "ties": "arrival"}, 24.7, 43),
        (PrioritizedHOutOfK, {"aging": "none", "ties": "id"}, 29, None),
        (PrioritizedHOutOfK, {"aging": "none", "ties": "arrival", "follow": "carried"}, 22, None),
        (PrioritizedHOutOfK, {"aging": "stamp", "ties": "arrival"}, 22, None),
        (HOutOfK, {}, 17.3, None),
    ],
)
def test_messages_and_waiting_under_load(agent, parameters, messages, waiting):
    """The paper prints no numbers: these are an independent implementation's.

    Ten nodes at 50 % connectivity, four units, demands of one to four, everything up to time 3,000 and nothing after.
    """
    stages = [loaded(seed, agent, **parameters) for seed in range(8)]
    assert mean(stage.sent.total() / stage.entries for stage in stages) == pytest.approx(messages, rel=0.05)
    if waiting is not None:
        assert mean(mean(stage.waited) for stage in stages) == pytest.approx(waiting, rel=0.1)


def loaded(seed: int, agent: type[PrioritizedHOutOfK], **parameters: str) -> BusyStage:
    """One run of it."""
    rng = Random(seed)
    stage = timed_stage(random_connected(10, 22, rng), agent, BusyStage, k=4, **parameters)
    stage.start(range(10), lambda: rng.expovariate(1 / 40), lambda node: fewest_first(rng.randint(1, 4)))
    stage.run(until=3000)
    return stage


def test_a_priority_update_reaches_the_token_holder():
    """Theorem 2: UPDATE goes along `next` to the holder, if it comes to the front of every queue on the way."""
    stage = unit_stage(PATH, k=2, aging="none")
    stage.request(0, Demand(2))
    stage.request(1, Demand(2))
    stage.deliver_all()  # the token is at 1, which waits for 0
    for node, priority in ((2, -5), (3, 7)):
        stage.request(node, Demand(1, priority))
        stage.deliver_all()
    assert "     Send Update(0,2,2)(7,-3) to 1" in stage.script
    stage.release(0)
    stage.deliver_all()
    assert stage.inside == {3}


def test_an_update_for_a_request_that_was_served_is_ignored():
    """The request is no longer in Q."""
    agent = PrioritizedHOutOfK(5, Initial((0, 0, 5), ((0, 1, 1),), True, 2), PriorityParameters(k=2))
    agent.on_receive(1, Request((0, 1, 1), (0, -1)))
    agent.take_outputs()
    agent.on_receive(1, Update((0, 1, 1), (9, -1)))
    assert agent.take_outputs() == []
    assert agent.queue == []


def test_the_receiver_of_the_token_tells_all_neighbours():
    """Unlike RL's, which tells its lower neighbours."""
    agent = PrioritizedHOutOfK(5, Initial((0, 2, 5), ((0, 1, 1), (0, 3, 2)), False, 0))
    agent.on_request(Demand(2))
    agent.take_outputs()
    agent.on_receive(1, Token((0, 1, 1), 3, 0, None))
    told = Link((0, 0, 5))
    assert agent.take_outputs() == [Send(1, told), Send(2, told), Enter()]
    assert (agent.units, agent.free, agent.tokens) == (3, 1, 1)


def test_units_are_released_towards_the_token():
    """A node that has passed the token on sends its units after it."""
    stage = unit_stage(PATH, k=3)
    stage.request(0, Demand(2))
    stage.request(1, Demand(1))
    stage.deliver_all()
    assert stage.inside == {0, 1}
    stage.release(0)
    (release,) = stage.channels[0, 1]
    assert (type(release), release.units, tokens_of(release)) == (Release, 2, 0)
    stage.deliver_all()
    assert (stage.agents[1].units, stage.agents[1].tokens) == (3, 1)


@pytest.mark.parametrize("ties", ["id", "arrival"])
def test_equal_priorities(ties):
    """By id the lower node goes first; by arrival the first to ask."""
    stage = unit_stage(complete(4), k=1, ties=ties, aging="none")
    stage.request(0)
    for node in (3, 2):
        stage.request(node)
        stage.deliver_all()
    stage.release(0)
    stage.deliver_all()
    assert stage.inside == {2 if ties == "id" else 3}


@pytest.mark.parametrize(("follow", "requests"), [("message", 4), ("carried", 3)])
def test_the_request_that_follows_the_token(follow, requests):
    """It is a message of its own, or rides in the TOKEN."""
    stage = timed_stage(STAR, PrioritizedHOutOfK, TimedStage, k=2, follow=follow)
    stage.stays = {1: 20.0}
    stage.at(0, stage.request, 1, Demand(2))
    stage.at(5, stage.request, 0, Demand(2, 1))
    stage.run(until=15)
    stage.at(15, stage.request, 2, Demand(2, 9))
    stage.run(until=100)
    assert stage.order() == [1, 2, 0]
    assert stage.sent["Request"] == requests


@pytest.mark.parametrize("agent", [PrioritizedHOutOfK, HOutOfK])
@pytest.mark.parametrize("units", [0, 4])
def test_a_demand_that_can_never_be_met_is_refused(agent, units):
    """One to k units."""
    one = agent(0, Initial((0, 0, 0), (), True, 3), agent.parameters(k=3))
    before = one.state()
    with pytest.raises(MisuseError, match=f"node 0: a demand for {units} of 3 units"):
        one.on_request(Demand(units))
    assert one.state() == before


def test_what_the_algorithms_promise():
    """A bound where requests age, or are served in order of arrival."""
    promised = {
        aging: PrioritizedHOutOfK.promises_bound(PriorityParameters(aging=aging))
        for aging in ("entry", "stamp", "exit", "none")
    }
    assert promised == {"entry": True, "stamp": True, "exit": False, "none": False}
    assert HOutOfK.promises_bound(HOutOfK.parameters())
    assert PrioritizedHOutOfK.uses_priorities(PriorityParameters())
    assert not HOutOfK.uses_priorities(HOutOfK.parameters())
    assert HOutOfK.is_reconstruction
    assert HOutOfK.capacity(HOutOfK.parameters(k=7)) == 7


@pytest.mark.parametrize(("wrong", "allowed"), [({"k": 0}, "k at least 1"), ({"step": 0}, "step at least 1")])
def test_parameters_that_can_never_be_right(wrong, allowed):
    """Refused with what is allowed."""
    with pytest.raises(ValueError, match=allowed):
        PriorityParameters(**wrong)
