"""The process of a station: a node, its UDP socket, and the orders it takes.

It reports its clock regularly; its log holds everything that has happened at its node up to that time.
"""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path
from typing import Any

from testbed.backends.repetition import Repetition
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.control import Control
from testbed.backends.stations.node import Node
from testbed.backends.stations.radio_node import PlaceNode, RadioNode
from testbed.backends.stations.station_log import StationLog, log_path
from testbed.backends.stations.transport import Address, Transport
from testbed.link.actions import Transmit

REPORT_EVERY_S = 0.1


class Station(asyncio.DatagramProtocol):
    """One incarnation of one node, from its start to its exit."""

    def __init__(
        self, repetition: Repetition, node: int, incarnation: int, transport: Transport, control: Control, folder: Path
    ) -> None:
        self._repetition = repetition
        self._number = node
        self._incarnation = incarnation
        self._transport = transport
        self._control = control
        self._log = StationLog(log_path(folder, node, incarnation))
        self._socket = transport.open(node)  # before the event loop runs: it may set up a namespace
        self._node: RadioNode | None = None  # from the start of the run to its end
        self._strangers = 0

    async def run(self) -> int:
        """From start to exit; returns the exit code."""
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[int] = loop.create_future()
        loop.set_exception_handler(self._on_exception)
        port = self._socket.getsockname()[1]
        self._air, _ = await loop.create_datagram_endpoint(lambda: self, sock=self._socket)
        loop.add_reader(self._control.fileno(), self._on_order)
        self._control.send({"ready": port})
        return await self._over

    # -- orders ------------------------------------------------------------------------------------------------------

    def _on_order(self) -> None:
        order, _ = self._control.receive()
        if order is None:  # the orchestrator has ended
            self._end(1)
        elif order["do"] == "start":
            clock = RunClock(order["epoch"], self._repetition.scenario.time_unit)
            kind = Node if self._number < self._repetition.scenario.nodes else PlaceNode
            self._node = kind(self._repetition, self._number, self._incarnation, clock, self._log, self._put)
            self._report()
        elif self._node is not None and order["do"] == "stop":
            self._node.stop()
        elif self._node is not None and order["do"] == "vanish":
            self._node.vanish()
        elif self._node is not None and order["do"] == "finish":
            self._finish(self._node)

    def _finish(self, node: RadioNode) -> None:
        """Report, and exit."""
        self._log.flush()
        dropped = {**node.dropped, "from a stranger": self._strangers}
        self._control.send({"end": {**node.holdings(), "frames": node.frames, "bytes": node.bytes, "dropped": dropped}})
        self._end(0)

    def _report(self) -> None:
        """Report the clock; everything that has happened up to that time is in the log."""
        if self._node is None:
            return
        self._node.read_clock()
        self._log.flush()
        try:
            self._control.send({"clock": self._node.now, "idle": self._node.is_idle})
        except OSError:  # the orchestrator has ended
            self._end(1)
        asyncio.get_running_loop().call_later(REPORT_EVERY_S, self._report)

    def _on_exception(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception in the loop ends the station."""
        error = context.get("exception")
        print("".join(traceback.format_exception(error)) if error is not None else context["message"], flush=True)
        self._log.flush()
        self._control.send({"failed": context["message"] if error is None else str(error)})
        self._end(1)

    def _end(self, code: int) -> None:
        self._log.flush()
        if self._node is not None:
            self._node.end()
        self._node = None
        if not self._over.done():
            self._over.set_result(code)

    # -- the air -----------------------------------------------------------------------------------------------------

    def datagram_received(self, data: bytes, source: Address) -> None:
        """A datagram has arrived."""
        if not self._transport.is_ours(source):
            self._strangers += 1
        elif self._node is not None:
            self._node.on_datagram(data)

    def error_received(self, error: Exception) -> None:
        """No process listens there, or there is no room: what was sent is lost, as on the air."""

    def _put(self, transmit: Transmit) -> None:
        self._air.sendto(*self._transport.address(transmit))
