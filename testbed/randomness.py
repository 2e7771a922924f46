"""Random streams: one generator for each (seed, repetition, component, node), keyed by a hash.

A component draws from its own stream, so adding a consumer shifts nobody else's draws. The algorithm's name is never
part of the key, so that algorithms are compared on the same topology, load and link changes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Streams:
    """The streams of one repetition."""

    seed: int
    repetition: int
    life: int = 1
    """Of the process that draws: one that comes back from a crash does not draw the same again."""

    def of(self, component: str, node: int | None = None) -> Random:
        """A fresh generator at the beginning of a component's stream."""
        key = f"{self.seed}/{self.repetition}/{component}/{'' if node is None else node}"
        if self.life > 1:
            key += f"/{self.life}"
        return Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16]))
