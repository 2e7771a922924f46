"""What is known of frames on the air, and what can happen to them."""

from __future__ import annotations

from typing import NamedTuple

from testbed.backends.hwsim.hearing import Hearer
from testbed.backends.hwsim.messages import Sent, Tries
from testbed.backends.hwsim.routing_frames import RoutingFrames

CONTROL_AT, RECEIVER_AT = 4, 8
"""The offsets of a frame's control byte and of its receiver in the netlink attribute."""
DATA, BEACON = 0x08, 0x80
KINDS = ("data unicast", "data broadcast", "beacon", "management")
ONCE = [(index, 1, -1, 0, -1, 0, -1, 0) for index in range(12)]
"""One try at each rate."""


class Impairments(NamedTuple):
    """What happens to frames besides the radio model."""

    loss: float = 0.0
    """Share of the data frames that are lost after the receiver has acknowledged them: the datagram is lost, as in the
    simulator, and not sent again by the radio."""
    duplicate: float = 0.0
    """Share of the data frames that arrive twice."""
    collisions: bool = False
    routing: RoutingFrames | None = None
    """Counts the frames of routing, if the kernel routes."""


class Try(NamedTuple):
    """One transmission of a frame; a unicast may need several."""

    start_ns: int
    mbps: float


class FrameOutcome(NamedTuple):
    """What happens to a frame, unless it collides."""

    start_ns: int
    sender: int
    sent: Sent
    receivers: list[Hearer]
    rate: int
    """The index of the last rate that was used."""
    is_unicast: bool
    acked_dbm: float | None
    """The power of the acknowledgement, if there was one."""
    asked: Tries
    """The tries that the sender asked for, less those used before a collision."""
    used: Tries


Flight = tuple[int, int, FrameOutcome | bytes]
"""A frame in transit: when it is due, a number that orders frames due at the same time, and its outcome; if that is
certain, the bytes of the messages to the kernel instead."""

Sure = tuple[list[bytes], int, int, list[int]]
"""What is the same for all frames of one kind that no error can affect: the messages to the kernel, cut where the frame
goes and without the cookie at the end; the time on the air; the number of receivers; the counter of this kind."""


class Reception:
    """The nodes that hear a sender for a while, and what follows from that for its frames."""

    __slots__ = ("by_node", "chances", "listeners", "sure", "until_ns")

    def __init__(self, until_ns: int | None, listeners: list[Hearer]) -> None:
        self.until_ns = until_ns
        self.listeners = listeners
        self.by_node = {listener[0]: listener for listener in listeners}
        self.chances: dict[tuple[int, int], list[float]] = {}
        """The chance of each listener to lose a frame, by rate and size."""
        self.sure: dict[tuple[int, bytes, int, int, Tries], Sure | None] = {}
        """By control byte, receiver, size, flags and tries of a frame; None if such a frame may be lost."""


def kind_of(attribute: bytes) -> str:
    """Which of `KINDS` a frame is."""
    if attribute[CONTROL_AT] & 0x0C == DATA:
        return "data broadcast" if attribute[RECEIVER_AT] & 1 else "data unicast"
    return "beacon" if attribute[CONTROL_AT] == BEACON else "management"


def tries_left(tries: Tries, used: Tries) -> Tries:
    """What is left of the tries that were asked for."""
    left: list[int] = []
    for place in range(0, len(tries), 2):
        times = tries[place + 1] - (used[place + 1] if used[place] == tries[place] else 0)
        if tries[place] >= 0 and times > 0:
            left += (tries[place], times)
    return (*left, *((-1, 0) * (len(tries) // 2)))[: len(tries)]
