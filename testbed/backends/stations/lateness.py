"""How late things are done that are due at a given time: whether a run in real time kept up.

A medium measures how late it passes datagrams on. A station measures how late its timers are, and how long datagrams
wait until it reads them: both in one distribution, as both wait for the same event loop. It measures from the end of
the warmup to the end of the run, as frames are counted. When all stations find all their neighbours at the same time, a
machine may be late that has time to spare later on; and a link that is found late in the warmup is there when the load
begins. Lateness after the last request counts: pending requests are still to be served then.
"""

from __future__ import annotations

from array import array

from agents.contract import TICKS
from analysis import stats
from testbed.link.settings import LinkSettings

_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


class Lateness:
    """Every delay, in nanoseconds. A million of them take 8 MB."""

    def __init__(self) -> None:
        self._ns = array("q")
        self.note = self._ns.append
        """Something was this many nanoseconds late."""

    def clear(self) -> None:
        """What was late so far does not count."""
        del self._ns[:]

    def summary_ms(self) -> dict[str, float] | None:
        """The distribution in milliseconds; None if nothing was ever due."""
        ordered = sorted(self._ns)
        if not ordered:
            return None
        found = {"mean": stats.mean(ordered)}
        found |= {name: stats.percentile(ordered, share) for name, share in _PERCENTILES.items()}
        return {name: round(ns / 1e6, 3) for name, ns in found.items() if ns is not None}


def bound_ms(settings: LinkSettings, time_unit: float) -> float:
    """How late a station, or the medium, may be: half of the time after which a frame is sent again.

    A frame waits to be read at its receiver, and its acknowledgement at its sender. If both wait for more than half of
    `retry`, the sender repeats a frame that was not lost, and then waits for longer every time: the link layer measures
    the machine instead of the network. `dead_after` is many times longer by default, so below this bound no link falls
    because its hellos were read late.
    """
    return settings.retry / 2 / TICKS * time_unit * 1e3
