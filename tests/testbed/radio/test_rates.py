"""Time on the air and error rates against values computed by hand, and the properties of all rates."""

from __future__ import annotations

from math import erfc, exp, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.radio.errors_dsss import cck_5_5, cck_11, dbpsk, dqpsk
from testbed.radio.rates import RATES, Rate, packet_error_rate

ALL_RATES = [(standard, mbps) for standard, rates in RATES.items() for mbps in rates]
rates = st.sampled_from(ALL_RATES).map(lambda which: RATES[which[0]][which[1]])
ratios_db = st.floats(-30, 60)
sizes = st.integers(1, 2346)


def ofdm(mbps: float) -> Rate:
    return RATES["802.11a"][mbps]


@pytest.mark.parametrize(
    ("standard", "mbps", "airtime_us", "bits"),
    [
        # Preamble, header, symbols of 4 us with 4 * Mb/s bits each for 16 + 800 + 6 bits, and in 802.11g 6 us more.
        ("802.11a", 6.0, 16 + 4 + 4 * 35, 840),  # 822 / 24 = 34.25
        ("802.11a", 54.0, 16 + 4 + 4 * 4, 864),  # 822 / 216 = 3.8
        ("802.11g", 54.0, 16 + 4 + 4 * 4 + 6, 864 + 324),
        # Long preamble, header, and 800 bits rounded up to a microsecond.
        ("802.11b", 1.0, 144 + 48 + 800, 800),
        ("802.11b", 5.5, 144 + 48 + 146, 803),  # 800 / 5.5 = 145.45
        ("802.11g", 11.0, 144 + 48 + 73, 803),  # 800 / 11 = 72.7
    ],
)
def test_time_on_the_air_of_100_bytes(standard: str, mbps: float, airtime_us: float, bits: int) -> None:
    rate = RATES[standard][mbps]
    assert rate.airtime_us(100) == airtime_us
    assert rate.bits(100) == bits


def test_headers() -> None:
    """24 bits of the signal field at 6 Mb/s, or 48 of the long PLCP header at 1 Mb/s, for every rate of the frame."""
    for standard, mbps in ALL_RATES:
        framing, is_dsss = RATES[standard][mbps].framing, mbps in RATES["802.11b"]
        assert framing.header_bits == (48 if is_dsss else 24)
        assert framing.header_bit_errors is (dbpsk if is_dsss else ofdm(6.0).bit_errors)


def test_the_rates_of_the_standards() -> None:
    slow, fast = [1.0, 2.0, 5.5, 11.0], [6.0, 9.0, 12.0, 18.0, 24.0, 36.0, 48.0, 54.0]
    assert {standard: list(rates) for standard, rates in RATES.items()} == {
        "802.11b": slow,
        "802.11g": slow + fast,
        "802.11a": fast,
    }


def test_6_mbps_at_3_db() -> None:
    """BPSK, code 1/2."""
    coded = 0.5 * erfc(sqrt(1.99526))  # p = 0.0228784
    d2 = 4 * coded * (1 - coded)  # D = 0.299032
    paths = 36 * d2**5 + 211 * d2**6 + 1404 * d2**7 + 11633 * d2**8 + 77433 * d2**9 + 502690 * d2**10
    paths += 3322763 * d2**11 + 21292910 * d2**12 + 134365911 * d2**13
    assert paths / 2 == pytest.approx(2.44282e-4, rel=1e-4)
    assert ofdm(6.0).bit_errors(10**0.3) == pytest.approx(2.44282e-4, rel=1e-5)
    # 840 bits and 24 of the header, all at this rate: 1 - (1 - 0.000244282)^864 = 1 - exp(-0.211085).
    assert packet_error_rate(3.0, 100, ofdm(6.0)) == pytest.approx(1 - exp(-0.211085), rel=1e-4)


