"""Safety: never more units in use than there are, and only by nodes that asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from analysis.batched import ENTERED, REQUESTED, Step, StepListener
from analysis.check import Check
from analysis.events import Start


class Safety(StepListener, Check):
    """At most `capacity` units in use at any instant, in a cluster its share of them, and only by nodes that requested.

    Clusters share the units equally.
    """

    name = "safety"
    needs_kind = "enter"

    def __init__(self) -> None:
        super().__init__()
        self.capacity = 0
        self.clusters: Sequence[int] = ()  # the cluster of every node, if there are clusters
        self.share = 0  # the units of one cluster
        self.waiting: set[int] = set()
        self.inside: dict[int, int] = {}
        self.in_use = self.peak = 0

    def begin(self, start: Start) -> None:
        self.capacity = start.capacity
        self.clusters = start.clusters
        self.share = start.capacity // max(1, len(set(start.clusters)))

    def take_steps(self, steps: Iterable[Step]) -> None:
        waiting, inside, capacity, clusters = self.waiting, self.inside, self.capacity, self.clusters
        in_use, peak = self.in_use, self.peak
        for kind, t, node, units, _, _ in steps:
            if kind is REQUESTED:
                if node in waiting or node in inside:
                    self.offend(t, f"node {node} requests while it waits or is in its critical section")
                waiting.add(node)
            elif kind is ENTERED:
                try:
                    waiting.remove(node)
                except KeyError:
                    self.offend(t, f"node {node} enters without a request")
                inside[node] = units
                in_use += units
                if in_use > peak:
                    peak = in_use
                if in_use > capacity:
                    others = [other for other in sorted(inside) if other != node]
                    self.offend(t, f"node {node} enters with {others} inside: {in_use} units of {capacity} in use")
                elif clusters:
                    self._check_cluster(t, node)
            elif node in inside:
                in_use -= inside.pop(node)
            else:
                self.offend(t, f"node {node} exits without being inside")
        self.in_use, self.peak = in_use, peak

    def _check_cluster(self, t: int, node: int) -> None:
        """A node has entered: the nodes of its cluster that are inside must not use more than the cluster's share."""
        clusters, share = self.clusters, self.share
        fellows = [other for other in sorted(self.inside) if clusters[other] == clusters[node]]
        in_use = sum(self.inside[other] for other in fellows)
        if in_use > share:
            others = [other for other in fellows if other != node]
            what = f"node {node} enters with {others} of its cluster inside"
            self.offend(t, f"{what}: {in_use} units of {share} in use in cluster {clusters[node]}")

    def evict(self, t: int, node: int) -> None:
        if node not in self.inside:
            self.offend(t, f"node {node} is evicted without being inside")
        self.in_use -= self.inside.pop(node, 0)
        self.waiting.add(node)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.waiting.discard(node)
        self.in_use -= self.inside.pop(node, 0)

    def remark(self) -> str:
        in_use = f"at most {self.peak} of {self.capacity} in use"
        if not self.clusters:
            return in_use
        sizes = Counter(self.clusters)
        return f"{in_use}; clusters of {', '.join(str(sizes[cluster]) for cluster in sorted(sizes))} nodes"
