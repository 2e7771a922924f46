"""One direction of a link, as the driver sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Channel:
    """Its two nodes, and how many messages have been sent and have arrived. Messages are numbered from 1."""

    __slots__ = ("arrived", "latest", "on_arrival", "sent", "source", "target")

    def __init__(self, source: int, target: int) -> None:
        self.source = source
        self.target = target
        self.sent = 0  # the number of the message sent last
        self.arrived = 0  # the number of the message that arrived last
        self.latest = 0  # when the last message sent so far arrives: no later one may overtake it
        self.on_arrival: Callable[[Channel], None] | None = None
        """Called after every arrival, if a link waits for the channel to be empty."""

    @property
    def in_flight(self) -> int:
        """How many messages are in transit."""
        return self.sent - self.arrived


Post = tuple[Channel, Any, int, Any]
"""A message in transit: its channel, itself, its number on the channel, and what its driver knows of its class."""
