"""A scenario small enough to run in milliseconds, as text that a test can change, and what it takes to run it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from agents.contract import Agent, Demand
from agents.rl import ReverseLink
from testbed.randomness import Streams

KEYS = {
    "name": "tiny",
    "algorithm": "rl",
    "nodes": "5",
    "topology": "complete",
    "workload": "{rate: 0.1}",
    "duration": "50",
}


def tiny(more: str = "", **changes: str | None) -> str:
    """The scenario with some keys changed (None leaves one out) and more lines, the first of which is line 7."""
    keys = {**KEYS, **changes}
    return "".join(f"{key}: {value}\n" for key, value in keys.items() if value is not None) + more


def write_tiny(folder: Path, more: str = "", **changes: str | None) -> Path:
    """The scenario as a file."""
    path = folder / "tiny.yaml"
    path.write_text(tiny(more, **changes), encoding="utf-8")
    return path


def command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run(command_line(*arguments), capture_output=True, text=True, timeout=60, **options)


def command_line(*arguments: object) -> list[str]:
    """The command line as a list."""
    return [sys.executable, "-m", "testbed.cli", *map(str, arguments)]


def interruptible() -> None:
    """Restore the interrupts of a child process that this process ignores: `Popen(..., preexec_fn=interruptible)`.

    A background job of a shell has SIGINT ignored, one under nohup SIGHUP, and so has every process that it starts. A
    test suite that is itself such a job would otherwise send signals to children that cannot receive them.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})


def only_run(out: Path) -> Path:
    """The one run directory in a folder."""
    (path,) = out.iterdir()
    return path


def is_one_line(text: str) -> bool:
    """Whether a text is exactly one line, for any character that ends lines."""
    return text.endswith("\n") and len(text.splitlines()) == 1


class Unsafe(ReverseLink):
    """Lets every node in at once."""

    def on_request(self, demand: Demand) -> None:
        self.enter()

    def on_release(self) -> None:
        """Nothing was taken, so nothing is given back."""


_TESTS = os.getpid()


def killed(agent: type[Agent], *repetitions: int, seed: int = 1) -> type[Agent]:
    """An algorithm that kills its process at the first request of any node, in these repetitions of a scenario.

    Only worker processes are killed: in the process of the tests it does what the other algorithm does.
    """

    class Killed(agent):  # type: ignore[misc, valid-type]
        """Kills its process."""

        @classmethod
        def start(cls, node: int, initial: Any, parameters: Any, rng: Random) -> Any:
            generators = (Streams(seed, repetition).of("agent", node) for repetition in repetitions)
            kills = any(rng.getstate() == generator.getstate() for generator in generators)
            started = super().start(node, initial, parameters, rng)
            started.kills = kills
            return started

        def on_request(self, demand: Demand) -> None:
            if self.kills and os.getpid() != _TESTS:
                os.kill(os.getpid(), signal.SIGKILL)
            super().on_request(demand)

    return Killed
