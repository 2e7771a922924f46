"""What the movement of a scenario is like, without running any algorithm in it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from analysis.events import LEVELS, TICKS, VERSION
from analysis.network import Network
from analysis.tables import Table, number
from testbed.components import Components
from testbed.errors import InputError
from testbed.geometry import Geometry
from testbed.rundir import make_directory
from testbed.scenario import Scenario
from testbed.streams import Streams
from testbed.topology import GeometricTopology


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
        """As a table. Rates are per second here, as no time unit concerns movement."""
        scenario, rows = self.scenario, [[_LABELS[key], number(value)] for key, value in self.measured.items()]
        assert scenario.mobility is not None
        first = f"{scenario.name}: {scenario.nodes} nodes, {scenario.mobility.kind}, {self.geometry.seconds:g} s"
        return f"{first}\n\n{Table(('movement', 'value'), rows).render('md')}"

    def draw(self, folder: Path) -> list[Path]:
        """The paths as a figure, in every format."""
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
    """Look at the first repetition."""
    if not isinstance(scenario.topology, GeometricTopology):
        raise InputError(f"{scenario.name}: its topology is {scenario.topology.kind}, in which nodes have no places")
    geometry = Geometry(scenario, Streams(scenario.seed, 0))
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
    """Length and time of every leg; jumps take no time and are left out."""
    for trajectory in geometry.trajectories:
        for a, b in pairwise(trajectory.waypoints):
            if b.t > a.t:
                yield math.dist(a[1:], b[1:]), b.t - a.t


def _network(scenario: Scenario, geometry: Geometry) -> dict[str, Any]:
    """Follow the crossings of the range, each second a time unit."""
    crossings, nodes = geometry.crossings(), scenario.nodes
    links = crossings.initial_links()
    peers: dict[int, set[int]] = {node: set() for node in range(nodes)}
    components, network = Components(peers), Network()

    def change(a: int, b: int, up: bool) -> bool:
        for node, peer in ((a, b), (b, a)):
            (peers[node].add if up else peers[node].discard)(peer)
        return components.join(a, b) if up else components.part(a, b)

    network.start(0, None, VERSION, LEVELS[-1], "links", 1, 0, [0] * nodes, [list(link) for link in links])
    for a, b in links:
        change(a, b, True)
    network.partition(0, None, len(components.members), [])
    for seconds, a, b, up in crossings:
        t = round(seconds * TICKS)
        if up:
            network.link_up(t, a, b)
        else:
            network.link_down(t, a, b, 0)
        if change(a, b, up):
            network.partition(t, None, len(components.members), [])
    network.stop(round(geometry.seconds * TICKS), None, "end of the movement", [0] * nodes)
    return network.result()
