"""BV as printed fails; each run here is named in the Deviations of `agents.bv`."""

from random import Random

import pytest

from agents.bv import BV, BVParameters
from testbed.network.graph import complete
from testbed.runtime.breach import AgentError
from tests.agents.any_node_stage import AnyNodeStage
from tests.agents.bv_variants import KeptNodeQueue, ProseRequest, ProseToken, RearOfQueue
from tests.agents.random_runs import run_once
from tests.agents.rl_variants import registered

RANDOM = {"name": "bv", "choice": "random"}


def stage_of(nodes: int, parameters: BVParameters) -> AnyNodeStage:
    """As many nodes as given, from the start."""
    starts = BV.initial(complete(nodes).adjacency(), parameters)
    return AnyNodeStage({node: BV(node, starts[node], parameters, Random(node)) for node in range(nodes)})


def late_inform(*, literal: bool) -> AnyNodeStage:
    """The token goes from 0 to 2, 1 and 2 again while an INFORM from 0 to 1 is in transit; then it arrives."""
    stage = stage_of(3, BVParameters(k=1, v=2, literal_inform=literal))

    def ask(*path: tuple[int, int]) -> None:
        """The first node asks; the request goes along the path, and stays if its end is inside."""
        stage.request(path[0][0])
        for source, target in path:
            stage.deliver(source, target)

    def pass_on(source: int, target: int) -> None:
        stage.release(source)
        stage.deliver(source, target)

    stage.request(0)
    stage.release(0)
    stage.deliver(0, 2)  # the INFORM to 2; the one to 1 is slow
    ask((2, 0), (0, 2))
    ask((1, 0), (0, 2))
    pass_on(2, 1)
    ask((2, 1))
    pass_on(1, 2)
    assert stage.inside == {2}
    stage.deliver(0, 1)
    stage.request(1)
    return stage


def test_a_late_inform_starves_a_node():
    """Deviation 1: the pointers of 0 and 1 lead to each other, and the request of 1 comes back to it."""
    stage = late_inform(literal=True)
    assert [stage.agents[node].pointer for node in (0, 1)] == [[1], [0]]
    stage.deliver_all()
    stage.release(2)
    stage.deliver_all()
    assert stage.waiting() == [1]
    assert stage.agents[1].node_queue == [1], "its own request"


def test_an_older_inform_is_ignored():
    """Deviation 1."""
    stage = late_inform(literal=False)
    assert stage.agents[1].pointer == [2]
    stage.deliver_all()
    stage.release(2)
    stage.deliver_all()
    assert stage.inside == {1}


@pytest.mark.parametrize(("seed", "parameters"), [(46, {"k": 1}), (579, {"k": 2, "choice": "random"})])
def test_the_literal_inform_starves_in_random_runs(seed, parameters):
    """Deviation 1, with one token and with two."""
    algorithm = {"name": "bv", **parameters}
    literal = run_once(seed, algorithm={**algorithm, "literal_inform": True})
    assert list(literal.failures) == ["starvation", "progress"]
    assert not run_once(seed, algorithm=algorithm).failures


@pytest.mark.parametrize(("variant", "seed"), [(KeptNodeQueue, 0), (ProseRequest, 0)])
def test_a_request_comes_back_to_its_node(variant, seed):
    """Deviations 2 and 3: pointers form a cycle, so that a node is to send its own request to itself."""
    with (
        registered(variant, "bv"),
        pytest.raises(AgentError, match=r"in on_receive\(.*: send\(\d, Request\(.*: a node does not send to itself"),
    ):
        run_once(seed, algorithm=RANDOM)
    assert not run_once(seed, algorithm=RANDOM).failures


@pytest.mark.parametrize(("variant", "seed"), [(ProseToken, 19), (RearOfQueue, 17)])
def test_a_node_starves(variant, seed):
    """Deviation 3, and why the paper defines the last unmodified node."""
    with registered(variant, "bv"):
        assert list(run_once(seed, algorithm=RANDOM).failures) == ["starvation", "progress"]
    assert not run_once(seed, algorithm=RANDOM).failures
