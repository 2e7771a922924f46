"""The processes of a run in real time, as the orchestrator sees them: the stations, their warm parent, the medium.

Leaving the context ends them all, whatever has happened; if the orchestrator is killed, they end by themselves.
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

MEDIUM, NURSERY = "medium", "nursery"
_GONE_TIMEOUT_S = 5.0

Who = str | int
"""MEDIUM, NURSERY, or a node."""


class Children:
    """Starts processes, speaks to them, and ends them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._selector = selectors.DefaultSelector()
        self._controls: dict[Who, Control] = {}
        self._processes: dict[str, Process] = {}
        self._pids: dict[int, int] = {}  # of stations, by node, in their present life
        self._doomed: set[int] = set()  # stations to be killed as soon as their process is known
        self._adopted: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes.values():  # the stations die with their parent
            process.kill()
        for process in self._processes.values():
            process.wait()
        for who in self._adopted:
            self._forget(who)
        while self._controls and any(True for _ in self.hear(_GONE_TIMEOUT_S)):
            pass  # until the last of them has closed its end
        for control in self._controls.values():
            control.close()
        self._selector.close()

    # -- birth and death ---------------------------------------------------------------------------------------------

    def start(self, who: str, module: str, spec: dict[str, Any]) -> None:
        """Start a process, which is a module with a `main(control)`, and send it what it is to work on."""
        ours, theirs = Control.pair()
        output = output_path(self._folder, who)
        self._processes[who] = launch(module, theirs, output, ours, *self._controls.values())
        theirs.close()
        self._listen_to(who, ours)
        ours.send(spec)

    def adopt(self, who: str, control: Control) -> None:
        """Listen to a process that somebody else has started, and will end."""
        self._adopted.append(who)
        self._listen_to(who, control)

    def bear(self, node: int, life: int, transport: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        """Have a station forked."""
        self._pids.pop(node, None)  # by now the number may be a stranger's
        ours, theirs = Control.pair()
        order = {"node": node, "life": life, "transport": transport}
        self._controls[NURSERY].send(order, theirs.fileno(), *descriptors)
        theirs.close()
        self._listen_to(node, ours)

    def note_pid(self, node: int, pid: int) -> None:
        """The nursery says which process a station is."""
        self._pids[node] = pid
        if node in self._doomed:
            self._doomed.discard(node)
            self.kill(node)

    def kill(self, node: int) -> None:
        """A station dies on the spot, or as soon as the nursery has said which process it is."""
        if node not in self._pids:
            self._doomed.add(node)
            return
        with suppress(ProcessLookupError):
            os.kill(self._pids[node], signal.SIGKILL)

    # -- speaking and hearing ----------------------------------------------------------------------------------------

    def tell(self, who: Who, order: dict[str, Any]) -> None:
        """Give an order; nothing happens if there is nobody to take it."""
        if who in self._controls:
            with suppress(ConnectionError):  # it has just died, which we are about to hear
                self._controls[who].send(order)

    def hear(self, timeout_s: float | None) -> Iterator[tuple[Who, dict[str, Any] | None]]:
        """What they have to say; None for one that is gone."""
        for key, _ in self._selector.select(timeout_s):
            who: Who = key.data
            message, _ = self._controls[who].receive()
            if message is None:
                self._forget(who)
            yield who, message

    def last_words(self, who: Who) -> str:
        """The last line that a process printed, to say what it died of."""
        path = output_path(self._folder, who if isinstance(who, str) else f"{who:03d}")
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n") if path.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")

    def _forget(self, who: Who) -> None:
        control = self._controls.pop(who, None)
        if control is not None:
            self._selector.unregister(control)
            control.close()

    def _listen_to(self, who: Who, control: Control) -> None:
        self._forget(who)  # an earlier life, which is dead and has not been heard out
        self._controls[who] = control
        self._selector.register(control, selectors.EVENT_READ, who)
