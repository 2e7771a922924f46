"""Square cells and the nodes in each, so that a node searches for others only in its own cell and those around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from math import inf

from testbed.mobility.encounter import Leg
from testbed.mobility.trajectory import Trajectory

MAX_CELLS = 100_000
"""Along an axis: nodes step from cell to cell, and a node that goes very far must not take too many steps."""

Cell = int
"""The number of a cell. Adding a step that is the same everywhere gives the number of a neighbouring cell."""


class Grid:
    """Cells at least as wide as `size` over all places that nodes visit; an empty cell takes no memory.

    Cells are wider if there would be too many otherwise; wider cells still find all neighbours. An axis along which
    all places fit into one cell is left out, so the grid of a flat area is flat.
    """

    def __init__(self, trajectories: Sequence[Trajectory], size: float) -> None:
        bounds = _bounds(trajectories)
        self.size = size = max([size, *((high - low) / MAX_CELLS for low, high in bounds)])
        self.cells: dict[Cell, list[int]] = {}
        self.cell_of: dict[int, Cell] = {}
        self.axes: list[
            tuple[int, float, Cell, int]
        ] = []  # its index, where it begins, a step along it, cells along it
        step = 1
        for axis, (low, high) in enumerate(bounds):
            if high - low > size:
                cells = int((high - low) / size) + 3  # one more at either end, always empty: rows must not touch
                self.axes.append((axis, low - size, step, cells))
                step *= cells
        steps = [step for _, _, step, _ in self.axes]
        self.block = _block(steps)
        """Steps from a cell to itself and to all cells around it."""
        self.ahead = {
            sign * step: tuple(sign * step + aside for aside in _block([other for other in steps if other != step]))
            for step in steps
            for sign in (-1, 1)
        }
        """After a step: the further steps to the cells that were not around the cell before."""

    def at(self, place: Sequence[float]) -> Cell:
        """The cell at a place (x, y, z)."""
        return sum(step * int((place[axis] - low) / self.size) for axis, low, step, _ in self.axes)

    def around(self, cell: Cell) -> list[int]:
        """The nodes in a cell and in those around it."""
        return self._inside(cell, self.block)

    def enter(self, node: int, cell: Cell) -> None:
        """Put a node that is in no cell into one."""
        self.cell_of[node] = cell
        self.cells.setdefault(cell, []).append(node)

    def leave(self, node: int) -> None:
        """Take a node out of its cell, if it is in one."""
        cell = self.cell_of.pop(node, None)
        if cell is not None:
            inside = self.cells[cell]
            inside.remove(node)
            if not inside:
                del self.cells[cell]

    def step(self, node: int, step: Cell) -> list[int]:
        """Move a node to a neighbouring cell; returns the nodes in the cells that this brings near."""
        cell = self.cell_of[node] + step
        self.leave(node)
        self.enter(node, cell)
        return self._inside(cell, self.ahead[step])

    def next_step(self, node: int, leg: Leg) -> tuple[float, Cell]:
        """When a node on a leg reaches the edge of its cell, and the step it takes there; (inf, 0) if never.

        It uses the recorded cell of the node, not its position: rounding may put the position slightly outside.
        """
        soonest, way = inf, 0
        cell = self.cell_of[node]
        for axis, low, step, cells in self.axes:
            speed = leg[4 + axis]
            if speed:
                edge = low + self.size * (cell // step % cells + (speed > 0.0))
                t = leg[0] + (edge - leg[1 + axis]) / speed
                if t < soonest:
                    soonest, way = t, step if speed > 0.0 else -step
        return soonest, way

    def _inside(self, cell: Cell, steps: Iterable[Cell]) -> list[int]:
        cells = self.cells
        return [node for step in steps if cell + step in cells for node in cells[cell + step]]


def _block(steps: Sequence[Cell]) -> tuple[Cell, ...]:
    """The steps to a cell itself and to all cells around it, along axes with these steps."""
    return tuple(map(sum, product(*((-step, 0, step) for step in steps))))


def _bounds(trajectories: Sequence[Trajectory]) -> list[tuple[float, float]]:
    """The smallest and largest x, y and z of all waypoints."""
    waypoints = [waypoint for trajectory in trajectories for waypoint in trajectory.waypoints]
    return [(min(places), max(places)) for places in list(zip(*waypoints, strict=True))[1:]]
