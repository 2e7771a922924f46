"""Writes a scenario as a script for ns-3 that a user can read and change.

The script builds the network of `network.py` with ns-3's own helpers, written out straight, and imports nothing of the
testbed but the one call at its end, which runs the agents. Each section of the script is a function here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pprint import pformat

from testbed.backends.ns3 import library, radio_models, routing
from testbed.backends.ns3.air import LOSS_STREAM
from testbed.backends.ns3.network import FIRST_DEVICE_STREAM, PROPAGATION_STREAM
from testbed.backends.repetition import Repetition
from testbed.errors import InputError
from testbed.mobility.traces import ns2
from testbed.mobility.traces.trace import Trace
from testbed.network.geometry import Geometry
from testbed.radio.radio import Radio
from testbed.randomness import Streams
from testbed.scenario.schema import Scenario

TRACE_ENDING = ".ns_movements"
"""Of the movement file beside a script."""

_SCRIPT = '''\
#!/usr/bin/env python3
"""{title} of an ad hoc network, in ns-3.

Written by `testbed export`. It needs ns-3's Python bindings and, for the agents, the testbed. In the testbed's folder:

    ./setup.sh --ns3 python {file}

The network is built here, in plain ns-3, and may be changed in any way: other models, other devices on the same
channel, applications of your own on the same nodes. The last call runs the agents of SCENARIO on it.
"""

{imports}
from ns import ns
from testbed.cli.attach import run_agents

{constants}

# What runs on the stations: algorithm, load, link layers, faults and how long. The network is not built from this, but
# the metrics know from it who should be in range of whom: what is changed below is better changed here, too.
SCENARIO = """\\
{scenario}"""


def main():
{body}

if __name__ == "__main__":
    sys.exit(main())
'''


def movement_file(script: Path) -> Path:
    """Where the movements of a script's stations are: beside it."""
    return script.parent / f"{script.stem}{TRACE_ENDING}"


def export(scenario: Scenario, file: Path | None = None) -> tuple[str, str | None]:
    """The script of a scenario's first repetition, and the movement file that belongs beside it, if nodes move.

    Without a file name the script is to be printed: then it contains the movements itself. `InputError` if movements
    cannot be written in ns-2's format.
    """
    if file is not None and movement_file(file) == file:
        raise InputError(f"--file {file}: allowed: another ending than {TRACE_ENDING}, which is that of the movements")
    repetition = Repetition(scenario, Streams(scenario.seed, 0))
    geometry, radio = repetition.geometry, scenario.radio or Radio()
    trace = None if geometry is None or _all_stand(geometry) else _movements(geometry, file)
    sections = [
        _random(scenario),
        _stations(scenario, geometry, trace, file),
        _propagation(scenario, radio, geometry),
        _wifi(radio),
        _internet(scenario),
        _losses(repetition.radio_links.loss),
        _AGENTS,
    ]
    script = _SCRIPT.format(
        title=_quoted(f"{scenario.name}: {scenario.algorithm.name} on {scenario.stations} stations"),
        file="script.py" if file is None else _quoted(file.name),
        imports=_imports(trace, file),
        constants="\n".join(constants for constants, _ in sections if constants).rstrip(),
        scenario=_quoted(scenario.to_yaml()),
        body="\n".join(_indented(body) for _, body in sections if body),
    )
    return script, None if file is None else trace


Section = tuple[str, str]
"""The constants of a section, and its lines in `main`."""


def _random(scenario: Scenario) -> Section:
    return (
        "# The random numbers of ns-3: those of the agents follow from the seed in SCENARIO.\n"
        f"SEED = {library.ns3_seed(scenario.seed)}\nRUN = 1\n",
        "ns.RngSeedManager.SetSeed(SEED)\nns.RngSeedManager.SetRun(RUN)\n",
    )


def _stations(scenario: Scenario, geometry: Geometry | None, trace: str | None, file: Path | None) -> Section:
    places = "" if scenario.stations == scenario.nodes else f"; those from {scenario.nodes} on are at places"
    count = f"# The stations{places}.\nSTATIONS = {scenario.stations}\n"
    nodes = "# The stations, and where they are.\nnodes = ns.NodeContainer()\nnodes.Create(STATIONS)\n"
    if trace is not None and file is not None:
        there = f'Path(__file__).with_name("{_quoted(movement_file(file).name)}")'
        movements = f"\n# How they move: a file in the format of ns-2.\nMOVEMENTS = {there}\n"
        return count + movements, nodes + "ns.Ns2MobilityHelper(str(MOVEMENTS)).Install()\n"
    if trace is not None:
        movements = f'\n# How they move, in the format of ns-2.\nMOVEMENTS = """\\\n{_quoted(trace)}"""\n'
        return count + movements, nodes + _INSTALL_PRINTED_MOVEMENTS
    if geometry is None:
        note = "\n# Links, but no positions: all stations are in one place, and run_agents decides who hears whom.\n"
        return count + note + "POSITIONS = [(0.0, 0.0, 0.0)] * STATIONS\n", nodes + _PLACE
    positions = [tuple(path.at(0.0)) for path in geometry.trajectories]
    return count + f"\n# Where they are, in metres.\nPOSITIONS = {_listed(positions)}\n", nodes + _PLACE


