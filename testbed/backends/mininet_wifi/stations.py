"""The stations of a Mininet-WiFi network, seen from outside its sandbox: their namespaces and the network's process."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from testbed.backends.hwsim import kernel
from testbed.backends.hwsim.fleet import Fleet, RadioNamespace
from testbed.backends.hwsim.names import address
from testbed.backends.hwsim.radio_reaper import destroy_radios
from testbed.backends.mininet_wifi.plan import interface_of
from testbed.backends.stations.control import Control
from testbed.backends.stations.launch import Process, launch
from testbed.errors import BackendError, one_line
from testbed.mobility.trajectory import Position
from testbed.radio.radio import Radio

_PATIENCE_S = 120.0
"""The longest time from one message to the next while the network is built; a station takes 4 s without KVM."""
_SECONDS_PER_STATION = 15.0


class MininetStations(Fleet):
    """A network that is built on entering the context and destroyed on leaving it."""

    def __init__(self, run: str, radio: Radio, spec: dict[str, Any], output: Path) -> None:
        super().__init__(run, radio)
        self.versions = ""
        self._spec = spec
        self._output = output
        self._process: Process | None = None

    def __enter__(self) -> MininetStations:
        kernel.load_hwsim()
        self.control, theirs = Control.pair()
        self._process = launch("testbed.backends.mininet_wifi.network", theirs, self._output, self.control)
        theirs.close()
        self.on_let_go.append(self.control.close)
        try:
            self.control.send(self._spec)
            self._meet(time.monotonic() + _PATIENCE_S + _SECONDS_PER_STATION * self._spec["nodes"])
            self.guard()
            for node, station in enumerate(self.stations):
                station.silence_ipv6()
                with station.control() as control:
                    self.introduce(node, control)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Destroy the radios and kill the process; with it ends everything else that it has made."""
        for station in self.stations:
            with suppress(OSError):
                destroy_radios(station.generic)
        self.dismiss_reaper()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.let_go()
        self.stations.clear()

    def ask(self, order: dict[str, Any], *descriptors: int) -> None:
        """Send an order, and wait until it has been carried out."""
        self.control.send(order, *descriptors)
        self._next(time.monotonic() + _PATIENCE_S)

    def place(self, positions: dict[int, Position]) -> None:
        """Put nodes elsewhere for a trial, and all others where they are at the start."""
        self.ask({"do": "place", "positions": {str(node): list(place) for node, place in positions.items()}})

    def allow(self, pairs: Iterable[Sequence[int]]) -> None:
        """Not used: no medium of Mininet-WiFi works by pairs."""
        raise AssertionError("a network without places has our own medium")

    def _meet(self, until: float) -> None:
        """Receive the namespaces of all stations."""
        while True:
            message, descriptors = self._next(until)
            if "air" in message:
                self.air = descriptors[0]
            elif "station" in message:
                mac = bytes.fromhex(message["address"].replace(":", ""))
                self.addresses.append(mac)
                self.radio_addresses.append(radio_address(mac))
                self.stations.append(RadioNamespace(descriptors[0], interface_of(message["station"])))
            elif "built" in message:
                self.versions = message["built"]
                return

    def _next(self, until: float) -> tuple[dict[str, Any], list[int]]:
        if not select.select([self.control], [], [], max(0.0, until - time.monotonic()))[0]:
            raise BackendError(f"Mininet-WiFi takes too long; what it printed is in {self._output}")
        message, descriptors = self.control.receive()
        if message is None:
            raise BackendError(f"Mininet-WiFi has ended: {self._last_output()} (all it printed is in {self._output})")
        if "failed" in message:
            raise BackendError(f"{message['failed']} (all it printed is in {self._output})")
        return message, descriptors

    def _last_output(self) -> str:
        lines = self._output.read_text(encoding="utf-8", errors="replace").splitlines() if self._output.exists() else []
        return one_line(next((line for line in reversed(lines) if line.strip()), "it printed nothing"))


def radio_address(mac: bytes) -> bytes:
    """The address by which mac80211_hwsim knows a radio that was made without a given address."""
    return bytes((mac[0] | 0x40,)) + mac[1:]


def attached(run: str, radio: Radio, processes: Sequence[int]) -> Fleet:
    """Stations that an external script has built, each given by a process in its namespace."""
    fleet = Fleet(run, radio)
    for node, process in enumerate(processes):
        try:
            namespace = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise BackendError(f"--attach {process}: no such process, or not ours ({error.strerror})") from None
        fleet.stations.append(RadioNamespace(namespace, interface_of(node)))
        with fleet.socket_in(node) as trial:
            try:
                trial.bind((address(node), 0))
            except OSError:
                raise BackendError(f"--attach {process}: station {node} needs the address {address(node)}") from None
    return fleet
