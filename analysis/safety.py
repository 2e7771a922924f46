"""Safety: never more units in use than there are, where they are, and only by nodes that asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from analysis.batched import ENTERED, REQUESTED, Step, StepListener
from analysis.check import Check
from analysis.counted import counted
from analysis.events import Start
from analysis.neighbourhoods import Whereabouts

MAX_PLACES = 6
"""So many neighbourhoods are named in a verdict."""


class Safety(StepListener, Check):
    """At most `capacity` units in use at any instant, in a cluster its share of them, and only by nodes that requested.

    Clusters share the units equally; a neighbourhood has units of its own, which only nodes that are there may use. If
    a token says how many of its units are free, that is never less than none and never more than all.
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
        self.whereabouts = Whereabouts(Start())
        self.peaks: Counter[int] = Counter()  # by neighbourhood

    def begin(self, start: Start) -> None:
        self.whereabouts = Whereabouts(start)
        self.capacity = start.capacity
        self.clusters = start.clusters
        self.share = start.capacity // max(1, len(set(start.clusters)))

    def take_steps(self, steps: Iterable[Step]) -> None:
        waiting, inside, capacity, clusters = self.waiting, self.inside, self.capacity, self.clusters
        in_use, peak, places = self.in_use, self.peak, self.whereabouts.places
        for kind, t, node, units, _, _ in steps:
            if kind is REQUESTED:
                if node in waiting or node in inside:
                    self.offend(t, node, f"node {node} requests while it waits or is in its critical section")
                waiting.add(node)
            elif kind is ENTERED:
                try:
                    waiting.remove(node)
                except KeyError:
                    self.offend(t, node, f"node {node} enters without a request")
                inside[node] = units
                in_use += units
                if in_use > peak:
                    peak = in_use
                if in_use > capacity:
                    others = [other for other in sorted(inside) if other != node]
                    self.offend(
                        t, node, f"node {node} enters with {others} inside: {in_use} units of {capacity} in use"
                    )
                elif clusters:
                    self._check_cluster(t, node)
                elif places:
                    self._check_neighbourhood(t, node)
            elif node in inside:
                in_use -= inside.pop(node)
            else:
                self.offend(t, node, f"node {node} exits without being inside")
        self.in_use, self.peak = in_use, peak

    def _check_cluster(self, t: int, node: int) -> None:
        """A node has entered: the nodes of its cluster that are inside must not use more than the cluster's share."""
        clusters, share = self.clusters, self.share
        fellows = [other for other in sorted(self.inside) if clusters[other] == clusters[node]]
        in_use = sum(self.inside[other] for other in fellows)
        if in_use > share:
            others = [other for other in fellows if other != node]
            what = f"node {node} enters with {others} of its cluster inside"
            self.offend(t, node, f"{what}: {in_use} units of {share} in use in cluster {clusters[node]}")

    def _check_neighbourhood(self, t: int, node: int) -> None:
        """A node has entered: the nodes of its neighbourhood that are inside must not use more than it has."""
        of, group = self.whereabouts.of, self.whereabouts.of(node)
        if group is None:
            self.offend(t, node, f"node {node} enters outside every neighbourhood")
            return
        others = [other for other in sorted(self.inside) if other != node and of(other) == group]
        in_use, share = self.inside[node] + sum(self.inside[other] for other in others), self.whereabouts.places[group]
        self.peaks[group] = max(in_use, self.peaks[group])
        if in_use > share:
            what = f"node {node} enters with {others} of its neighbourhood inside"
            self.offend(t, node, f"{what}: {in_use} units of {share} in use in neighbourhood {group}")

    def free(self, t: int, node: int, group: int, free: int, units: int) -> None:
        share = self.whereabouts.places[group]
        if not 0 <= free <= share or units != share:
            what = f"the token of node {node} has {counted(units, 'unit')}, {free} of them free"
            self.offend(t, node, f"{what}; neighbourhood {group} has {share}")

    def join(
        self, t: int, node: int, group: int, visit: int, members: list[list[int]], units: int, tokens: int, fields: Any
    ) -> None:
        if self.whereabouts.of(node) is not None:
            self.offend(t, node, f"node {node} joins neighbourhood {group} while it is in {self.whereabouts.of(node)}")
        self.whereabouts.move(node, group)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        if node in self.inside:
            self.offend(t, node, f"node {node} leaves neighbourhood {group} in its critical section")
            self.in_use -= self.inside.pop(node)
        self.waiting.discard(node)
        self.whereabouts.move(node, None)

    def evict(self, t: int, node: int) -> None:
        if node not in self.inside:
            self.offend(t, node, f"node {node} is evicted without being inside")
        self.in_use -= self.inside.pop(node, 0)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.waiting.discard(node)
        self.in_use -= self.inside.pop(node, 0)
        self.whereabouts.move(node, None)

    def remark(self) -> str:
        places = self.whereabouts.places
        if places:
            used = [f"{self.peaks[group]} of {units}" for group, units in enumerate(places[:MAX_PLACES])]
            more = ", ..." if len(places) > MAX_PLACES else ""
            return f"at most {', '.join(used)}{more} in use in {len(places)} neighbourhood{'s' * (len(places) > 1)}"
        in_use = f"at most {self.peak} of {self.capacity} in use"
        if not self.clusters:
            return in_use
        sizes = Counter(self.clusters)
        return f"{in_use}; clusters of {', '.join(str(sizes[cluster]) for cluster in sorted(sizes))} nodes"
