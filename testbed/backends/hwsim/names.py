"""Names and addresses of a run's radios; all of them follow from the name of the run and the number of the node.

The names of radios contain the run's name, so that `testbed clean` can tell them from radios of other programs.
Hardware addresses differ between runs, as the kernel has one table of them for all namespaces.
"""

from __future__ import annotations

import hashlib
import re
from ipaddress import IPv4Address

from testbed.errors import BackendError

PORT = 7700
"""Of the stations' datagrams."""
PREFIX_LENGTH = 16
MAX_NODES = 65_000
_NETWORK = int(IPv4Address("10.77.0.0"))
_RUN = re.compile(r"[A-Za-z0-9_.]{1,32}")
_RADIO = re.compile(r"tb([A-Za-z0-9_.]{1,32})-([0-9]{1,5})")


def check_run(run: str) -> str:
    """Check the name of a run, which becomes part of names in the kernel and of a file name."""
    if not _RUN.fullmatch(run) or set(run) == {"."}:
        raise BackendError(f"the run's name {run!r} is not 1 to 32 letters, digits, dots and underscores")
    return run


def radio_name(run: str, node: int) -> str:
    """The name of a node's radio and of its phy."""
    return f"tb{run}-{node}"


def run_of_radio(name: str) -> str | None:
    """The run that made a radio; None if no run of the testbed did."""
    match = _RADIO.fullmatch(name)
    return match[1] if match else None


def address(node: int) -> str:
    """A station's IP address."""
    return str(IPv4Address(_NETWORK + node + 1))


def network() -> str:
    """The network of all stations' addresses."""
    return f"{IPv4Address(_NETWORK)}/{PREFIX_LENGTH}"


def broadcast_address() -> str:
    """The address by which a station reaches all stations in range."""
    return str(IPv4Address(_NETWORK + 0xFFFF))


def node_of(ip: str) -> int:
    """The station that has an IP address."""
    return int(IPv4Address(ip)) - _NETWORK - 1


def hardware_address(run: str, node: int) -> bytes:
    """A station's MAC address: locally administered, three bytes for the run, two for the node."""
    return b"\x02" + hashlib.sha256(run.encode()).digest()[:3] + node.to_bytes(2, "big")


def mesh_address(run: str, node: int) -> bytes:
    """The MAC address of a station's mesh interface, whose port is its radio."""
    return b"\x06" + hardware_address(run, node)[1:]


def cell_address(run: str) -> bytes:
    """The BSSID that all stations of a run share."""
    return hardware_address(run, 0xFFFF)
