"""A test of the medium before each run: stations in range hear each other, others do not.

Without a medium the kernel's radios hear each other at any distance, and only a test shows that. Two stations are put
near each other and then far apart, and send each other datagrams through the kernel's whole Wi-Fi stack.
"""

from __future__ import annotations

import select
import selectors
import socket
import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import Any, Protocol

from testbed.backends.hwsim.fleet import Fleet
from testbed.backends.hwsim.hearing import both_ways
from testbed.backends.hwsim.names import address, broadcast_address, node_of
from testbed.errors import BackendError
from testbed.mobility.trajectory import Position
from testbed.network.geometry import Geometry
from testbed.radio.air import Air

_PORT = 7701
_PATIENCE_S = 5.0
_PAUSE_S = 0.05
_SILENCE_S = 0.15
_MARGIN_DB = 30.0


class Trial(Protocol):
    """A medium that can be tested."""

    def place(self, positions: dict[int, Position]) -> None:
        """Put these nodes elsewhere, and all other nodes where the scenario has them."""

    def allow(self, pairs: Iterable[Sequence[int]]) -> None:
        """Without geometry: set the complete list of pairs that hear each other."""


def check_medium(radios: Fleet, medium: Trial, geometry: Geometry | None, allowed: list[tuple[int, int]]) -> None:
    """Raise a `BackendError` if the first two stations do not hear each other as they should."""
    if radios.nodes < 2:
        return
    near, far = _distances(geometry.air) if geometry is not None else (0.0, 0.0)
    with radios.socket_in(0) as a, radios.socket_in(1) as b:
        pair = _Pair(a, b)
        _put(medium, geometry, near, is_near=True)
        took = _wait_until_heard(pair)
        _put(medium, geometry, far, is_near=False)
        _expect_silence(pair, max(_SILENCE_S, 2 * took))
    if geometry is not None:
        medium.place({})
    else:
        medium.allow(allowed)


def _distances(air: Air) -> tuple[float, float]:
    """A distance well within the range of the first two nodes, and one well beyond it."""
    reach = air.range_m(0, 1)
    far, weakest = max(1.0, 2.0 * reach), air.radio.receiver.detection_dbm - _MARGIN_DB
    while air.rx_power_dbm(0, 1, Position(0.0, 0.0), Position(far, 0.0)) > weakest:
        far *= 2.0
    return reach / 4.0, far


def _put(medium: Trial, geometry: Geometry | None, distance_m: float, *, is_near: bool) -> None:
    if geometry is not None:
        medium.place({0: Position(0.0, 0.0), 1: Position(distance_m, 0.0)})
    else:
        medium.allow([(0, 1)] if is_near else [])


class _Pair:
    """The two stations, each with a socket in its namespace."""

    def __init__(self, a: socket.socket, b: socket.socket) -> None:
        self._own = {a: address(0), b: address(1)}
        for one in self._own:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            one.bind(("", _PORT))

    def send(self, text: bytes) -> None:
        """Both send a broadcast."""
        for one in self._own:
            one.sendto(text, (broadcast_address(), _PORT))

    def heard(self, text: bytes, until: float) -> set[str]:
        """Which of the two have heard the other's text: returns as soon as both have, or at the time `until`."""
        heard: set[str] = set()
        while len(heard) < 2 and (left := until - time.monotonic()) > 0:
            for one in select.select(list(self._own), (), (), left)[0]:
                data, (ip, _) = one.recvfrom(64)
                if data == text and ip != self._own[one]:  # the kernel gives a station its own broadcasts too
                    heard.add(self._own[one])
        return heard


def _wait_until_heard(pair: _Pair) -> float:
    """Send until both have heard the other; returns how long the last broadcast took to arrive.

    The kernel drops the first frame of a station that it has not heard before, so several are needed.
    """
    began, heard = time.monotonic(), set[str]()
    while True:
        sent_at = time.monotonic()
        if sent_at - began > _PATIENCE_S:
            raise BackendError("the medium does not work: two stations next to each other do not hear each other")
        pair.send(b"near")
        heard |= pair.heard(b"near", sent_at + _PAUSE_S)
        if len(heard) == 2:
            return time.monotonic() - sent_at


def _expect_silence(pair: _Pair, seconds: float) -> None:
    pair.send(b"far")
    if pair.heard(b"far", time.monotonic() + seconds):
        raise BackendError("the medium does not work: two stations out of reach of each other hear each other")


def survey(radios: Fleet, rounds: int = 5) -> set[tuple[int, int]]:
    """Which stations hear each other now: sender and receiver of every broadcast that arrives."""
    with ExitStack() as opened:
        sockets = [opened.enter_context(radios.socket_in(node)) for node in range(len(radios.stations))]
        for one in sockets:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
            one.bind(("", _PORT))
        waiting = opened.enter_context(selectors.DefaultSelector())
        for node, one in enumerate(sockets):
            waiting.register(one, selectors.EVENT_READ, node)
        heard: set[tuple[int, int]] = set()
        for _ in range(rounds):
            for one in sockets:
                one.sendto(b"survey", (broadcast_address(), _PORT))
            until = time.monotonic() + _PAUSE_S * 2
            while (left := until - time.monotonic()) > 0:
                for ready, _ in waiting.select(left):
                    _, (ip, _) = sockets[ready.data].recvfrom(64)
                    heard.add((node_of(ip), ready.data))
    return {(source, target) for source, target in heard if source != target}


def hearing_at_the_start(radios: Fleet, pairs: Iterable[tuple[int, int]]) -> dict[str, Any]:
    """How many directed pairs of stations hear each other; those that should not, and those that should and do not."""
    heard, expected = survey(radios), both_ways(pairs)
    return {
        "heard_at_the_start": len(heard),
        "heard_out_of_reach": sorted(heard - expected),
        "not_heard_in_reach": sorted(expected - heard),
    }