def test_54_mbps_at_21_db() -> None:
    """64-QAM, code 3/4."""
    coded = 7 / 24 * erfc(sqrt(125.8925 / 42))  # p = 0.00418467
    d = sqrt(4 * coded * (1 - coded))  # D = 0.129107
    paths = 42 * d**5 + 201 * d**6 + 1492 * d**7 + 10469 * d**8 + 62935 * d**9 + 379644 * d**10
    paths += 2253373 * d**11 + 13073811 * d**12 + 75152755 * d**13 + 428005675 * d**14
    assert paths / 6 == pytest.approx(1.044905e-3, rel=1e-4)
    assert ofdm(54.0).bit_errors(10**2.1) == pytest.approx(1.044905e-3, rel=1e-5)
    # The header has no errors at 21 dB: 1 - (1 - 0.001044905)^864.
    assert packet_error_rate(21.0, 100, ofdm(54.0)) == pytest.approx(0.594758, rel=1e-4)


def test_48_mbps_at_20_db() -> None:
    """64-QAM, code 2/3."""
    coded = 7 / 24 * erfc(sqrt(100 / 42))  # p = 0.00848643
    d = sqrt(4 * coded * (1 - coded))  # D = 0.183460
    paths = 3 * d**6 + 70 * d**7 + 285 * d**8 + 1276 * d**9 + 6160 * d**10 + 27128 * d**11
    paths += 117019 * d**12 + 498860 * d**13 + 2103891 * d**14 + 8784123 * d**15
    assert ofdm(48.0).bit_errors(100.0) == pytest.approx(paths / 4, rel=1e-12)
    assert paths / 4 == pytest.approx(5.590557e-4, rel=1e-4)


@pytest.mark.parametrize(("mbps", "same_as"), [(12.0, 6.0), (18.0, 9.0)])
def test_two_axes_need_twice_the_power(mbps: float, same_as: float) -> None:
    """QPSK has two bits per symbol, BPSK has one, and both have the same codes."""
    for ratio in (0.5, 1.0, 2.0, 3.0, 5.0):
        assert ofdm(mbps).bit_errors(2 * ratio) == pytest.approx(ofdm(same_as).bit_errors(ratio), rel=1e-9)


def test_24_mbps_at_12_db() -> None:
    """16-QAM, code 1/2."""
    coded = 3 / 8 * erfc(sqrt(15.84893 / 10))  # p = 0.0281296
    d2 = 4 * coded * (1 - coded)  # D = 0.330686
    paths = 36 * d2**5 + 211 * d2**6 + 1404 * d2**7 + 11633 * d2**8 + 77433 * d2**9 + 502690 * d2**10
    paths += 3322763 * d2**11 + 21292910 * d2**12 + 134365911 * d2**13
    assert paths / 2 == pytest.approx(9.57147e-4, rel=1e-4)
    assert ofdm(24.0).bit_errors(10**1.2) == pytest.approx(9.57147e-4, rel=1e-5)


def test_36_mbps_at_15_db() -> None:
    """16-QAM, code 3/4: 3/8 erfc(sqrt(31.62278 / 10)) = 0.00446540 of the coded bits, D = 0.133349."""
    d = 0.1333486
    paths = 42 * d**5 + 201 * d**6 + 1492 * d**7 + 10469 * d**8 + 62935 * d**9 + 379644 * d**10
    paths += 2253373 * d**11 + 13073811 * d**12 + 75152755 * d**13 + 428005675 * d**14
    assert paths / 6 == pytest.approx(1.347534e-3, rel=1e-4)
    assert ofdm(36.0).bit_errors(10**1.5) == pytest.approx(1.347534e-3, rel=1e-5)


def test_1_mbps_at_minus_5_db() -> None:
    # 22 chips per bit: 22 * 0.316228 = 6.95701; 0.5 exp(-6.95701) = 4.75969e-4.
    assert dbpsk(10**-0.5) == pytest.approx(4.75969e-4, rel=1e-5)
    # 800 bits and 48 of the header: 1 - (1 - 0.000475969)^848.
    assert packet_error_rate(-5.0, 100, RATES["802.11b"][1.0]) == pytest.approx(0.332167, rel=1e-4)


