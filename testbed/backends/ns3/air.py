"""The air of one repetition: datagrams between the stations of an ns-3 network, and what faults do to them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from testbed.backends.ns3.network import Network
from testbed.backends.ns3.routing import FORWARDED, PROTOCOLS
from testbed.backends.repetition import Repetition
from testbed.mobility.trajectory import Position
from testbed.radio.path_loss import BEYOND_DB
from testbed.radio.radio import Radio

LOSS_STREAM = 900
"""The random stream of frames that are lost besides."""


class Ns3Air:
    """Our sockets on the nodes of a network. There is only one at a time in a process."""

    def __init__(self, ns: Any, network: Network, repetition: Repetition, *, is_attached: bool = False) -> None:
        """A network that is attached has its own shadowing and losses; only those of faults are added to it."""
        scenario, self._geometry = repetition.scenario, repetition.geometry
        self._has_shadowing = not is_attached and bool((scenario.radio or Radio()).propagation.deviation_db)
        self.network = network
        self._bridge = ns.cppyy.gbl.adhoc.Bridge()
        for station in range(scenario.stations):
            self._bridge.Add(network.nodes.Get(station), network.devices.Get(station))
        self._are_pairs_first = False
        if self._geometry is None:
            for pair in combinations(range(scenario.stations), 2):
                self.set_passable(*pair, False)
        elif self._has_shadowing:
            for pair in combinations(range(scenario.stations), 2):
                self.set_passable(*pair, True)
        if not is_attached and (loss := repetition.radio_links.loss):
            self._bridge.Lose(loss, LOSS_STREAM)
        if scenario.routing != "builtin":
            self._bridge.CountRouting(PROTOCOLS[scenario.routing].port)
        self._routing = scenario.routing
        self.run_until: Callable[[int], int] = self._bridge.RunUntil
        """Let time pass until a time in ns, or until a station hears a datagram; returns the station, or -1."""
        self.now_ns: Callable[[], int] = self._bridge.Now

    def send(self, station: int, to: int | None, data: bytes) -> None:
        """Put a datagram into the queue of a station's radio, for another station or for all."""
        self._bridge.Send(station, -1 if to is None else to, data)

    def datagram(self) -> bytes:
        """What the station heard that ended the last `run_until`."""
        return bytes(self._bridge.Datagram())

    def routing_counts(self) -> dict[str, tuple[int, int]]:
        """How many frames and bytes routing by ns-3 has sent, by kind; nothing if our own routers do it."""
        if self._routing == "builtin":
            return {}
        counts = {PROTOCOLS[self._routing].kind: self._bridge.control, FORWARDED: self._bridge.forwarded}
        return {kind: (int(one.frames), int(one.bytes)) for kind, one in counts.items() if one.frames}

    def forget_routing(self) -> None:
        """Count routing from now on only."""
        self._bridge.ForgetRouting()

    def set_radio(self, station: int, is_on: bool) -> None:
        """Turn a radio off, which empties its queue, or on."""
        self._bridge.SetRadio(station, is_on)

    def is_on(self, station: int) -> bool:
        """Whether a radio is on."""
        return bool(self._bridge.IsOn(station))

    def close(self) -> None:
        """The run is over: let go of the radios, so that nothing of them is left when ns-3 is cleared."""
        self._bridge.LetGo()

    def position(self, station: int) -> Position:
        """Where ns-3 has a station now."""
        place = self._bridge.Place(station).GetPosition()
        return Position(place.x, place.y, place.z)

    def loss_db(self, a: int, b: int) -> float:
        """The loss of a signal between two stations now, by ns-3; with fading, that of one frame."""
        self._put_pairs_first()
        return float(self._bridge.Loss(a, b))

    def set_passable(self, a: int, b: int, is_passable: bool) -> None:
        """Let signals of two stations pass, or none of them."""
        self._put_pairs_first()
        gain = self._geometry.air.shadowing_db(a, b) if self._geometry is not None and self._has_shadowing else 0.0
        self._bridge.SetLoss(a, b, -gain if is_passable else BEYOND_DB)

    def _put_pairs_first(self) -> None:
        """Only a network that needs a loss between pairs has it on the way of every signal, for speed."""
        if not self._are_pairs_first:
            self._are_pairs_first = True
            self._bridge.PutPairsFirst()
