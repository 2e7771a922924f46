"""What messages cost a node's processor."""

from __future__ import annotations

from typing import NamedTuple


class ProcessingCosts(NamedTuple):
    """For how many ticks a node is busy with each message that it sends or receives."""

    send: int = 0
    receive: int = 0
