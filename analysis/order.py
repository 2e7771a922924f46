"""Order: messages between two nodes arrive once each, in the order in which they were sent."""

from __future__ import annotations

from collections import deque
from typing import Any

from analysis.check import Check
from analysis.events import SESSION, Start


class Order(Check):
    """Messages between two nodes arrive once each, in the order they were sent, over a link that stays up."""

    name = "order"
    needs_kind = "recv"

    def __init__(self) -> None:
        super().__init__()
        self.over_links = True
        self.flying: dict[tuple[int, int], deque[int]] = {}  # (sender, receiver) -> ids in transit
        self.fallen: dict[tuple[int, int], tuple[int, deque[int]]] = {}  # links that fell with ids in transit, and when

    def begin(self, start: Start) -> None:
        self.over_links = start.needs == "links" and not start.over_radio
        for a, b in start.links:
            self.flying[a, b] = deque()
            self.flying[b, a] = deque()

    def link_up(self, t: int, node: int, peer: int) -> None:
        self._settle(node, peer)
        self.flying.setdefault((node, peer), deque())

    def end(self, t: int, units: list[int], tokens: list[int]) -> None:
        for ends in list(self.fallen):
            self._settle(*ends)

    def _settle(self, node: int, peer: int) -> None:
        t, ids = self.fallen.pop((node, peer), (0, ()))
        if ids:
            self.offend(t, node, f"the link from {node} to {peer} goes down with messages {list(ids)} in transit")

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        if not self.over_links:
            return
        ids = self.flying.pop((node, peer), None)
        if ids:  # they must be returned before the link forms again
            self.fallen[node, peer] = (t, ids)

    def send(
        self,
        t: int,
        node: int,
        peer: int,
        id: int,
        type: str,
        units: int,
        tokens: int,
        words: int,
        added_words: int,
        fields: Any,
    ) -> None:
        ids = self.flying.get((node, peer))
        if ids is None:
            if self.over_links:
                self.offend(t, node, f"node {node} sends {type} {id} to {peer} without a link")
            ids = self.flying[node, peer] = deque()
        ids.append(id)

    def recv(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        ids = self.flying.get((peer, node))
        while ids and ids[0] // SESSION < id // SESSION:
            ids.popleft()  # of a session that is over; if they carried units, the conservation check fails
        if ids and ids[0] == id:
            ids.popleft()
        elif ids and id in ids:
            self.offend(t, node, f"node {node} receives {type} {id} from {peer} before {ids[0]}")
            ids.remove(id)
        else:
            self.offend(t, node, f"node {node} receives {type} {id} from {peer}, which is not in transit")

    def returned(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int) -> None:
        self._drop(t, node, peer, id)

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        if why != "crash" or id in self.flying.get((node, peer), ()):  # else its receiver had it, and crashed
            self._drop(t, node, peer, id)

    def _drop(self, t: int, node: int, peer: int, id: int) -> None:
        for ids in (self.flying.get((node, peer)), self.fallen.get((node, peer), (0, None))[1]):
            if ids and id in ids:
                ids.remove(id)
                return
        self.offend(t, node, f"message {id} of node {node} to {peer} is lost or returned but was not in transit")


class OrderOnLine(Check):
    """The same on line, where the driver itself checks the order of messages and reports those out of order."""

    name = Order.name
    needs_kind = Order.needs_kind

    def disorder(self, t: int, node: int, peer: int, id: int, type: str, last: int) -> None:
        self.offend(t, node, f"node {node} receives {type} {id} from {peer} after {last}")
