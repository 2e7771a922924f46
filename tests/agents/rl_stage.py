"""RL on a stage: the figures' network, random schedules, and what must hold of every configuration."""

from random import Random

from agents.contract import Status
from agents.rl import Initial, ReverseLink
from testbed.network.graph import Graph, random_connected
from tests.agents.stage import Stage

FIGURE_LINKS = ((0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
FIGURE_HEIGHTS = ((0, 0, 0), (0, 2, 1), (0, 2, 2), (0, 1, 3))


def figure_stage() -> Stage:
    """Four nodes as the text describes Figures 3 and 4: node 1's only outgoing link is to 3, nodes 2 and 3 border 0."""
    peers = {i: [b if a == i else a for a, b in FIGURE_LINKS if i in (a, b)] for i in range(4)}
    agents = [
        ReverseLink(i, Initial(FIGURE_HEIGHTS[i], tuple(FIGURE_HEIGHTS[j] for j in peers[i]), i == 0)) for i in range(4)
    ]
    return Stage(agents, FIGURE_LINKS)


def figure_a() -> Stage:
    """Figure 3(a) and 4(a): node 0 is in its CS; 3 and then 2 have asked it for the token."""
    stage = figure_stage()
    stage.note("(a)")
    stage.request(0)
    for node in (3, 2):
        stage.request(node)
        stage.deliver(node, 0)
    return stage


def snapshot(stage: Stage) -> str:
    """What the figures show of every node: height, queue, next, token."""
    rows = []
    for node, agent in sorted(stage.agents.items()):
        assert isinstance(agent, ReverseLink)
        holder = " token" if agent.token_holder else ""
        status = agent.status.name.lower()
        rows.append(f"   {node} {agent.my_height} Q={agent.queue} next={agent.next} {status}{holder}")
    return "\n".join(rows)


def random_stage(rng: Random, nodes: int, agent: type[ReverseLink] = ReverseLink) -> tuple[Stage, Graph]:
    """A stage on a random connected graph."""
    links = rng.randint(nodes - 1, nodes * (nodes - 1) // 2)
    graph = random_connected(nodes, links, rng)
    starts = agent.initial(graph.adjacency(), None)
    return Stage([agent(node, starts[node]) for node in range(nodes)], graph.links()), graph


def play(stage: Stage, graph: Graph, rng: Random, steps: int) -> None:
    """Random requests, releases, deliveries and link changes; then no more changes, and every request is served."""
    for _ in range(steps):
        choice = rng.random()
        idle = [node for node, agent in stage.agents.items() if agent.status is Status.REMAINDER]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle))
        elif choice < 0.30 and stage.inside:
            stage.release(min(stage.inside))
        elif choice < 0.45:
            change_link(stage, graph, rng)
        elif stage.busy():
            stage.deliver(*rng.choice(stage.busy()))
        check_always(stage)
    settle(stage, rng)


def change_link(stage: Stage, graph: Graph, rng: Random) -> None:
    """Remove a random idle link that is no bridge, or form a random new one."""
    if rng.random() < 0.5:
        candidates = [link for link in graph.links() if stage.is_idle(*link) and not graph.is_bridge(*link)]
        if candidates:
            link = rng.choice(candidates)
            graph.remove(*link)
            stage.link_down(*link)
    else:
        new = graph.draw_absent(rng, lambda a, b: True)
        if new is not None:
            graph.add(*new)
            stage.link_up(*new)


def settle(stage: Stage, rng: Random) -> None:
    """Deliver everything and let every node leave, until no request is pending."""
    for _ in range(10 * len(stage.agents)):
        stage.deliver_all(rng)
        check_always(stage)
        if not stage.inside:
            break
        stage.release(min(stage.inside))
    assert not stage.waiting(), f"starved: {stage.waiting()}"
    check_quiet(stage)


def check_always(stage: Stage) -> None:
    """Theorem 1 and Lemma 4(a), in every configuration."""
    assert len(stage.inside) <= 1, f"in the CS together: {sorted(stage.inside)}"
    assert stage.units() == 1, f"{stage.units()} tokens"
    for node, agent in stage.agents.items():
        assert isinstance(agent, ReverseLink)
        assert (node in agent.queue) == (agent.status is Status.WAITING), f"Lemma 4(a) at node {node}"


def check_quiet(stage: Stage) -> None:
    """Lemma 3, with nothing in transit: the links as the nodes see them have no cycle and lead to the token holder."""
    downhill = {}
    for node, agent in stage.agents.items():
        assert isinstance(agent, ReverseLink)
        downhill[node] = [peer for peer, height in agent.height.items() if height < agent.my_height]
        assert agent.token_holder or downhill[node], f"node {node} is a sink and holds no token"
    holder = next(node for node, agent in stage.agents.items() if agent.units)
    order: list[int] = []
    remaining = dict(downhill)
    while remaining:
        free = [node for node, below in remaining.items() if all(peer not in remaining for peer in below)]
        assert free, f"a cycle among {sorted(remaining)}"
        order += sorted(free)
        for node in free:
            del remaining[node]
    reaches = {holder}
    for node in order:
        if any(peer in reaches for peer in downhill[node]):
            reaches.add(node)
    assert reaches == set(stage.agents), f"no way to the token from {sorted(set(stage.agents) - reaches)}"
