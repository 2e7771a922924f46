"""The timers of agents: each node has one timer for each name that it uses."""

from __future__ import annotations

from collections.abc import Callable

from testbed.event_queue import Scheduler


class Timers:
    """Calls `on_timer(node, name)` when a timer runs out, unless it was cancelled or set again."""

    def __init__(self, scheduler: Scheduler, on_timer: Callable[[int, str], None]) -> None:
        self._scheduler = scheduler
        self._on_timer = on_timer
        self._running: dict[tuple[int, str], int] = {}  # by node and name: the number of its latest setting
        self._settings = 0

    def set(self, node: int, name: str, delay: int) -> None:
        """Start a timer, or start it over."""
        self._settings += 1
        self._running[node, name] = self._settings
        self._scheduler.at(self._scheduler.now + delay, self._run_out, node, name, self._settings)

    def cancel(self, node: int, name: str) -> None:
        """Stop a timer, if it runs."""
        self._running.pop((node, name), None)

    def cancel_all(self, node: int) -> None:
        """Stop all timers of a node."""
        self._running = {key: setting for key, setting in self._running.items() if key[0] != node}

    def _run_out(self, node: int, name: str, setting: int) -> None:
        if self._running.get((node, name)) == setting:
            del self._running[node, name]
            self._on_timer(node, name)
