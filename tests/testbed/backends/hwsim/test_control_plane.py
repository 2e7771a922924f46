"""Both control planes ask the kernel for the same: held against each other on this machine's kernel, in new namespaces.

What needs radios is tried in a guest (tests/emulation/test_hwsim.py).
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest

from testbed.backends.hwsim import kernel
from testbed.backends.hwsim.control_plane import (
    BABEL_ROUTES,
    CHOICE,
    IMPLEMENTATIONS,
    ControlError,
    NamespaceControl,
    missing_control,
    open_control,
)
from testbed.processes import find_program
from tests.emulation.conftest import cannot

LOOPBACK = 1
MAC = bytes.fromhex("020304050607")


@pytest.fixture(params=IMPLEMENTATIONS)
def control(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[NamespaceControl]:
    """One implementation, in a network namespace of its own."""
    if os.geteuid() != 0:
        cannot("network namespaces need root")
    if find_program("ip") is None:
        cannot("needs ip, of iproute2")
    monkeypatch.setenv(CHOICE, request.param)
    with kernel.namespace_kept():
        kernel.new_namespace()
        with closing(open_control()) as opened:
            yield opened


def ip(*arguments: str) -> list[dict]:
    """What the kernel has, as iproute2 reads it."""
    done = subprocess.run([find_program("ip"), "-json", *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout or "[]")


def test_links_and_addresses(control: NamespaceControl) -> None:
    assert control.interface_index("lo") == LOOPBACK
    assert "UP" not in ip("link", "show", "lo")[0]["flags"]
    control.bring_up(LOOPBACK)
    assert "UP" in ip("link", "show", "lo")[0]["flags"]
    control.add_address(LOOPBACK, "10.77.0.1", 16, "10.77.255.255")
    (added,) = [one for one in ip("-4", "addr", "show", "lo")[0]["addr_info"] if one["local"] == "10.77.0.1"]
    assert (added["prefixlen"], added["broadcast"]) == (16, "10.77.255.255")
    control.remove_address(LOOPBACK, "10.77.0.1", 16)
    assert "10.77.0.1" not in str(ip("-4", "addr", "show", "lo"))


def test_neighbours_and_hardware_addresses(control: NamespaceControl) -> None:
    """On a pair of virtual Ethernet interfaces."""
    subprocess.run([find_program("ip"), "link", "add", "v0", "type", "veth", "peer", "name", "v1"], check=True)
    index = control.interface_index("v0")
    control.set_hardware_address(index, MAC)
    assert ip("link", "show", "v0")[0]["address"] == MAC.hex(":")
    control.bring_up(index)
    macs = {f"10.77.0.{last}": bytes((2, 0, 0, 0, 0, last)) for last in (2, 3, 4)}
    for _ in range(2):  # the second time they replace themselves
        control.set_neighbours(index, macs)
    found = {one["dst"]: (one["lladdr"], one["state"]) for one in ip("neigh", "show", "dev", "v0")}
    assert found == {address: (mac.hex(":"), ["PERMANENT"]) for address, mac in macs.items()}


def test_routes_of_one_protocol(control: NamespaceControl) -> None:
    control.bring_up(LOOPBACK)
    for last, protocol in ((1, BABEL_ROUTES), (2, BABEL_ROUTES), (3, 99)):
        subprocess.run(
            [find_program("ip"), "route", "add", f"10.9.{last}.0/24", "dev", "lo", "proto", str(protocol)], check=True
        )
    assert control.remove_routes(BABEL_ROUTES) == 2
    assert [one["dst"] for one in ip("route", "show")] == ["10.9.3.0/24"]
    assert control.remove_routes(BABEL_ROUTES) == 0


def test_what_the_kernel_refuses(control: NamespaceControl) -> None:
    """Every refusal is an OSError of one kind, with the kernel's number."""
    with pytest.raises(OSError, match=r"nothing|No such device"):
        control.interface_index("nothing")
    with pytest.raises(ControlError, match="No such device") as refused:
        control.bring_up(4711)
    assert refused.value.errno == 19
    control.add_address(LOOPBACK, "10.77.0.1", 16, "10.77.255.255")
    with pytest.raises(ControlError, match="exists") as twice:
        control.add_address(LOOPBACK, "10.77.0.1", 16, "10.77.255.255")
    assert twice.value.errno == 17


def test_a_control_stays_in_its_namespace(control: NamespaceControl) -> None:
    """Wherever its thread goes afterwards."""
    subprocess.run([find_program("ip"), "link", "add", "v0", "type", "veth", "peer", "name", "v1"], check=True)
    with kernel.namespace_kept():
        kernel.new_namespace()
        assert [one["ifname"] for one in ip("link", "show")] == ["lo"]
        assert control.interface_index("v0") > LOOPBACK


def test_the_extra_is_named_if_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(CHOICE, raising=False)
    assert missing_control() is None
    monkeypatch.setattr("testbed.extras.find_spec", lambda name: None)
    assert "this needs the extra hwsim: " in str(missing_control())
    monkeypatch.setenv(CHOICE, "netlink")
    assert missing_control() is None
