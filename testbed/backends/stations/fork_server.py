"""The warm parent of a run's stations: it imports and computes what they all need once, then forks one after the other.

It tells when one of them has died, and how.
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

from testbed.runtime.initial_state import Beginning
from testbed.scenario.schema import loads
from testbed.backends.stations.control import Control, become_child
from testbed.backends.stations.launch import send_output_to
from testbed.backends.stations.station_log import output_path
from testbed.backends.stations.station import Station
from testbed.backends.stations.transport import Transport, make_transport
from testbed.randomness import Streams


class Nursery:
    """Takes orders to fork stations."""

    def __init__(self, control: Control) -> None:
        self._control = control
        spec, _ = control.receive()
        if spec is None:
            sys.exit(1)
        scenario = loads(spec["scenario"])
        self._beginning = Beginning(scenario, Streams(scenario.seed, spec["repetition"]))
        self._folder = Path(spec["folder"])
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)

    def work(self) -> None:
        """Fork stations and watch over them until told to go."""
        gc.collect()
        gc.freeze()  # what is shared stays shared: no collection in a child touches it
        self._control.send({"ready": os.getpid()})
        while True:
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._bury(key.fd, *key.data)
                    continue
                order, fds = self._control.receive()
                if order is None:
                    return
                self._bear(order, fds)

    def _bear(self, order: dict[str, Any], fds: list[int]) -> None:
        node, life = order["node"], order["life"]
        pid = os.fork()
        if pid == 0:
            control, transport = Control.inherited(fds[0]), make_transport(order["transport"], fds[1:])
            self._become_station(node, life, transport, control)
        for fd in fds:
            os.close(fd)
        self._selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, node, life))
        self._control.send({"born": node, "life": life, "pid": pid})

    def _bury(self, fd: int, pid: int, node: int, life: int) -> None:
        self._selector.unregister(fd)
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        self._control.send({"died": node, "life": life, "code": os.waitstatus_to_exitcode(status)})

    def _become_station(self, node: int, life: int, transport: Transport, control: Control) -> NoReturn:
        code = 1
        try:
            become_child(f"station-{node}")
            self._selector.close()
            self._control.close()
            send_output_to(output_path(self._folder, f"{node:03d}"))
            station = Station(self._beginning, node, life, transport, control, self._folder)
            code = asyncio.run(station.live())
        except BaseException:
            traceback.print_exc()  # into the station's own output; nobody else is there to tell
            raise
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)  # not by way of what the parent wants done at its own end


def main(control: Control) -> None:
    """The process, with its control channel."""
    become_child("nursery")
    Nursery(control).work()
