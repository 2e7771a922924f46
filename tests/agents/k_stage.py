"""KRL and its kin on a stage: random schedules, and what must hold of every configuration."""

from random import Random

from agents.contract import Status
from agents.krl import KParameters, KReverseLink
from testbed.network.graph import Graph, random_connected
from tests.agents.rl_stage import change_link
from tests.agents.stage import Stage


def random_k_stage(seed: int, agent: type[KReverseLink] = KReverseLink) -> tuple[Stage, Graph, Random, int]:
    """Two to nine nodes on a random connected graph, and one to n-1 tokens."""
    rng = Random(seed)
    nodes = rng.randint(2, 9)
    k = rng.randint(1, nodes - 1)
    graph = random_connected(nodes, rng.randint(nodes - 1, nodes * (nodes - 1) // 2), rng)
    starts = agent.initial(graph.adjacency(), KParameters(k))
    return Stage([agent(node, starts[node]) for node in range(nodes)], graph.links()), graph, rng, k


def play(seed: int, agent: type[KReverseLink] = KReverseLink, *, static: bool = False) -> Stage:
    """Random requests, releases, deliveries and link changes; then no more changes, and every request is served."""
    stage, graph, rng, k = random_k_stage(seed, agent)
    for _ in range(rng.randint(0, 400)):
        choice = rng.random()
        idle = [node for node, one in stage.agents.items() if one.status is Status.REMAINDER]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.30 and stage.inside:
            stage.release(rng.choice(sorted(stage.inside)))
        elif choice < 0.45 and not static:
            change_link(stage, graph, rng)
        elif stage.busy():
            stage.deliver(*rng.choice(stage.busy()))
        check_always(stage, k)
    settle(stage, rng, k)
    return stage


def settle(stage: Stage, rng: Random, k: int, limit: int = 20_000) -> None:
    """Deliver and release until no node waits or is inside. Tokens that are forwarded never come to rest."""
    for _ in range(limit):
        if not stage.waiting() and not stage.inside:
            return
        busy = stage.busy()
        if stage.inside and (not busy or rng.random() < 0.1):
            stage.release(rng.choice(sorted(stage.inside)))
        elif busy:
            stage.deliver(*rng.choice(busy))
        else:
            break
        check_always(stage, k)
    raise AssertionError(f"starved: {stage.waiting()}")


def check_always(stage: Stage, k: int) -> None:
    """Theorem 1: at most k inside, exactly k tokens; and a node is in its own queue exactly while it waits."""
    assert len(stage.inside) <= k, f"in the CS together: {sorted(stage.inside)}"
    assert stage.units() == k, f"{stage.units()} tokens"
    for node, agent in stage.agents.items():
        assert isinstance(agent, KReverseLink)
        assert (node in agent.queue) == (agent.status is Status.WAITING), f"queue of node {node}"
