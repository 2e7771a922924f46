"""The radios of one run: one to a station, each in a network namespace of its own.

**Nothing stays behind, whatever happens.** The namespaces have no names: they are held by descriptors of this process
and by the stations in them, and go when these go. The radios are made from within a namespace of the run, the air; the
kernel returns radios made in the machine's own namespace to it when theirs ends, but destroys those made elsewhere. So
`kill -9` leaves nothing once the stations are dead, which the kernel sees to as well (`testbed.processes`), but for
radios with a frame on the air, for which there is a guardian (`guardian.py`). The air also keeps runs apart: each has a
medium of its own, and none meets radios that the machine had before. (hwsim's DESTROY_RADIO_ON_CLOSE is not used: it
minds the number of the closing socket only, so that any netlink socket of the same number, in whatever namespace, would
take the radios with it.)
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import suppress
from types import TracebackType

from testbed.errors import BackendError
from testbed.backends.hwsim import messages
from testbed.backends.hwsim import kernel
from testbed.backends.hwsim import netlink
from testbed.backends.hwsim.fleet import LOOPBACK, Fleet, Station, interface_index, own_address, up
from testbed.backends.hwsim.lock import Lock
from testbed.backends.hwsim.names import MAX_NODES, cell_address, check_run, hardware_address, radio_name
from testbed.backends.hwsim.netlink import attribute, generic, text, u8, u32
from testbed.radio.radio import Radio

BEACON_INTERVAL_TU = 1000
"""About a second: idle stations cost little, and nobody here waits for beacons."""
_SSID = b"testbed"
_NEW_INTERFACE, _SET_INTERFACE, _JOIN_IBSS, _SET_WIPHY_NETNS, _SET_TX_BITRATE_MASK = 7, 6, 43, 49, 57
_IFINDEX, _IFTYPE, _MAC, _BEACON_INTERVAL, _BSS_BASIC_RATES, _WIPHY_FREQ = 3, 5, 6, 12, 36, 38
_SSID_ATTRIBUTE, _FREQ_FIXED, _TX_RATES, _MCAST_RATE, _NETNS_FD = 52, 60, 90, 107, 219
_ADHOC, _TXRATE_LEGACY = 1, 1
_FREE_CHANNELS_MHZ = range(2412, 2463)
"""Where ad hoc networks are allowed all over the world; elsewhere radios get a rule of hwsim's own."""


class Radios(Fleet):
    """Made on entering the context, gone on leaving it."""

    def __init__(self, run: str, nodes: int, radio: Radio) -> None:
        if not 0 < nodes <= MAX_NODES:
            raise BackendError(f"{nodes} stations: there may be 1 to {MAX_NODES}")
        super().__init__(check_run(run), radio)
        self.addresses = [hardware_address(run, node) for node in range(nodes)]
        self._with_radio: set[int] = set()
        self._lock = Lock(run)
        self.on_let_go.append(self._lock.forget)

    def __enter__(self) -> Radios:
        if os.geteuid() != 0:
            raise BackendError("virtual radios need root: run as root, or in the guest (`testbed guest`)")
        kernel.load_hwsim()
        self._lock.take()
        try:
            self._make()
            self.guard()
        except OSError as error:
            self.close()
            raise BackendError(f"cannot set up {self.nodes} virtual radios: {error}") from error
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Destroy the radios, and let the namespaces go with the last process in them. Closing twice does no harm."""
        for node in sorted(self._with_radio):
            self._destroy(node)
        self._with_radio.clear()
        self.dismiss_guardian()
        self._lock.release()
        self.let_go()
        self.stations.clear()

    # -- making them -------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        with kernel.namespace_kept():
            kernel.new_namespace()
            self.air = kernel.current_namespace()
            with (
                netlink.Socket(netlink.NETLINK_GENERIC) as made_by,
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain,
            ):
                self._hwsim = netlink.family(made_by, messages.FAMILY)
                self._nl80211 = netlink.family(made_by, "nl80211")
                for node in range(self.nodes):
                    self.stations.append(new_station())
                    self._make_radio(node, made_by, plain)
                    self._configure(node)

    def _make_radio(self, node: int, made_by: netlink.Socket, plain: socket.socket) -> None:
        """A new radio's interface is the only one in the air, so it can be found by its name; then it moves out."""
        wanted = [
            attribute(messages.RADIO_NAME, text(radio_name(self.run, node))),
            attribute(messages.PERM_ADDR, self.addresses[node]),
        ]
        if self.frequency_mhz not in _FREE_CHANNELS_MHZ:
            wanted.append(attribute(messages.REG_CUSTOM_REG, u32(0)))
        made_by.ask_number(self._hwsim, generic(messages.NEW_RADIO, *wanted))
        station = self.stations[node]
        move = generic(
            _SET_WIPHY_NETNS,
            attribute(_IFINDEX, u32(interface_index(plain))),
            attribute(_NETNS_FD, u32(station.namespace)),
        )
        made_by.ask(self._nl80211, move)
        self._with_radio.add(node)

    def _configure(self, node: int) -> None:
        station = self.stations[node]
        index = station.interface_index()
        which = attribute(_IFINDEX, u32(index))
        station.generic.ask(self._nl80211, generic(_SET_INTERFACE, which, attribute(_IFTYPE, u32(_ADHOC))))
        station.route.tell([up(LOOPBACK), up(index), own_address(index, node)])
        try:
            station.generic.ask(self._nl80211, generic(_JOIN_IBSS, which, *self._cell()))
        except netlink.NetlinkError as error:
            if error.errno != errno.EINVAL:
                raise
            reason = f"the kernel allows no ad hoc network on {self.frequency_mhz} MHz (radio.channel)"
            raise BackendError(f"{reason}: {error.strerror}") from None
        station.generic.ask(self._nl80211, generic(_SET_TX_BITRATE_MASK, which, self._rate_mask()))
        self.introduce(node)

    def _cell(self) -> list[bytes]:
        """The network all stations are in: known beforehand, so that nobody has to look for it."""
        return [
            attribute(_SSID_ATTRIBUTE, _SSID),
            attribute(_WIPHY_FREQ, u32(self.frequency_mhz)),
            attribute(_FREQ_FIXED, b""),
            attribute(_MAC, cell_address(self.run)),
            attribute(_BEACON_INTERVAL, u32(BEACON_INTERVAL_TU)),
            attribute(_BSS_BASIC_RATES, u8(round(2 * self.radio.rate))),
            attribute(_MCAST_RATE, u32(round(10 * self.radio.rate))),
        ]

    def _rate_mask(self) -> bytes:
        """One rate for unicasts too: it is the scenario's to choose, not the kernel's."""
        band = 0 if self.frequency_mhz < 5000 else 1
        legacy = attribute(_TXRATE_LEGACY, u8(round(2 * self.radio.rate)))
        return attribute(_TX_RATES, attribute(band, legacy))

    def _destroy(self, node: int) -> None:
        """A radio is destroyed from the namespace that it is in."""
        name = attribute(messages.RADIO_NAME, radio_name(self.run, node).encode())
        with suppress(OSError):  # gone already, or going with its namespace
            self.stations[node].generic.ask(self._hwsim, generic(messages.DEL_RADIO, name))


def new_station() -> Station:
    """A station without a radio, in a namespace that was not there before."""
    with kernel.namespace_kept():
        kernel.new_namespace()
        station = Station(kernel.current_namespace())
    station.silence_ipv6()
    return station
