"""Whether a guest's clock runs as fast as this machine's.

A guest measures the rate of its clock once, when it boots; on a busy machine it may measure it wrongly, and a snapshot
keeps the error. In a guest whose clock runs six times fast, all times are a sixth of what the scenario says, and real
delays are six times as long as they seem. No check inside the guest can notice that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from testbed.errors import InconclusiveError
from testbed.guest import cache
from testbed.guest.host import Guest

TOLERANCE = 0.02
"""How much faster or slower than this machine's the guest's clock may be."""
_RESOLUTION_S = 0.01  # of /proc/uptime


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What the guest's clock showed at some time between two readings of this machine's."""

    before_s: float
    guest_s: float
    after_s: float


def read_clock(guest: Guest) -> ClockReading:
    """Read both clocks. Neither can be set: they count the time since their machines were started."""
    printed = bytearray()
    before_s = time.monotonic()
    guest.run(["cat", "/proc/uptime"], stdout=printed.extend)
    return ClockReading(before_s, float(printed.split()[0]), time.monotonic())


def clock_rates(first: ClockReading, second: ClockReading) -> tuple[float, float]:
    """The slowest and the fastest rate of the guest's clock that both readings allow; 1 is this machine's."""
    elapsed_s = second.guest_s - first.guest_s
    longest_s, shortest_s = second.after_s - first.before_s, second.before_s - first.after_s
    fastest = (elapsed_s + _RESOLUTION_S) / shortest_s if shortest_s > 0 else float("inf")
    return (elapsed_s - _RESOLUTION_S) / longest_s, fastest


def check_clock(first: ClockReading, second: ClockReading) -> None:
    """Raise an error if the guest's clock was certainly too fast or too slow between the readings.

    What the readings leave open is in its favour: over a short time only a large difference is certain.
    """
    slowest, fastest = clock_rates(first, second)
    if slowest > 1 + TOLERANCE:
        wrong = f"{slowest:.2f} times as fast as this machine's or more"
    elif fastest < 1 - TOLERANCE:
        wrong = f"at most {fastest:.2f} times as fast as this machine's"
    else:
        return
    remedy = f"rm -f {cache.folder()}/snapshot-*, and run it again on an idle machine"
    raise InconclusiveError(f"inconclusive: the guest's clock ran {wrong}, so the run shows nothing: {remedy}")
