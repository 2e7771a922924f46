"""The process of a station: a node, its UDP socket, and the orders it takes.

It reports its clock regularly; its log holds everything that has happened at its node up to that time.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from pathlib import Path
from typing import Any

from testbed.backends.repetition import Repetition
from testbed.backends.stations.clock import RunClock
from testbed.backends.stations.control import Control
from testbed.backends.stations.datagrams import DatagramEndpoint
from testbed.backends.stations.node import Node
from testbed.backends.stations.radio_node import PlaceNode, RadioNode
from testbed.backends.stations.station_log import StationLog, log_path
from testbed.backends.stations.transport import Address, Transport
from testbed.errors import MachineError
from testbed.link.actions import Transmit
from testbed.runtime.breach import AgentError, HandlerTimeout
from testbed.runtime.handler_watch import too_long

REPORT_EVERY_S = 0.1
MAX_TRACE = 20_000
"""Characters of a traceback that are reported; its end says most."""


class Station:
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
        self._started_ns = 0  # when it started to take part in the run, by `time.time_ns`
        self._strangers = 0

    async def run(self) -> int:
        """From start to exit; returns the exit code."""
        loop = asyncio.get_running_loop()
        self._over: asyncio.Future[int] = loop.create_future()
        loop.set_exception_handler(self._on_exception)
        port = self._socket.getsockname()[1]
        self._air = DatagramEndpoint(self._socket, loop, self._on_datagram)
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
            self._started_ns = time.time_ns()
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
        counts = {"frames": node.frames, "bytes": node.bytes, "dropped": dropped}
        self._control.send({"end": {**node.holdings(), **counts, "lateness_ms": node.lateness.summary_ms()}})
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
        """An exception in the loop ends the station. If it is a full disk, nothing can be printed or logged either."""
        error = context.get("exception")
        if isinstance(error, OSError | MemoryError):
            self._control.send({"lacks": str(MachineError.of(error))})  # then the orchestrator ends all stations
            return
        trace = "".join(traceback.format_exception(error)) if error is not None else context["message"]
        print(trace, flush=True)
        self._log.flush()
        if isinstance(error, HandlerTimeout):
            error = too_long(error, 0 if self._node is None else self._node.now)
        if isinstance(error, AgentError):
            where = {"node": error.node, "t": error.t, "event": error.event, "output": error.output}
            self._control.send({"breach": {"why": error.why, **where, "trace": trace[-MAX_TRACE:]}})
        else:
            what = context["message"] if error is None else f"{type(error).__name__}: {error}"
            self._control.send({"failed": f"station {self._number} failed: {what}"})
        self._end(1)

    def _end(self, code: int) -> None:
        self._log.flush()
        if self._node is not None:
            self._node.end()
        self._node = None
        if not self._over.done():
            self._over.set_result(code)

    # -- the air -----------------------------------------------------------------------------------------------------

    def _on_datagram(self, data: bytes, source: Address, came_ns: int) -> None:
        """A datagram has arrived. It is not late because of the time before this incarnation took part."""
        if not self._transport.is_ours(source):
            self._strangers += 1
        elif self._node is not None:
            waited_ns = time.time_ns() - max(came_ns, self._started_ns)
            self._node.lateness.note(max(0, waited_ns))  # the clock of the stamps may be set back
            self._node.on_datagram(data)

    def _put(self, transmit: Transmit) -> None:
        self._air.send(*self._transport.address(transmit))
