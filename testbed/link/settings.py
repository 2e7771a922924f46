"""The parameters of a link layer. Times are in ticks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LinkSettings:
    """How often a link layer sends, when it takes a link as up or down, and when it gives up."""

    hello: int
    """Mean time between two hellos."""
    jitter: float
    """The share of `hello` by which an interval may be longer or shorter, so that nodes do not send in step."""
    up_after: int
    """Consecutive hellos of a peer before a link is opened to it."""
    dead_after: int
    """Silence after which a peer is out of reach."""
    retry: int
    """Time until an unanswered frame is sent again; it doubles every time, up to `max_retry`."""
    max_retry: int
    close_timeout: int | None
    """How long two ends try to agree on the end of a session; None for no limit."""
    window: int = 32
    """Most unacknowledged messages to one peer that are on the air at a time."""
    relay_hops: int = 8
    """How many hops a datagram is relayed between nodes that do not hear each other; 0 turns relaying off."""
