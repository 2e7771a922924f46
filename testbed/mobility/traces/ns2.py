"""Movement files of ns-2 and of its `setdest`, which ns-3 and most other simulators read too.

    $node_(0) set X_ 12.5                         the place of a node at time 0, at any position in the file
    $node_(0) set Y_ 80.0
    $node_(0) set Z_ 0.0
    $ns_ at 2.0 "$node_(0) setdest 90.0 80.0 1.5" from now on straight to x y at a speed in m/s; speed 0 stops
    $ns_ at 60.0 "$node_(0) set X_ 10.0"          a jump

Read as ns-3's Ns2MobilityHelper reads them: a movement that the next statement interrupts ends where the node is at
that time, a node that arrives pauses, a jump ends a movement, and # starts a comment. Nodes are named by their numbers,
which need not be consecutive, and sorted by them.

Deviations from ns-3, each where its helper contradicts itself or ignores an error:

- A statement about movement that is not understood, a negative speed, and a node that moves without a start position
  are errors; ns-3 skips the first two and starts the last at the origin. A time that goes backwards is an error too.
- A jump changes one coordinate of the node's current place. ns-3 takes the others from the jump before or the start
  position, and puts the node at the place of its last jump already at time 0.
- All other Tcl is ignored, so that whole scripts can be read, except statements about a node that might move it.

What is written says for every waypoint what the node does from then on. Times are exact, and an arrival that misses
the next statement by a rounding error is taken to coincide with it, so rounding errors of the speeds, which are
quotients, do no harm. Coordinates are rounded to a micrometre; otherwise a speed could be too small for a float. A
climb between two waypoints is refused, because setdest has no height. When nodes appear and leave is a comment (see
`presence`). Names that are not numbers are lost.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from testbed.mobility.traces import limits, presence
from testbed.mobility.traces.builder import Builder
from testbed.mobility.traces.source import Source, fault
from testbed.mobility.traces.target import decimal
from testbed.mobility.traces.trace import Trace
from testbed.mobility.trajectory import Position, Trajectory, Waypoint

_NODE = re.compile(r"\$node_?\((\d{1,9})\)")
_AXES = {"X_": 0, "Y_": 1, "Z_": 2}
_WORDS_OF_MOVEMENT = {"setdest", *_AXES}
_HARMLESS = {"reset", "label", "color", "shape", "random-motion"}  # commands of a node that do not move it
_ULPS = 8  # the rounding error of an arrival time, which is a quotient and a sum


class _Place(NamedTuple):
    """A coordinate of a node from a time on."""

    at: float
    node: str
    axis: int
    value: float


class _Leg(NamedTuple):
    """A node's setdest."""

    at: float
    node: str
    x: float
    y: float
    speed: float


def read(source: Source) -> Trace:
    """Read a trace in two passes, because start positions may be at the end of the file."""
    builder = Builder(source)
    nodes = {name: _Node(name, start, builder, source) for name, start in _start_positions(source, builder).items()}
    for statement in _statements(source, is_timed=True):
        if statement.node not in nodes:
            raise source.error(f"node {statement.node} without a start position", "nodes whose X_ and Y_ are set")
        if isinstance(statement, _Leg):
            nodes[statement.node].head(statement)
        else:
            nodes[statement.node].jump(statement)
    for node in nodes.values():
        node.end()
    return builder.trace(order=int)


def _start_positions(source: Source, builder: Builder) -> dict[str, Position]:
    """Where the nodes are at time 0. The builder receives their presence."""
    found: dict[str, list[float | None]] = {}
    for statement in _statements(source, is_timed=False, builder=builder):
        if isinstance(statement, _Place):
            builder.path(statement.node)  # enforces the limit on nodes
            found.setdefault(statement.node, [None, None, 0.0])[statement.axis] = statement.value
    starts = {}
    for name, (x, y, z) in found.items():
        if x is None or y is None or z is None:
            raise fault(source.path, f"node {name} without {'X_' if x is None else 'Y_'}", "both X_ and Y_")
        starts[name] = Position(x, y, z)
    return starts


def _statements(source: Source, *, is_timed: bool, builder: Builder | None = None) -> Iterator[_Place | _Leg]:
    """The statements with a time, or those without. Comments about presence go to the builder, if given."""
    for line in source.lines():
        code, hash_sign, _ = line.partition("#")
        if builder and hash_sign and not code:
            presence.note(line, source, builder)
        code = code.strip("; \t")
        if code and code.startswith("$ns") == is_timed:
            statement = _statement(code.replace('"', ' " ').split(), source)
            if statement:
                yield statement


def _statement(words: list[str], source: Source) -> _Place | _Leg | None:
    time, command = "0", words
    is_timed = len(words) > 4 and words[0] in ("$ns_", "$ns") and words[1] == "at" and words[3] == words[-1] == '"'
    if is_timed:
        time, command = words[2], words[4:-1]
    match command:
        case [node, "set", axis, value] if axis in _AXES:
            return _Place(source.seconds(time), _number(node, source), _AXES[axis], source.metres(value, axis))
        case [node, "setdest", x, y, speed] if is_timed:
            place = source.metres(x, "x"), source.metres(y, "y")
            pace = source.number(speed, "the speed", 0, sys.float_info.max)
            return _Leg(source.seconds(time), _number(node, source), *place, pace)
    if _might_move(command):
        raise source.error(f"{' '.join(words)[:80]!r}", "set X_, Y_ or Z_, and at a time setdest x y speed")
    return None


def _number(word: str, source: Source) -> str:
    """The number of a node, without leading zeros."""
    if match := _NODE.fullmatch(word):
        return str(int(match[1]))
    raise source.error(f"{word[:40]!r}", "$node_(0), $node_(1) and so on")


