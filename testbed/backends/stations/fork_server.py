"""The fork server of a run: it imports and computes once what all stations need, then forks them one by one.

It reports when a station has exited, and with which code.
"""

from __future__ import annotations

import asyncio
import gc
import os
import selectors
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from testbed.backends.repetition import Repetition
from testbed.backends.stations.control import Control, become_child
from testbed.backends.stations.launch import send_output_to
from testbed.backends.stations.station import Station
from testbed.backends.stations.station_log import output_path
from testbed.backends.stations.transport import Transport, make_transport
from testbed.randomness import Streams
from testbed.runtime.handler_watch import HandlerWatch
from testbed.scenario.loader import loads


class ForkServer:
    """Forks stations as it is told to."""

    def __init__(self, control: Control) -> None:
        self._control = control
        spec, _ = control.receive()
        if spec is None:
            sys.exit(1)
        scenario = loads(spec["scenario"])
        self._repetition = Repetition(scenario, Streams(scenario.seed, spec["repetition"]))
        self._folder = Path(spec["folder"])
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)

    def work(self) -> None:
        """Fork stations and watch them until the orchestrator ends."""
        gc.collect()
        gc.freeze()  # memory stays shared: no garbage collection in a child touches it
        self._control.send({"ready": os.getpid()})
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._notice_exit(key.fd, *key.data)
                    continue
                order, fds = self._control.receive()
                if order is None:
                    return
                self._fork(order, fds)

    def _fork(self, order: dict[str, Any], fds: list[int]) -> None:
        node, incarnation = order["node"], order["incarnation"]
        pid = os.fork()
        if pid == 0:
            control, transport = Control.inherited(fds[0]), make_transport(order["transport"], fds[1:])
            self._become_station(node, incarnation, transport, control)
        for fd in fds:
            os.close(fd)
        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, node, incarnation))
        self._control.send({"started": node, "incarnation": incarnation, "pid": pid})

    def _notice_exit(self, fd: int, pid: int, node: int, incarnation: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        self._control.send({"exited": node, "incarnation": incarnation, "code": os.waitstatus_to_exitcode(status)})

    def _become_station(self, node: int, incarnation: int, transport: Transport, control: Control) -> NoReturn:
        code = 1
        try:
            become_child(f"station-{node}")
            self._selector.close()
            self._control.close()
            send_output_to(output_path(self._folder, f"{node:03d}"))
            station = Station(self._repetition, node, incarnation, transport, control, self._folder)
            with HandlerWatch(self._repetition.scenario.handler_limit):
                code = asyncio.run(station.run())
        except BaseException:
            traceback.print_exc()  # into the station's own output
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # without the clean-up that belongs to the parent


def main(control: Control) -> None:
    """The process, with its control channel."""
    become_child("fork-server")
    ForkServer(control).work()
