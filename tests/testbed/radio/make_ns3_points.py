"""Ask ns-3 for received powers, error rates and receptions, and record them for `test_against_ns3.py`.

    pip install ns3      # in a separate environment with Python 3.11; then, in the project's root:
    python -m tests.testbed.radio.make_ns3_points

This writes `ns3_points.json` beside this file. All values come from ns-3's own classes through its Python bindings;
nothing of this project is used.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

POINTS = Path(__file__).with_name("ns3_points.json")

HELPERS = """
#include <cmath>
#include <map>
#include <string>
using namespace ns3;

namespace points {

Ptr<MobilityModel> At(double x, double z) {
    Ptr<MobilityModel> mobility = CreateObject<ConstantPositionMobilityModel>();
    mobility->SetPosition(Vector(x, 0, z));
    return mobility;
}

double Received(const std::string& type, const std::map<std::string, double>& attributes,
                double power, double distance, double zA, double zB) {
    ObjectFactory factory(type);
    for (const auto& [name, value] : attributes) factory.Set(name, DoubleValue(value));
    double along = std::sqrt(distance * distance - (zA - zB) * (zA - zB));
    return factory.Create<PropagationLossModel>()->CalcRxPower(power, At(0, zA), At(along, zB));
}

double Indoors(double frequency, int building, double distance, double zA, double zB) {
    Ptr<Building> house = CreateObject<Building>();
    house->SetBoundaries(Box(-1000, 1000, -1000, 1000, 0, 30));
    house->SetNFloors(10);
    house->SetBuildingType(static_cast<Building::BuildingType_t>(building));
    double along = std::sqrt(distance * distance - (zA - zB) * (zA - zB));
    Ptr<MobilityModel> a = At(0, zA), b = At(along, zB);
    for (auto node : {a, b}) {
        Ptr<MobilityBuildingInfo> info = CreateObject<MobilityBuildingInfo>();
        node->AggregateObject(info);
        info->MakeConsistent(node);
    }
    Ptr<ItuR1238PropagationLossModel> model = CreateObject<ItuR1238PropagationLossModel>();
    model->SetAttribute("Frequency", DoubleValue(frequency));
    double loss = model->GetLoss(a, b);
    Simulator::Destroy();  // also removes the building, which would enclose the next one
    return loss;
}

double FadedBelow(double distance, double gain, int draws) {
    Ptr<NakagamiPropagationLossModel> model = CreateObject<NakagamiPropagationLossModel>();
    model->AssignStreams(7);
    Ptr<MobilityModel> a = At(0, 0), b = At(distance, 0);
    int below = 0;
    for (int i = 0; i < draws; i++) below += model->CalcRxPower(0.0, a, b) < 10 * std::log10(gain);
    return double(below) / draws;
}

double ChunkSuccess(const std::string& model, const std::string& mode, double snrDb, int bits) {
    ObjectFactory factory(model);
    WifiTxVector vector;
    vector.SetMode(WifiMode(mode));
    vector.SetChannelWidth(mode[0] == 'D' ? 22 : 20);
    vector.SetPreambleType(WIFI_PREAMBLE_LONG);
    double snr = std::pow(10, snrDb / 10);
    return factory.Create<ErrorRateModel>()->GetChunkSuccessRate(WifiMode(mode), vector, snr, bits);
}

static int arrived, run;
bool Count(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&) { arrived++; return true; }
void Send(Ptr<NetDevice> device, int size) {
    device->Send(Create<Packet>(size), device->GetBroadcast(), 0x0800);
}

// Two ad hoc stations, the second of which receives at a fixed power: how many broadcasts of so many bytes arrive.
int Arrivals(int standard, const std::string& mode, double power, int frame, int frames, double noiseFigure,
             bool detection) {
    RngSeedManager::SetRun(++run);
    NodeContainer nodes(2);
    MobilityHelper().Install(nodes);
    Ptr<FixedRssLossModel> loss = CreateObject<FixedRssLossModel>();
    loss->SetRss(power);
    Ptr<YansWifiChannel> channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());
    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    phy.SetErrorRateModel("ns3::NistErrorRateModel");
    phy.Set("RxNoiseFigure", DoubleValue(noiseFigure));
    if (!detection) phy.DisablePreambleDetectionModel();
    WifiHelper wifi;
    wifi.SetStandard(static_cast<WifiStandard>(standard));
    wifi.SetRemoteStationManager("ns3::ConstantRateWifiManager", "DataMode", StringValue(mode),
                                 "ControlMode", StringValue(mode), "NonUnicastMode", StringValue(mode));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(false));
    NetDeviceContainer devices = wifi.Install(phy, mac, nodes);
    WifiHelper::AssignStreams(devices, 1);
    devices.Get(1)->SetReceiveCallback(MakeCallback(&Count));
    arrived = 0;
    const int MAC_HEADER_LLC_AND_CHECKSUM = 24 + 8 + 4;
    for (int i = 0; i < frames; i++)
        Simulator::Schedule(MilliSeconds(10 * i), &Send, devices.Get(0), frame - MAC_HEADER_LLC_AND_CHECKSUM);
    Simulator::Stop(MilliSeconds(10 * frames + 100));
    Simulator::Run();
    Simulator::Destroy();
    return arrived;
}

