"""Powers, error rates and receptions against those of ns-3, as `make_ns3_points.py` recorded them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from math import sqrt
from typing import Any

import pytest
from pydantic import TypeAdapter

from testbed.radio.fading import chance_below
from testbed.radio.path_loss import ItuIndoor
from testbed.radio.propagation import Nakagami, Propagation
from testbed.radio.radio import Radio
from testbed.radio.rates import RATES
from tests.testbed.radio.make_ns3_points import CHANNEL_1_HZ, MODES, POINTS, ask

FOUND = json.loads(POINTS.read_text())


def rows(table: str, **wanted: Any) -> Iterator[dict[str, Any]]:
    for row in FOUND[table]["rows"]:
        named = dict(zip(FOUND[table]["columns"], row, strict=True))
        if all(named[key] == value for key, value in wanted.items()):
            yield named


@pytest.mark.parametrize("kind", ["friis", "two-ray", "log-distance", "three-log-distance", "range"])
def test_received_powers(kind: str) -> None:
    points = [row for row in rows("received") if row["propagation"]["kind"] == kind]
    assert len(points) >= 12
    for row in points:
        model = TypeAdapter(Propagation).validate_python(row["propagation"])
        power = 16.0 - model.loss(CHANNEL_1_HZ, 227.0)(row["distance"], row["z_a"], row["z_b"])
        if row["rx_power_dbm"] == -1000.0:  # outside of the disc ns-3 returns this for every power
            assert power < -900
        else:
            assert power == pytest.approx(row["rx_power_dbm"], abs=1e-9), row


@pytest.mark.parametrize("building", ["residential", "office", "commercial"])
def test_losses_indoors(building: Any) -> None:
    points = list(rows("indoors", building=building))
    assert len(points) >= 20
    for row in points:
        loss = ItuIndoor(building=building).loss(row["frequency_hz"], None)
        assert loss(row["distance"], row["z_a"], row["z_b"]) == pytest.approx(row["loss_db"], abs=1e-9), row


def test_fading() -> None:
    """Shares of random draws: within 4 standard deviations each, and by their sum of squares as a whole."""
    deviations = []
    for row in rows("faded"):
        chance = chance_below(row["gain"], Nakagami().fading_m(row["distance"]))
        deviations.append((row["below"] - chance) / sqrt(chance * (1 - chance) / row["draws"]))
    assert len(deviations) == 35
    assert max(map(abs, deviations)) < 4
    assert (
        sum(deviation**2 for deviation in deviations) < 90
    )  # 35 expected; they are correlated, because gains share their draws


@pytest.mark.parametrize("mbps", MODES)
def test_error_rates(mbps: float) -> None:
    """The bits of a chunk: exact except for CCK, where ns-3 integrates only to 1e-7."""
    points = list(rows("chunks", mbps=mbps))
    assert len(points) >= 20
    for row in points:
        bit_error_rate = RATES["802.11g"][mbps].bit_errors(10 ** (row["snr_db"] / 10))
        tolerance = 2e-7 if mbps in (5.5, 11.0) else 1e-12
        assert (1 - bit_error_rate) ** row["bits"] == pytest.approx(row["success"], abs=tolerance), row


@pytest.mark.parametrize("standard", RATES)
def test_receptions(standard: Any) -> None:
    """Whole frames at whole stations of ns-3: noise, detection, header and bits.

    ns-3 uses the noise of 20 MHz for 802.11b too, although its channels have 22 MHz; the noise floor given here
    corrects the difference of 0.41 dB.
    """
    squares, number = 0.0, 0
    for row in rows("arrivals", standard=standard):
        detection = {} if row["detection"] else {"detection_rssi_dbm": -300.0, "detection_snr_db": -300.0}
        floor = {"noise_floor_dbm": Radio().noise_dbm} if standard == "802.11b" else {}
        fields = {"noise_figure_db": row["noise_figure_db"], **floor, **detection}
        receiver = Radio(standard=standard, rate=row["mbps"], **fields).receiver
        chance = 1 - receiver.error_rate(row["rx_power_dbm"], row["bytes"])
        share, deviation = row["arrived"] / row["frames"], sqrt(chance * (1 - chance) / row["frames"])
        assert share == pytest.approx(chance, abs=4 * deviation + 1e-3), row
        if 0.02 < chance < 0.98:
            squares += ((share - chance) / deviation) ** 2
            number += 1
    assert number >= 2 * len(RATES[standard])
    assert squares < number + 4 * sqrt(2 * number)


def test_ns3s_default_errors_are_fewer() -> None:
    """What docs/radio.md says about TableBasedErrorRateModel, which is ns-3's default and not used here."""
    less_db = [row["nist_snr_db"] - row["table_based_snr_db"] for row in rows("even_chances")]
    assert (round(min(less_db), 1), round(max(less_db), 1)) == (3.3, 5.0)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ns") is None, reason="needs ns-3: pip install ns3, Python 3.11")
def test_the_points_are_what_ns3_says() -> None:
    for name, table in ask().items():
        for found, recorded in zip(table["rows"], FOUND[name]["rows"], strict=True):
            assert json.loads(json.dumps(found)) == recorded, name
