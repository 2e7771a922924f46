"""What the world did to a run, as opposed to the algorithm: partitions, crashes, and units that faults took.

Only the world excuses a request that is not served. So a check that excuses anything follows the two apart: units that
are gone because a fault or a crash took them, and units that are gone because the algorithm dropped them.
"""

from __future__ import annotations

from agents.contract import TICKS
from analysis.check import PERMISSIONS, Check
from analysis.events import Start

TAKEN_BY_WORLD = ("fault", "crash")
"""Reasons for a lost message that are the world's doing."""


class WorldCheck(Check):
    """A check that must know what the network allowed."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = 1
        self.cut_off: list[int] = []
        self.down: set[int] = set()
        self.has_lost_units = False
        """Whether a fault or a crash took units."""
        self.dropped = 0
        """How many units, or tokens if these are more, the algorithm itself has lost and not made again."""
        self.dropped_at = ""
        """Where and when it first lost one."""
        self.patience = 0
        self.calm_since: int | None = 0
        """Since when nothing has kept nodes from each other or from units; None while something does."""

    def begin(self, start: Start) -> None:
        self.patience = start.patience
        short = start.capacity - sum(start.units) - sum(start.kept)
        if start.shares != PERMISSIONS and short > 0:
            self.dropped, self.dropped_at = short, "missing from the start"

    @property
    def is_disturbed(self) -> bool:
        """Whether nodes are down or cut off from each other or from units, or a fault took units.

        Nodes that can reach no unit because the algorithm dropped it are not cut off by the world.
        """
        return self.parts > 1 or bool(self.down) or self.has_lost_units or bool(self.cut_off and not self.dropped)

    def calm_ends(self, t: int) -> None:
        """Nodes are about to be kept from each other or from units, or were until now."""

    def _disturb(self, t: int) -> None:
        """Something has happened to the network: a calm time is over, and perhaps another one begins."""
        self.calm_ends(t)
        self.calm_since = None if self.is_disturbed else t

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self.parts, self.cut_off = parts, cut_off
        self._disturb(t)

    def crash(self, t: int, node: int, units: int, tokens: int) -> None:
        self.down.add(node)
        self.has_lost_units |= bool(units or tokens)
        self._disturb(t)

    def restart(self, t: int, node: int, incarnation: int) -> None:
        self.down.discard(node)
        self._disturb(t)

    def lost(self, t: int, node: int, peer: int, id: int, type: str, units: int, tokens: int, why: str) -> None:
        if (units or tokens) and why in TAKEN_BY_WORLD:
            self.has_lost_units = True
            self._disturb(t)

    def left(self, t: int, node: int, group: int, ready: bool, abandoned: bool, units: int, tokens: int) -> None:
        if units or tokens:
            self.has_lost_units = True
            self._disturb(t)

    def miscount(
        self, t: int, node: int, units: int, tokens: int, said_units: int, said_tokens: int, event: str
    ) -> None:
        less = max(units - said_units, tokens - said_tokens)  # negative if the node has made some
        if less > 0 and not self.dropped:
            self.dropped_at = f"lost by node {node} in {event} at t={t / TICKS:g}"
        self.dropped = max(0, self.dropped + less)
