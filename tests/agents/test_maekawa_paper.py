"""Maekawa's algorithm with Sanders' correction, claim by claim."""

from itertools import combinations
from random import Random

import pytest

from agents.contract import ONE_UNIT, Status
from agents.maekawa import Failed, Inquire, Locked, Maekawa, Release, Relinquish, Request, quorum_of
from agents.message import Message
from agents.outputs import Enter, Output, Send
from tests.agents.any_node_stage import AnyNodeStage, drain
from tests.agents.random_runs import is_caught
from tests.testbed.simulate import all_ok, simulate

NAME = "maekawa"


def member() -> Maekawa:
    """Node 5, which is a member of quorums and asks for nothing itself."""
    return Maekawa(5, (5,))


def requester() -> Maekawa:
    """Node 5, which waits for nodes 1 and 9 and has granted its own request."""
    agent = Maekawa(5, (1, 5, 9))
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    return agent


def received(agent: Maekawa, peer: int, message: Message) -> list[Output]:
    """What an agent does about a message."""
    agent.on_receive(peer, message)
    return agent.take_outputs()


def network(nodes: int, agent: type[Maekawa] = Maekawa) -> dict[int, Maekawa]:
    return {node: agent(node, quorum_of(node, nodes)) for node in range(nodes)}


# -- quorums -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", range(1, 121))
def test_any_two_quorums_have_a_common_member(nodes: int):
    """Also where the last row of the grid is incomplete. Its own node is a member, and about 2 sqrt(N) are."""
    quorums = [quorum_of(node, nodes) for node in range(nodes)]
    for node, quorum in enumerate(quorums):
        assert node in quorum
        assert list(quorum) == sorted(set(quorum))
        assert set(quorum) <= set(range(nodes))
        assert len(quorum) <= 2 * (nodes**0.5 + 1) - 1
    assert all(set(one) & set(other) for one, other in combinations(quorums, 2))


# -- the requester -----------------------------------------------------------------------------------------------------


def test_it_enters_with_the_grants_of_its_quorum():
    """What it says to itself is no message."""
    agent = Maekawa(5, (1, 5, 9))
    agent.on_request(ONE_UNIT)
    assert agent.take_outputs() == [Send(1, Request(1)), Send(9, Request(1))]
    assert received(agent, 1, Locked()) == []
    assert agent.awaits() == {9}
    assert received(agent, 9, Locked()) == [Enter()]
    agent.on_release()
    assert agent.take_outputs() == [Send(1, Release()), Send(9, Release())]
    assert agent.awaits() == frozenset()


def test_a_node_alone_enters_at_once():
    agent = Maekawa(0, quorum_of(0, 1))
    for _ in range(2):
        agent.on_request(ONE_UNIT)
        assert agent.take_outputs() == [Enter()]
        agent.on_release()
        assert agent.take_outputs() == []


def test_a_requester_that_has_failed_relinquishes():
    agent = requester()
    received(agent, 1, Locked())
    assert received(agent, 9, Failed()) == []
    assert received(agent, 1, Inquire()) == [Send(1, Relinquish())]
    assert agent.awaits() == {1, 9}


def test_a_requester_that_does_not_know_keeps_the_inquiry_until_it_does():
    agent = requester()
    received(agent, 1, Locked())
    assert received(agent, 1, Inquire()) == []
    assert received(agent, 9, Failed()) == [Send(1, Relinquish())]


def test_a_requester_that_has_relinquished_cannot_have_all_its_grants():
    """It relinquishes more, until the member that it relinquished to has granted again."""
    agent = Maekawa(5, (1, 5, 7, 9))
    agent.on_request(ONE_UNIT)
    for peer in (1, 7):
        received(agent, peer, Locked())
    received(agent, 9, Failed())
    received(agent, 1, Inquire())
    received(agent, 9, Locked())
    assert received(agent, 7, Inquire()) == [Send(7, Relinquish())]
    for peer in (1, 7):
        received(agent, peer, Locked())
    assert agent.status is Status.CRITICAL


