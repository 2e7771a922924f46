"""What changes a scenario's links besides faults: the papers' Poisson process, or nodes that move."""

from __future__ import annotations

from testbed.beginning import Beginning
from testbed.eventqueue import EventQueue
from testbed.ground import Links
from testbed.linkchanges import LinkChanges
from testbed.rangechanges import RangeChanges
from testbed.topology import RandomTopology


def make_changes(queue: EventQueue, links: Links, beginning: Beginning) -> LinkChanges | RangeChanges:
    """Changes that are carried out on links as time passes."""
    topology, geometry, graph = beginning.scenario.topology, beginning.geometry, beginning.graph
    if geometry is not None:
        return RangeChanges(queue, links, graph, geometry.crossings(), time_unit=beginning.scenario.time_unit)
    rate, reading = 0.0, "text"
    if isinstance(topology, RandomTopology):
        rate, reading = topology.link_change_rate, topology.reading
    return LinkChanges(queue, links, graph, rate, reading, beginning.streams.of("link changes"))
