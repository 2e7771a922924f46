"""Statistics of flows (`--flows`): of the unicasts from one station to another, by ns-3's FlowMonitor.

`flows.xml` is FlowMonitor's own file, and `flows.csv` has a row for every flow. FlowMonitor sees unicasts of IP only:
hellos, beacons and other broadcasts are not counted.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testbed.backends.ns3.network import Network

COLUMNS = (
    "source", "target", "port", "sent", "received", "lost", "bytes_sent", "bytes_received", "delay_ms", "jitter_ms",
    "forwarded",
)  # fmt: skip
_NS_PER_MS = 1e6


@contextmanager
def flow_statistics(ns: Any, network: Network, folder: Path) -> Iterator[None]:
    """Write both files when the block ends, also if an agent has ended it."""
    helper = ns.FlowMonitorHelper()
    monitor = helper.Install(network.nodes)
    try:
        yield
    finally:
        monitor.CheckForLostPackets()
        is_with_histograms, is_with_probes = False, False
        monitor.SerializeToXmlFile(str(folder / "flows.xml"), is_with_histograms, is_with_probes)
        with (folder / "flows.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            table.writerows(sorted(_rows(ns, network, helper, monitor)))


def _rows(ns: Any, network: Network, helper: Any, monitor: Any) -> Iterator[tuple[Any, ...]]:
    stations = {}
    for station in range(network.nodes.GetN()):
        ip = network.nodes.Get(station).GetObject[ns.Ipv4]()
        address = ip.GetAddress(ip.GetInterfaceForDevice(network.devices.Get(station)), 0).GetLocal()
        stations[address.Get()] = station
    for number, one in monitor.GetFlowStats():
        flow = helper.GetClassifier().FindFlow(number)
        ends = [stations[address.Get()] for address in (flow.sourceAddress, flow.destinationAddress)]
        yield (
            *ends,
            flow.destinationPort,
            *(one.txPackets, one.rxPackets, one.lostPackets, one.txBytes, one.rxBytes),
            _mean_ms(one.delaySum, one.rxPackets),
            _mean_ms(one.jitterSum, one.rxPackets - 1),
            one.timesForwarded,
        )


def _mean_ms(total: Any, count: int) -> str:
    """A mean in milliseconds; empty if there is none."""
    return f"{total.GetNanoSeconds() / count / _NS_PER_MS:.6f}" if count > 0 else ""