def test_a_requester_with_all_its_grants_ignores_inquiries():
    """Those that it has kept, too: RELEASE answers them."""
    agent = requester()
    received(agent, 1, Locked())
    received(agent, 1, Inquire())
    assert received(agent, 9, Locked()) == [Enter()]
    assert received(agent, 9, Inquire()) == []
    agent.on_release()
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    assert received(agent, 9, Failed()) == [], "an inquiry about the last request is not kept for the next"


def test_an_inquiry_about_a_grant_that_was_given_back_is_ignored():
    agent = requester()
    for peer in (1, 9):
        received(agent, peer, Locked())
    agent.on_release()
    agent.take_outputs()
    assert received(agent, 1, Inquire()) == [], "it asks for nothing"
    agent.on_request(ONE_UNIT)
    agent.take_outputs()
    received(agent, 9, Failed())
    assert received(agent, 1, Inquire()) == [], "it has asked anew, and node 1 has not granted that"


def test_a_requester_is_its_own_member():
    """It inquires itself without a message, and relinquishes to itself as soon as it has failed."""
    agent = requester()
    assert received(agent, 1, Request(1)) == [], "node 1 is older; node 5 does not know yet whether it fails"
    assert received(agent, 9, Failed()) == [Send(1, Locked())]
    assert agent.awaits() == {1, 9}, "itself is not named, but the node that has its grant"


# -- the member --------------------------------------------------------------------------------------------------------


def test_a_member_grants_one_request_at_a_time_and_the_oldest_next():
    agent = member()
    assert received(agent, 7, Request(1)) == [Send(7, Locked())]
    for peer, clock in ((9, 2), (8, 3), (6, 3)):
        assert received(agent, peer, Request(clock)) == [Send(peer, Failed())]
    assert agent.awaits() == {7}, "a member awaits the node that has its grant"
    for holder, following in ((7, 9), (9, 6), (6, 8)):
        assert received(agent, holder, Release()) == [Send(following, Locked())]
    assert received(agent, 8, Release()) == []
    assert agent.awaits() == frozenset()


def test_a_member_inquires_once_for_an_older_request():
    agent = member()
    received(agent, 7, Request(4))
    assert received(agent, 9, Request(2)) == [Send(7, Inquire())]
    assert received(agent, 8, Request(3)) == [Send(8, Failed())], "older than the granted one, but not the oldest"
    assert received(agent, 7, Relinquish()) == [Send(9, Locked())]
    assert received(agent, 9, Release()) == [Send(8, Locked())]
    assert received(agent, 8, Release()) == [Send(7, Locked())], "the request that was relinquished waited on"


def test_a_waiting_request_fails_when_an_older_one_displaces_it():
    """Sanders' correction; and the holder of the grant is not inquired twice."""
    agent = member()
    received(agent, 7, Request(4))
    received(agent, 9, Request(3))
    assert received(agent, 8, Request(2)) == [Send(9, Failed())]
    assert received(agent, 6, Request(1)) == [Send(8, Failed())]


def test_of_equal_clocks_the_lower_node_is_older():
    agent = member()
    received(agent, 7, Request(1))
    assert received(agent, 9, Request(1)) == [Send(9, Failed())]
    assert received(agent, 6, Request(1)) == [Send(7, Inquire())]


def test_a_request_is_younger_than_all_that_its_node_has_seen():
    agent = requester()
    received(agent, 9, Request(7))
    for peer in (1, 9):
        received(agent, peer, Locked())
    agent.on_release()
    agent.take_outputs()
    agent.on_request(ONE_UNIT)
    assert Send(1, Request(8)) in agent.take_outputs()


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nodes", [2, 3, 7, 9, 13, 25])
def test_three_messages_per_other_member_without_contention(nodes: int):
    """Exactly 3(|Q| - 1) for the entry of every node."""
    for node in range(nodes):
        stage = AnyNodeStage(network(nodes))
        stage.request(node)
        stage.deliver_all()
        stage.release(node)
        stage.deliver_all()
        sent = [line for line in stage.script if line.strip().startswith("Send")]
        assert len(sent) == 3 * (len(quorum_of(node, nodes)) - 1)


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0, 100.0])
def test_at_most_five_messages_per_other_member(rate: float):
    """More than 3(|Q| - 1) and at most 5(|Q| - 1) per entry under contention."""
    hop = {"exponential": 1.0}
    run = simulate(
        algorithm=NAME, topology="complete", nodes=16, workload={"rate": rate}, delays={"hop": hop}, entries=500
    )
    assert run.verdicts == all_ok(NAME)
    assert 3 * (7 - 1) < run.audit.metrics()["messages_per_cs"] <= 5 * (7 - 1)


