"""Requests to wmediumd and its answers, with a server that answers as it does; the real one is tested in a guest."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.backends.mininet_wifi.wmediumd import Wmediumd
from testbed.errors import BackendError
from testbed.mobility.trajectory import Position

MAC = "02:00:00:00:03:00"
REQUEST = struct.Struct("!B6s3f")


def answering(path: Path, answer: Callable[[bytes], bytes]) -> None:
    """Start a server that answers every request of one connection, and then ends."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        connection, _ = server.accept()
        while request := connection.recv(REQUEST.size):
            reply = answer(request)
            if not reply:
                break
            connection.sendall(reply)
        connection.close()
        server.close()

    threading.Thread(target=serve, daemon=True).start()


def test_the_answer_has_the_position_that_was_set(tmp_path: Path) -> None:
    seen: list[tuple[object, ...]] = []

    def answer(request: bytes) -> bytes:
        seen.append(REQUEST.unpack(request))
        kind, mac, x, y, z = REQUEST.unpack(request)
        return bytes((14,)) + REQUEST.pack(kind, mac, x + 0.5, y, z) + bytes((0,))

    answering(tmp_path / "socket", answer)
    wmediumd = Wmediumd(str(tmp_path / "socket"))
    assert wmediumd.put(MAC, Position(1.5, -2.25, 3.0)) == Position(2.0, -2.25, 3.0)
    assert seen == [(13, bytes.fromhex("020000000300"), 1.5, -2.25, 3.0)]
    wmediumd.close()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda request: bytes((14,)) + request + bytes((1,)), "refuses to move a station"),
        (
            lambda request: bytes((14,)) + request[:1] + bytes(6) + request[7:] + bytes((0,)),
            "refuses to move a station",
        ),
        (lambda request: b"", "wmediumd died: every station has heard every other since"),
    ],
    ids=["not found", "another station", "gone"],
)
def test_a_refused_position_is_an_error(tmp_path: Path, answer: Callable[[bytes], bytes], message: str) -> None:
    answering(tmp_path / "socket", answer)
    with pytest.raises(BackendError, match=message):
        Wmediumd(str(tmp_path / "socket")).put(MAC, Position(0.0, 0.0))


def test_no_wmediumd_runs(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="wmediumd does not answer at"):
        Wmediumd(str(tmp_path / "nothing"))
