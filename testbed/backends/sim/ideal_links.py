"""Ideal links: reliable, FIFO, announced.

A link that is to fall while messages are in transit on it is kept until the first instant it is empty, or for `max_lag`
if there is one; both ends may go on using it until then. How long it was kept is the `lag` of its link_down events.
What has not arrived when it falls is given back to who sent it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from testbed.runtime.channel import Channel, Post
from testbed.network.components import Components
from testbed.durations import to_ticks
from testbed.event_queue import EventQueue
from testbed.network.graph import Graph, Link, link_of
from testbed.scenario.schema import Delays
from testbed.randomness import Streams


class Above(Protocol):
    """Who uses the links: the driver, or a router between it and them."""

    def receive(self, posts: list[Post]) -> None:
        """Messages arrive."""

    def link_up(self, node: int, peer: int) -> None:
        """A link has formed at one end."""

    def link_down(self, node: int, peer: int, lag: int) -> None:
        """A link has failed at one end."""

    def give_back(self, posts: list[Post]) -> None:
        """Messages could not be delivered, because their link has failed."""


class IdealLinks:
    """Moves messages over channels between neighbours, and tells when links form and fail."""

    def __init__(
        self,
        queue: EventQueue,
        above: Above,
        channels: dict[int, dict[int, Channel]],
        graph: Graph,
        delays: Delays,
        streams: Streams,
        max_lag: int | None = None,
        *,
        may_part: bool = True,
    ) -> None:
        self._queue = queue
        self._may_part = may_part  # where nothing ever disconnects the network, nobody need look whether it did
        self._max_lag = max_lag
        self._above = above
        self._channels = channels  # by sender, by receiver: those that there are
        self._hop = delays.hop.sampler(streams.of("delay"))
        self._send_cost, self._receive_cost = to_ticks(delays.send), to_ticks(delays.receive)
        self._cpu_free = [0] * graph.nodes  # when each node has done with the messages it is handling
        self._closing: dict[Link, int] = {}  # links to fall once they are empty, and since when
        self._reopen: set[Link] = set()  # of those, the ones that are to form again at once
        hop = delays.hop.fixed_ticks()
        queue.deliver = above.receive
        self.components = Components(channels)
        self.on_parts: Callable[[], None] = lambda: None
        """Called when two components have become one, or one two."""
        self.move: Callable[[list[Post]], None] = self._move_each
        """Puts what a node sent in one step on its way."""
        if hop is not None and not self._send_cost and not self._receive_cost:
            self.move = queue.lane_after(hop)
        for a, b in graph.links():
            self._connect(a, b)

    # -- messages ----------------------------------------------------------------------------------------------------

    def _move_each(self, posts: list[Post]) -> None:
        for post in posts:
            self._move(post)

    def _move(self, post: Post) -> None:
        channel, leaves = post[0], self._queue.now
        if self._send_cost:
            free = self._cpu_free
            leaves = free[channel.source] = max(leaves, free[channel.source]) + self._send_cost
        channel.latest = arrives = max(leaves + self._hop(), channel.latest)
        self._queue.at(arrives, self._arrive if self._receive_cost else self._above.receive, [post])

    def _arrive(self, posts: list[Post]) -> None:
        """The message is there; the node must still handle it, after those before it."""
        if not posts:  # torn off by a crash
            return
        node, free = posts[0][0].target, self._cpu_free
        done = free[node] = max(self._queue.now, free[node]) + self._receive_cost
        self._queue.at(done, self._above.receive, posts)

    def in_transit(self) -> list[tuple[int, Post]]:
        """The messages on their way, in order, and when each arrives."""
        return [(t, post) for t, _, posts in self._parcels() for post in posts]

    def _parcels(self) -> list[tuple[int, int, list[Post]]]:
        queue, on_the_way = self._queue, (self._above.receive, self._arrive)
        parcels = [(t, ticket, args[0]) for t, ticket, happen, args in queue.heap if happen in on_the_way]
        return sorted([*parcels, *queue.lane], key=lambda parcel: parcel[:2])

    # -- links -------------------------------------------------------------------------------------------------------

    def up(self, a: int, b: int) -> None:
        """Form a link; one that is still to fall forms anew when it has fallen."""
        link = link_of(a, b)
        if link in self._closing:
            self._reopen.add(link)
            return
        self._connect(*link)
        for node, peer in (link, link[::-1]):
            self._above.link_up(node, peer)

    def down(self, a: int, b: int) -> None:
        """Let a link fall as soon as it is empty."""
        link = link_of(a, b)
        self._reopen.discard(link)
        if link[1] in self._channels[link[0]]:
            self._closing.setdefault(link, self._queue.now)
            for a, b in (link, link[::-1]):
                self._channels[a][b].on_arrival = self._fall_if_empty
            self._fall_if_empty(self._channels[a][b])
            if link in self._closing and self._max_lag is not None:
                since = self._closing[link]
                self._queue.at(since + self._max_lag, self._fall_at_last, link, since)

    def tear(self, node: int) -> list[Post]:
        """Take what is in transit to and from a node that has crashed off its links; returns it."""
        return self._take_off(lambda channel: node in (channel.source, channel.target))

    def _take_off(self, concerned: Callable[[Channel], bool]) -> list[Post]:
        """Take what is in transit on some channels off them; returns it in the order it would have arrived."""
        taken = [post for _, post in self.in_transit() if concerned(post[0])]
        for _, _, posts in self._parcels():
            posts[:] = [post for post in posts if not concerned(post[0])]
        return taken

    def restart(self, node: int) -> None:
        """A crashed node comes back: its links form as they are put back."""

    def drop_node(self, node: int) -> None:
        """Take all links of a crashed node away, and tell its neighbours."""
        for peer in sorted(self._channels[node]):
            self._disconnect(link_of(node, peer))
            self._above.link_down(peer, node, 0)

    def _connect(self, a: int, b: int) -> None:
        self._channels[a][b], self._channels[b][a] = Channel(a, b), Channel(b, a)
        if self.components.join(a, b):
            self.on_parts()

    def _disconnect(self, link: Link) -> None:
        a, b = link
        del self._channels[a][b], self._channels[b][a]
        self._closing.pop(link, None)
        self._reopen.discard(link)
        if self._may_part and self.components.part(a, b):
            self.on_parts()

    def _fall_if_empty(self, channel: Channel) -> None:
        link = a, b = link_of(channel.source, channel.target)
        if self._channels[a][b].in_flight or self._channels[b][a].in_flight:
            return
        self._fall(link, [])

    def _fall_at_last(self, link: Link, since: int) -> None:
        """The link has been kept long enough, unless it has fallen already."""
        if self._closing.get(link) == since:
            self._fall(link, self._take_off(lambda channel: link_of(channel.source, channel.target) == link))

    def _fall(self, link: Link, undelivered: list[Post]) -> None:
        lag = self._queue.now - self._closing[link]
        again = link in self._reopen
        self._disconnect(link)
        for node, peer in (link, link[::-1]):
            self._above.link_down(node, peer, lag)
        if undelivered:
            self._above.give_back(undelivered)
        if again:
            self.up(*link)
