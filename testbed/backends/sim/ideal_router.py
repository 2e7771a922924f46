"""Ideal routing, for algorithms that address any node: current shortest paths, known to every node at no cost.

This is the best case, which the RL paper assumes for its baseline. A message goes hop by hop, each over a real link
with its delay; each node on the path chooses the next hop by the links that there are then. A message is charged for
every hop. Between two nodes messages arrive exactly once and in order: one that overtook another on a shorter path
waits for it. Where there is no path, a message waits until a link forms.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.message import Message, tokens_of
from testbed.backends.sim.ideal_links import HopDelay, IdealLinks
from testbed.event_queue import EventQueue
from testbed.network.graph import Graph
from testbed.runtime.channel import Channel, Post
from testbed.runtime.processing_costs import ProcessingCosts

if TYPE_CHECKING:
    from testbed.runtime.driver import Driver


@dataclass(slots=True)
class RoutedMessage:
    """A message between two nodes, in transit over the links between them."""

    channel: Channel  # from its source to its destination, however far apart
    message: Message
    number: int

    @property
    def units(self) -> int:
        """What the message carries."""
        return self.message.units

    @property
    def tokens(self) -> int:
        """The tokens that the message carries."""
        return tokens_of(self.message)


class IdealRouter:
    """Stands between the driver, which knows sources and destinations, and the links, which know neighbours."""

    def __init__(
        self,
        queue: EventQueue,
        driver: Driver,
        graph: Graph,
        hop: HopDelay,
        costs: ProcessingCosts,
        max_lag: int | None = None,
        *,
        may_part: bool = True,
    ) -> None:
        self._queue = queue
        self._driver = driver
        self._hops: dict[int, dict[int, Channel]] = {node: {} for node in range(graph.nodes)}
        self._distances: dict[int, dict[int, int]] = {}  # by destination; forgotten when a link forms or fails
        self._early: dict[Channel, dict[int, Message]] = {}  # arrived before another that was sent earlier
        self._lost: dict[Channel, set[int]] = {}  # lost with a node on their path, and not yet passed over
        self._stranded: list[tuple[int, RoutedMessage]] = []  # at which node they are, without a path to their target
        self.links = IdealLinks(queue, self, self._hops, graph, hop, costs, max_lag, may_part=may_part)

    # -- from the driver ---------------------------------------------------------------------------------------------

    def move(self, posts: list[Post]) -> None:
        """Send messages on their first hop."""
        for channel, message, number, _ in posts:
            self._forward(channel.source, RoutedMessage(channel, message, number))

    def in_transit(self) -> list[tuple[int, Post]]:
        """Every message between its source and its destination, as a post of its current hop."""
        stranded = [(0, (Channel(node, node), routed, 0, None)) for node, routed in self._stranded]
        early = [
            (0, (Channel(channel.target, channel.target), RoutedMessage(channel, message, number), 0, None))
            for channel, messages in self._early.items()
            for number, message in messages.items()
        ]
        return [*self.links.in_transit(), *stranded, *early]

    def tear(self, node: int) -> list[Post]:
        """The messages that are lost with a node that has crashed, as posts from source to destination."""
        lost = [post[1] for post in self.links.tear(node)]
        lost += [routed for where, routed in self._stranded if where == node]
        self._stranded = [(where, routed) for where, routed in self._stranded if where != node]
        for channel in [channel for channel in self._early if channel.target == node]:
            lost += [RoutedMessage(channel, message, number) for number, message in self._early.pop(channel).items()]
        for routed in lost:
            self._lost.setdefault(routed.channel, set()).add(routed.number)
            # Later messages must not wait for it; they are delivered after the node and its links have been removed.
            self._queue.at(self._queue.now, self._catch_up, routed.channel)
        return [self._driver.post(routed.channel, routed.message, routed.number) for routed in lost]

    # -- from the links ----------------------------------------------------------------------------------------------

    def receive(self, posts: list[Post]) -> None:
        """Messages have made a hop."""
        for hop, routed, number, _ in posts:
            hop.arrived = number
            if hop.target == routed.channel.target:
                self._arrive(routed)
            else:
                self._driver.relayed(hop.target, routed.channel, routed.message, routed.number)
                self._forward(hop.target, routed)
            if hop.on_arrival is not None:
                hop.on_arrival(hop)

    def link_up(self, node: int, peer: int) -> None:
        """A link has formed; messages that were stranded may go on."""
        self._distances.clear()
        self._driver.link_up(node, peer)
        stranded, self._stranded = self._stranded, []
        for where, routed in stranded:
            self._forward(where, routed)

    def link_down(self, node: int, peer: int, lag: int) -> None:
        """A link has failed."""
        self._distances.clear()
        self._driver.link_down(node, peer, lag)

    def give_back(self, posts: list[Post]) -> None:
        """The link of some messages has gone: they take another path from where they are."""
        for hop, routed, _, _ in posts:
            self._forward(hop.source, routed)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _arrive(self, routed: RoutedMessage) -> None:
        self._early.setdefault(routed.channel, {})[routed.number] = routed.message
        self._catch_up(routed.channel)

    def _catch_up(self, channel: Channel) -> None:
        """Deliver the messages that have arrived and are next in order; lost ones are passed over."""
        early, lost = self._early.get(channel, {}), self._lost.get(channel, set())
        while (number := channel.arrived + 1) in early or number in lost:
            if number in early:
                self._driver.receive([self._driver.post(channel, early.pop(number), number)])
            else:
                lost.remove(number)
                channel.arrived = number
        for kept, what in ((self._early, early), (self._lost, lost)):
            if not what:
                kept.pop(channel, None)

    def _forward(self, node: int, routed: RoutedMessage) -> None:
        onward = self._next_hop(node, routed.channel.target)
        if onward is None:
            self._stranded.append((node, routed))
            return
        onward.sent += 1
        self.links.move([(onward, routed, onward.sent, None)])

    def _next_hop(self, node: int, target: int) -> Channel | None:
        """The channel to the neighbour nearest to the target, the lowest number if there are several."""
        distance = self._distances.get(target)
        if distance is None:
            distance = self._distances[target] = self._distances_to(target)
        if node not in distance:
            return None
        nearer = distance[node] - 1
        return self._hops[node][min(peer for peer in self._hops[node] if distance[peer] == nearer)]

    def _distances_to(self, target: int) -> dict[int, int]:
        distance = {target: 0}
        frontier = deque([target])
        while frontier:
            node = frontier.popleft()
            for peer in self._hops[node]:
                if peer not in distance:
                    distance[peer] = distance[node] + 1
                    frontier.append(peer)
        return distance
