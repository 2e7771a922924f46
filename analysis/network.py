"""What the network was like during a repetition: how dense, how often it changed, whether it was partitioned.

Averages are over time, from the end of the warmup to the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.contract import TICKS
from analysis.events import LEVELS, Start, supports
from analysis.listener import Listener


class Level:
    """A quantity that changes at some instants, averaged over time."""

    def __init__(self, value: float, t: int) -> None:
        self.value = value
        self._since = t
        self._sum = 0.0

    def change(self, t: int, value: float) -> None:
        """From t on, it is `value`."""
        if t > self._since:
            self._sum += self.value * (t - self._since)
            self._since = t
        self.value = value

    def mean(self, begin: int, end: int) -> float | None:
        """The average over a time that ends now."""
        self.change(end, self.value)
        return self._sum / (end - begin) if end > begin else None


class NetworkMetrics(Listener):
    """Listens to one repetition and summarises its network."""

    def __init__(self) -> None:
        self._trace = LEVELS[0]
        self._has_links = True
        self._nodes = 1
        self._warmup = self._now = 0
        self._changes = 0
        self._frames: dict[str, int] = {}
        self._bytes = 0
        self._medium_ms: dict[str, float] | None = None
        self._station_ms: dict[str, float] | None = None
        self._there: set[tuple[int, int]] = set()  # the links that there are, the smaller node first
        self._links = self._components = self._partitioned = Level(0, 0)

    def start(self, t: int, node: None, *fields: Any) -> None:
        start = Start(*fields)
        self._trace = start.trace
        self._has_links = start.needs == "links" or not start.over_radio  # routers over radio report no links
        self._nodes = len(start.units)
        self._warmup = self._now = warmup = start.warmup
        if not start.over_radio:  # otherwise each link is logged when it is found
            self._there.update((a, b) for a, b in start.links)
        self._links = Level(len(self._there), warmup)
        self._components, self._partitioned = Level(1, warmup), Level(0, warmup)

    def stop(self, t: int, node: None, reason: str, units: list[int], tokens: list[int]) -> None:
        self._now = max(t, self._warmup)

    def frames(self, t: int, node: None, type: str, count: int, bytes: int) -> None:
        self._frames[type] = count
        self._bytes += bytes

    def lateness(
        self,
        t: int,
        node: None,
        medium_ms: dict[str, float] | None,
        station_ms: dict[str, float] | None,
        bound_ms: float,
    ) -> None:
        self._medium_ms = medium_ms
        if station_ms is not None:  # without the number of the station: numbers have no mean
            self._station_ms = {name: ms for name, ms in station_ms.items() if name != "station"}

    def partition(self, t: int, node: None, parts: int, cut_off: list[int]) -> None:
        self._components.change(t, parts)
        self._partitioned.change(t, parts > 1)

    def link_up(self, t: int, node: int, peer: int) -> None:
        self._change(t, node, peer, self._there.add, there=False)

    def link_down(self, t: int, node: int, peer: int, lag: int) -> None:
        self._change(t, node, peer, self._there.discard, there=True)

    def _change(self, t: int, node: int, peer: int, carry_out: Callable[[tuple[int, int]], None], there: bool) -> None:
        """Both ends of a link report its change, unless one has crashed: the first report counts."""
        link = (node, peer) if node < peer else (peer, node)
        if (link in self._there) is there:
            carry_out(link)
            self._links.change(t, len(self._there))
            self._changes += t >= self._warmup

    def result(self) -> dict[str, Any]:
        """The metrics of the network, ready for JSON; None where nothing was measured or the log does not say."""
        begin, end = self._warmup, self._now
        knows_links = supports(self._trace, "link_up") and self._has_links
        links = self._links.mean(begin, end)
        return {
            "link_changes": self._changes if knows_links else None,
            "link_change_rate": self._changes * TICKS / (end - begin) if knows_links and end > begin else None,
            "mean_degree": 2 * links / self._nodes if knows_links and links is not None else None,
            "frames": dict(sorted(self._frames.items())) or None,
            "air_bytes": self._bytes or None,
            "components": self._components.mean(begin, end),
            "time_partitioned": self._partitioned.mean(begin, end),
            "medium_lateness": self._medium_ms,
            "station_lateness": self._station_ms,
        }


def frames_per_entry(metrics: dict[str, Any]) -> dict[str, float | None]:
    """What the link layers sent for each entry: None where they sent nothing or there was no entry."""
    frames, bytes, entries = metrics["frames"], metrics["air_bytes"], metrics["entries"]
    return {
        "frames_per_cs": sum(frames.values()) / entries if frames and entries else None,
        "bytes_per_cs": bytes / entries if bytes and entries else None,
    }
