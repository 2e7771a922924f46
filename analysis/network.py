"""What the network was like during a repetition: how dense, how often it changed, whether it fell apart.

Averages are over time, from the end of the warmup to the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analysis.events import LEVELS, TICKS, supports
from analysis.listener import Listener


class Level:
    """A quantity that jumps now and then, averaged over time."""

    def __init__(self, value: float, t: int) -> None:
        self.value = value
        self._since = t
        self._sum = 0.0

    def change(self, t: int, value: float) -> None:
        """It is `value` from t on."""
        if t > self._since:
            self._sum += self.value * (t - self._since)
            self._since = t
        self.value = value

    def mean(self, begin: int, end: int) -> float | None:
        """The average over a time that ends now."""
        self.change(end, self.value)
        return self._sum / (end - begin) if end > begin else None


class Network(Listener):
    """Listens to one repetition and sums up its network."""

    def __init__(self) -> None:
        self._trace = LEVELS[0]
        self._is_routed = False
        self._nodes = 1
        self._warmup = self._now = 0
        self._changes = 0
        self._frames: dict[str, int] = {}
        self._bytes = 0
        self._lateness_ms: dict[str, float] | None = None
        self._there: set[tuple[int, int]] = set()  # links, the smaller node first
        self._links = self._parts = self._partitioned = Level(0, 0)

    def start(self, t: int, node: None, version: int, trace: str, needs: str, capacity: int, warmup: int,
              units: list[int], links: list[list[int]]) -> None:  # fmt: skip
        self._trace = trace
        self._is_routed = needs == "any node"
        self._nodes = len(units)
        self._warmup = self._now = warmup
        if not needs.startswith("links, radio"):  # there, links are to be found, and told of, first
            self._there.update((a, b) for a, b in links)
        self._links = Level(len(self._there), warmup)
        self._parts, self._partitioned = Level(1, warmup), Level(0, warmup)

    def stop(self, t: int, node: None, reason: str, units: list[int]) -> None:
        self._now = max(t, self._warmup)

    def frames(self, t: int, node: None, type: str, count: int, bytes: int) -> None:
        self._frames[type] = count
        self._bytes += bytes

    def lateness(self, t: int, node: None, medium_ms: dict[str, float]) -> None:
        self._lateness_ms = medium_ms

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self._parts.change(t, parts)
        self._partitioned.change(t, parts > 1)

    def link_up(self, t: int, node: int, peer: int) -> None:
        self._change(t, node, peer, self._there.add, there=False)

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        self._change(t, node, peer, self._there.discard, there=True)

    def _change(self, t: int, node: int, peer: int, carry_out: Callable[[tuple[int, int]], None], there: bool) -> None:
        """Both ends of a link are told, unless one of them has crashed: it changes when the first of them is."""
        link = (node, peer) if node < peer else (peer, node)
        if (link in self._there) is there:
            carry_out(link)
            self._links.change(t, len(self._there))
            self._changes += t >= self._warmup

    def result(self) -> dict[str, Any]:
        """Ready for JSON; None where nothing was measured or the log does not say."""
        begin, end = self._warmup, self._now
        # Routers over radio find ways, not links, and tell of none; ideal routing is over links that are told.
        knows_links = supports(self._trace, "link_up") and not (self._is_routed and self._frames)
        links = self._links.mean(begin, end)
        return {
            "link_changes": self._changes if knows_links else None,
            "link_change_rate": self._changes * TICKS / (end - begin) if knows_links and end > begin else None,
            "mean_degree": 2 * links / self._nodes if knows_links and links is not None else None,
            "frames": dict(sorted(self._frames.items())) or None,
            "air_bytes": self._bytes or None,
            "components": self._parts.mean(begin, end),
            "time_partitioned": self._partitioned.mean(begin, end),
            "medium_lateness": self._lateness_ms,
        }


def frames_per_entry(metrics: dict[str, Any]) -> dict[str, float | None]:
    """What the link layers sent for each entry: None where they sent nothing or nobody entered."""
    frames, bytes, entries = metrics["frames"], metrics["air_bytes"], metrics["entries"]
    return {
        "frames_per_cs": sum(frames.values()) / entries if frames and entries else None,
        "bytes_per_cs": bytes / entries if bytes and entries else None,
    }
