"""The movement of a scenario and the links that it makes, without running any algorithm."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

from agents.contract import TICKS
from analysis.events import Start
from analysis.network import NetworkMetrics
from analysis.tables import Table, number
from testbed.backends.repetition import make_geometry
from testbed.errors import InputError
from testbed.files import make_directory
from testbed.network.components import Components
from testbed.network.geometry import Geometry
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario
from testbed.scenario.topology import GeometricTopology


@dataclass(frozen=True)
class Survey:
    """The movement of a scenario's first repetition."""

    scenario: Scenario
    geometry: Geometry
    measured: dict[str, float | None]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"scenario": self.scenario.name, **self.measured}

    def render(self) -> str:
        """As a table. Rates are per second here, because movement does not depend on the time unit."""
        scenario, rows = self.scenario, [[_LABELS[key], number(value)] for key, value in self.measured.items()]
        assert scenario.mobility is not None
        first = f"{scenario.name}: {scenario.nodes} nodes, {scenario.mobility.kind}, {self.geometry.seconds:g} s"
        return f"{first}\n\n{Table(('movement', 'value'), rows).render('md')}"

    def draw(self, folder: Path) -> list[Path]:
        """Draw the paths; returns the files, one for every format."""
        from analysis.plots import draw_paths

        make_directory(folder, exist_ok=True)
        paths = [[(x, y) for _, x, y, _ in trajectory.waypoints] for trajectory in self.geometry.trajectories]
        area = self.scenario.area
        size = (area.width, area.height) if area is not None else None
        return draw_paths(paths, size, self.measured["range"], folder / f"{self.scenario.name}-paths")


_LABELS = {
    "range": "range without shadowing (m)",
    "speed": "mean speed (m/s)",
    "top_speed": "top speed (m/s)",
    "link_change_rate": "link changes per second",
    "mean_degree": "mean degree",
    "components": "components",
    "time_partitioned": "time partitioned (share)",
}


def survey(scenario: Scenario) -> Survey:
    """Survey the first repetition."""
    if not isinstance(scenario.topology, GeometricTopology):
        raise InputError(f"{scenario.name}: its topology is {scenario.topology.kind}, in which nodes have no places")
    geometry = make_geometry(scenario, Streams(scenario.seed, 0), with_places=False)
    network = _network(scenario, geometry)
    speeds = list(_speeds(geometry))
    length, time = math.fsum(length for length, _ in speeds), math.fsum(time for _, time in speeds)
    measured: dict[str, float | None] = {
        "range": geometry.air.radio.reach_m(),
        "speed": length / time if time else 0.0,
        "top_speed": max((length / time for length, time in speeds), default=0.0),
    }
    measured.update({key: network[key] for key in _LABELS if key in network})
    return Survey(scenario, geometry, measured)


def _speeds(geometry: Geometry) -> Iterator[tuple[float, float]]:
    """Length and time of every leg while the node is present; jumps take no time and are left out."""
    for trajectory in geometry.trajectories:
        for a, b in pairwise(trajectory.waypoints):
            present = min(b.t, trajectory.leaves) - max(a.t, trajectory.appears)
            if present > 0:
                yield math.dist(a[1:], b[1:]) * (present / (b.t - a.t)), present


def _presence_changes(geometry: Geometry) -> list[tuple[float, int, int, bool]]:
    """When nodes appear and leave, in the form of crossings, with the node at both ends."""
    return sorted(
        (seconds, node, node, up)
        for node, trajectory in enumerate(geometry.trajectories)
        for seconds, up in ((trajectory.appears, True), (trajectory.leaves, False))
        if 0 < seconds <= geometry.seconds
    )


def _network(scenario: Scenario, geometry: Geometry) -> dict[str, Any]:
    """Follow the crossings of the range, with a time unit of one second. Nodes that are absent do not count."""
    crossings, nodes = geometry.crossings(), scenario.nodes
    links = crossings.initial_links()
    peers: dict[int, set[int]] = {node: set() for node in range(nodes)}
    components, network = Components(peers), NetworkMetrics()

    def change(a: int, b: int, up: bool) -> bool:
        for node, peer in ((a, b), (b, a)):
            (peers[node].add if up else peers[node].discard)(peer)
        return components.join(a, b) if up else components.part(a, b)

    network.start(0, None, *Start(units=[0] * nodes, links=links))
    for a, b in links:
        change(a, b, True)
    count = len(components.members) - sum(not one.is_there(0.0) for one in geometry.trajectories)
    network.partition(0, None, count, [])
    for seconds, a, b, up in heapq.merge(crossings, _presence_changes(geometry), key=itemgetter(0)):
        t, before = round(seconds * TICKS), count
        if a == b:  # a node without links appears or leaves
            count += 1 if up else -1
        else:
            if up:
                network.link_up(t, a, b)
            else:
                network.link_down(t, a, b, 0)
            if change(a, b, up):
                count += -1 if up else 1
        if count != before:
            network.partition(t, None, count, [])
    network.stop(round(geometry.seconds * TICKS), None, "end of the movement", [0] * nodes, [0] * nodes)
    return network.result()
