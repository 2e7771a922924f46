"""An agent in a cluster: numbers translated both ways, and nothing else changed."""

from dataclasses import dataclass
from typing import Any

import pytest

from agents.contract import ONE_UNIT, Agent, Demand, Needs, Shares
from agents.errors import PeerError
from agents.message import Message
from agents.outputs import BROADCAST, Broadcast, CancelTimer, Enter, Send, SetTimer
from agents.registry import ALGORITHMS
from testbed.runtime.cluster_member import ClusterMember, member_class
from tests.testbed.simulate import WITHOUT_GROUPS, prepare

MEMBERS = (2, 5, 9)
FOREIGN = 7


@dataclass(frozen=True, slots=True)
class Note(Message):
    """Names a node, by its number inside the cluster."""

    node: int


class Probe(Agent):
    """Node 1 of a cluster of three. Notes its inputs; asks for everything that an agent can ask for."""

    needs = Needs.ANY_NODE
    shares = Shares.PERMISSIONS
    messages = (Note,)
    assumes_connected = False
    summary = "notes its inputs"

    def __init__(self, node: int) -> None:
        super().__init__(node)
        self.heard: list[tuple[Any, ...]] = []
        self.spares = 1

    def on_request(self, demand: Demand) -> None:
        self.heard.append(("request", demand))
        self.send(2, Note(0))
        self.send_all((2, 0), Note(1))
        self.enter()
        self.set_timer("two", 2)
        self.cancel_timer("two")

    def on_release(self) -> None:
        self.heard.append(("release",))
        self.send(0, Note(2))

    def on_receive(self, peer: int, message: Message) -> None:
        self.heard.append(("receive", peer, message))
        self.send(peer, Note(peer))

    def on_link_up(self, peer: int) -> None:
        self.heard.append(("link up", peer))
        self.send(peer, Note(peer))

    def on_link_down(self, peer: int) -> None:
        self.heard.append(("link down", peer))
        self.enter()

    def on_return(self, peer: int, message: Message) -> None:
        self.heard.append(("return", peer, message))
        self.send(peer, message)

    def on_timer(self, name: str) -> None:
        self.heard.append(("timer", name))
        self.set_timer(name, 1)

    def awaits(self) -> frozenset[int]:
        return frozenset((0, 2))


@pytest.fixture
def member() -> ClusterMember:
    return member_class(Probe)(Probe(1), MEMBERS)


def test_a_member_has_the_number_of_the_scenario(member):
    """And its agent that of the cluster; what the agent waits for is told in the scenario's numbers."""
    assert (member.node, member.agent.node) == (5, 1)
    assert member.awaits() == {2, 9}
    assert (member.spares, member.units) == (1, 0)


def test_outputs_are_translated(member):
    """Receivers are nodes of the scenario; names, delays and what is inside a message stay as they are."""
    member.on_request(ONE_UNIT)
    assert member.take_outputs() == [
        Send(9, Note(0)), Send(9, Note(1)), Send(2, Note(1)), Enter(), SetTimer("two", 2), CancelTimer("two"),
    ]  # fmt: skip
    assert not member.agent.outbox
    assert member.agent.heard == [("request", ONE_UNIT)]


def test_a_group_is_no_node(member):
    """The number of a group is not translated."""
    member.agent.outbox.append((BROADCAST, 2, Note(0)))
    member.on_link_down(2)
    assert member.take_outputs() == [Broadcast(2, Note(0)), Enter()]


@pytest.mark.parametrize(
    ("event", "arguments", "heard", "outputs"),
    [
        ("on_release", (), ("release",), [Send(2, Note(2))]),
        ("on_receive", (9, Note(5)), ("receive", 2, Note(5)), [Send(9, Note(2))]),
        ("on_link_up", (2,), ("link up", 0), [Send(2, Note(0))]),
        ("on_link_down", (9,), ("link down", 2), [Enter()]),
        ("on_return", (2, Note(9)), ("return", 0, Note(9)), [Send(2, Note(9))]),
        ("on_timer", ("two",), ("timer", "two"), [SetTimer("two", 1)]),
    ],
)
def test_inputs_are_translated(event, arguments, heard, outputs, member):
    """The agent hears of nodes by their numbers inside the cluster."""
    getattr(member, event)(*arguments)
    assert member.agent.heard == [heard]
    assert member.take_outputs() == outputs


@pytest.mark.parametrize("number", [-1, 3])
def test_a_message_to_no_node_of_the_cluster(number, member):
    """It is an error of the agent, which must not become a message to some other node."""
    member.agent.send(number, Note(0))
    with pytest.raises(LookupError, match=f"a message to node {number} of a cluster of 3"):
        member.on_link_down(2)


def test_links_to_other_clusters_are_ignored(member):
    """The agent does not learn of them."""
    member.on_link_up(FOREIGN)
    member.on_link_down(FOREIGN)
    assert not member.agent.heard
    assert not member.outbox


def test_a_message_from_another_cluster_is_refused(member):
    """It changes nothing."""
    before = member.state()
    with pytest.raises(PeerError, match="node 5: unexpected Note from node 7"):
        member.on_receive(FOREIGN, Note(1))
    assert member.state() == before


def test_outputs_that_wait_are_part_of_state_and_clone(member):
    """A clone has them too, in a list of its own."""
    before = member.state()
    member.on_timer("two")
    twin = member.clone()
    assert member.state() == twin.state() != before
    twin.outbox.clear()
    assert twin.state() != member.state()


def test_the_class_declares_what_the_algorithm_declares():
    """Drivers ask the class; it is made once for each algorithm."""
    kind = member_class(Probe)
    assert kind is member_class(Probe)
    for name in ("needs", "shares", "assumes_connected", "never_rests", "messages", "parameters", "summary"):
        assert getattr(kind, name) == getattr(Probe, name)


ONE_UNIT_EACH = [
    {"name": name, **({"k": 1} if hasattr(ALGORITHMS[name].parameters(), "k") else {})} for name in WITHOUT_GROUPS
]


@pytest.mark.parametrize("algorithm", ONE_UNIT_EACH, ids=WITHOUT_GROUPS)
def test_clones_are_exact_and_independent(algorithm):
    """At every step of a run: a clone has the same state, and stepping it leaves the original alone."""
    changing = {"kind": "random", "connectivity": 0.5, "link_change_rate": 0.05}
    world = prepare(algorithm=algorithm, clusters=2, topology=changing, duration=80.0).simulation
    receive, checked = world.driver.receive, 0

    def stepped(posts) -> None:
        nonlocal checked
        for post in posts:
            channel, message, *_ = post
            agent = world.driver.agents[channel.target]
            before, twin = agent.state(), agent.clone()
            assert type(twin) is type(agent)
            assert twin.state() == before
            assert hash(twin.state()) == hash(before)
            twin.on_receive(channel.source, message)
            assert agent.state() == before, "the clone shares state with its original"
            alone = channel.on_arrival is None  # else the link may fall with this message, and the agent hear of it
            receive([post])
            twin.outbox.clear()
            if alone:
                assert agent.state() == twin.state(), "the clone behaves differently"
                checked += 1

    world.driver.receive = stepped  # what a router calls
    if world.transport is world.links:
        world.deliver = stepped  # what the event loop calls
    world.run_all(lambda share: None)
    assert checked > 50
