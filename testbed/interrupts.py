"""Signals that end a command: Ctrl-C (SIGINT), SIGTERM and SIGHUP.

Each is raised as an exception in the main thread, so that a run is marked as interrupted, processes are ended and
half-written files are removed. Only the main thread can handle signals: in other threads nothing changes here. A signal
that is ignored stays ignored: SIGHUP under nohup, SIGINT in a background job of a shell.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_QUIET_S = 2.0


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP. What is done after Ctrl-C is done after it too."""

    def __init__(self, number: int) -> None:
        self.signal = signal.Signals(number)
        super().__init__(self.signal.name)


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """128 and the number of the signal, as shells count."""
    return 128 + (interrupt.signal if isinstance(interrupt, Terminated) else signal.SIGINT)


@contextmanager
def terminations_raised() -> Iterator[None]:
    """In this context, SIGTERM and SIGHUP raise `Terminated`, as Ctrl-C raises KeyboardInterrupt.

    For a moment after the first one, others do nothing: a terminal that closes sends several, and none of them should
    stop the clean-up.
    """
    last = float("-inf")

    def terminate(number: int, frame: object) -> None:
        nonlocal last
        before, last = last, time.monotonic()
        if last - before > _QUIET_S:
            raise Terminated(number)

    with handled({signal.SIGTERM: terminate, signal.SIGHUP: terminate}):
        yield


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Delay interrupts until the block has ended, so that it is carried out as a whole.

    By a handler, not by the signal mask: another thread of the process could still take the signal.
    """
    held: list[int] = []
    try:
        with handled(dict.fromkeys(INTERRUPTS, lambda number, frame: held.append(number))):
            yield
    finally:
        for number in held[:1]:
            signal.raise_signal(number)


@contextmanager
def handled(handlers: dict[signal.Signals, Callable[[int, object], object]]) -> Iterator[None]:
    """Handle signals in this context, those that are not ignored; afterwards they are handled as before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in handlers}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, handlers[number])
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def leave_interrupts_to_parent() -> None:
    """In a process that its parent ends: a terminal sends signals to both, and only the parent acts on them."""
    for number in INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
