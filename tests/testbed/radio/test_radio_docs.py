"""Statements of docs/radio.md, checked against the code."""

from __future__ import annotations

import pytest

from testbed.radio.propagation import PROPAGATION
from testbed.radio.radio import Radio
from testbed.radio.rates import RATES
from tests.conftest import PROJECT

TEXT = (PROJECT / "docs" / "radio.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if line.startswith("|")]


def test_the_table_of_rates() -> None:
    rates = [[float(cell) for cell in row] for row in ROWS if row[0].replace(".", "").isdigit()]
    assert [row[0] for row in rates] == list(RATES["802.11g"])
    for mbps, snr_db, power_dbm, range_m in rates:
        all_detected = Radio(rate=mbps, detection_rssi_dbm=-300.0, detection_snr_db=-300.0)
        assert all_detected.receiver.sensitivity_dbm() - all_detected.noise_dbm == pytest.approx(snr_db, abs=0.0051)
        assert Radio(rate=mbps).receiver.sensitivity_dbm() == pytest.approx(power_dbm, abs=0.0051)
        assert Radio(rate=mbps).reach_m() == pytest.approx(range_m, abs=0.051)


def test_every_key_and_every_model_is_described() -> None:
    first_cells = " ".join(row[0] for row in ROWS)
    for name in [*Radio.model_fields, *PROPAGATION]:
        assert f"`{name}`" in first_cells
    for kind, model in PROPAGATION.items():
        (row,) = (row for row in ROWS if row[0] == f"`{kind}`" and len(row) == 4)
        for parameter in set(model.model_fields) - {"kind"}:
            assert f"`{parameter}`" in row[2], (kind, parameter)


def test_the_power_of_a_range() -> None:
    assert f"`{{range: 100}}` sends {Radio(range=100.0).tx_power_dbm:.1f} dBm" in TEXT
