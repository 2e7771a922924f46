"""Ctrl-C and SIGTERM while a guest works for us: noted first, so that results can be brought back, obeyed after."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def noted_interrupts() -> Iterator[list[signal.Signals]]:
    """The list holds the first interrupt once there is one; a second one acts as if we were not here.

    Only the main thread can do this; elsewhere signals do what they always do. A signal that is ignored stays so.
    """
    noted: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, _: object) -> None:
        noted.append(signal.Signals(number))
        restore()

    for number in before:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        restore()