int Standard(const std::string& name) {
    return name == "802.11a" ? WIFI_STANDARD_80211a : name == "802.11b" ? WIFI_STANDARD_80211b : WIFI_STANDARD_80211g;
}

}  // namespace points
"""

CHANNEL_1_HZ, CHANNEL_36_HZ = 2412e6, 5180e6
DISTANCES = [0.005, 0.3, 0.5, 1.0, 1.5, 10.0, 80.0, 200.0, 227.0, 228.0, 500.0, 1234.5]
LOSSES: dict[str, list[tuple[str, dict[str, Any], dict[str, float]]]] = {
    "friis": [
        ("FriisPropagationLossModel", {}, {"Frequency": CHANNEL_1_HZ}),
        ("FriisPropagationLossModel", {"system_loss": 2.0, "min_loss_db": 30.0},
         {"Frequency": CHANNEL_1_HZ, "SystemLoss": 2.0, "MinLoss": 30.0}),
    ],
    "two-ray": [
        ("TwoRayGroundPropagationLossModel", {}, {"Frequency": CHANNEL_1_HZ, "HeightAboveZ": 1.5}),
        ("TwoRayGroundPropagationLossModel", {"system_loss": 2.0, "antenna_height": 1.0, "min_distance": 0.25},
         {"Frequency": CHANNEL_1_HZ, "HeightAboveZ": 1.0, "SystemLoss": 2.0, "MinDistance": 0.25}),
    ],
    "log-distance": [
        ("LogDistancePropagationLossModel", {"reference_loss_db": 46.6777}, {}),
        ("LogDistancePropagationLossModel", {"exponent": 2.7, "reference_distance": 5.0, "reference_loss_db": 50.0},
         {"Exponent": 2.7, "ReferenceDistance": 5.0, "ReferenceLoss": 50.0}),
    ],
    "three-log-distance": [
        ("ThreeLogDistancePropagationLossModel", {"reference_loss_db": 46.6777}, {}),
        ("ThreeLogDistancePropagationLossModel",
         {"distances": [2.0, 50.0, 300.0], "exponents": [2.0, 3.0, 4.0], "reference_loss_db": 40.0},
         {"Distance0": 2.0, "Distance1": 50.0, "Distance2": 300.0, "Exponent0": 2.0, "Exponent1": 3.0, "Exponent2": 4.0,
          "ReferenceLoss": 40.0}),
    ],
    "range": [("RangePropagationLossModel", {}, {"MaxRange": 227.0})],
}  # fmt: skip
"""By our model: ns-3's model, our parameters, and ns-3's attributes."""
MODES: dict[float, str] = {
    1.0: "DsssRate1Mbps", 2.0: "DsssRate2Mbps", 5.5: "DsssRate5_5Mbps", 11.0: "DsssRate11Mbps",
    **{float(mbps): f"ErpOfdmRate{mbps}Mbps" for mbps in (6, 9, 12, 18, 24, 36, 48, 54)},
}  # fmt: skip
OFDM = [mbps for mbps, mode in MODES.items() if "Ofdm" in mode]
STANDARDS = {"802.11b": [1.0, 2.0, 5.5, 11.0], "802.11g": list(MODES), "802.11a": OFDM}
NOISE_DBM, NOISE_FIGURE_DB = -93.966, 7.0
DRAWS, FRAMES, FRAME_BYTES = 20_000, 1000, 100

Row = tuple[Any, ...]


def main() -> None:
    """Write the points."""
    lines = [
        f'"{name}": {{"columns": {json.dumps(table["columns"])}, "rows": [\n'
        + ",\n".join(map(json.dumps, table["rows"]))
        + "\n]}"
        for name, table in ask().items()
    ]
    made_by = f"ns-3 {version('ns3')}, the wheel on PyPI, asked by {Path(__file__).name}"
    POINTS.write_text("{\n" + ",\n".join([f'"made_by": {json.dumps(made_by)}', *lines]) + "\n}\n")


def ask() -> dict[str, dict[str, list[Any]]]:
    """All tables, by name: their columns and rows."""
    from ns import ns  # takes a quarter of a minute

    ns.cppyy.cppdef(HELPERS)
    points = ns.cppyy.gbl.points
    tables = {
        "received": ("propagation distance z_a z_b rx_power_dbm", received(points)),
        "indoors": ("building frequency_hz distance z_a z_b loss_db", indoors(points)),
        "faded": ("distance gain draws below", faded(points)),
        "chunks": ("mbps snr_db bits success", chunks(points)),
        "even_chances": ("mbps bits nist_snr_db table_based_snr_db", even_chances(points)),
        "arrivals": ("standard mbps rx_power_dbm noise_figure_db detection bytes frames arrived", arrivals(points)),
    }
    return {name: {"columns": columns.split(), "rows": list(rows)} for name, (columns, rows) in tables.items()}


def received(points: Any) -> Iterator[Row]:
    """Received powers at distances, sent with 16 dBm, on the ground and, for two-ray, above it."""
    for kind, cases in LOSSES.items():
        for model, parameters, attributes in cases:
            for z_a, z_b in [(0.0, 0.0), (1.0, 4.0)] if kind == "two-ray" else [(0.0, 0.0)]:
                for distance in DISTANCES:
                    if distance >= abs(z_a - z_b):
                        power = points.Received(f"ns3::{model}", attributes, 16.0, distance, z_a, z_b)
                        yield {"kind": kind, **parameters}, distance, z_a, z_b, power


def indoors(points: Any) -> Iterator[Row]:
    """Losses of ITU-R P.1238, with the nodes on one floor, on the next and three floors apart."""
    for building, name in enumerate(["residential", "office", "commercial"]):
        for frequency in (CHANNEL_1_HZ, CHANNEL_36_HZ):
            for distance in (2.0, 3.0, 10.0, 32.0, 100.0):
                for z_b in (2.9, 3.1, 10.0):
                    if distance >= z_b - 1:
                        yield (
                            name,
                            frequency,
                            distance,
                            1.0,
                            z_b,
                            points.Indoors(frequency, building, distance, 1.0, z_b),
                        )


def faded(points: Any) -> Iterator[Row]:
    """How often Nakagami fading with ns-3's default shapes gives less than a gain."""
    for distance in (10.0, 79.9, 80.0, 150.0, 300.0):
        for gain in (0.01, 0.1, 0.3, 0.7, 1.0, 2.0, 4.0):
            yield distance, gain, DRAWS, points.FadedBelow(distance, gain, DRAWS)


