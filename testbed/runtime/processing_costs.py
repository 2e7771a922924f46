"""What messages cost a node's processor."""

from __future__ import annotations

from typing import NamedTuple


class ProcessingCosts(NamedTuple):
    """For how many ticks a node is busy with each message that it sends or receives, and in which order it works."""

    send: int = 0
    receive: int = 0
    discipline: str = "fifo"

    @property
    def take_time(self) -> bool:
        """Whether messages cost anything."""
        return bool(self.send or self.receive)
