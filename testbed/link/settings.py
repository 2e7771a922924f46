"""The parameters of a link layer. Times are in ticks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """How often it speaks, when it believes, and when it gives up."""

    hello: int
    """Between two hellos, on average."""
    jitter: float
    """The share of that by which an interval may be longer or shorter, so that nodes do not speak in chorus."""
    up_after: int
    """Hellos of a peer, one after the other, before a link is opened to it."""
    dead_after: int
    """Silence after which a peer is out of reach."""
    retry: int
    """After which what was not answered is sent again; it doubles every time, up to `max_retry`."""
    max_retry: int
    close_timeout: int | None
    """How long two ends try to agree on how a session ends; None for ever."""
    window: int = 32
    """Messages on the air to one peer."""
    relay_hops: int = 8
    """How far others carry a datagram for those who have lost sight of each other; 0 for not at all."""
