"""`radio.rate_control`: rates that ns-3's Minstrel, or its manager with perfect knowledge, find out for unicasts."""

from __future__ import annotations

from typing import Any

import pytest

from testbed.radio.radio import Radio
from tests.testbed.backends.ns3 import on_ns3
from tests.testbed.backends.ns3.test_air import FRAMES, MS, arrivals, at_distance
from tests.testbed.backends.ns3.test_simulation import LINE
from tests.testbed.simulate import ALL_OK

pytestmark = [pytest.mark.xdist_group("ns3"), pytest.mark.usefixtures("ns3")]

FOUND_OUT = ("minstrel", "ideal")
DATAGRAMS = 50


def send_and_time(metres: float, rate: int, control: str) -> tuple[int, float]:
    """How many of 50 unicasts of 1000 bytes arrive, and in how many ms; Minstrel learns from 50 others before."""
    air = at_distance(metres, {"rate": rate, "rate_control": control})
    arrived, took_ms = 0, 0.0
    for start_ms in (0, 1_000):
        arrived = 0
        air.run_until(start_ms * MS)
        for _ in range(DATAGRAMS):
            air.send(0, 1, bytes(1000))
        while air.run_until((start_ms + 900) * MS) >= 0:
            arrived, took_ms = arrived + 1, air.now_ns() / MS - start_ms
    return arrived, took_ms


def test_a_good_link_is_used_at_a_higher_rate() -> None:
    """At ten metres, where all rates are received: a third of the time of 6 Mb/s, or less."""
    arrived, constant_ms = send_and_time(10, 6, "constant")
    assert arrived == DATAGRAMS
    for control in FOUND_OUT:
        arrived, found_out_ms = send_and_time(10, 6, control)
        assert arrived == DATAGRAMS
        assert found_out_ms < constant_ms / 3


def test_a_weak_link_is_used_at_a_lower_rate() -> None:
    """At 60 metres, beyond the range of 54 Mb/s: unicasts arrive; broadcasts, whose rate is given, do not."""
    assert Radio(rate=54).reach_m() < 45
    assert send_and_time(60, 54, "constant")[0] == 0
    for control in FOUND_OUT:
        assert send_and_time(60, 54, control)[0] == DATAGRAMS
        assert arrivals(at_distance(60, {"rate": 54, "rate_control": control}), None) == 0


@pytest.mark.parametrize("standard", ["802.11b", "802.11a"])
@pytest.mark.parametrize("control", FOUND_OUT)
def test_every_standard_has_it(standard: str, control: str) -> None:
    """Also where the rates are few, or in the other band."""
    assert arrivals(at_distance(20, {"standard": standard, "rate_control": control}), 1) == FRAMES


@pytest.mark.parametrize("control", FOUND_OUT)
def test_the_same_seed_gives_the_same_events(control: str) -> None:
    """Minstrel draws which rates it tries: by seed and repetition only."""
    ways = {"placement": "uniform", "mobility": {"kind": "random-waypoint", "speed": [5, 10]}, "area": [250, 60]}
    keys = {**LINE, **ways, "radio": {"range": 100, "propagation": "nakagami", "rate_control": control}}

    def events(repetition: int, **other: Any) -> list[Any]:
        done = on_ns3.run(repetition, **{**keys, **other, "duration": 30.0})
        assert done.verdicts == ALL_OK, done.details
        return done.diary.events

    first, other, constant = events(0), events(1), events(0, radio={**keys["radio"], "rate_control": "constant"})
    assert events(0) == first
    assert len(first) > 100
    assert other != first
    assert constant != first
