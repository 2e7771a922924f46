"""The content of a trace file: the paths of its nodes, and their names in the file."""

from __future__ import annotations

from dataclasses import dataclass

from testbed.mobility.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Trace:
    """Nodes 0 to n-1: each with its name in the file and its path."""

    names: tuple[str, ...]
    trajectories: tuple[Trajectory, ...]

    def __post_init__(self) -> None:
        assert len(self.names) == len(self.trajectories), "every trajectory has a name"
        assert len(self.names) == len(set(self.names)), "names are unique"