def chunks(points: Any) -> Iterator[Row]:
    """Probabilities that all of so many bits are right."""
    for mbps in MODES:
        half = half_db(points, NIST, mbps)
        for snr_db in (round(half + offset, 2) for offset in (-3.0, -1.0, -0.4, 0.0, 0.4, 1.0, 3.0)):
            for bits in (24, 800, 12000):
                yield mbps, snr_db, bits, points.ChunkSuccess(NIST, MODES[mbps], snr_db, bits)


def even_chances(points: Any) -> Iterator[Row]:
    """Where 800 bits are right with probability one half, by the model used here and by ns-3's default."""
    for mbps in OFDM:
        yield mbps, 800, half_db(points, NIST, mbps), half_db(points, TABLE_BASED, mbps)


NIST, TABLE_BASED = "ns3::NistErrorRateModel", "ns3::TableBasedErrorRateModel"


def half_db(points: Any, model: str, mbps: float) -> float:
    """The signal-to-noise ratio at which 800 bits are right with probability one half."""
    low, high = -20.0, 40.0
    while high - low > 1e-4:
        middle = (low + high) / 2
        if points.ChunkSuccess(model, MODES[mbps], middle, 800) < 0.5:
            low = middle
        else:
            high = middle
    return round(high, 3)


def arrivals(points: Any) -> Iterator[Row]:
    """Frames received by a station of ns-3, without its detection of preambles and with it."""
    for standard, rates in STANDARDS.items():
        for mbps in rates:
            half = NOISE_DBM + half_db(points, NIST, mbps)
            for power, detection in [(half - 0.5, 0), (half, 0), (half + 0.5, 0), (half, 1), (-82.01, 1), (-81.99, 1)]:
                yield arrival(points, standard, mbps, power, NOISE_FIGURE_DB, detection)
    noise_figure = 20.0  # so much noise that detection depends on the ratio, not on the power
    for offset in (3.99, 4.01):
        power = NOISE_DBM - NOISE_FIGURE_DB + noise_figure + offset
        yield arrival(points, "802.11g", 6.0, power, noise_figure, 1)


def arrival(points: Any, standard: str, mbps: float, power: float, noise_figure: float, detection: int) -> Row:
    """How many of the frames arrive."""
    power = round(power, 3)
    mode = MODES[mbps].removeprefix("Erp") if standard == "802.11a" else MODES[mbps]
    code = points.Standard(standard)
    arrived = points.Arrivals(code, mode, power, FRAME_BYTES, FRAMES, noise_figure, bool(detection))
    return standard, mbps, power, noise_figure, bool(detection), FRAME_BYTES, FRAMES, arrived


if __name__ == "__main__":
    main()