_PLACE = """\
positions = ns.CreateObject[ns.ListPositionAllocator]()
for place in POSITIONS:
    positions.Add(ns.Vector(*place))
mobility = ns.MobilityHelper()
mobility.SetPositionAllocator(positions)
mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel")
mobility.Install(nodes)
"""

_INSTALL_PRINTED_MOVEMENTS = """\
with tempfile.NamedTemporaryFile("w", suffix=".ns_movements") as file:
    file.write(MOVEMENTS)
    file.flush()
    ns.Ns2MobilityHelper(file.name).Install()
"""


def _propagation(scenario: Scenario, radio: Radio, geometry: Geometry | None) -> Section:
    models = radio_models.propagation_models(radio) if geometry is not None else [radio_models.NO_LOSS]
    lines = [
        "# The channel: what a signal loses on its way, and how long it takes.",
        "air = ns.YansWifiChannelHelper()",
        'air.SetPropagationDelay("ns3::ConstantSpeedPropagationDelayModel")',
    ]
    for name, attributes in models:
        lines += _call("air.AddPropagationLoss", name, _doubles(attributes))
    lines += ["channel = air.Create()"]
    constants = ""
    if geometry is not None and radio.propagation.deviation_db:
        rows = [[geometry.air.shadowing_db(a, b) for b in range(a)] for a in range(scenario.stations)]
        constants = f"# The gain between a station and each one before it, in dB.\nSHADOWING_DB = {_listed(rows)}\n"
        lines += _SHADOWING
    lines += [f"air.AssignStreams(channel, {PROPAGATION_STREAM})", ""]
    return constants, "\n".join(lines)


_SHADOWING = """\

# Shadowing: a gain or loss of every pair, before the other models.
shadowing = ns.CreateObject[ns.MatrixPropagationLossModel]()
shadowing.SetDefaultLoss(0.0)
for a, gains in enumerate(SHADOWING_DB):
    for b, gain in enumerate(gains):
        places = [nodes.Get(station).GetObject[ns.MobilityModel]() for station in (a, b)]
        shadowing.SetLoss(*places, -gain)
mean = ns.PointerValue()
channel.GetAttribute("PropagationLossModel", mean)
shadowing.SetNext(mean.Get[ns.PropagationLossModel]())
channel.SetPropagationLossModel(shadowing)""".splitlines()


def _wifi(radio: Radio) -> Section:
    manager, modes = radio_models.rate_manager(radio)
    attributes = {**radio_models.phy_attributes(radio), **dict.fromkeys(("TxPowerStart", "TxPowerEnd"), "TX_POWER_DBM")}
    detection = _doubles(radio_models.detection_attributes(radio))
    lines = [
        "# The radios: one ad hoc Wi-Fi device for each station.",
        "phy = ns.YansWifiPhyHelper()",
        "phy.SetChannel(channel)",
        'phy.SetErrorRateModel("ns3::NistErrorRateModel")',
        'phy.Set("ChannelSettings", ns.StringValue(CHANNEL))',
        *(f'phy.Set("{key}", ns.DoubleValue({value}))' for key, value in attributes.items()),
        *_call("phy.SetPreambleDetectionModel", "ns3::ThresholdPreambleDetectionModel", detection),
        "wifi = ns.WifiHelper()",
        f"wifi.SetStandard(ns.WIFI_STANDARD_{radio_models.STANDARDS[radio.standard]})",
        *_call("wifi.SetRemoteStationManager", manager, dict.fromkeys(modes, "ns.StringValue(RATE)")),
        "mac = ns.WifiMacHelper()",
        'mac.SetType("ns3::AdhocWifiMac", "QosSupported", ns.BooleanValue(False))',
        "devices = wifi.Install(phy, mac, nodes)",
        f"ns.WifiHelper.AssignStreams(devices, {FIRST_DEVICE_STREAM})",
        "",
    ]
    rate = "all frames" if radio.rate_control == "constant" else "broadcasts; that of other frames is found out"
    constants = (
        "# The radios.\n"
        f'CHANNEL = "{radio_models.channel_settings(radio)}"  # number, width in MHz, band, primary channel\n'
        f"TX_POWER_DBM = {radio.tx_power_dbm}\n"
        f'RATE = "{radio_models.mode(radio)}"  # of {rate}\n'
    )
    return constants, "\n".join(lines)


