"""The fate of datagrams: which of them arrive, how often, and after which delay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from testbed.mobility.trajectory import Trajectory
from testbed.radio.air import Air


class DatagramLoss:
    """Decides for every datagram whether it arrives, how often, and when.

    `loss` and `duplicate` are shares of the datagrams. If nodes have positions, the radio's error rate is added to the
    loss.
    """

    def __init__(
        self,
        loss: float,
        duplicate: float,
        delay: Callable[[], int],
        rng: Random,
        places: tuple[Sequence[Trajectory], Air] | None,
    ) -> None:
        self._loss, self._duplicate = loss, duplicate
        self._delay = delay
        self._rng = rng
        self._places = places

    def arrivals(self, source: int, target: int, seconds: float, size_bytes: int) -> list[int]:
        """The delays after which copies of a datagram arrive; none, if it is lost."""
        copies = 1 + (self._rng.random() < self._duplicate)
        return [self._delay() for _ in range(copies) if self._arrives(source, target, seconds, size_bytes)]

    def _arrives(self, source: int, target: int, seconds: float, size_bytes: int) -> bool:
        if self._rng.random() < self._loss:
            return False
        if self._places is None:
            return True
        trajectories, air = self._places
        at_source, at_target = trajectories[source].at(seconds), trajectories[target].at(seconds)
        return air.draw_received(source, target, at_source, at_target, size_bytes, self._rng)
