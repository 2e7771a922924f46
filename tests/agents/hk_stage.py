"""h-out of-k on a stage: demands, random schedules, what must hold of every configuration, and a stage with a clock."""

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import combinations
from random import Random
from typing import Any, TypeVar

from agents.contract import ONE_UNIT, Demand, Status
from agents.hk import PrioritizedHOutOfK
from agents.message import tokens_of
from agents.outputs import Output, Send
from testbed.network.graph import Graph, random_connected
from tests.agents.rl_stage import change_link
from tests.agents.stage import Stage

Agents = type[PrioritizedHOutOfK]


class UnitStage(Stage):
    """A stage on which nodes demand several units, with priorities."""

    def request(self, node: int, demand: Demand = ONE_UNIT) -> None:
        self._step(node, f"RequestCS {demand.units} at {demand.priority}", lambda agent: agent.on_request(demand))

    def tokens(self) -> int:
        """All tokens, held and in transit, which are not the units."""
        held = sum(agent.tokens for agent in self.agents.values())
        return held + sum(tokens_of(message) for messages in self.channels.values() for message in messages)


def unit_stage(graph: Graph, agent: Agents = PrioritizedHOutOfK, **parameters: Any) -> UnitStage:
    """All nodes of a graph."""
    chosen = agent.parameters(**parameters)
    starts = agent.initial(graph.adjacency(), chosen)
    return UnitStage([agent(node, starts[node], chosen) for node in range(len(starts))], graph.links())


# -- random schedules ------------------------------------------------------------------------------------------------


