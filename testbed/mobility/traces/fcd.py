"""SUMO's floating car data: the positions of vehicles and persons, step by step, in XML.

    <fcd-export>
        <timestep time="0.00">
            <vehicle id="veh0" x="5.10" y="-1.60" .../>
            <person id="ped0" x="20.00" y="3.00" .../>
        </timestep>
    </fcd-export>

Vehicles and persons are nodes, numbered in the order of their first appearance. The name of a vehicle is its id, that
of a person `person` and its id, because SUMO allows the same id for both. Other elements are ignored. Coordinates are
metres, not the degrees of `--fcd-output.geo`.

Nodes of the first step are present from the start, and those of the last step never leave. The others appear with the
first step that lists them and leave with the first that no longer does. A node that is missing for some steps in
between, like a teleported vehicle of SUMO, stands where it was last listed and jumps to where it is listed again: a
node has only one interval of presence.
"""

from __future__ import annotations

import math

from testbed.mobility.traces.builder import Builder
from testbed.mobility.traces.source import Source
from testbed.mobility.traces.trace import Trace
from testbed.mobility.traces.xmlfile import Element, elements
from testbed.mobility.trajectory import Waypoint

_STEP = ("fcd-export", "timestep")
_NODES = {(*_STEP, "vehicle"): "", (*_STEP, "person"): "person "}  # -> the prefix of the id in the name


def read(source: Source) -> Trace:
    """Read a trace."""
    traffic = _Traffic(source)
    for element in elements(source, _STEP[0]):
        if element.ends:
            if element.path == _STEP:
                traffic.end_step()
        elif element.path == _STEP:
            traffic.begin_step(source.seconds(_attribute(element, "time", source)))
        elif element.path in _NODES:
            name = source.name(_NODES[element.path] + _attribute(element, "id", source))
            x, y = (source.metres(_attribute(element, axis, source), axis) for axis in "xy")
            traffic.see(name, x, y, source.metres(element.attributes.get("z", "0"), "z"))
    return traffic.trace()


def _attribute(element: Element, key: str, source: Source) -> str:
    value = element.attributes.get(key)
    if value is None:
        raise source.error(f"<{element.path[-1]}> without {key}", f"{key}=...")
    return value


class _Traffic:
    """The nodes present in the step that is being read, and those in the step before."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._builder = Builder(source)
        self._now = -math.inf
        self._before: set[str] = set()
        self._seen: set[str] = set()
        self._is_first = True
        self._appears: dict[str, float] = {}
        self._leaves: dict[str, float] = {}

    def begin_step(self, t: float) -> None:
        """Begin the next step."""
        if t <= self._now:
            raise self._source.error(f"a step at {t:g} s, after {self._now:g} s", "steps in the order of time")
        self._now = t

    def see(self, name: str, x: float, y: float, z: float) -> None:
        """A node is present in this step."""
        if name in self._seen:
            raise self._source.error(f"{name} a second time in this step", "each once")
        self._seen.add(name)
        if name not in self._appears:
            self._appears[name] = -math.inf if self._is_first else self._now
        elif name not in self._before:
            self._builder.add(name, self._builder.path(name)[-1]._replace(t=self._now))
        self._leaves[name] = math.inf
        self._builder.add(name, Waypoint(self._now, x, y, z))

    def end_step(self) -> None:
        """A node that was present in the step before and is missing now has left, unless it returns."""
        for name in self._before - self._seen:
            self._leaves[name] = self._now
        self._before, self._seen = self._seen, set()
        self._is_first = False

    def trace(self) -> Trace:
        """The path and the presence of every node."""
        for name, appears in self._appears.items():
            self._builder.stay(name, appears, self._leaves[name])
        return self._builder.trace()