# -- crashes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("node", range(9))
def test_a_crash_excuses_those_that_wait_behind_it(node: int):
    """Also those that wait for a member that is alive, if the node that has its grant is blocked by the crash."""
    run = simulate(
        algorithm=NAME,
        nodes=9,
        topology="complete",
        workload={"rate": 1.0},
        faults=[{"at": 100.0, "kind": "crash", "node": node}],
        drain=500.0,
    )
    assert run.verdicts == all_ok(NAME)
    assert "waits for a node that crashed" in run.details["starvation"]


# -- deadlocks, and other mutants --------------------------------------------------------------------------------------


class WithoutInquiries(Maekawa):
    """The algorithm without its deadlock avoidance."""

    def tell(self, nodes: tuple[int, ...], message: Message) -> None:
        if not isinstance(message, Inquire):
            super().tell(nodes, message)


class WithoutLateFailed(Maekawa):
    """The algorithm as printed in 1985: a waiting request that an older one displaces is not told."""

    def on_request_message(self, j: int, message: Request) -> None:
        self.arriving = j
        super().on_request_message(j, message)

    def tell(self, nodes: tuple[int, ...], message: Message) -> None:
        if not isinstance(message, Failed) or nodes == (self.arriving,):
            super().tell(nodes, message)


class Impatient(Maekawa):
    """Enters with one grant missing."""

    def on_locked(self, j: int, message: Locked) -> None:
        if len(self.awaited) == 2:
            self.awaited.clear()
        super().on_locked(j, message)


class ForgetfulMember(Maekawa):
    """Drops a request whose grant was relinquished."""

    def on_relinquish(self, j: int, message: Relinquish) -> None:
        self.on_release_message(j, Release())


class LateLoser(Maekawa):
    """Keeps the inquiries that it should answer when it learns that it has failed."""

    def on_failed(self, j: int, message: Failed) -> None:
        self.failed.add(j)


MUTANTS = (WithoutInquiries, Impatient, ForgetfulMember, LateLoser)


def deadlock(agent: type[Maekawa]) -> AnyNodeStage:
    """Nodes 1, 3 and 4 of a grid of two rows of three ask at the same time; what happens after 17 deliveries.

    Node 0 has granted 3, and would rather grant 1. At node 4, whose own request has failed, 3 is displaced by 1. Node 3
    has to learn of it, or it keeps node 0's inquiry for ever.
    """
    stage = AnyNodeStage(network(6, agent))
    for node in (1, 4, 3):
        stage.request(node)
    arrivals = "30 12 21 03 35 34 14 53 43 34 10 45 03 41 54 14 41"
    for source, target in arrivals.split():
        stage.deliver(int(source), int(target))
    return stage


def test_without_sanders_correction_three_nodes_wait_for_ever():
    stage = deadlock(WithoutLateFailed)
    assert stage.waiting() == [1, 3, 4]
    assert not stage.busy(), "no message is in transit"


def test_with_sanders_correction_they_do_not():
    stage = deadlock(Maekawa)
    assert stage.channels[4, 3][0] == Failed()
    drain(stage, Random(0), capacity=1)
    assert stage.entries == 3


def test_without_inquiries_two_nodes_wait_for_ever():
    """Each of two nodes has granted its own request. With inquiries, the older one is served, and then the other."""
    for agent, entries in ((WithoutInquiries, 0), (Maekawa, 2)):
        stage = AnyNodeStage(network(2, agent))
        for node in (0, 1):
            stage.request(node)
        stage.deliver_all()
        while stage.inside:
            stage.release(min(stage.inside))
            stage.deliver_all()
        assert stage.entries == entries


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.__name__)
def test_mutants_are_caught(mutant: type[Maekawa]):
    assert is_caught(mutant, NAME), mutant.__doc__
