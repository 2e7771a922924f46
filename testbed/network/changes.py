"""What changes a scenario's links besides faults: the papers' Poisson process, or nodes that move."""

from __future__ import annotations

from testbed.runtime.initial_state import Beginning
from testbed.event_queue import EventQueue
from testbed.network.interfaces import Links
from testbed.network.link_changes import LinkChanges
from testbed.network.range_changes import RangeChanges
from testbed.scenario.topology import RandomTopology


def make_changes(queue: EventQueue, links: Links, beginning: Beginning) -> LinkChanges | RangeChanges:
    """Changes that are carried out on links as time passes."""
    topology, geometry, graph = beginning.scenario.topology, beginning.geometry, beginning.graph
    if geometry is not None:
        return RangeChanges(queue, links, graph, geometry.crossings(), time_unit=beginning.scenario.time_unit)
    rate, reading = 0.0, "text"
    if isinstance(topology, RandomTopology):
        rate, reading = topology.link_change_rate, topology.reading
    return LinkChanges(queue, links, graph, rate, reading, beginning.streams.of("link changes"))