def _might_move(command: Sequence[str]) -> bool:
    """Whether ignoring a command might ignore a movement: not if it is complete and about something else."""
    if command.count('"') % 2 or not _WORDS_OF_MOVEMENT.isdisjoint(command):
        return True
    return bool(command) and command[0].startswith(("$node_(", "$node(")) and not _HARMLESS & {*command[1:2]}


class _Node:
    """The state of a node while the statements about it are read."""

    def __init__(self, name: str, start: Position, builder: Builder, source: Source) -> None:
        self._name = name
        self._here = start
        self._goal: Waypoint | None = None  # the end of the movement that is under way
        self._builder = builder
        self._source = source
        self._path = builder.path(name)

    def head(self, leg: _Leg) -> None:
        """Start a movement, or stop. The height does not change."""
        self._settle(leg.at)
        if leg.speed == 0:
            return
        arrival = leg.at + math.dist(self._here[:2], (leg.x, leg.y)) / leg.speed
        if arrival > limits.MAX_SECONDS:
            raise self._source.error(f"an arrival at {arrival:g} s", f"at most {limits.MAX_SECONDS:g} s")
        self._goal = Waypoint(arrival, leg.x, leg.y, self._here.z)

    def jump(self, place: _Place) -> None:
        """Change one coordinate at once. Setting the place of a standing node to where it is adds no waypoint."""
        if self._goal is None and self._here[place.axis] == place.value:
            return
        self._settle(place.at)
        there = [*self._here]
        there[place.axis] = place.value
        self._here = Position(*there)
        if (
            len(self._path) > 1 and self._path[-2].t == place.at
        ):  # the coordinates of a jump come in separate statements
            self._builder.drop(self._name)
        self._reach(place.at)

    def end(self) -> None:
        """Finish the path: no statement follows."""
        if self._goal:
            self._settle(self._goal.t)
        elif not self._path:
            self._reach(0.0)

    def _settle(self, at: float) -> None:
        """Find where the node is at the time of the next statement, and end its movement there."""
        goal, self._goal = self._goal, None
        if goal is None:
            pass
        elif goal.t <= at + _ULPS * math.ulp(at):
            self._here = Position(*goal[1:])
            if goal.t < at - _ULPS * math.ulp(at):
                self._reach(goal.t)
        elif at > self._path[-1].t:
            self._here = Trajectory((self._path[-1], goal)).at(at)
        self._reach(at)

    def _reach(self, at: float) -> None:
        waypoint = Waypoint(at, *self._here)
        if not self._path or waypoint != self._path[-1]:
            self._builder.add(self._name, waypoint)


def write(trace: Trace, target: Path) -> Iterator[str]:
    """The lines of a trace: the start positions, then the movements of each node."""
    nodes = _numbered(trace)
    for number, trajectory in nodes:
        yield presence.comment(number, trajectory)
        yield from _sets(f"$node_({number}) set", _rounded(trajectory.waypoints[0]))
    for number, trajectory in nodes:
        yield from _moves(number, _waypoints(trajectory), target)


def _numbered(trace: Trace) -> list[tuple[int, Trajectory]]:
    """The nodes by the numbers in their names; numbered from 0 if one of the names is not a number."""
    is_number = re.compile(r"0|[1-9][0-9]{0,8}").fullmatch
    numbers = map(int, trace.names) if all(map(is_number, trace.names)) else range(len(trace.names))
    return sorted(zip(numbers, trace.trajectories, strict=True), key=lambda node: node[0])


def _moves(number: int, waypoints: Sequence[Waypoint], target: Path) -> Iterator[str]:
    """For each waypoint, the movement from then on."""
    if any(a.t == b.t for a, b in pairwise(waypoints)):
        # ns-3 puts a node at its last jump's place already at time 0. This puts it back; other readers ignore it.
        yield from _sets(f'$ns_ at 0.0 "$node_({number}) set', waypoints[0], '"')
    for a, b in pairwise(waypoints):
        if a.t == b.t:
            yield from _sets(f'$ns_ at {decimal(a.t)} "$node_({number}) set', b, '"')
        else:
            yield _setdest(number, a, b, _speed(number, a, b, target))
    if len(waypoints) > 1:
        yield _setdest(number, waypoints[-1], waypoints[-1], 0.0)


def _speed(number: int, a: Waypoint, b: Waypoint, target: Path) -> float:
    between = f"between {a.t:g} s and {b.t:g} s"
    if a.z != b.z:
        raise fault(target, f"node {number} climbs {between}", "movements at one height, in this format")
    speed = math.dist(a[1:3], b[1:3]) / (b.t - a.t)
    if math.isinf(speed):
        raise fault(target, f"node {number} moves at no finite speed {between}", "slower movements, in this format")
    return speed


def _setdest(number: int, a: Waypoint, b: Waypoint, speed: float) -> str:
    return f'$ns_ at {decimal(a.t)} "$node_({number}) setdest {decimal(b.x)} {decimal(b.y)} {decimal(speed)}"\n'


def _sets(command: str, waypoint: Waypoint, end: str = "") -> Iterator[str]:
    for axis, i in _AXES.items():
        yield f"{command} {axis} {decimal(waypoint[1 + i])}{end}\n"


def _waypoints(trajectory: Trajectory) -> list[Waypoint]:
    """The waypoints without those that have no effect: between the first and the last of one time."""
    kept: list[Waypoint] = []
    for waypoint in map(_rounded, trajectory.waypoints):
        if len(kept) > 1 and kept[-2].t == waypoint.t:
            kept.pop()
        if not kept or kept[-1] != waypoint:
            kept.append(waypoint)
    return kept


def _rounded(waypoint: Waypoint) -> Waypoint:
    return Waypoint(waypoint.t, *(round(value, 6) for value in waypoint[1:]))
