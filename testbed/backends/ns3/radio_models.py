"""The radio of a scenario, in the words of ns-3: its propagation models, and the attributes of its Wi-Fi devices.

Formulas and constants of `testbed.radio` are those of ns-3, so that this is a change of names, with two exceptions:
docs/ns3.md.
"""

from __future__ import annotations

from math import log10

from testbed.radio.path_loss import Friis, LogDistance, PathLossModel, PlainRange, ThreeLogDistance, TwoRay
from testbed.radio.propagation import Nakagami, Shadowing
from testbed.radio.radio import THERMAL_NOISE_DBM_PER_HZ, Radio

Model = tuple[str, dict[str, float]]
"""The name of a class of ns-3, and its attributes."""

NO_LOSS: Model = ("ns3::MatrixPropagationLossModel", {"DefaultLoss": 0.0})
"""Between nodes without places."""
STANDARDS = {"802.11b": "80211b", "802.11g": "80211g", "802.11a": "80211a"}
_BANDS = {"802.11b": (22, "BAND_2_4GHZ"), "802.11g": (20, "BAND_2_4GHZ"), "802.11a": (20, "BAND_5GHZ")}
_RATE_MANAGERS = {"minstrel": "ns3::MinstrelWifiManager", "ideal": "ns3::IdealWifiManager"}
_NOISE_HZ = 20e6
"""The bandwidth of ns-3's noise: also in 802.11b, whose channels it makes narrower."""
_WEAKEST_DBM = -101.0
"""ns-3's default for the power under which a signal is not looked at."""


def propagation_models(radio: Radio) -> list[Model]:
    """The models that a signal passes, one after the other. Shadowing is not among them: it is a matter of pairs."""
    propagation, frequency = radio.propagation, radio.frequency_hz
    if isinstance(propagation, Shadowing):
        return [_mean_model(propagation.mean, radio)]
    if isinstance(propagation, Nakagami):
        (near, far), (m0, m1, m2) = propagation.distances, propagation.m
        shapes = {"Distance1": near, "Distance2": far, "m0": m0, "m1": m1, "m2": m2}
        return [_mean_model(propagation.mean, radio), ("ns3::NakagamiPropagationLossModel", shapes)]
    if isinstance(propagation, Friis):
        attributes = {"SystemLoss": propagation.system_loss, "MinLoss": propagation.min_loss_db}
        return [("ns3::FriisPropagationLossModel", {"Frequency": frequency, **attributes})]
    if isinstance(propagation, TwoRay):
        attributes = {"SystemLoss": propagation.system_loss, "MinDistance": propagation.min_distance}
        heights = {"HeightAboveZ": propagation.antenna_height}
        return [("ns3::TwoRayGroundPropagationLossModel", {"Frequency": frequency, **attributes, **heights})]
    if isinstance(propagation, PlainRange):
        assert radio.range is not None, "a radio with this model has a range"
        return [("ns3::RangePropagationLossModel", {"MaxRange": radio.range})]
    return [_mean_model(propagation, radio)]


def _mean_model(mean: PathLossModel, radio: Radio) -> Model:
    loss = mean.loss(radio.frequency_hz, None)
    if isinstance(mean, LogDistance):
        start = mean.reference_distance
        attributes = {"Exponent": mean.exponent, "ReferenceDistance": start, "ReferenceLoss": loss(start, 0.0, 0.0)}
        return "ns3::LogDistancePropagationLossModel", attributes
    assert isinstance(mean, ThreeLogDistance), "other models are refused"
    fields = {f"Distance{i}": value for i, value in enumerate(mean.distances)}
    fields |= {f"Exponent{i}": value for i, value in enumerate(mean.exponents)}
    return "ns3::ThreeLogDistancePropagationLossModel", {**fields, "ReferenceLoss": loss(mean.distances[0], 0.0, 0.0)}


def phy_attributes(radio: Radio) -> dict[str, float]:
    """The attributes of a WifiPhy that are numbers."""
    return {
        "TxPowerStart": radio.tx_power_dbm,
        "TxPowerEnd": radio.tx_power_dbm,
        "TxGain": radio.antenna_gain_dbi,
        "RxGain": radio.antenna_gain_dbi,
        "RxNoiseFigure": radio.noise_dbm - (THERMAL_NOISE_DBM_PER_HZ + 10.0 * log10(_NOISE_HZ)),
        "RxSensitivity": min(_WEAKEST_DBM, radio.detection_rssi_dbm),
    }


def detection_attributes(radio: Radio) -> dict[str, float]:
    """Those of its ThresholdPreambleDetectionModel."""
    return {"MinimumRssi": radio.detection_rssi_dbm, "Threshold": radio.detection_snr_db}


def channel_settings(radio: Radio) -> str:
    """Number, width, band and primary channel."""
    width, band = _BANDS[radio.standard]
    return f"{{{radio.channel}, {width}, {band}, 0}}"


def rate_manager(radio: Radio) -> tuple[str, dict[str, str]]:
    """The class of ns-3 that chooses rates, and the modes that it is given: that of broadcasts, or of all frames."""
    if radio.rate_control == "constant":
        return "ns3::ConstantRateWifiManager", dict.fromkeys(("DataMode", "ControlMode", "NonUnicastMode"), mode(radio))
    return _RATE_MANAGERS[radio.rate_control], {"NonUnicastMode": mode(radio)}


def mode(radio: Radio) -> str:
    """The name of the rate, at which broadcasts are sent, and unicasts unless the rate is found out for them."""
    if radio.rate in (1.0, 2.0, 5.5, 11.0):
        return f"DsssRate{radio.rate:g}Mbps".replace(".", "_")
    return f"{'Ofdm' if radio.standard == '802.11a' else 'ErpOfdm'}Rate{radio.rate:g}Mbps"
