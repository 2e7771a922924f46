"""Ends a handler of an agent that computes for too long, and a run whose virtual time stands still.

A timer of the processor's time sends a signal now and then. Its handler looks at the stack: if the same call of an
agent's code is still running after the limit, it raises an exception in the middle of it. So nothing is paid for it
while handlers return.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from testbed.runtime.breach import AgentError, HandlerTimeout, called
from testbed.runtime.driver import Driver
from testbed.runtime.initial_state import InitialState
from testbed.runtime.unit_account import UnitAccount

TICKS_PER_LIMIT = 8
STANDSTILL = 10
"""How many times the limit virtual time may stand still: much can happen in one instant of a large network."""

Call = tuple[int | None, str]
"""The node, and the event, of a call of an agent's code."""


def _of_step(local: dict[str, Any]) -> Call:
    return local["node"], called(local["event"], *local["args"])


_CALLERS: dict[CodeType, Callable[[dict[str, Any]], Call]] = {
    Driver.receive.__code__: lambda local: (
        local["channel"].target,
        called("on_receive", local["channel"].source, local["message"]),
    ),
    Driver._step.__code__: _of_step,
    Driver._give_request.__code__: lambda local: (local["node"], called("on_request", local["demand"])),
    Driver._release.__code__: lambda local: (local["node"], "on_release()"),
    UnitAccount.recount.__code__: _of_step,
    InitialState._start.__code__: lambda local: (local["node"], "start"),
    InitialState._initial.__code__: lambda local: (None, "start"),
}
"""The functions that call an agent's code, and how their variables tell which node and event it is."""


def watch_calls_of(function: Callable[..., Any], describe: Callable[[dict[str, Any]], Call]) -> None:
    """Let the watch know another function that calls an agent's code."""
    _CALLERS[function.__code__] = describe


class HandlerWatch:
    """A context in which handlers have a limit. Outside the main thread there are no signals, and so no limit."""

    def __init__(self, limit_s: float, now: Callable[[], int] | None = None) -> None:
        """`now`: the virtual time, if time is virtual."""
        self._limit_s = limit_s
        self._every_s = limit_s / TICKS_PER_LIMIT
        self._now = now
        self._handler: FrameType | None = None
        self._used_s = self._still_s = 0.0
        self._seen_at = -1
        self._before: Any = None

    def __enter__(self) -> HandlerWatch:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGPROF, self._tick)
            signal.setitimer(signal.ITIMER_PROF, self._every_s, self._every_s)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._before)
        self._handler = None
        if isinstance(error, HandlerTimeout):
            raise too_long(error, 0 if self._now is None else max(0, self._now())) from error

    def _tick(self, number: int, frame: FrameType | None) -> None:
        caller, handler = _running(frame)
        if handler is None or handler is not self._handler:
            self._handler, self._used_s = handler, 0.0
        else:
            self._used_s += self._every_s
            if self._used_s >= self._limit_s and caller is not None:
                node, event = _CALLERS[caller.f_code](caller.f_locals)
                why = f"it has taken more than {self._limit_s:g} s of processor time"
                if self._used_s >= 2 * self._limit_s:  # it catches every exception
                    print(f"testbed: node {node} in {event}: {why}, and does not let go", file=sys.stderr, flush=True)
                    os._exit(1)
                raise HandlerTimeout(node, event, why)
        self._watch_time()

    def _watch_time(self) -> None:
        now = None if self._now is None else self._now()
        if now is None or now != self._seen_at:
            self._seen_at, self._still_s = -1 if now is None else now, 0.0
            return
        self._still_s += self._every_s
        if self._still_s >= STANDSTILL * self._limit_s:
            limit = f"{STANDSTILL * self._limit_s:g} s of processor time"
            raise HandlerTimeout(None, "", f"virtual time has stood still for {limit}: nodes act without end at once")


def _running(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """The innermost function that calls an agent's code, and the call; None and None if no such call is running."""
    handler = None
    while frame is not None and frame.f_code not in _CALLERS:
        handler, frame = frame, frame.f_back
    return (frame, handler) if frame is not None and handler is not None else (None, None)


def too_long(error: HandlerTimeout, t: int) -> AgentError:
    """The error to report for it, with the line that was reached."""
    last = traceback.extract_tb(error.__traceback__)
    inside = [one for one in last if Path(one.filename).name != Path(__file__).name]
    where = f" (at {Path(inside[-1].filename).name}:{inside[-1].lineno})" if inside and error.event else ""
    return AgentError(f"{error.why}{where}", node=error.node, t=t, event=error.event)
