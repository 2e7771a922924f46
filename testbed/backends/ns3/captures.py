"""Captures of the air (`--pcap`): what the radio of every station sends and receives, in a file for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from testbed.backends.ns3.network import Network


def capture_air(ns: Any, network: Network, folder: Path) -> None:
    """Write `station-N.pcap` for every station, with a radiotap header before every frame, until ns-3 is cleared."""
    phy = ns.YansWifiPhyHelper()
    phy.SetPcapDataLinkType(ns.WifiPhyHelper.DLT_IEEE802_11_RADIO)
    for station in range(network.devices.GetN()):
        file, is_promiscuous, is_explicit = str(folder / f"station-{station}.pcap"), True, True
        phy.EnablePcap(file, network.devices.Get(station), is_promiscuous, is_explicit)
