"""Ctrl-C, SIGTERM and SIGHUP while a command runs in a guest: noted first, acted on when the results are back."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from testbed.interrupts import INTERRUPTS


@contextmanager
def noted_interrupts() -> Iterator[list[signal.Signals]]:
    """The list gets the first interrupt. A second one does what it would do outside of this context.

    Only the main thread can handle signals; in other threads nothing changes. A signal that is ignored stays ignored.
    """
    noted: list[signal.Signals] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted
        return
    before = {number: signal.getsignal(number) for number in INTERRUPTS}
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
