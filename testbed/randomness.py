"""Random streams: one generator for each (seed, repetition, component, node), keyed by a hash.

A component draws from its own stream, so adding a consumer does not shift another's draws. The algorithm's name is not
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
    incarnation: int = 1
    """Of the process that draws: after a crash, its next incarnation does not draw the same numbers again."""

    def of(self, component: str, node: int | None = None) -> Random:
        """A fresh generator at the start of a component's stream."""
        key = f"{self.seed}/{self.repetition}/{component}/{'' if node is None else node}"
        if self.incarnation > 1:
            key += f"/{self.incarnation}"
        return Random(int.from_bytes(hashlib.sha256(key.encode()).digest()[:16]))
