"""The process that serves pages while a command runs.

It is a process of its own, so that viewers cost the run nothing but the processor time of another core, and at a lower
priority. It is forked from the command, which has all modules loaded already. The command tells it how far it is
through a pipe that never blocks: if the server does not read, the command goes on. It ends with the command, however
that ends.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any

from testbed.errors import MachineError
from testbed.interrupts import leave_interrupts_to_parent
from testbed.look.live.server import HERE, LiveServer, Source, listening_socket, new_secret
from testbed.processes import die_with_parent

TELL_EVERY_S = 0.5
GRACE_S = 2.0
"""How long viewers may take to fetch the last lines after the end."""
_NICENESS = 5
_MOST_BYTES = 4096
"""A line of this length or less goes into a pipe as a whole or not at all (PIPE_BUF)."""


class Live:
    """A context in which pages are served: `with Live(source) as live: print(live.address)`."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._told_at = 0.0

    def __enter__(self) -> Live:
        secret = new_secret()
        try:
            listening = listening_socket()
        except OSError as error:
            raise MachineError(f"--live: no socket on {HERE}: {error.strerror}") from None
        self.address = f"http://{HERE}:{listening.getsockname()[1]}/{secret}/"
        hears, self._tells = os.pipe()
        os.set_blocking(self._tells, False)
        arguments = (listening, secret, self._source, hears, self._tells, os.getpid())
        self._process = multiprocessing.get_context("fork").Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        os.close(hears)
        listening.close()
        return self

    def tell(self, **told: Any) -> None:
        """Pass on what the command says. What does not fit into the pipe is lost: it is said again soon."""
        line = json.dumps(told).encode() + b"\n"
        if len(line) <= _MOST_BYTES:
            with suppress(OSError):  # the pipe is full, or the server has ended
                os.write(self._tells, line)

    def report(self, share: float, words: str) -> None:
        """Pass on how far the command is, not too often. It is a `testbed.progress.Report`."""
        now = time.monotonic()
        if now - self._told_at >= TELL_EVERY_S:
            self._told_at = now
            self.tell(share=share, words=words[:1000])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        status = "finished" if kind is None else "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"
        self.tell(ended=True, status=status)
        os.close(self._tells)
        self._process.join(GRACE_S + 1.0)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _serve(listening: socket.socket, secret: str, source: Source, hears: int, tells: int, parent: int) -> None:
    """Serve until the command says that it has ended, or its end of the pipe is closed."""
    die_with_parent(parent)
    leave_interrupts_to_parent()
    os.close(tells)
    os.nice(_NICENESS)
    server = LiveServer(listening, secret, source)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    told: dict[str, Any] = {}
    with os.fdopen(hears) as lines:
        while not told.get("ended") and (line := lines.readline()):
            told = json.loads(line)
            source.hear(told)
    if not told.get("ended"):
        source.hear({"ended": True, "status": "killed"})
    give_up = time.monotonic() + GRACE_S
    while server.open_connections and time.monotonic() < give_up:
        time.sleep(0.02)
    os._exit(0)  # threads of viewers that do not read may not hold it up
