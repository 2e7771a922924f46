"""Reads captures: files of libpcap with 802.11 frames after radiotap headers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

RADIOTAP = 127
NS_MAGIC, US_MAGIC = 0xA1B23C4D, 0xA1B2C3D4
MAC_BYTES, LLC_BYTES, IP_BYTES, UDP_BYTES = 24, 8, 20, 8
DATA, ACKNOWLEDGEMENT, REPEATED, UDP = 0x08, 0xD4, 0x08, 17


def captured(path: Path) -> Iterator[tuple[float, bytes]]:
    """The frames of a capture, each with its time in seconds."""
    data = path.read_bytes()
    magic, _, _, _, _, _, link_type = struct.unpack_from("<IHHiIII", data)
    assert magic in (NS_MAGIC, US_MAGIC)
    assert link_type == RADIOTAP
    at, fraction = 24, 1e-9 if magic == NS_MAGIC else 1e-6
    while at < len(data):
        seconds, part, size, whole = struct.unpack_from("<IIII", data, at)
        assert size == whole
        frame = data[at + 16 : at + 16 + size]
        yield seconds + part * fraction, frame[int.from_bytes(frame[2:4], "little") :]
        at += 16 + size


class Captured(NamedTuple):
    """A UDP datagram in a frame."""

    seconds: float
    transmitter: int
    """The station that sends it now."""
    source: int
    """The station that sent it first."""
    to: bytes
    """The hardware address that the frame is for."""
    port: int
    data: bytes


def datagrams(path: Path) -> Iterator[Captured]:
    """The datagrams of a capture, without the repetitions of radios."""
    for seconds, frame in captured(path):
        ip = frame[MAC_BYTES + LLC_BYTES :]
        if frame[0] == DATA and len(ip) > IP_BYTES and ip[9] == UDP and not frame[1] & REPEATED:
            _, port, size, _ = struct.unpack_from(">HHHH", ip, IP_BYTES)
            data = ip[IP_BYTES + UDP_BYTES : IP_BYTES + size]
            yield Captured(seconds, frame[15] - 1, ip[15] - 1, frame[4:10], port, data)
