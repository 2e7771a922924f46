"""The air of one run: which nodes hear each other, from their positions.

Hearing is symmetric: both directions between two nodes have the same mean power. Only the fading and the errors of a
frame are drawn for each frame, and so differ from one direction to the other.
"""

from __future__ import annotations

from itertools import combinations
from math import dist
from random import Random

from testbed.mobility.trajectory import Position
from testbed.radio.fading import draw_gain_db
from testbed.radio.radio import Radio
from testbed.randomness import Streams


class Air:
    """The propagation and reception of frames in one run. Its only state is the shadowing of each pair of nodes."""

    def __init__(self, radio: Radio, streams: Streams) -> None:
        self.radio = radio
        self.is_fading = radio.propagation.is_fading
        """Whether frames between nodes that do not move differ in power; then no link is ideal."""
        self._streams = streams
        self._loss = radio.loss
        self._receiver = radio.receiver
        self._fading_m = radio.propagation.fading_m
        self._deviation_db = radio.propagation.deviation_db
        self._sent_dbm = radio.tx_power_dbm + 2 * radio.antenna_gain_dbi
        self._shadowing: dict[tuple[int, int], float] = {}
        self._range_m: dict[tuple[float, float, float], float] = {}

    def shadowing_db(self, a: int, b: int) -> float:
        """The gain of a pair of nodes over the mean, fixed for the whole run and the same in both directions."""
        if not self._deviation_db:
            return 0.0
        pair = (a, b) if a < b else (b, a)
        gain = self._shadowing.get(pair)
        if gain is None:
            rng = self._streams.of(f"shadowing {pair[0]} {pair[1]}")
            gain = self._shadowing[pair] = rng.gauss(0.0, self._deviation_db)
        return gain

    def rx_power_dbm(self, a: int, b: int, position_a: Position, position_b: Position) -> float:
        """The mean power of frames between two nodes."""
        loss = self._loss(dist(position_a, position_b), position_a.z, position_b.z)
        return self._sent_dbm + self.shadowing_db(a, b) - loss

    def snr_db(self, a: int, b: int, position_a: Position, position_b: Position) -> float:
        """The mean power over the noise."""
        return self.rx_power_dbm(a, b, position_a, position_b) - self._receiver.noise_dbm

    def frame_error_rate(self, a: int, b: int, position_a: Position, position_b: Position, size_bytes: int) -> float:
        """The probability that a frame is not received, averaged over fading if there is any."""
        power = self.rx_power_dbm(a, b, position_a, position_b)
        m = self._fading_m(dist(position_a, position_b))
        if m is None:
            return self._receiver.error_rate(power, size_bytes)
        return self._receiver.faded_error_rate(power, size_bytes, m)

    def draw_rx_power_dbm(self, a: int, b: int, position_a: Position, position_b: Position, rng: Random) -> float:
        """The power of one frame."""
        power = self.rx_power_dbm(a, b, position_a, position_b)
        m = self._fading_m(dist(position_a, position_b))
        return power if m is None else power + draw_gain_db(m, rng)

    def draw_received(
        self, a: int, b: int, position_a: Position, position_b: Position, size_bytes: int, rng: Random
    ) -> bool:
        """Whether one frame is received."""
        power = self.draw_rx_power_dbm(a, b, position_a, position_b, rng)
        return rng.random() >= self._receiver.error_rate(power, size_bytes)

    def range_m(self, a: int, b: int, z_a: float = 0.0, z_b: float = 0.0) -> float:
        """The distance up to which two nodes at these heights receive at least half of the frames of 100 bytes."""
        return self._reach(self.shadowing_db(a, b), z_a, z_b)

    def max_range_m(self, nodes: int, z: float = 0.0) -> float:
        """The greatest range of any two of the nodes 0 .. nodes - 1, none of which is higher than z."""
        best = max((self.shadowing_db(a, b) for a, b in combinations(range(nodes), 2)), default=0.0)
        return self._reach(best, z, z)

    def _reach(self, gain_db: float, z_a: float, z_b: float) -> float:
        key = (gain_db, z_a, z_b)
        reach = self._range_m.get(key)
        if reach is None:
            reach = self._range_m[key] = self.radio.reach_m(*key)
        return reach
