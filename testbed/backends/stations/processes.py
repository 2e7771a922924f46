"""The processes of a run in real time, as the orchestrator sees them: the stations, the fork server, the medium.

Leaving the context ends them all, also after an error; if the orchestrator is killed, they end by themselves.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed.backends.stations.control import Control
from testbed.backends.stations.launch import Process, launch
from testbed.backends.stations.station_log import output_path

MEDIUM, FORK_SERVER = "medium", "fork-server"
_GONE_TIMEOUT_S = 5.0

ProcessName = str | int
"""MEDIUM, FORK_SERVER, or a node."""


class Processes:
    """Starts processes, exchanges messages with them, and ends them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._selector = selectors.DefaultSelector()
        self._controls: dict[ProcessName, Control] = {}
        self._processes: dict[str, Process] = {}
        self._pids: dict[int, int] = {}  # of stations, by node, in their present incarnation
        self._to_kill: set[int] = set()  # stations to be killed as soon as their process is known
        self._adopted: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():  # the stations end with the fork server
            process.kill()
        for process in self._processes.values():
            process.wait()
        for name in self._adopted:
            self._forget(name)
        while self._controls and any(True for _ in self.hear(_GONE_TIMEOUT_S)):
            pass  # until the last process has closed its end
        for control in self._controls.values():
            control.close()
        self._selector.close()

    # -- starting and killing ----------------------------------------------------------------------------------------

    def start(self, name: str, module: str, spec: dict[str, Any]) -> None:
        """Start a process, which is a module with a `main(control)`, and send it the spec of the run."""
        ours, theirs = Control.pair()
        output = output_path(self._folder, name)
        self._processes[name] = launch(module, theirs, output, ours, *self._controls.values())
        theirs.close()
        self._listen_to(name, ours)
        ours.send(spec)

    def adopt(self, name: str, control: Control) -> None:
        """Listen to a process that was started elsewhere, and will be ended there."""
        self._adopted.append(name)
        self._listen_to(name, control)

    def start_station(
        self, node: int, incarnation: int, transport: dict[str, Any], descriptors: tuple[int, ...] = ()
    ) -> None:
        """Have the fork server fork a station."""
        self._pids.pop(node, None)  # by now another process may have the number
        ours, theirs = Control.pair()
        order = {"node": node, "incarnation": incarnation, "transport": transport}
        self._controls[FORK_SERVER].send(order, theirs.fileno(), *descriptors)
        theirs.close()
        self._listen_to(node, ours)

    def note_pid(self, node: int, pid: int) -> None:
        """The fork server has reported which process a station is."""
        self._pids[node] = pid
        if node in self._to_kill:
            self._to_kill.discard(node)
            self.kill(node)

    def kill(self, node: int) -> None:
        """Kill a station, or have it killed as soon as the fork server has reported which process it is."""
        if node not in self._pids:
            self._to_kill.add(node)
            return
        with suppress(ProcessLookupError):
            os.kill(self._pids[node], signal.SIGKILL)

    # -- messages ----------------------------------------------------------------------------------------------------

    def tell(self, name: ProcessName, order: dict[str, Any]) -> None:
        """Give an order; nothing happens if the process has ended."""
        if name in self._controls:
            with suppress(ConnectionError):  # it has just ended, which `hear` is about to report
                self._controls[name].send(order)

    def hear(self, timeout_s: float | None) -> Iterator[tuple[ProcessName, dict[str, Any] | None]]:
        """The messages that have arrived, at most one from each process; None for the end of a process."""
        for key, _ in self._selector.select(timeout_s):
            name: ProcessName = key.data
            message, _ = self._controls[name].receive()
            if message is None:
                self._forget(name)
            yield name, message

    def last_output(self, name: ProcessName) -> str:
        """The last line that a process printed, which may show why it ended."""
        path = output_path(self._folder, name if isinstance(name, str) else f"{name:03d}")
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")

    def _forget(self, name: ProcessName) -> None:
        control = self._controls.pop(name, None)
        if control is not None:
            self._selector.unregister(control)
            control.close()

    def _listen_to(self, name: ProcessName, control: Control) -> None:
        self._forget(name)  # an earlier incarnation, whose end has not been reported yet
        self._controls[name] = control
        self._selector.register(control, selectors.EVENT_READ, name)
