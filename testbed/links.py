"""Ideal links: reliable, FIFO, announced. And the papers' Poisson link changes over them.

A link that is to fall while messages are in transit on it is kept until the first instant it is empty; both ends may go
on using it until then. How long it was kept is the `lag` of its link_down events. What is drawn never depends on
traffic: the plan of links changes at once, and only the falling waits.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

from agents.message import Message
from analysis.events import TICKS
from testbed.durations import to_ticks
from testbed.eventqueue import EventQueue
from testbed.graph import Graph, Link, link_of
from testbed.scenario import Delays
from testbed.streams import Streams

if TYPE_CHECKING:
    from testbed.driver import Driver


class Channel:
    """One direction of a link."""

    __slots__ = ("in_flight", "latest", "source", "target")

    def __init__(self, source: int, target: int) -> None:
        self.source = source
        self.target = target
        self.in_flight = 0
        self.latest = 0  # when the last message sent so far arrives: no later one may overtake it


class IdealLinks:
    """Moves messages between neighbours, and tells the driver when links form and fail."""

    def __init__(self, queue: EventQueue, driver: Driver, graph: Graph, delays: Delays, streams: Streams) -> None:
        self._queue = queue
        self._driver = driver
        self._hop = delays.hop.sampler(streams.of("delay"))
        self._send_cost, self._receive_cost = to_ticks(delays.send), to_ticks(delays.receive)
        self._cpu_free = [0] * graph.nodes  # when each node has done with the messages it is handling
        self._channels: list[dict[int, Channel]] = [{} for _ in range(graph.nodes)]
        self._closing: dict[Link, int] = {}  # links to fall once they are empty, and since when
        self._reopen: set[Link] = set()  # of those, the ones that are to form again at once
        self.doomed: list[tuple[int | None, str | None]] = []  # messages to lose: by sender, by type
        for a, b in graph.links():
            self._connect(a, b)

    # -- messages ----------------------------------------------------------------------------------------------------

    def send(self, source: int, target: int, message: Message, ident: int) -> None:
        """Put a message on its way."""
        channel = self._channels[source].get(target)
        if channel is None:
            self._lose(source, target, message, ident, "no link")
            return
        if self.doomed and self._is_doomed(source, message):
            self._lose(source, target, message, ident, "fault")
            return
        leaves = self._queue.now
        if self._send_cost:
            leaves = self._cpu_free[source] = max(leaves, self._cpu_free[source]) + self._send_cost
        channel.latest = arrives = max(leaves + self._hop(), channel.latest)
        channel.in_flight += 1
        self._queue.at(arrives, self._arrive if self._receive_cost else self._deliver, channel, message, ident)

    def _arrive(self, channel: Channel, message: Message, ident: int) -> None:
        """The message is there; the node must still handle it, after those before it."""
        free = self._cpu_free
        done = free[channel.target] = max(self._queue.now, free[channel.target]) + self._receive_cost
        self._queue.at(done, self._deliver, channel, message, ident)

    def _deliver(self, channel: Channel, message: Message, ident: int) -> None:
        channel.in_flight -= 1
        self._driver.receive(channel.target, channel.source, message, ident)
        if self._closing:
            self._fall_if_empty(link_of(channel.source, channel.target))

    def _is_doomed(self, source: int, message: Message) -> bool:
        for index, (sender, type_name) in enumerate(self.doomed):
            by_sender = source == sender if sender is not None else message.units > 0
            if by_sender and type_name in (None, type(message).__name__):
                del self.doomed[index]
                return True
        return False

    def _lose(self, source: int, target: int, message: Message, ident: int, why: str) -> None:
        listener, now = self._driver.listener, self._queue.now
        listener.lost(now, source, target, ident, type(message).__name__, message.units, why)

    def in_transit(self) -> Iterator[tuple[int, int, Message]]:
        """The messages on their way, in order: when each arrives and who sent it."""
        for t, channel, message, _ in self._flying():
            yield t, channel.source, message

    def _flying(self) -> Iterator[tuple[int, Channel, Message, int]]:
        for t, _, happen, args in sorted(self._queue.heap, key=lambda entry: entry[:2]):
            if happen in (self._deliver, self._arrive):
                yield t, args[0], args[1], args[2]

    # -- links -------------------------------------------------------------------------------------------------------

    def up(self, a: int, b: int) -> None:
        """Form a link; one that is still to fall forms anew when it has fallen."""
        link = link_of(a, b)
        if link in self._closing:
            self._reopen.add(link)
            return
        self._connect(*link)
        for node, peer in (link, link[::-1]):
            self._driver.link_up(node, peer)

    def down(self, a: int, b: int) -> None:
        """Let a link fall as soon as it is empty."""
        link = link_of(a, b)
        self._reopen.discard(link)
        if link[1] in self._channels[link[0]]:
            self._closing.setdefault(link, self._queue.now)
            self._fall_if_empty(link)

    def drop_node(self, node: int) -> list[int]:
        """Tear all links of a node that has crashed, with what is on them; returns the neighbours it had."""
        for _, channel, message, ident in list(self._flying()):
            if node in (channel.source, channel.target):
                self._lose(channel.source, channel.target, message, ident, "crash")
        heap = self._queue.heap
        heap[:] = [entry for entry in heap if not self._concerns(node, entry)]
        heapq.heapify(heap)
        peers = sorted(self._channels[node])
        for peer in peers:
            self._disconnect(link_of(node, peer))
            self._driver.link_down(peer, node, 0)
        return peers

    def component(self, node: int) -> set[int]:
        """The nodes that can be reached from a node over the links there are."""
        reached, frontier = {node}, [node]
        while frontier:
            fresh = [peer for peer in self._channels[frontier.pop()] if peer not in reached]
            reached.update(fresh)
            frontier += fresh
        return reached

    def _concerns(self, node: int, entry: tuple[Any, ...]) -> bool:
        return entry[2] in (self._deliver, self._arrive) and node in (entry[3][0].source, entry[3][0].target)

    def _connect(self, a: int, b: int) -> None:
        self._channels[a][b], self._channels[b][a] = Channel(a, b), Channel(b, a)

    def _disconnect(self, link: Link) -> None:
        a, b = link
        del self._channels[a][b], self._channels[b][a]
        self._closing.pop(link, None)
        self._reopen.discard(link)

    def _fall_if_empty(self, link: Link) -> None:
        a, b = link
        since = self._closing.get(link)
        if since is None or self._channels[a][b].in_flight or self._channels[b][a].in_flight:
            return
        again = link in self._reopen
        self._disconnect(link)
        for node, peer in (link, link[::-1]):
            self._driver.link_down(node, peer, self._queue.now - since)
        if again:
            self.up(a, b)


class LinkChanges:
    """Poisson changes: each removes a random link whose loss disconnects nobody and forms a random new one."""

    def __init__(self, queue: EventQueue, links: IdealLinks, plan: Graph, rate: float, rng: Random) -> None:
        self._queue = queue
        self._links = links
        self._plan = plan
        self._rate = rate
        self._rng = rng
        self._stopped = False
        self.forbidden: list[Any] = []  # predicates (a, b): pairs that may form no link now

    def begin(self) -> None:
        """Plan the first change."""
        if self._rate > 0:
            self._queue.at(self._queue.now + round(self._rng.expovariate(self._rate) * TICKS), self._change)

    def stop(self) -> None:
        """No more changes."""
        self._stopped = True

    def _change(self) -> None:
        if self._stopped:
            return
        old = self._plan.draw_removable(self._rng)
        if old is not None:
            new = self._plan.draw_absent(self._rng, self.may_form) or old  # a complete graph has nothing else to form
            self._plan.remove(*old)
            self._plan.add(*new)
            self._links.down(*old)
            self._links.up(*new)
        self.begin()

    def may_form(self, a: int, b: int) -> bool:
        """Whether no fault stands between two nodes."""
        return not any(forbids(a, b) for forbids in self.forbidden)