def _call(function: str, name: str, attributes: dict[str, str]) -> list[str]:
    """A call with the name of a class of ns-3 and its attributes."""
    return [f"{function}(", f'    "{name}",', *(f'    "{key}", {value},' for key, value in attributes.items()), ")"]


def _doubles(attributes: dict[str, float]) -> dict[str, str]:
    return {key: f"ns.DoubleValue({value})" for key, value in attributes.items()}


def _losses(share: float) -> Section:
    if not share:
        return "", ""
    return (
        f"# The share of frames that every radio loses besides, acknowledgements too.\nLOSS = {share}\n",
        "# Losses that have nothing to do with the channel.\n"
        "losses = ns.CreateObject[ns.RateErrorModel]()\n"
        "losses.SetUnit(ns.RateErrorModel.ERROR_UNIT_PACKET)\n"
        "losses.SetRate(LOSS)\n"
        f"losses.AssignStreams({LOSS_STREAM})\n"
        "for station in range(STATIONS):\n"
        "    devices.Get(station).GetObject[ns.WifiNetDevice]().GetPhy().SetPostReceptionErrorModel(losses)\n",
    )


def _internet(scenario: Scenario) -> Section:
    if scenario.routing == "builtin":
        return "", _INTERNET.format(routing="")
    protocol = routing.PROTOCOLS[scenario.routing]
    lines = [f"routing = ns.{protocol.helper}()"]
    for name, interval_ns in routing.intervals_ns(scenario.routing, routing.hello_s(scenario)).items():
        lines.append(f'routing.Set("{name}", ns.TimeValue(ns.NanoSeconds({interval_ns:_})))')
    lines += [f'routing.Set("{name}", ns.BooleanValue({is_on}))' for name, is_on in protocol.flags.items()]
    lines += ["internet.SetRoutingHelper(routing)\n"]
    streams = _ROUTING_STREAMS.format(kind=scenario.routing, first=routing.ROUTING_STREAM)
    permanent = _PERMANENT_ADDRESSES if scenario.routing == "aodv" else ""
    return "", _INTERNET.format(routing="\n".join(lines)) + streams + permanent


_INTERNET = """\
# UDP over IPv4. Datagrams wait in the radios only, and stations know each other's hardware addresses.
internet = ns.InternetStackHelper()
internet.SetIpv6StackInstall(False)
{routing}internet.Install(nodes)
addresses = ns.Ipv4AddressHelper(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.0.0.0"))
interfaces = addresses.Assign(devices)
ns.TrafficControlHelper.Default().Uninstall(devices)
ns.NeighborCacheHelper().PopulateNeighborCache()
"""

_ROUTING_STREAMS = """\
for station in range(STATIONS):
    nodes.Get(station).GetObject[ns.{kind}.RoutingProtocol]().AssignStreams({first:_} + station)
"""

_PERMANENT_ADDRESSES = """\

# AODV notices frames without an acknowledgement only if the ARP entry of their receiver is permanent.
for station in range(STATIONS):
    ip = nodes.Get(station).GetObject[ns.Ipv4L3Protocol]()
    cache = ip.GetInterface(ip.GetInterfaceForDevice(devices.Get(station))).GetArpCache()
    for other in range(STATIONS):
        if other != station:
            cache.Lookup(interfaces.GetAddress(other)).MarkPermanent()
"""

_AGENTS: Section = (
    "",
    """\
# Here is the place for applications of your own, for traces, and for captures (phy.EnablePcapAll).

# The agents: this runs ns-3 until the scenario ends, prints what `testbed run` prints, and returns its exit code.
code = run_agents(SCENARIO, nodes, devices)
ns.Simulator.Destroy()
return code
""",
)


def _imports(trace: str | None, file: Path | None) -> str:
    if trace is None:
        return "import sys\n"
    return "import sys\nimport tempfile\n" if file is None else "import sys\nfrom pathlib import Path\n"


def _all_stand(geometry: Geometry) -> bool:
    return all(len({one[1:] for one in path.waypoints}) == 1 for path in geometry.trajectories)


def _movements(geometry: Geometry, file: Path | None) -> str:
    names = tuple(map(str, range(len(geometry.trajectories))))
    trace = Trace(names, tuple(geometry.trajectories))
    return "".join(ns2.write(trace, Path("export") if file is None else movement_file(file)))


def _quoted(text: str) -> str:
    """Text as it is written between three quotation marks."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _indented(lines: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in lines.splitlines())


def _listed(values: Sequence[object]) -> str:
    """A list, with one entry on each line."""
    return "[\n" + "".join(f"    {pformat(one, width=10**6, compact=True)},\n" for one in values) + "]"
