"""A radio as a scenario describes it: its defaults, and the power that a range needs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from testbed.radio.propagation import PROPAGATION
from testbed.radio.radio import CHANNELS_MHZ, Radio
from testbed.radio.rates import RATES

ALL_DETECTED = {"detection_rssi_dbm": -300.0, "detection_snr_db": -300.0}


def refused(**fields: Any) -> tuple[str, str, str]:
    """The key, what was found there and what is allowed."""
    with pytest.raises(ValidationError) as error:
        Radio(**fields)
    (first,) = error.value.errors()
    return ".".join(map(str, first["ctx"]["path"])), first["ctx"]["found_text"], first["ctx"]["allowed"]


def test_defaults() -> None:
    radio = Radio()
    assert (radio.standard, radio.channel, radio.rate, radio.tx_power_dbm) == ("802.11g", 1, 6.0, 16.0)
    assert (radio.antenna_gain_dbi, radio.noise_figure_db, radio.propagation.kind) == (0.0, 7.0, "log-distance")
    assert radio.frequency_hz == 2412e6
    # Detected from -82 dBm: 16 + 82 = 98 dB may be lost; 40.0953 + 30 log10(d) = 98 at d = 10^1.930156.
    assert radio.reach_m() == pytest.approx(85.1444, abs=1e-3)


def test_defaults_of_the_other_standards() -> None:
    assert (Radio(standard="802.11a").channel, Radio(standard="802.11a").rate) == (36, 6.0)
    assert (Radio(standard="802.11b").channel, Radio(standard="802.11b").rate) == (1, 1.0)


@pytest.mark.parametrize(
    ("standard", "channel", "mhz"),
    [("802.11b", 14, 2484), ("802.11g", 13, 2472), ("802.11g", 6, 2437), ("802.11a", 36, 5180), ("802.11a", 165, 5825)],
)
def test_channels(standard: Any, channel: int, mhz: float) -> None:
    assert Radio(standard=standard, channel=channel).frequency_hz == mhz * 1e6


def test_which_channels_there_are() -> None:
    assert list(CHANNELS_MHZ["802.11b"]) == [*range(1, 15)]
    assert list(CHANNELS_MHZ["802.11g"]) == [*range(1, 14)]
    low, middle, high = [36, 40, 44, 48, 52, 56, 60, 64], [*range(100, 148, 4)], [149, 153, 157, 161, 165]
    assert list(CHANNELS_MHZ["802.11a"]) == low + middle + high


def test_noise() -> None:
    # k T = 1.3803e-23 * 290 W/Hz is -173.9763 dBm/Hz; 10 log10(20e6) = 73.0103; noise figure 7.
    assert Radio().noise_dbm == pytest.approx(-93.9660, abs=1e-4)
    assert Radio(standard="802.11b").noise_dbm == pytest.approx(-93.5521, abs=1e-4)  # 22 MHz: 73.4242
    assert Radio(noise_figure_db=0.0).noise_dbm == pytest.approx(-100.9660, abs=1e-4)
    assert Radio(noise_floor_dbm=-90.0).noise_dbm == -90.0


def test_detection_needs_power_and_ratio() -> None:
    assert Radio().receiver.error_rate(-82.0, 100) < 1e-9
    assert Radio().receiver.error_rate(-82.001, 100) == 1.0
    loud = Radio(noise_floor_dbm=-80.0)  # a ratio of 4 is at -76 dBm
    assert loud.receiver.error_rate(-75.999, 100) < 0.1
    assert loud.receiver.error_rate(-76.001, 100) == 1.0


@pytest.mark.parametrize("kind", PROPAGATION)
def test_a_range_is_where_half_of_the_frames_are_received(kind: str) -> None:
    radio = Radio(range=100.0, propagation=kind)
    assert radio.reach_m() == pytest.approx(100.0, rel=1e-8)
    assert radio.reach_m() >= 100.0  # nodes at exactly 100 m are within it


def test_the_power_of_a_range() -> None:
    # At 100 m 40.0953 + 60 dB are lost and -82 dBm must be left; two antennas of 3 dBi save 6 dB.
    assert Radio(range=100.0).tx_power_dbm == pytest.approx(18.0953, abs=1e-4)
    assert Radio(range=100.0, antenna_gain_dbi=3.0).tx_power_dbm == pytest.approx(12.0953, abs=1e-4)


@settings(deadline=None)
@given(
    st.sampled_from(list(PROPAGATION)),
    st.sampled_from([(standard, mbps) for standard, rates in RATES.items() for mbps in rates]),
    st.floats(2.0, 300.0),
    st.sampled_from([{}, ALL_DETECTED]),
    st.floats(-5.0, 5.0),
)
def test_any_range_is_where_half_of_the_frames_are_received(
    kind: str, rate: tuple[Any, float], range_m: float, detection: dict[str, float], gain_dbi: float
) -> None:
    standard, mbps = rate
    radio = Radio(standard=standard, rate=mbps, range=range_m, antenna_gain_dbi=gain_dbi, propagation=kind, **detection)
    assert radio.reach_m() == pytest.approx(range_m, rel=1e-8)
    if kind != "range":
        power = radio.tx_power_dbm + 2 * gain_dbi - radio.loss(range_m, 0.0, 0.0)
        m = radio.propagation.fading_m(range_m)

        def error_rate(power_dbm: float) -> float:
            receiver = radio.receiver
            return receiver.error_rate(power_dbm, 100) if m is None else receiver.faded_error_rate(power_dbm, 100, m)

        assert error_rate(power) <= 0.5 <= error_rate(power - 1e-8)
        if detection or m is not None:  # else the error rate may jump there, at the threshold of detection
            assert error_rate(power) == pytest.approx(0.5, abs=1e-6)


@settings(deadline=None)
@given(
    st.sampled_from([kind for kind in PROPAGATION if kind != "range"]),
    st.floats(-30.0, 30.0),
    st.sampled_from([6.0, 54.0]),
)
def test_a_radio_has_one_range(kind: str, power: float, rate: float) -> None:
    """Up to it at least half of the frames are received, at every distance, and beyond it fewer."""
    radio = Radio(tx_power_dbm=power, rate=rate, propagation=kind)
    reach = radio.reach_m()
    assume(reach > 0)
    loss, receiver, fading_m = radio.loss, radio.receiver, radio.propagation.fading_m
    for share in (0.0, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99, 0.9999999, 1.0000001, 1.01, 1.1, 1.5, 2.0, 3.0, 10.0, 100.0):
        distance = share * reach
        left, m = power - loss(distance, 0.0, 0.0), fading_m(distance)
        lost = receiver.error_rate(left, 100) if m is None else receiver.faded_error_rate(left, 100, m)
        assert (lost <= 0.5) is (share < 1)


def test_a_range_is_that_of_nodes_on_the_ground() -> None:
    radio = Radio(propagation="two-ray")
    assert radio.reach_m() == radio.reach_m(0.0, 0.0, 0.0) < radio.reach_m(z_a=0.1) < radio.reach_m(z_a=0.1, z_b=0.1)
    assert Radio(propagation="two-ray", range=400.0).reach_m() == pytest.approx(400.0, rel=1e-8)


def test_a_radio_that_is_too_weak_has_no_range() -> None:
    assert Radio(tx_power_dbm=-60.0).reach_m() == 0.0


def test_range_and_power_are_not_both_given() -> None:
    key, found, allowed = refused(range=100.0, tx_power_dbm=16.0)
    assert (key, found, allowed) == ("", "both range and tx_power_dbm", "one of them, for it gives the other")


def test_a_range_beyond_any_power_is_refused() -> None:
    # 60 dBm less 82 dB less 40.0953 is 101.9047: 10^(101.9047 / 30) = 2493.6 m.
    assert refused(range=5000.0) == ("range", "5000, which takes 69.1 dBm", "at most 2493.6, which 60 dBm reach")
    assert Radio(range=2493.0).tx_power_dbm < 60
    # With a receiver this sensitive, -100 dBm less 40.0953 dB are received at 1 m, and 100 dB more may be lost.
    sensitive = {"noise_floor_dbm": -270.0, "detection_rssi_dbm": -240.0953}
    assert refused(range=100.0, **sensitive) == (
        "range", "100, which takes -140.0 dBm", "at least 2154.4, which -100 dBm reach"
    )  # fmt: skip


def test_a_range_within_the_near_field_is_refused() -> None:
    key, found, allowed = refused(range=0.9)
    assert (key, found) == ("range", "0.9")
    assert allowed.startswith("at least 1:")
    assert Radio(range=1.0).reach_m() == pytest.approx(1.0)


def test_a_disc_has_the_range_as_its_radius() -> None:
    assert refused(propagation="range")[:2] == ("range", "nothing")
    radio = Radio(propagation="range", range=300.0)
    assert radio.reach_m() == 300.0
    assert radio.tx_power_dbm == 16.0
    assert refused(propagation="range", range=300.0, noise_floor_dbm=50.0)[0] == "range"


def test_channels_and_rates_are_those_of_the_standard() -> None:
    assert refused(channel=14)[:2] == ("channel", "14")
    assert refused(standard="802.11a", channel=1)[:2] == ("channel", "1")
    assert refused(rate=7.0) == ("rate", "7", "one of 1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48, 54, which 802.11g has")
    assert refused(standard="802.11b", rate=54.0)[2] == "one of 1, 2, 5.5, 11, which 802.11b has"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"range": 100.0},
        {"range": 50.0, "propagation": "range"},
        {"propagation": "nakagami"},
        {"standard": "802.11a", "rate": 54.0, "noise_floor_dbm": -95.0},
    ],
)
def test_a_radio_that_is_written_out_can_be_read_back(fields: dict[str, Any]) -> None:
    radio = Radio(**fields)
    again = Radio.model_validate(radio.model_dump())
    assert again == radio
    assert again.model_dump() == radio.model_dump()
    assert again.tx_power_dbm == radio.tx_power_dbm


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError, match="one of standard"):
        Radio.model_validate({"rnge": None})