def play(
    seed: int,
    agent: Agents = PrioritizedHOutOfK,
    *,
    static: bool = False,
    breaking: bool = False,
    **parameters: Any,
) -> UnitStage:
    """Random demands, releases, deliveries and link changes; then no more changes, and every request is served."""
    rng = Random(seed)
    nodes = rng.randint(2, 8)
    k = rng.randint(1, 5)
    graph = random_connected(nodes, rng.randint(nodes - 1, nodes * (nodes - 1) // 2), rng)
    stage = unit_stage(graph, agent, **{"k": k, **parameters})
    for _ in range(rng.randint(0, 400)):
        choice = rng.random()
        idle = [node for node, one in stage.agents.items() if one.status is Status.REMAINDER]
        if choice < 0.15 and idle:
            stage.request(rng.choice(idle), Demand(rng.randint(1, k), rng.randint(-3, 3)))
        elif choice < 0.30 and stage.inside:
            stage.release(rng.choice(sorted(stage.inside)))
        elif choice < 0.38 and breaking:
            break_link(stage, graph, rng)
        elif choice < 0.45 and not static:
            change_link(stage, graph, rng)
        elif stage.busy():
            stage.deliver(*rng.choice(stage.busy()))
        check_always(stage, k)
    settle(stage, rng, k)
    return stage


def break_link(stage: UnitStage, graph: Graph, rng: Random) -> None:
    """Break a link that is no bridge; what it carries comes back."""
    breakable = [link for link in graph.links() if not graph.is_bridge(*link)]
    if breakable:
        link = rng.choice(breakable)
        graph.remove(*link)
        stage.link_break(*link)


def settle(stage: UnitStage, rng: Random, k: int, limit: int = 20_000) -> None:
    """Deliver and release until no node waits or is inside; then all units are with the token again."""
    for _ in range(limit):
        busy = stage.busy()
        if stage.inside and (not busy or rng.random() < 0.1):
            stage.release(rng.choice(sorted(stage.inside)))
        elif busy:
            stage.deliver(*rng.choice(busy))
        else:
            break
        check_always(stage, k)
    assert not stage.waiting(), f"starved: {stage.waiting()}"
    assert not stage.busy(), f"still busy: {stage.busy()}"
    free = [agent.free for agent in stage.agents.values() if agent.tokens]
    assert free == [k], f"free units at the end: {free} of {k}"


def check_always(stage: UnitStage, k: int) -> None:
    """Theorem 1, one token, k units, and a node is in its own queue exactly while it waits."""
    in_use = sum(agent.in_use for agent in stage.agents.values())
    assert in_use <= k, f"{in_use} units in use, inside: {sorted(stage.inside)}"
    assert stage.units() == k, f"{stage.units()} units"
    assert stage.tokens() == 1, f"{stage.tokens()} tokens"
    for node, agent in stage.agents.items():
        queued = [claim.neighbour for claim in agent.queue]
        assert len(queued) == len(set(queued)), f"queue of node {node}: {queued}"
        assert (node in queued) == (agent.status is Status.WAITING), f"queue of node {node}: {queued}"
        assert bool(agent.in_use) == (node in stage.inside), f"units of node {node}"


# -- a stage with a clock ----------------------------------------------------------------------------------------------


class TimedStage(UnitStage):
    """Every message takes one time unit. `entered` has the time and node of each entry, `sent` counts messages."""

    def __init__(self, agents: Iterable[PrioritizedHOutOfK], links: Iterable[tuple[int, int]]) -> None:
        super().__init__(agents, links)
        self.now = 0.0
        self.stays: dict[int, float] = {}  # how long a node stays inside, if not 10
        self.entered: list[tuple[float, int]] = []
        self.sent: Counter[str] = Counter()
        self._agenda: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._number = 0

    def at(self, time: float, do: Callable[..., None], *arguments: Any) -> None:
        """Do something at a time; what falls on the same time is done in the order in which it was asked for."""
        self._number += 1
        heappush(self._agenda, (time, self._number, do, arguments))

    def run(self, until: float) -> None:
        """Do all that is due before a time."""
        while self._agenda and self._agenda[0][0] < until:
            self.now, _, do, arguments = heappop(self._agenda)
            do(*arguments)

    def order(self) -> list[int]:
        """The nodes in order of their entries."""
        return [node for _, node in self.entered]

    def _carry_out(self, node: int, output: Output) -> None:
        super()._carry_out(node, output)
        if isinstance(output, Send):
            self.sent[type(output.message).__name__] += 1
            self.at(self.now + 1, self.deliver, node, output.peer)
        else:
            self.entered.append((self.now, node))
            self.at(self.now + self.stays.get(node, 10), self.release, node)


class BusyStage(TimedStage):
    """Nodes ask again and again: `think` and `demand` say when and for what."""

    def start(self, nodes: Iterable[int], think: Callable[[], float], demand: Callable[[int], Demand]) -> None:
        self.think, self.demand = think, demand
        self.asked: dict[int, float] = {}  # when each pending request was made
        self.waited: list[float] = []  # by the requests that were served
        for node in nodes:
            self.at(think(), self.request, node)

    def request(self, node: int, demand: Demand | None = None) -> None:
        self.asked[node] = self.now
        super().request(node, demand or self.demand(node))

    def release(self, node: int) -> None:
        super().release(node)
        self.at(self.now + self.think(), self.request, node)

    def _carry_out(self, node: int, output: Output) -> None:
        super()._carry_out(node, output)
        if not isinstance(output, Send):
            self.waited.append(self.now - self.asked.pop(node))


Timed = TypeVar("Timed", bound=TimedStage)


def timed_stage(graph: Graph, agent: Agents, kind: type[Timed], **parameters: Any) -> Timed:
    """The nodes of a graph on a stage with a clock."""
    chosen = agent.parameters(**parameters)
    starts = agent.initial(graph.adjacency(), chosen)
    return kind([agent(node, starts[node], chosen) for node in range(len(starts))], graph.links())


def complete(nodes: int) -> Graph:
    """Every two nodes are neighbours."""
    return Graph(nodes, combinations(range(nodes), 2))


def burst(seed: int, agent: Agents, k: int, **parameters: Any) -> tuple[TimedStage, dict[int, Demand]]:
    """On a random graph one node blocks all units; each other node asks once, and all is known when it leaves."""
    rng = Random(seed)
    nodes = rng.randint(4, 12)
    graph = random_connected(nodes, rng.randint(nodes - 1, nodes * (nodes - 1) // 2), rng)
    stage = timed_stage(graph, agent, TimedStage, k=k, **parameters)
    blocker, *others = rng.sample(range(nodes), nodes)
    priorities = iter(rng.sample(range(nodes), nodes))
    demands = {}
    stage.stays = {blocker: 300.0}
    stage.at(0.0, stage.request, blocker, Demand(k))
    for node in others:
        demands[node] = Demand(1, next(priorities)) if k == 1 else fewest_first(rng.randint(1, k))
        stage.at(100 + 50 * rng.random(), stage.request, node, demands[node])
    return stage, demands


def fewest_first(units: int) -> Demand:
    """A demand whose priority is higher the less it asks for."""
    return Demand(units, -units)
