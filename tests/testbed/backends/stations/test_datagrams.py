"""A station's socket: it knows when datagrams came, and loses none that asyncio would not have lost."""

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.backends.stations.datagrams import DatagramEndpoint
from testbed.backends.stations.transport import udp_socket

TIMEOUT_S = 30.0
LOOPBACK = "127.0.0.1"
Came = list[tuple[bytes, int]]


@pytest.fixture
def ours() -> Iterator[socket.socket]:
    """The socket of the station."""
    with udp_socket((LOOPBACK, 0)) as opened:
        yield opened


@pytest.fixture
def peer() -> Iterator[socket.socket]:
    """The socket of another one."""
    with udp_socket((LOOPBACK, 0)) as opened:
        yield opened


async def until(is_so: Callable[[], object]) -> None:
    """Let the loop work until something is so."""

    async def wait() -> None:
        while not is_so():
            await asyncio.sleep(0.001)

    await asyncio.wait_for(wait(), TIMEOUT_S)


def listening(opened: socket.socket) -> tuple[DatagramEndpoint, Came]:
    """An endpoint, and what it has passed on."""
    came: Came = []
    take = lambda data, source, came_ns: came.append((data, came_ns))  # noqa: E731
    return DatagramEndpoint(opened, asyncio.get_running_loop(), take), came


def test_a_datagram_that_waits_is_known_to_have_waited(ours: socket.socket, peer: socket.socket):
    """Each has the time when it came, not when it was read."""

    async def follow() -> tuple[int, int, Came]:
        _, came = listening(ours)
        before_ns = time.time_ns()
        for data in (b"one", b"two"):
            peer.sendto(data, ours.getsockname())
        time.sleep(0.05)  # the loop is busy with other things
        read_ns = time.time_ns()  # neither can be read before
        await until(lambda: len(came) == 2)
        return before_ns, read_ns, came

    before_ns, read_ns, came = asyncio.run(follow())
    assert [data for data, _ in came] == [b"one", b"two"]
    assert all(before_ns <= came_ns < read_ns for _, came_ns in came)


def test_what_finds_no_room_is_sent_later_and_in_order(tmp_path: Path):
    """On sockets whose receiver has room for a few datagrams only, and reads none at first."""
    sent = [f"{number}".encode() for number in range(200)]

    async def follow() -> list[bytes]:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as near, socket.socket(near.family, near.type) as far:
            for one, name in ((near, "near"), (far, "far")):
                one.setblocking(False)
                one.bind(str(tmp_path / name))
            fill(near, far)  # or the test would test nothing
            endpoint, _ = listening(near)
            got: list[bytes] = []
            for data in sent:
                endpoint.send(data, far.getsockname())
                if data == sent[100]:
                    got += read(far)  # there is room now, but what waits goes first
            await until(lambda: got.extend(read(far)) or len(got) >= len(sent))
            asyncio.get_running_loop().remove_reader(near.fileno())
            return got

    assert asyncio.run(follow()) == sent


def fill(near: socket.socket, far: socket.socket) -> None:
    """Send until there is no room, then make room again."""
    with pytest.raises(BlockingIOError):
        exhaust(lambda: [near.sendto(b"filling", far.getsockname())])
    exhaust(lambda: read(far))


def exhaust(act: Callable[[], list[Any]]) -> None:
    """Act until that has no effect, or raises an error."""
    while act():
        pass


def read(opened: socket.socket) -> list[bytes]:
    """A datagram, if there is one."""
    try:
        return [opened.recv(1000)]
    except BlockingIOError:
        return []


def test_a_refused_datagram_is_lost_and_nothing_else(ours: socket.socket, peer: socket.socket):
    """The kernel does not take a datagram that is too long, and no process listens where another goes."""

    async def follow() -> Came:
        endpoint, came = listening(ours)
        with udp_socket((LOOPBACK, 0)) as gone:
            nowhere = gone.getsockname()
        endpoint.send(bytes(100_000), peer.getsockname())
        endpoint.send(b"lost", nowhere)
        endpoint.send(b"out", peer.getsockname())
        peer.sendto(b"in", ours.getsockname())
        await until(lambda: came)
        return came

    assert [data for data, _ in asyncio.run(follow())] == [b"in"]
    assert peer.recv(1000) == b"out"
