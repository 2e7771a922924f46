"""Ideal links: reliable, FIFO, announced.

A link that is to fall while messages are in transit on it is kept until the first instant it is empty, or for `max_lag`
if there is one; both ends may go on using it until then. How long it was kept is the `lag` of its link_down events.
What has not arrived when it falls is given back to its sender.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from testbed.backends.sim.processors import PROCESSORS, FifoProcessors, Parcel
from testbed.event_queue import EventQueue
from testbed.network.components import Components
from testbed.network.graph import Graph
from testbed.pairs import Link, link_of
from testbed.runtime.channel import Channel, Post
from testbed.runtime.processing_costs import ProcessingCosts


class HopDelay(NamedTuple):
    """How long a message is in transit over one link."""

    draw: Callable[[], int]
    """The delay of the next message, in ticks."""
    fixed: int | None
    """The delay of all messages, if it never varies."""


class LinkUser(Protocol):
    """What uses the links: the driver, or a router between it and them."""

    def receive(self, posts: list[Post]) -> None:
        """Messages arrive."""

    def link_up(self, node: int, peer: int) -> None:
        """A link has formed at one end."""

    def link_down(self, node: int, peer: int, lag: int) -> None:
        """A link has failed at one end."""

    def give_back(self, posts: list[Post]) -> None:
        """Messages could not be delivered, because their link has failed."""


class IdealLinks:
    """Moves messages over channels between neighbours, and announces when links form and fail."""

    def __init__(
        self,
        queue: EventQueue,
        user: LinkUser,
        channels: dict[int, dict[int, Channel]],
        graph: Graph,
        hop: HopDelay,
        costs: ProcessingCosts,
        max_lag: int | None = None,
        *,
        may_part: bool = True,
    ) -> None:
        self._queue = queue
        self._may_part = may_part  # where nothing ever disconnects the network, components are not computed again
        self._max_lag = max_lag
        self._user = user
        self._channels = channels  # by sender, by receiver: those of the links that are up
        self._hop = hop.draw
        self._costs = costs
        self._processors: FifoProcessors | None = None
        if costs.take_time and costs.discipline != "none":
            self._processors = PROCESSORS[costs.discipline](queue, graph.nodes, costs, user.receive)
        self._closing: dict[Link, int] = {}  # links to fall once they are empty, and since when
        self._reopen: set[Link] = set()  # of those, the ones that are to form again at once
        queue.deliver = user.receive
        self.components = Components(channels)
        self.on_partition_change: Callable[[], None] = lambda: None
        """Called when two components have become one, or one has become two."""
        self.move: Callable[[list[Post]], None] = self._move_each
        """Sends the messages of one step of a node."""
        if hop.fixed is not None and self._processors is None:
            self.move = queue.lane_after(hop.fixed + costs.send + costs.receive)
        for a, b in graph.links():
            self._connect(a, b)

    # -- messages ----------------------------------------------------------------------------------------------------

    def _move_each(self, posts: list[Post]) -> None:
        for post in posts:
            self._move(post)

    def _move(self, post: Post) -> None:
        channel, processors, costs = post[0], self._processors, self._costs
        if processors is None:
            takes = costs.send + self._hop() + costs.receive
            channel.latest = arrives = max(self._queue.now + takes, channel.latest)
            self._queue.at(arrives, self._user.receive, [post])
            return
        leaves = processors.send(channel.source) if costs.send else self._queue.now
        channel.latest = arrives = max(leaves + self._hop(), channel.latest)
        self._queue.at(arrives, processors.receive if costs.receive else self._user.receive, [post])

    def in_transit(self) -> list[tuple[int, Post]]:
        """The messages in transit, in order, and when each arrives."""
        return [(t, post) for t, _, posts in self._parcels() for post in posts]

    def _parcels(self) -> list[Parcel]:
        queue, processors = self._queue, self._processors
        arrivals = (self._user.receive,) if processors is None else (self._user.receive, processors.receive)
        parcels = [(t, ticket, args[0]) for t, ticket, happen, args in queue.heap if happen in arrivals]
        waiting = [] if processors is None else processors.waiting()
        return sorted([*parcels, *queue.lane, *waiting], key=lambda parcel: parcel[:2])

    # -- links -------------------------------------------------------------------------------------------------------

    def up(self, a: int, b: int) -> None:
        """Form a link; one that is still to fall forms again after it has fallen."""
        link = link_of(a, b)
        if link in self._closing:
            self._reopen.add(link)
            return
        self._connect(*link)
        for node, peer in (link, link[::-1]):
            self._user.link_up(node, peer)

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
        """Remove the messages in transit to and from a node that has crashed; returns them."""
        return self._take_off(lambda channel: node in (channel.source, channel.target))

    def _take_off(self, concerned: Callable[[Channel], bool]) -> list[Post]:
        """Remove the messages in transit on some channels; returns them in the order they would have arrived."""
        taken = [post for _, post in self.in_transit() if concerned(post[0])]
        # A message that waits for its receiver's processor is planned later than one behind it that has not arrived.
        in_order = {channel: iter(sorted(posts, key=lambda post: post[2])) for channel, posts in _by_channel(taken)}
        taken = [next(in_order[post[0]]) for post in taken]
        for _, _, posts in self._parcels():
            posts[:] = [post for post in posts if not concerned(post[0])]
        return taken

    def restart(self, node: int) -> None:
        """A crashed node comes back, with nothing to do: its links form as they are put back."""
        if self._processors is not None:
            self._processors.forget(node)

    def drop_node(self, node: int) -> None:
        """Remove all links of a crashed node; its neighbours learn of it."""
        for peer in sorted(self._channels[node]):
            self._disconnect(link_of(node, peer))
            self._user.link_down(peer, node, 0)

    def _connect(self, a: int, b: int) -> None:
        self._channels[a][b], self._channels[b][a] = Channel(a, b), Channel(b, a)
        if self.components.join(a, b):
            self.on_partition_change()

    def _disconnect(self, link: Link) -> None:
        a, b = link
        del self._channels[a][b], self._channels[b][a]
        self._closing.pop(link, None)
        self._reopen.discard(link)
        if self._may_part and self.components.part(a, b):
            self.on_partition_change()

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
            self._user.link_down(node, peer, lag)
        if undelivered:
            self._user.give_back(undelivered)
        if again:
            self.up(*link)


def _by_channel(posts: list[Post]) -> Iterator[tuple[Channel, list[Post]]]:
    """The messages of every channel."""
    found: dict[Channel, list[Post]] = {}
    for post in posts:
        found.setdefault(post[0], []).append(post)
    return iter(found.items())
