"""What nodes are busy with: every node has one processor, which sends and receives messages one after the other.

Sending a message takes the processor `send` ticks for each copy, receiving one `receive` ticks. A message leaves when
it has been sent, and its agent gets it when it has been received. Requests, critical sections and what agents compute
take the processor no time.

- `fifo`: the processor does everything in the order in which it comes up.
- `send-first`: messages to send are sent before those that wait to be received; nothing is interrupted.

The third discipline, `none`, needs no processor: messages do not wait for each other, and each takes the sum of all
times (`IdealLinks`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from testbed.event_queue import EventQueue
from testbed.runtime.channel import Post
from testbed.runtime.processing_costs import ProcessingCosts

Parcel = tuple[int, int, list[Post]]
"""When messages are received, a number that orders parcels of the same time, and the messages."""


class FifoProcessors:
    """The processors of all nodes, first in, first out."""

    def __init__(
        self, queue: EventQueue, nodes: int, costs: ProcessingCosts, deliver: Callable[[list[Post]], None]
    ) -> None:
        self._queue = queue
        self._costs = costs
        self._deliver = deliver
        self._free_at = [0] * nodes  # when each node has done what it is committed to

    def send(self, node: int) -> int:
        """Take the time to send a message; returns when it leaves."""
        leaves = self._free_at[node] = max(self._queue.now, self._free_at[node]) + self._costs.send
        return leaves

    def receive(self, posts: list[Post]) -> None:
        """A message has arrived; the node must still receive it, in its turn."""
        if not posts:  # lost with a crash
            return
        node, free_at = posts[0][0].target, self._free_at
        done = free_at[node] = max(self._queue.now, free_at[node]) + self._costs.receive
        self._queue.at(done, self._deliver, posts)

    def forget(self, node: int) -> None:
        """The node has crashed and starts again: what it was busy with is gone."""
        self._free_at[node] = self._queue.now

    def waiting(self) -> list[Parcel]:
        """The messages that have arrived and for which no time is planned yet."""
        return []


class SendFirstProcessors(FifoProcessors):
    """The processors of all nodes; what a node has to send goes before what it has to receive."""

    def __init__(
        self, queue: EventQueue, nodes: int, costs: ProcessingCosts, deliver: Callable[[list[Post]], None]
    ) -> None:
        super().__init__(queue, nodes, costs, deliver)
        self._arrived: list[deque[list[Post]]] = [deque() for _ in range(nodes)]
        self._is_planned = [False] * nodes  # whether a node is to turn to what has arrived

    def receive(self, posts: list[Post]) -> None:
        """A message has arrived; the node receives it when it has nothing to send."""
        if posts:
            node = posts[0][0].target
            self._arrived[node].append(posts)
            self._plan(node)

    def _plan(self, node: int) -> None:
        if self._arrived[node] and not self._is_planned[node]:
            self._is_planned[node] = True
            self._queue.at(max(self._queue.now, self._free_at[node]), self._turn, node)

    def _turn(self, node: int) -> None:
        """Receive the first message that waits, unless the node has been given something to send meanwhile."""
        self._is_planned[node] = False
        if self._free_at[node] <= self._queue.now and self._arrived[node]:
            super().receive(self._arrived[node].popleft())
        self._plan(node)

    def waiting(self) -> list[Parcel]:
        """The messages that wait, with the earliest time at which each can be received."""
        found = []
        for node, parcels in enumerate(self._arrived):
            soonest = max(self._queue.now, self._free_at[node]) + self._costs.receive
            found += [(soonest, place, posts) for place, posts in enumerate(parcels)]
        return found


PROCESSORS = {"fifo": FifoProcessors, "send-first": SendFirstProcessors}
