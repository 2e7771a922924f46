"""Hearing between nodes of a run: symmetric, shadowing fixed, and frames received with the computed probability."""

from __future__ import annotations

from itertools import combinations
from math import log10, sqrt
from random import Random
from statistics import fmean, pstdev
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testbed.mobility.trajectory import Position
from testbed.radio.air import Air
from testbed.radio.propagation import PROPAGATION
from testbed.radio.radio import Radio
from testbed.randomness import Streams

HERE = Position(0.0, 0.0)


def air(seed: int = 1, repetition: int = 0, **fields: Any) -> Air:
    return Air(Radio(**fields), Streams(seed, repetition))


def test_power_ratio_and_error_rate_at_a_distance() -> None:
    there = Position(30.0, 40.0)
    one = air(antenna_gain_dbi=2.0)
    # 16 + 2 * 2 dBm less 40.0953 + 30 log10(50) = 91.0644 dB; over a noise of -93.9660 dBm.
    assert one.rx_power_dbm(0, 1, HERE, there) == pytest.approx(-71.0644, abs=1e-4)
    assert one.snr_db(0, 1, HERE, there) == pytest.approx(22.9016, abs=1e-4)
    assert one.frame_error_rate(0, 1, HERE, there, 100) < 1e-12
    assert one.frame_error_rate(0, 1, HERE, Position(300.0, 0.0), 100) == 1.0


def test_distances_are_in_space() -> None:
    assert air().rx_power_dbm(0, 1, HERE, Position(0.0, 30.0, 40.0)) == air().rx_power_dbm(0, 1, HERE, Position(50, 0))


def test_the_error_rate_is_one_half_at_the_range() -> None:
    one = air(range=60.0, rate=54.0)  # a rate whose range is limited by bit errors, not by detection
    assert one.frame_error_rate(0, 1, HERE, Position(60.0, 0.0), 100) == pytest.approx(0.5, abs=1e-6)


@settings(deadline=None)
@given(
    st.sampled_from(list(PROPAGATION)),
    st.tuples(*[st.floats(0, 200)] * 3).map(lambda xyz: Position(*xyz)),
    st.tuples(*[st.floats(0, 200)] * 3).map(lambda xyz: Position(*xyz)),
)
def test_hearing_is_symmetric(kind: str, p: Position, q: Position) -> None:
    one = air(range=100.0, propagation=kind)
    assert one.rx_power_dbm(3, 7, p, q) == one.rx_power_dbm(7, 3, q, p)
    assert one.snr_db(3, 7, p, q) == one.snr_db(7, 3, q, p)
    assert one.frame_error_rate(3, 7, p, q, 500) == one.frame_error_rate(7, 3, q, p, 500)
    assert one.range_m(3, 7) == one.range_m(7, 3)


# -- shadowing ---------------------------------------------------------------------------------------------------------


@given(st.permutations(list(combinations(range(6), 2))), st.integers(0, 99))
def test_shadowing_does_not_depend_on_the_order_of_calls(pairs: list[tuple[int, int]], seed: int) -> None:
    reference = air(seed, propagation="shadowing")
    expected = {pair: reference.shadowing_db(*pair) for pair in combinations(range(6), 2)}
    another = air(seed, propagation="shadowing")
    assert {(a, b): another.shadowing_db(b, a) for a, b in pairs} == expected
    assert {pair: another.shadowing_db(*pair) for pair in expected} == expected  # and it does not change


def test_shadowing_is_normal_with_the_given_deviation() -> None:
    one = air(propagation={"kind": "shadowing", "sigma_db": 6.0})
    gains = [one.shadowing_db(a, b) for a, b in combinations(range(64), 2)]  # 2016 pairs
    assert fmean(gains) == pytest.approx(0, abs=4 * 6 / sqrt(2016))
    assert pstdev(gains) == pytest.approx(6, abs=4 * 6 / sqrt(2 * 2016))
    within = sum(abs(gain) < 6 for gain in gains) / 2016
    assert within == pytest.approx(0.6827, abs=4 * sqrt(0.6827 * 0.3173 / 2016))


def test_shadowing_follows_the_seed_and_the_repetition() -> None:
    gains = {
        air(seed, repetition, propagation="shadowing").shadowing_db(0, 1) for seed in (1, 2) for repetition in (0, 1)
    }
    assert len(gains) == 4
    assert air().shadowing_db(0, 1) == 0.0


