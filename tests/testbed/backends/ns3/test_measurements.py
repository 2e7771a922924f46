"""What the benchmarks of backend ns3 rest on: a reference with the same traffic, and times that add up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import ns3 as speed
from benchmarks import ns3_waits as waits
from benchmarks.testbed_rl import WrongRun
from testbed.scenario.schema import Scenario

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

SHORT = Scenario.model_validate({**speed.PEDESTRIANS, "nodes": 12, "area": [200, 200], "duration": 16.0})


def test_the_reference_has_the_same_traffic() -> None:
    """ns-3 alone, with the same frames at the same times, delivers every datagram that it delivers in the run."""
    traffic = speed.record(SHORT)
    assert len(traffic.frames) > 200
    assert traffic.received > 1000
    assert speed.replay(SHORT, traffic) > 0
    assert speed.run(SHORT) > 0


def test_a_reference_with_other_traffic_is_refused() -> None:
    """Then the ratio would mean nothing."""
    traffic = speed.record(SHORT)
    with pytest.raises(WrongRun, match="datagrams received in the reference"):
        speed.replay(SHORT, replace(traffic, frames=traffic.frames[::2]))


def test_the_probe_sees_every_frame_and_changes_nothing() -> None:
    """It only listens to traces: the run is the one without it."""
    one = waits.scenario(54.0, 0.05, "ns3", duration=30.0)
    seen = waits.on_ns3(one, 0, waits.AS_IT_IS)
    probe, waits.probe_kind = waits.probe_kind, lambda: Blind
    try:
        blind = waits.on_ns3(one, 0, waits.AS_IT_IS)
    finally:
        waits.probe_kind = probe
    assert {key: seen[key] for key in blind if key in ("waiting_time", "frames_per_cs", "sent_again")} == {
        key: blind[key] for key in ("waiting_time", "frames_per_cs", "sent_again")
    }
    assert 0 < seen["air_ms"] < seen["access_ms"] < 2
    assert 0 < seen["behind_failed_ms"] < seen["queue_ms"]
    assert seen["failed_ms"] > 2
    assert 0 < seen["busy"] < 1
    once = waits.on_ns3(one, 0, waits.SENT_ONCE)
    assert (once["attempts"], once["repeated"]) == (1.0, 0.0)
    assert once["failed"] > seen["failed"]


class Blind:
    """A probe that sees nothing."""

    def Watch(self) -> None: ...  # noqa: N802

    def Frames(self) -> list[waits.Frame]:  # noqa: N802
        return []

    def Busy(self) -> int:  # noqa: N802
        return 0


def test_the_way_of_a_frame_is_taken_apart() -> None:
    """By hand: the second frame waits for one that fails, the third for both; each is at the head when it can be."""
    ms = 1_000_000
    failed = waits.Frame(0, True, 0, 1 * ms, 8 * ms, 10 * ms, 7, False)
    behind = waits.Frame(0, True, 4 * ms, 11 * ms, 13 * ms, 14 * ms, 2, True)
    last = waits.Frame(0, True, 12 * ms, 15 * ms, 15 * ms, 16 * ms, 1, True)
    other = waits.Frame(1, False, 11 * ms, 11 * ms + 5000, 11 * ms + 5000, 12 * ms, 1, False)
    parts = waits.taken_apart([last, other, failed, behind])
    assert parts == {
        "queue_ms": (6 + 2) / 2,
        "behind_failed_ms": 6 / 2,
        "access_ms": (1 + 1) / 2,
        "repeats_ms": 2 / 2,
        "air_ms": (1 + 1) / 2,
        "failed": 1 / 3,
        "failed_ms": 10.0,
        "attempts": 10 / 3,
        "never_sent": 0.0,
        "repeated": 1 / 2,
        "collided": 1.0,
    }
    apart = other._replace(first=20 * ms, last=20 * ms, end=21 * ms)
    assert waits.taken_apart([last, apart, failed, behind])["collided"] == 0.0
