"""What every station runs in real time, with an agent or without: a stack over datagrams, and what it has sent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from testbed.backends.repetition import Repetition
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.real_time import RealTime
from testbed.backends.stations.station_log import StationLog
from testbed.durations import to_ticks
from testbed.link.actions import Transmit
from testbed.link.endtoend import Direct, EndToEnd
from testbed.link.layer import LinkLayer
from testbed.link.router import Router
from testbed.link.wire import Wire
from testbed.runtime.stack import Stack


class RadioNode(RealTime):
    """One incarnation of one node on the air. A subclass makes the stack."""

    _stack: Stack
    is_idle = False
    """Whether no request is pending, and none will be made."""

    def __init__(
        self,
        repetition: Repetition,
        node: int,
        incarnation: int,
        clock: RunClock,
        log: StationLog,
        put: Callable[[Transmit], None],
    ) -> None:
        super().__init__(asyncio.get_running_loop(), clock)
        self._repetition = repetition
        self._node = node
        self._incarnation = incarnation
        self._log = log
        self._put = put
        self.frames: Counter[str] = Counter()
        self.bytes: Counter[str] = Counter()
        """Of the datagrams sent, by the frame they carry."""

    def begin(self) -> None:
        """Plan what happens without a cause from outside."""
        self.at(max(self.now, to_ticks(self._repetition.scenario.warmup)), self.on_warm)
        self.at(self.now, self._stack.begin)

    def on_warm(self) -> None:
        """The warmup is over: frames that were sent to find links do not count, nor does lateness (`lateness`)."""
        self.frames.clear()
        self.bytes.clear()
        self.lateness.clear()

    def _layer_arguments(self) -> tuple[Any, ...]:
        repetition, incarnation = self._repetition, self._incarnation
        wire = Wire(repetition.wire_name(), repetition.wire_messages())
        rng = repetition.streams.of(f"link layer, life {incarnation}", self._node)
        return self._node, incarnation, wire, repetition.link_settings(), rng, self.now

    def _link_layer(self) -> LinkLayer:
        return LinkLayer(*self._layer_arguments())

    def _end_to_end(self) -> EndToEnd:
        """A router of our own, or the kernel's."""
        kind = Router if self._repetition.scenario.routing == "builtin" else Direct
        return kind(*self._layer_arguments())

    # -- called by the station ---------------------------------------------------------------------------------------

    def on_datagram(self, data: bytes) -> None:
        """A datagram has arrived."""
        self.read_clock()
        self._stack.on_datagram(data)

    def stop(self) -> None:
        """No more requests."""

    def vanish(self) -> None:
        """Leave its neighbourhood at once."""

    def holdings(self) -> dict[str, Any]:
        """What it holds and waits for, for its last report."""
        return {"units": 0, "tokens": 0, "awaits": [], "spares": 0}

    @property
    def dropped(self) -> dict[str, int]:
        """Datagrams that were dropped, by the reason."""
        return dict(self._stack.layer.dropped)

    def _transmit(self, node: int, transmit: Transmit) -> None:
        self.frames[transmit.kind] += 1
        self.bytes[transmit.kind] += len(transmit.data)
        self._log.flush()  # before the datagram leaves: what others have heard of must be in the log even after a kill
        self._put(transmit)


class PlaceNode(RadioNode):
    """The station of a place: it has no agent, and asks for nothing."""

    is_idle = True

    def __init__(
        self,
        repetition: Repetition,
        node: int,
        incarnation: int,
        clock: RunClock,
        log: StationLog,
        put: Callable[[Transmit], None],
    ) -> None:
        super().__init__(repetition, node, incarnation, clock, log, put)
        self._stack = repetition.place_station(node, self._end_to_end(), self, self._transmit)
        self.begin()