def test_shadowing_is_the_same_in_every_version() -> None:
    expected = Streams(1, 0).of("shadowing 2 5").gauss(0.0, 4.0)
    assert air(propagation="shadowing").shadowing_db(5, 2) == expected


def test_shadowing_changes_power_and_range_of_its_pair() -> None:
    one, plain = air(propagation="shadowing"), air()
    gain, there = one.shadowing_db(0, 1), Position(50.0, 0.0)
    assert gain != one.shadowing_db(0, 2)
    assert one.rx_power_dbm(0, 1, HERE, there) == pytest.approx(plain.rx_power_dbm(0, 1, HERE, there) + gain)
    # 30 dB per factor of ten.
    assert 30 * log10(one.range_m(0, 1) / plain.range_m(0, 1)) == pytest.approx(gain)


# -- ranges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PROPAGATION)
def test_a_range_is_where_a_pair_receives_half_of_the_frames(kind: str) -> None:
    one = air(range=120.0, rate=36.0, propagation=kind)
    for a, b in combinations(range(4), 2):
        reach = one.range_m(a, b)
        assert one.frame_error_rate(a, b, HERE, Position(reach * (1 - 1e-9), 0.0), 100) <= 0.5
        assert one.frame_error_rate(a, b, HERE, Position(reach * (1 + 1e-9), 0.0), 100) > 0.5


@pytest.mark.parametrize("kind", PROPAGATION)
def test_no_pair_reaches_farther_than_the_greatest_range(kind: str) -> None:
    one = air(range=120.0, propagation=kind)
    ranges = [one.range_m(a, b) for a, b in combinations(range(20), 2)]
    assert one.max_range_m(20) == max(ranges)
    assert (min(ranges) < max(ranges)) is (kind == "shadowing")


def test_with_two_rays_high_nodes_reach_far() -> None:
    one = air(propagation="two-ray")
    assert one.range_m(0, 1) < one.range_m(0, 1, z_b=2.0) < one.max_range_m(2, z=2.0)
    assert one.range_m(0, 1) == one.max_range_m(2) == one.range_m(0, 1, z_a=0.0, z_b=0.0)
    there = Position(one.range_m(0, 1, z_b=2.0) - 1.0, 0.0, 2.0)
    assert (
        one.frame_error_rate(0, 1, HERE, there, 100) <= 0.5 < one.frame_error_rate(0, 1, HERE, there._replace(z=0), 100)
    )


def test_one_node_alone_has_a_range() -> None:
    assert air(range=100.0, propagation="shadowing").max_range_m(1) == pytest.approx(100.0)


# -- draws -------------------------------------------------------------------------------------------------------------


def test_which_models_fade() -> None:
    fading = [kind for kind in PROPAGATION if air(range=100.0, propagation=kind).is_fading]
    assert fading == ["nakagami"]


def test_without_fading_every_frame_has_the_mean_power() -> None:
    one, there = air(propagation="shadowing"), Position(40.0, 0.0)
    assert one.draw_rx_power_dbm(0, 1, HERE, there, Random(1)) == one.rx_power_dbm(0, 1, HERE, there)


@pytest.mark.parametrize(
    ("fields", "distance"),
    [
        ({"rate": 54.0}, 42.0),  # soft: by errors in the bits
        ({"propagation": "nakagami"}, 60.0),  # hard: by detection, near field
        ({"propagation": "nakagami"}, 100.0),  # middle field
        ({"propagation": "nakagami", "rate": 54.0}, 45.0),  # soft
        ({"propagation": "nakagami", "rate": 11.0, "standard": "802.11b", "detection_rssi_dbm": -100.0}, 150.0),
    ],
)
def test_frames_are_received_with_the_computed_probability(fields: dict[str, Any], distance: float) -> None:
    one, there, rng, frames = air(**fields), Position(distance, 0.0), Random(3), 4000
    chance = 1 - one.frame_error_rate(0, 1, HERE, there, 100)
    assert 0.1 < chance < 0.9
    received = sum(one.draw_received(0, 1, HERE, there, 100, rng) for _ in range(frames))
    assert received / frames == pytest.approx(chance, abs=4 * sqrt(chance * (1 - chance) / frames))


def test_draws_depend_on_the_generator_only() -> None:
    there = Position(70.0, 0.0)

    def draws(one: Air) -> list[bool]:
        rng = Random(4)
        return [one.draw_received(0, 1, HERE, there, 100, rng) for _ in range(50)]

    one = air(propagation="nakagami")
    assert draws(one) == draws(one) == draws(air(propagation="nakagami"))
