"""ns-3 in this process: loaded once, when it is first needed, because that takes seconds."""

from __future__ import annotations

import os
import signal
import sys
from functools import cache
from importlib import resources
from typing import Any

from testbed import processes

_CRASHES = (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGTRAP)
MAX_SEED = 4_294_944_442
"""The greatest that ns-3's generator accepts."""
_kept: list[object] = []


@cache
def load() -> Any:
    """The namespace of ns-3 (`ns.NodeContainer` and so on), with our bridge in `ns.cppyy.gbl.adhoc`."""
    with _QuietStderr():  # it complains about static initialisers, which does no harm
        from ns import ns

        ns.cppyy.cppdef((resources.files(__package__) / "bridge.cc").read_text(encoding="utf-8"))
    for crash in _CRASHES:  # cppyy would have gdb print pages of C++
        signal.signal(crash, signal.SIG_DFL)
    return ns


def ns3_seed(seed: int) -> int:
    """The seed of a scenario as one of ns-3, which must not be 0."""
    return 1 + seed % MAX_SEED


def reset(seed: int, repetition: int) -> Any:
    """ns-3 as if nothing had run in this process: no nodes, time 0, and the random draws of a seed and repetition."""
    ns = load()
    ns.cppyy.gbl.adhoc.EndInOneLine(processes.last_words_fd)
    ns.Simulator.Destroy()
    ns.RngSeedManager.SetSeed(ns3_seed(seed))
    ns.RngSeedManager.SetRun(1 + repetition)
    ns.RngSeedManager.ResetNextStreamIndex()
    ns.Mac48Address.ResetAllocationIndex()
    ns.Ipv4AddressGenerator.Reset()
    return ns


def keep(used: object) -> None:
    """Keep what a network uses that a script has built: ns-3 may call it as long as the script runs."""
    _kept.append(used)


def clear() -> None:
    """Remove the network of ns-3, and all that is planned there."""
    load().Simulator.Destroy()


class _QuietStderr:
    """What this process writes to stderr meanwhile, also in C++, is dropped; an exception is not."""

    def __enter__(self) -> None:
        sys.stderr.flush()
        self._stderr = os.dup(2)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)

    def __exit__(self, *exception: object) -> None:
        os.dup2(self._stderr, 2)
        os.close(self._stderr)
