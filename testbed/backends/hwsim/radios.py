"""The radios of one run: one to a station, each in a network namespace of its own.

**Nothing is left behind, whatever happens.** The namespaces have no names: they are held by descriptors of this process
and by the stations in them, and end when these end. The radios are made from within a namespace of the run, the air.
The kernel returns radios made in the machine's own namespace to it when theirs ends, but destroys those made elsewhere.
So `kill -9` leaves nothing once the stations have exited, which the kernel sees to as well (`testbed.processes`),
except radios with a frame on the air: the radio reaper destroys those (`radio_reaper.py`). The air also keeps runs
apart: each has a medium of its own, and does not meet radios that the machine had before. (hwsim's
DESTROY_RADIO_ON_CLOSE is not used: it compares only the number of the closing socket, so that any netlink socket of the
same number, in whatever namespace, would take the radios with it.)
"""

from __future__ import annotations

import errno
import os
from contextlib import closing, suppress
from types import TracebackType

from testbed.backends.hwsim import kernel, messages, netlink
from testbed.backends.hwsim.control_plane import AdHocCell, ControlError, NamespaceControl, open_control
from testbed.backends.hwsim.fleet import INTERFACE, LOOPBACK, Fleet, RadioNamespace, set_address
from testbed.backends.hwsim.lock import Lock
from testbed.backends.hwsim.names import MAX_NODES, cell_address, check_run, hardware_address, radio_name
from testbed.backends.hwsim.netlink import attribute, generic, text, u32
from testbed.errors import BackendError
from testbed.radio.radio import Radio

BEACON_INTERVAL_TU = 1000
"""About a second: idle stations cost little, and no station waits for beacons."""
_SSID = b"testbed"
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
        self.dismiss_reaper()
        self._lock.release()
        self.let_go()
        self.stations.clear()

    # -- making them -------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        with kernel.namespace_kept():
            kernel.new_namespace()
            self.air = kernel.current_namespace()
            with netlink.Socket(netlink.NETLINK_GENERIC) as made_by, closing(open_control()) as air:
                self._hwsim = netlink.family(made_by, messages.FAMILY)
                for node in range(self.nodes):
                    self.stations.append(new_station())
                    self._make_radio(node, made_by, air)
                    self._configure(node)

    def _make_radio(self, node: int, made_by: netlink.Socket, air: NamespaceControl) -> None:
        """A new radio's interface is the only one in the air, so it can be found by its name; then it moves out."""
        wanted = [
            attribute(messages.RADIO_NAME, text(radio_name(self.run, node))),
            attribute(messages.PERM_ADDR, self.addresses[node]),
        ]
        if self.frequency_mhz not in _FREE_CHANNELS_MHZ:
            wanted.append(attribute(messages.REG_CUSTOM_REG, u32(0)))
        made_by.ask_number(self._hwsim, generic(messages.NEW_RADIO, *wanted))
        air.move_radio(air.interface_index(INTERFACE), self.stations[node].namespace)
        self._with_radio.add(node)

    def _configure(self, node: int) -> None:
        cell = self._cell()
        with self.stations[node].control() as control:
            index = control.interface_index(INTERFACE)
            control.make_ad_hoc(index)
            control.bring_up(LOOPBACK)
            control.bring_up(index)
            set_address(control, index, node)
            try:
                control.join_cell(index, cell)
            except ControlError as error:
                if error.errno != errno.EINVAL:
                    raise
                reason = f"the kernel allows no ad hoc network on {self.frequency_mhz} MHz (radio.channel)"
                raise BackendError(f"{reason}: {error.strerror}") from None
            control.fix_rate(index, cell)
            self.introduce(node, control)

    def _cell(self) -> AdHocCell:
        return AdHocCell(
            _SSID, self.frequency_mhz, cell_address(self.run), BEACON_INTERVAL_TU, rate_mbps=self.radio.rate
        )

    def _destroy(self, node: int) -> None:
        """A radio is destroyed from the namespace that it is in."""
        name = attribute(messages.RADIO_NAME, radio_name(self.run, node).encode())
        with suppress(OSError):  # gone already, or going with its namespace
            self.stations[node].generic.ask(self._hwsim, generic(messages.DEL_RADIO, name))


def new_station() -> RadioNamespace:
    """A station without a radio, in a namespace that was not there before."""
    with kernel.namespace_kept():
        kernel.new_namespace()
        station = RadioNamespace(kernel.current_namespace())
    station.silence_ipv6()
    return station