def test_2_mbps_at_0_db() -> None:
    # 11 chips per bit: 0.404947 / sqrt(11) * exp(-0.585786 * 11) = 0.122096 * 0.00159059.
    assert dqpsk(1.0) == pytest.approx(1.942048e-4, rel=1e-5)


def test_2_mbps_without_a_signal_is_guessing() -> None:
    """The formula exceeds 1 below -18 dB; ns-3 uses it without a bound."""
    assert dqpsk(0.0) == dqpsk(1e-6) == dqpsk(0.01) == 0.5
    assert packet_error_rate(-40.0, 100, RATES["802.11b"][2.0]) == 1.0


def test_cck_without_a_signal_is_guessing() -> None:
    """One symbol in 16 is right, so each of its four bits is right with probability one half."""
    assert cck_5_5(0.0) == pytest.approx(0.5, rel=1e-9)
    assert cck_11(0.0) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("snr", [0.1, 0.3, 0.6, 1.0])
def test_cck_against_simulated_correlators(snr: float) -> None:
    """A simulated receiver: of eight correlators, the one with the largest absolute reading gives symbol and sign."""
    rng, trials = Random(1), 8000
    signal = sqrt(16 * snr)  # b = sqrt(2 e), e = snr * 22 / 1.375 / 2
    right = 0
    for _ in range(trials):
        reading = rng.gauss(signal, 1.0)
        right += reading > max(abs(rng.gauss(0.0, 1.0)) for _ in range(7))
    chance = (1 - cck_5_5(snr)) ** 4
    assert right / trials == pytest.approx(chance, abs=4 * sqrt(chance * (1 - chance) / trials))


def test_11_mbps_is_5_5_mbps_with_half_of_the_energy() -> None:
    for snr in (0.1, 1.0, 3.0, 10.0):
        assert cck_11(2 * snr) == pytest.approx(cck_5_5(snr), rel=1e-12)


def test_small_error_rates_are_not_lost_to_rounding() -> None:
    """For a bit error rate p of about 1e-20, 1 - (1 - p)^n would be 0 in floats; the result is 864 p."""
    rate = ofdm(6.0)
    assert 0 < rate.bit_errors(10**1.0) < 1e-17
    assert packet_error_rate(10.0, 100, rate) == pytest.approx(864 * rate.bit_errors(10**1.0), rel=1e-9)


@given(ratios_db, st.floats(0, 20), sizes, rates)
def test_more_signal_is_never_worse(ratio_db: float, more_db: float, size: int, rate: Rate) -> None:
    assert packet_error_rate(ratio_db + more_db, size, rate) <= packet_error_rate(ratio_db, size, rate)


@given(ratios_db, sizes, sizes, rates)
def test_more_bytes_are_never_better(ratio_db: float, size: int, more: int, rate: Rate) -> None:
    assert packet_error_rate(ratio_db, size + more, rate) >= packet_error_rate(ratio_db, size, rate)


@given(st.floats(-1100, 1100), sizes, rates)
def test_an_error_rate_is_a_probability(ratio_db: float, size: int, rate: Rate) -> None:
    assert 0 <= packet_error_rate(ratio_db, size, rate) <= 1
    assert 0 <= rate.bit_errors(10 ** (ratio_db / 10)) <= 1


@pytest.mark.parametrize(("standard", "mbps"), ALL_RATES)
def test_every_rate_goes_from_always_wrong_to_never(standard: str, mbps: float) -> None:
    rate = RATES[standard][mbps]
    assert packet_error_rate(-30.0, 100, rate) == 1.0
    assert packet_error_rate(40.0, 100, rate) < 1e-12


def test_faster_rates_need_more_signal() -> None:
    for rates_of in (RATES["802.11a"], RATES["802.11b"]):
        at_10_percent = [
            min(db / 10 for db in range(-100, 300) if packet_error_rate(db / 10, 100, rate) < 0.1)
            for rate in rates_of.values()
        ]
        assert at_10_percent == sorted(at_10_percent)
